"""Tensors, their dtypes and memories, and sizes of tiles.

Ref: ``nki.language`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08-21).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.files import read_npy
from bitpath.golden.nki.isa import instructions as isa
from bitpath.golden.nki.machine.access import load
from bitpath.golden.nki.machine.core import hbm_tensor, present_core
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name
from bitpath.golden.nki.memory.storage import MemoryRegion
from bitpath.golden.nki.memory.tensor import DynamicSlice as ds
from bitpath.golden.nki.memory.tensor import NkiTensor
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, PARTITIONS, PSUM_BANKS

__all__ = [
    "TileSize",
    "device_print",
    "ds",
    "empty_like",
    "full",
    "is_hbm",
    "is_on_chip",
    "is_psum",
    "is_sbuf",
    "ndarray",
    "ones",
    "shared_constant",
    "shared_identity_matrix",
    "tile_size",
    "zeros",
    "zeros_like",
]


class TileSize:
    """Sizes of tiles; those of SBUF depend on the machine of the present run."""

    pmax = PARTITIONS
    gemm_stationary_fmax = MAX_STATIONARY
    psum_bank_fmax_bytes = PSUM_BANK_BYTES
    gemm_moving_fmax = psum_fmax = psum_bank_fmax = bn_stats_fmax = PSUM_BANK_BYTES // 4
    psum_num_banks = PSUM_BANKS
    sbuf_min_align = 1
    psum_min_align = 4

    @property
    def sbuf_size_bytes(self) -> int:
        return PARTITIONS * present_core().options.limits.partition_bytes

    @property
    def sbuf_fmax_bytes(self) -> int:
        return present_core().options.limits.usable_bytes

    total_available_sbuf_size = sbuf_fmax_bytes


tile_size = TileSize()


def ndarray(
    shape: Sequence[int],
    dtype: Any,
    buffer: Any = MemoryRegion.sbuf,
    name: str = "",
    address: tuple[int, int] | None = None,
) -> NkiTensor:
    """Return a new tensor, at ``address`` (partition, byte) where it is given."""
    return present_core().allocate(shape, dtype, buffer, name, address)


def full(
    shape: Sequence[int], fill_value: Any, dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = ""
) -> NkiTensor:
    """Return a tensor of one number: memset on chip; in HBM a tile that DMA spreads."""
    made = ndarray(shape, dtype, buffer, name)
    fill(made, fill_value)
    return made


def fill(tensor: NkiTensor, value: Any) -> None:
    """Set all elements of a tensor; HBM gets them from a tile in SBUF."""
    if tensor.on_chip:
        isa.memset(tensor, value)
        return
    tile = ndarray((1, tensor.size), tensor.dtype)
    isa.memset(tile, value)
    isa.dma_copy(tensor, tile)


def zeros(shape: Sequence[int], dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Sequence[int], dtype: Any, buffer: Any = MemoryRegion.sbuf, name: str = "") -> NkiTensor:
    return full(shape, 1, dtype, buffer, name)


def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    return zeros(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def shared_constant(constant: np.ndarray | str, dtype: Any = None) -> NkiTensor:
    """Return an HBM tensor of a host's array, or of one in an .npy file, which the compiler puts there."""
    array = read_npy(Path(constant)) if isinstance(constant, str) else np.asarray(constant)
    name = dtype_name(array.dtype if dtype is None else dtype)
    made = hbm_tensor(array.shape or (1,), name, "private_hbm", "constant")
    storage = made.allocation.storage
    own = array if array.dtype == STORED[name] else trainium3.cast(array.astype(np.float32), STORED[name])
    storage.data[0] = np.ascontiguousarray(own).reshape(-1).view(np.uint8)
    storage.written[:] = True
    return made


def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: NkiTensor | None = None) -> NkiTensor:
    """Return an identity matrix in SBUF, or write it into a tensor."""
    made = ndarray((n, n), dtype) if dst is None else dst
    isa.dma_copy(made, shared_constant(np.eye(n, dtype=np.float32), dtype))
    return made


def device_print(print_prefix: str, tensor: NkiTensor) -> None:
    """Print a prefix, then the elements of a tensor."""
    print(print_prefix, load(present_core(), tensor))


def _region(buffer: Any) -> MemoryRegion:
    return MemoryRegion(buffer.buffer if isinstance(buffer, NkiTensor) else buffer)


def is_hbm(buffer: Any) -> bool:
    return _region(buffer) in (MemoryRegion.shared_hbm, MemoryRegion.private_hbm)


def is_sbuf(buffer: Any) -> bool:
    return _region(buffer) is MemoryRegion.sbuf


def is_psum(buffer: Any) -> bool:
    return _region(buffer) is MemoryRegion.psum


def is_on_chip(buffer: Any) -> bool:
    return not is_hbm(buffer)
