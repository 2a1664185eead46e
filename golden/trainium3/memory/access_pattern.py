"""Access patterns: which elements of a memory an instruction or a DMA transfer reads or writes, and in which order.

    byte(i1..id) = size * (offset + i1 * step1 + ... + id * stepd)

Ref: "NKI access patterns", AWS Neuron documentation, 2026-08; "Trainium/Inferentia2 Architecture Guide for NKI", 2025-12-01.
Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.
"""

from dataclasses import dataclass
from math import prod
from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_shape,
    checked,
    dtype_of,
    integer,
    numerics_of,
)
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32
from bitpath.golden.trainium3.declarations.memory import (
    MAX_PAIRS,
    NUM_RANGE,
    PARTITION_STARTS,
    STEP_RANGE,
    TRAINIUM3_INDIRECT,
    IndexLists,
    IndirectNumerics,
)
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, SCALE_PARTITIONS
from bitpath.golden.trainium3.operands.layout import check_partitions, gather_scale

Pairs = tuple[tuple[int, int], ...]
"""Pairs of step and num, outermost first, in elements."""
ELEMENT_DTYPES = (
    *(DTYPES[fmt] for fmt in (FP32, BF16, FP16, E4M3, E4M3FN, E5M2, E3M4)),
    *map(np.dtype, (np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32)),
)
"""Dtypes of elements in a memory; TF32 lies in float32, x4 words in uint32 and uint16."""


@checked
@dataclass(frozen=True)
class AccessPattern:
    """Elements of SBUF or PSUM, the same in every partition.

    Attributes
    ----------
    dtype : one of `ELEMENT_DTYPES`; kept as numpy's dtype object.
    start, partitions : first partition, and number of consecutive ones. Up to 32 start at 0, 32, 64 or 96, up to 64 at 0 or
        64, more at 0.
    offset : element of the partition that the pattern starts from.
    pattern : 1 to 4 pairs (step, num), outermost first, in elements: step -32768 to 32767, num 1 to 65535.
    dma : True for a DMA transfer, which any partition may start and whose steps and nums the memory alone limits.

    Raises
    ------
    TypeError, ValueError : anything else, or an element before the start of the partition.
    """

    dtype: np.dtype
    start: int
    partitions: int
    offset: int
    pattern: tuple[tuple[int, int], ...]
    dma: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of("dtype", self.dtype, *ELEMENT_DTYPES))
        object.__setattr__(self, "pattern", _pairs(self.pattern, MAX_PAIRS, self.dma))
        integer("partitions", self.partitions, range(1, PARTITIONS + 1))
        integer("start", self.start, range(PARTITIONS + 1 - self.partitions), f" with {self.partitions} partitions")
        if not self.dma:
            starts = next(starts for most, starts in PARTITION_STARTS.items() if self.partitions <= most)
            if self.start not in starts:
                raise ValueError(
                    f"start must be {', '.join(map(str, starts))} with {self.partitions} partitions, not {self.start}"
                )
        _check_first(self.offset, self.pattern)

    @property
    def shape(self) -> tuple[int, ...]:
        """The partitions, then the num of each pair."""
        return self.partitions, *(num for _, num in self.pattern)

    @property
    def size(self) -> int:
        """Number of elements in all partitions."""
        return prod(self.shape)

    def byte_offsets(self) -> np.ndarray:
        """Return the first byte in its partition of each element, int64 [nums...]."""
        return _elements(self.offset, self.pattern) * self.dtype.itemsize

    def end(self) -> int:
        """Return the byte behind the last one that the pattern touches in a partition."""
        return _end(self.offset, self.pattern) * self.dtype.itemsize


