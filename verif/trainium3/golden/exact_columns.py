"""Outputs of matmul instructions by the exact twin, from the operands that the arrays take."""

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import E2M1, E4M3FN, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import DotNumerics
from bitpath.golden.trainium3.exact.dot import DotTrace, trace_dot_product

Side = tuple[np.ndarray, FloatFormat, np.ndarray]
"""Codes [P, F, 4], their format, and the codes of a scale for each row [P, F], as `chain_rows` takes them."""


def column_steps(
    numerics: DotNumerics, stationary: Side, moving: Side, m: int, n: int, start: int = 0
) -> tuple[DotTrace, ...]:
    """Return the steps of output [m, n] from the partial sum `start`."""
    (x, x_format, x_scale), (y, y_format, y_scale) = stationary, moving
    codes = x[:, m].tolist(), x_format, y[:, n].tolist(), y_format
    return trace_dot_product(numerics, *codes, x_scale[:, m].tolist(), y_scale[:, n].tolist(), int(start))


def instruction_side(data: np.ndarray, scale: np.ndarray) -> Side:
    """Return an operand of nc_matmul_mx as the array takes it: FP4 as E4M3FN, which holds every FP4 number."""
    if format_of(data.dtype) is E2M1:
        data = data.astype(np.float32).astype(DTYPES[E4M3FN])
    return codes_of(data), format_of(data.dtype), scale.repeat(8, axis=0)
