"""Instructions of GpSimd: index patterns, selections, gathers, counts and the largest elements."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_length,
    check_shape,
    checked,
    dtype_of,
    integer,
    member,
)
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.trainium3.declarations.memory import SBUF_PARTITION_BYTES, TRAINIUM3_INDIRECT_GROUPED
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
from bitpath.golden.trainium3.declarations.vector import (
    COMPARISONS,
    CORE_PARTITIONS,
    INT32_RANGE,
    MAX_AFFINE_PAIRS,
    MAX_LOCAL_INDICES,
    PARTITION_REDUCTIONS,
    RUNS,
    TOPK_MOST,
    TOPK_SOURCES,
    UNCHANGED,
    SumOrder,
)
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES, indirect_offsets
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, cast, from_fp32, to_fp32
from bitpath.golden.trainium3.vector.engine import (
    BIT_OPERATORS,
    INTEGER_DTYPES,
    SumOrderName,
    bit_dtype,
    bit_words,
    check_tile,
    reduce_free,
    single,
)

# Affine values of iota and affine_select.
#
#     value[p, (w, z, y, x)] = offset + p * channel_multiplier + w * step_w + z * step_z + y * step_y + x * step_x  mod 2**32
#
# Ref: ``nki.isa.iota`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


def affine_values(
    pattern: Sequence[tuple[int, int]], partitions: int, offset: int, channel_multiplier: int
) -> np.ndarray:
    """Return the values as int32 [partitions, product of nums], in the order of the pattern, outermost pair first.

    Raises
    ------
    ValueError : other than 1 to 4 pairs, a num below 1, a step, an offset or a multiplier beyond int32, or more elements than
        an SBUF partition has bytes.
    """
    if not 0 < len(pattern) <= MAX_AFFINE_PAIRS:
        raise ValueError(f"pattern must have 1 to {MAX_AFFINE_PAIRS} pairs of step and num, not {len(pattern)}")
    for i, (step, num) in enumerate(pattern):
        integer(f"step of pattern[{i}]", step, INT32_RANGE)
        integer(f"num of pattern[{i}]", num, range(1, SBUF_PARTITION_BYTES + 1))
    elements = prod(num for _, num in pattern)
    integer("number of elements in pattern", elements, range(1, SBUF_PARTITION_BYTES + 1))
    integer("offset", offset, INT32_RANGE)
    integer("channel_multiplier", channel_multiplier, INT32_RANGE)
    values = _multiples(channel_multiplier, partitions) + _word(offset)
    for step, num in pattern:
        values = values[..., np.newaxis] + _multiples(step, num)
    return values.reshape(partitions, elements).view(np.int32)


def _word(value: int) -> np.ndarray:
    """Return an integer modulo 2**32, in an array: numpy wraps arrays silently, scalars with a warning."""
    return np.array([value % (1 << 32)], np.uint32)


def _multiples(step: int, num: int) -> np.ndarray:
    return np.arange(num, dtype=np.uint32) * _word(step)


# affine_select: elements of a tile where an affine value compares true with 0, a number elsewhere.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.affine_select`.
#
# Ref: ``nki.isa.affine_select`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
# `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


@checked
def affine_select(
    pattern: Sequence[tuple[int, int]],
    channel_multiplier: int,
    on_true_tile: np.ndarray,
    on_false_value: float,
    cmp_op: str = "equal",
    *,
    offset: int = 0,
    dtype: np.dtype | type | str | None = None,
) -> np.ndarray:
    """Return ``on_true_tile[p, i] if iota[p, i] cmp_op 0 else on_false_value``, each as `dtype`.

    Parameters
    ----------
    pattern, channel_multiplier, offset : as `iota`; the nums multiply to F.
    on_true_tile : [P, F], P from 1 to 128, of a dtype that `cast` takes. Equal dtypes move bits, others go through FP32.
    on_false_value : a number, rounded once to FP32, then cast.
    cmp_op : one of `COMPARISONS`; the affine value is on its left.
    dtype : as `cast` takes it, also "tf32"; None is the tile's.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, pattern, number or comparison.
    """
    check_tile("on_true_tile", on_true_tile, *CAST_DTYPES.values())
    check_choice("cmp_op", cmp_op, COMPARISONS)
    values = affine_values(pattern, len(on_true_tile), offset, channel_multiplier)
    if values.shape != on_true_tile.shape:
        raise ValueError(f"pattern must have on_true_tile's {on_true_tile.shape[1]} elements, not {values.shape[1]}")
    result = on_true_tile.dtype if dtype is None else dtype
    compare: Callable[[np.ndarray, int], np.ndarray] = getattr(np, cmp_op)
    false = from_fp32(single("on_false_value", on_false_value, otherwise=""), result)
    return np.where(compare(values, 0), cast(on_true_tile, result), false)


# iota: a tile of affine values.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.iota`.
#
# Ref: ``nki.isa.iota`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
# `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


@checked
def iota(
    pattern: Sequence[tuple[int, int]],
    partitions: int,
    *,
    offset: int = 0,
    channel_multiplier: int = 0,
    dtype: np.dtype | type | str = np.int32,
) -> np.ndarray:
    """Return ``offset + p * channel_multiplier + sum(step * i)`` for every partition p and place i in a pattern.

    The value is int32, modulo 2**32, then cast: int32 and uint32 take the word, other dtypes go through FP32.

    Parameters
    ----------
    pattern : 1 to 4 pairs (step, num), outermost first: any int32, and 1 or more.
    partitions : P, 1 to 128.
    offset, channel_multiplier : any int32.
    dtype : as `cast` takes it, also "tf32".

    Returns
    -------
    [P, product of nums] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, pattern or number.
    """
    integer("partitions", partitions, range(1, PARTITIONS + 1))
    values = affine_values(pattern, partitions, offset, channel_multiplier)
    through_fp32 = cast(values, dtype)
    return values.view(np.uint32) if through_fp32.dtype == np.uint32 else through_fp32


# local_gather: runs of elements by the indices of each GpSimd core.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.local_gather`.
#
# Ref: ``nki.isa.local_gather`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
# `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


@checked
def local_gather(
    src_buffer: np.ndarray, index: np.ndarray, num_elem_per_idx: int = 1, num_valid_indices: int | None = None
) -> np.ndarray:
    """Compute ``out[p, e * i + j] = src_buffer[p, index i + j]`` with ``index i = index[16 * c + i % 16, i // 16]``.

    ``c = p // 16`` is the core of a partition, ``e = num_elem_per_idx`` and ``0 <= j < e``.

    Parameters
    ----------
    src_buffer : [P, F] of `ELEMENT_DTYPES`, P a multiple of 16 up to 128.
    index : uint16 [P, K]: first element of each run, not multiplied by `num_elem_per_idx`.
    num_elem_per_idx : elements of a run, 1, 2, 4, 8, 16 or 32.
    num_valid_indices : indices of each core, 1 to 16 * K and at most 4096; None takes 16 * K.

    Returns
    -------
    [P, num_elem_per_idx * num_valid_indices] of src_buffer's dtype.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number, or a run that ends behind element F.
    """
    check_tile("src_buffer", src_buffer, *ELEMENT_DTYPES)
    partitions, elements = src_buffer.shape
    if partitions % CORE_PARTITIONS:
        raise ValueError(f"src_buffer must have a multiple of {CORE_PARTITIONS} partitions, not {partitions}")
    check_array("index", index, np.uint16)
    check_shape("index", index, partitions, "K", why=" with src_buffer's partitions")
    check_choice("num_elem_per_idx", num_elem_per_idx, RUNS)
    given = CORE_PARTITIONS * index.shape[1]
    count = given if num_valid_indices is None else num_valid_indices
    most = min(given, MAX_LOCAL_INDICES)
    integer("num_valid_indices", count, range(1, most + 1), f" with an index of {index.shape[1]} columns")
    starts = indirect_offsets(index, count, engine="gpsimd", numerics=TRAINIUM3_INDIRECT_GROUPED.numerics)
    if starts.max() + num_elem_per_idx > elements:
        raise ValueError(
            f"index must start runs of {num_elem_per_idx} in src_buffer's {elements} elements, not at {starts.max()}"
        )
    of_cores = (starts[..., np.newaxis] + np.arange(num_elem_per_idx)).reshape(len(starts), -1)
    return np.take_along_axis(src_buffer, of_cores.repeat(CORE_PARTITIONS, axis=0), axis=1)


# nc_n_gather: elements by index, in each partition by itself.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.nc_n_gather`.
#
# Ref: ``nki.isa.nc_n_gather`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).


@checked
def nc_n_gather(data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Compute ``out[p, i] = data[p, indices[p, i]]``, bit for bit.

    Parameters
    ----------
    data : [P, F] of `ELEMENT_DTYPES`, P from 1 to 128.
    indices : uint32 [P, N], each below F.

    Returns
    -------
    [P, N] of data's dtype.

    Raises
    ------
    TypeError, ValueError : another dtype or shape, or an index of F or more.
    """
    check_tile("data", data, *ELEMENT_DTYPES)
    check_tile("indices", indices, np.dtype(np.uint32))
    check_shape("indices", indices, len(data), "N", why=" with data's partitions")
    if indices.max() >= data.shape[1]:
        raise ValueError(f"indices must be below data's {data.shape[1]} elements, not {indices.max()}")
    return np.take_along_axis(data, indices.astype(np.int64), axis=1)


# nc_stream_shuffle: partitions move within each quadrant of 32, bit for bit.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.nc_stream_shuffle`.
#
# Ref: ``nki.isa.nc_stream_shuffle`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are
# in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


@checked
def nc_stream_shuffle(dst: np.ndarray, src: np.ndarray, shuffle_mask: Sequence[int]) -> np.ndarray:
    """Compute ``dst[32 * q + i] = src[32 * q + shuffle_mask[i]]`` for every quadrant q of dst; a new array like `dst`.

    Parameters
    ----------
    dst : [P, F], P from 1 to 128: present content, which a partition with mask 255 keeps.
    src : [Q, F] of dst's dtype, Q from 1 to 128. It is read before anything is written.
    shuffle_mask : 32 numbers, 0 to 31 or 255.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or mask, or a partition that src does not have.
    """
    check_tile("dst", dst, *ELEMENT_DTYPES)
    check_tile("src", src, dst.dtype)
    check_shape("src", src, "P", dst.shape[1], why=" with dst's elements")
    check_length("shuffle_mask", shuffle_mask, QUADRANT)
    mask = np.array(shuffle_mask)
    unknown = mask[(mask != UNCHANGED) & ((mask < 0) | (mask >= QUADRANT))]
    if unknown.size:
        raise ValueError(f"shuffle_mask must hold 0 to {QUADRANT - 1} or {UNCHANGED}, not {unknown[0]}")
    partition = np.arange(len(dst))
    of_mask = mask[partition % QUADRANT]
    written = of_mask != UNCHANGED
    source = (partition - partition % QUADRANT + of_mask)[written]
    if source.size and source.max() >= len(src):
        raise ValueError(f"shuffle_mask must name partitions below src's {len(src)}, not {source.max()}")
    result = dst.copy()
    result[written] = src[source]
    return result


# nonzero_with_count: places of the nonzero elements of a row, and how many there are, in each GpSimd core.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.nonzero_with_count`.
#
# Ref: ``nki.isa.nonzero_with_count`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are
# in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


@checked
def nonzero_with_count(dst: np.ndarray, src: np.ndarray, *, index_offset: int = 0, padding_val: int = -1) -> np.ndarray:
    """Return dst after rows 0, 16, ... 112 hold the places of src's nonzero elements, padding, and their count.

    With N nonzero elements at ``i[0] < i[1] < ...``: ``out[p, :N] = index_offset + i`` modulo 2**32,
    ``out[p, N:F] = padding_val`` and ``out[p, F] = N``. Other rows keep dst's content.

    Parameters
    ----------
    dst : int32 [P, F + 1], present content, P from 1 to 128.
    src : [P, F] of float32 or int32. Zeros of both signs are zero; NaN and subnormals are not.
    index_offset, padding_val : any int32.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number.
    """
    check_tile("src", src, np.dtype(np.float32), np.dtype(np.int32))
    check_tile("dst", dst, np.dtype(np.int32))
    check_shape("dst", dst, len(src), src.shape[1] + 1, why=", src's partitions and an element more")
    integer("index_offset", index_offset, INT32_RANGE)
    integer("padding_val", padding_val, INT32_RANGE)
    result = dst.copy()
    for p in range(0, len(src), CORE_PARTITIONS):
        places = np.flatnonzero(src[p])
        result[p, : len(places)] = ((places + index_offset) % (1 << 32)).astype(np.uint32).view(np.int32)
        result[p, len(places) : -1] = padding_val
        result[p, -1] = len(places)
    return result


# sequence_bounds: the segment of each element of a packed sequence, by its ends.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.sequence_bounds`.
#
# Ref: ``nki.isa.sequence_bounds`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08), and the vendor's test of it.
# Points that they leave open are in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


_DTYPES = (np.dtype(np.float32), np.dtype(np.int32))


@checked
def sequence_bounds(segment_ids: np.ndarray, *, dtype: np.dtype | type | str | None = None) -> np.ndarray:
    """Return ``[first place, last place + 1]`` of the run of equal segment numbers that each element belongs to.

    Segment 0 is padding: its elements get ``[n, -1]``.

    Parameters
    ----------
    segment_ids : [1, n] of float32 or int32: whole numbers of 0 or more.
    dtype : float32 or int32; None is that of `segment_ids`.

    Returns
    -------
    [1, 2, n] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape, or another number.
    """
    check_tile("segment_ids", segment_ids, *_DTYPES)
    check_shape("segment_ids", segment_ids, 1, "n")
    result = segment_ids.dtype if dtype is None else dtype_of("dtype", dtype, *_DTYPES)
    ids = segment_ids[0].astype(np.float64)  # float64 holds every INT32
    wrong = ids[~((ids >= 0) & (np.floor(ids) == ids) & (ids < np.inf))]
    if wrong.size:
        raise ValueError(f"segment_ids must be whole numbers of at least 0, not {wrong[0]}")
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    lengths = np.diff(starts, append=len(ids))
    padding = ids == 0
    first = np.where(padding, len(ids), starts.repeat(lengths))
    end = np.where(padding, -1, (starts + lengths).repeat(lengths))
    return np.stack((first, end))[np.newaxis].astype(result)


# tensor_partition_reduce: the partitions of a tile to one.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.tensor_partition_reduce`.
#
# Ref: ``nki.isa.tensor_partition_reduce`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open
# are in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


@checked
def tensor_partition_reduce(
    data: np.ndarray,
    op: str,
    *,
    dtype: np.dtype | type | str | None = None,
    sum_order: SumOrderName = "serial",
) -> np.ndarray:
    """Return ``data[0] op data[1] op ... op data[P - 1]``, computed in FP32, then the cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype that `cast` takes; of integers for bit operators.
    op : "add", "average", which is the sum divided by P with one more rounding, "max", "bitwise_and" or "bitwise_or".
    dtype : as `cast` takes it, also "tf32"; None is float32. Bit operators cast nothing: an integer of data's size, data's
        dtype for None.
    sum_order : order of sums: "serial", from partition 0 on with a rounding each, or "exact" with one rounding.

    Returns
    -------
    [1, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, operator or order.
    """
    check_choice("op", op, PARTITION_REDUCTIONS)
    order = member("sum_order", sum_order, SumOrder)
    if op in BIT_OPERATORS:
        check_tile("data", data, *INTEGER_DTYPES)
        result = bit_dtype(dtype, data.dtype)
        reduce = np.bitwise_and.reduce if op == "bitwise_and" else np.bitwise_or.reduce
        return reduce(bit_words(data), axis=0, keepdims=True).view(result)
    check_tile("data", data, *CAST_DTYPES.values())
    columns = np.ascontiguousarray(to_fp32(data).T)
    reduced = reduce_free(columns, "max" if op == "max" else "add", order)
    if op == "average":
        reduced = fp32.divide(reduced, np.float32(len(data)))
    return from_fp32(reduced.T, np.float32 if dtype is None else dtype)


# topk: the largest elements of each GpSimd core's 16 partitions, with their places.
#
#     element i of a core: partition i % 16, column i // 16
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.topk`.
#
# Ref: ``nki.isa.topk`` reference pages, NKI 0.6 and Neuron 2.33 (AWS Neuron documentation, 2026). Points that they leave open
# are in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


_PLACES = 1 << 16
"""More than the elements of a core, so that a place fits below a rank in one integer."""


@checked
def topk(val_dst: np.ndarray, idx_dst: np.ndarray, src: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both destinations with the K largest of each core's first n elements, in ascending order.

    Result j of a core lies where element j lies: in its partition ``j % 16``, column ``j // 16``. NaN is above infinity, and
    of equal numbers the one of the smaller place is above.

    Parameters
    ----------
    val_dst : BF16 [P, K], present content; columns from ceil(K / 16) on keep it, and so do the places behind result K - 1.
    idx_dst : uint32 [P, K], likewise: places of the values among the core's elements.
    src : BF16 [P, X], P a multiple of 16 up to 128, X at least ceil(n / 16).
    n : elements of each core, 8 to 65535; K is 1 to n and at most 32767.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number.
    """
    check_tile("src", src, DTYPES[BF16])
    partitions, columns = src.shape
    if partitions % CORE_PARTITIONS:
        raise ValueError(f"src must have a multiple of {CORE_PARTITIONS} partitions, not {partitions}")
    integer("n", n, TOPK_SOURCES)
    if columns < -(-n // CORE_PARTITIONS):
        raise ValueError(f"src must have at least {-(-n // CORE_PARTITIONS)} columns with n {n}, not {columns}")
    check_tile("val_dst", val_dst, DTYPES[BF16])
    check_tile("idx_dst", idx_dst, np.dtype(np.uint32))
    check_shape("val_dst", val_dst, partitions, "K", why=" with src's partitions")
    k = val_dst.shape[1]
    integer("number of columns of val_dst", k, range(1, min(n, TOPK_MOST) + 1), f" with n {n}")
    check_shape("idx_dst", idx_dst, partitions, k, why=", that of val_dst")
    codes = _snake(src)[:, :n]
    keys = _ranks(codes.view(np.uint16)) * _PLACES + (_PLACES - 1 - np.arange(n))
    places = _PLACES - 1 - np.sort(keys, axis=1)[:, n - k :] % _PLACES
    values = np.take_along_axis(codes, places, axis=1)
    return _with_results(val_dst, values), _with_results(idx_dst, places.astype(np.uint32))


def _ranks(codes: np.ndarray) -> np.ndarray:
    """Return int64 numbers in the order of BF16 codes' values: equal for zeros of both signs, and for all NaN the highest."""
    magnitudes = (codes & ~np.uint16(BF16.sign_mask)).astype(np.int64)
    ranks = np.where(codes & np.uint16(BF16.sign_mask), -magnitudes, magnitudes)
    return np.where(magnitudes > BF16.infinity_code, BF16.sign_mask, ranks)


def _snake(tile: np.ndarray) -> np.ndarray:
    """Return a copy of a tile as [cores, elements]."""
    cores = tile.reshape(-1, CORE_PARTITIONS, tile.shape[1])
    return cores.transpose(0, 2, 1).reshape(len(cores), -1)


def _with_results(dst: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Return a destination whose cores begin with results."""
    snake = _snake(dst)
    snake[:, : results.shape[1]] = results
    cores = snake.reshape(len(snake), dst.shape[1], CORE_PARTITIONS)
    return np.ascontiguousarray(cores.transpose(0, 2, 1)).reshape(dst.shape)
