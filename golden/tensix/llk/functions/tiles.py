"""Functions that work across the rows and columns of a tile: sums, averages, extremes, moving averages, mean and variance.

SFPTRANSP exchanges the four rows of lanes with four registers, so that sums of registers are sums of rows. SFPSHFT2 moves
lanes along a row. A tile's 4 x 32 datums are four loads: even and odd columns of the left and of the right face.

Maxima and minima of columns are in the form without SFPLOADMACRO.

Ref: tt-llk 36b092e, ckernel_sfpu_cumsum.h, _ema.h, _welfords.h, _reduce.h, _max_pool_indices.h, _add_top_row.h.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.tensix.llk.functions.function import TILE_ROWS, Function, Mode
from bitpath.golden.tensix.sfpu.kernel import Kernel, fp32_code

INT32, LOW, SIGN_MAGNITUDE = 4, 6, 12
"""Load and store modes; LOW is of 16 bits, zero-extended."""
QUARTERS = (0, 2, 16, 18)
"""Addresses of the even and odd columns of a left and of a right face, of 4 rows."""
BLOCKS = tuple(face + row for face in (0, 32) for row in range(0, 16, 4))
"""Addresses of 4 rows each of a tile."""
ROWS = 4 * len(BLOCKS)
TRANSPOSE = "SFPTRANSP\n"
INDEX_TRACKING, EXCHANGED = 4, 0x100
"""Bits of SFPCONFIG's lane configuration: SFPSWAP moves LReg 4 to 7 with 0 to 3; it exchanges minimum and maximum."""

Combine = Callable[[int, int], str]
"""Text of an instruction that combines two registers in the first one."""


def accesses(name: str, registers: Sequence[int], addresses: Sequence[int], mode: int = 0) -> str:
    """Return loads or stores of registers at addresses."""
    pairs = zip(registers, addresses, strict=True)
    return "".join(f"{name} vd={each}, mod={mode}, modifier={{m}}, address={place}\n" for each, place in pairs)


def swap(larger: int, smaller: int, mode: int = 1) -> str:
    """Return SFPSWAP, which sorts two registers in all rows of lanes by its mode 1."""
    return f"SFPSWAP vc={larger}, vd={smaller}, mod={mode}\n"


def configure(bits: int) -> str:
    """Return SFPCONFIG of the lane configuration."""
    return f"SFPCONFIG imm={bits}, vd=15, mod=1\n"


def _add(a: int, b: int) -> str:
    return f"SFPADD va={a}, vb=10, vc={b}, vd={a}\n"


def _add_integer(a: int, b: int) -> str:
    return f"SFPIADD vc={b}, vd={a}, mod=4\n"


def _cumsum_body(k: Kernel, mode: Mode, *, first: bool) -> None:
    if first:
        k.text("".join(f"SFPMOV vc=9, vd={each}\n" for each in range(4, 8)))
    for number, block in enumerate(BLOCKS):
        own = range(4, 8) if number % 2 else range(4)
        places = [block + each for each in QUARTERS]
        sums = "".join(f"SFPADD va=10, vb={a}, vc={b}, vd={b}\nSFPNOP\n" for a, b in pairwise([own[0] - 1 & 7, *own]))
        loads, stores = accesses("SFPLOAD", own, places), accesses("SFPSTORE", own, places)
        k.text(loads + TRANSPOSE + sums + TRANSPOSE + stores)


def _ema_body(k: Kernel, mode: Mode, *, alpha: float, beta: float, first: bool) -> None:
    if first:
        k.text("SFPLOADI vd=4\n")
    k.text(TRANSPOSE)
    for block in BLOCKS:
        places = [block + each for each in QUARTERS]
        k.text(accesses("SFPLOAD", range(4), places) + TRANSPOSE)
        for old, row in pairwise((4, 0, 1, 2, 3)):
            k.text(f"SFPMAD va=5, vb={old}, vc=9, vd=7\nSFPNOP\nSFPMAD va=6, vb={row}, vc=7, vd={row}\nSFPNOP\n")
        k.text("SFPMOV vc=3, vd=4\n" + TRANSPOSE)
        k.text(accesses("SFPSTORE", range(4), [TILE_ROWS + each for each in places]))
    k.text(TRANSPOSE)


