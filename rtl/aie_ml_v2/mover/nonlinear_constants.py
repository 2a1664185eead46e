"""Tables of exp2 and tanh, computed in integers at elaboration."""

from bisect import bisect_right
from collections.abc import Iterator
from math import isqrt

from bitpath.golden.aie_ml_v2.declarations.codes import EXP2_FRACTION_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import BF20
from bitpath.golden.formats.catalogue import BF16, FP32

BITS = 128
"""Fraction bits of the computation. No number here is within the last 64 of where its table entry changes."""
EXP2_BITS = BF20.fraction_bits + 1
"""Fraction bits of an entry of exp2: those of the longest result, and its guard bit."""
ONE = BF16.bias << BF16.fraction_bits
"""BF16's code of 1, tanh's largest result."""
TANH_FIRST = -12
"""From ``2**TANH_FIRST`` on tanh needs a table: below, x is less than an FP32 unit above it."""
TANH_STOP = 2
"""From ``2**TANH_STOP`` on tanh is 1."""
SEGMENT_BITS = 15
"""Low bits of an FP32 code that stay within a segment: 256 segments a binade, with no more than one breakpoint each."""
FIRST_SEGMENT = TANH_FIRST + FP32.bias << FP32.fraction_bits - SEGMENT_BITS
SEGMENTS = (TANH_STOP - TANH_FIRST) << FP32.fraction_bits - SEGMENT_BITS
FIRST_RESULT = TANH_FIRST + BF16.bias << BF16.fraction_bits
"""Result of the first segment's first code."""


def exp2_table() -> list[int]:
    """Return the fractions of ``2**(i / 2048)`` for every i, cut to EXP2_BITS bits. All but the first are irrational,
    so no tie exists: the highest dropped bit alone decides rounding to nearest."""
    root = 2 << BITS
    for _ in range(EXP2_FRACTION_BITS):
        root = isqrt(root << BITS)
    power, table = 1 << BITS, []
    for _ in range(1 << EXP2_FRACTION_BITS):
        table.append((power >> BITS - EXP2_BITS) - (1 << EXP2_BITS))
        power = power * root >> BITS
    return table


def tanh_breakpoints() -> Iterator[int]:
    """Yield for each result behind FIRST_RESULT the least FP32 code that gives it: the artanh of the number half-way
    from the result before, rounded up, since no FP32 number has such a tanh."""
    for result in range(FIRST_RESULT, ONE):
        halfway = 2 * ((result & BF16.fraction_mask) + (1 << BF16.fraction_bits)) + 1
        least = artanh(halfway, 1 << BF16.fraction_bits + 1 - ((result >> BF16.fraction_bits) - BF16.bias))
        exponent = least.bit_length() - 1 - BITS
        significand = -(-least >> BITS + exponent - FP32.fraction_bits)
        yield (exponent + FP32.bias - 1 << FP32.fraction_bits) + significand


def tanh_table() -> list[tuple[int, int]]:
    """Return for each segment its first code's result less FIRST_RESULT, and the place in it from which on the result
    is one more, ``2**SEGMENT_BITS`` if none is."""
    breakpoints, size = list(tanh_breakpoints()), 1 << SEGMENT_BITS
    table = []
    for start in range(FIRST_SEGMENT << SEGMENT_BITS, FIRST_SEGMENT + SEGMENTS << SEGMENT_BITS, size):
        passed = bisect_right(breakpoints, start)
        following = breakpoints[passed] - start if passed < len(breakpoints) else size
        table.append((passed, min(following, size)))
    return table


def artanh(numerator: int, denominator: int) -> int:
    """Return artanh(n / d) in units of ``2**-BITS``, less a few: half the logarithm of ``(d + n) / (d - n)``. With
    ``2**k * s`` for this ratio it is ``k * artanh(1 / 3) + artanh((s - 1) / (s + 1))``, s from 1 to 2."""
    above, below = denominator + numerator, denominator - numerator
    k = (above // below).bit_length() - 1
    below <<= k
    return k * _series(1, 3) + _series(above - below, above + below)


def _series(numerator: int, denominator: int) -> int:
    """Return artanh(x) as the sum of ``x**n / n`` over odd n."""
    power, total, odd = (numerator << BITS) // denominator, 0, 1
    while power:
        total += power // odd
        power, odd = power * numerator**2 // denominator**2, odd + 2
    return total
