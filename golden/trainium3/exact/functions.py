"""ScalarE's functions on scalars that no IEEE operation gives: the FP32 number nearest to the mathematical function.

Formulas on intervals, with as many bits as the rounding needs; s is the sigmoid, P the normal distribution and p its density:

- sigmoid s(x) = 1 / (1 + exp(-x)); tanh; softplus = log(1 + exp(x)); mish = x tanh(softplus(x));
- silu = x s(x), its derivative silu_dx = s(x) + x s(x) s(-x);
- gelu = x P(x), its derivative gelu_dx = P(x) + x p(x);
- gelu_apprx_tanh = x s(2 sqrt(2 / pi) (x + 0.044715 x**3)), which is x / 2 (1 + tanh(...)) with half of that argument;
- gelu_apprx_sigmoid = x s(1.702 x), its derivative gelu_apprx_sigmoid_dx = silu_dx(1.702 x);
- erf, its derivative erf_dx = 2 / sqrt(pi) exp(-x**2);
- log, the natural logarithm; sin, of radians; arctan.

Zeros, infinities, constants and their standing are in `bitpath.golden.trainium3.declarations.engines`.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache, lru_cache, partial
from math import floor, isqrt

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Unpacked, decode, scaled
from bitpath.golden.scalar.elementary import Interval, arctan, exp, log, nearest, odd_factorial_series, pi, sin
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.engines import GELU_SIGMOID_FACTOR, GELU_TANH_FACTOR, GROWING, KEEPS_ZERO
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics

# VectorE's exponential on scalars: the algorithm that `ExponentialNumerics` declares, in unbounded integers.


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


# x to the power of y in FP32, rounded once, in unbounded integers.
#
# Ref: IEEE 754-2019, section 9.2.1 (pow), for zeros, infinities, NaN and negative x.


ONE = FP32.bias << FP32.fraction_bits
_FIRST_BITS = 256
"""Fraction bits of the first try; a power that near to a midpoint is decided with twice as many."""
_ERROR_BITS = 48
"""The last bits of a power that may be wrong.

A logarithm has 9 such bits. Where x**y is within FP32, y has at most 32 bits, as no x but 1 is nearer to 1 than 2**-24.
That makes 41; the other steps add 2**18 units at most.
"""


@checked
def power(x: int, y: int) -> int:
    """Return the FP32 code of x to the power of y, of two FP32 codes.

    Any x to the power of 0, and 1 to the power of any y, are 1, NaN included. A negative x has powers for integers y only;
    their sign is x's for odd ones.
    """
    a, b = decode(FP32, x), decode(FP32, y)
    if b.is_zero or x == ONE:
        return ONE
    if Kind.NAN in (a.kind, b.kind):
        return FP32.nan_code
    if b.kind is Kind.INFINITY:
        if x & ~FP32.sign_mask == ONE:
            return ONE
        return FP32.infinity_code if (x & ~FP32.sign_mask > ONE) is not bool(b.sign) else 0
    whole = b.value.denominator == 1
    sign = FP32.sign_mask if a.sign and whole and b.value.numerator % 2 else 0
    if a.is_zero or a.kind is Kind.INFINITY:
        return sign | (FP32.infinity_code if a.is_zero is bool(b.sign) else 0)
    if a.sign and not whole:
        return FP32.nan_code
    return sign | _positive(abs(a.value), b.value)


def _positive(x: Fraction, y: Fraction) -> int:
    """Return the code of x**y for x above 0."""
    exact = _of_few_bits(x, y)
    if exact is not None:
        return round_to_format(exact, FP32)
    bits = _FIRST_BITS
    while True:
        low, high = (round_to_format(each, FP32) for each in _bounds(x, y, bits))
        if low == high:
            return low
        bits *= 2


def _of_few_bits(x: Fraction, y: Fraction) -> Fraction | None:
    """Return x**y where it is a number of at most 26 bits or a power of two, the only ones that can be a midpoint."""
    odd, exponent = x.numerator, -floor_log2(Fraction(x.denominator))
    while odd % 2 == 0:
        odd, exponent = odd // 2, exponent + 1
    n, root = y.numerator, y.denominator
    if odd == 1:
        power_of_two = exponent * y
        if power_of_two.denominator > 1 or abs(power_of_two) > 1 << FP32.exponent_bits:
            return None
        return scaled(1, power_of_two.numerator)
    while root > 1:
        half = isqrt(odd)
        if half * half != odd or exponent % 2:
            return None
        odd, exponent, root = half, exponent // 2, root // 2
    if n < 0 or n * (odd.bit_length() - 1) > FP32.precision + 1:
        return None
    return scaled(odd**n, exponent * n)


def _bounds(x: Fraction, y: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return bounds of x**y, computed with `bits` fraction bits; far outside of FP32's range both are equal."""
    binade = floor_log2(x)
    ln2 = _logarithm(Fraction(2), bits)
    exponent = round((_logarithm(x / scaled(1, binade), bits) + binade * ln2) * y)
    binades, rest = divmod(exponent, ln2)
    limit = 1 << FP32.exponent_bits
    if abs(binades) > limit:
        beyond = scaled(1, limit if binades > 0 else -limit)
        return beyond, beyond
    near = _exponential(rest, bits)
    error = 1 << _ERROR_BITS
    return scaled(near - error, binades - bits), scaled(near + error, binades - bits)


def _logarithm(x: Fraction, bits: int) -> int:
    """Return ln x for x from 1 to 2, in units of 2**-bits: the sum of 2 z**k / k over odd k, z = (x - 1) / (x + 1)."""
    z = (x - 1) / (x + 1)
    term, square = (2 * z.numerator << bits) // z.denominator, z * z
    total, k = 0, 1
    while term:
        total += term // k
        term, k = term * square.numerator // square.denominator, k + 2
    return total


