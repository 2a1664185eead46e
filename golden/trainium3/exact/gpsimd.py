"""Exact twins of GpSimd's instructions that count, reduce and order, on codes.

The rules are in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from typing import TypeVar

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.checked import check_choice, check_length, checked, integer
from bitpath.golden.scalar.codec import Kind, Unpacked, decode
from bitpath.golden.scalar.rounding import round_to_format, rounded_sum, term
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, IntegerFormat
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT
from bitpath.golden.trainium3.declarations.vector import (
    CORE_PARTITIONS,
    INT32_RANGE,
    PARTITION_REDUCTIONS,
    UNCHANGED,
    SumOrder,
)
from bitpath.golden.trainium3.exact.conversions import cast, from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import BIT_OPERATORS

# Exact twins of iota and affine_select, on one partition.
#
# The rules are in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


_WORDS = 1 << 32
_HOLDS: Mapping[str, Callable[[int], bool]] = {
    "equal": lambda value: value == 0,
    "not_equal": lambda value: value != 0,
    "greater": lambda value: value > 0,
    "greater_equal": lambda value: value >= 0,
    "less": lambda value: value < 0,
    "less_equal": lambda value: value <= 0,
}


@checked
def iota(
    pattern: Sequence[tuple[int, int]], partition: int, offset: int, channel_multiplier: int, dtype: str
) -> list[int]:
    """Return the codes of a partition's affine values, outermost pair of the pattern first.

    Parameters
    ----------
    pattern : pairs (step, num).
    partition : number of the partition.
    offset, channel_multiplier : as the instruction's.
    dtype : name of the destination's dtype, as `cast` takes it.

    Raises
    ------
    ValueError : another dtype.
    """
    check_choice("dtype", dtype, FORMATS)
    words = [value % _WORDS for value in _values(pattern, partition, offset, channel_multiplier)]
    return words if dtype == "uint32" else [cast(word, "int32", dtype) for word in words]


@checked
def affine_select(
    pattern: Sequence[tuple[int, int]],
    partition: int,
    offset: int,
    channel_multiplier: int,
    row: Sequence[int],
    source: str,
    on_false: int,
    cmp_op: str,
    dtype: str,
) -> list[int]:
    """Return the codes of a partition: those of a row where the affine value compares true with 0, else a number's.

    Parameters
    ----------
    pattern, partition, offset, channel_multiplier : as `iota`.
    row, source : codes of the row, as many as the pattern has places, and the name of their dtype.
    on_false : FP32 code of the number.
    cmp_op : the comparison, with the affine value on its left.
    dtype : name of the destination's dtype.

    Raises
    ------
    ValueError : another comparison or dtype, or a row of another length.
    """
    holds = _HOLDS[check_choice("cmp_op", cmp_op, _HOLDS)]
    values = _values(pattern, partition, offset, channel_multiplier)
    check_length("row", row, len(values), ", one for each place of pattern")
    kept = [cast(code, source, dtype) for code in row]
    other = from_fp32(on_false, dtype)
    return [code if holds(value) else other for code, value in zip(kept, values, strict=True)]


def _values(pattern: Sequence[tuple[int, int]], partition: int, offset: int, channel_multiplier: int) -> list[int]:
    """Return the values as integers of 32 bits with sign."""
    first = offset + partition * channel_multiplier
    places = product(*(range(num) for _, num in pattern))
    sums = [first + sum(i * step for i, (step, _) in zip(place, pattern, strict=True)) for place in places]
    return [(each + _WORDS // 2) % _WORDS - _WORDS // 2 for each in sums]


# Exact twins of nc_stream_shuffle, local_gather and nc_n_gather, on rows of codes.
#
# The rules are in `bitpath.golden.trainium3.declarations.vector.GPSIMD_CHOICES`.


Item = TypeVar("Item")


@checked
def nc_stream_shuffle(
    dst: Sequence[Sequence[int]], src: Sequence[Sequence[int]], shuffle_mask: Sequence[int]
) -> list[list[int]]:
    """Return dst's partitions after a shuffle of src's.

    Parameters
    ----------
    dst, src : codes of each partition.
    shuffle_mask : 32 numbers, each a partition of a quadrant or 255.

    Raises
    ------
    ValueError : a mask of another length, or a partition that src does not have.
    """
    check_length("shuffle_mask", shuffle_mask, QUADRANT)
    result = []
    for p, row in enumerate(dst):
        quadrant, i = divmod(p, QUADRANT)
        entry = shuffle_mask[i]
        if entry == UNCHANGED:
            result.append([*row])
        else:
            integer("shuffle_mask", entry, range(QUADRANT))
            result.append([*_item("src", src, QUADRANT * quadrant + entry)])
    return result


@checked
def local_gather(
    rows: Sequence[Sequence[int]], index: Sequence[Sequence[int]], num_elem_per_idx: int, num_valid_indices: int
) -> list[list[int]]:
    """Return the codes that each partition gathers.

    Parameters
    ----------
    rows, index : codes and indices of each partition.
    num_elem_per_idx, num_valid_indices : elements of a run, and runs.

    Raises
    ------
    ValueError : an index or a run that is not there.
    """
    check_length("index", index, len(rows), ", a row for each of rows")
    result = []
    for p, row in enumerate(rows):
        gathered = []
        for i in range(num_valid_indices):
            column, below = divmod(i, CORE_PARTITIONS)
            of_partition = _item("index", index, p // CORE_PARTITIONS * CORE_PARTITIONS + below)
            start = _item("index of a partition", of_partition, column)
            gathered += [_item("row", row, start + j) for j in range(num_elem_per_idx)]
        result.append(gathered)
    return result


@checked
def nc_n_gather(row: Sequence[int], indices: Sequence[int]) -> list[int]:
    """Return the codes of a partition at indices.

    Raises
    ------
    ValueError : an index that the row does not have.
    """
    return [_item("row", row, i) for i in indices]


def _item(name: str, values: Sequence[Item], place: int) -> Item:
    """Return an item of a sequence; raise ValueError unless it is there."""
    check_length(name, values)
    return values[integer(f"place in {name}", place, range(len(values)))]


@checked
def nonzero_with_count(row: Sequence[int], source: str, index_offset: int, padding_val: int) -> list[int]:
    """Return the INT32 codes of a row's nonzero places, padding, and their count: one code more than the row has.

    Parameters
    ----------
    row, source : codes, and the name of their dtype, "fp32" or "int32".
    index_offset, padding_val : as the instruction's.

    Raises
    ------
    ValueError : another dtype, or a number beyond int32.
    """
    check_choice("source", source, ("fp32", "int32"))
    integer("index_offset", index_offset, INT32_RANGE)
    integer("padding_val", padding_val, INT32_RANGE)
    zeros = (0, FP32.sign_mask) if source == "fp32" else (0,)
    places = [i + index_offset for i, code in enumerate(row) if code not in zeros]
    padding = [padding_val] * (len(row) - len(places))
    return [value % _WORDS for value in (*places, *padding, len(places))]


@checked
def tensor_partition_reduce(
    column: Sequence[int], source: str, op: str, dtype: str, sum_order: SumOrder = SumOrder.SERIAL
) -> int:
    """Return the code of a column of partitions, reduced.

    Parameters
    ----------
    column, source : codes from partition 0 on, and the name of their dtype.
    op : one of `PARTITION_REDUCTIONS`.
    dtype : name of the result's dtype.
    sum_order : order and rounding of sums.

    Raises
    ------
    ValueError : no element, another operator or dtype, or bit operators on anything but integers of one size.
    """
    check_length("column", column)
    check_choice("op", op, PARTITION_REDUCTIONS)
    formats = [FORMATS[check_choice(name, each, FORMATS)] for name, each in (("source", source), ("dtype", dtype))]
    if op in BIT_OPERATORS:
        sizes = {each.width for each in formats if isinstance(each, IntegerFormat)}
        if len(sizes) != 1 or not all(isinstance(each, IntegerFormat) for each in formats):
            raise ValueError(f"{op} takes integers of one size, not {source} and {dtype}")
        words = range(1 << sizes.pop())
        return reduce(BIT_OPERATORS[op], [integer("code", code, words) for code in column])
    values = [to_fp32(code, source) for code in column]
    if op == "max":
        return from_fp32(reduce(fp32.maximum, values), dtype)
    total = _exact_sum(values) if sum_order is SumOrder.EXACT else reduce(fp32.add, values)
    return from_fp32(_quotient(total, len(column)) if op == "average" else total, dtype)


@checked
def topk(elements: Sequence[int], k: int) -> tuple[list[int], list[int]]:
    """Return the k largest of a core's BF16 elements in ascending order, as codes, and their places.

    Raises
    ------
    ValueError : k below 1 or above the number of elements.
    """
    check_length("elements", elements)
    integer("k", k, range(1, len(elements) + 1))
    left = [*range(len(elements))]
    taken: list[int] = []
    while len(taken) < k:
        best = left[0]
        for place in left:
            if _above(elements[place], elements[best]):
                best = place
        left.remove(best)
        taken.insert(0, best)
    return [elements[place] for place in taken], taken


@checked
def sequence_bounds(segments: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the first place, and the last place + 1, of the run of equal numbers around each element.

    Parameters
    ----------
    segments : whole numbers of 0 or more; elements of segment 0 get the number of elements, and -1.
    """
    count = len(segments)
    first, end = [], []
    for place, segment in enumerate(segments):
        low = high = place
        while low and segments[low - 1] == segment:
            low -= 1
        while high < count and segments[high] == segment:
            high += 1
        first.append(low if segment else count)
        end.append(high if segment else -1)
    return first, end


def _above(code: int, other: int) -> bool:
    """Return True if a BF16 number is above another, where NaN is above infinity and equal to NaN."""
    x, y = decode(BF16, code), decode(BF16, other)
    if Kind.NAN in (x.kind, y.kind):
        return y.kind is not Kind.NAN
    return _extended(x) > _extended(y)


def _extended(x: Unpacked) -> tuple[int, Fraction]:
    """Return a number in the order of values: infinities outside of all numbers."""
    if x.kind is Kind.INFINITY:
        return (-1 if x.sign else 1), Fraction(0)
    return 0, x.value


def _exact_sum(values: Sequence[int]) -> int:
    return rounded_sum([term(decode(FP32, code)) for code in values])


def _quotient(code: int, count: int) -> int:
    """Return an FP32 number divided by a positive integer, rounded once to nearest even."""
    x = decode(FP32, code)
    return round_to_format(x.value / count, FP32, zero_sign=x.sign) if x.kind is Kind.FINITE else code
