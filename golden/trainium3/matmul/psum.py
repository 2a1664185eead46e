"""PSUM's write port, which receives the array's results.

Bit-identical to `bitpath.golden.exact.psum_write`.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, BF16 Matmul Results in PSUM.
"""

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, encode_array, format_of
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.formats.rounding import Rounding


def psum_write(
    incoming: np.ndarray,
    present: np.ndarray | None,
    dtype: np.dtype,
    rounding: Rounding = Rounding.RNE,
    random_bits: np.ndarray | None = None,
) -> np.ndarray:
    """Return the contents of PSUM after a write: `incoming`, or its FP32 sum with `present`, in `dtype`.

    Parameters
    ----------
    incoming : FP32 codes from the array, uint32 [M, N].
    present : [M, N] of `dtype` to accumulate onto, or None to overwrite.
    dtype : float32 or bfloat16, which is a second rounding after that of the sum to FP32.
    rounding : RNE or SR, for the second rounding.
    random_bits : uint16 [M, N] for SR: added below the BF16 fraction before truncation. Infinity and NaN bypass it.

    Returns
    -------
    [M, N] of `dtype`. NaNs are 0x7FC00000 or 0x7FC0.
    """
    total = decode_array(FP32, incoming)
    if present is not None:
        # The float64 sum of two FP32 numbers rounds to FP32 as the exact sum does: 53 >= 2 * 24 + 2 bits, and sums below
        # FP32's normal range are exact in both. Zeros, infinities and NaN follow IEEE 754 in float64 too.
        with np.errstate(invalid="ignore"):
            total = total + decode_array(format_of(present.dtype), codes_of(present))
    codes = encode_array(FP32, total)
    if np.dtype(dtype) == DTYPES[FP32]:
        return codes.astype(np.uint32).view(np.float32)
    if rounding is Rounding.RNE:
        return encode_array(BF16, decode_array(FP32, codes)).astype(np.uint16).view(DTYPES[BF16])
    # Infinity and the one NaN have zeros where the random bits are added, so they pass unchanged.
    return (codes + random_bits >> 16).astype(np.uint16).view(DTYPES[BF16])
