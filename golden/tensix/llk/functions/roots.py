"""Square root and its reciprocal: an estimate from the halved bits, refined by polynomials.

Ref: tt-llk 36b092e, ckernel_sfpu_sqrt.h and _rsqrt.h.
"""

from collections.abc import Callable
from functools import partial

from bitpath.golden.tensix.llk.functions.function import P0, P1, P2, Function, Mode, codes, unary
from bitpath.golden.tensix.sfpu.kernel import Float, Kernel

INFINITY, NAN = float("inf"), float("nan")


def square_root(k: Kernel, mode: Mode, x: Float, *, inverse: bool = False) -> Float:
    """Return the square root, or its reciprocal if `inverse`; unrounded."""
    y = k.copy((k.register(P0).bits - (x.bits >> 1)).as_float)
    if mode.approximate:
        _refined_once(k, x, y, inverse)
    else:
        _refined_twice(k, x, y, inverse)
    if not mode.fast:
        with k.where(x < 0):
            y.assign(NAN)
    return y


def _refined_once(k: Kernel, x: Float, y: Float, inverse: bool) -> None:
    product = x * y
    infinity = k.constant(INFINITY)
    t = -y * product + k.register(P1)
    if inverse:
        left = infinity.bits - x.bits
        with k.where((left != 0) & (x.bits != 0)):
            y.assign(y * t)
            k.otherwise()
            y.assign(left.as_float)
    else:
        y.assign(product)
        with k.where(x.bits != infinity.bits):
            y.assign(y * t)


def _refined_twice(k: Kernel, x: Float, y: Float, inverse: bool) -> None:
    product = x * y
    c = -y * product
    infinity = k.constant(INFINITY)
    y.assign(y * (c * (c + k.register(P2)) + k.register(P1)))
    product = x * y
    error = -y * product + 1.0
    if inverse:
        half = y.scaled(-1)
        left = infinity.bits - x.bits
        with k.where((left != 0) & (x.bits != 0)):
            y.assign(error * half + y)
            k.otherwise()
            y.assign(left.as_float)
    else:
        half = 0.5 * product
        with k.where(x.bits < infinity.bits):
            y.assign(error * half + product)


def roots_setup(mode: Mode) -> dict[int, int]:
    """Return the constants of `square_root`."""
    if mode.approximate:
        return {P0: 0x5F0B3892} | codes(p1=1.89099014875)
    return {P0: 0x5F1110A0} | codes(p1=2.2825186, p2=2.2533049)


def _rounded(compute: Callable[..., Float]) -> Callable[..., Float]:
    def computed(k: Kernel, mode: Mode, x: Float) -> Float:
        y = compute(k, mode, x)
        return y if mode.dst32 else y.to_bf16()

    return computed


FORMS = ("approximate", "fast")
FUNCTIONS = (
    Function(name="sqrt", body=unary(_rounded(square_root)), setup=roots_setup, forms=FORMS),
    Function(name="rsqrt", body=unary(_rounded(partial(square_root, inverse=True))), setup=roots_setup, forms=FORMS),
)
