"""activation and activation_reduce: ScalarE's function of scaled and biased data.

Results are bit-identical to composing `bitpath.golden.scalar.fp32`, `bitpath.golden.trainium3.exact.functions` and
`bitpath.golden.trainium3.exact.functions`.

Ref: ``nki.isa.activation`` and ``nki.isa.activation_reduce`` reference pages, NKI 0.3 (AWS Neuron documentation,
2025-12-01). The machine's functions are piecewise polynomials whose coefficients are not public; here each is correctly
rounded, but for "exp", whose algorithm is declared. Formulas, limits and valid arguments are in
`bitpath.golden.trainium3.exact.functions` and `bitpath.golden.trainium3.declarations.engines`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked, member, numerics_of
from bitpath.golden.arrays.codec import encode_array
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.engines import (
    ACTIVATE2_OPERATIONS,
    ACTIVATE2_REDUCTIONS,
    ACTIVATION_REDUCTIONS,
    BYPASS,
    GELU_SIGMOID_FACTOR,
    GELU_TANH_FACTOR,
    GROWING,
    ReduceCommand,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, ExponentialNumerics, SumOrder
from bitpath.golden.trainium3.exact import functions as exact
from bitpath.golden.trainium3.exact.functions import ln2, log2e, power_table
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import (
    IDENTITIES,
    OPERATORS,
    UNARY,
    SumOrderName,
    Unary,
    output_dtype,
    read_operand,
    read_tile,
    real,
    reduce_free,
    reduce_onto,
    serial_sum,
    single,
    start_of,
    write,
)

# ScalarE's functions that no IEEE operation gives: the FP32 number nearest to the mathematical function.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.functions`, which has the formulas. float64 gives a value and a bound of
# its error. If both ends of the interval round to one FP32 number, that number is the result; the few other elements,
# zeros of log too, go to the exact twin (Ziv's rounding test).


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


# exponential: VectorE's exp(src - max), with a running sum for softmax.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.functions` and sums in FP32.
#
# Ref: ``nki.isa.exponential`` reference page, NKI 0.3 to 0.5, and "Trainium3 Architecture Guide for NKI" (AWS Neuron
# documentation, 2025-12-01). The algorithm is declared by `ExponentialNumerics`; the vendor's is not public.


ReduceName = Literal["idle", "reset_reduce", "reduce", "load_reduce"]
_FAR = np.float32(512)
"""exp of it overflows, exp of its negative rounds to 0; nearer to 0, arguments are multiples of 2**-149 below 2**9."""


@checked
def exponential(
    src: np.ndarray,
    max_value: float | np.ndarray,
    *,
    dtype: np.dtype | type | str = np.float32,
    reduce_cmd: ReduceName = "idle",
    accumulators: np.ndarray | None = None,
    reduce_init: float | np.ndarray | None = None,
    numerics: ExponentialNumerics | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return exp(src - max_value), and the accumulators of its running row sum.

    Parameters
    ----------
    src : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    max_value : a number, rounded to FP32, or an array [P, 1] of src's dtypes.
    dtype : dtype of the result, also "tf32".
    reduce_cmd : "reset_reduce" adds a row onto 0, "reduce" onto `accumulators`, "load_reduce" onto `reduce_init`;
        "idle" adds nothing and leaves the accumulators undefined.
    accumulators : [P] or [P, 1] float32, for "reduce".
    reduce_init : a number or an array [P, 1], for "load_reduce".
    numerics : default `TRAINIUM3_EXPONENTIAL`; of another one, the algorithm's sizes are at most the default's.

    Returns
    -------
    [P, F] of `dtype`, and the accumulators [P] float32, None with "idle". Sums are FP32, element after element.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or command; an operand missing, or given where the command takes none.
    """
    dtype = output_dtype(dtype)
    numerics = _check_numerics(numerics)
    values = read_tile("src", src)
    load = "reduce_init", reduce_init
    start = start_of(0.0, len(values), reduce_cmd, get_args(ReduceName), accumulators, load)
    powers = exponential_of(values, read_operand("max_value", max_value, len(values)), numerics)
    result = write(powers, dtype)
    if start is None:
        return result, None
    added = powers if numerics.sum_before_cast else fp32.read(result)
    return result, serial_sum(np.hstack([start, added]))


