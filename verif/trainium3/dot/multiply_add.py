"""Operands of the unscaled multiply-add: random ones by class, and directed corners with what makes them so."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, ulp
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.golden.trainium3.exact import multiply_add
from bitpath.verif.common.dot.cases import on_grid
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Boundary, Near, code_text, near_floats

Formats = tuple[FloatFormat, ...]
DISTANCES = (-260, *range(-52, 53), 260)
"""Binades from the partial sum's leading bit to the product's: through both clamps of the shifter and far beyond."""


@dataclass(frozen=True)
class ElementCase:
    """One step's operands, as codes, and its numerics."""

    stationary: int
    stationary_format: FloatFormat
    moving: int
    moving_format: FloatFormat
    partial: int = 0
    numerics: MatmulNumerics = TRAINIUM3_MATMUL.numerics

    @property
    def result(self) -> int:
        """The step as the exact tier does it."""
        return multiply_add(
            self.numerics, self.stationary, self.stationary_format, self.moving, self.moving_format, self.partial
        )

    @property
    def product(self) -> Fraction:
        """The exact product of finite elements."""
        return decode(self.stationary_format, self.stationary).value * decode(self.moving_format, self.moving).value

    @property
    def exact(self) -> Fraction:
        """The exact sum of finite operands."""
        return self.product + decode(FP32, self.partial).value

    def shown(self, _: str) -> Shown:
        sides = {name: (getattr(self, f"{name}_format"), getattr(self, name)) for name in ("stationary", "moving")}
        texts = {name: f"{fmt.name} {code_text(fmt, code)}" for name, (fmt, code) in sides.items()}
        return Shown(operands=texts | {"partial sum": code_text(FP32, self.partial)})

    @property
    def formats(self) -> set[FloatFormat]:
        return {self.stationary_format, self.moving_format}

    def fields(self, name: str, formats: Formats) -> dict[str, int]:
        """One side, "stationary" or "moving", as fields of ``element_layout``; ``formats`` are the unit's."""
        return {"code": getattr(self, name), "format": formats.index(getattr(self, f"{name}_format"))}


def finite_code(fmt: FloatFormat, rng: Random) -> int:
    """A random finite element, subnormals and zeros more often than chance has them."""
    magnitude = rng.choice((rng.randrange(fmt.max_code + 1), rng.randrange(fmt.max_code + 1), rng.getrandbits(5)))
    return magnitude | rng.getrandbits(1) * fmt.sign_mask


def near(value: Fraction, rounding: Rounding = Rounding.RTZ) -> int:
    """The FP32 code of the number next to a value, the largest where it overflows."""
    code = round_to_format(value, FP32, rounding)
    return code - 1 if code & ~FP32.sign_mask == FP32.infinity_code else code


class Maker:
    """Random cases for a unit with these numerics and element formats."""

    def __init__(self, numerics: MatmulNumerics, formats: Formats):
        self.numerics, self.formats = numerics, formats
        self._classes = [self.any_case, self.comparable_case, self.cancelling_case]
        if BF16 in formats:
            self._classes += [self.tiny_case, self.huge_case]

    def case(self, rng: Random) -> ElementCase:
        """A case of a randomly chosen class."""
        case = rng.choice(self._classes)(rng)
        return replace(case, partial=on_grid(self.numerics, case.partial), numerics=self.numerics)

    def _pair(self, rng: Random) -> list[FloatFormat]:
        return [rng.choice(self.formats) for _ in range(2)]

    def any_case(self, rng: Random) -> ElementCase:
        """Every bit at random: NaNs, infinities and far apart exponents."""
        x, y = self._pair(rng)
        return ElementCase(rng.getrandbits(x.width), x, rng.getrandbits(y.width), y, rng.getrandbits(32))

    def finite_case(self, rng: Random) -> ElementCase:
        """Finite elements, no partial sum yet."""
        x, y = self._pair(rng)
        return ElementCase(finite_code(x, rng), x, finite_code(y, rng), y)

    def middle_case(self, rng: Random) -> ElementCase:
        """Elements within a few binades of 1."""
        x, y = self._pair(rng)
        return ElementCase(middle_code(x, rng), x, middle_code(y, rng), y)

    def comparable_case(self, rng: Random) -> ElementCase:
        """A partial sum within a few binades of the product: every bit of both counts."""
        case = rng.choice((self.middle_case, self.middle_case, self.finite_case))(rng)
        size = floor_log2(case.product or Fraction(1))
        exponent = max(0, min(254, size + rng.randint(-30, 30) + FP32.bias))
        fraction = rng.getrandbits(FP32.fraction_bits)
        return replace(case, partial=exponent << FP32.fraction_bits | fraction | rng.getrandbits(1) * FP32.sign_mask)

    def cancelling_case(self, rng: Random) -> ElementCase:
        """A partial sum that cancels the product up to a few units."""
        case = rng.choice((self.middle_case, self.finite_case))(rng)
        partial = near(-case.product)
        units = rng.randint(-2, 2) << FP32.fraction_bits - self.numerics.accumulator.fraction_bits
        magnitude = max(0, min(FP32.max_code, (partial & ~FP32.sign_mask) + units))
        return replace(case, partial=magnitude | partial & FP32.sign_mask)

    @staticmethod
    def tiny_case(rng: Random) -> ElementCase:
        """A random case whose result is near FP32's subnormals."""
        partial = rng.choice((0, rng.getrandbits(rng.randint(1, 25))))
        return _extreme_case(rng, FP32.emin + rng.randint(-40, 3), partial)

    @staticmethod
    def huge_case(rng: Random) -> ElementCase:
        """Results around FP32's largest number."""
        return _extreme_case(rng, FP32.emax + rng.randint(-25, 1), FP32.max_code - rng.getrandbits(rng.randint(1, 24)))


