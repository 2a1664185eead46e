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
E3M2 = FloatFormat(name="E3M2", exponent_bits=3, fraction_bits=2, bias=3, specials=Specials.FINITE, nan_code=None)
E2M3 = FloatFormat(name="E2M3", exponent_bits=2, fraction_bits=3, bias=1, specials=Specials.FINITE, nan_code=None)
BF16 = FloatFormat(name="BF16", exponent_bits=8, fraction_bits=7, bias=127, specials=Specials.IEEE, nan_code=0x7FC0)
FP16 = FloatFormat(name="FP16", exponent_bits=5, fraction_bits=10, bias=15, specials=Specials.IEEE, nan_code=0x7E00)
TF32 = FloatFormat(name="TF32", exponent_bits=8, fraction_bits=10, bias=127, specials=Specials.IEEE, nan_code=0x3FE00)
FP32 = FloatFormat(
    name="FP32", exponent_bits=8, fraction_bits=23, bias=127, specials=Specials.IEEE, nan_code=0x7FC00000
)

CATALOGUE = {
    fmt.name: fmt
    for fmt in (E4M3FN, E4M3, E5M2, E3M4, E4M3FNUZ, E5M2FNUZ, E3M2, E2M3, E2M1, E8M0, BF16, FP16, TF32, FP32)
}
"""Every floating-point format by name."""


@dataclass(frozen=True, kw_only=True)
class FixedFormat:
    """Two's complement fixed-point numbers: ``code * 2**-fraction_bits``, the code as a signed integer.

    Attributes
    ----------
    name : the field's term for it.
    width : bits of a code.
    fraction_bits : places below the binary point.
    """

    name: str
    width: int
    fraction_bits: int

    @property
    def max(self) -> Fraction:
        """The largest magnitude, which the smallest number has."""
        return Fraction(1 << self.width - 1, 1 << self.fraction_bits)

    @property
    def min_subnormal(self) -> Fraction:
        """The smallest positive number."""
        return Fraction(1, 1 << self.fraction_bits)


INT8 = FixedFormat(name="INT8", width=8, fraction_bits=6)
"""OCP's element of MXINT8, with an implied scale of 2**-6."""

FIXED_FORMATS = {fmt.name: fmt for fmt in (INT8,)}
"""Every fixed-point format by name."""


# Block formats: elements that share one scale.
#
# Ref: OCP Microscaling Formats (MX) 1.0, section 5.1 and table 1 (k = 32, E8M0 scales).


@dataclass(frozen=True, kw_only=True)
class BlockFormat:
    """``k`` elements and the scale that multiplies them all.

    Attributes
    ----------
    name : as in the OCP text, with the element named where the text leaves a choice.
    element, scale : their formats.
    k : elements in a block.
    """

    name: str
    element: FloatFormat
    scale: FloatFormat
    k: int

    @property
    def bits(self) -> int:
        """Bits of one block, scale included."""
        return self.k * self.element.width + self.scale.width


MXFP8_E4M3 = BlockFormat(name="mxfp8_e4m3", element=E4M3FN, scale=E8M0, k=32)
MXFP8_E5M2 = BlockFormat(name="mxfp8_e5m2", element=E5M2, scale=E8M0, k=32)
MXFP4 = BlockFormat(name="mxfp4", element=E2M1, scale=E8M0, k=32)

MX_FORMATS = {fmt.name: fmt for fmt in (MXFP8_E4M3, MXFP8_E5M2, MXFP4)}
"""The MX formats of Trainium3 by the names that ``trainium3.matmul`` and the command line take."""


# Rounding modes: one enumeration for all machines, golden and RTL.


class Rounding(Enum):
    """Modes that round x to an integer; to round a value to a code, x is the value in units in the last place.

    ``RN`` rounds to nearest; its third letter is the direction of a tie, an x half-way between two integers.
    ``RT`` rounds every x that is not an integer in the direction of its third letter. The letters: even, odd, away from
    zero, zero, up (+infinity), down (-infinity).
    """

    RNE = "rne"  # floor(x + 1/2), less 1 if x is a tie and that is odd
    RNO = "rno"  # floor(x + 1/2), less 1 if x is a tie and that is even
    RNA = "away"  # sign(x) * floor(|x| + 1/2)
    RNZ = "rnz"  # sign(x) * ceil(|x| - 1/2)
    RNU = "up"  # floor(x + 1/2)
    RND = "rnd"  # ceil(x - 1/2)
    RTA = "rta"  # sign(x) * ceil(|x|)
    RTZ = "rtz"  # sign(x) * floor(|x|): truncation
    RTU = "rtu"  # ceil(x)
    RTD = "rtd"  # floor(x)
    SR = "sr"  # sign(x) * floor(|x| + r), stochastic: r is random, 0 <= r < 1

    @property
    def to_nearest(self) -> bool:
        return self.name.startswith("RN")

    @classmethod
    def _missing_(cls, value: str) -> "Rounding | None":  # type: ignore[override]  # declarations take texts alone
        return cls.RNE if value == "even" else None  # earlier configurations call RNE "even"
