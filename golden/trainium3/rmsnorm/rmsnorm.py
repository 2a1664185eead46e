"""RMSNorm as RMSNorm-Quant's kernel computes it: steps 1 to 6 of its instruction sequence, on tiles of 128 rows.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02 (here SPEC), and the kernel that it
describes (nki-library, ``rmsnorm_quant.py``, 2026-04; here RQ).
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, member, shown
from bitpath.golden.arrays.codec import DTYPES, encode_array
from bitpath.golden.arrays.parallel import cuts, in_parallel
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.trainium3.declarations.vector import (
    COLUMN_TILE,
    MAX_BATCH,
    MAX_HIDDEN,
    MAX_SEQUENCE,
    TRAINIUM3_RMSNORM_QUANT,
    EpsPlacement,
    SumOrder,
)
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.activation import activation, activation_reduce
from bitpath.golden.trainium3.vector.engine import real
from bitpath.golden.trainium3.vector.reciprocal import reciprocal
from bitpath.golden.trainium3.vector.reduction import SumOrderName
from bitpath.golden.trainium3.vector.scalar_tensor_tensor import scalar_tensor_tensor
from bitpath.golden.trainium3.vector.tensor_scalar import tensor_scalar

EpsPlacementName = Literal["kernel", "golden"]
_NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
COMPUTE = DTYPES[_NUMERICS.compute]
"""Dtype of a row between instructions."""
ROWS_AT_ONCE = 64
"""Rows that a core computes at once: with fewer, numpy's calls take longer than its loops. No row depends on another."""


@checked
def rmsnorm(
    hidden: np.ndarray,
    gamma: np.ndarray,
    *,
    eps: float = float(_NUMERICS.eps),
    eps_placement: EpsPlacementName = "kernel",
    sum_order: SumOrderName = "serial",
) -> np.ndarray:
    """Normalise rows by their root mean square and multiply them by gamma, without quantisation.

    Parameters
    ----------
    hidden, eps, eps_placement, sum_order : as `rmsnorm_quant`.
    gamma : [H] or [1, H], bfloat16 or float16.

    Returns
    -------
    bfloat16 of hidden's shape.

    Raises
    ------
    TypeError, ValueError : anything outside these limits.
    """
    check_hidden(hidden)
    check_gamma("gamma", gamma, hidden.shape[-1])
    eps = eps_of(eps)
    placement, order = norm_options(eps_placement, sum_order)
    rows, psum = hidden.reshape(-1, hidden.shape[-1]), gamma_row(gamma)
    result = np.empty(rows.shape, COMPUTE)

    def work(part: slice) -> None:
        result[part] = normalise_tile(load_tile(rows[part]), psum, eps, placement, order)

    in_parallel(work, cuts(len(rows), ROWS_AT_ONCE))
    return result.reshape(hidden.shape)


def load_tile(rows: np.ndarray) -> np.ndarray:
    """Bring rows into SBUF (step 1): the DMA converts them through FP32 to bfloat16."""
    return fp32.write(fp32.read(rows), COMPUTE)


def gamma_row(gamma: np.ndarray) -> np.ndarray:
    """Return what every row of PSUM holds of gamma [H], float32 [1, H]: a matmul by ones copies it to them (step 5)."""
    ones, columns = np.ones((1, 1), COMPUTE), cuts(gamma.size, COLUMN_TILE)
    return np.hstack([nc_matmul(ones, gamma.reshape(1, -1)[:, each]) for each in columns])


def normalise_tile(
    tile: np.ndarray, gamma: np.ndarray, eps: float, placement: EpsPlacement, order: SumOrder
) -> np.ndarray:
    """Normalise a tile [p, H] of bfloat16 (steps 3 to 6) with `gamma_row`'s gamma; returns bfloat16."""
    inverse = _inverse_rms(tile, eps, placement, order)
    psum = np.broadcast_to(gamma, tile.shape)
    return scalar_tensor_tensor(tile, "multiply", inverse, "multiply", psum, dtype=COMPUTE)


def _inverse_rms(tile: np.ndarray, eps: float, placement: EpsPlacement, order: SumOrder) -> np.ndarray:
    """Return the factor of each row, float32 [p, 1] (steps 3 and 4)."""
    _, total = activation_reduce(tile, "square", reduce_op="add", sum_order=order.value)
    # A reciprocal of H, rounded to FP32: float64's is within 2**-53 of it, and H has at most 15 bits, so that no quotient
    # lies that near to a midpoint of FP32.
    per_element = 1 / tile.shape[1]
    eps_tile = np.full((len(tile), 1), eps_in_compute(eps))
    if placement is EpsPlacement.KERNEL:
        return activation(total, "rsqrt", scale=per_element, bias=eps_tile)
    root = activation(total, "sqrt", scale=per_element)
    return reciprocal(tensor_scalar(root, "add", eps_tile))


def eps_in_compute(eps: float) -> np.ndarray:
    """Round eps once to the dtype of its tile, [1, 1]."""
    return encode_array(_NUMERICS.compute, np.array([[eps]])).astype(np.uint16).view(COMPUTE)


def check_hidden(hidden: np.ndarray, name: str = "hidden") -> None:
    """Check dtype and shape of the input, which errors call `name`.

    Raises
    ------
    TypeError : no array of bfloat16, float16 or float32.
    ValueError : a dimension of 0 or beyond its limit, or other than two or three of them.
    """
    check_array(name, hidden, *(DTYPES[fmt] for fmt in (BF16, FP16, FP32)))
    limits = {
        3: (("B", MAX_BATCH), ("S", MAX_SEQUENCE), ("H", MAX_HIDDEN)),
        2: (("rows", MAX_BATCH * MAX_SEQUENCE), ("H", MAX_HIDDEN)),
    }
    if hidden.ndim not in limits:
        raise ValueError(f"{name} must have shape [B, S, H] or [rows, H], not {hidden.shape}")
    for size, (axis, limit) in zip(hidden.shape, limits[hidden.ndim], strict=True):
        if not 0 < size <= limit:
            raise ValueError(f"{name} must have {axis} from 1 to {limit}, not {size}")


def check_gamma(name: str, gamma: np.ndarray, hidden_size: int) -> None:
    """Check dtype and shape of a gamma.

    Raises
    ------
    TypeError : no array of bfloat16 or float16. Ones are bfloat16, and float32 does not meet it in a matmul.
    ValueError : another shape than [H] or [1, H].
    """
    check_array(name, gamma, DTYPES[BF16], DTYPES[FP16])
    if gamma.shape not in ((hidden_size,), (1, hidden_size)):
        raise ValueError(f"{name} must have shape ({hidden_size},) or (1, {hidden_size}), not {gamma.shape}")


def eps_of(eps: float) -> float:
    """Check eps, and return it as Python's number.

    Raises
    ------
    TypeError : no number.
    ValueError : negative or not finite, also beyond bfloat16's range.
    """
    value = real("eps", eps)
    if not (value >= 0 and np.isfinite(fp32.read(eps_in_compute(value))).all()):
        raise ValueError(f"eps must be a finite number of bfloat16's range, at least 0, not {shown(eps)}")
    return value


def norm_options(eps_placement: str, sum_order: str) -> tuple[EpsPlacement, SumOrder]:
    """Return the normalisation's options; raise TypeError for one that is no string, ValueError for an unknown one."""
    return member("eps_placement", eps_placement, EpsPlacement), member("sum_order", sum_order, SumOrder)