def exponential_of(values: np.ndarray, max_value: np.ndarray, numerics: ExponentialNumerics) -> np.ndarray:
    """Return exp(values - max_value) of float32 arrays, as `ExponentialNumerics` describes, in int64."""
    bits, table_bits = numerics.fraction_bits, numerics.table_bits
    t = fp32.subtract(values, max_value)
    bounded = np.clip(np.where(np.isnan(t), np.float32(0), t), -_FAR, _FAR)
    mantissa, exponent = np.frexp(bounded)
    significand = np.ldexp(mantissa.astype(np.float64), FP32.precision).astype(np.int64)
    # 24 and 39 bits make 63. With |t| up to 2**9 the shift is to the right by at least 20.
    down = numerics.log2e_bits - bits + FP32.precision - exponent.astype(np.int64)
    u = np.abs(significand) * log2e(numerics) >> np.minimum(down, 63)
    u = np.where(np.signbit(bounded), ~u, u)
    fraction = u & (1 << bits) - 1
    r = fraction & (1 << bits - table_bits) - 1
    v = r * ln2(numerics) >> bits
    past_one = v + (v * v >> bits + 1)  # p - 1: the leading 1 is left out
    table = np.array(power_table(numerics))[fraction >> bits - table_bits]
    dropped = max(2 * bits - numerics.power_bits, 0)
    y = (table << bits - dropped) + (table * past_one >> dropped)
    powers = encode_array(numerics.result, np.ldexp(y.astype(np.float64), (u >> bits) - 2 * bits + dropped))
    return np.where(np.isnan(t), fp32.NAN, powers.astype(np.uint32).view(np.float32))


def _check_numerics(numerics: ExponentialNumerics | None) -> ExponentialNumerics:
    """Return the numerics, the preset's for None; int64 carries no larger ones than the preset's, nor float64 their powers."""
    largest = TRAINIUM3_EXPONENTIAL.numerics
    numerics = numerics_of(numerics, TRAINIUM3_EXPONENTIAL)
    if (
        numerics.result is not FP32
        or not largest.table_bits <= numerics.table_bits <= numerics.fraction_bits <= largest.fraction_bits
        or not numerics.fraction_bits <= numerics.log2e_bits <= largest.log2e_bits
        or not numerics.fraction_bits <= numerics.power_bits <= largest.power_bits
    ):
        raise ValueError(
            f"numerics must have result FP32, table_bits from {largest.table_bits}, fraction_bits up to"
            f" {largest.fraction_bits}, log2e_bits from those up to {largest.log2e_bits} and power_bits up to"
            f" {largest.power_bits}, not be {numerics}"
        )
    return numerics


FUNCTIONS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "copy": lambda x: x,
    "square": UNARY["square"],
    "sqrt": fp32.square_root,
    "rsqrt": UNARY["rsqrt"],
    "reciprocal": UNARY["reciprocal"],
    "exp": lambda x: exponential_of(x, np.zeros((1, 1), np.float32), TRAINIUM3_EXPONENTIAL.numerics),
    "abs": UNARY["abs"],
    "relu": UNARY["relu"],
    "sign": lambda x: np.where(np.isnan(x), fp32.NAN, np.sign(x) + np.float32(0)),
    **NEAREST,
}
"""Functions of float32, each rounded once to FP32."""


@checked
def activation(
    data: np.ndarray,
    op: str,
    *,
    scale: float | np.ndarray = 1.0,
    bias: float | np.ndarray | None = 0.0,
    dtype: np.dtype | type | str = np.float32,
) -> np.ndarray:
    """Return ``op(data * scale + bias)``.

    Product, sum, function and the cast to `dtype` are rounded one after the other. A bias of +0 is added like any
    other, so that -0 reaches no function; without a bias nothing is added.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op : "copy", "square", "sqrt", "rsqrt", "reciprocal", "exp", "abs", "relu", "sign", "sigmoid", "tanh", "silu",
        "silu_dx", "gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx", "erf", "erf_dx",
        "log", "softplus", "mish", "sin" or "arctan". Arguments outside of `ARGUMENT_RANGES` give the mathematical value.
    scale, bias : numbers, rounded to FP32, or arrays [P, 1] of data's dtypes; bias may be None.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or function.
    """
    dtype = output_dtype(dtype)
    return write(_activate(data, op, scale, bias), dtype)


@checked
def activation_reduce(
    data: np.ndarray,
    op: str,
    *,
    reduce_op: str = "add",
    scale: float | np.ndarray = 1.0,
    bias: float | np.ndarray | None = 0.0,
    dtype: np.dtype | type | str = np.float32,
    sum_order: SumOrderName = "serial",
) -> tuple[np.ndarray, np.ndarray]:
    """Compute `activation`, and reduce the function's values, before the cast to `dtype`, along the free dimension.

    Parameters
    ----------
    reduce_op : "add"; `activate2` has others.
    sum_order : "serial", from the first element on, or "exact" with one rounding.
    data, op, scale, bias, dtype : as `activation`.

    Returns
    -------
    the result [P, F] of `dtype`, and the reduction [P, 1], float32.

    Raises
    ------
    TypeError, ValueError : as `activation`; another reduction or order.
    """
    dtype = output_dtype(dtype)
    check_choice("reduce_op", reduce_op, ACTIVATION_REDUCTIONS)
    order = member("sum_order", sum_order, SumOrder)
    values = _activate(data, op, scale, bias)
    return write(values, dtype), reduce_free(values, reduce_op, order)


