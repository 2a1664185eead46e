"""Instructions of ScalarE and VectorE on single elements and rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import copysign, isinf, isnan
from typing import Any

from bitpath.golden.formats.catalogue import FP32, TF32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.checked import check_choice, check_length, checked, integer, shown
from bitpath.golden.scalar.codec import Kind, Overflow, decode, overflow_code
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS, IntegerFormat
from bitpath.golden.trainium3.declarations.engines import (
    ACTIVATE2_OPERATIONS,
    ACTIVATE2_REDUCTIONS,
    BYPASS,
    MAX8_VALUES,
    RANGE_SELECT_COMPARISONS,
    RANGE_SELECT_INDICES,
    ReduceCommand,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.functions import FUNCTIONS as NEAREST
from bitpath.golden.trainium3.exact.functions import exponential
from bitpath.golden.trainium3.exact.operators import IDENTITIES, ONE, OPERATORS, UNARY, reduce_row

# Activation2 and softmax on one row of scalars, operation after operation.
#
# The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.


_EXP = partial(exponential, TRAINIUM3_EXPONENTIAL.numerics)


def _prelu(x: int, parameter: int) -> int:
    return fp32.multiply(x, parameter) if x & FP32.sign_mask and decode(FP32, x).kind is not Kind.NAN else x


def _sign(x: int) -> int:
    each = decode(FP32, x)
    if each.kind is Kind.NAN:
        return FP32.nan_code
    return 0 if each.is_zero else ONE | x & FP32.sign_mask


FUNCTIONS: Mapping[str, Callable[[int], int]] = {
    "copy": lambda x: x,
    "square": UNARY["square"],
    "sqrt": fp32.square_root,
    "rsqrt": UNARY["rsqrt"],
    "reciprocal": UNARY["reciprocal"],
    "exp": lambda x: _EXP(x, 0),
    "abs": UNARY["abs"],
    "relu": UNARY["relu"],
    "sign": _sign,
    **NEAREST,
}
"""Functions of an FP32 code, but for "prelu", which has a parameter."""


@checked
def activate2(
    row: Sequence[int],
    source: str,
    op: str,
    operations: tuple[str, str],
    immediates: tuple[int, int],
    *,
    reverse: tuple[bool, bool] = (False, False),
    relu_param: int = 0,
    reduce_op: str = "add",
    reduce_cmd: ReduceCommand = ReduceCommand.IDLE,
    register: int = 0,
    destination: str = "fp32",
) -> tuple[list[int], int]:
    """Return the codes of ``op((x op0 imm0) op1 imm1)``, and the reduction register after them.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`.
    immediates, relu_param, register : FP32 codes.
    operations : a pair of `ACTIVATE2_OPERATIONS`.
    destination : dtype of the result.

    Raises
    ------
    ValueError : another dtype, function, pair or reduction; an empty row.
    """
    check_length("row", row)
    check_choice("op", op, (*FUNCTIONS, "prelu"))
    check_choice("reduce_op", reduce_op, ACTIVATE2_REDUCTIONS)
    if operations not in ACTIVATE2_OPERATIONS:
        raise ValueError(f"operations must be one of {ACTIVATE2_OPERATIONS}, not {operations}")
    function = partial(_prelu, parameter=relu_param) if op == "prelu" else FUNCTIONS[op]
    values = [to_fp32(code, source) for code in row]
    for step, immediate, left in zip(operations, immediates, reverse, strict=True):
        if step != BYPASS:
            values = [OPERATORS[step](*((immediate, x) if left else (x, immediate))) for x in values]
    values = [function(x) for x in values]
    if reduce_cmd in (ReduceCommand.RESET, ReduceCommand.RESET_REDUCE):
        register = IDENTITIES[reduce_op]
    if reduce_cmd in (ReduceCommand.REDUCE, ReduceCommand.RESET_REDUCE):
        register = reduce_row(values, reduce_op, register)
    return [from_fp32(x, destination) for x in values], register


@checked
def softmax(row: Sequence[int], source: str, destination: str = "fp32") -> list[int]:
    """Return ``exp(x - max) / sum`` of codes of a dtype: maximum, exponential, serial sum, reciprocal, product."""
    check_length("row", row)
    values = [to_fp32(code, source) for code in row]
    largest = values[0]
    for x in values[1:]:
        largest = fp32.maximum(largest, x)
    powers = [_EXP(x, largest) for x in values]
    total = 0
    for power in powers:
        total = fp32.add(total, power)
    factor = fp32.reciprocal(total)
    return [from_fp32(fp32.multiply(power, factor), destination) for power in powers]


# max8, nc_find_index8 and nc_match_replace8 on one row of scalars.
#
# The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.


@checked
def max8_row(row: Sequence[int], source: str, destination: str = "fp32") -> list[int]:
    """Return the codes of a row's eight largest numbers: eight times the maximum, which is NaN where one is left.

    Parameters
    ----------
    row : at least eight codes of the dtype `source`, a name of `FORMATS`.
    destination : dtype of the result.

    Raises
    ------
    ValueError : a shorter row, or another dtype.
    """
    check_length("row", row, max(len(row), MAX8_VALUES))
    left, largest = [to_fp32(code, source) for code in row], []
    for _ in range(MAX8_VALUES):
        largest.append(reduce_row(left, "max"))
        left.remove(largest[-1])
    return [from_fp32(x, destination) for x in largest]


@checked
def find_index8_row(row: Sequence[int], source: str, values: Sequence[int], values_source: str) -> list[int | None]:
    """Return the index of the first element that equals each of eight values; None where none is left.

    Equal values take successive elements.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`.
    values : eight codes of the dtype `values_source`.

    Raises
    ------
    ValueError : other than eight values, or another dtype.
    """
    return _matches(row, source, values, values_source, range(MAX8_VALUES))


@checked
def match_replace8_row(
    row: Sequence[int],
    source: str,
    values: Sequence[int],
    values_source: str,
    immediate: int,
    destination: str = "fp32",
) -> tuple[list[int], list[int | None]]:
    """Return the codes of a row, an element replaced for each of eight values from the last on, and their indices.

    Parameters
    ----------
    row, values : as `find_index8_row`.
    immediate : FP32 code in place of the elements.
    destination : dtype of the result.

    Raises
    ------
    ValueError : as `find_index8_row`.
    """
    indices = _matches(row, source, values, values_source, reversed(range(MAX8_VALUES)))
    replaced = [immediate if i in indices else to_fp32(code, source) for i, code in enumerate(row)]
    return [from_fp32(x, destination) for x in replaced], indices


def _matches(
    row: Sequence[int], source: str, values: Sequence[int], values_source: str, order: Iterable[int]
) -> list[int | None]:
    """Return each value's index; the values choose in an order, each the first equal element that is left."""
    check_length("values", values, MAX8_VALUES)
    left = {i: to_fp32(code, source) for i, code in enumerate(row)}
    indices: list[int | None] = [None] * MAX8_VALUES
    for slot in order:
        value = to_fp32(values[slot], values_source)
        found = [i for i, x in left.items() if OPERATORS["equal"](x, value) == ONE]
        if found:
            indices[slot] = min(found)
            del left[min(found)]
    return indices


