"""The catalogue of number formats.

A format is a record of its fields; everything else (largest value, smallest subnormal, codes of the specials) is a
derived property, proved against ml_dtypes over all codes by ``verif/common/golden/test_formats.py``.

Ref: OCP 8-bit Floating Point Specification (OFP8) 1.0; OCP Microscaling Formats (MX) 1.0, sections 5.2 to 5.4;
IEEE 754-2019 section 3.6; the FNUZ pair of the paper "8-bit Numerical Formats for Deep Neural Networks"; AWS Neuron ``nki.language`` data types (float8_e4m3 with maximum 240, float8_e3m4, TF32).
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from operator import index


class Specials(Enum):
    """Set of codes that are infinity or NaN."""

    IEEE = "ieee"  # exponent all ones: infinity where the fraction is 0, NaN elsewhere
    NAN_ONLY = "nan_only"  # exponent and fraction all ones is NaN; no infinity
    FINITE = "finite"  # every code is a finite number
    UNSIGNED_ZERO = "unsigned_zero"  # the code that would be -0 is the one NaN; no infinity ("FNUZ")


@dataclass(frozen=True, kw_only=True)
class FloatFormat:
    """A binary floating-point format of at most 32 bits: sign, biased exponent, fraction, from the top down.

    Attributes
    ----------
    name : the field's term for it, for example "E4M3FN".
    exponent_bits, fraction_bits : field widths in bits.
    bias : biased exponent less unbiased exponent of a normal number.
    specials : which codes are infinities and NaNs.
    nan_code : the NaN that results carry (any NaN code is read as NaN), or None in a format without NaN.
    signed : True if a sign bit is above the exponent.
    has_subnormals : True if biased exponent 0 means 0.fraction * 2**emin (else it is an ordinary exponent, and the
        format has no zero).
    """

    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    specials: Specials
    nan_code: int | None
    signed: bool = True
    has_subnormals: bool = True

    def __post_init__(self) -> None:
        for name in ("exponent_bits", "fraction_bits", "bias"):  # numpy's integers would overflow in the properties
            object.__setattr__(self, name, index(getattr(self, name)))

    def __reduce__(self) -> str | tuple:
        """Pickle and copy a format of the catalogue as its name here, so that it stays the same object."""
        return self.name if CATALOGUE.get(self.name) is self else super().__reduce__()

    @cached_property
    def width(self) -> int:
        """Width of a code in bits."""
        return self.signed + self.exponent_bits + self.fraction_bits

    @cached_property
    def precision(self) -> int:
        """Bits of a normal significand, the hidden one included."""
        return self.fraction_bits + 1

    @cached_property
    def exponent_mask(self) -> int:
        """The largest biased exponent, unshifted."""
        return (1 << self.exponent_bits) - 1

    @cached_property
    def fraction_mask(self) -> int:
        return (1 << self.fraction_bits) - 1

    @cached_property
    def sign_mask(self) -> int:
        """The sign bit in place; 0 in an unsigned format."""
        return self.signed << (self.exponent_bits + self.fraction_bits)

    @cached_property
    def max_code(self) -> int:
        """The code of the largest finite number."""
        all_ones = (self.exponent_mask << self.fraction_bits) | self.fraction_mask
        match self.specials:
            case Specials.IEEE:
                return all_ones - self.fraction_mask - 1
            case Specials.NAN_ONLY:
                return all_ones - 1
            case Specials.FINITE | Specials.UNSIGNED_ZERO:
                return all_ones

    @cached_property
    def infinity_code(self) -> int | None:
        """Code of positive infinity, or None if the format has no infinity."""
        return self.exponent_mask << self.fraction_bits if self.specials is Specials.IEEE else None

    @cached_property
    def emax(self) -> int:
        """Unbiased exponent of the largest finite number."""
        return (self.max_code >> self.fraction_bits) - self.bias

    @cached_property
    def emin(self) -> int:
        """Unbiased exponent of the smallest normal number, which subnormals share."""
        return (1 if self.has_subnormals else 0) - self.bias

    @cached_property
    def shortens_fp32(self) -> bool:
        """True if a code is an FP32 code without some of its low bits: FP32's sign, exponents, infinity, at most its fraction."""
        same_exponents = self.signed and (self.exponent_bits, self.bias) == (FP32.exponent_bits, FP32.bias)
        return same_exponents and self.fraction_bits <= FP32.fraction_bits and self.infinity_code is not None

    @cached_property
    def max(self) -> Fraction:
        """The largest finite number, exactly."""
        significand = (self.max_code & self.fraction_mask) | (1 << self.fraction_bits)
        return significand * Fraction(2) ** (self.emax - self.fraction_bits)

    @cached_property
    def min_normal(self) -> Fraction:
        return Fraction(2) ** self.emin

    @cached_property
    def min_subnormal(self) -> Fraction:
        """The smallest positive number (the smallest normal one where there are no subnormals)."""
        return Fraction(2) ** (self.emin - self.fraction_bits) if self.has_subnormals else self.min_normal


E4M3FN = FloatFormat(name="E4M3FN", exponent_bits=4, fraction_bits=3, bias=7, specials=Specials.NAN_ONLY, nan_code=0x7F)
E4M3 = FloatFormat(name="E4M3", exponent_bits=4, fraction_bits=3, bias=7, specials=Specials.IEEE, nan_code=0x7F)
E3M4 = FloatFormat(name="E3M4", exponent_bits=3, fraction_bits=4, bias=3, specials=Specials.IEEE, nan_code=0x7F)
E5M2 = FloatFormat(name="E5M2", exponent_bits=5, fraction_bits=2, bias=15, specials=Specials.IEEE, nan_code=0x7E)
E4M3FNUZ = FloatFormat(
    name="E4M3FNUZ", exponent_bits=4, fraction_bits=3, bias=8, specials=Specials.UNSIGNED_ZERO, nan_code=0x80
)
E5M2FNUZ = FloatFormat(
    name="E5M2FNUZ", exponent_bits=5, fraction_bits=2, bias=16, specials=Specials.UNSIGNED_ZERO, nan_code=0x80
)
E2M1 = FloatFormat(name="E2M1", exponent_bits=2, fraction_bits=1, bias=1, specials=Specials.FINITE, nan_code=None)
E8M0 = FloatFormat(
    name="E8M0",
    exponent_bits=8,
    fraction_bits=0,
    bias=127,
    specials=Specials.NAN_ONLY,
    nan_code=0xFF,
    signed=False,
    has_subnormals=False,
)
BF16 = FloatFormat(name="BF16", exponent_bits=8, fraction_bits=7, bias=127, specials=Specials.IEEE, nan_code=0x7FC0)
FP16 = FloatFormat(name="FP16", exponent_bits=5, fraction_bits=10, bias=15, specials=Specials.IEEE, nan_code=0x7E00)
TF32 = FloatFormat(name="TF32", exponent_bits=8, fraction_bits=10, bias=127, specials=Specials.IEEE, nan_code=0x3FE00)
FP32 = FloatFormat(
    name="FP32", exponent_bits=8, fraction_bits=23, bias=127, specials=Specials.IEEE, nan_code=0x7FC00000
)

CATALOGUE = {
    fmt.name: fmt for fmt in (E4M3FN, E4M3, E5M2, E3M4, E4M3FNUZ, E5M2FNUZ, E2M1, E8M0, BF16, FP16, TF32, FP32)
}
"""Every format by name."""
