"""Bench of the FP32 passes: corners in every mode and number, onezero operands, random columns at every pace, resets.

Expected columns come from golden's halves before anything is driven.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from random import Random

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import FP32, TF32, Rounding
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.golden.trainium3.exact import fp32_halves
from bitpath.rtl.trainium3.tensor.fp32_passes import (
    PASSES,
    Fp32Passes,
    PassesConfig,
    PassMode,
    pass_layout,
    request_layout,
)
from bitpath.verif.common.fp32.numbers import near_codes
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, covers, cross, pack, pauses, resolved, width

BENCH = UnitBench(Fp32Passes, PassesConfig)
CONFIG = BENCH.config
REQUEST, COLUMN = request_layout(CONFIG), pass_layout(CONFIG)
CASES = cases(400)
OFFSET = FP32.bias + FP32.fraction_bits
TIES = [0x3F800000 | fraction for fraction in (0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0x7FF000, 0x7FEFFF)]
CORNERS = [
    sign | code
    for sign in (0, 1 << 31)
    for code in (0, 1, 0xFFF, 0x1000, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F7FF000, 0x7F7FEFFF, 0x7F800000, 0x7F800001, *TIES)
]  # fmt: skip


def whole(code: int) -> dict[str, int]:
    """The operand that has an FP32 code's value."""
    x, biased = decode(FP32, code), code >> FP32.fraction_bits & FP32.exponent_mask
    return {
        "significand": code & FP32.fraction_mask | bool(biased) << FP32.fraction_bits,
        "exponent": max(biased, 1),
        "sign": code >> 31,
        "inf": x.kind is Kind.INFINITY,
        "nan": x.kind is Kind.NAN,
    }


def half(code: int, high: int) -> dict[str, int]:
    """The operand of a half, which is at the top of the significand; a low half's value is 2**-12 of the operand's."""
    fields = whole(code)
    if fields["inf"] or fields["nan"]:
        kept = fields["significand"] if high else fields["significand"] << LOW_BITS
        kept = kept >> LOW_BITS << LOW_BITS & (1 << FP32.precision) - 1
        return {**fields, "significand": kept, "sign": fields["sign"] if high or kept else 0}
    part = fp32_halves(code)[not high]
    value = abs(decode(FP32, part).value)
    units = value * Fraction(2) ** (OFFSET - fields["exponent"])
    assert units.denominator == 1
    return {**fields, "significand": units.numerator << (0 if high else LOW_BITS), "sign": part >> 31}


def tf32(code: int) -> dict[str, int]:
    """The operand of the code rounded to TF32; NaN keeps its payload, which no PE reads."""
    if decode(FP32, code).kind is Kind.NAN:
        return whole(code)
    rounding: Rounding = CONFIG.numerics.tf32_rounding
    return whole(convert(code, FP32, TF32, rounding) << FP32.fraction_bits - TF32.fraction_bits)


def columns(codes: list[int], mode: PassMode, number: int, moving: int, stationary: int) -> list[int]:
    """Every pass of a request, as payloads."""
    skipped = 2 * stationary + moving
    numbers = {PassMode.FUSED: [n for n in range(4) if n & skipped == skipped], PassMode.SPLIT: [number]}.get(mode, [3])
    payloads = []
    for each in numbers:
        split = mode in (PassMode.FUSED, PassMode.SPLIT)
        make = {PassMode.WHOLE: whole, PassMode.TF32: tf32}.get(mode)
        elements = [half(code, each & 1) if split else make(code) for code in codes]
        payloads.append(
            pack(
                COLUMN, {"elements": elements, "number": each, "first": each == numbers[0], "last": each == numbers[-1]}
            )
        )
    return payloads


def request(
    codes: list[int], mode: PassMode, number: int, moving: int = 0, stationary: int = 0
) -> tuple[int, list[int]]:
    """A request's payload and the columns expected."""
    fields = {"codes": codes, "mode": mode, "number": number}
    onezero = {"moving_onezero": moving, "stationary_onezero": stationary}
    return pack(REQUEST, fields | onezero), columns(codes, mode, number, moving, stationary)


def random_code(rng: Random) -> int:
    return rng.choice((rng.choice(CORNERS), rng.getrandbits(32)))


def random_requests(rng: Random) -> Iterator[tuple[int, list[int]]]:
    while True:
        codes = [random_code(rng) for _ in range(CONFIG.rows)]
        yield request(codes, rng.choice(list(PassMode)), rng.randrange(4), rng.getrandbits(1), rng.getrandbits(1))