# Recurrences along a row of scalars: tensor_tensor_scan and tensor_scalar_cumulative.
#
# The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.


CUMULATIVE_IDENTITIES = {
    "add": IDENTITIES["add"],
    "subtract": IDENTITIES["add"],
    "multiply": IDENTITIES["multiply"],
    "max": IDENTITIES["max"],
    "min": IDENTITIES["min"],
}
"""FP32 codes from which tensor_scalar_cumulative starts, by its second operator."""


@checked
def scan_row(
    first: Sequence[int],
    first_source: str,
    second: Sequence[int],
    second_source: str,
    operators: tuple[str, str],
    initial: int,
    *,
    reverse: tuple[bool, bool] = (False, False),
    destination: str = "fp32",
) -> list[int]:
    """Return the codes of the states ``s = (first[i] op0 s) op1 second[i]``, from ``s = initial`` on.

    Parameters
    ----------
    first, second : codes of the dtypes `first_source` and `second_source`, names of `FORMATS`.
    operators : op0 and op1.
    initial : FP32 code.
    reverse : whether the operator's operands change places.
    destination : dtype of the result.

    Raises
    ------
    ValueError : another dtype or operator; rows of two lengths.
    """
    check_length("second", second, len(first), " as first")
    op0, op1 = (OPERATORS[check_choice("operators", op, OPERATORS)] for op in operators)
    state, codes = initial, []
    for code0, code1 in zip(first, second, strict=True):
        x, y = to_fp32(code0, first_source), to_fp32(code1, second_source)
        state = op0(state, x) if reverse[0] else op0(x, state)
        state = op1(y, state) if reverse[1] else op1(state, y)
        codes.append(from_fp32(state, destination))
    return codes


