"""Bench of the fast weight load: loads of every kind and length beside moving words, their time, swaps, stalls, resets,
beats whose last column there is not.

Expected words come from lists in Python, and times from golden's `load_cycles`.
"""

from dataclasses import dataclass, field
from random import Random

import ml_dtypes
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3 import load_cycles
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.tensor.weight_load import LoadConfig, WeightLoad, held_layout, load_layout, moving_layout
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, changed, covers, cross, pack, pauses, resolved
from bitpath.verif.trainium3.refusals import Faults

BENCH = UnitBench(WeightLoad, LoadConfig)
CONFIG = BENCH.config
ROWS, COLS = CONFIG.rows, CONFIG.cols
LOAD, MOVING, HELD = load_layout(CONFIG), moving_layout(CONFIG), held_layout(CONFIG)
CASES = cases(60)
BEYOND = range(COLS, 1 << (COLS - 1).bit_length())
"""Last columns that the PEs do not have, of as many bits."""
KINDS = {
    "bf16": ("matmul", ml_dtypes.bfloat16),
    "fp8": ("matmul", ml_dtypes.float8_e5m2),
    "fp32": ("matmul", np.float32),
    "sparse": ("sparse", ml_dtypes.bfloat16),
    "sparse_tf32": ("sparse", "tf32"),
}


@dataclass
class Copies:
    """Both copies of the stationary words and tags, row by row."""

    second: list[int] = field(default_factory=lambda: [0] * (ROWS * COLS))
    second_tags: list[int] = field(default_factory=lambda: [0] * (ROWS * COLS))
    first: list[int] = field(default_factory=lambda: [0] * (ROWS * COLS))
    first_tags: list[int] = field(default_factory=lambda: [0] * (ROWS * COLS))

    def swap(self) -> None:
        self.first, self.first_tags = [*self.second], [*self.second_tags]

    def held(self, word: int) -> int:
        return pack(HELD, {"word": word, "columns": self.first, "tags": self.first_tags})