def middle_code(fmt: FloatFormat, rng: Random) -> int:
    """A normal number within a few binades of 1."""
    exponent = max(fmt.emin, min(fmt.emax - 1, rng.randint(-6, 6)))
    return (
        exponent + fmt.bias << fmt.fraction_bits
        | rng.getrandbits(fmt.fraction_bits)
        | rng.getrandbits(1) * fmt.sign_mask
    )


def _extreme_case(rng: Random, target: int, partial: int) -> ElementCase:
    """BF16 elements whose product has about this exponent."""
    first = max(-125, min(126, target // 2 + rng.randint(-8, 8)))
    second = max(-125, min(126, target - first))
    codes = [
        exponent + BF16.bias << BF16.fraction_bits
        | rng.getrandbits(BF16.fraction_bits)
        | rng.getrandbits(1) * BF16.sign_mask
        for exponent in (first, second)
    ]
    return ElementCase(codes[0], BF16, codes[1], BF16, partial | rng.getrandbits(1) * FP32.sign_mask)


@dataclass(frozen=True)
class Corner:
    """A case, its bin, and a check of the bin's property; a ``certain`` case must have the property."""

    bin: str
    case: ElementCase
    holds: Callable[[ElementCase], bool]
    certain: bool = False

    def hits(self) -> bool:
        """Return whether the case has the property. Raises AssertionError for a certain one that lacks it."""
        held = self.holds(self.case)
        assert held or not self.certain, f"{self.bin}: the corner misses its mark: {self.case}"
        return held


def power(fmt: FloatFormat, exponent: int = 0, sign: int = 0) -> int:
    """The code of ``(-1)**sign * 2**exponent``, a normal number."""
    return exponent + fmt.bias << fmt.fraction_bits | sign * fmt.sign_mask


def corners(rng: Random) -> list[Corner]:
    """Corners of BF16 and FP16 elements, exact products, and sums rounded to the nearest FP32."""
    makers = (_formats, _distances, _ties, _fused, _cancellations, _zeros, _specials, _range_ends)
    return [corner for maker in makers for corner in maker(rng)]


def _formats(rng: Random) -> Iterator[Corner]:
    for x, y in product((BF16, FP16), repeat=2):
        for _ in range(8):
            case = ElementCase(finite_code(x, rng), x, finite_code(y, rng), y, rng.getrandbits(30))
            yield Corner(f"formats/{x.name} x {y.name}", case, lambda case: bool(case.product))


def _distances(rng: Random) -> Iterator[Corner]:
    def holds(case: ElementCase, distance: int) -> bool:
        return floor_log2(case.product) - floor_log2(decode(FP32, case.partial).value) == distance

    for distance, opposite in product(DISTANCES, (0, 1)):
        low, high = max(-200, FP32.emin + distance), min(200, FP32.emax + distance)
        case = _extreme_case(rng, rng.randint(low, high - 1), 0)
        exponent = floor_log2(case.product) - distance
        fraction = rng.getrandbits(FP32.fraction_bits)
        sign = (case.product < 0) ^ opposite
        partial = exponent + FP32.bias << FP32.fraction_bits | fraction | sign * FP32.sign_mask
        case = replace(case, partial=partial)
        yield Corner(f"distance/{distance}", case, lambda case, distance=distance: holds(case, distance))


def _ties(rng: Random) -> Iterator[Corner]:
    """Half a unit of the partial sum's last place, exactly, and a little less and more, added to odd and even ones."""

    def holds(case: ElementCase, side: int) -> bool:
        partial = decode(FP32, case.partial).value
        half = ulp(FP32, partial) / 2
        return abs(case.product) - half == 0 if side == 0 else (abs(case.product) > half) == (side > 0)

    one = power(FP32)
    sides = ((0, power(FP16, -12)), (1, power(FP16, -12) + 1), (-1, power(FP16, -12) - 1))
    for odd, negative, (side, code) in product((0, 1), (0, 1), sides):
        partial = one + 0x2A8 + odd | negative * FP32.sign_mask
        case = ElementCase(code, FP16, power(BF16, -12, negative), BF16, partial)
        yield Corner(f"tie/{odd}/{side}", case, lambda case, side=side: holds(case, side))


def _fused(rng: Random) -> Iterator[Corner]:
    """Products below FP32's last place that rounding by itself would lose or double."""

    def holds(case: ElementCase) -> bool:
        rounded = round_to_format(case.product, FP32)
        apart = round_to_format(decode(FP32, rounded).value + decode(FP32, case.partial).value, FP32)
        return apart != case.result

    for half, negative in product((1, 3, 5), (0, 1)):
        # half / 2 units of the last place, and an odd number of units.
        code = round_to_format(Fraction(half, 2) * Fraction(2) ** -75, BF16)
        case = ElementCase(code, BF16, power(BF16, -74, negative), BF16, 1 | negative * FP32.sign_mask)
        yield Corner("product is not rounded", case, holds)


def _cancellations(rng: Random) -> Iterator[Corner]:
    for _ in range(6):
        case = Maker(TRAINIUM3_MATMUL.numerics, (BF16, FP16)).middle_case(rng)
        case = replace(case, partial=near(-case.product))
        yield Corner("cancels to 0", case, lambda case: case.exact == 0 and case.result == 0)
    for unit, negative in product((-1, 1), (0, 1)):
        partial = power(FP32) + unit | (1 - negative) * FP32.sign_mask
        case = ElementCase(power(BF16, 1, negative), BF16, power(FP16, -1), FP16, partial)
        yield Corner(
            f"cancels to a unit/{unit}", case, lambda case: 0 < abs(case.exact) <= Fraction(2) ** -FP32.fraction_bits
        )


def _zeros(rng: Random) -> Iterator[Corner]:
    """Zero products of every kind with zero partial sums; -0 comes of -0 and -0 only."""
    for x, y in product((BF16, FP16), repeat=2):
        for a, b, partial in product((0, 1), (0, 1), (0, 1)):
            case = ElementCase(
                a * x.sign_mask, x, b * y.sign_mask | rng.choice((0, y.max_code, 1)), y, partial * FP32.sign_mask
            )
            negative = (a ^ b) & partial
            yield Corner(
                f"zero/{'+-'[a ^ b]}/{'+-'[partial]}",
                case,
                lambda case, negative=negative: case.result == negative * FP32.sign_mask,
            )
    tiny = ElementCase(1, BF16, 1 | BF16.sign_mask, BF16, 0)
    yield Corner("rounds to -0", tiny, lambda case: case.exact != 0 and case.result == FP32.sign_mask)


def _specials(rng: Random) -> Iterator[Corner]:
    """NaN and infinity in every place, 0 * infinity, infinities of both signs."""
    partials = {
        "zero": 0,
        "one": power(FP32),
        "+inf": FP32.infinity_code,
        "-inf": FP32.infinity_code | FP32.sign_mask,
        "nan": FP32.infinity_code + 1,
    }

    def codes(fmt: FloatFormat) -> dict[str, int]:
        return {
            "zero": 0,
            "one": power(fmt),
            "+inf": fmt.infinity_code,
            "-inf": fmt.infinity_code | fmt.sign_mask,
            "nan": fmt.infinity_code + 1 | fmt.sign_mask,
        }

    for x, y in product((BF16, FP16), repeat=2):
        for (a, code_a), (b, code_b), (c, code_c) in product(codes(x).items(), codes(y).items(), partials.items()):
            if not {a, b, c} - {"zero", "one"}:
                continue
            case = ElementCase(code_a, x, code_b, y, code_c)
            product_is_nan = "nan" in (a, b) or ("zero" in (a, b) and (a + b).count("inf"))
            expected = "nan" if product_is_nan or c == "nan" else None
            yield Corner(
                f"special/{a} x {b} + {c}",
                case,
                lambda case, expected=expected: (
                    decode(FP32, case.result).kind is not Kind.FINITE
                    and (expected is None or case.result == FP32.nan_code)
                ),
            )


def _range_ends(rng: Random) -> Iterator[Corner]:
    high = power(BF16, 64)
    for sign in (0, 1):
        # 2**128 is beyond the range, and the sum is not.
        case = ElementCase(high, BF16, high | sign * BF16.sign_mask, BF16, FP32.max_code | (1 - sign) * FP32.sign_mask)
        yield Corner("product beyond the range, sum within", case, lambda case: abs(case.exact) <= FP32.max)
        case = replace(case, partial=0)
        yield Corner("overflows", case, lambda case: case.result & FP32.infinity_code == FP32.infinity_code)
        half = ElementCase(power(BF16, 103), BF16, power(BF16, 0, sign), BF16, FP32.max_code | sign * FP32.sign_mask)
        yield Corner("rounds to infinity", half, lambda case: abs(case.exact) - FP32.max == ulp(FP32, FP32.max) / 2)
        below = replace(half, stationary=half.stationary - 1)
        yield Corner("rounds to the largest", below, lambda case: case.result & ~FP32.sign_mask == FP32.max_code)
        smallest = ElementCase(power(BF16, -75), BF16, power(BF16, -74, sign), BF16, 0)
        yield Corner("smallest subnormal", smallest, lambda case: case.result & ~FP32.sign_mask == 1)
        half = replace(smallest, stationary=power(BF16, -76))
        yield Corner("half of it goes to 0", half, lambda case: case.result & ~FP32.sign_mask == 0)
        carry = ElementCase(
            power(BF16, -75), BF16, power(BF16, -74, sign), BF16, FP32.fraction_mask | sign * FP32.sign_mask
        )
        yield Corner("subnormal to normal", carry, lambda case: case.result & ~FP32.sign_mask == FP32.fraction_mask + 1)


PRODUCT_DISTANCES = range(2, 2 * BF16.precision + 1)
PARTIAL_DISTANCES = range(2, FP32.precision)


def boundary_corners(rng: Random) -> Iterator[Corner]:
    """Every distance for which two significands have such a product."""
    for each in near_floats(FP32, rng, PRODUCT_DISTANCES, Rounding.RNE):
        addend = each.value - each.boundary.lower
        yield from _corner(rng, each, f"boundary/{each.bin}", addend, each.boundary.lower)
    for distance, odd, side in product(PARTIAL_DISTANCES, (0, 1), (-1, 1)):
        leading = (1 << BF16.fraction_bits | rng.getrandbits(BF16.fraction_bits)) * Fraction(2) ** rng.randint(-60, 60)
        unit = Fraction(2) ** (floor_log2(leading) - FP32.fraction_bits)
        each = Near(Boundary(("even", "odd")[odd], leading + odd * unit, unit), 1, side, distance)
        yield from _corner(rng, each, f"boundary/product leads/{each.bin}", leading, each.value - leading)


def _corner(rng: Random, near: Near, name: str, addend: Fraction, partial: Fraction) -> Iterator[Corner]:
    """Yield the corner with these two terms or both of them negated, if two elements have the product."""
    sign = rng.choice((-1, 1))
    low = floor_log2(Fraction(addend.numerator & -addend.numerator, addend.denominator))
    pairs = factors(int(addend / Fraction(2) ** low))
    if not pairs:
        return
    own, other = rng.choice(pairs)
    # Both elements normal numbers of BF16.
    half = low // 2
    codes = [
        round_to_format(value, BF16)
        for value in (sign * own * Fraction(2) ** half, other * Fraction(2) ** (low - half))
    ]
    case = ElementCase(codes[0], BF16, codes[1], BF16, round_to_format(sign * partial, FP32))
    yield Corner(name, case, lambda case: abs(case.exact) == near.value, certain=True)


@cache
def factors(number: int) -> list[tuple[int, int]]:
    """Pairs of BF16 significands with this product, which is odd."""
    limit = 1 << BF16.precision
    return [(a, number // a) for a in range(1, limit, 2) if number % a == 0 and number // a < limit]
