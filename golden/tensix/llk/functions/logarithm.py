"""Logarithms, and the functions that end in one: log1p, asinh, acosh, atanh, power, x log y.

Ref: tt-llk 36b092e, ckernel_sfpu_log.h, _trigonometry.h, _binary.h; tt-metal, llk_sfpu, the file of log1p (055e692) and of its
logarithm (03934ab).
"""

from bitpath.golden.tensix.llk.functions.exponential import INFINITY, NAN, exp_signed, reciprocal, reciprocal_setup
from bitpath.golden.tensix.llk.functions.function import (
    P0,
    P1,
    P2,
    TILE_ROWS,
    Function,
    Mode,
    binary,
    codes,
    horner,
    unary,
)
from bitpath.golden.tensix.llk.functions.roots import roots_setup, square_root
from bitpath.golden.tensix.sfpu.kernel import Float, Integer, Kernel

LN2 = 0.692871
A, B, C, D = (float.fromhex(each) for each in ("0x2.44734p-4", "-0xd.e712ap-4", "0x2.4f5388p+0", "-0x1.952992p+0"))
"""Cubic of the natural logarithm on [1, 2), highest power first."""


def signed_exponent(k: Kernel, x: Float) -> Float:
    """Return the exponent of lanes as FP32."""
    return _to_float(k, k.copy_integer(x.exponent()))


def _to_float(k: Kernel, exponent: Integer) -> Float:
    with k.where(exponent < 0):
        exponent.assign((~exponent + 1).with_sign(1))
    return exponent.to_float()


def _cubic(k: Kernel, x: Float, constants: tuple[Float | float, ...], ln2: Float | float) -> Float:
    """Return the logarithm by a cubic of the mantissa and the exponent; -inf of +0."""
    a, b, c, d = constants
    mantissa = x.with_exponent(127)
    series = mantissa * (mantissa * (mantissa * a + b) + c) + d
    result = k.copy(signed_exponent(k, x) * ln2 + series)
    with k.where(x == 0):
        result.assign(-INFINITY)
    return result


def log_prepared(k: Kernel, x: Float) -> Float:
    """Return the logarithm with the constants of `log_setup`."""
    return _cubic(k, x, (k.register(P1), k.register(P2), 2.0871, -1.4753), k.register(P0))


def log_literal(k: Kernel, x: Float) -> Float:
    """Return the logarithm without prepared constants."""
    return _cubic(k, x, (A, B, C, D), LN2)


def log_setup(mode: Mode) -> dict[int, int]:
    """Return the constants of `log_prepared`."""
    return codes(p0=LN2, p1=0.1058, p2=-0.7166)


def _log1p(k: Kernel, mode: Mode, x: Float) -> Float:
    return _log1p_fp32(k, mode, x) if mode.dst32 else _log1p_bf16(k, x)


def _log1p_bf16(k: Kernel, x: Float) -> Float:
    result = k.copy(x)
    with k.where(abs(x) >= 0.0078125):
        result.assign(_log_near(k, x + 1.0))
    return result.to_bf16()


def _log_near(k: Kernel, x: Float) -> Float:
    """Return the logarithm by a cubic of the mantissa in [0.75, 1.5)."""
    exponent = (x.bits - k.constant(0.75).bits).as_float.with_mantissa(0).bits
    x = k.copy(x * 1.0 + 0.0)
    m = (x.bits - exponent).as_float - 1.0
    result = k.copy(NAN)
    with k.where(x >= 0):
        series = horner(m, k.register(P2), k.register(P1), -0.25)
        magnitude = exponent.magnitude().to_float()
        x.assign(x.scaled(-1))
        series = series * (m * m) + m
        result.assign(magnitude.with_sign(exponent) * k.register(P0) + series)
        with k.where(x.exponent(biased=True) >= 255):
            result.assign(result * x)
    return result


def _log1p_fp32(k: Kernel, mode: Mode, x: Float) -> Float:
    result = k.copy(0.0)
    exponent = k.copy_integer(x.exponent())
    with k.where(x.bits == 0x7F800000):
        result.assign(INFINITY)
        k.otherwise()
        with k.where((exponent == 128) | (x < -1.0)):
            result.assign(NAN)
            k.otherwise()
            with k.where(x == -1.0):
                result.assign(-INFINITY)
                k.otherwise()
                with k.where(abs(x) < 0.3):
                    result.assign(horner(x, 0.0, 1.0, *LOG1P_SERIES))
                    k.otherwise()
                    _log1p_far(k, mode, x, exponent, result)
    return result


