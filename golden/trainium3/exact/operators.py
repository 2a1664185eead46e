"""Operators of ScalarE's and VectorE's instructions on scalars, by the names that the instructions take.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from collections.abc import Callable, Mapping, Sequence

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.checked import check_choice, check_length, checked, integer
from bitpath.golden.scalar.codec import Kind, Unpacked, decode
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, IntegerFormat
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.functions import power

ONE = 0x3F800000


def _subtract(x: int, y: int) -> int:
    return fp32.add(x, y ^ FP32.sign_mask)


def _magnitude(x: int, y: int, *, larger: bool) -> int:
    """Return the operand of larger or smaller magnitude, y of equal ones."""
    if Kind.NAN in (decode(FP32, x).kind, decode(FP32, y).kind):
        return FP32.nan_code
    first, second = x & ~FP32.sign_mask, y & ~FP32.sign_mask
    return x if (first > second if larger else first < second) else y


def _order(x: Unpacked, y: Unpacked) -> int | None:
    """Return -1, 0 or 1 as x is below, equal to or above y; None where either is NaN."""
    if Kind.NAN in (x.kind, y.kind):
        return None
    if Kind.INFINITY not in (x.kind, y.kind):
        return (x.value > y.value) - (x.value < y.value)
    return _rank(x) - _rank(y)


def _rank(x: Unpacked) -> int:
    """Return -1 and 1 for the infinities, 0 for numbers."""
    return 0 if x.kind is Kind.FINITE else -1 if x.sign else 1


def _comparison(holds: Callable[[int], bool], *, of_nan: bool = False) -> Callable[[int, int], int]:
    def compare(x: int, y: int) -> int:
        order = _order(decode(FP32, x), decode(FP32, y))
        return ONE if (of_nan if order is None else holds(order)) else 0

    return compare


def _logical(function: Callable[[bool, bool], bool]) -> Callable[[int, int], int]:
    return lambda x, y: ONE if function(not decode(FP32, x).is_zero, not decode(FP32, y).is_zero) else 0


OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": fp32.add,
    "subtract": _subtract,
    "multiply": fp32.multiply,
    "max": fp32.maximum,
    "min": fp32.minimum,
    "abs_max": lambda x, y: _magnitude(x, y, larger=True),
    "abs_min": lambda x, y: _magnitude(x, y, larger=False),
    "equal": _comparison(lambda order: order == 0),
    "not_equal": _comparison(lambda order: order != 0, of_nan=True),
    "greater": _comparison(lambda order: order > 0),
    "greater_equal": _comparison(lambda order: order >= 0),
    "less": _comparison(lambda order: order < 0),
    "less_equal": _comparison(lambda order: order <= 0),
    "logical_and": _logical(lambda x, y: x and y),
    "logical_or": _logical(lambda x, y: x or y),
    "logical_xor": _logical(lambda x, y: x != y),
}
"""Of two FP32 codes one."""
UNARY: Mapping[str, Callable[[int], int]] = {
    "abs": fp32.absolute,
    "logical_not": lambda x: ONE if decode(FP32, x).is_zero else 0,
    "square": lambda x: fp32.multiply(x, x),
    "relu": lambda x: 0 if x & FP32.sign_mask and decode(FP32, x).kind is not Kind.NAN else x,
    "rsqrt": fp32.reciprocal_square_root,
    "reciprocal": fp32.reciprocal,
}
"""Of an FP32 code another."""
BIT_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y,
}
"""Of two unsigned integers a third, to be cut to their width."""
GPSIMD_OPERATORS: Mapping[str, Callable[[int, int], int]] = {"power": power}
"""Of two FP32 codes one, on GpSimd alone."""
INTEGER_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
}
"""GpSimd's on 32-bit words, to be cut to 32 bits."""


@checked
def tensor_tensor(x: int, x_dtype: str, y: int, y_dtype: str, op: str, dtype: str, engine: str = "vector") -> int:
    """Return the code of ``x op y`` of one element; dtypes by the names of `FORMATS`.

    Parameters
    ----------
    x, y : bits of the elements in memory.
    engine : "vector", or "gpsimd", whose sums, differences and products of 32-bit integers are exact modulo 2**32.

    Raises
    ------
    ValueError : another operator, dtype or engine; bit operators on anything but integers of one size.
    """
    check_choice("op", op, (*OPERATORS, *BIT_OPERATORS, *GPSIMD_OPERATORS))
    check_choice("engine", engine, ("gpsimd",) if op in GPSIMD_OPERATORS else ("vector", "gpsimd"))
    formats = [FORMATS[check_choice("dtype", each, FORMATS)] for each in (x_dtype, y_dtype, dtype)]
    integers = [each for each in formats if isinstance(each, IntegerFormat)]
    width = integers[0].width if len({each.width for each in integers}) == 1 and len(integers) == len(formats) else None
    if op in BIT_OPERATORS:
        if width is None:
            raise ValueError(f"{op} takes integers of one size, not {x_dtype}, {y_dtype} and {dtype}")
        x, y = (integer(name, code, range(1 << width)) for name, code in (("x", x), ("y", y)))
        shifted_out = op.endswith("shift") and y >= width
        return 0 if shifted_out else BIT_OPERATORS[op](x, y) % (1 << width)
    if engine == "gpsimd" and op in INTEGER_OPERATORS and width == 32:
        return INTEGER_OPERATORS[op](x, y) % (1 << width)
    return from_fp32({**OPERATORS, **GPSIMD_OPERATORS}[op](to_fp32(x, x_dtype), to_fp32(y, y_dtype)), dtype)


# Reductions of a row of FP32 codes, element after element.
#
# The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.


IDENTITIES = {
    "add": 0,
    "multiply": ONE,
    "max": FP32.infinity_code | FP32.sign_mask,
    "min": FP32.infinity_code,
    "abs_max": 0,
    "abs_min": FP32.infinity_code,
}
"""FP32 codes to which a reset sets a register, by reduction."""


@checked
def reduce_row(row: Sequence[int], op: str, register: int | None = None) -> int:
    """Reduce FP32 codes, each result rounded, from the first element on, or onto a register.

    Raises
    ------
    ValueError : another reduction; an empty row.
    """
    check_length("row", row)
    check_choice("op", op, IDENTITIES)
    first, *others = row if register is None else (register, *row)
    for x in others:
        first = OPERATORS[op](first, x)
    return first
