"""VectorE's exponential on scalars: the algorithm that `ExponentialNumerics` declares, in unbounded integers."""

from fractions import Fraction
from functools import cache
from math import floor, isqrt

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Unpacked, decode, scaled
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics

SERIES_TERMS = 160
LN2 = sum((Fraction(1, k << k) for k in range(1, SERIES_TERMS)), Fraction(0))
"""The sum of 1 / (k 2**k) up to a k: below ln 2 by less than ``2**(1 - SERIES_TERMS)``."""


@cache
def power_table(numerics: ExponentialNumerics) -> tuple[int, ...]:
    """Return T[i] = 2**(i / 2**table_bits) to nearest, in units of 2**-fraction_bits.

    A 2**n-th root is n square roots, and rounding each of them down is rounding down once. With one bit more than asked
    for, adding 1 and halving rounds to nearest; there are no ties, as the roots are 1 or irrational.
    """
    entries = 1 << numerics.table_bits
    return tuple(
        (_floor_root(1 << i + (numerics.fraction_bits + 1) * entries, numerics.table_bits) + 1) >> 1
        for i in range(entries)
    )


@cache
def log2e(numerics: ExponentialNumerics) -> int:
    """Return log2(e) to nearest, in units of 2**-log2e_bits."""
    return round((1 << numerics.log2e_bits) / LN2)


@cache
def ln2(numerics: ExponentialNumerics) -> int:
    """Return ln 2 to nearest, in units of 2**-fraction_bits."""
    return round(LN2 * (1 << numerics.fraction_bits))


@checked
def exponential(numerics: ExponentialNumerics, source: int, max_value: int) -> int:
    """Return the code of exp(source - max_value), of two FP32 codes, in the format ``numerics.result``."""
    difference = decode(FP32, add(source, max_value ^ FP32.sign_mask))
    match difference.kind:
        case Kind.NAN:
            return numerics.result.nan_code
        case Kind.INFINITY:
            return 0 if difference.sign else numerics.result.infinity_code
    return round_to_format(exponential_power(numerics, difference), numerics.result)


def argument(numerics: ExponentialNumerics, t: Unpacked) -> int:
    """Return u of step 1 for a finite t, in units of 2**-fraction_bits."""
    u = floor(abs(t.value) * log2e(numerics) / (1 << numerics.log2e_bits - numerics.fraction_bits))
    return ~u if t.sign else u


def exponential_power(numerics: ExponentialNumerics, t: Unpacked) -> Fraction:
    """Return y of step 4 for a finite t, computed in units that keep every step an integer; see `ExponentialNumerics`."""
    bits, table_bits = numerics.fraction_bits, numerics.table_bits
    u = argument(numerics, t)
    n, fraction = u >> bits, u & (1 << bits) - 1
    i, r = fraction >> bits - table_bits, fraction & (1 << bits - table_bits) - 1
    v = r * ln2(numerics) >> bits
    p = (1 << bits) + v + (v * v >> bits + 1)
    # T and p are below 2, so that whatever lies outside these exponents overflows or rounds to zero as their ends do.
    n = min(max(n, numerics.result.emin - numerics.result.fraction_bits - 4), numerics.result.emax + 1)
    dropped = max(0, 2 * bits - numerics.power_bits)
    return scaled(power_table(numerics)[i] * p >> dropped, n - 2 * bits + dropped)


def _floor_root(value: int, square_roots: int) -> int:
    for _ in range(square_roots):
        value = isqrt(value)
    return value