def _reciprocal_of(number: int) -> str:
    """Return the loads of 1 / number to LReg 7."""
    code = fp32_code(1 / number)
    return f"SFPLOADI vd=7, mod=8, imm={code >> 16}\nSFPLOADI vd=7, mod=10, imm={code & 0xFFFF}\n"


def _welfords_body(k: Kernel, mode: Mode, *, rows: int) -> None:
    rows = integer("rows", rows, range(1, ROWS + 1))
    k.text("SFPLOADI vd=4\nSFPLOADI vd=5\n")
    for first, block in zip(range(0, rows, 4), BLOCKS, strict=False):
        k.text(TRANSPOSE + accesses("SFPLOAD", range(4), [block + each for each in QUARTERS]) + TRANSPOSE)
        for x in range(min(4, rows - first)):
            k.text(
                f"""{_reciprocal_of(first + x + 1)}
                SFPMAD va=11, vb=4, vc={x}, vd=6
                SFPMAD va=6, vb=7, vc=4, vd=6
                SFPMAD va=11, vb=4, vc={x}, vd=4
                SFPMAD va=11, vb=6, vc={x}, vd={x}
                SFPMAD va=4, vb={x}, vc=5, vd=5
                SFPMOV vc=6, vd=4"""
            )
    k.text(f"{_reciprocal_of(rows)}\nSFPMOV vc=4, vd=0\nSFPLOADI vd=1\nSFPLOADI vd=2\nSFPLOADI vd=3\n")
    k.text("SFPMAD va=7, vb=5, vc=9, vd=4\nSFPLOADI vd=5\nSFPLOADI vd=6\nSFPLOADI vd=7\n" + TRANSPOSE)
    k.text(accesses("SFPSTORE", range(8), [tile + each for tile in (0, TILE_ROWS) for each in QUARTERS]))


def _registers_summed(add: Combine) -> str:
    """Return the sums of LReg 0 to 3 in LReg 0 and of LReg 4 to 7 in LReg 4."""
    return "".join(add(a, a + 1) for a in (2, 1, 0, 6, 5, 4)) + "SFPNOP\n"


FLOAT_AVERAGE = "SFPLOADI vd=1, mod=8, imm=0x3D00\nSFPLOADI vd=1, mod=10\nSFPMUL va=0, vb=1, vc=9, vd=0\n"
INTEGER_AVERAGE = """SFPMOV vc=0, vd=1
SFPABS vc=0, vd=0
SFPSHFT imm=0xffb, vc=0, vd=0, mod=1
SFPSETCC vc=1, mod=4
SFPCOMPC
SFPIADD vc=9, vd=0, mod=6
SFPENCC
"""
"""The quotient by 32, towards zero."""


def _column_sums(k: Kernel, mode: Mode, *, add: Combine = _add, access: int = 0, after: str = "") -> None:
    for place in QUARTERS:
        k.text(accesses("SFPLOAD", range(8), [place + each for each in BLOCKS], access))
        k.text((TRANSPOSE + _registers_summed(add)) * 2 + add(0, 4) + after)
        k.text(accesses("SFPSTORE", [0], [place], access))


def _across_lanes(combine: Combine) -> str:
    """Return the combination of a row's eight lanes in LReg 0 and 4, in the first lane."""
    lines = ""
    for distance in (4, 2, 1):
        shifts = "".join(f"SFPSHFT2 vc={each}, vd={each}, mod=4\n" for each in (1, 5)) * distance
        lines += f"SFPMOV vc=0, vd=1\nSFPMOV vc=4, vd=5\n{shifts}SFPNOP\n{combine(0, 1)}{combine(4, 5)}"
    return lines + "SFPSHFT2 vc=0, vd=0, mod=3\nSFPSHFT2 vc=4, vd=4, mod=3\n"


