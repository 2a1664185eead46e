"""Directed arguments of the exponential, each with the property of the exact tier's result that makes it a corner."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import log
from random import Random

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.scalar import fp32 as exact
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics
from bitpath.golden.trainium3.exact.functions import argument, exponential, exponential_power, log2e
from bitpath.verif.kit.boundaries import SIDES, Boundary, float_boundaries
from bitpath.verif.trainium3.vector.exponential import code

ONE = FP32.bias << FP32.fraction_bits
INFINITY, MINUS = FP32.infinity_code, FP32.sign_mask
NEAR = range(-3, 4)
"""Codes on either side of an edge."""
Holds = Callable[[int], bool]


@dataclass(frozen=True)
class Corner:
    """An element, its format, the maximum, its bin, a check of the bin's property, and whether the result must be BF16."""

    bin: str
    element: int
    source: FloatFormat
    max_value: int
    holds: Holds
    bf16: bool = False


def corners(numerics: ExponentialNumerics, rng: Random) -> list[Corner]:
    makers = (_specials, _zero, _edges, _far, _table, _grid, _subnormals, _boundaries, _sources)
    return [corner for maker in makers for corner in maker(numerics, rng)]


def _specials(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """NaN, infinities and one in both places."""
    numbers = {"nan": INFINITY + 5 | MINUS, "+inf": INFINITY, "-inf": INFINITY | MINUS, "one": ONE}
    for fmt in (FP32, BF16, FP16):
        for (a, element), (b, maximum) in ((x, y) for x in numbers.items() for y in numbers.items()):
            if "nan" in (a, b) or (a == b and a != "one"):
                expected = FP32.nan_code
            elif a == "+inf" or b == "-inf":
                expected = INFINITY
            elif a == b:
                expected = ONE
            else:
                expected = 0
            given = exact.convert(element, FP32, fmt) if a != "nan" else fmt.infinity_code + 1 | fmt.sign_mask
            yield Corner(
                f"{fmt.name}/{a} - {b}", given, fmt, maximum, lambda result, expected=expected: result == expected
            )


def _zero(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """An argument of 0 of either sign gives 1; the smallest ones on either side of it give 1 or a neighbour."""
    for element, maximum in ((0, 0), (MINUS, 0), (0, MINUS), (MINUS, MINUS), (code(88.5), code(88.5))):
        yield Corner("argument 0", element, FP32, maximum, lambda result: result == ONE)
    for magnitude in (1, FP32.fraction_mask, 1 << FP32.fraction_bits, *(code(2.0**-k) for k in range(20, 36))):
        for sign in (0, MINUS):
            yield Corner("argument near 0", magnitude | sign, FP32, 0, lambda result: abs(result - ONE) <= 16)


def _edges(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """The last argument that does not overflow, the first of normal results, and the first that does not round to 0."""

    def last(low: int, high: int, holds: Holds) -> int:
        while high - low > 1:
            middle = low + high >> 1
            low, high = (middle, high) if holds(exponential(numerics, middle, 0)) else (low, middle)
        return low

    edges = {
        "overflow": last(ONE, code(200), lambda result: result != INFINITY),
        "smallest normal": last(ONE | MINUS, code(-200), lambda result: result > FP32.fraction_mask),
        "smallest": last(ONE | MINUS, code(-200), lambda result: result > 0),
    }
    inside = {
        "overflow": lambda result: result != INFINITY,
        "smallest normal": lambda result: result > FP32.fraction_mask,
        "smallest": lambda result: result > 0,
    }
    for name, edge in edges.items():
        for step in NEAR:
            expected = step <= 0
            yield Corner(
                f"{name}/{'inside' if expected else 'beyond'}",
                edge + step,
                FP32,
                0,
                lambda result, name=name, expected=expected: inside[name](result) == expected,
            )


def _far(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Around 256, where the datapath stops to compute, and at the largest numbers."""
    for magnitude in (*(code(256) + step for step in NEAR), code(128), code(512), FP32.max_code):
        yield Corner("far above", magnitude, FP32, 0, lambda result: result == INFINITY)
        yield Corner("far below", magnitude | MINUS, FP32, 0, lambda result: result == 0)
    yield Corner("difference overflows", FP32.max_code, FP32, FP32.max_code | MINUS, lambda result: result == INFINITY)
    yield Corner("difference overflows", FP32.max_code | MINUS, FP32, FP32.max_code, lambda result: result == 0)


def _table(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Arguments at both ends of table entries: the rest of the argument is nearly 0, or nearly the next entry."""
    rest_bits = numerics.fraction_bits - numerics.table_bits
    entries = 1 << numerics.table_bits
    margin = 1 << rest_bits - 6

    def place(element: int) -> tuple[int, int]:
        u = argument(numerics, decode(FP32, element))
        return u >> rest_bits & entries - 1, u & (1 << rest_bits) - 1

    for integer in (-100, -3, -1, 0, 1, 20):
        for entry in (0, 1, entries // 2 - 1, entries // 2, entries - 1):
            for step in NEAR:
                start = (integer + entry / entries) * log(2)
                # At 0 itself a step of a code is nothing.
                element = code(start) + step if start else code(step * 2.0**-20)
                index, rest = place(element)
                low = rest < margin
                name = f"entry {index}/{'low' if low else 'high'}"
                # Next to large arguments, a code is more than an end of a large table's entry.
                if low or rest >= (1 << rest_bits) - margin:
                    yield Corner(name, element, FP32, 0, lambda result: 0 < result < INFINITY)


def _grid(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Negative arguments whose product with log2(e) is on the grid of ``2**-fraction_bits``, or but for a single bit below it:
    inverted, the one is no floor of it, and the other is."""
    factor = log2e(numerics)
    twos, leading = (factor & -factor).bit_length() - 1, 1 << FP32.fraction_bits
    for exponent in range(FP32.bias - 1, FP32.bias + 7):
        # Places of the product below the grid.
        dropped = FP32.fraction_bits + numerics.log2e_bits - numerics.fraction_bits - (exponent - FP32.bias)
        modulus = 1 << dropped - twos
        for bit in range(twos, dropped + 1):
            significand = (1 << bit - twos) * pow(factor >> twos, -1, modulus) % modulus
            # Most larger moduli have no significand of that length.
            significand += max(0, leading - significand + modulus - 1) // modulus * modulus
            if significand < 2 * leading:
                element = MINUS | exponent << FP32.fraction_bits | significand - leading
                below = (significand * factor & (1 << dropped) - 1).bit_count()
                yield Corner(
                    f"bits below the grid/{below}",
                    element,
                    FP32,
                    0,
                    lambda result, below=below: below < 2 and result > 0,
                )


def _subnormals(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    for _ in range(30):
        element = code(rng.uniform(-103, -87.5))
        yield Corner("subnormal result", element, FP32, 0, lambda result: 0 < result <= FP32.fraction_mask)


def _boundaries(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Powers beside ties of FP32's subnormal grid, and FP32 results beside ties of every boundary of BF16.

    Arguments whose powers are near FP32's smallest normal number and its overflow are ``2**-17`` apart, which is 64 units of
    the last place and more: no argument can be chosen for a tie there, and none at all for the tie itself.
    """
    smallest = FP32.min_normal / 2**FP32.fraction_bits
    # So that several arguments have powers in one unit.
    numbers = {
        "zero": 0,
        "subnormal grid, even": rng.getrandbits(12) << 1,
        "subnormal grid, odd": rng.getrandbits(12) << 1 | 1,
    }
    grid = [Boundary(name, number * smallest, smallest) for name, number in numbers.items()]
    for fmt, boundaries in ((FP32, grid), (BF16, float_boundaries(BF16, rng))):
        for boundary in boundaries:
            tie = boundary.lower + boundary.unit / 2
            for step in (sign << place for place in range(FP32.precision) for sign in (-1, 1)):
                element = code(log(tie)) + step
                x = decode(FP32, element)
                result = exponential(numerics, element, 0)
                rounded = (
                    decode(FP32, result).value if fmt is BF16 and result != INFINITY else exponential_power(numerics, x)
                )
                beside = (rounded - tie) / boundary.unit
                if 0 < abs(beside) < Fraction(1, 2):
                    name = f"boundary/{fmt.name}/{boundary.name}/{SIDES[1 if beside > 0 else -1]} tie"
                    yield Corner(name, element, FP32, 0, lambda got, result=result: got == result, fmt is BF16)


def _sources(numerics: ExponentialNumerics, rng: Random) -> Iterator[Corner]:
    """Subnormal and other elements of 16 bits, with a maximum that makes their difference inexact."""
    for fmt in (BF16, FP16):
        for element in (1, fmt.fraction_mask, 1 << fmt.fraction_bits, fmt.bias << fmt.fraction_bits):
            for sign in (0, fmt.sign_mask):
                given = element | sign
                for maximum in (0, code(2.0**-20), code(3.1415927)):
                    yield Corner(
                        f"{fmt.name}/small elements",
                        given,
                        fmt,
                        maximum,
                        lambda result: decode(FP32, result).kind is Kind.FINITE and result > 0,
                    )