@checked
@dataclass(frozen=True)
class HbmPattern:
    """Elements of HBM: the side of a DMA transfer that lies there.

    Attributes
    ----------
    dtype : one of `ELEMENT_DTYPES`; kept as numpy's dtype object.
    offset : element that the pattern starts from.
    pattern : 1 to 5 pairs (step, num), outermost first, in elements; beside SBUF the first pair steps over the partitions.

    Raises
    ------
    TypeError, ValueError : anything else, or an element before the start of HBM.
    """

    dtype: np.dtype
    offset: int
    pattern: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dtype_of("dtype", self.dtype, *ELEMENT_DTYPES))
        object.__setattr__(self, "pattern", _pairs(self.pattern, MAX_PAIRS + 1, True))
        _check_first(self.offset, self.pattern)

    @property
    def shape(self) -> tuple[int, ...]:
        """The num of each pair."""
        return tuple(num for _, num in self.pattern)

    @property
    def size(self) -> int:
        """Number of elements of the pattern."""
        return prod(self.shape)

    def byte_offsets(self) -> np.ndarray:
        """Return the first byte of each element, int64 [nums...]."""
        return _elements(self.offset, self.pattern) * self.dtype.itemsize

    def end(self) -> int:
        """Return the byte behind the last one that the pattern touches."""
        return _end(self.offset, self.pattern) * self.dtype.itemsize


def _pairs(pattern: Pairs, most: int, dma: bool) -> Pairs:
    """Return the pairs as tuples, whose number, nums and steps are checked."""
    if not 0 < len(pattern) <= most:
        raise ValueError(f"pattern must have 1 to {most} pairs of step and num, not {len(pattern)}")
    for i, (step, num) in enumerate(pattern):
        if not dma:
            integer(f"step of pattern[{i}]", step, range(STEP_RANGE[0], STEP_RANGE[1] + 1))
            integer(f"num of pattern[{i}]", num, range(NUM_RANGE[0], NUM_RANGE[1] + 1))
        elif num < 1:
            raise ValueError(f"num of pattern[{i}] must be at least 1, not {num}")
    return tuple((step, num) for step, num in pattern)


def _check_first(offset: int, pattern: Pairs) -> None:
    first = offset + sum(min(0, step * (num - 1)) for step, num in pattern)
    if first < 0:
        raise ValueError(f"offset and steps must stay at 0 or above, not reach element {first}")


def _end(offset: int, pattern: Pairs) -> int:
    return offset + sum(max(0, step * (num - 1)) for step, num in pattern) + 1


def _elements(offset: int, pattern: Pairs) -> np.ndarray:
    elements = np.array(offset, np.int64)
    for step, num in pattern:
        elements = elements[..., np.newaxis] + step * np.arange(num, dtype=np.int64)
    return elements


# Indirect access of the compute engines: columns of a tile by a list of offsets, the same in every partition.
#
#     offset i = index[i % G, i // G],  G = 16 for VectorE, ScalarE and GpSimd, 32 for TensorE
#
# Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08, Tensor indirection; ``NkiTensor.indirect`` of
# ``nki.language``. Points that they leave open are in `bitpath.golden.trainium3.declarations.memory.CHOICES`.


Engine = Literal["vector", "scalar", "gpsimd", "tensor"]
INDEX_DTYPES = (np.uint32, np.uint16)
_NOT_TENSOR = (np.float32, np.int32)
"""Dtypes that TensorE does not take indirectly; uint32 is FP8's x4 word."""


@checked
def indirect_offsets(
    index: np.ndarray, num_elem: int | None = None, *, engine: Engine, numerics: IndirectNumerics | None = None
) -> np.ndarray:
    """Return the offsets in the order in which they are used.

    Parameters
    ----------
    index : uint32 or uint16 [P, K], P at least G; rows from G on are ignored.
    num_elem : 1 to G * K offsets; None takes all.
    engine : "vector", "scalar", "gpsimd" or "tensor"; decides G.
    numerics : default `TRAINIUM3_INDIRECT`, one list for all partitions.

    Returns
    -------
    int64 [num_elem]; [P/G, num_elem] with `IndexLists.GROUPED`, where P must be a multiple of G.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, number or engine.
    """
    numerics = numerics_of(numerics, TRAINIUM3_INDIRECT)
    check_array("index", index, *INDEX_DTYPES)
    check_shape("index", index, "P", "K")
    check_choice("engine", engine, get_args(Engine))
    group = numerics.tensor_index_rows if engine == "tensor" else numerics.index_rows
    partitions, columns = index.shape
    if not group <= partitions <= PARTITIONS or not columns:
        raise ValueError(
            f"index must have shape [P, K] with P from {group} to {PARTITIONS} and K of at least 1, not {index.shape}"
        )
    count = group * columns if num_elem is None else num_elem
    integer("num_elem", count, range(1, group * columns + 1), f" with an index of {columns} columns")
    if numerics.lists is IndexLists.SHARED:
        return index[:group].T.reshape(-1)[:count].astype(np.int64)
    if partitions % group:
        raise ValueError(f"index must have a multiple of {group} rows, not {partitions}")
    lists = index.reshape(-1, group, columns).transpose(0, 2, 1)
    return lists.reshape(len(lists), -1)[:, :count].astype(np.int64)


