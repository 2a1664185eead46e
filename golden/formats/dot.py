"""Numerics of one step of a dot product, as fields that the golden models and the RTL both read."""

from dataclasses import dataclass
from enum import Enum

from bitpath.golden.formats.catalogue import FloatFormat, Rounding


class ScaleNan(Enum):
    """Meaning of the E8M0 code 255."""

    NAN = "nan"  # the whole block is NaN (OCP MX 1.0)
    INFINITY = "infinity"  # 2**128 taken as infinity, as the vendor's float32 golden does


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
        if not self.accumulator.shortens_fp32:
            raise ValueError(
                "accumulator must have FP32's exponents, at most its fraction bits and an infinity, not be "
                f"{self.accumulator.name}"
            )
        for name in ("align_rounding", "accumulator_rounding"):
            if getattr(self, name) not in (Rounding.RNE, Rounding.RTZ):
                raise ValueError(f"{name} must be RNE or RTZ, not {getattr(self, name).name}")
        if bits is not None and bits < 0:
            raise ValueError(f"align_fraction_bits must be None, 0 or more, not {bits}")
