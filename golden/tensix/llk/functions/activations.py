"""Activations and other functions of one operand without an exponential, and sine and cosine.

Ref: tt-llk 36b092e, ckernel_sfpu_gelu.h, _cdf.h, _relu.h, _activations.h, _hardtanh.h, _clamp.h, _threshold.h, _fill.h, _abs.h,
_negative.h, _square.h, _sign.h, _dropout.h, _trigonometry.h, _rounding_ops.h; tt-metal, llk_sfpu, the files of GELU (04154da),
softplus (0273d5a) and the error function (07368c4).
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from bitpath.golden.tensix.llk.functions.exponential import (
    INVERSE_LN2,
    exp_signed,
    reciprocal_setup,
    reduced,
    tanh_fp32,
)
from bitpath.golden.tensix.llk.functions.function import P0, P1, Function, Mode, bf16, codes, horner, unary
from bitpath.golden.tensix.sfpu.kernel import Float, Kernel, fp32_code

INT32 = 4
"""Load and store mode."""
GELU_TABLE = {0: 0x37E7322B, 1: 0x38E138F3, 2: 0x38003852, 4: 0xB12286D8, 5: 0xB437B479, 6: 0x7C00AFA4}
"""Six lines for |x| up to 0.5, 1, 1.5, 2, 3 and above: GELU less x / 2."""
GELU_DERIVATIVE_TABLE = {0: 0x36663A66, 1: 0xADC32E66, 2: 0x7C00ACCD, 4: 0x399A3800, 5: 0x3D143BEC, 6: 0x3C003CF1}
GELU_DERIVATIVE_LINES = {0: 0x28FF, 1: 0x3020, 2: 0xFF10}


def _gelu(k: Kernel, mode: Mode, x: Float) -> Float:
    if mode.approximate:
        return x * k.register(P0) + k.lut_fp32(x, 2)
    result = k.copy(0.0)
    with k.where(x < 0):
        result.assign(1.0 - _normal_cdf(k, -x))
        k.otherwise()
        result.assign(_normal_cdf(k, x))
    return result * x


def _normal_cdf(k: Kernel, x: Float) -> Float:
    """Return the cumulative normal distribution of x >= 0."""
    result = k.copy(0.0)
    with k.where(x < 2.5):
        result.assign(horner(x, 0.49866379, 0.41314081, -0.03048313, -0.05281024, 0.0122792))
        k.otherwise()
        result.assign(x * 0.44656975 + 0.58216001)
    with k.where(result > 1.0):
        result.assign(1.0)
    return result


def _gelu_setup(mode: Mode) -> dict[int, int]:
    return GELU_TABLE | codes(p0=0.5) if mode.approximate else {}


def _gelu_derivative(k: Kernel, mode: Mode, x: Float) -> Float:
    if mode.approximate:
        result = k.copy(k.lut_fp32(x, 6))
        with k.where(result < 0):
            result.assign(result + 1.0)
        return result
    # The lanes are loaded anew: the tables leave five registers.
    density = exp_signed(k, mode, x * x * -0.5) * k.load() * bf16(0.3989423)
    return density + k.lut(k.load()) + 0.5


def _gelu_derivative_setup(mode: Mode) -> dict[int, int]:
    return GELU_DERIVATIVE_TABLE if mode.approximate else GELU_DERIVATIVE_LINES | reciprocal_setup(mode)


def _gelu_tanh(k: Kernel, mode: Mode, x: Float) -> Float:
    inner = 0.7978845608028654 * (x * (0.044715 * (x * x) + 1.0))
    wave = tanh_fp32(k, replace(mode, dst32=True), inner)
    # The lanes are loaded anew, as the published kernel does for want of registers.
    half = k.load() * 0.5
    y = half * wave + half
    return y if mode.dst32 else y.to_bf16()


def _error_function(k: Kernel, x: Float) -> Float:
    """Return the error function of x >= 0."""
    result = k.copy(1.0)
    with k.where(x < 3.0), k.where(x >= 1.0):
        result.assign(horner(x, -0.19469693, 1.91684792, -1.1603072, 0.31310241, -0.03170029))
        k.otherwise()
        with k.where(x >= 0):
            result.assign(horner(x, 0.0000661338118, 1.12544048, 0.0275416549, -0.476685015, 0.166342190))
            k.otherwise()
            result.assign(0.0)
    return result


def _erf(k: Kernel, mode: Mode, x: Float, *, complement: bool) -> Float:
    x = k.copy(x)
    with k.where(x < 0):
        x.assign(-x)
        x.assign(1.0 + _error_function(k, x) if complement else -_error_function(k, x))
        k.otherwise()
        x.assign(1.0 - _error_function(k, x) if complement else _error_function(k, x))
    return x


SOFTPLUS = {
    False: (
        6.9423984729e-01,
        -5.0932420424e-01,
        1.4279095486e-01,
        -1.3000584069e-02,
        -1.8627923291e-03,
        5.0152968088e-04,
        -3.1273466851e-05,
    ),
    True: (
        6.9310557842e-01,
        -4.9926245213e-01,
        1.2186349183e-01,
        5.6753782555e-03,
        -1.0528374463e-02,
        2.7290175203e-03,
        -3.4358495031e-04,
        2.1285692128e-05,
        -4.8245715334e-07,
    ),
}
"""Coefficients of log(1 + exp(-a)) for a of 0 to 5, by whether Dst has 32 bits."""
EXPONENTIAL = (1.0, 1.0, 0.5, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040)


def _softplus_body(k: Kernel, mode: Mode, *, beta: float, threshold: float) -> None:
    t = k.copy(beta * k.load())
    with k.where(t < threshold):
        magnitude = t.with_sign(0)
        residual = k.copy(horner(magnitude, *SOFTPLUS[mode.dst32]))
        with k.where(magnitude > 5.0):
            tail = _exp_below(k, magnitude.with_sign(1), 8 if mode.dst32 else 6)
            residual.assign(tail * (1.0 + tail * (-0.5 + tail * 0.333333343)))
        low = k.copy(0.0)
        k.min_max(low, t)
        y = (1.0 / beta) * (t + residual)
        k.store(y if mode.dst32 else y.to_bf16())


def _exp_below(k: Kernel, x: Float, terms: int) -> Float:
    """Return e**x of x < 0 by a series of `terms` terms; 0 below the smallest normal number."""
    rest, power = reduced(k, x, x * INVERSE_LN2)
    series = horner(rest, *EXPONENTIAL[:terms])
    exponent = series.exponent(biased=True) + power
    result = k.copy(0.0)
    with k.where(exponent > 0):
        result.assign(series.with_exponent(exponent))
    return result


def _neg_int32_body(k: Kernel, mode: Mode) -> None:
    x = k.load(mode=INT32)
    if mode.blackhole:
        k.store(0 - x.bits, mode=INT32)
        return
    with k.where(x.bits != 0):
        k.store(-x, mode=INT32)


def _relu_max(k: Kernel, mode: Mode, x: Float, *, maximum: float) -> Float:
    result = k.copy(x)
    with k.where(result > maximum):
        result.assign(maximum)
    with k.where(result < 0):
        result.assign(0.0)
    return result


def _relu_min_body(k: Kernel, mode: Mode, *, minimum: float) -> None:
    x = k.load()
    with k.where(x < minimum):
        k.store(minimum)


def _lrelu_body(k: Kernel, mode: Mode, *, slope: float) -> None:
    code = fp32_code(slope)
    k.text(
        f"""SFPLOADI vd=2, mod=10, imm={code & 0xFFFF}
        SFPLOADI vd=2, mod=8, imm={code >> 16}
        SFPLOAD vd=0, modifier={{m}}
        SFPSETCC vc=0
        SFPMUL va=0, vb=2, vc=9, vd=0
        SFPENCC
        SFPSTORE vd=0, modifier={{m}}"""
    )


def _hardsigmoid(k: Kernel, mode: Mode, x: Float) -> Float:
    return _relu_max(k, mode, x * k.register(P0) + k.register(P1), maximum=1.0)


def _hardtanh(k: Kernel, mode: Mode, x: Float, *, low: float, high: float) -> Float:
    x = k.copy(x + bf16(-low))
    with k.where(x < 0):
        x.assign(0.0)
    x.assign(x + bf16(low - high))
    with k.where(x >= 0):
        x.assign(0.0)
    return x + bf16(high)


def _clamp(k: Kernel, mode: Mode, x: Float, *, low: float, high: float, offset: float) -> Float:
    x = k.copy(x)
    with k.where(x < low):
        x.assign(low)
        k.otherwise()
        k.narrow(x >= high)
        x.assign(high)
    return x + bf16(offset)


def _threshold_body(k: Kernel, mode: Mode, *, threshold: float, value: float) -> None:
    x = k.load()
    with k.where(x <= threshold):
        k.store(value)


def _sign_body(k: Kernel, mode: Mode) -> None:
    x = k.load()
    k.store(1.0)
    with k.where(x < 0):
        k.store(-1.0)
    with k.where(x == 0):
        k.store(0.0)


def _dropout_body(k: Kernel, mode: Mode, *, probability: float, scale: float) -> None:
    if not 0 <= probability <= 1:
        raise ValueError(f"probability must be 0 to 1, not {probability}")
    words = {1: fp32_code(scale), 2: round(probability * 0x7FFFFFFF)}
    loads = [
        f"SFPLOADI vd={each}, mod={mod}, imm={half}"
        for each, code in words.items()
        for mod, half in ((10, code & 0xFFFF), (8, code >> 16))
    ]
    k.text("\n".join(loads))
    k.text(
        """SFPLOAD vd=0, modifier={m}
        SFPMUL va=0, vb=1, vc=9, vd=0
        SFPMOV vc=9, vd=3, mod=8
        SFPSETSGN vc=3, vd=3, mod=1
        SFPIADD vc=2, vd=3, mod=10
        SFPMOV vc=9, vd=0
        SFPENCC
        SFPSTORE vd=0, modifier={m}"""
    )


def _stochastic_round_body(k: Kernel, mode: Mode) -> None:
    k.text(
        """SFPLOAD vd=0, modifier={m}
        SFP_STOCH_RND rounding=1, vc=0, vd=0, mod=1
        SFPSTORE vd=0, modifier={m}"""
    )


def _square(k: Kernel, mode: Mode, x: Float) -> Float:
    return x * x


SINE = (-0.166666666, 0.0083333333, -0.0001984126, 0.0000027557, -0.00000002505)
COSINE = (-0.5, 0.0416666666, -0.0013888888, 0.0000248015, -0.0000002755)


def _wave(series: tuple[float, ...], *, odd: bool) -> Callable[..., Float]:
    """Return a function of x / pi's distance from the nearest integer; an odd integer negates."""

    def computed(k: Kernel, mode: Mode, x: Float) -> Float:
        turns = 0.318309886183791 * x
        whole = turns.to_int16()
        angle = (turns - whole.to_float()) * 3.141592653589793
        power = angle if odd else angle * angle
        result = angle if odd else k.constant(1.0)
        for number, each in enumerate(series[: 3 if mode.approximate else 5]):
            if odd or number:
                power = power * angle * angle
            result = each * power + result
        result = k.copy(result)
        with k.where((whole & 1) != 0):
            result.assign(result * -1.0)
        return result

    return computed


