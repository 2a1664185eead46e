"""Bench of the addresses in tilise mode: the datums at them are the rows of golden's UNPACR; long requests; rate; resets."""

from functools import cache

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix import UnpackControl, unpack, unpack_tile
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import COLUMNS, Format
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig, unpacked_layout
from bitpath.rtl.tensix.unpack.tilise_address import (
    ADDRESS_BITS,
    ROW_COUNT_BITS,
    STRIDE_BITS,
    TILISE_REQUEST,
    TILISE_ROW,
    WORD_BYTES,
    TiliseAddress,
)
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, pack, pauses, resolved
from bitpath.verif.kit.unit_bench import unpack as fields_of

BENCH = UnitBench(TiliseAddress, ConversionConfig)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
CASES = cases(200)
L1_WORDS = 1 << 14
FORMATS = tuple(L1_BYTES)


@cache
def memory() -> np.ndarray:
    return np.random.default_rng(pauses.rng("L1").getrandbits(32)).integers(0, 256, L1_WORDS * WORD_BYTES, np.uint8)


def control(fmt: Format, stride: int) -> UnpackControl:
    return UnpackControl(in_format=fmt, out_format=fmt, row_stride=stride * WORD_BYTES)


def request(fmt: Format, address: int, stride: int, rows: int) -> int:
    return pack(TILISE_REQUEST, {"address": address, "stride": stride, "last": rows - 1, "l1_format": fmt})


def rows_of(fmt: Format, address: int, stride: int, rows: int) -> np.ndarray:
    """Return golden's rows, uint32 [rows, 16]."""
    return unpack_tile(memory()[address * WORD_BYTES :], control(fmt, stride), count=rows * COLUMNS, numerics=NUMERICS)


def any_request(rng, fmt: Format) -> tuple[Format, int, int, int]:
    """Return a request of up to 64 rows inside the memory."""
    rows = rng.choice((1, 2, 3, 16, rng.randint(1, 64)))
    stride = rng.choice((0, 1, 2, 4, 8, rng.getrandbits(7)))
    return fmt, rng.randrange(L1_WORDS - rows * max(stride, 4) - 8), stride, rows


@BENCH.test("tilise_address.datums", "A row of datums is one register row or two, by format and chip", pace=list(PACES))
async def datums(frame, pace):
    """Random starts, strides and lengths in every format of 8 bits and more: L1's datums at the addresses are golden's
    rows, at every pace."""
    rng = pauses.rng("requests")
    formats = [*FORMATS, *rng.choices(FORMATS, k=max(0, CASES - len(FORMATS)))]
    asked = [any_request(rng, fmt) for fmt in formats]
    formats_of_rows = [fmt for fmt, _, _, rows in asked for _ in range(rows)]
    gaps, stalls = (make() for make in PACES[pace])
    coverage = frame.coverage(fmt.name for fmt in FORMATS)
    driver = frame.driver("i", gaps)
    board = frame.scoreboard("rows", unpacked_layout(1), output="o")
    lasts = frame.scoreboard("last", 1, output="o")
    waiting = iter(formats_of_rows)

    def sink(bits: int) -> None:
        row = fields_of(TILISE_ROW, bits)
        fmt, start = next(waiting), row["address"] * WORD_BYTES
        l1 = memory()[start : start + COLUMNS * L1_BYTES[fmt]]
        words = unpack(l1, fmt, fmt, count=COLUMNS, numerics=NUMERICS) if len(l1) == COLUMNS * L1_BYTES[fmt] else []
        board.got(pack(unpacked_layout(1), [list(map(int, words)) or [0] * COLUMNS]))
        lasts.got(row["last"])

    frame.monitor("o", sink, stalls)
    for each in asked:
        coverage.hit(each[0].name)
        for place, words in enumerate(rows_of(*each).tolist()):
            board.expect(pack(unpacked_layout(1), [words]), f"{each}, row {place}")
            lasts.expect(int(place == each[3] - 1), f"{each}, row {place}")
        driver.send_bits(request(*each))


@BENCH.test("tilise_address.limits", "A load in tilise mode takes a cycle a row")
async def long_requests(frame):
    """The most rows, the largest stride, addresses that wrap; a row in every cycle, also from request to request."""
    rng = pauses.rng("requests")
    top_row, top_stride = (1 << ROW_COUNT_BITS), (1 << STRIDE_BITS) - 1
    asked = [
        (Format.BF16, 5, 3, top_row),
        (Format.FP32, rng.getrandbits(ADDRESS_BITS), top_stride, 300),
        (Format.FP8, (1 << ADDRESS_BITS) - 1, top_stride, 300),
        (Format.INT16, (1 << ADDRESS_BITS) - 2, 1, 1),
        *((rng.choice(FORMATS), rng.getrandbits(ADDRESS_BITS), rng.getrandbits(STRIDE_BITS), 9) for _ in range(30)),
    ]
    expected = []
    for fmt, address, stride, rows in asked:
        words = COLUMNS * L1_BYTES[fmt] // WORD_BYTES
        in_row = 2 if NUMERICS.tilise_wide_rows and words > 1 else 1
        for row in range(rows):
            place = address + row // in_row * stride + row % in_row * words
            fields = {"address": place % (1 << ADDRESS_BITS), "last": row == rows - 1}
            expected.append((pack(TILISE_ROW, fields), f"{fmt.name} from {address:#x}, stride {stride}, row {row}"))
    dut = frame.dut
    board = frame.scoreboard("o", TILISE_ROW)
    payloads = iter([request(*each) for each in asked])
    dut.o__ready.value, dut.i__valid.value = 1, 1
    dut.i__payload.value = next(payloads)
    await RisingEdge(dut.clk)
    dut.i__payload.value = next(payloads)
    for row, shown in expected:
        await FallingEdge(dut.clk)
        assert resolved(dut.o__valid), f"no row in a cycle: {shown}"
        board.compare(resolved(dut.o__payload), row, shown)
        taken = resolved(dut.i__ready)
        await RisingEdge(dut.clk)
        if taken:
            following = next(payloads, None)
            dut.i__valid.value = following is not None
            dut.i__payload.value = following or 0
    await FallingEdge(dut.clk)
    assert not resolved(dut.o__valid)


@BENCH.test("tilise_address.resets", "The rows that are left must not come")
async def resets(frame):
    """Resets in the middle of a request."""
    rng = pauses.rng("requests")
    dut = frame.dut
    board = frame.scoreboard("o", TILISE_ROW)
    for cycles in (1, 2, 7):
        await RisingEdge(dut.clk)
        dut.i__valid.value, dut.o__ready.value = 1, 1
        dut.i__payload.value = request(rng.choice(FORMATS), rng.getrandbits(ADDRESS_BITS), 5, 100)
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        await frame.reset()
        await FallingEdge(dut.clk)
        assert resolved(dut.i__ready)
        assert not resolved(dut.o__valid)
        await RisingEdge(dut.clk)
        address = rng.getrandbits(ADDRESS_BITS)
        dut.i__valid.value, dut.o__ready.value = 1, 1
        dut.i__payload.value = request(Format.FP8, address, 1, 1)
        await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        await FallingEdge(dut.clk)
        assert resolved(dut.o__valid)
        board.compare(resolved(dut.o__payload), pack(TILISE_ROW, {"address": address, "last": 1}), "one row")
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        assert not resolved(dut.o__valid)
