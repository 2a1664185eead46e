"""Compiled last steps of Tensix's float operations: sums aligned with Dst, added, normalised and rounded, word by word.

Products and sums are float64 numbers s * 2**e of a significand s and a biased exponent e, in units of a product's last place.
A group's sum has at most 29 bits, Dst 24, and the total 30. One code rounds all ties::

    x = t * away + abs(t) * up                    moves a tie of t
    g = x + c - c,  c = 1.5 * 2**52 * q           rounds x to the grid q, ties to even
    w = (code64(abs(x)) + half + last) >> below   rounds abs(x) to a Dst word of `below` bits less

    tie    away        up       half                    last
    RNE    1           0        2**(below - 1) - 1      the last bit that remains
    RNA    1 + 2**-32  0        2**(below - 1)          0
    RNU    1           2**-32   2**(below - 1)          0

For w, RNA needs no step, and `away` is 1.

Proof of x. A tie is half-way between two results, which are q apart. Let u be the smaller of q / 2 and the last place of t:
t and all ties are multiples of u. The step is below u, because t has at most 30 bits and is below 2**30 * q. So a t that is
a tie leaves it in the direction of the step, and no other t reaches a tie. x is rounded to 53 bits, but 2**-32 * t is above
the last place of a float64 t, and t and the next multiple of u are float64 numbers: x stays between them.

Proof of g. The addition of c rounds once, to nearest even, since the result's last place is q. The subtraction is exact.

Proof of w. Without a step, `half` rounds a tie of abs(x) up: away from zero. RNU's step moves a negative tie towards zero,
so that half does not reach the next word. RNE's half and last bit round a tie up from an odd word only. A carry goes on into
the exponent.

Sums are exact in any order.
"""

from typing import Any

import numpy as np

from bitpath.golden.arrays.bits import code64, value64
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

PRODUCT_FRACTION_BITS, SUM_FRACTION_BITS, NARROW_FRACTION_BITS = 10, 23, 10
"""Fraction bits of a product, of an addend, and of an addend rounded for a 16-bit Dst."""
STEP = 2.0**-32
STEPS = {Rounding.RNE: (1.0, 0.0), Rounding.RNA: (1 + STEP, 0.0), Rounding.RNU: (1.0, STEP)}
"""`away` and `up` by tie."""
ON_GRID = 1.5 * 2.0**52
"""c of the grid 1."""
BIAS = 1023 + PRODUCT_FRACTION_BITS
"""Exponent field of a float64 number less that of its Dst word."""
QUIRK = -(2.0 ** (4 + PRODUCT_FRACTION_BITS))
"""-1.0, four binades up."""


def addition(numerics: TensixNumerics, dst_fields: tuple[int, int]) -> tuple[Any, ...]:
    """Return the last arguments of `add_to_dst`.

    Parameters
    ----------
    dst_fields : exponent and fraction bits of a Dst word.
    """
    is_dst32 = dst_fields[1] == SUM_FRACTION_BITS
    steps = *STEPS[numerics.sum_tie], *STEPS[numerics.dst_tie], STEPS[numerics.final_tie][1]
    flags = not is_dst32 and numerics.pre_round, is_dst32 and numerics.minus_one_quirk
    return steps, *(np.int64(each) for each in (*flags, *dst_fields, numerics.final_tie is Rounding.RNE))


@piece
def power_of_two(exponent):
    """Return ``2**exponent``, float64."""
    return value64((np.int64(exponent) + 1023) << 52)


@piece
def rounded(value, c, away, up):
    """Move a tie, and round to the grid of `c`."""
    return value * away + abs(value) * up + c - c


@kernel(fused=True)
def add_to_dst(dst, sums, highest, above, result, steps, narrow, quirk, exponent_bits, fraction_bits, to_even):
    """Add sums of products, and the powers of two of their exponents, [groups, datums], to Dst words.

    A sum whose power is not larger than `above` counts as 0.
    """
    size = dst.shape[0]
    powers, totals = np.empty(size), np.empty(size)
    below, infinity = np.int64(52 - fraction_bits), np.int64((1 << exponent_bits) - 1)
    sign_bit, half = exponent_bits + fraction_bits, (np.int64(1) << below - 1) - to_even
    lowest, smallest = np.int64(BIAS) << fraction_bits, np.int64(1) << fraction_bits
    largest = np.int64(0x7FFF) if exponent_bits == 5 else infinity << fraction_bits
    sum_away, sum_up, dst_away, dst_up, final_up = steps
    unit = power_of_two(PRODUCT_FRACTION_BITS - (NARROW_FRACTION_BITS if narrow else SUM_FRACTION_BITS))
    first, second = ON_GRID * power_of_two(PRODUCT_FRACTION_BITS - SUM_FRACTION_BITS), ON_GRID * unit
    for i in range(size):
        powers[i] = power_of_two(np.int64(dst[i]) >> fraction_bits & infinity)
    for group in range(sums.shape[0]):
        own = highest[group]
        for i in range(size):
            powers[i] = max(powers[i], own[i])
    for i in range(size):
        word = np.int64(dst[i])
        exponent = word >> fraction_bits & infinity
        code = (exponent + BIAS << 52) | (word & (1 << fraction_bits) - 1) << below | word >> sign_bit << 63
        value = value64(code) if exponent else 0.0
        value = rounded(value, powers[i] * first, dst_away, dst_up)
        totals[i] = rounded(value, powers[i] * second, dst_away, dst_up)
    for group in range(sums.shape[0]):
        own, values = highest[group], sums[group]
        for i in range(size):
            addend = values[i] if own[i] > above else 0.0
            addend = rounded(addend, powers[i] * first, sum_away, sum_up)
            totals[i] += rounded(addend, powers[i] * second, sum_away, sum_up)
    for i in range(size):
        # The quirk: -1 unit becomes -1.0, four binades up.
        total = QUIRK * powers[i] if (quirk != 0) & (totals[i] == -powers[i] * unit) else totals[i]
        code = code64(abs(total + abs(total) * final_up))
        code = (code + half + (code >> below & to_even) >> below) - lowest
        # A total of 0 has a code below 0.
        result[i] = 0 if code < smallest else min(code, largest) | np.int64(total < 0.0) << sign_bit