def _exponential(x: int, bits: int) -> int:
    """Return e**x for x from 0 to ln 2, both in units of 2**-bits: the sum of x**k / k!."""
    total, term, k = 0, 1 << bits, 1
    while term:
        total += term
        term, k = (term * x >> bits) // k, k + 1
    return total


Enclosure = Callable[[Fraction, int], Interval]
"""Of an FP32 number and a number of fraction bits the interval around the function."""
_FAR = 16
"""Magnitude beyond which a bound replaces the normal distribution's tail: P(-16) < 2**-189."""


def _sigmoid(t: Interval) -> Interval:
    """Return s(t) of numbers of one sign."""
    if t.low >= 0:
        return 1 / (1 + exp(-t))
    e = exp(t)
    return e / (1 + e)


def _tanh(x: Fraction, bits: int) -> Interval:
    e = exp(Interval.enclose(-2 * abs(x), bits))
    value = (1 - e) / (1 + e)
    return value if x >= 0 else -value


def _silu_dx(t: Interval) -> Interval:
    s = _sigmoid(t)
    return s * (1 + t * (1 - s))


def _normal(x: Fraction, bits: int) -> tuple[Interval, Interval]:
    """Return P(x) and p(x); P(x) = 1/2 + p(x) * (x + x^3 / 3 + x^5 / 15 + ...), and P(-x) < exp(-x*x / 2) for positive x."""
    power = exp(Interval.enclose(-x * x / 2, bits))
    density = power / (2 * pi(bits)).root()
    if abs(x) <= _FAR:
        return Fraction(1, 2) + x * density * odd_factorial_series(x * x, bits), density
    tail = Interval(0, power.high, bits)
    return (tail if x < 0 else 1 - tail), density


def _gelu_dx(x: Fraction, bits: int) -> Interval:
    """Return gelu_dx(x), which rounds to -0 below -16 as it does there."""
    x = max(x, Fraction(-_FAR))
    distribution, density = _normal(x, bits)
    return distribution + x * density


def _gelu_apprx_tanh(x: Fraction, bits: int) -> Interval:
    return x * _sigmoid((8 / pi(bits)).root() * (x + GELU_TANH_FACTOR * x**3))


def _erf(x: Fraction, bits: int) -> Interval:
    power = exp(Interval.enclose(-x * x, bits))
    if abs(x) <= _FAR / 2:
        return 2 * x * power / pi(bits).root() * odd_factorial_series(2 * x * x, bits)
    value = 1 - Interval(0, power.high, bits)
    return value if x > 0 else -value


def _softplus(x: Fraction, bits: int) -> Interval:
    return max(x, Fraction(0)) + log(1 + exp(Interval.enclose(-abs(x), bits)))


def _mish(x: Fraction, bits: int) -> Interval:
    """Return x * (n / (n + 2)) with n = e*e + 2 e and e = exp(x); of positive x both are divided by e*e."""
    e = exp(Interval.enclose(-abs(x), bits))
    if x < 0:
        n = e * (e + 2)
        return x * (n / (n + 2))
    return x * ((1 + 2 * e) / (1 + 2 * e + 2 * e * e))


ENCLOSURES: Mapping[str, Enclosure] = {
    "sigmoid": lambda x, bits: _sigmoid(Interval.enclose(x, bits)),
    "tanh": _tanh,
    "silu": lambda x, bits: x * _sigmoid(Interval.enclose(x, bits)),
    "silu_dx": lambda x, bits: _silu_dx(Interval.enclose(x, bits)),
    "gelu": lambda x, bits: x * _normal(x, bits)[0],
    "gelu_dx": _gelu_dx,
    "gelu_apprx_tanh": _gelu_apprx_tanh,
    "gelu_apprx_sigmoid": lambda x, bits: x * _sigmoid(Interval.enclose(GELU_SIGMOID_FACTOR * x, bits)),
    "gelu_apprx_sigmoid_dx": lambda x, bits: _silu_dx(Interval.enclose(GELU_SIGMOID_FACTOR * x, bits)),
    "erf": _erf,
    "erf_dx": lambda x, bits: 2 * exp(Interval.enclose(-x * x, bits)) / pi(bits).root(),
    "log": lambda x, bits: log(Interval.enclose(x, bits)),
    "softplus": _softplus,
    "mish": _mish,
    "sin": sin,
    "arctan": arctan,
}
"""Functions of finite numbers, and of those that are not in `evaluate`'s table."""


@lru_cache(4096)
def evaluate(name: str, code: int) -> int:
    """Return the FP32 code of a function of `ENCLOSURES` at an FP32 code."""
    x = decode(FP32, code)
    infinite = x.kind is Kind.INFINITY
    if x.kind is Kind.NAN or (name == "sin" and infinite) or (name == "log" and x.sign and not x.is_zero):
        return FP32.nan_code
    if infinite and not x.sign and name in GROWING:
        return FP32.infinity_code
    if x.is_zero and name == "log":
        return FP32.infinity_code | FP32.sign_mask
    if x.is_zero and name in KEEPS_ZERO:
        return code
    # The largest numbers round as the infinities' limits do.
    value = decode(FP32, code - 1).value if infinite else x.value
    if value == 1 and name == "log":
        return 0
    return nearest(partial(ENCLOSURES[name], value), FP32)


FUNCTIONS: Mapping[str, Callable[[int], int]] = {name: partial(evaluate, name) for name in ENCLOSURES}
"""Functions of an FP32 code."""
