"""select_reduce: an element of a tile or another value, by a predicate, and the maximum of what was selected.

Bit-identical to `bitpath.golden.trainium3.exact.select_row`.

Ref: ``nki.isa.select_reduce`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.vector.accumulators import start_of
from bitpath.golden.trainium3.vector.engine import (
    NARROW_DTYPES,
    check_shapes,
    check_tile,
    output_dtype,
    read,
    read_operand,
    write,
)
from bitpath.golden.trainium3.vector.reduction import IDENTITIES, reduce_onto

PREDICATE_DTYPES = tuple(np.dtype(name) for name in ("int8", "uint8", "int16", "uint16"))
_REDUCE_COMMANDS = ("idle", "reset_reduce", "reduce")


@checked
def select_reduce(
    predicate: np.ndarray,
    on_true: np.ndarray,
    on_false: float | np.ndarray,
    *,
    reverse_pred: bool = False,
    reduce_cmd: Literal["idle", "reset_reduce", "reduce"] = "idle",
    accumulators: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return `on_true` where the predicate is not 0, `on_false` elsewhere, and the maximum of the selected values.

    The values are FP32; the maximum is that before the cast to `dtype`.

    Parameters
    ----------
    predicate : [P, F], int8, uint8, int16 or uint16, P from 1 to 128.
    on_true : [P, F] of a dtype in `NARROW_DTYPES`.
    on_false : a number, rounded to FP32, or an array [P, 1] of `ENGINE_DTYPES`.
    reverse_pred : True to take `on_true` where the predicate is 0.
    reduce_cmd : "reset_reduce" starts the maximum from -infinity, "reduce" from `accumulators`; "idle" reduces nothing
        and leaves the accumulators undefined.
    accumulators : [P] or [P, 1] float32, for "reduce".
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P, 1] float32, None with "idle".

    Raises
    ------
    TypeError, ValueError : another dtype, shape or command; accumulators missing, or given where the command takes
        none.
    """
    dtype = output_dtype(dtype)
    check_tile("predicate", predicate, *PREDICATE_DTYPES)
    check_tile("on_true", on_true, *NARROW_DTYPES)
    check_shapes(predicate=predicate, on_true=on_true)
    start = start_of(IDENTITIES["max"], len(on_true), reduce_cmd, _REDUCE_COMMANDS, accumulators)
    other = read_operand("on_false", on_false, len(on_true))
    values = np.where((predicate != 0) != reverse_pred, read(on_true), other)
    return write(values, dtype), None if start is None else reduce_onto(start, values, "max")
