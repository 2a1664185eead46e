"""Functions of two and three operands, of floats and of integers of 32 bits.

Ref: tt-llk 36b092e, ckernel_sfpu_binary.h, _where.h, _binary_bitwise.h, _shift.h, _add_int.h, _sub_int.h, _mul_int.h,
_add_top_row.h;
tt-metal, llk_sfpu, the files of the minimum and maximum (12e6b04) and of addcmul (2b02a2c).
"""

from collections.abc import Callable

from bitpath.golden.tensix.llk.functions.exponential import reciprocal, reciprocal_setup
from bitpath.golden.tensix.llk.functions.function import P0, P1, TILE_ROWS, Function, Mode, binary
from bitpath.golden.tensix.sfpu.kernel import Float, Kernel, fp32_code

FP32, INT32, LOW = 3, 4, 6
"""Load and store modes; LOW is of 16 bits, zero-extended."""


def _divide(k: Kernel, mode: Mode, left: Float, right: Float) -> Float:
    return left * reciprocal(k, mode, right, 2)


def _extreme(k: Kernel, mode: Mode, left: Float, right: Float, *, largest: bool) -> Float:
    low, high = k.copy(left), k.copy(right)
    k.min_max(low, high)
    return high if largest else low


def _where_body(k: Kernel, mode: Mode) -> None:
    load = INT32 if mode.dst32 else LOW
    k.text(
        f"""SFPLOAD vd=0, mod={load}, modifier={{m}}
        SFPLOAD vd=1, mod={load}, modifier={{m}}, address={TILE_ROWS}
        SFPSETCC vc=0, mod=6
        SFPLOAD vd=1, mod={load}, modifier={{m}}, address={2 * TILE_ROWS}
        SFPENCC
        SFPSTORE vd=1, mod={load}, modifier={{m}}"""
    )


def _addcmul_body(k: Kernel, mode: Mode, *, value: float) -> None:
    load = FP32 if mode.dst32 else 0
    rounding = "" if mode.dst32 else "SFP_STOCH_RND vc=5, vd=5, mod=1"
    k.text(
        f"""SFPLOAD vd=1, mod={load}, modifier={{m}}, address={TILE_ROWS}
        SFPMUL va=1, vb=3, vc=9, vd=4
        SFPLOAD vd=0, mod={load}, modifier={{m}}
        SFPLOAD vd=2, mod={load}, modifier={{m}}, address={2 * TILE_ROWS}
        SFPMAD va=2, vb=4, vc=0, vd=5
        SFPNOP
        {rounding}
        SFPSTORE vd=5, mod={load}, modifier={{m}}"""
    )


def _add_top_row_body(k: Kernel, mode: Mode) -> None:
    places = [face + half for face in (0, 16) for half in (0, 2)]
    load = f"mod={FP32}, modifier={{m}}"
    k.text("".join(f"SFPLOAD vd={i}, {load}, address={place}\n" for i, place in enumerate(places)))
    k.text("".join(f"SFPLOAD vd={i}, {load}, address={TILE_ROWS + place}\n" for i, place in enumerate(places, 4)))
    k.text("".join(f"SFPADD va={i}, vb=10, vc={i + 4}, vd={i}\n" for i in range(4)))
    k.text("".join(f"SFPSTORE vd={i}, {load}, address={place}\n" for i, place in enumerate(places)))


def _mul_uint16_body(k: Kernel, mode: Mode) -> None:
    load = f"mod={LOW}, modifier={{m}}"
    if mode.blackhole:
        product = "SFPMUL24 va=0, vb=1, vc=9, vd=0"
    else:
        # The upper and the lower bytes as FP32, whose products are exact; the product of the upper ones is above 16 bits.
        product = """SFPSHFT2 imm=0, vc=13, vd=2, mod=5
        SFPCAST vc=2, vd=2
        SFPAND vc=12, vd=0
        SFPCAST vc=0, vd=0
        SFPSHFT2 imm=1, vc=13, vd=3, mod=5
        SFPCAST vc=3, vd=3
        SFPAND vc=12, vd=1
        SFPCAST vc=1, vd=1
        SFPMAD va=0, vb=3, vc=9, vd=3
        SFPMAD va=0, vb=1, vc=9, vd=0
        SFPMAD va=2, vb=1, vc=9, vd=2
        SFP_STOCH_RND vc=0, vd=0, mod=6
        SFP_STOCH_RND vc=2, vd=2, mod=6
        SFP_STOCH_RND vc=3, vd=3, mod=6
        SFPIADD vc=3, vd=2, mod=4
        SFPSHFT imm=8, vd=2, mod=1
        SFPIADD vc=2, vd=0, mod=4"""
    k.text(f"SFPLOAD vd=0, {load}\nSFPLOAD vd=1, {load}, address={TILE_ROWS}\n{product}\nSFPSTORE vd=0, {load}")


