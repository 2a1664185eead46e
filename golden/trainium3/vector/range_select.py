"""range_select: the elements of a tile whose index lies between two bounds, and the maximum of the result.

Bit-identical to `bitpath.golden.trainium3.exact.select_range`.

Ref: ``nki.isa.range_select`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked, integer
from bitpath.golden.trainium3.declarations.engines import RANGE_SELECT_COMPARISONS, RANGE_SELECT_INDICES
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.accumulators import start_of
from bitpath.golden.trainium3.vector.engine import FLOAT_DTYPES, check_tile, output_dtype, read, real, single, write
from bitpath.golden.trainium3.vector.operators import OPERATORS
from bitpath.golden.trainium3.vector.reduction import IDENTITIES, reduce_onto

LOWEST = np.float32(np.finfo(np.float32).min)
"""The one value of elements that are not selected: FP32's lowest number."""
_REDUCE_COMMANDS = ("idle", "reset_reduce", "reduce")


@checked
def range_select(
    on_true_tile: np.ndarray,
    comp_op0: str,
    comp_op1: str,
    bound0: np.ndarray,
    bound1: np.ndarray,
    *,
    range_start: int = 0,
    on_false_value: float = float(LOWEST),
    reduce_cmd: Literal["idle", "reset_reduce", "reduce"] = "reset_reduce",
    accumulators: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ``x[i]`` where ``n comp_op0 bound0`` and ``n comp_op1 bound1`` hold for ``n = range_start + i``, and the maximum.

    Elsewhere the result is FP32's lowest number, which the cast to a smaller float makes -infinity. Comparisons are in
    FP32. The maximum is that of the FP32 values, before the cast.

    Parameters
    ----------
    on_true_tile : x, [P, F] of a floating-point dtype in `ENGINE_DTYPES`, P from 1 to 128.
    comp_op0, comp_op1 : "equal", "less", "less_equal", "greater" or "greater_equal".
    bound0, bound1 : [P, 1] float32.
    range_start : index of the first element; every index is below 2**24 in magnitude, where FP32 holds all integers.
    on_false_value : FP32's lowest number, -3.4028235e38; the machine has no other.
    reduce_cmd : "reset_reduce" starts the maximum from -infinity, "reduce" from `accumulators`; "idle" reduces nothing
        and leaves the accumulators undefined.
    accumulators : [P] or [P, 1] float32, for "reduce".
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P, 1] float32, None with "idle".

    Raises
    ------
    TypeError, ValueError : another dtype, shape, comparison, index, value or command; accumulators missing, or given
        where the command takes none.
    """
    dtype = output_dtype(dtype)
    check_tile("on_true_tile", on_true_tile, *FLOAT_DTYPES)
    partitions, elements = on_true_tile.shape
    first = integer("range_start", range_start, range(1 - RANGE_SELECT_INDICES, RANGE_SELECT_INDICES - elements + 1))
    index = np.arange(first, first + elements, dtype=np.float32)[np.newaxis]
    selected = np.full(on_true_tile.shape, True)
    for number, op, bound in (("0", comp_op0, bound0), ("1", comp_op1, bound1)):
        check_choice(f"comp_op{number}", op, RANGE_SELECT_COMPARISONS)
        check_array(f"bound{number}", bound, np.float32)
        if bound.shape != (partitions, 1):
            raise ValueError(f"bound{number} must have shape {(partitions, 1)}, not {bound.shape}")
        selected &= OPERATORS[op](index, fp32.read(bound)) != 0
    if single("on_false_value", real("on_false_value", on_false_value)) != LOWEST:
        raise ValueError(f"on_false_value must be {LOWEST!s}, FP32's lowest number, not {on_false_value}")
    start = start_of(IDENTITIES["max"], partitions, reduce_cmd, _REDUCE_COMMANDS, accumulators)
    values = np.where(selected, read(on_true_tile), LOWEST)
    return write(values, dtype), None if start is None else reduce_onto(start, values, "max")