def _of_rows(k: Kernel, mode: Mode, *, within: str, combine: Combine, access: int = 0) -> None:
    if not mode.blackhole:
        # Mode 4 shifts in the lanes of the last rotation, which the published kernel leaves open.
        k.text("SFPSHFT2 vc=0, vd=0, mod=3")
    for first, second in zip(BLOCKS[::2], BLOCKS[1::2], strict=True):
        places = [block + each for block in (first, second) for each in QUARTERS]
        k.text(accesses("SFPLOAD", range(8), places, access) + within + _across_lanes(combine))
        k.text(accesses("SFPSTORE", (0, 4), (first, second), access))


ROW_MAXIMA = "".join(swap(a, b) for a, b in ((0, 2), (4, 6), (1, 3), (5, 7), (0, 1), (4, 5)))


def _column_extremes(k: Kernel, mode: Mode, *, largest: bool, access: int = 0) -> None:
    k.text(configure(0 if largest else EXCHANGED) + accesses("SFPLOAD", range(4, 8), QUARTERS, access))
    for block in BLOCKS[1:]:
        for number, place in enumerate(QUARTERS):
            k.text(accesses("SFPLOAD", [number], [block + place], access) + swap(4 + number, number))
    k.text(TRANSPOSE + swap(6, 7) + swap(5, 6) + swap(4, 5) + TRANSPOSE)
    k.text(accesses("SFPSTORE", range(4, 8), QUARTERS, access))


def convert(source: int, result: int) -> str:
    """Return Blackhole's conversion between two's complement and sign and magnitude, which both registers have afterwards."""
    return f"SFPCAST vc={source}, vd={result}, mod=3\nSFPSETSGN vc={result}, vd={source}\n"


def _integer_column_extremes(k: Kernel, mode: Mode, *, largest: bool) -> None:
    """Reduce integers of two's complement; Wormhole's loads and stores convert them, Blackhole reduces face by face."""
    if not mode.blackhole:
        _column_extremes(k, mode, largest=largest, access=SIGN_MAGNITUDE)
        return
    k.text(configure(EXCHANGED if largest else 0))
    converted = "".join(convert(each, each + 4) for each in range(4))
    chain = swap(7, 6) + swap(6, 5) + swap(5, 4)
    for top in (0, 16):
        for place in (top, top + 2, top + 32, top + 34):
            rows = [place + each for each in range(0, 16, 4)]
            k.text(accesses("SFPLOAD", range(4), rows, SIGN_MAGNITUDE) + converted + chain + convert(4, 0))
            k.text(accesses("SFPSTORE", [0], [place], SIGN_MAGNITUDE))
        k.text(accesses("SFPLOAD", range(4), (top, top + 32, top + 2, top + 34), SIGN_MAGNITUDE) + converted)
        k.text(TRANSPOSE + chain + TRANSPOSE + swap(7, 6) + swap(5, 4) + convert(4, 0) + convert(6, 1))
        k.text(accesses("SFPSTORE", (0, 1), (top, top + 2), SIGN_MAGNITUDE))


def _pairs(name: str, mode: Mode, registers: Sequence[int], addresses: Sequence[int]) -> str:
    """Return loads or stores of values in LReg 0 to 3, and of their indices 4 registers and a tile further."""
    indices, places = [4 + each for each in registers], [TILE_ROWS + each for each in addresses]
    return accesses(name, registers, addresses) + accesses(name, indices, places, INT32 if mode.dst32 else LOW)


def _max_pool_body(k: Kernel, mode: Mode) -> None:
    k.text(configure(INDEX_TRACKING))
    for face in (0, 16):
        k.text(_pairs("SFPLOAD", mode, range(4), [face + each for each in (0, 4, 2, 6)]))
        two = swap(0, 1) + swap(2, 3)
        k.text(TRANSPOSE + two + swap(0, 2) + TRANSPOSE + two)
        k.text(_pairs("SFPLOAD", mode, (1, 3), (face + 8, face + 10)) + two)
        k.text(_pairs("SFPSTORE", mode, (0, 2), (face, face + 2)))


