"""Operands of the unscaled multiply-add in which a single bit is all that there is of something, and decides."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.verif.trainium3.dot.multiply_add import ElementCase, near, power

SPARSE_FRACTIONS = (
    *((0, 0), (1 << BF16.fraction_bits - 1, 0), (1, 0)),
    *((0, 1), (1 << BF16.fraction_bits - 1, 1), (0, 1 << FP32.fraction_bits - 1)),
)
"""Fractions of an element and of a partial sum that have a bit at most."""
HALF = -FP32.precision
"""Distance at which a product is half a unit of the partial sum's last place."""
ONE = power(BF16)
ABOVE_POWERS = ((3, 3), (3, 11), (5, 13), (3, 43), (27, 19), (25, 41))
BELOW_POWERS = ((15, 17), (7, 73), (31, 33), (23, 89), (63, 65), (127, 129), (217, 151))
"""Factors of ``2**n + 1`` and of ``2**n - 1`` that are significands of BF16."""


def sparse_cases() -> list[ElementCase]:
    makers = (_sparse_sums, _far_apart, _sparse_codes, _sparse_products, _sums_of_one_bit, _one_bit_below_a_tie)
    return [case for maker in makers for case in maker()]


def _sparse_sums() -> Iterator[ElementCase]:
    """Products and partial sums of one bit or two, at every distance, of like and of opposite signs; half units with one bit
    below."""
    sums = [*product(range(-80, 81), SPARSE_FRACTIONS)]
    sums += [(HALF + near, (1 << place, 0)) for near in (-1, 0, 1) for place in range(BF16.fraction_bits)]
    for (distance, (own, other)), opposite in product(sums, (0, 1)):
        yield ElementCase(ONE | own, BF16, power(BF16, distance), BF16, power(FP32, 0, opposite) | other)


def _far_apart() -> Iterator[ElementCase]:
    """Powers of two at every distance that there is, and products of every exponent alone."""

    def case(exponent: int, partial: int) -> ElementCase:
        low, high = (round_to_format(Fraction(2) ** part, BF16) for part in (exponent // 2, exponent - exponent // 2))
        return ElementCase(low, BF16, high, BF16, partial)

    for exponent in range(2 * (BF16.emin - BF16.fraction_bits), 2 * BF16.emax + 1):
        yield case(exponent, 0)
        yield case(exponent, power(FP32, FP32.emin if exponent > 0 else FP32.emax))


def _sparse_codes() -> Iterator[ElementCase]:
    """One-bit element codes times one and times infinity, on either side; one-bit partial sums with zero products, also of
    large elements, and with the smallest products."""
    infinity = BF16.infinity_code
    for fmt in (BF16, FP16):
        for code, other in product((1 << place for place in range(fmt.width - 1)), (ONE, infinity)):
            yield ElementCase(code, fmt, other, BF16)
            yield ElementCase(other, BF16, code, fmt)
    products = product((0, 1), (1, BF16.max_code), (0, BF16.sign_mask))
    for (left, right, sign), place in product(products, range(FP32.width - 1)):
        yield ElementCase(left | sign, BF16, right, BF16, 1 << place)


def _sparse_products() -> Iterator[ElementCase]:
    """Products of subnormal elements of one bit each, beside a partial sum far below and one far above."""
    for fmt in (BF16, FP16):
        codes = [1 << place for place in range(fmt.fraction_bits)]
        for left, right, partial in product(codes, codes, (1, power(FP32, -100))):
            yield ElementCase(left, fmt, right, fmt, partial)
            yield ElementCase(left, fmt, ONE, BF16, partial)


def _sums_of_one_bit() -> Iterator[ElementCase]:
    """Sums that are one bit, wherever it lies, of operands that are more; and the opposite."""
    elements = [ElementCase(ONE | (1 << place) - 1, BF16, ONE, BF16) for place in range(BF16.fraction_bits)]
    elements += [ElementCase(1 << place, FP16, 1, FP16) for place in range(FP16.fraction_bits)]
    for case, distance in product(elements, range(-FP32.precision, FP32.precision + 1)):
        partial = Fraction(2) ** (floor_log2(case.product) + distance) - case.product
        if decode(FP32, near(partial)).value == partial:
            yield replace(case, partial=near(partial))
            yield replace(case, stationary=case.stationary | case.stationary_format.sign_mask, partial=near(-partial))


def _one_bit_below_a_tie() -> Iterator[ElementCase]:
    """Half a unit of a product, odd and even, and one bit more or less; half a unit of a partial sum, and one bit below; half the
    smallest subnormal with one bit below, added to subnormals of one bit."""
    elements = [ElementCase(ONE | odd, BF16, ONE, BF16) for odd in (0, 1)]
    elements += [ElementCase(3, FP16, 1, FP16)]
    elements += [
        ElementCase(1 << place // 2, FP16, 1 << place - place // 2, FP16) for place in range(2 * FP16.fraction_bits - 1)
    ]
    for case, place, sign in product(elements, range(FP32.fraction_bits), (0, 1)):
        yield replace(case, partial=power(FP32, floor_log2(case.product) + HALF, sign) | 1 << place)
    for factors, sign in product(ABOVE_POWERS, (0, 1)):
        left, right = (round_to_format(Fraction(factor), BF16) for factor in factors)
        case = ElementCase(left, BF16, right, BF16)
        yield replace(case, partial=power(FP32, floor_log2(case.product) - HALF, sign))
    low, high = power(BF16, -75), power(BF16, FP32.emin - FP32.precision + 75)
    for place, partial in product(range(BF16.fraction_bits), (0, *(1 << bit for bit in range(FP32.fraction_bits)))):
        yield ElementCase(low | 1 << place, BF16, high, BF16, partial)
    for (left, right), partial in product(BELOW_POWERS, (1 << bit | 1 for bit in range(1, FP32.fraction_bits))):
        # A power of two less one in its last place, taken from an odd partial sum, which leaves an even one.
        below = (left * right).bit_length() - FP32.emin + FP32.precision
        low, high = (
            round_to_format(Fraction(left, 1 << 80), BF16),
            round_to_format(Fraction(right, 1 << below - 80), BF16),
        )
        yield ElementCase(low, BF16, high | BF16.sign_mask, BF16, partial)