@checked
def cumulate_row(
    row: Sequence[int],
    source: str,
    operators: tuple[str, str],
    immediate: int,
    *,
    register: int | None = None,
    destination: str = "fp32",
) -> tuple[list[int], int]:
    """Return the codes of the registers ``r = (row[i] op0 immediate) op1 r``, and the last register.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`.
    operators : op0, and op1 of `CUMULATIVE_IDENTITIES`.
    immediate, register : FP32 codes; the register before the row, op1's identity for None.
    destination : dtype of the result.

    Raises
    ------
    ValueError : another dtype or operator.
    """
    op0, op1 = operators
    check_choice("operators", op0, OPERATORS)
    check_choice("operators", op1, CUMULATIVE_IDENTITIES)
    register = CUMULATIVE_IDENTITIES[op1] if register is None else register
    codes = []
    for code in row:
        register = OPERATORS[op1](OPERATORS[op0](to_fp32(code, source), immediate), register)
        codes.append(from_fp32(register, destination))
    return codes, register


# Selections along a row of scalars: tensor_copy_predicated, select_reduce and range_select.
#
# The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.


LOWEST = FP32.sign_mask | FP32.max_code
"""FP32 code of the elements that range_select does not select."""


@checked
def copy_row_predicated(
    row: Sequence[int], source: Sequence[int], predicate: Sequence[int], *, reverse_pred: bool = False
) -> list[int]:
    """Return the codes of a row, replaced by those of `source` where the predicate is not 0, or 0 if reversed.

    Raises
    ------
    ValueError : rows of several lengths.
    """
    check_length("source", source, len(row), " as row")
    check_length("predicate", predicate, len(row), " as row")
    return [
        new if bool(holds) is not reverse_pred else old for old, new, holds in zip(row, source, predicate, strict=True)
    ]


@checked
def select_row(
    predicate: Sequence[int],
    on_true: Sequence[int],
    source: str,
    on_false: int,
    *,
    reverse_pred: bool = False,
    register: int = IDENTITIES["max"],
    destination: str = "fp32",
) -> tuple[list[int], int]:
    """Return the codes of `on_true` where the predicate is not 0, of `on_false` elsewhere, and the maximum.

    Parameters
    ----------
    on_true : codes of the dtype `source`, a name of `FORMATS`.
    on_false, register : FP32 codes; the maximum starts from the register.
    reverse_pred : True to take `on_true` where the predicate is 0.
    destination : dtype of the result.

    Raises
    ------
    ValueError : rows of two lengths, an empty row, or another dtype.
    """
    check_length("predicate", predicate, len(on_true), " as on_true")
    values = [
        to_fp32(code, source) if bool(holds) is not reverse_pred else on_false
        for code, holds in zip(on_true, predicate, strict=True)
    ]
    return [from_fp32(x, destination) for x in values], reduce_row(values, "max", register)


@checked
def select_range(
    row: Sequence[int],
    source: str,
    comparisons: tuple[str, str],
    bounds: tuple[int, int],
    *,
    range_start: int = 0,
    register: int = IDENTITIES["max"],
    destination: str = "fp32",
) -> tuple[list[int], int]:
    """Return the codes of a row's elements whose index compares true with both bounds, and the maximum.

    The other elements are FP32's lowest number, cast to the destination.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`.
    comparisons : two of `RANGE_SELECT_COMPARISONS`.
    bounds, register : FP32 codes; the maximum starts from the register.
    range_start : index of the first element.
    destination : dtype of the result.

    Raises
    ------
    ValueError : another dtype, comparison or index; an empty row.
    """
    for op in comparisons:
        check_choice("comparisons", op, RANGE_SELECT_COMPARISONS)
    integer("range_start", range_start, range(1 - RANGE_SELECT_INDICES, RANGE_SELECT_INDICES - len(row) + 1))
    values = []
    for i, code in enumerate(row, range_start):
        index = round_to_format(Fraction(i), FP32)
        holds = [OPERATORS[op](index, bound) for op, bound in zip(comparisons, bounds, strict=True)]
        values.append(to_fp32(code, source) if all(holds) else LOWEST)
    return [from_fp32(x, destination) for x in values], reduce_row(values, "max", register)


