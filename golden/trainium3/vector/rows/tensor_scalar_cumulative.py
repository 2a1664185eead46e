"""tensor_scalar_cumulative: an operation with a number for each partition, then a running reduction of the row.

Bit-identical to `bitpath.golden.trainium3.exact.cumulate_row`.

Ref: ``nki.isa.tensor_scalar_cumulative`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, dtype_of
from bitpath.golden.trainium3.vector.accumulators import start_of
from bitpath.golden.trainium3.vector.engine import NARROW_DTYPES, check_tile, read, read_operand, write
from bitpath.golden.trainium3.vector.operators import OPERATORS
from bitpath.golden.trainium3.vector.reduction import IDENTITIES

_IDENTITIES = {op: IDENTITIES[op] for op in ("add", "multiply", "max", "min")} | {"subtract": IDENTITIES["add"]}
_CUMULATIVE_COMMANDS = ("reset_reduce", "reduce", "load_reduce")


@checked
def tensor_scalar_cumulative(
    src: np.ndarray,
    op0: str,
    op1: str,
    imm0: float | np.ndarray,
    imm1: float | np.ndarray | None = None,
    *,
    reduce_cmd: Literal["reset_reduce", "reduce", "load_reduce"] = "reset_reduce",
    accumulators: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the registers ``r = (src[i] op0 imm0) op1 r`` after each element, and those after the last one.

    Each operation is rounded to FP32. The next element takes the register before the cast to `dtype`.

    Parameters
    ----------
    src : [P, F], P from 1 to 128, of a dtype in `NARROW_DTYPES`.
    op0 : an operator of `OPERATORS`.
    op1 : "add", "subtract", which takes the register from the value, "multiply", "max" or "min".
    imm0 : a number, rounded to FP32, or an array [P, 1] of `ENGINE_DTYPES`.
    imm1 : as `imm0`, for "load_reduce".
    reduce_cmd : "reset_reduce" starts from op1's identity, that of "add" for "subtract", "reduce" from `accumulators`,
        "load_reduce" from `imm1`.
    accumulators : [P] or [P, 1] float32, for "reduce".
    dtype : dtype of the result, in `NARROW_DTYPES`.

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P, 1], float32.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, operator or command; a register missing, or given where the command
        takes none.
    """
    check_tile("src", src, *NARROW_DTYPES)
    dtype = dtype_of("dtype", dtype, *NARROW_DTYPES)
    check_choice("op0", op0, OPERATORS)
    check_choice("op1", op1, _IDENTITIES)
    values = OPERATORS[op0](read(src), read_operand("imm0", imm0, len(src)))
    register = start_of(_IDENTITIES[op1], len(src), reduce_cmd, _CUMULATIVE_COMMANDS, accumulators, ("imm1", imm1))[:, 0]
    registers = np.empty_like(values)
    for value, out in zip(values.T, registers.T, strict=True):
        register = OPERATORS[op1](value, register)
        out[:] = register
    return write(registers, dtype), register[:, np.newaxis]
