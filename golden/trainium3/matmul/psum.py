"""PSUM's write port, which receives the array's results.

Bit-identical to `bitpath.golden.exact.psum_write`.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, BF16 Matmul Results in PSUM.
"""

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, decode_array, encode_array
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
    total = incoming.view(np.float32)
    if present is not None:
        # numpy adds float32 as IEEE 754 has it: one rounding to nearest even, with subnormals, zeros' signs and specials.
        with np.errstate(invalid="ignore", over="ignore"):
            total = total + present.astype(np.float32)
    codes = np.where(np.isnan(total), np.uint32(FP32.nan_code), total.view(np.uint32))
    if np.dtype(dtype) == DTYPES[FP32]:
        return codes.view(np.float32)
    if rounding is Rounding.RNE:
        return encode_array(BF16, decode_array(FP32, codes)).astype(np.uint16).view(DTYPES[BF16])
    # Infinity and the one NaN have zeros where the random bits are added, so they pass unchanged.
    return (codes + random_bits >> 16).astype(np.uint16).view(DTYPES[BF16])