def _activate(data: np.ndarray, op: str, scale: float | np.ndarray, bias: float | np.ndarray | None) -> np.ndarray:
    values = read_tile("data", data)
    check_choice("op", op, FUNCTIONS)
    values = fp32.multiply(values, read_operand("scale", scale, len(data)))
    if bias is not None:
        values = fp32.add(values, read_operand("bias", bias, len(data)))
    return FUNCTIONS[op](values)


# activate2: ScalarE's Activation2, two operations with immediates, a function, and a reduction onto 128 registers.
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.vector`; the rules are in
# `bitpath.golden.trainium3.declarations.engines.CHOICES`.
#
# Ref: ``nki.isa.activate2`` reference page, NKI 0.6, and "Trainium3 Architecture Guide for NKI" (AWS Neuron documentation,
# 2026-08).


PRELU = "prelu"
_STEPS = ("multiply", "add", "subtract", BYPASS)


@checked
def activate2(
    data: np.ndarray,
    op: str,
    op0: str,
    op1: str,
    imm0: float | np.ndarray = 0.0,
    imm1: float | np.ndarray = 0.0,
    *,
    relu_param: float = 0.0,
    reverse0: bool = False,
    reverse1: bool = False,
    reduce_op: str | None = None,
    reduce_cmd: str = "idle",
    registers: np.ndarray | None = None,
    dtype: np.dtype | type | str = np.float32,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return ``op((data op0 imm0) op1 imm1)``, and the reduction registers after the instruction.

    Each operation and the function are rounded to FP32; then come the reduction, element after element, and the cast. NaN
    is canonical, also where nothing is computed.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op : a function of `activation`, or "prelu", which multiplies numbers with a sign bit by `relu_param`.
    op0, op1 : a pair of `ACTIVATE2_OPERATIONS`; "bypass" takes no immediate.
    imm0, imm1 : numbers, rounded to FP32, or arrays [P, 1], of one dtype where both are.
    relu_param : a number, rounded to FP32.
    reverse0, reverse1 : True if the immediate is left of the operator.
    reduce_op : "add", "max", "min", "abs_max" or "abs_min"; may be None with "idle".
    reduce_cmd : "reset" sets the registers to the identity, "reduce" reduces the row onto them, "reset_reduce" does both, "idle"
        neither.
    registers : [P] float32, needed by "reduce".
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`, and the registers [P] float32; with "idle" those given.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, function, pair, reduction or command.
    """
    dtype = output_dtype(dtype)
    values = read_tile("data", data)
    check_choice("op", op, (*FUNCTIONS, PRELU))
    for name, step in (("op0", op0), ("op1", op1)):
        check_choice(name, step, _STEPS)
    if (op0, op1) not in ACTIVATE2_OPERATIONS:
        known = ", ".join(f"{first} and {second}" for first, second in ACTIVATE2_OPERATIONS)
        raise ValueError(f"op0 and op1 must be one of {known}; not {op0!r} and {op1!r}")
    arrays = [each.dtype for each in (imm0, imm1) if isinstance(each, np.ndarray)]
    if len(set(arrays)) > 1:
        raise ValueError(f"imm1 must have imm0's dtype {arrays[0]}, not {arrays[1]}")
    start = _start(reduce_cmd, reduce_op, registers, len(values))
    for number, step, immediate, reverse in (("0", op0, imm0, reverse0), ("1", op1, imm1, reverse1)):
        other = read_operand(f"imm{number}", immediate, len(values))
        if step != BYPASS:
            values = OPERATORS[step](*((other, values) if reverse else (values, other)))
        elif reverse:
            raise ValueError(f"reverse{number} must be False with op{number} 'bypass', not True")
    parameter = fp32.one_nan(single("relu_param", real("relu_param", relu_param)))
    values = _prelu(values, parameter) if op == PRELU else FUNCTIONS[op](values)
    if start is None:
        return write(values, dtype), registers
    if ReduceCommand(reduce_cmd) is not ReduceCommand.RESET:
        start = reduce_onto(start[:, np.newaxis], values, reduce_op)[:, 0]
    return write(values, dtype), start


def _prelu(x: np.ndarray, parameter: np.ndarray) -> np.ndarray:
    return np.where(np.signbit(x) & ~np.isnan(x), fp32.multiply(x, parameter), x)


def _start(command: str, op: str | None, registers: np.ndarray | None, partitions: int) -> np.ndarray | None:
    """Return the registers onto which a row is reduced, or None where the command leaves them as they are."""
    given = member("reduce_cmd", command, ReduceCommand)
    if op is not None or given is not ReduceCommand.IDLE:
        check_choice("reduce_op", op, ACTIVATE2_REDUCTIONS)
    if registers is not None:
        check_array("registers", registers, np.float32)
        if registers.shape != (partitions,):
            raise ValueError(f"registers must have shape {(partitions,)}, not {registers.shape}")
    match given:
        case ReduceCommand.IDLE:
            return None
        case ReduceCommand.REDUCE:
            if registers is None:
                raise ValueError("registers must be given with reduce_cmd 'reduce', not None")
            return fp32.one_nan(registers)
    return np.full(partitions, IDENTITIES[op], np.float32)
