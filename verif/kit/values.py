"""Readable values of codes, and the distance of two codes in units in the last place."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from random import Random

from bitpath.golden.formats.catalogue import FloatFormat, Rounding
from bitpath.golden.scalar.codec import Kind, decode

# Exact values beside the boundaries of a rounder's range, each with one sticky bit at a chosen distance.
#
#     value = lower + half * unit / 2 + side * unit * 2**-distance
#
# ``lower`` and ``lower + unit`` are neighbouring results. ``half`` 1 is the tie between them, which decides rounding to nearest;
# ``half`` 0 is the result itself, which decides directed rounding::
#
#     lower                tie                  lower + unit
#       |-------------------|-------------------|
#      - +                 - +                    sides, 2**-distance units away
#
# A bench builds operands whose exact sum is the value, and compares the value with that of golden's trace: a corner that misses
# its boundary is an error.


SIDES = {-1: "below", 0: "at", 1: "above"}


@dataclass(frozen=True)
class Boundary:
    """Two neighbouring results, ``lower`` and ``lower + unit``."""

    name: str
    lower: Fraction
    unit: Fraction


@dataclass(frozen=True)
class Near:
    """A value at a boundary, or ``2**-distance`` units beside it."""

    boundary: Boundary
    half: int
    side: int
    distance: int

    @property
    def middle(self) -> Fraction:
        return self.boundary.lower + self.half * self.boundary.unit / 2

    @property
    def sticky(self) -> Fraction:
        return self.side * self.boundary.unit / 2**self.distance

    @property
    def value(self) -> Fraction:
        return self.middle + self.sticky

    @property
    def bin(self) -> str:
        return f"{self.boundary.name}/{SIDES[self.side]} {'tie' if self.half else 'result'}"


def float_boundaries(fmt: FloatFormat, rng: Random) -> list[Boundary]:
    """Boundaries of a format's positive results: its ends, and a random even and odd one inside each part of its range."""
    subnormal, top = fmt.min_normal / 2**fmt.fraction_bits, fmt.max - Fraction(2) ** (fmt.emax - fmt.fraction_bits)
    last = 1 << fmt.fraction_bits
    exponent = rng.randint(fmt.emin + 1, fmt.emax - 1)
    unit = Fraction(2) ** (exponent - fmt.fraction_bits)
    found = [
        Boundary("zero", Fraction(0), subnormal),
        Boundary("smallest normal", fmt.min_normal - subnormal, subnormal),
        Boundary("first unit of the normals", fmt.min_normal, subnormal),
        Boundary("next binade", (2 * last - 1) * unit, unit),
        Boundary("largest", top, fmt.max - top),
        Boundary("overflow", fmt.max, fmt.max - top),
    ]
    for odd, parity in enumerate(("even", "odd")):
        # Numbers of every length: the leading bit may be anywhere above the last one.
        low = rng.getrandbits(rng.randint(1, fmt.fraction_bits)) & ~1 | odd
        found.append(Boundary(f"subnormal grid, {parity}", low * subnormal, subnormal))
        found.append(Boundary(f"normal, {parity}", (last | rng.getrandbits(fmt.fraction_bits) & ~1 | odd) * unit, unit))
    return found


