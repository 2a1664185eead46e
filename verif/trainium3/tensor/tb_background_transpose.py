"""Bench of the background transpose: every shape, tiles in any order at every pace, square tiles without a gap, resets,
rows that are refused.

Expected columns come from golden's transpose before anything is driven.
"""

from itertools import product
from random import Random

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3 import nc_transpose
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.tensor.background_transpose import (
    BackgroundTranspose,
    TransposeConfig,
    column_layout,
    row_layout,
)
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, changed, covers, cross, pack, pauses, resolved
from bitpath.verif.trainium3.refusals import Faults

BENCH = UnitBench(BackgroundTranspose, TransposeConfig)
CONFIG = BENCH.config
SIZE = CONFIG.size
ROW, COLUMN = row_layout(CONFIG), column_layout(CONFIG)
CASES = cases(60)
SHAPES = list(product(range(1, SIZE + 1), repeat=2))
CODES = (0, 0xFFFF, 0x7FC0, 0x7F81, 0xFFA5, 0x7F80, 0x8000, 0x0001)
"""Zeros, NaNs with payloads of BF16, infinity, a subnormal."""


def tile(rows: int, columns: int, rng: Random) -> tuple[list[int], list[int]]:
    """The rows of a random tile and its columns, as payloads; places beyond the tile's columns have any bits."""
    bits = [[rng.choice((rng.choice(CODES), rng.getrandbits(16))) for _ in range(SIZE)] for _ in range(rows)]
    sent = [
        pack(ROW, {"elements": row, "last_column": columns - 1, "last": number == rows - 1})
        for number, row in enumerate(bits)
    ]
    turned = nc_transpose(np.array(bits, np.uint16)[:, :columns]).tolist()
    expected = [
        pack(COLUMN, {"elements": [*column, *[0] * (SIZE - rows)], "last": number == columns - 1})
        for number, column in enumerate(turned)
    ]
    return sent, expected


@BENCH.test("background_transpose.shapes", "A transpose moves bits, whatever they mean")
async def every_shape(frame):
    """Tiles of every number of rows and columns; NaN payloads, infinity, zeros of both signs; elements beyond the tile
    are zeros."""
    rng = pauses.rng("tiles")
    coverage = frame.coverage(cross(range(1, SIZE + 1), range(1, SIZE + 1)))
    driver, board = frame.driver("i"), frame.check_stream("o")
    for rows, columns in SHAPES:
        sent, expected = tile(rows, columns, rng)
        for row in sent:
            driver.send_bits(row)
        for column in expected:
            board.expect(column, f"a tile of {rows} rows and {columns} columns")
        coverage.hit(rows, columns)


@covers("background_transpose.shapes")
@BENCH.test(
    "background_transpose.stream", "Rows of the next tile come while columns of the last one leave", pace=list(PACES)
)
async def random_tiles(frame, pace):
    """Tiles of random shapes at full speed, with gaps, stalls and both."""
    gaps, stalls = (make() for make in PACES[pace])
    rng = pauses.rng("tiles")
    driver, board = frame.driver("i", gaps), frame.check_stream("o", stalls=stalls)
    for number in range(CASES):
        sent, expected = tile(*rng.choice(SHAPES), rng)
        for row in sent:
            driver.send_bits(row)
        for column in expected:
            board.expect(column, f"tile {number}")


@BENCH.test("background_transpose.rate", "Two banks make chained transposes twice as fast as one")
async def square_tiles_without_a_gap(frame):
    """Square tiles: a row in and a column out in every cycle, the first column a cycle behind the last row."""
    rng = pauses.rng("tiles")
    tiles = [tile(SIZE, SIZE, rng) for _ in range(6)]
    rows, columns = ([word for each in tiles for word in each[side]] for side in (0, 1))
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    frame.onlook("i")
    frame.onlook("o")
    dut.o__ready.value = 1
    for cycle in range(len(rows) + SIZE):
        dut.i__valid.value = int(cycle < len(rows))
        if cycle < len(rows):
            dut.i__payload.value = rows[cycle]
        await FallingEdge(dut.clk)
        assert resolved(dut.i__ready)
        assert resolved(dut.o__valid) == (cycle >= SIZE)
        if cycle >= SIZE:
            board.compare(resolved(dut.o__payload), columns[cycle - SIZE], f"column {cycle - SIZE}")
        await RisingEdge(dut.clk)


