"""The bits that the exponential discards from a power change no result: all arguments checked in integer arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact.functions import exponential, ln2, log2e, power_table
from bitpath.verif.trainium3.vector.exponential import NEAREST

NUMERICS = TRAINIUM3_EXPONENTIAL.numerics
BITS = NUMERICS.fraction_bits
WHOLE = replace(NUMERICS, power_bits=2 * BITS)
EXPONENTS = range(-BITS - 2, 7)
"""Exponents of the arguments whose powers are neither 1, infinite nor 0."""
LOWEST = -148
"""Lowest exponent of a power that the 64-bit integers can hold."""
CHUNK = 1 << 20


def nearest_to_half_way(negative, exponent, first):
    """Return the smallest nonzero distance from a tie over the powers of CHUNK arguments, in units of ``2**-64``."""
    significand = np.arange(first, first + CHUNK, dtype=np.uint64)
    u = significand * np.uint64(log2e(NUMERICS)) >> np.uint64(
        min(63, NUMERICS.log2e_bits - BITS + FP32.fraction_bits - exponent)
    )
    u = ~u if negative else u
    rest = u & np.uint64((1 << BITS - NUMERICS.table_bits) - 1)
    entry = np.array(power_table(NUMERICS), np.uint64)[u >> np.uint64(BITS - NUMERICS.table_bits) & np.uint64(255)]
    v = rest * np.uint64(ln2(NUMERICS)) >> np.uint64(BITS)
    product = entry * (v + (v * v >> np.uint64(BITS + 1)))
    from_two = entry + (product >> np.uint64(BITS)) >= 1 << BITS + 1
    y = (entry << np.uint64(BITS)) + product  # modulo 2**64: the upper bits are lost
    n = (u.view(np.int64) >> BITS) + from_two
    half = 2 * BITS - FP32.precision + from_two + np.maximum(0, FP32.emin - n)
    kept = (n >= LOWEST) & (n <= FP32.emax)
    # The lowest ``half + 1`` bits of y are the remainder; its distance from the middle of a unit is measured.
    lost = (63 - half[kept]).astype(np.uint64)
    apart = (y[kept] << lost) - np.uint64(1 << 63)
    apart = np.minimum(apart, -apart) >> lost
    return int(apart[apart > 0].min(initial=1 << 63))


@pytest.mark.deep
@pytest.mark.parametrize("negative", [False, True], ids=["positive", "negative"])
def test_no_power_but_a_tie_is_near_half_way(negative):
    """No power lies so near a tie that the discarded bits matter; with one more discarded bit some do."""
    leading = 1 << FP32.fraction_bits
    found = min(
        nearest_to_half_way(negative, exponent, first)
        for exponent in EXPONENTS
        for first in range(leading, 2 * leading, CHUNK)
    )
    dropped = 2 * BITS - NUMERICS.power_bits
    assert found >= 1 << dropped
    assert negative or found < 1 << dropped + 1


def test_the_nearest_have_the_results_of_the_whole_product():
    for argument in NEAREST:
        assert exponential(NUMERICS, argument, 0) == exponential(WHOLE, argument, 0)
    fewer = replace(NUMERICS, power_bits=NUMERICS.power_bits - 1)
    assert any(exponential(fewer, argument, 0) != exponential(WHOLE, argument, 0) for argument in NEAREST)


@pytest.mark.deep
def test_the_smallest_powers_have_the_results_of_the_whole_product():
    """Results below LOWEST do not fit the integers, so both exponentials are compared directly."""
    first, last = (int(np.float32(each).view(np.uint32)) for each in (-102.5, -104.8))
    for argument in range(first, last):
        assert exponential(NUMERICS, argument, 0) == exponential(WHOLE, argument, 0)