def integer_boundaries(low: int, high: int, rng: Random) -> list[Boundary]:
    """Boundaries of integer results that saturate at ``low`` and ``high``: both ends, zero, and an even and an odd result."""
    inside = rng.randint(low // 2, high // 2 - 1) & ~1
    places = {"below the smallest": low - 1, "smallest": low, "below zero": -1, "zero": 0, "even": inside}
    places |= {"odd": inside + 1, "largest": high - 1, "overflow": high}
    return [Boundary(name, Fraction(lower), Fraction(1)) for name, lower in places.items()]


def halves(rounding: Rounding) -> tuple[int, ...]:
    """The halves that decide a rounding: ties of rounding to nearest, results of a directed one, both of a stochastic one."""
    return (0, 1) if rounding is Rounding.SR else (1,) if rounding.to_nearest else (0,)


def near(
    boundaries: Callable[[Random], Iterable[Boundary]], rng: Random, distances: Iterable[int], rounding: Rounding
) -> Iterator[Near]:
    """Yield the values at all boundaries that decide the rounding, and beside them at every distance of 2 or more.

    Parameters
    ----------
    boundaries : called anew for each distance, so that its random results change.
    """
    for half in halves(rounding):
        yield from (Near(boundary, half, 0, 0) for boundary in boundaries(rng))
        for distance in distances:
            for boundary in boundaries(rng):
                yield from (Near(boundary, half, side, distance) for side in (-1, 1))


def near_floats(fmt: FloatFormat, rng: Random, distances: Iterable[int], rounding: Rounding) -> Iterator[Near]:
    """:func:`near` of a format's :func:`float_boundaries`, without values below zero: a caller negates for negative results."""
    return (each for each in near(partial(float_boundaries, fmt), rng, distances, rounding) if each.value >= 0)


@dataclass(frozen=True)
class Integer:
    """An integer of ``width`` bits: two's complement, sign and magnitude, or unsigned.

    ``magnitude_bits`` are those of a magnitude that does not reach up to the sign; None if it does.
    """

    width: int
    signed: bool = True
    sign_and_magnitude: bool = False
    magnitude_bits: int | None = None

    def value(self, code: int) -> int:
        """Return the number of a code."""
        sign = self.signed and code >> self.width - 1
        if self.sign_and_magnitude:
            bits = self.width - self.signed if self.magnitude_bits is None else self.magnitude_bits
            magnitude = code & (1 << bits) - 1
            return -magnitude if sign else magnitude
        return code - (1 << self.width) if sign else code


@dataclass(frozen=True)
class Word:
    """A word of ``width`` bits that is no number, such as a state or a command."""

    width: int


Number = FloatFormat | Integer | Word


def number_text(fmt: FloatFormat | Integer, code: int) -> str:
    """Return the number of a code as short text, rounded to 9 significant digits."""
    if isinstance(fmt, Integer):
        return str(fmt.value(code))
    unpacked = decode(fmt, code)
    sign = "-" if unpacked.sign else ""
    if unpacked.kind is Kind.NAN:
        return "NaN"
    if unpacked.kind is Kind.INFINITY:
        return f"{sign}inf"
    if unpacked.is_zero:
        return f"{sign}0"
    if not fmt.fraction_bits:
        return f"2^{_exponent_of_power(unpacked.value)}"
    # Nine digits distinguish all FP32 numbers.
    return f"{float(unpacked.value):.9g}"


def hex_text(code: int, width: int) -> str:
    """Return a code in hexadecimal, with all digits of its width."""
    return f"0x{code:0{-(-width // 4)}x}"


def code_text(fmt: Number, code: int) -> str:
    """Return a code and its number: 0x3f800000 = 1."""
    if isinstance(fmt, Word):
        return hex_text(code, fmt.width)
    return f"{hex_text(code, fmt.width)} = {number_text(fmt, code)}"


def codes_text(fmt: Number, codes: Iterable[int]) -> str:
    """Return codes and their numbers, separated by commas."""
    return ", ".join(code_text(fmt, int(code)) for code in codes)


def _exponent_of_power(value: Fraction) -> int:
    return value.numerator.bit_length() - value.denominator.bit_length()


def ulp_distance(fmt: FloatFormat | Integer, a: int, b: int) -> int | None:
    """Return the steps between two codes on the number line, where +0 equals -0; None if either is NaN."""
    if isinstance(fmt, Integer):
        return abs(fmt.value(a) - fmt.value(b))
    if Kind.NAN in (decode(fmt, a).kind, decode(fmt, b).kind):
        return None
    return abs(_position(fmt, a) - _position(fmt, b))


def distance_text(fmt: Number, a: int, b: int) -> str:
    """Return the distance of two different codes as text, 1 ulp; empty for words."""
    if isinstance(fmt, Word):
        return ""
    distance = ulp_distance(fmt, a, b)
    if distance is None:
        return "no distance from NaN"
    return f"{distance} ulp" if distance else "the same number in another code"


def _position(fmt: FloatFormat, code: int) -> int:
    magnitude = code & ~fmt.sign_mask
    return -magnitude if code & fmt.sign_mask else magnitude
