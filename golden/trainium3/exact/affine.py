"""Exact twins of iota and affine_select, on one partition.

The rules are in `bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from bitpath.golden.scalar.arguments import check_choice, check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact.cast import cast, from_fp32

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
