"""A directed corner of the quad-MX dot step: a case, and the property of golden's trace that makes it one."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import DotNumerics
from bitpath.golden.trainium3.exact.dot import DotTrace
from bitpath.verif.trainium3.dot.quad_mx import DotCase

ONE = FP32.bias << FP32.fraction_bits
"""FP32's code of 1."""


@dataclass(frozen=True)
class Corner:
    """A case, its bin, and a check of the bin's property on the case's trace; a ``certain`` case must have the property."""

    bin: str
    case: DotCase
    holds: Callable[[DotTrace], bool]
    certain: bool = False

    def hits(self, trace: DotTrace) -> bool:
        """Whether the case has the property. Raises AssertionError for a certain one that lacks it."""
        held = self.holds(trace)
        assert held or not self.certain, f"{self.bin}: the corner misses its mark: {self.case}"
        return held


def power(fmt: FloatFormat, exponent: int = 0, sign: int = 0) -> int:
    """The code of ``(-1)**sign * 2**exponent``, subnormal where it must be."""
    biased = exponent + fmt.bias
    magnitude = biased << fmt.fraction_bits if biased > 0 else 1 << fmt.fraction_bits + biased - 1
    return magnitude | (fmt.sign_mask if sign else 0)


def exponents(fmt: FloatFormat) -> range:
    """Exponents of the powers of two in a format."""
    return range(fmt.emin - fmt.fraction_bits, fmt.emax + 1)


def pairs(numerics: DotNumerics) -> list[tuple[FloatFormat, FloatFormat]]:
    """Formats of the two sides, mixed ones too."""
    return list(product(numerics.element_formats, repeat=2))


def lanes(numerics: DotNumerics, rest: int, codes: dict[int, int]) -> tuple[int, ...]:
    """One side's codes: ``rest`` but for those at the lanes of ``codes``, which count modulo their number."""
    side = [rest] * numerics.terms
    for lane, code in codes.items():
        side[lane % numerics.terms] = code
    return tuple(side)


def powers(pair: tuple[FloatFormat, FloatFormat], signs: tuple[int, ...]) -> DotCase:
    """Products of 1 with these signs."""
    x, y = pair
    return DotCase(tuple(power(x, 0, sign) for sign in signs), x, tuple(power(y) for _ in signs), y)
