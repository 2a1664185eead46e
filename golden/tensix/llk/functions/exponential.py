"""Exponentials, the reciprocal, and functions of both: sigmoid, SiLU, tanh, ELU, CELU.

The modern exponential on a 16-bit Dst cuts ``x / ln 2 + 127`` into exponent and fraction of 2**x and corrects the fraction
with a parabola (Moroz et al. 2022, exp_21f); on a 32-bit Dst it reduces by ln 2 in two parts and takes a polynomial of degree 7.

Ref: tt-llk 36b092e, ckernel_sfpu_exp.h, _recip.h, _silu.h, _sigmoid.h, _tanh.h, _elu.h, _activations.h; tt-metal, llk_sfpu, the
files of sigmoid (00b0fa3), tanh (03725f2) and SiLU (015056e).
"""

from typing import Any

from bitpath.golden.tensix.llk.functions.function import P0, P1, P2, Function, Mode, bf16, codes, horner, unary
from bitpath.golden.tensix.sfpu.kernel import Float, Integer, Kernel

INFINITY, NAN = float("inf"), float("nan")
INVERSE_LN2 = 1.4426950216293334961
MAGIC = 12582912.0
"""2**23 + 2**22: a sum with it rounds to an integer."""


def reciprocal(k: Kernel, mode: Mode, x: Float, steps: int) -> Float:
    """Return 1 / x after Newton steps; Wormhole starts from a parabola, Blackhole from SFPARECIP."""
    return _reciprocal_blackhole(k, x, steps) if mode.blackhole else _reciprocal_wormhole(k, x, steps)


def _reciprocal_blackhole(k: Kernel, x: Float, steps: int) -> Float:
    y = k.copy(x.reciprocal())
    if steps == 0:
        return y
    zero, two = k.register(9), k.register(P0)
    t = k.copy(x * y - two)
    if steps == 1:
        with k.where(t < 0):
            y.assign(k.multiply_add(y, t, zero, 3))
        return y
    better = k.multiply_add(y, t, zero, 3)
    with k.where(t < 0):
        t.assign(x * better - two)
        y.assign(k.multiply_add(better, t, zero, 3))
    return y


def _reciprocal_wormhole(k: Kernel, x: Float, steps: int) -> Float:
    minus_x = k.register(11).with_mantissa(x)
    y = minus_x * k.register(P0) + k.register(P1)
    inverted = ~x.bits
    y = y * minus_x + k.register(P2)
    scale = inverted.as_float.with_mantissa(0)
    t = minus_x * y + 1.0
    scale = scale * 0.5
    y = y * t + y
    if steps > 1:
        t = minus_x * y + 1.0
        y = y * t + y
    return (y * scale).with_sign(x)


def reciprocal_setup(mode: Mode, **_: Any) -> dict[int, int]:
    """Return the constants of `reciprocal`."""
    if mode.blackhole:
        return codes(p0=2.0)
    return codes(p0=0.3232325017452239990234375, p1=1.4545459747314453125, p2=2.121212482452392578125)


def _reciprocal_body(k: Kernel, mode: Mode) -> None:
    if not mode.blackhole:
        y = reciprocal(k, mode, k.load(), 0 if mode.approximate else 2 if mode.dst32 else 1)
        k.store(y if mode.approximate or mode.dst32 else y.to_bf16())
    elif mode.approximate:
        k.store(k.load().reciprocal())
    elif mode.dst32:
        k.text(
            """SFPLOAD vd=0, modifier={m}
            SFPARECIP vc=0, vd=1
            SFPMAD va=0, vb=1, vc=10, vd=2, mod=1
            SFPMAD va=2, vb=2, vc=2, vd=3
            SFPMAD va=3, vb=2, vc=2, vd=3
            SFPSWAP vc=10, vd=3, mod=1
            SFPMAD va=3, vb=1, vc=1, vd=0
            SFPSTORE vd=0, modifier={m}"""
        )
    else:
        # The sign of the error corrects the lowest bit of BF16.
        k.text(
            """SFPLOADI vd=2, mod=2, imm=0x8000
            SFPLOAD vd=0, modifier={m}
            SFPMAD va=9, vb=9, vc=0, vd=1
            SFPARECIP vc=0, vd=0
            SFPOR vc=2, vd=0
            SFPMAD va=1, vb=0, vc=11, vd=1
            SFPSHFT imm=0xff0, vc=1, vd=1, mod=5
            SFPIADD vc=1, vd=0, mod=4
            SFPSTORE vd=0, modifier={m}"""
        )