ROOT_2, LOG_2 = 1.4142135381698608, 0.69314718246459961
LOG1P_SERIES = (
    -0.4999997317790985107421875,
    0.333332836627960205078125,
    -0.250040113925933837890625,
    0.20005328953266143798828125,
    -0.1650786101818084716796875,
    0.14109231531620025634765625,
    -0.14774705469608306884765625,
    0.133655369281768798828125,
)
"""Coefficients of log(1 + x) from x**2 on, for |x| < 0.3."""


def _log1p_far(k: Kernel, mode: Mode, x: Float, exponent: Integer, result: Float) -> None:
    moved = 1.0 + x
    exponent.assign(moved.exponent())
    m = k.copy(moved.with_exponent(127))
    with k.where(m >= (k.register(P1) if mode.blackhole else ROOT_2)):
        m.assign(m * 0.5)
        exponent.assign(exponent + 1)
    z = (m - k.register(10)) * reciprocal(k, mode, m + 1.0, 2)
    series = horner(z * z, 1.0, 1 / 3, 0.2, 1 / 7, 1 / 9, 1 / 11)
    near = (z * series) * 2.0
    result.assign(_to_float(k, exponent) * (k.register(P2) if mode.blackhole else LOG_2) + near)


def _log1p_setup(mode: Mode) -> dict[int, int]:
    if mode.dst32:
        # Wormhole's reciprocal needs all three constants.
        return reciprocal_setup(mode) | (codes(p1=ROOT_2, p2=LOG_2) if mode.blackhole else {})
    cubic = (float.fromhex("0x1.744p-2"), float.fromhex("-0x1.008p-1"))
    return codes(p0=0.693147182 * 1.1920929e-7, p1=cubic[0], p2=cubic[1])


def _asinh_body(k: Kernel, mode: Mode) -> None:
    x = k.load()
    k.store(log_literal(k, square_root(k, mode, x * x + 1.0) + abs(x)))
    with k.where(x < 0):
        k.store(-k.load())


def _acosh_body(k: Kernel, mode: Mode) -> None:
    x, one = k.load(), k.register(10)
    with k.where(x < one):
        k.store(NAN)
        k.otherwise()
        with k.where(x == one):
            k.store(0.0)
            k.otherwise()
            k.store(log_literal(k, square_root(k, mode, x * x - one) + x))


def _atanh_body(k: Kernel, mode: Mode) -> None:
    x, one = k.load(), k.register(10)
    magnitude = abs(x)
    with k.where(magnitude > one):
        k.store(NAN)
        k.otherwise()
        with k.where(magnitude == one):
            k.store(k.constant(INFINITY).with_sign(x))
            k.otherwise()
            below = one - x
            inverse = reciprocal(k, mode, below, 0 if mode.approximate else 2).with_sign(below)
            if not (mode.dst32 or mode.approximate):
                inverse = inverse.to_bf16()
            k.store(0.5 * log_literal(k, (x + one) * inverse))


def _power(k: Kernel, mode: Mode, base: Float, power: Float) -> Float:
    magnitude, whole = k.copy(base), power.to_int16().to_float()
    with k.where(whole == power):
        magnitude.assign(magnitude.with_sign(0))
    result = exp_signed(k, mode, power * log_literal(k, magnitude))
    with k.where(base < 0), k.where(whole == power):
        half = whole * 0.5
        with k.where(half != half.to_int16().to_float()):
            result.assign(result.with_sign(1))
        k.otherwise()
        result.assign(NAN)
    return result


def _xlogy_body(k: Kernel, mode: Mode) -> None:
    left, right, result = k.load(), k.load(TILE_ROWS), k.copy(0.0)
    with k.where((right < 0) | (right == NAN)):
        result.assign(NAN)
        k.otherwise()
        k.store(right)
        k.store(log_prepared(k, k.load()))
        result.assign(k.load() * left)
    k.store(result)


FUNCTIONS = (
    Function(name="log", body=unary(lambda k, mode, x: log_prepared(k, x)), setup=log_setup),
    Function(name="log1p", body=unary(_log1p), setup=_log1p_setup, source="tt-metal 055e692, 03934ab"),
    Function(name="asinh", body=_asinh_body, setup=roots_setup, forms=("approximate",)),
    Function(name="acosh", body=_acosh_body, setup=roots_setup, forms=("approximate",)),
    Function(name="atanh", body=_atanh_body, setup=reciprocal_setup, forms=("approximate",)),
    Function(name="power", body=binary(_power), setup=reciprocal_setup, operands=2),
    Function(name="xlogy", body=_xlogy_body, setup=log_setup, operands=2),
)
