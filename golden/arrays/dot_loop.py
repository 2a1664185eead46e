"""Compiled loop of `bitpath.golden.arrays.dot`: exact sums of float64 terms, rounded once."""

import numpy as np

from bitpath.golden.arrays.bits import code64, magnitude_code, to_odd, two_sum
from bitpath.golden.arrays.kernels import kernel


@kernel
def rounded_sums(terms, negative, rounding, limits, sign_mask, codes):
    """Write the rounded sum of each row; a row of zeros has the sign of `negative`."""
    fraction_bits, emin, bias, to_nearest = rounding
    infinity, beyond, subnormals = limits
    count = terms.shape[1]
    parts = np.zeros(count)
    for row in range(terms.shape[0]):
        # Grow-Expansion: the parts add up to the terms exactly, in increasing magnitude.
        for k in range(count):
            carry = terms[row, k]
            for j in range(k):
                carry, parts[j] = two_sum(carry, parts[j])
            parts[k] = carry
        total = parts[0]
        for k in range(1, count):
            rest, error = two_sum(total, parts[k])
            total = to_odd(rest, error)
        if total == 0.0:
            codes[row] = sign_mask if negative[row] else 0
            continue
        magnitude = magnitude_code(code64(abs(total)), fraction_bits, emin, bias, np.int64(to_nearest))
        if magnitude >= infinity:
            magnitude = np.int64(beyond)
        if not subnormals and magnitude < 1 << fraction_bits:
            magnitude = np.int64(0)
        codes[row] = magnitude | (sign_mask if total < 0.0 else 0)
