"""Bench of the element map: every FP4 code in every place through the default and other tables, FP8 untouched."""

from functools import cache

from cocotb.triggers import Timer

from bitpath.golden.formats.catalogue import CATALOGUE, E2M1, E8M0
from bitpath.golden.scalar.codec import decode
from bitpath.rtl.trainium3.dot.element_map import ElementFormat, ElementMap, MapConfig, MapTable, OperandWord
from bitpath.rtl.trainium3.dot.quad_mx_dot import operand_layout
from bitpath.verif.kit.unit_bench import Shown, UnitBench, cases, covers, cross, pack, pauses, resolved
from bitpath.verif.kit.values import code_text, codes_text
from bitpath.verif.trainium3.dot.quad_mx import word_formats

BENCH = UnitBench(ElementMap, MapConfig, ms=1)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
OPERAND = operand_layout(NUMERICS)
CASES = cases(500)
FORMATS = word_formats(NUMERICS)
ELEMENTS = {fmt: CATALOGUE[fmt.name] for fmt in FORMATS}
MAPPED = [fmt for fmt in FORMATS if fmt is not ElementFormat.E2M1]
"""Formats of a table's codes."""


@cache
def faithful(fmt) -> dict:
    """The table that keeps every FP4 value, in an FP8 format."""
    value_of = {code: decode(fmt, code) for code in range(1 << fmt.width) if code & ~fmt.sign_mask <= fmt.max_code}
    codes = []
    for small in range(1 << E2M1.width):
        x = decode(E2M1, small)
        codes.append(next(code for code, y in value_of.items() if (y.value, y.sign) == (x.value, x.sign)))
    return {"codes": codes, "code_format": NUMERICS.element_formats.index(fmt)}


async def check(dut, board, fmt: ElementFormat, elements: list[int], scale: int, table: dict) -> None:
    """Drive one word and compare the output."""
    bits = ELEMENTS[fmt].width
    word = sum(code << bits * k for k, code in enumerate(elements))
    if fmt is ElementFormat.E2M1:
        # The upper half of an FP4 word means nothing.
        word |= pauses.rng(f"upper half {elements}").getrandbits(16) << 16
        mapped, code_format = [table["codes"][code] for code in elements], table["code_format"]
    else:
        mapped, code_format = elements, NUMERICS.element_formats.index(ELEMENTS[fmt])
    dut.word.value = pack(OperandWord, {"elements": word, "scale": scale})
    dut.format.value = fmt.value
    dut.fp4_table.value = pack(MapTable, table)
    board.expect(
        pack(OPERAND, {"elements": mapped, "scale": scale, "format": code_format}),
        lambda _: Shown(
            operands={
                "elements": f"{fmt.name} {codes_text(ELEMENTS[fmt], elements)}",
                "scale": code_text(E8M0, scale),
                "FP4 map": " ".join(f"{code:02x}" for code in table["codes"]),
            },
            formats={"elements": NUMERICS.element_formats[code_format], "scale": E8M0},
        ),
    )
    await Timer(1, unit="ns")
    board.got(resolved(dut.o))


@BENCH.test("element_map.fp4", "The map is programmable: a fixed conversion would pass with the usual table")
async def every_fp4_code_in_every_place(frame):
    """All 16 codes in all four positions, through the tables that keep every value (as E4M3 and as E5M2) and a
    scrambled one."""
    rng = pauses.rng("table")
    scrambled = {"codes": rng.sample(range(256), 16), "code_format": rng.getrandbits(1) % len(MAPPED)}
    tables = {fmt.name: faithful(ELEMENTS[fmt]) for fmt in MAPPED} | {"scrambled": scrambled}
    board = frame.scoreboard("o", OPERAND)
    coverage = frame.coverage(cross(tables, range(NUMERICS.terms), range(1 << E2M1.width)))
    for name, table in tables.items():
        for lane in range(NUMERICS.terms):
            for code in range(1 << E2M1.width):
                elements = [rng.randrange(1 << E2M1.width) for _ in range(NUMERICS.terms)]
                elements[lane] = code
                coverage.hit(name, lane, code)
                await check(frame.dut, board, ElementFormat.E2M1, elements, rng.getrandbits(8), table)


@BENCH.test("element_map.fp8", "Every operand passes the map", fmt=[fmt.name for fmt in MAPPED])
async def fp8_passes(frame, fmt):
    """FP8 elements and their scale pass untouched, all 256 codes, both formats."""
    rng = pauses.rng("words")
    board = frame.scoreboard("o", OPERAND)
    for code in range(256):
        elements = [code, *(rng.getrandbits(8) for _ in range(NUMERICS.terms - 1))]
        await check(frame.dut, board, ElementFormat[fmt], elements, rng.getrandbits(8), faithful(ELEMENTS[MAPPED[-1]]))


@covers("element_map.fp4")
@BENCH.test("element_map.fp8")
async def random_tables(frame):
    rng = pauses.rng("tables")
    board = frame.scoreboard("o", OPERAND)
    coverage = frame.coverage(cross((each.name for each in FORMATS), range(len(MAPPED))))
    for _ in range(CASES):
        fmt = rng.choice(FORMATS)
        elements = [rng.getrandbits(ELEMENTS[fmt].width) for _ in range(NUMERICS.terms)]
        table = {"codes": [rng.getrandbits(8) for _ in range(16)], "code_format": rng.getrandbits(1) % len(MAPPED)}
        coverage.hit(fmt.name, table["code_format"])
        await check(frame.dut, board, fmt, elements, rng.getrandbits(8), table)
