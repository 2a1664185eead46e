"""FP8 double row: two elements of K in each PE, added in one step.

Bit-identical to chaining `bitpath.golden.exact.dot_step` with two terms and scales of 1 from +0.

Ref: "Trainium2 Architecture Guide for NKI", double FP8 performance mode; ``nki.isa.nc_matmul`` reference page, NKI 0.6.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, numerics_of
from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import E4M3, E4M3FN, FloatFormat
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, PARTITIONS, X4
from bitpath.golden.trainium3.declarations.tensor import DOUBLE_ROW, TRAINIUM3_DOUBLE_ROW
from bitpath.golden.trainium3.matmul.array import chain_rows


def check_double_row(
    stationary: np.ndarray, moving: np.ndarray, numerics: DotNumerics | None
) -> tuple[tuple[int, int], DotNumerics]:
    """Check the operands of double row; return M and N, and the numerics, `TRAINIUM3_DOUBLE_ROW`'s for None.

    Raises
    ------
    TypeError : no array, another dtype than the numerics' FP8 formats, numerics of another unit.
    ValueError : shapes other than [P, 2, M] and [P, 2, N], P or M not 1 to 128, E4M3 with E4M3FN, other than two terms.
    """
    numerics = numerics_of(numerics, TRAINIUM3_DOUBLE_ROW)
    if numerics.terms != DOUBLE_ROW:
        raise ValueError(f"numerics must have {DOUBLE_ROW} terms in double row, not {numerics.terms}")
    for name, data, free in (("stationary", stationary, "M"), ("moving", moving, "N")):
        check_array(name, data, *(DTYPES[fmt] for fmt in numerics.element_formats))
        if data.ndim != 3 or data.shape[1] != DOUBLE_ROW or not 0 < data.shape[0] <= PARTITIONS:
            raise ValueError(
                f"{name} must have shape [P, {DOUBLE_ROW}, {free}] with P from 1 to {PARTITIONS} in double row, "
                f"not {data.shape}"
            )
    if stationary.shape[0] != moving.shape[0]:
        raise ValueError(f"moving must span stationary's {stationary.shape[0]} partitions, not {moving.shape[0]}")
    columns = stationary.shape[2]
    if not 0 < columns <= MAX_STATIONARY:
        raise ValueError(f"stationary must have a free size M from 1 to {MAX_STATIONARY}, not {columns}")
    if {format_of(stationary.dtype), format_of(moving.dtype)} == {E4M3, E4M3FN}:
        raise ValueError(
            f"a matmul must not mix E4M3 and E4M3FN, but stationary is {stationary.dtype} and moving is {moving.dtype}"
        )
    return (columns, moving.shape[2]), numerics


def chain_pairs(numerics: DotNumerics, stationary: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Return the sums of all steps from +0, FP32 codes uint32 [M, N], of operands that `check_double_row` passed."""
    (x, x_format, x_scale), (y, y_format, y_scale) = (_as_words(numerics, data) for data in (stationary, moving))
    return chain_rows(numerics, x, x_format, x_scale, y, y_format, y_scale)


def _as_words(numerics: DotNumerics, data: np.ndarray) -> tuple[np.ndarray, FloatFormat, np.ndarray]:
    """Return codes [P, F, 4] of elements [P, 2, F], their format, and scales of 1 [P, F].

    The array's steps have four products; those of the other two lanes are +0.
    """
    codes = np.zeros((data.shape[0], data.shape[2], X4), np.uint8)
    codes[..., :DOUBLE_ROW] = codes_of(data).swapaxes(1, 2)
    return codes, format_of(data.dtype), np.full(codes.shape[:2], numerics.scale_format.bias, np.uint8)