def _max_pool_row_major_body(k: Kernel, mode: Mode) -> None:
    k.text(configure(INDEX_TRACKING))
    for column in (0, 2):
        k.text(_pairs("SFPLOAD", mode, range(4), [column + row for row in (0, 4, 8, 12)]))
        k.text(swap(0, 1) + swap(2, 3) + swap(0, 2) + TRANSPOSE + swap(0, 2) + swap(1, 3) + TRANSPOSE)
        k.text(_pairs("SFPLOAD", mode, [1], [16 + column]) + swap(0, 1) + _pairs("SFPSTORE", mode, [0], [column]))


def _top_rows(k: Kernel, mode: Mode, *, signed: bool) -> None:
    access = SIGN_MAGNITUDE if signed and not mode.blackhole else INT32
    places = [tile + each for tile in (0, TILE_ROWS) for each in QUARTERS]
    k.text(accesses("SFPLOAD", range(8), places, access) + "".join(_add_integer(each, each + 4) for each in range(4)))
    k.text(accesses("SFPSTORE", range(4), QUARTERS, access))


REDUCTIONS: dict[str, Callable[..., None]] = {
    "reduce_sum_columns": _column_sums,
    "reduce_average_columns": partial(_column_sums, after=FLOAT_AVERAGE),
    "reduce_max_columns": partial(_column_extremes, largest=True),
    "reduce_min_columns": partial(_column_extremes, largest=False),
    "reduce_sum_rows": partial(_of_rows, within=_registers_summed(_add), combine=_add),
    "reduce_max_rows": partial(_of_rows, within=ROW_MAXIMA, combine=swap),
}
INTEGERS: dict[str, Callable[..., None]] = {
    "reduce_max_columns_int32": partial(_integer_column_extremes, largest=True),
    "reduce_min_columns_int32": partial(_integer_column_extremes, largest=False),
    "reduce_max_rows_int32": partial(_of_rows, within=ROW_MAXIMA, combine=swap, access=INT32),
    "reduce_sum_columns_int32": partial(_column_sums, add=_add_integer, access=INT32),
    "reduce_average_columns_int32": partial(_column_sums, add=_add_integer, access=INT32, after=INTEGER_AVERAGE),
    "reduce_sum_rows_int32": partial(
        _of_rows, within=_registers_summed(_add_integer), combine=_add_integer, access=INT32
    ),
}
FIRST = {"first": True}
FUNCTIONS = (
    Function(name="cumsum", body=_cumsum_body, parameters=FIRST, once=True, carries=True),
    Function(
        name="ema",
        body=_ema_body,
        setup=lambda mode, alpha, beta, first: {5: fp32_code(alpha), 6: fp32_code(beta)},
        parameters={"alpha": 0.25, "beta": 0.75} | FIRST,
        results=(1,),
        once=True,
        carries=True,
    ),
    Function(name="welfords", body=_welfords_body, parameters={"rows": ROWS}, results=(0, 1), once=True),
    *(Function(name=name, body=body, once=True) for name, body in REDUCTIONS.items()),
    *(Function(name=name, body=body, dst32=True, once=True) for name, body in INTEGERS.items()),
    Function(name="max_pool_indices", body=_max_pool_body, operands=2, results=(0, 1), indices=(1,), once=True),
    Function(
        name="max_pool_indices_row_major",
        body=_max_pool_row_major_body,
        operands=2,
        results=(0, 1),
        indices=(1,),
        once=True,
    ),
    Function(name="add_top_row_int32", body=partial(_top_rows, signed=True), operands=2, dst32=True, once=True),
    Function(name="add_top_row_uint32", body=partial(_top_rows, signed=False), operands=2, dst32=True, once=True),
)
