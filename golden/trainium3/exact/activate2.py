"""Activation2 and softmax on one row of scalars, operation after operation.

The rules are in `bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.arguments import check_choice, check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.trainium3.declarations.engines import (
    ACTIVATE2_OPERATIONS,
    ACTIVATE2_REDUCTIONS,
    BYPASS,
    ReduceCommand,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact.cast import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.exponential import exponential
from bitpath.golden.trainium3.exact.functions import FUNCTIONS as NEAREST
from bitpath.golden.trainium3.exact.operators import ONE, OPERATORS, UNARY
from bitpath.golden.trainium3.exact.reduction import IDENTITIES, reduce_row

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
