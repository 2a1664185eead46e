"""PSUM's write of one element, and the moving element that structured sparsity selects, on scalars."""

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import add, convert
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.tensor import SparseNumerics, SparsePattern, TagMap

# Trainium3's PSUM write on one element.
#
# Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, BF16 Matmul Results in PSUM. Points
# that it leaves open are in `bitpath.golden.trainium3.declarations.quad_mx.CHOICES`.


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


# Selection of TensorE's structured sparsity on scalars.
#
# Ref: "Trainium2 Architecture Guide for NKI", structured sparsity. The order of positions is chosen, see
# `bitpath.golden.trainium3.declarations.tensor.CHOICES`.


@checked
def selected(numerics: SparseNumerics, pattern: SparsePattern, row: int, code: int) -> tuple[int, int] | None:
    """Return partition and slot of the moving element that a PE in a row selects by its four-bit tag, or None for an
    illegal tag.

    Raises
    ------
    ValueError : a pattern that the numerics lack, a negative row, or a code of more than four bits.
    """
    if (pattern.kept, pattern.group) not in numerics.patterns:
        raise ValueError(f"pattern must be one of {numerics.patterns}, not {(pattern.kept, pattern.group)}")
    if row < 0 or not 0 <= code < 16:
        raise ValueError(f"row must be 0 or more and code 0 to 15, not {row} and {code}")
    if numerics.tag_map is TagMap.FIELDS:
        partition, slot = divmod(code, 4)
    else:
        partition, slot = divmod(code, pattern.ratio)
    if partition >= pattern.kept or slot >= pattern.ratio:
        return None
    return row - row % pattern.kept + partition, slot