@BENCH.test("background_transpose.full", "A row that enters a full bank would change a column")
async def both_banks_full(frame):
    """Two tiles enter without a taker, the next row waits, and the offered column stays."""
    rng = pauses.rng("tiles")
    sent, expected = zip(*(tile(SIZE, SIZE, rng) for _ in range(2)), strict=True)
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    dut.i__valid.value = 1
    for row in (*sent[0], *sent[1]):
        dut.i__payload.value = row
        await FallingEdge(dut.clk)
        assert resolved(dut.i__ready)
        await RisingEdge(dut.clk)
    for _ in range(3):
        await FallingEdge(dut.clk)
        assert not resolved(dut.i__ready)
        board.compare(resolved(dut.o__payload), expected[0][0], "a column that nobody takes")
        await RisingEdge(dut.clk)


@BENCH.test(
    "background_transpose.refused",
    "A tile that is too wide or too tall would overwrite its own rows",
    "Between the rows of tiles of every shape, last columns beyond the size, and a row ``size`` that is not the "
    "last: a fault, and the tiles are whole",
)
async def refused_rows(frame):
    """Between the rows of tiles, rows with a last column that there is not, and the last possible row that is not the tile's
    last: a fault, and no other trace."""
    rng = pauses.rng("tiles")
    beyond = range(SIZE, 1 << (SIZE - 1).bit_length())
    coverage = frame.coverage([*map(str, beyond), "too many rows"])
    driver = frame.driver("i", pauses.scattered(0.2, pauses.rng("i")))
    board = frame.check_stream("o", stalls=pauses.scattered(0.3, pauses.rng("o")))
    faults = Faults(frame)

    def refused(row, name, **fields):
        driver.send_bits(changed(ROW, row, fields))
        faults.expect(Fault.PARTITIONS, name)
        coverage.hit(str(name))

    for shape in (*SHAPES, (SIZE, SIZE)):
        sent, expected = tile(*shape, rng)
        for number, row in enumerate(sent):
            for column in beyond:
                if rng.random() < 0.5:
                    refused(row, column, last_column=column, last=rng.getrandbits(1))
            if number == SIZE - 1:
                refused(row, "too many rows", last=0)
            driver.send_bits(row)
            faults.expect(Fault.NONE, f"row {number} of {shape}")
        for column in expected:
            board.expect(column, f"{shape} among refused rows")


@BENCH.test(
    "background_transpose.reset",
    "Data registers have no reset; counters and full bits hide their contents",
    rows=[1, SIZE, SIZE + 1, 2 * SIZE],
)
async def resets(frame, rows):
    """Reset with a tile in part, one whole, and two: later tiles are whole and the first of their columns is the first
    to appear."""
    rng = pauses.rng("tiles")
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    inside = [word for _ in range(2) for word in tile(SIZE, SIZE, rng)[0]][:rows]
    for row in inside:
        dut.i__payload.value, dut.i__valid.value = row, 1
        dut.o__ready.value = int(rows == SIZE + 1)
        await FallingEdge(dut.clk)
        await RisingEdge(dut.clk)
    await frame.reset()
    sent, expected = tile(SIZE - 1, SIZE, rng)
    dut.o__ready.value = 1
    for row in sent:
        dut.i__payload.value, dut.i__valid.value = row, 1
        await FallingEdge(dut.clk)
        assert resolved(dut.i__ready)
        assert not resolved(dut.o__valid)
        await RisingEdge(dut.clk)
    dut.i__valid.value = 0
    for column in expected:
        await FallingEdge(dut.clk)
        assert resolved(dut.o__valid)
        board.compare(resolved(dut.o__payload), column, "behind a reset")
        await RisingEdge(dut.clk)
