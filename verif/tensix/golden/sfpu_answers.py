"""Layout of the Vector unit's archives of known answers, for the tests of both golden tiers."""

from typing import Any, NamedTuple

import pytest

from bitpath.golden.tensix.declarations.formats import Chip

CHIPS = {"wh": Chip.WORMHOLE, "bh": Chip.BLACKHOLE}
"""Chips by the prefix of their arrays."""
OF_CHIP = pytest.mark.parametrize("chip", CHIPS)
NO_L0 = 0xFFFFFFFF
"""An l0 that leaves LReg 0."""


class LoadStore(NamedTuple):
    """A load or store: the arrays of ``sfpu_loadstore`` by their names."""

    word: Any
    is_store: Any
    fp32: Any
    srcb: Any
    rwc: Any
    math_offset: Any
    dst_incr: Any
    addr: Any
    rows: Any
    dst_idx: Any
    lreg_idx: Any
    cc: Any
    cc_en: Any
    out: Any
    rwc_after: Any
