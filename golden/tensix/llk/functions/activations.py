"""Activations and other functions of one operand without an exponential, and sine and cosine.

Ref: tt-llk 36b092e, ckernel_sfpu_gelu.h, _cdf.h, _relu.h, _activations.h, _hardtanh.h, _clamp.h, _threshold.h, _fill.h, _abs.h,
_negative.h, _square.h, _sign.h, _dropout.h, _trigonometry.h, _rounding_ops.h.
"""

from collections.abc import Callable
from functools import partial

from bitpath.golden.tensix.llk.functions.exponential import exp_signed, reciprocal_setup
from bitpath.golden.tensix.llk.functions.function import P0, P1, Function, Mode, bf16, codes, horner, unary
from bitpath.golden.tensix.sfpu.kernel import Float, Kernel, fp32_code

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
    Function(name="square", body=unary(_square)),
    Function(name="sign", body=_sign_body),
    Function(name="fill", body=lambda k, mode, value: k.store(value), parameters={"value": 5.0}),
    Function(name="gelu", body=unary(_gelu), setup=_gelu_setup, forms=APPROXIMATE),
    Function(name="gelu_derivative", body=unary(_gelu_derivative), setup=_gelu_derivative_setup, forms=APPROXIMATE),
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
