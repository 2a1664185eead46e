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
from functools import lru_cache, partial

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.elementary import arctan, exp, log, odd_factorial_series, pi, sin
from bitpath.golden.scalar.interval import Interval, nearest
from bitpath.golden.trainium3.declarations.engines import GELU_SIGMOID_FACTOR, GELU_TANH_FACTOR, GROWING, KEEPS_ZERO

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
