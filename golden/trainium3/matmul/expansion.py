"""Exact sums of float64 values, rounded to odd so that a later rounding to fewer bits is as if done once.

Ref: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric Predicates", Discrete &
Computational Geometry 18, 1997 (theorem 10, Grow-Expansion); S. Boldo and G. Melquiond, "Emulation of FMA and Correctly
Rounded Sums: Proved Algorithms Using Rounding to Odd", IEEE Transactions on Computers 57(4), 2008.
"""

from collections.abc import Sequence

import numpy as np


def sum_to_odd(terms: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of finite float64 arrays, rounded to odd at 53 bits.

    Rounding to odd gives the exact sum where 53 bits hold it and else, of its two neighbours, the one with the odd
    significand. That one is never on, and always on the right side of, every value and every midpoint of a format with at
    most 51 bits, so rounding it to such a format gives what rounding the exact sum would have given.

    The terms' exponents must keep clear of float64's own limits: all sums here stay between 2**-400 and 2**400.
    With more than two terms the sign of a zero sum has no meaning.
    """
    # Grow-Expansion keeps the sum exactly, as components of increasing magnitude. With ties to even they are nonadjacent:
    # the components below h sum to less than half the weight of h's lowest set bit.
    expansion: list[np.ndarray] = []
    for term in terms:
        carry = term
        for i, component in enumerate(expansion):
            carry, expansion[i] = _two_sum(carry, component)
        expansion.append(carry)
    # Folding from the smallest is exact rounding to odd. Let y be the exact sum of the components below h, v = y rounded to
    # odd and inexact, g the weight of v's last bit. Then |y| >= 2**52 g, so h is a multiple of 2g, and v + h lies between
    # the same two neighbouring multiples of 2g as y + h, at the odd multiple of g. As |y + h| > |y|, the last bit of the
    # rounded y + h weighs g (then v + h is the answer itself) or at least 2g (then both sums round alike).
    total = expansion[0]
    for component in expansion[1:]:
        total = add_to_odd(total, component)
    return total


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a + b rounded to nearest even, and the exact error of that (Knuth)."""
    total = a + b
    b_part = total - a
    return total, (a - (total - b_part)) + (b - b_part)


def add_to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a + b rounded to odd: an inexact even result moves to its neighbour on the error's side.

    NaN, infinity and the sign of a zero sum are as in IEEE 754.
    """
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    outward = (error > 0) == (total > 0)
    move = (error != 0) & (bits & 1 == 0) & np.isfinite(total)
    return (bits + np.where(move, np.where(outward, 1, -1), 0)).view(np.float64)
