"""Recurrences along a row of scalars: tensor_tensor_scan and tensor_scalar_cumulative.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from collections.abc import Sequence

from bitpath.golden.scalar.arguments import check_choice, check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.exact.cast import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import OPERATORS
from bitpath.golden.trainium3.exact.reduction import IDENTITIES

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