def load(kind: str, columns: int, rng: Random, copies: Copies) -> list[int]:
    """The beats of a load of random words, which go into the second copies."""
    name, dtype = KINDS[kind]
    wide, bits = (2, 32) if dtype in (np.float32, "tf32") else (4, 8 if kind == "fp8" else 16)
    words = [[rng.getrandbits(bits) for _ in range(columns)] for _ in range(ROWS)]
    beats = [[sum(word << 64 // wide * k for k, word in enumerate(row[first : first + wide])) for row in words]
             for first in range(0, columns, wide)]  # fmt: skip
    tags = [[rng.getrandbits(4) for _ in range(columns)] for _ in range(ROWS)]
    if name == "sparse":
        for first in range(0, columns, 16):
            beats.append([sum(tag << 4 * k for k, tag in enumerate(row[first : first + 16])) for row in tags])
    for row in range(ROWS):
        place = slice(COLS * row, COLS * row + columns)
        copies.second[place] = words[row]
        if name == "sparse":
            copies.second_tags[place] = tags[row]
    control = {"last_column": columns - 1, "wide": wide == 2, "tagged": name == "sparse"}
    return [pack(LOAD, {"beats": beat, **control}) for beat in beats]


@covers(
    "weight_load.time",
    "A load must take a quarter or half as many cycles as columns",
    "Loads of every number of columns of BF16, FP8, FP32, and of sparse BF16 and TF32 with tags, in golden's cycles",
)
@BENCH.test(
    "weight_load.swap",
    "A swap that is off by one gives a tile the columns of another",
    "The word with the swap waits for its load and is the first one with the new columns",
    kind=list(KINDS),
)
async def time_of_a_load(frame, kind):
    """Every number of columns takes golden's cycles, and the word that swaps them in leaves a cycle later."""
    rng, copies = pauses.rng("words"), Copies()
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    for name in ("load", "i", "o"):
        frame.onlook(name)
    dut.o__ready.value = 1
    for columns in range(1, COLS + 1):
        beats = load(kind, columns, rng, copies)
        assert len(beats) == load_cycles(KINDS[kind][0], columns, KINDS[kind][1])
        word = rng.getrandbits(CONFIG.moving_bits)
        dut.i__payload.value, dut.i__valid.value = pack(MOVING, {"word": word, "swap": 1}), 1
        for beat in beats:
            dut.load__payload.value, dut.load__valid.value = beat, 1
            await FallingEdge(dut.clk)
            assert resolved(dut.load__ready)
            assert not resolved(dut.i__ready)
            await RisingEdge(dut.clk)
        dut.load__valid.value = 0
        await FallingEdge(dut.clk)
        assert not resolved(dut.load__ready)
        assert resolved(dut.i__ready)
        await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        copies.swap()
        await FallingEdge(dut.clk)
        assert resolved(dut.o__valid)
        board.compare(resolved(dut.o__payload), copies.held(word), f"{kind}, {columns} columns")
        await RisingEdge(dut.clk)


@covers("weight_load.background", "The stationary words are held twice so that a load costs no time")
@BENCH.test("weight_load.swap", pace=list(PACES))
async def loads_beside_moving_words(frame, pace):
    """Loads while words move with the columns of the load before, with gaps in both and stalls; columns that a load
    lacks keep their words."""
    gaps, stalls = (make() for make in PACES[pace])
    rng, copies = pauses.rng("words"), Copies()
    coverage = frame.coverage(cross(KINDS, ("one", "some", "all")))
    loads = frame.driver("load", pauses.scattered(0.2, pauses.rng("load gaps")))
    moving, board = frame.driver("i", gaps), frame.check_stream("o", stalls=stalls)
    for number in range(CASES):
        kind = list(KINDS)[number % len(KINDS)]
        columns = (1, COLS, rng.randint(2, COLS - 1))[number % 3]
        coverage.hit(kind, "one" if columns == 1 else "all" if columns == COLS else "some")
        for beat in load(kind, columns, rng, copies):
            loads.send_bits(beat)
        copies.swap()
        for place in range(rng.randint(1, 8)):
            word = rng.getrandbits(CONFIG.moving_bits)
            moving.send({"word": word, "swap": int(place == 0)})
            board.expect(copies.held(word), f"load {number} of {kind}, word {place}")


@BENCH.test("weight_load.refused", "A load of too many columns would take beats of the next one", skip=not BEYOND)
async def refused_beats(frame):
    """Every last column beyond the PEs, between the beats of loads of every kind, with gaps and stalls: a fault, and
    the loads are as without."""
    rng, copies = pauses.rng("words"), Copies()
    coverage = frame.coverage(map(str, BEYOND))
    loads = frame.driver("load", pauses.scattered(0.2, pauses.rng("load gaps")))
    moving, board = frame.driver("i"), frame.check_stream("o", stalls=pauses.scattered(0.3, pauses.rng("o")))
    faults, waiting = Faults(frame, "load"), [*BEYOND] * 10
    while waiting:
        kind = rng.choice(list(KINDS))
        for beat in load(kind, rng.randint(1, COLS), rng, copies):
            while waiting and rng.random() < 0.5:
                column = waiting.pop()
                wrong = {"last_column": column, "wide": rng.getrandbits(1), "tagged": rng.getrandbits(1)}
                loads.send_bits(changed(LOAD, beat, wrong))
                faults.expect(Fault.PARTITIONS, wrong)
                coverage.hit(str(column))
            loads.send_bits(beat)
            faults.expect(Fault.NONE, kind)
        copies.swap()
        word = rng.getrandbits(CONFIG.moving_bits)
        moving.send({"word": word, "swap": 1})
        board.expect(copies.held(word), f"{kind} among refused beats")


@BENCH.test("weight_load.reset", "Counters that survive would put columns into wrong places", beats=[1, 2, 3])
async def resets(frame, beats):
    """Reset after one, two and three beats of a load, and behind one with its word offered."""
    rng = pauses.rng("words")
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    for again in range(3):
        copies = Copies()
        whole = load("sparse", COLS, rng, copies)
        word = rng.getrandbits(CONFIG.moving_bits)
        for beat in whole if again else whole[:beats]:
            dut.load__payload.value, dut.load__valid.value = beat, 1
            await RisingEdge(dut.clk)
        dut.load__valid.value = 0
        if again:
            dut.i__payload.value, dut.i__valid.value = pack(MOVING, {"word": word, "swap": 1}), 1
            await RisingEdge(dut.clk)
            copies.swap()
            dut.i__valid.value = 0
            await FallingEdge(dut.clk)
            assert resolved(dut.o__valid)
            board.compare(resolved(dut.o__payload), copies.held(word), "behind a reset")
            await RisingEdge(dut.clk)
        await frame.reset()
        await FallingEdge(dut.clk)
        assert not resolved(dut.o__valid)
        assert resolved(dut.load__ready)
        await RisingEdge(dut.clk)