def _reciprocal_constants(mode: Mode, **_: Any) -> dict[int, int]:
    return {} if mode.blackhole else reciprocal_setup(mode)


def exp_21f(k: Kernel, x: Float) -> Float:
    """Return e**x with the accuracy of BF16, unrounded."""
    scaled = k.copy(x * INVERSE_LN2 + 127.0)
    low, high = k.copy(0.0), k.copy(255.0)
    k.min_max(low, scaled)
    k.min_max(scaled, high)
    z = (scaled.mantissa(implicit=True) << scaled.exponent()).as_float
    exponent, fraction = z.exponent(biased=True), z.mantissa().to_float()
    return horner(fraction, 1.0017248, 7.839635491371155e-08, 4.791750143340323e-15).with_exponent(exponent)


def exp_fp32(k: Kernel, x: Float) -> Float:
    """Return e**x with the accuracy of FP32."""
    result = k.copy(0.0)
    z = x * 1.4426950408889634
    exponent = z.exponent()
    with k.where(z >= 128.0):
        result.assign(INFINITY)
        k.otherwise()
        with k.where(z <= -127.0):
            result.assign(0.0)
            k.otherwise()
            with k.where(exponent == 255):
                result.assign(NAN)
                k.otherwise()
                rest, power = reduced(k, x, z)
                series = horner(rest, 1.0, 1.0, 0.5, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040)
                result.assign(series.with_exponent(series.exponent(biased=True) + power))
    return result


def reduced(k: Kernel, x: Float, z: Float) -> tuple[Float, Integer]:
    """Return x less the multiple of ln 2 nearest to it, and the factor; z is x / ln 2."""
    magic = k.constant(MAGIC)
    shifted = z + magic
    rounded = shifted - magic
    power = shifted.bits - magic.bits
    high = rounded * -0.6931152343750000 + x
    return rounded * -3.19461832987e-05 + high, power


def exp_modern(k: Kernel, mode: Mode, x: Float) -> Float:
    """Return e**x with the accuracy of Dst, unrounded."""
    return exp_fp32(k, x) if mode.dst32 else exp_21f(k, x)


def exp_series(k: Kernel, x: Float) -> Float:
    """Return e**x of x >= 0: a parabola below 1, squared once for each power of 2 above."""
    x = k.copy(x)
    exponent = k.copy_integer(x.exponent())
    with k.where(exponent >= 0):
        x.assign(x.with_exponent(126))
    inner = x * k.register(8) + bf16(0.863281)
    x.assign(x * inner + 1.0)
    with k.where(exponent >= 0):
        x.assign(x * x)
        for _ in range(7):
            exponent.assign(exponent - 1)
            k.narrow(exponent >= 0)
            x.assign(x * x)
    return x


def exp_signed(k: Kernel, mode: Mode, x: Float) -> Float:
    """Return e**x, of a negative x as the reciprocal."""
    result = k.copy(exp_series(k, x.with_sign(0)))
    with k.where(x < 0):
        result.assign(reciprocal(k, mode, result, 2))
    return result


def _exp_short(k: Kernel, x: Float) -> Float:
    """Return e**x by way of a fixed-point number whose bits become exponent and mantissa."""
    return ((k.register(P2).bits + (x * k.register(P0) + k.register(P1)).bits) << 7).as_float


