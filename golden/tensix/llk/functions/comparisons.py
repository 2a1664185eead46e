"""Comparisons with 0 or a number and tests of a float's class, 1 or 0 for each datum; rounding to integers.

Ref: tt-llk 36b092e, ckernel_sfpu_comp.h, _isinf_isnan.h, _rounding_ops.h.
"""

from collections.abc import Callable
from functools import partial

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.tensix.llk.functions.function import Function, Mode, unary
from bitpath.golden.tensix.sfpu.kernel import Condition, Float, Integer, Kernel

INT32 = 4
"""Load and store mode."""


def _flag(test: Callable[..., Condition], *, of_true: float = 1.0) -> Callable[..., None]:
    """Return the body of a test, which gives one number where it holds and the other elsewhere."""

    def computed(k: Kernel, mode: Mode, x: Float, **parameters: float) -> Float:
        result = k.copy(0.0)
        with k.where(test(x, **parameters)):
            result.assign(of_true)
            k.otherwise()
            result.assign(1.0 - of_true)
        return result

    return unary(computed)


def _integer_flag(test: Callable[[Integer], Condition]) -> Callable[..., None]:
    """Return the body of a test of an integer of 32 bits: 1 where it holds, 0 elsewhere."""

    def body(k: Kernel, mode: Mode) -> None:
        x, result = k.load(mode=INT32).bits, k.copy_integer(0)
        with k.where(test(x)):
            result.assign(1)
        k.store(result, mode=INT32)

    return body


ORDERS: dict[str, Callable[[Integer, int], Condition]] = {
    "eq": lambda x, value: x == value,
    "ne": lambda x, value: x != value,
    "gt": lambda x, value: x > value,
    "lt": lambda x, value: x < value,
    "ge": lambda x, value: x >= value,
    "le": lambda x, value: x <= value,
}
MIRRORED = {"eq": "eq", "ne": "ne", "gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}


def _ordered_body(k: Kernel, mode: Mode, *, value: int, order: str) -> None:
    """Compare integers that have the number's sign: by their difference, or by their magnitudes below 0 on Wormhole."""
    value = integer("value", value, range(1 - (1 << 31), 1 << 31))
    x, result, below = k.load(mode=INT32), k.copy_integer(0), value < 0
    with k.where(x.bits < 0 if below else x.bits >= 0):
        if below and not mode.blackhole:
            holds = ORDERS[MIRRORED[order]](x.with_sign(0).bits, -value)
        else:
            holds = ORDERS[order](x.bits, value)
        with k.where(holds):
            result.assign(1)
        if order in ("ne", *(("gt", "ge") if below else ("lt", "le"))):
            k.otherwise()
            result.assign(1)
    k.store(result, mode=INT32)


COMPARISONS: dict[str, tuple[Callable[[Float], Condition], float]] = {
    "equal_zero": (lambda x: x == 0, 1.0),
    "not_equal_zero": (lambda x: x == 0, 0.0),
    "less_than_zero": (lambda x: x >= 0, 0.0),
    "greater_than_equal_zero": (lambda x: x >= 0, 1.0),
    "greater_than_zero": (lambda x: x > 0, 1.0),
    "less_than_equal_zero": (lambda x: x > 0, 0.0),
    "isinf": (lambda x: (x.exponent() == 128) & (x.mantissa() == 0), 1.0),
    "isnan": (lambda x: (x.exponent() == 128) & (x.mantissa() != 0), 1.0),
    "isposinf": (lambda x: (x.bits >= 0) & (x.exponent() == 128) & (x.mantissa() == 0), 1.0),
    "isneginf": (lambda x: (x.bits < 0) & (x.exponent() == 128) & (x.mantissa() == 0), 1.0),
    "isfinite": (lambda x: x.exponent() == 128, 0.0),
}

WITH_NUMBER: dict[str, tuple[Callable[..., Condition], float]] = {
    "unary_eq": (lambda x, value: x == value, 1.0),
    "unary_ne": (lambda x, value: x == value, 0.0),
    "unary_gt": (lambda x, value: x > value, 1.0),
    "unary_lt": (lambda x, value: x < value, 1.0),
    "unary_ge": (lambda x, value: x >= value, 1.0),
    "unary_le": (lambda x, value: x <= value, 1.0),
}
OF_INTEGERS: dict[str, Callable[[Integer], Condition]] = {
    "equal_zero_int32": lambda x: x == 0,
    "not_equal_zero_int32": lambda x: x != 0,
    "less_than_zero_int32": lambda x: x < 0,
    "greater_than_zero_int32": lambda x: x > 0,
    "less_than_equal_zero_int32": lambda x: x <= 0,
    "greater_than_equal_zero_int32": lambda x: x >= 0,
}

TRUNC = """SFPLOAD vd=0, modifier={m}
SFPLOADI vd=3, mod=4, imm=23
SFPLOADI vd=1, imm=0x8000
SFPEXEXP vc=0, vd=2, mod=10
SFPLOADI vd=1, mod=4, imm=0xffff
SFPIADD vc=3, vd=2, mod=10
SFPSHFT2 imm=1, vc=2, vd=1, mod=5
SFPENCC
SFPAND vc=0, vd=1
"""
"""LReg 1 is LReg 0 without the bits below 1."""


def _rounded(after: Callable[[Mode], str]) -> Callable[..., None]:
    def body(k: Kernel, mode: Mode) -> None:
        k.text(f"{TRUNC}{after(mode)}\nSFPSTORE vd=1, modifier={{m}}")

    return body


def _floor(mode: Mode) -> str:
    test = "SFPGT vc=0, vd=1, mod=1" if mode.blackhole else "SFPSETCC vc=0\nSFPIADD vc=1, vd=0, mod=2"
    return f"{test}\nSFPMAD va=10, vb=1, vc=11, vd=1\nSFPENCC"


def _ceil(mode: Mode) -> str:
    test = "SFPGT vc=1, vd=0, mod=1" if mode.blackhole else "SFPSETCC vc=0, mod=4\nSFPIADD vc=1, vd=0, mod=2"
    return f"{test}\nSFPMAD va=10, vb=1, vc=10, vd=1\nSFPENCC"


def _round(k: Kernel, mode: Mode, x: Float, *, decimals: int) -> Float:
    decimals = integer("decimals", decimals, range(-37, 38))
    v = k.copy(x * 10.0**decimals)
    shifted = v.with_sign(0) + 8388608.0
    exponent = v.exponent()
    shifted = shifted - 8388608.0
    with k.where(exponent < 23):
        v.assign(shifted.with_sign(v))
    return v * 10.0**-decimals


FUNCTIONS = (
    *(Function(name=name, body=_flag(test, of_true=one)) for name, (test, one) in COMPARISONS.items()),
    *(
        Function(name=name, body=_flag(test, of_true=one), parameters={"value": 1.0})
        for name, (test, one) in WITH_NUMBER.items()
    ),
    *(
        Function(
            name=f"unary_{order}_int32", body=partial(_ordered_body, order=order), dst32=True, parameters={"value": 1}
        )
        for order in ORDERS
    ),
    *(Function(name=name, body=_integer_flag(test), dst32=True) for name, test in OF_INTEGERS.items()),
    Function(name="trunc", body=_rounded(lambda mode: "")),
    Function(name="floor", body=_rounded(_floor)),
    Function(name="ceil", body=_rounded(_ceil)),
    Function(name="frac", body=_rounded(lambda mode: "SFPMAD va=1, vb=11, vc=0, vd=1")),
    Function(name="round", body=unary(_round), parameters={"decimals": 0}),
)
