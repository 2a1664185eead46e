"""Numerics of one step of a dot product, as fields that the golden models and the RTL both read."""

from dataclasses import dataclass
from enum import Enum

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, E8M0, FP32, FixedFormat, FloatFormat, Rounding
from bitpath.golden.formats.sources import chosen, documented, preset


class ScaleNan(Enum):
    """Meaning of the E8M0 code 255."""

    NAN = "nan"  # the whole block is NaN (OCP MX 1.0)
    INFINITY = "infinity"  # 2**128 taken as infinity, as the vendor's float32 golden does


class ZeroSign(Enum):
    """Sign of a sum that is exactly zero."""

    ALL_NEGATIVE = (
        "all terms negative"  # -0 where every product and the partial sum have a negative sign, as IEEE 754 adds
    )
    PARTIAL = "partial sum"  # the sign of the partial sum, whatever the products are
    PLUS = "always plus"

    @classmethod
    def _missing_(cls, value: str) -> "ZeroSign | None":  # type: ignore[override]  # declarations take texts alone
        return cls.ALL_NEGATIVE if value == "ieee" else None


class InvalidProduct(Enum):
    """Product of zero and infinity."""

    NAN = "nan"
    ZERO = "zero"  # a zero with the product's sign


@dataclass(frozen=True, kw_only=True)
class ProductRounding:
    """Rounding of every product by itself, before it is added.

    Attributes
    ----------
    format : format of the rounded product, with an infinity.
    rounding : RNE or RTZ; beyond the format's range a product becomes infinity under both.
    """

    format: FloatFormat
    rounding: Rounding

    def __post_init__(self) -> None:
        if self.format.infinity_code is None:
            raise ValueError(f"format of a product must have an infinity, not be {self.format.name}")
        if self.rounding not in (Rounding.RNE, Rounding.RTZ):
            raise ValueError(f"rounding of a product must be RNE or RTZ, not {self.rounding.name}")

    def __str__(self) -> str:
        return f"{self.rounding.name} to {self.format.name}"


@dataclass(frozen=True, kw_only=True)
class DotNumerics:
    """One step of a scaled dot product: partial sum in, ``terms`` products and their scale, partial sum out.

    With exact terms t_1..t_n (each an element product times both scales) and partial sum p the step gives
    ``round(t_1 + ... + t_n + p)`` with one rounding to ``accumulator``.

    Where ``align_fraction_bits`` is a number F, every nonzero term and p is first brought to the grid 2**(E - F) with
    ``align_rounding``. E is the largest exponent among them, before normalisation: for a product the sum of its
    operands' unbiased exponents (a subnormal counts as emin) and of both scales', for p its own exponent. The sum on
    that grid is exact.

    A zero sum, aligned or not, is -0 where every term and p have a negative sign, else +0. A nonzero sum that rounds to
    zero keeps its sign.

    Attributes
    ----------
    terms : products per step.
    element_formats : formats an operand element may have, each side by itself and at run time.
    scale_format : format of the two block scales.
    accumulator : format to which a step's result is rounded. It has FP32's exponent field, at most its fraction bits, and
        an infinity; partial sums travel as FP32 codes whose unused low fraction bits are 0.
    align_fraction_bits : F above, 0 or more; None keeps the sum exact until the one rounding.
    align_rounding : RTZ or RNE, of each term's magnitude onto the grid; without effect where the sum is exact.
    accumulator_rounding : RNE or RTZ. RTZ overflows to infinity like RNE, by the field ``overflow_to_infinity``.
    element_subnormals : whether subnormal elements count (True) or are read as zero of their sign.
    accumulator_subnormals : whether subnormal partial sums are kept (True) or flushed to zero of their sign, both when
        read and when written.
    scale_nan : meaning of scale code 255.
    overflow_to_infinity : whether a finite sum beyond the accumulator's range becomes infinity (True) or the largest
        finite number.
    """

    terms: int
    element_formats: tuple[FloatFormat, ...]
    scale_format: FloatFormat
    accumulator: FloatFormat
    align_fraction_bits: int | None
    align_rounding: Rounding
    accumulator_rounding: Rounding
    element_subnormals: bool
    accumulator_subnormals: bool
    scale_nan: ScaleNan
    overflow_to_infinity: bool

    def __post_init__(self) -> None:
        bits = self.align_fraction_bits
        if type(self) is DotNumerics and not self.accumulator.shortens_fp32:
            raise ValueError(
                "accumulator must have FP32's exponents, at most its fraction bits and an infinity, not be "
                f"{self.accumulator.name}"
            )
        for name in ("align_rounding", "accumulator_rounding"):
            if getattr(self, name) not in (Rounding.RNE, Rounding.RTZ):
                raise ValueError(f"{name} must be RNE or RTZ, not {getattr(self, name).name}")
        if bits is not None and bits < 0:
            raise ValueError(f"align_fraction_bits must be None, 0 or more, not {bits}")