def _exponential_body(k: Kernel, mode: Mode, *, clamp: bool) -> None:
    if mode.fast and clamp:
        k.text(
            """SFPLOAD vd=0, modifier={m}
            SFPSWAP vc=14, vd=0, mod=9
            SFPMAD va=12, vb=0, vc=13, vd=0
            SFP_STOCH_RND vc=0, vd=0, mod=6
            SFPSHFT imm=15, vc=0, vd=0, mod=1
            SFPSTORE vd=0, modifier={m}"""
        )
    elif mode.fast:
        k.text(
            """SFPLOAD vd=0, modifier={m}
            SFPMAD va=12, vb=0, vc=13, vd=0
            SFP_STOCH_RND vc=0, vd=0, mod=7
            SFPSHFT2 imm=0, vc=14, vd=1, mod=5
            SFPSETSGN vc=1, vd=0
            SFPSTORE vd=0, modifier={m}"""
        )
    else:
        x = k.load()
        if not mode.approximate:
            k.store(exp_signed(k, mode, x))
            return
        result = k.copy(0.0)
        with k.where(x >= 89.0):
            result.assign(INFINITY)
            k.otherwise()
            with k.where(x < -42.0):
                result.assign(0.0)
                k.otherwise()
                result.assign(_exp_short(k, x))
        k.store(result)


def _exponential_setup(mode: Mode, *, clamp: bool) -> dict[int, int]:
    if mode.fast:
        last = {P2: 0xC2B10000} if clamp else {P2: 15}
        return {P0: 0x43B8AA3B, P1: 0x46FDE9A3} | last
    if mode.approximate:
        return codes(p0=1.442695) | {P1: 0x43400000, P2: 0xBD3F0000}
    return reciprocal_setup(mode)


def _exp(k: Kernel, mode: Mode, x: Float) -> Float:
    y = exp_modern(k, mode, x)
    return y if mode.dst32 else y.to_bf16()


def _exp2(k: Kernel, mode: Mode, x: Float) -> Float:
    return _exp(k, mode, x * k.register(P0))


def sigmoid(k: Kernel, mode: Mode, x: Float) -> Float:
    """Return 1 / (1 + e**-x), unrounded."""
    return reciprocal(k, mode, 1.0 + exp_modern(k, mode, -x), 2 if mode.dst32 else 1)


SIGMOID_TABLE = {0: 0x32F433D9, 1: 0x300A318A, 2: 0x7C002A35, 4: 0x23C89018, 5: 0x30272BAA, 6: 0x37FF34CC}
"""Six lines for |x| up to 0.5, 1, 1.5, 2, 4 and above, less 0.5."""


def _sigmoid(k: Kernel, mode: Mode, x: Float) -> Float:
    if mode.approximate:
        return k.lut_fp32(x, 7) + 0.5
    y = sigmoid(k, mode, x)
    return y if mode.dst32 else y.to_bf16()


def _sigmoid_setup(mode: Mode) -> dict[int, int]:
    return SIGMOID_TABLE if mode.approximate else reciprocal_setup(mode)


def _silu(k: Kernel, mode: Mode, x: Float) -> Float:
    if not mode.approximate:
        y = x * sigmoid(k, mode, x)
        return y if mode.dst32 else y.to_bf16()
    magnitude, result = abs(x), k.copy(1.0)
    with k.where(magnitude <= 1.0):
        result.assign(magnitude * 0.229 + 0.5)
        k.otherwise()
        with k.where(magnitude < 5.0):
            result.assign(horner(magnitude, 0.50437757, 0.24300185, -0.01203685, -0.01055479, 0.00144462))
    with k.where(x < 0):
        result.assign(1.0 - result)
    return x * result


def _silu_setup(mode: Mode) -> dict[int, int]:
    return {} if mode.approximate else reciprocal_setup(mode)