# bn_stats and bn_aggr on one row of scalars, operation after operation.
#
# The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.


@checked
def bn_stats_row(row: Sequence[int], source: str, destination: str = "fp32") -> list[int]:
    """Return the codes of count, mean and sum of squared deviations of a row's even elements, then of its odd ones.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`; 0 for all three of a part without elements.
    destination : dtype of the result.

    Raises
    ------
    ValueError : an empty row, or another dtype.
    """
    check_length("row", row)
    statistics = []
    for part in (row[::2], row[1::2]):
        values = [to_fp32(code, source) for code in part]
        statistics += _statistics(values) if values else [0, 0, 0]
    return [from_fp32(x, destination) for x in statistics]


@checked
def bn_aggr_row(row: Sequence[int], source: str, destination: str = "fp32") -> list[int]:
    """Return the codes of mean and variance of the whole, from triples of count, mean and sum of squared deviations.

    Parameters
    ----------
    row : codes of the dtype `source`, a name of `FORMATS`; triples one after the other.
    destination : dtype of the result.

    Raises
    ------
    ValueError : an empty row, or one of another length than a multiple of 3; another dtype.
    """
    check_length("row", row)
    check_length("row", row, len(row) // 3 * 3, ", a multiple of 3")
    values = [to_fp32(code, source) for code in row]
    triples = list(zip(values[::3], values[1::3], values[2::3], strict=True))
    total = reduce_row(values[::3], "add")
    mean = fp32.divide(reduce_row([fp32.multiply(count, each) for count, each, _ in triples], "add"), total)
    spread = [fp32.add(squares, fp32.multiply(count, _square(each, mean))) for count, each, squares in triples]
    return [from_fp32(x, destination) for x in (mean, fp32.divide(reduce_row(spread, "add"), total))]


def _statistics(values: Sequence[int]) -> list[int]:
    count = round_to_format(Fraction(len(values)), FP32)
    mean = fp32.multiply(reduce_row(values, "add"), fp32.reciprocal(count))
    return [count, mean, reduce_row([_square(x, mean) for x in values], "add")]


def _square(x: int, mean: int) -> int:
    """Return the square of the deviation of x from a mean."""
    deviation = fp32.add(x, mean ^ FP32.sign_mask)
    return fp32.multiply(deviation, deviation)


# memset on one element: a number to a dtype, rounded once.


@checked
def memset_element(value: Any, dtype: str) -> int:
    """Return the code of a number in a dtype, a name of `FORMATS`; floats round to nearest even and do not saturate.

    Parameters
    ----------
    value : an integer of the dtype's range for an integer dtype, else a float, an integer or a fraction.

    Raises
    ------
    TypeError : no number; anything but an integer for an integer dtype.
    ValueError : another dtype, or an integer beyond its range.
    """
    fmt = FORMATS[check_choice("dtype", dtype, FORMATS)]
    if isinstance(fmt, IntegerFormat):
        return integer("value", value, range(fmt.lowest, fmt.highest + 1)) % (1 << fmt.width)
    if not isinstance(value, float | int | Fraction):
        raise TypeError(f"value must be a number, not {shown(value)}")
    spare = TF32_SPARE_BITS if fmt is TF32 else 0
    if not isinstance(value, float):
        return round_to_format(Fraction(value), fmt) << spare
    if isnan(value):
        return fmt.nan_code << spare
    sign = int(copysign(1, value) < 0)
    if isinf(value):
        code = overflow_code(fmt, Overflow.SPECIAL)
        return (code if code == fmt.nan_code else code | sign * fmt.sign_mask) << spare
    return round_to_format(Fraction(value), fmt, zero_sign=sign) << spare
