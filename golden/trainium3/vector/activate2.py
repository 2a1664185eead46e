"""activate2: ScalarE's Activation2, two operations with immediates, a function, and a reduction onto 128 registers.

Bit-identical to `bitpath.golden.trainium3.exact.activate2`; the rules are in
`bitpath.golden.trainium3.declarations.engines.CHOICES`.

Ref: ``nki.isa.activate2`` reference page, NKI 0.6, and "Trainium3 Architecture Guide for NKI" (AWS Neuron documentation,
2026-08).
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked, member
from bitpath.golden.trainium3.declarations.engines import (
    ACTIVATE2_OPERATIONS,
    ACTIVATE2_REDUCTIONS,
    BYPASS,
    ReduceCommand,
)
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.activation import FUNCTIONS
from bitpath.golden.trainium3.vector.engine import output_dtype, read_operand, read_tile, real, single, write
from bitpath.golden.trainium3.vector.operators import OPERATORS
from bitpath.golden.trainium3.vector.reduction import IDENTITIES, reduce_onto

PRELU = "prelu"
_STEPS = ("multiply", "add", "subtract", BYPASS)


@checked
def activate2(
    data: np.ndarray,
    op: str,
    op0: str,
    op1: str,
    imm0: float | np.ndarray = 0.0,
    imm1: float | np.ndarray = 0.0,
    *,
    relu_param: float = 0.0,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_op: str | None = None,
    reduce_cmd: str = "idle",
    registers: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ``op((data op0 imm0) op1 imm1)``, and the reduction registers after the instruction.

    Each operation and the function are rounded to FP32; then come the reduction, element after element, and the cast. NaN
    is canonical, also where nothing is computed.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op : a function of `activation`, or "prelu", which multiplies numbers with a sign bit by `relu_param`.
    op0, op1 : a pair of `ACTIVATE2_OPERATIONS`; "bypass" takes no immediate.
    imm0, imm1 : numbers, rounded to FP32, or arrays [P, 1], of one dtype where both are.
    relu_param : a number, rounded to FP32.
    reverse0, reverse1 : True if the immediate is left of the operator.
    reduce_op : "add", "max", "min", "abs_max" or "abs_min"; may be None with "idle".
    reduce_cmd : "reset" sets the registers to the identity, "reduce" reduces the row onto them, "reset_reduce" does both, "idle"
        neither.
    registers : [P] float32, needed by "reduce".
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`, and the registers [P] float32; with "idle" those given.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, function, pair, reduction or command.
    """
    dtype = output_dtype(dtype)
    values = read_tile("data", data)
    check_choice("op", op, (*FUNCTIONS, PRELU))
    for name, step in (("op0", op0), ("op1", op1)):
        check_choice(name, step, _STEPS)
    if (op0, op1) not in ACTIVATE2_OPERATIONS:
        known = ", ".join(f"{first} and {second}" for first, second in ACTIVATE2_OPERATIONS)
        raise ValueError(f"op0 and op1 must be one of {known}; not {op0!r} and {op1!r}")
    arrays = [each.dtype for each in (imm0, imm1) if isinstance(each, np.ndarray)]
    if len(set(arrays)) > 1:
        raise ValueError(f"imm1 must have imm0's dtype {arrays[0]}, not {arrays[1]}")
    start = _start(reduce_cmd, reduce_op, registers, len(values))
    for number, step, immediate, reverse in (("0", op0, imm0, reverse0), ("1", op1, imm1, reverse1)):
        other = read_operand(f"imm{number}", immediate, len(values))
        if step != BYPASS:
            values = OPERATORS[step](*((other, values) if reverse else (values, other)))
        elif reverse:
            raise ValueError(f"reverse{number} must be False with op{number} 'bypass', not True")
    parameter = fp32.one_nan(single("relu_param", real("relu_param", relu_param)))
    values = _prelu(values, parameter) if op == PRELU else FUNCTIONS[op](values)
    if start is None:
        return write(values, dtype), registers
    if ReduceCommand(reduce_cmd) is not ReduceCommand.RESET:
        start = reduce_onto(start[:, np.newaxis], values, reduce_op)[:, 0]
    return write(values, dtype), start


def _prelu(x: np.ndarray, parameter: np.ndarray) -> np.ndarray:
    return np.where(np.signbit(x) & ~np.isnan(x), fp32.multiply(x, parameter), x)


def _start(command: str, op: str | None, registers: np.ndarray | None, partitions: int) -> np.ndarray | None:
    """Return the registers onto which a row is reduced, or None where the command leaves them as they are."""
    given = member("reduce_cmd", command, ReduceCommand)
    if op is not None or given is not ReduceCommand.IDLE:
        check_choice("reduce_op", op, ACTIVATE2_REDUCTIONS)
    if registers is not None:
        check_array("registers", registers, np.float32)
        if registers.shape != (partitions,):
            raise ValueError(f"registers must have shape {(partitions,)}, not {registers.shape}")
    match given:
        case ReduceCommand.IDLE:
            return None
        case ReduceCommand.REDUCE:
            if registers is None:
                raise ValueError("registers must be given with reduce_cmd 'reduce', not None")
            return fp32.one_nan(registers)
    return np.full(partitions, IDENTITIES[op], np.float32)