def _mul_uint16_setup(mode: Mode) -> dict[int, int]:
    return {} if mode.blackhole else {P0: 0xFF, P1: -8 & 0xFFFFFFFF}


def _integers(lines: str) -> Callable[..., None]:
    """Return the body that loads two integers to LReg 0 and 1, runs lines, and stores LReg 0."""

    def body(k: Kernel, mode: Mode) -> None:
        loads = "".join(
            f"SFPLOAD vd={each}, mod={INT32}, modifier={{m}}, address={each * TILE_ROWS}\n" for each in (0, 1)
        )
        k.text(f"{loads}{lines}\nSFPSTORE vd=0, mod={INT32}, modifier={{m}}")

    return body


SHIFT_BOUNDS = """SFPSETCC vc=1, mod=4
SFPIADD imm=0xfe0, vc=1, vd=2, mod=1
SFPCOMPC
SFPMOV vc=9, vd=0
SFPENCC"""
"""LReg 0 becomes 0 where the distance is not 0 to 31."""
SORT = """SFPSWAP vc=1, vd=0, mod=1
SFPSETCC vc=0
SFPSETCC vc=1
SFPSWAP vc=1, vd=0
SFPENCC"""
"""LReg 0 is the minimum and LReg 1 the maximum: in order of sign and magnitude, exchanged where both are negative."""
NEGATED = "SFPIADD vc=9, vd=1, mod=6"

INTEGERS = {
    "add_int32": "SFPIADD vc=1, vd=0, mod=4",
    "sub_int32": "SFPIADD vc=0, vd=1, mod=6\nSFPMOV vc=1, vd=0",
    "bitwise_and": "SFPAND vc=1, vd=0",
    "bitwise_or": "SFPOR vc=1, vd=0",
    "bitwise_xor": "SFPXOR vc=1, vd=0",
    "left_shift": f"{SHIFT_BOUNDS}\nSFPSHFT vc=1, vd=0",
    "logical_right_shift": f"{SHIFT_BOUNDS}\n{NEGATED}\nSFPSHFT vc=1, vd=0",
    "right_shift": f"""SFPMOV vc=0, vd=4
SFPSETCC vc=1, mod=4
SFPIADD imm=0xfe0, vc=1, vd=2, mod=9
SFPMOV vc=9, vd=0
SFPENCC
{NEGATED}
SFPSHFT vc=1, vd=0
SFPSETCC vc=4
SFPSETCC vc=1, mod=2
SFPIADD imm=0x20, vc=1, vd=2, mod=5
SFPNOT vc=9, vd=3
SFPSHFT vc=2, vd=3
SFPOR vc=3, vd=0
SFPENCC""",
    "max_int32": f"{SORT}\nSFPMOV vc=1, vd=0",
    "min_int32": SORT,
}

FUNCTIONS = (
    Function(name="add", body=binary(lambda k, mode, a, b: a + b), operands=2),
    Function(name="sub", body=binary(lambda k, mode, a, b: a - b), operands=2),
    Function(name="rsub", body=binary(lambda k, mode, a, b: b - a), operands=2),
    Function(name="mul", body=binary(lambda k, mode, a, b: a * b), operands=2),
    Function(name="div", body=binary(_divide), setup=reciprocal_setup, operands=2),
    Function(
        name="max",
        body=binary(lambda k, mode, a, b: _extreme(k, mode, a, b, largest=True)),
        operands=2,
        source="tt-metal 12e6b04",
    ),
    Function(
        name="min",
        body=binary(lambda k, mode, a, b: _extreme(k, mode, a, b, largest=False)),
        operands=2,
        source="tt-metal 12e6b04",
    ),
    *(Function(name=name, body=_integers(lines), operands=2, dst32=True) for name, lines in INTEGERS.items()),
    Function(
        name="mul_uint16",
        body=_mul_uint16_body,
        setup=_mul_uint16_setup,
        operands=2,
        dst32=False,
        reads_uint16=True,
        writes_uint16=True,
    ),
    Function(name="add_top_row", body=_add_top_row_body, operands=2, dst32=True, once=True),
    Function(
        name="addcmul",
        body=_addcmul_body,
        setup=lambda mode, value: {3: fp32_code(value)},
        operands=3,
        parameters={"value": 1.0},
        source="tt-metal 2b02a2c",
    ),
    Function(name="where", body=_where_body, operands=3),
)
