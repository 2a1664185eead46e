"""The Tensix Matrix unit's last steps: align sums with Dst, add, normalise, round. Steps 5 to 10 of the algorithm.

Ref: ttsim v1.10.0, the only public exact statement; tt-isa-documentation 3930471 for the formats.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import power_of_two
from bitpath.golden.scalar.rounding import floor_log2, round_to_integer, shift_round
from bitpath.golden.tensix.declarations.formats import Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

SUM_FRACTION_BITS = 23
"""Fraction bits of the addends."""
NARROW_FRACTION_BITS = 10
"""The same after the rounding that a 16-bit Dst adds."""
INT32_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class Accumulation:
    """The three-way addition, bit by bit.

    Attributes
    ----------
    exponent : the common biased exponent E; not above 0 makes the result +0.
    addends : the sums and last Dst, aligned and rounded, in units of ``2**-fraction_bits`` at E.
    fraction_bits : 23, or 10 for a 16-bit Dst with pre-rounding.
    total : their sum.
    quirk : the result is the wrong one of the sum -1.
    result : Dst word.
    """

    exponent: int
    addends: tuple[int, ...]
    fraction_bits: int
    total: int
    quirk: bool
    result: int


def dst_fields(style: Style, dst32: bool) -> tuple[int, int]:
    """Return exponent and fraction bits of a float Dst word."""
    if dst32:
        return 8, 23
    return (5, 10) if style is Style.FP16 else (8, 7)


def read_dst(word: int, style: Style, dst32: bool) -> tuple[int, int]:
    """Return the biased exponent and the signed significand, with 23 fraction bits, of a float Dst word."""
    exponent_bits, fraction_bits = dst_fields(style, dst32)
    exponent = word >> fraction_bits & (1 << exponent_bits) - 1
    if exponent == 0:
        return 0, 0
    significand = word & (1 << fraction_bits) - 1 | 1 << fraction_bits
    sign = word >> exponent_bits + fraction_bits & 1
    return exponent, (-1) ** sign * significand << SUM_FRACTION_BITS - fraction_bits


@checked
def accumulate(
    numerics: TensixNumerics,
    dst: int,
    sums: Sequence[tuple[int, int]],
    *,
    style: Style,
    dst32: bool,
) -> Accumulation:
    """Add sums, each a signed integer in units of 2**-23 and its biased exponent, to a float Dst word."""
    dst_exponent, dst_significand = read_dst(dst, style, dst32)
    exponent = max([dst_exponent, *(each for _, each in sums)])
    if exponent <= 0:
        return Accumulation(exponent, (0,) * (len(sums) + 1), SUM_FRACTION_BITS, 0, False, 0)
    terms = [(significand, each, numerics.sum_tie) for significand, each in sums]
    terms.append((dst_significand, dst_exponent, numerics.dst_tie))
    fraction_bits = SUM_FRACTION_BITS
    addends = [shift_round(value, exponent - each, tie) for value, each, tie in terms]
    if not dst32 and numerics.pre_round:
        fraction_bits = NARROW_FRACTION_BITS
        dropped = SUM_FRACTION_BITS - fraction_bits
        addends = [shift_round(value, dropped, tie) for value, (_, _, tie) in zip(addends, terms, strict=True)]
    total = sum(addends)
    quirk = dst32 and numerics.minus_one_quirk and total == -1
    value, weight = (Fraction(-1), exponent + 4) if quirk else (Fraction(total, 1 << fraction_bits), exponent)
    result = encode_dst(numerics, value, weight, style, dst32)
    return Accumulation(exponent, tuple(addends), fraction_bits, total, quirk, result)


def encode_dst(numerics: TensixNumerics, value: Fraction, exponent: int, style: Style, dst32: bool) -> int:
    """Normalise and round ``value * 2**(exponent - bias)`` to a Dst word; too small gives +0."""
    if value == 0:
        return 0
    exponent_bits, fraction_bits = dst_fields(style, dst32)
    position = floor_log2(value)
    significand = abs(round_to_integer(value / power_of_two(position - fraction_bits), numerics.final_tie))
    if significand == 1 << fraction_bits + 1:
        position += 1
    biased = exponent + position
    if biased <= 0:
        return 0
    sign = int(value < 0) << exponent_bits + fraction_bits
    if exponent_bits == 5 and biased > 31:
        return sign | 0x7FFF
    if exponent_bits == 8 and biased >= 255:
        return sign | 255 << fraction_bits
    return sign | biased << fraction_bits | significand & (1 << fraction_bits) - 1


@checked
def accumulate_integer(dst: int, value: int) -> int:
    """Add an integer to a sign-magnitude INT32 Dst word, saturating; zero is +0."""
    magnitude = dst & INT32_MAX
    total = (-magnitude if dst >> 31 else magnitude) + value
    return min(abs(total), INT32_MAX) | (1 << 31 if total < 0 else 0)
