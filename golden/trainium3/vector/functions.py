"""ScalarE's functions that no IEEE operation gives: the FP32 number nearest to the mathematical function.

Bit-identical to `bitpath.golden.trainium3.exact.functions`, which has the formulas. float64 gives a value and a bound of
its error. Where both ends of the interval round to one FP32 number, that is the result; the few other elements, zeros of
log too, go to the exact twin (Ziv's rounding test).
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from bitpath.golden.trainium3.declarations.engines import GELU_SIGMOID_FACTOR, GELU_TANH_FACTOR, GROWING
from bitpath.golden.trainium3.exact import functions as exact
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.operators import Unary

Form = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Of finite float64 numbers the values, and their magnitudes: the sums of the terms' magnitudes."""

ERROR = 2.0**-42
"""Bound of a form's error, relative to the magnitude.

A function of numpy or `math` is taken to be within 16 units in the last place, 2**-48; they state 1 to 4. The relative
error of an argument, at most 2**-50, counts as often as the function's logarithm changes with the argument's: 2**7 times
in the smallest exponential that FP32 does not round to zero. In erfc it is 2**-52 and counts 2**8 times. With a few
roundings the error is below 2**-43; a test measures it.
"""
_LARGEST = np.finfo(np.float32).max
_TINY = 2.0**-100
"""Below it x / 2 + c * x * x rounds as the float64 number next above x / 2 does, for c from 0 to 1."""
_FLAT = 16.0
"""Below -16 gelu's derivative rounds to -0."""
_ROOT_2PI = math.sqrt(2 * math.pi)
_SIGMOID_FACTOR = float(GELU_SIGMOID_FACTOR)
_TANH_FACTOR = float(GELU_TANH_FACTOR)


def _scalar(function: Callable[[float], float]) -> Unary:
    """Return a function of `math` on arrays: numpy has no erf, and some of its versions have a less accurate sine."""
    each = np.frompyfunc(function, 1, 1)
    return lambda x: np.asarray(each(x), np.float64)


_ERF, _ERFC, _SIN = _scalar(math.erf), _scalar(math.erfc), _scalar(math.sin)


def _alone(function: Unary) -> Form:
    """Return the form of a function without cancellation."""

    def form(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = function(x)
        return value, np.abs(value)

    return form


def _half_at_zero(function: Unary) -> Form:
    """Return the form of a function that is x / 2 + c * x * x next to 0, where x / 2 may be a tie of subnormals."""

    def form(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        tiny = (np.abs(x) < _TINY) & (x != 0)
        value = function(x)
        return np.where(tiny, np.nextafter(x / 2, np.inf), value), np.where(tiny, 0, np.abs(value))

    return form


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _silu_dx(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As a product, so that far below zero, where s(x) underflows, -0 comes out."""
    s, slope = _sigmoid(x), x * _sigmoid(-x)
    return s * (1 + slope), s * (1 + np.abs(slope))


def _normal(x: np.ndarray) -> np.ndarray:
    """Return the normal distribution P(x)."""
    return _ERFC(-x * math.sqrt(0.5)) / 2


def _gelu_dx(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x = np.maximum(x, -_FLAT)
    distribution, slope = _normal(x), x * np.exp(-x * x / 2) / _ROOT_2PI
    return distribution + slope, distribution + np.abs(slope)


def _mish(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    above, below = np.where(x < 0, e * (e + 2), 1 + 2 * e), np.where(x < 0, 2, 2 * e * e)
    return x * (above / (above + below))


FORMS: Mapping[str, Form] = {
    "sigmoid": _alone(_sigmoid),
    "tanh": _alone(np.tanh),
    "silu": _half_at_zero(lambda x: x * _sigmoid(x)),
    "silu_dx": _silu_dx,
    "gelu": _half_at_zero(lambda x: x * _normal(x)),
    "gelu_dx": _gelu_dx,
    "gelu_apprx_tanh": _half_at_zero(lambda x: x * _sigmoid(math.sqrt(8 / math.pi) * x * (1 + _TANH_FACTOR * x * x))),
    "gelu_apprx_sigmoid": _half_at_zero(lambda x: x * _sigmoid(_SIGMOID_FACTOR * x)),
    "gelu_apprx_sigmoid_dx": lambda x: _silu_dx(_SIGMOID_FACTOR * x),
    "erf": _alone(_ERF),
    "erf_dx": _alone(lambda x: 2 / math.sqrt(math.pi) * np.exp(-x * x)),
    "log": _alone(np.log),
    "softplus": _alone(lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
    "mish": _alone(_mish),
    "sin": _alone(_SIN),
    "arctan": _alone(np.arctan),
}
"""Functions of finite float64 numbers."""


def _nearest(name: str) -> Unary:
    def function(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            nan = np.isnan(x)
            value, magnitude = FORMS[name](np.clip(np.where(nan, 1, x), -_LARGEST, _LARGEST).astype(np.float64))
            error = ERROR * magnitude
            result, other = ((value + each).astype(np.float32) for each in (-error, error))
        undecided = result.view(np.uint32) != other.view(np.uint32)
        if undecided.any():
            codes, places = np.unique(x.view(np.uint32)[undecided], return_inverse=True)
            nearest = np.array([exact.evaluate(name, int(code)) for code in codes], np.uint32)
            result[undecided] = nearest.view(np.float32)[places]
        if name in GROWING:
            result[x == np.inf] = np.inf
        if name == "sin":
            nan |= np.isinf(x)
        return fp32.one_nan(np.where(nan, fp32.NAN, result))

    return function


NEAREST: Mapping[str, Unary] = {name: _nearest(name) for name in FORMS}
"""Functions of float32 arrays."""