@dataclass(frozen=True, kw_only=True)
class DotProductNumerics(DotNumerics):
    """One step of any dot product: the fields of `DotNumerics`, and those that are fixed for a machine.

    Elements, accumulator and result may have other formats. The accumulator need not have FP32's exponents: a partial sum
    travels as an FP32 code where `DotNumerics` says so, else in the accumulator's own codes.

    Attributes
    ----------
    scales : block scales of a step: 2, the stationary side's alone (1), or none (0).
    product_rounding : rounding of every product with its scales; None for exact products. A rounded product is aligned by
        its own exponent.
    result : format to which the sum is rounded once, with an infinity, and in whose codes it leaves; None for the
        accumulator, which leaves as a partial sum travels.
    result_subnormals : whether subnormal results are kept (True) or become zero of their sign; `accumulator_subnormals` is
        for partial sums alone.
    zero_sign : sign of a sum that is exactly zero.
    invalid_product : product of zero and infinity.
    nan_code : code of every NaN result; None for the canonical one of the result's format.
    """

    element_formats: tuple[FloatFormat | FixedFormat, ...]  # type: ignore[assignment]  # a machine's are floats
    scales: int
    product_rounding: ProductRounding | None
    result: FloatFormat | None
    result_subnormals: bool
    zero_sign: ZeroSign
    invalid_product: InvalidProduct
    nan_code: int | None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.terms < 1:
            raise ValueError(f"terms must be 1 or more, not {self.terms}")
        if self.scales not in (0, 1, 2):
            raise ValueError(f"scales must be 0, 1 or 2, not {self.scales}")
        for name in ("accumulator", "result"):
            fmt = getattr(self, name)
            if fmt is not None and fmt.infinity_code is None:
                raise ValueError(f"{name} must have an infinity, not be {fmt.name}")
        fmt, code = self.result_format, self.nan_code
        nans = range(fmt.max_code + 2, fmt.sign_mask)
        if code is not None and not (0 <= code < 2 * fmt.sign_mask and code & ~fmt.sign_mask in nans):
            raise ValueError(f"nan_code must be a NaN of {fmt.name}, not {code:#x}")

    @property
    def partial_format(self) -> FloatFormat:
        """Format in whose codes the partial sum travels."""
        return FP32 if self.accumulator.shortens_fp32 else self.accumulator

    @property
    def result_format(self) -> FloatFormat:
        """Format in whose codes the result leaves."""
        return self.result or self.partial_format

    @property
    def rounded_format(self) -> FloatFormat:
        """Format to which the sum is rounded."""
        return self.result or self.accumulator

    @property
    def result_nan(self) -> int:
        """Code of every NaN result."""
        code = self.result_format.nan_code if self.nan_code is None else self.nan_code
        assert code is not None  # a format with infinity has a NaN
        return code


MX_DOT_PRODUCT = preset(
    "mx_dot_product",
    DotProductNumerics,
    terms=(8, chosen("two x4 words; OCP's block of 32 elements takes four steps")),
    element_formats=((E4M3FN, E5M2), documented("OCP MX 5.3: the element formats of MXFP8")),
    scales=(2, documented("OCP MX 6.2: the dot product of two blocks multiplies both scales")),
    scale_format=(E8M0, documented("OCP MX 5.4")),
    product_rounding=(None, chosen("OCP MX 6.2 leaves the precision of the sum to the implementation")),
    accumulator=(FP32, documented("OCP MX 6.2: the result is FP32")),
    result=(None, documented("OCP MX 6.2: the result is FP32")),
    align_fraction_bits=(None, chosen("an exact sum, from which every other differs by a rounding")),
    align_rounding=(Rounding.RTZ, chosen("no effect on an exact sum")),
    accumulator_rounding=(Rounding.RNE, chosen("IEEE 754's default")),
    element_subnormals=(True, documented("OCP MX 5.3 requires subnormals")),
    accumulator_subnormals=(True, chosen("IEEE 754")),
    result_subnormals=(True, chosen("IEEE 754")),
    scale_nan=(ScaleNan.NAN, documented("OCP MX 5.4: E8M0 255 is NaN")),
    overflow_to_infinity=(True, chosen("IEEE 754 round to nearest")),
    zero_sign=(ZeroSign.ALL_NEGATIVE, chosen("IEEE 754 round to nearest")),
    invalid_product=(InvalidProduct.NAN, chosen("IEEE 754")),
    nan_code=(None, chosen("the canonical NaN")),
)
"""A step of OCP's dot product of two MX blocks: exact, with one rounding to FP32."""

MULTIPLY_ADD_FP32 = MX_DOT_PRODUCT.variant(
    "multiply_add_fp32",
    terms=(1, documented("IEEE 754 5.4.1: fusedMultiplyAdd")),
    element_formats=((FP32,), documented("IEEE 754: binary32")),
    scales=(0, documented("IEEE 754 has none")),
)
"""IEEE 754's fused multiply-add in binary32."""

PRESETS = {each.name: each for each in (MX_DOT_PRODUCT, MULTIPLY_ADD_FP32)}
"""Presets of any machine's dot product by name."""
