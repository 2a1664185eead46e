"""Trainium3's PSUM write on one element.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, BF16 Matmul Results in PSUM. Points
that it leaves open are in `bitpath.golden.trainium3.declarations.quad_mx.CHOICES`.
"""

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import add, convert
from bitpath.golden.scalar.rounding import round_to_format


@checked
def psum_write(
    incoming: int,
    present: int | None,
    destination: FloatFormat,
    rounding: Rounding = Rounding.RNE,
    random_bits: int = 0,
) -> int:
    """Return the code of one PSUM element after a write.

    Parameters
    ----------
    incoming : FP32 code from the array.
    present : code of `destination` to accumulate onto, or None to overwrite.
    destination : FP32 or BF16. The sum is rounded RNE to FP32 first; BF16 is a second rounding.
    rounding : RNE or SR, for the second rounding.
    random_bits : 16 bits, for SR: added below the BF16 fraction before truncation. Infinity and NaN bypass it.

    Raises
    ------
    ValueError : another destination, rounding or width of `random_bits`.
    """
    if destination not in (FP32, BF16):
        raise ValueError(f"destination must be FP32 or BF16, not {destination.name}")
    if rounding not in (Rounding.RNE, Rounding.SR):
        raise ValueError(f"rounding must be RNE or SR, not {rounding.name}")
    if not 0 <= random_bits < 1 << 16:
        raise ValueError(f"random_bits must be 0 to 65535, not {random_bits}")
    incoming = convert(incoming, FP32, FP32)  # every NaN becomes the canonical one
    total = incoming if present is None else add(incoming, convert(present, destination, FP32))
    if destination is FP32:
        return total
    x = decode(FP32, total)
    if x.kind is not Kind.FINITE:
        return total >> 16
    if rounding is Rounding.SR:
        return total + random_bits >> 16
    return round_to_format(x.value, BF16, zero_sign=x.sign)