APPROXIMATE = ("approximate",)
FUNCTIONS = (
    Function(name="abs", body=unary(lambda k, mode, x: abs(x))),
    Function(name="neg", body=unary(lambda k, mode, x: -x)),
    Function(name="neg_int32", body=_neg_int32_body, dst32=True),
    Function(name="square", body=unary(_square)),
    Function(name="sign", body=_sign_body),
    Function(name="fill", body=lambda k, mode, value: k.store(value), parameters={"value": 5.0}),
    Function(name="gelu", body=unary(_gelu), setup=_gelu_setup, forms=APPROXIMATE),
    Function(name="gelu_derivative", body=unary(_gelu_derivative), setup=_gelu_derivative_setup, forms=APPROXIMATE),
    Function(
        name="gelu_tanh",
        body=unary(_gelu_tanh),
        setup=reciprocal_setup,
        source="tt-metal 04154da, 03725f2",
    ),
    Function(name="erf", body=unary(partial(_erf, complement=False)), source="tt-metal 07368c4"),
    Function(name="erfc", body=unary(partial(_erf, complement=True)), source="tt-metal 07368c4"),
    Function(
        name="softplus",
        body=_softplus_body,
        parameters={"beta": 1.0, "threshold": 20.0},
        source="tt-metal 0273d5a",
    ),
    Function(name="relu", body=partial(_relu_min_body, minimum=0.0), source="tt-metal"),
    Function(name="relu_max", body=unary(_relu_max), parameters={"maximum": 5.0}),
    Function(name="relu_min", body=_relu_min_body, parameters={"minimum": 5.0}),
    Function(name="lrelu", body=_lrelu_body, parameters={"slope": 0.01}),
    Function(name="hardsigmoid", body=unary(_hardsigmoid), setup=lambda mode: codes(p0=0.1666666716337204, p1=0.5)),
    Function(name="hardtanh", body=unary(_hardtanh), parameters={"low": -1.0, "high": 1.0}),
    Function(name="clamp", body=unary(_clamp), parameters={"low": -1.0, "high": 1.0, "offset": 0.0}),
    Function(name="threshold", body=_threshold_body, parameters={"threshold": 5.0, "value": 10.0}),
    Function(name="sine", body=unary(_wave(SINE, odd=True)), forms=APPROXIMATE),
    Function(name="cosine", body=unary(_wave(COSINE, odd=False)), forms=APPROXIMATE),
    Function(name="stochastic_round", body=_stochastic_round_body, draws=True),
    Function(name="dropout", body=_dropout_body, parameters={"probability": 0.5, "scale": 2.0}, draws=True),
)
