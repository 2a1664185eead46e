"""SPEC's CPU golden of RMSNorm-Quant in FP32, and the unpacking of the kernel's rows.

Bit-identical to `bitpath.golden.trainium3.exact.reference_row`.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02, CPU Golden (here SPEC).
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked, dtype_of, member
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, FP16, FP32
from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES, TRAINIUM3_RMSNORM_QUANT, SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.rmsnorm.rmsnorm import check_hidden
from bitpath.golden.trainium3.vector.engine import real, single
from bitpath.golden.trainium3.vector.reduction import SumOrderName, reduce_free

_NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics


@checked
def rmsnorm_quant_reference(
    hidden: np.ndarray,
    gamma: np.ndarray,
    eps: float = float(_NUMERICS.eps),
    *,
    sum_order: SumOrderName = "serial",
) -> tuple[np.ndarray, np.ndarray]:
    """Return what SPEC's CPU golden does: data and dequantisation scale, with FP32 between all operations.

    ``norm = x * (1 / (sqrt(sum(x * x) / H) + eps)) * gamma``, ``q = 240 / max |norm|``, data ``norm * q``, scale ``1 / q``; every
    operation is rounded to FP32. SPEC leaves the order of the sum to numpy; here it is an argument. eps is FP32.

    Parameters
    ----------
    hidden : as `rmsnorm_quant`.
    gamma : [H], bfloat16, float16 or float32.
    eps : a number, rounded to FP32.
    sum_order : "serial" or "exact", as `rmsnorm_quant`.

    Returns
    -------
    float8_e4m3 of hidden's shape, and float32 of hidden's shape with a last axis of 1.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; a row of which no finite scale follows, for example of zeros, on which
        SPEC's golden stops, too.
    """
    check_hidden(hidden)
    check_array("gamma", gamma, *(DTYPES[fmt] for fmt in (BF16, FP16, FP32)))
    check_shape("gamma", gamma, hidden.shape[-1])
    order, length = member("sum_order", sum_order, SumOrder), hidden.shape[-1]
    added = single("eps", real("eps", eps))
    rows = fp32.read(hidden.reshape(-1, length))
    mean = fp32.divide(reduce_free(fp32.multiply(rows, rows), "add", order), np.float32(length))
    norm = fp32.multiply(rows, fp32.reciprocal(fp32.add(fp32.square_root(mean), added)))
    norm = fp32.multiply(norm, fp32.read(gamma)[np.newaxis])
    scale = fp32.divide(np.float32(_NUMERICS.output_range), reduce_free(fp32.absolute(norm), "max", order))
    wrong = np.flatnonzero(~np.isfinite(scale[:, 0]) | (scale[:, 0] == 0))
    if wrong.size:
        raise ValueError(
            f"hidden must have rows with a finite scale; row {wrong[0]} is all zeros, too small or not finite"
        )
    data = fp32.write(fp32.multiply(norm, scale), DTYPES[_NUMERICS.output])
    return data.reshape(hidden.shape), fp32.reciprocal(scale).reshape(*hidden.shape[:-1], 1)


@checked
def unpack_rows(packed: np.ndarray, *, dtype: np.dtype | type = DTYPES[E4M3]) -> tuple[np.ndarray, np.ndarray]:
    """Return data and dequantisation scales of rows that `rmsnorm_quant` packed with "row".

    Parameters
    ----------
    packed : uint8 [..., H + 4].
    dtype : float8_e4m3, or float8_e4m3fn for rows with dtype_mode "ocp".

    Returns
    -------
    `dtype` [..., H] and float32 [..., 1].

    Raises
    ------
    TypeError, ValueError : another dtype; rows of less than an element and a scale.
    """
    check_array("packed", packed, np.uint8)
    dtype = dtype_of("dtype", dtype, DTYPES[E4M3], DTYPES[E4M3FN])
    if packed.ndim < 1 or packed.shape[-1] <= SCALE_BYTES:
        raise ValueError(f"packed must have shape [..., H + {SCALE_BYTES}] with H of at least 1, not {packed.shape}")
    codes, scale = (np.ascontiguousarray(each) for each in (packed[..., :-SCALE_BYTES], packed[..., -SCALE_BYTES:]))
    return codes.view(dtype), scale.view("<f4").astype(np.float32, copy=False)