TANH_TABLE = {0: 0x1DFF, 1: 0x481A, 2: 0xFF00}
"""0.90625 x, 0.09375 x + 0.8125, 1."""


def _tanh(k: Kernel, mode: Mode, x: Float) -> Float:
    if mode.approximate:
        return k.lut(x)
    if not mode.dst32:
        p2, p1, p0 = k.register(P2), k.register(P1), k.register(P0)
        y = k.copy(
            horner(abs(x), 0.0, 0.999004364013671875, 3.0897438526153564453125e-2, -0.4890659749507904, p2, p1, p0)
        )
        one = k.copy(1.0)
        k.min_max(y, one)
        return y.with_sign(x).to_bf16()
    return tanh_fp32(k, mode, x)


def tanh_fp32(k: Kernel, mode: Mode, x: Float) -> Float:
    """Return tanh with the accuracy of FP32, by a polynomial below 0.6 and by the mode's sigmoid above."""
    result, magnitude = k.copy(0.0), abs(x)
    with k.where(magnitude < 0.6):
        square = x * x
        series = (
            0.999999940395355224609375,
            -0.33332359790802001953125,
            0.13310669362545013427734375,
            -5.21197654306888580322265625e-2,
            1.5497927553951740264892578125e-2,
        )
        result.assign(x * horner(square, *series))
        k.otherwise()
        result.assign(sigmoid(k, mode, 2.0 * x) * 2.0 - 1.0)
    return result


def _tanh_setup(mode: Mode) -> dict[int, int]:
    if mode.approximate:
        return TANH_TABLE
    if mode.dst32:
        return reciprocal_setup(mode)
    return codes(p0=5.876733921468257904052734375e-3, p1=-6.6649019718170166015625e-2, p2=0.281917631626129150390625)


def _tanh_derivative(k: Kernel, mode: Mode, x: Float, *, of_tanh: bool) -> Float:
    y = x if of_tanh else k.lut(x)
    return y * -y + 1.0


def _elu_body(k: Kernel, mode: Mode, *, alpha: float) -> None:
    x = k.load()
    with k.where(x < 0):
        result = alpha * (exp_21f(k, x) - 1.0)
        k.store(result if mode.dst32 else result.to_bf16())


def _celu(k: Kernel, mode: Mode, x: Float, *, alpha: float) -> Float:
    x = k.copy(x)
    with k.where(x < 0):
        x.assign(alpha * (exp_signed(k, mode, x * (1.0 / alpha)) - 1.0))
    return x


FUNCTIONS = (
    Function(name="reciprocal", body=_reciprocal_body, setup=_reciprocal_constants, forms=("approximate",)),
    Function(name="exp", body=unary(_exp), source="tt-llk 36b092e, tt-metal"),
    Function(
        name="exponential",
        body=_exponential_body,
        setup=_exponential_setup,
        parameters={"clamp": True},
        forms=("approximate", "fast"),
    ),
    Function(name="exp2", body=unary(_exp2), setup=lambda mode: codes(p0=0.6931471805)),
    Function(
        name="sigmoid", body=unary(_sigmoid), setup=_sigmoid_setup, forms=("approximate",), source="tt-metal 00b0fa3"
    ),
    Function(name="silu", body=unary(_silu), setup=_silu_setup, forms=("approximate",), source="tt-metal 015056e"),
    Function(name="tanh", body=unary(_tanh), setup=_tanh_setup, forms=("approximate",), source="tt-metal 03725f2"),
    Function(
        name="tanh_derivative",
        body=unary(_tanh_derivative),
        setup=lambda mode, of_tanh: {} if of_tanh else TANH_TABLE,
        parameters={"of_tanh": False},
    ),
    Function(name="elu", body=_elu_body, parameters={"alpha": 1.0}),
    Function(
        name="celu",
        body=unary(_celu),
        setup=lambda mode, alpha: reciprocal_setup(mode),
        parameters={"alpha": 1.0},
    ),
)
