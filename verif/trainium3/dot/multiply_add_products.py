"""Directed operands of the unscaled multiply-add in numerics that round a product to BF16 before it is added."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.verif.trainium3.dot.multiply_add import Corner, ElementCase, power

ONE = power(BF16)


def product_corners(numerics: MatmulNumerics) -> list[Corner]:
    """Corners whose ``holds`` reads the result, which is the exact tier's in these numerics."""
    assert numerics.product_rounding is not None
    nearest = numerics.product_rounding.rounding is Rounding.RNE
    corners = (corner for maker in (_ties, _sticky, _range_ends, _subnormals, _lost) for corner in maker(nearest))
    return [replace(corner, case=replace(corner.case, numerics=numerics)) for corner in corners]


def _is(value: Fraction | int) -> Callable[[ElementCase], bool]:
    """The result is a number that FP32 holds."""
    return lambda case: case.result == round_to_format(Fraction(value), FP32)


def _ties(nearest: bool) -> Iterator[Corner]:
    """Products of 15 and 16 bits at half a unit of BF16's last place and next to it, with odd and even last places."""
    found: dict[tuple[int, int, int], tuple[int, int, int, int]] = {}
    for a, b in product(range(128, 256), repeat=2):
        discarded = (a * b).bit_length() - BF16.precision
        kept, rest = divmod(a * b, 1 << discarded)
        distance = rest - (1 << discarded - 1)
        key = (discarded, kept & 1, (distance > 0) - (distance < 0))
        found[key] = min(found.get(key, (1 << 16, 0, 0, 0)), (abs(distance), a, b, kept))
    for (discarded, odd, side), (_, a, b, kept) in sorted(found.items()):
        up = nearest and (side > 0 or (side == 0 and odd == 1))
        for sign, exponent in product((0, 1), (-30, 0, 30)):
            case = ElementCase(power(BF16, exponent, sign) | a & 127, BF16, ONE | b & 127, BF16)
            value = (kept + up) * Fraction(2) ** (exponent + discarded - 2 * BF16.fraction_bits) * (-1) ** sign
            yield Corner(f"product tie/{discarded}/{odd}/{'<=>'[side + 1]}", case, _is(value))


def _sticky(nearest: bool) -> Iterator[Corner]:
    """Half a unit of BF16 with one bit of FP16's below it, which alone rounds the product up."""
    half = power(FP16) | 1 << FP16.fraction_bits - BF16.precision
    for place in range(FP16.fraction_bits):
        case = ElementCase(half, FP16, power(FP16) | 1 << place, FP16)
        exact = (1 + Fraction(1, 1 << BF16.precision)) * (1 + Fraction(1, 1 << FP16.fraction_bits - place))
        value = exact * (1 << BF16.fraction_bits)
        yield Corner("sticky", case, _is(Fraction(round(value) if nearest else int(value), 1 << BF16.fraction_bits)))
    yield Corner("half a unit alone", ElementCase(half, FP16, ONE, BF16), _is(1))


def _range_ends(nearest: bool) -> Iterator[Corner]:
    """Products around half a unit above BF16's largest number, and one that the partial sum would bring back."""
    largest, unit = int(BF16.max), 1 << BF16.emax - BF16.fraction_bits
    # Significands of FP16 and BF16, and their product in units: below, at and above half a unit more than 255.
    for name, a, b in (("below", 1938, 135), ("at", 2044, 128), ("above", 1055, 248)):
        assert ((2 * a * b >> 10) > 510) == (name != "below")
        for sign in (0, 1):
            moving = power(BF16, BF16.emax, sign) | b & 127
            case = ElementCase(power(FP16) | a & 1023, FP16, moving, BF16)
            value = (-1) ** sign * (largest + unit if nearest and name != "below" else largest)
            yield Corner(f"product {name} half a unit beyond BF16", case, _is(value))
    high = power(BF16, 64)
    for sign in (0, 1):
        infinity = FP32.infinity_code | sign * FP32.sign_mask
        case = ElementCase(high, BF16, high | sign * BF16.sign_mask, BF16, FP32.max_code | (1 - sign) * FP32.sign_mask)
        yield Corner(
            "product beyond the range, sum within", case, lambda case, infinity=infinity: case.result == infinity
        )


def _subnormals(nearest: bool) -> Iterator[Corner]:
    """Quarters of BF16's smallest number, up to its smallest normal one; a product that rounds to -0 leaves +0."""
    for quarters in (*range(19), 507, 508, 509, 510, 511):
        for sign in (0, 1):
            # A significand of 9 bits is FP16's; the smallest number is 2**-133.
            left = round_to_format(Fraction(quarters, 512), FP16)
            case = ElementCase(left, FP16, power(BF16, BF16.emin, sign), BF16)
            units = round(Fraction(quarters, 4)) if nearest else quarters // 4
            value = (-1) ** sign * units * BF16.min_subnormal
            yield Corner(f"product of {quarters}/4 units", case, _is(value))


def _lost(nearest: bool) -> Iterator[Corner]:
    """1.0078125**2 - 1.015625, whose exact sum is 2**-14, and its negative."""
    for sign in (0, 1):
        above = ONE + 1 | sign * BF16.sign_mask
        partial = (ONE + 2) << 16 | (1 - sign) * FP32.sign_mask
        case = ElementCase(ONE + 1, BF16, above, BF16, partial)
        yield Corner(
            "rounded before it is added",
            case,
            lambda case: abs(case.exact) == Fraction(1, 1 << 14) and case.result == 0,
        )