@covers(
    "fp32_passes.halves",
    "Halves add up to the number exactly; a subnormal's low half keeps its exponent",
    "Both halves of zeros, subnormals, the largest numbers, infinity, NaN and codes around bit 12, of each pass number",
)
@BENCH.test(
    "fp32_passes.tf32",
    "The rounding adds at the code, where a NaN would carry into the sign",
    "Ties and their neighbours at even and odd numbers, a carry into the exponent, overflow to infinity, NaN with "
    "a full payload",
    mode=[mode.name for mode in PassMode],
)
async def corners(frame, mode):
    """Zeros, subnormals, ties of TF32, the largest numbers, infinity and NaN, in every row."""
    coverage = frame.coverage(cross([f"{code:08x}" for code in CORNERS], range(4)))
    driver, board = frame.driver("i"), frame.check_stream("o")
    for place in range(len(CORNERS)):
        codes = [CORNERS[(place + row) % len(CORNERS)] for row in range(CONFIG.rows)]
        for number in range(4):
            payload, expected = request(codes, PassMode[mode], number)
            driver.send_bits(payload)
            for column in expected:
                board.expect(column, f"{mode}, number {number}, row 0 {codes[0]:08x}")
            coverage.hit(f"{codes[0]:08x}", number)


@BENCH.test("fp32_passes.commands", "Each of them means something, also a number that its mode does not read")
async def every_command(frame):
    """All 64 codes of mode, number and onezero operands, in random order."""
    rng = pauses.rng("commands")
    commands = list(product(PassMode, range(PASSES), range(2), range(2)))
    assert len(commands) == 1 << width(REQUEST) - CONFIG.rows * FP32.width
    driver, board = frame.driver("i"), frame.check_stream("o")
    for command in rng.sample(commands, len(commands)):
        payload, expected = request([random_code(rng) for _ in range(CONFIG.rows)], *command)
        driver.send_bits(payload)
        for column in expected:
            board.expect(column, str(command))


@BENCH.test(
    "fp32_passes.boundaries", "TF32's 13 dropped bits of FP32 decide together, and its subnormal grid is coarser"
)
async def tf32_boundaries(frame):
    """TF32 at and beside ties and results: zero, the subnormal grid, the smallest normal, a binade, the largest number
    and overflow, with one bit beside them at every distance."""
    found = list(near_codes(TF32, pauses.rng("codes")))
    coverage = frame.coverage(each.bin for each, _ in found)
    driver, board = frame.driver("i"), frame.check_stream("o")
    for each, code in found:
        if abs(decode(FP32, code).value) == each.value:
            coverage.hit(each.bin)
    numbers = [code for _, code in found]
    for first in range(0, len(numbers), CONFIG.rows):
        codes = [*numbers[first : first + CONFIG.rows], *numbers][: CONFIG.rows]
        payload, expected = request(codes, PassMode.TF32, 0)
        driver.send_bits(payload)
        for column in expected:
            board.expect(column, f"row 0 {codes[0]:08x}")


@covers("fp32_passes.tf32")
@BENCH.test("fp32_passes.stream", "Passes repeat while the array stalls", pace=list(PACES))
async def random_columns(frame, pace):
    """Requests of all modes in any order, with gaps, stalls and both."""
    gaps, stalls = (make() for make in PACES[pace])
    driver, board = frame.driver("i", gaps), frame.check_stream("o", stalls=stalls)
    source = random_requests(pauses.rng("requests"))
    for index in range(CASES):
        payload, expected = next(source)
        driver.send_bits(payload)
        for column in expected:
            board.expect(column, f"request {index}")


@BENCH.test("fp32_passes.order", "A column takes as many cycles as passes", moving=[0, 1], stationary=[0, 1])
async def cycles_of_a_request(frame, moving, stationary):
    """Four, two or one pass of a column, in order, without a lost cycle; the request is taken with its last pass."""
    rng = pauses.rng("codes")
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    frame.onlook("i")
    frame.onlook("o")
    dut.o__ready.value = 1
    for mode in (PassMode.FUSED, PassMode.SPLIT, PassMode.FUSED, PassMode.WHOLE, PassMode.TF32, PassMode.FUSED):
        codes = [random_code(rng) for _ in range(CONFIG.rows)]
        payload, expected = request(codes, mode, rng.randrange(4), moving, stationary)
        assert len(expected) == (4 >> moving + stationary if mode is PassMode.FUSED else 1)
        dut.i__payload.value, dut.i__valid.value = payload, 1
        for column in expected:
            board.expect(column, mode.name)
            await FallingEdge(dut.clk)
            board.got(resolved(dut.o__payload))
            assert resolved(dut.o__valid)
            assert resolved(dut.i__ready) == (column is expected[-1])
            await RisingEdge(dut.clk)
    dut.i__valid.value = 0
    await FallingEdge(dut.clk)
    assert not resolved(dut.o__valid)


@BENCH.test("fp32_passes.reset", "The pass number is the unit's only register", passes=[1, 2, 3])
async def resets(frame, passes):
    """A reset after each number of passes: the next request begins anew."""
    rng = pauses.rng("codes")
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    for again in range(2):
        codes = [random_code(rng) for _ in range(CONFIG.rows)]
        payload, expected = request(codes, PassMode.FUSED, 0)
        dut.i__payload.value, dut.i__valid.value, dut.o__ready.value = payload, 1, 1
        for column in expected if again else expected[:passes]:
            board.expect(column, "behind the reset" if again else "before a reset")
            await FallingEdge(dut.clk)
            board.got(resolved(dut.o__payload))
            await RisingEdge(dut.clk)
        await frame.reset()