@checked
def gather(
    data: np.ndarray,
    index: np.ndarray,
    num_elem: int | None = None,
    *,
    engine: Engine,
    numerics: IndirectNumerics | None = None,
) -> np.ndarray:
    """Compute ``out[p, i] = data[p, offset i]``, [P, num_elem] of the data's dtype.

    Parameters
    ----------
    data : [P, F] of `ELEMENT_DTYPES`, x4 words among them; not 32-bit numbers with TensorE, whose page has 16 and 8 bits.
    index, num_elem, engine, numerics : as `indirect_offsets`; P rows.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or engine, or an offset of F or more.
    """
    at = _places("data", data, index, num_elem, engine, numerics)
    return np.take_along_axis(data, at, axis=1)


@checked
def scatter(
    dst: np.ndarray, index: np.ndarray, src: np.ndarray, *, engine: Engine, numerics: IndirectNumerics | None = None
) -> np.ndarray:
    """Compute ``dst[p, offset i] = src[p, i]``, i ascending, so that the last of equal offsets stays; a new [P, F].

    Parameters
    ----------
    dst : [P, F], present content, as `gather`'s data.
    index, engine, numerics : as `indirect_offsets`; P rows.
    src : [P, num_elem] of dst's dtype.

    Raises
    ------
    TypeError, ValueError : as `gather`, or another shape or dtype of `src`.
    """
    check_array("dst", dst, *ELEMENT_DTYPES)
    check_array("src", src, dst.dtype)
    check_shape("src", src, "P", "num_elem")
    at = _places("dst", dst, index, src.shape[1], engine, numerics)
    check_shape("src", src, len(dst), "num_elem", why=" with dst's partitions")
    result = dst.copy()
    result[np.arange(len(dst))[:, np.newaxis], at] = src
    return result


def _places(
    name: str,
    data: np.ndarray,
    index: np.ndarray,
    num_elem: int | None,
    engine: Engine,
    numerics: IndirectNumerics | None,
) -> np.ndarray:
    """Return the column of each element, int64 [P, num_elem]."""
    check_array(name, data, *ELEMENT_DTYPES)
    check_shape(name, data, "P", "F")
    offsets = indirect_offsets(index, num_elem, engine=engine, numerics=numerics)
    if engine == "tensor" and data.dtype in _NOT_TENSOR:
        raise TypeError(f"{name} must have 16 or 8 bits or be x4 words with engine 'tensor', not {data.dtype}")
    check_shape("index", index, len(data), "K", why=f" with {name}'s partitions")
    if offsets.max() >= data.shape[1]:
        raise ValueError(f"index must hold offsets below {name}'s {data.shape[1]} columns, not {offsets.max()}")
    lists = np.atleast_2d(offsets)
    return lists.repeat(len(data) // len(lists), axis=0)


# Scales of an MX operand as the array fetches them from the quadrants of SBUF.
#
#     row p takes partition 32 * (p >> 5) + (p >> 3 & 3) + offset, at the same free index
#
# Ref: "MXFP matmul" deep dive and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation.


@checked
def fetch_scales(tile: np.ndarray, data_partitions: int, offset: int = 0) -> np.ndarray:
    """Return one scale for each row of the array, uint8 [data_partitions, F]; other rows of the tile are not read.

    Parameters
    ----------
    tile : uint8 [P, F] from the quadrant on in which the data start, P at least `data_partitions`.
    data_partitions : 32, 64, 96 or 128; each quadrant has the scales of its own data.
    offset : partition in each quadrant from which its four rows of scales lie: 0, 4, 8 or 12.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number.
    """
    check_array("tile", tile, np.uint8)
    check_shape("tile", tile, "P", "F")
    check_partitions("data_partitions", data_partitions)
    if len(tile) < data_partitions:
        raise ValueError(f"tile must span the data's {data_partitions} partitions, not {len(tile)}")
    return gather_scale(tile[:data_partitions], offset).repeat(SCALE_PARTITIONS, axis=0)
