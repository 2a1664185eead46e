"""Memories of a core, as ``nl`` names them."""

from enum import Enum


class MemoryRegion(Enum):
    """Ref: ``nki.language`` reference page, NKI 0.6; ``hbm`` is ``private_hbm``."""

    sbuf = "sbuf"
    psum = "psum"
    private_hbm = "private_hbm"
    shared_hbm = "shared_hbm"
    hbm = "private_hbm"
