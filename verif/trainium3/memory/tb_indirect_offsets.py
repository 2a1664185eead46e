"""Bench of the indirect offsets: both lists, every count, offsets outside, throughput, paces, resets.

Golden's `indirect_offsets` gives the expected order.
"""

from dataclasses import dataclass

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3.memory.access_pattern import indirect_offsets
from bitpath.rtl.trainium3.memory.indirect_offsets import (
    ROWS,
    TENSOR_ROWS,
    IndirectConfig,
    IndirectOffsets,
    indirect_command,
    indirect_offset,
)
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, covers, cross, pack, pauses, resolved

BENCH = UnitBench(IndirectOffsets, IndirectConfig)
CONFIG = BENCH.config
CASES = cases(100)
END = 1 << CONFIG.offset_bits
GROUPS = {"vector": ROWS, "tensor": TENSOR_ROWS}


@dataclass(frozen=True)
class List:
    """A command and its index, uint32 [32, K]; rows beyond the list are never zero, so that reading one shows."""

    engine: str
    index: np.ndarray
    count: int
    elements: int

    @property
    def command(self) -> int:
        fields = {"tensor": self.engine == "tensor", "count": self.count, "elements": self.elements}
        return pack(indirect_command(CONFIG), fields)

    @property
    def columns(self) -> list[int]:
        used = -(-self.count // GROUPS[self.engine])
        return [
            sum(row << CONFIG.offset_bits * i for i, row in enumerate(each)) for each in self.index.T[:used].tolist()
        ]

    @property
    def offsets(self) -> list[int]:
        if not self.count:
            return []
        found = indirect_offsets(self.index, self.count, engine=self.engine).tolist()
        return [
            pack(
                indirect_offset(CONFIG),
                {"offset": offset, "inside": offset < self.elements, "last": i == self.count - 1},
            )
            for i, offset in enumerate(found)
        ]

    @property
    def leaves(self) -> bool:
        return any(not offset >> CONFIG.offset_bits & 1 for offset in self.offsets)


def random_list(rng, count=None, engine=None, elements=None):
    engine = engine or rng.choice(list(GROUPS))
    count = rng.randint(1, 3 * GROUPS[engine]) if count is None else count
    columns = -(-max(1, count) // GROUPS[engine])
    index = np.array([[rng.randrange(END) for _ in range(columns)] for _ in range(TENSOR_ROWS)], np.uint32)
    return List(engine, index, count, rng.choice((END, END, END // 2, 1)) if elements is None else elements)


class Table:
    """Sends commands and columns and expects golden's offsets."""

    def __init__(self, frame, pace="full_speed"):
        gaps, stalls = (make() for make in PACES[pace])
        self.dut = frame.dut
        self.commands, self.index = frame.driver("i", gaps), frame.driver("index", PACES[pace][0]())
        self.board = frame.check_stream("o", stalls=stalls)

    async def play(self, lists):
        for each in lists:
            for offset in each.offsets:
                self.board.expect(offset, f"{each.engine}, {each.count} offsets below {each.elements}")
            for column in each.columns:
                self.index.send_bits(column)
            self.commands.send_bits(each.command)
        await self.commands.drained()
        while self.board.pending:
            await FallingEdge(self.dut.clk)
        await RisingEdge(self.dut.clk)

    async def outside(self):
        await FallingEdge(self.dut.clk)
        found = resolved(self.dut.outside)
        await RisingEdge(self.dut.clk)
        return bool(found)

    async def clear(self):
        self.dut.clear.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.clear.value = 0
        assert not await self.outside()


@covers(
    "indirect_offsets.order",
    "Offsets go down the rows of a column first; reading along them is the mistake that the guide's example invites",
    "Lists of 16 and of 32 rows, every count up to two columns and one offset, multiples of G or not; the rows "
    "beyond a list hold other offsets",
)
@BENCH.test(
    "indirect_offsets.none",
    "It takes no column from its neighbours",
    "A command of no offsets between others",
    engine=list(GROUPS),
)
async def every_count(frame, engine):
    """Counts of up to two columns and one offset, multiples of G or not, and a command of none between them."""
    rng = pauses.rng("lists")
    counts = range(2 * GROUPS[engine] + 2)
    coverage = frame.coverage(map(str, counts))
    lists = [random_list(rng, count, engine) for count in counts]
    for each in lists:
        coverage.hit(each.count)
    await Table(frame).play([*lists, random_list(rng, 3, engine)])


@BENCH.test("indirect_offsets.long", "An index tile has many columns")
async def long_lists(frame):
    """Lists of up to 300 offsets."""
    rng = pauses.rng("lists")
    most = min((1 << CONFIG.count_bits) - 1, 300)
    counts = (most, most // 2 + 1, most * 3 // 4)
    await Table(frame).play([random_list(rng, count, engine) for engine in GROUPS for count in counts])


@BENCH.test("indirect_offsets.outside", "A scatter must not write there, and the program must learn of it")
async def an_offset_outside_is_marked(frame):
    """The last offset inside, the first one outside and the largest, for operands of 1 element up to all; the flag
    stays until it is cleared."""
    rng = pauses.rng("lists")
    table = Table(frame)
    coverage = frame.coverage(
        [
            *cross(GROUPS, ("largest", "random"), (False, True)),
            *cross(GROUPS, ("last inside",), (False,)),
            *cross(GROUPS, ("first outside",), (True,)),
        ]
    )
    for engine, group in GROUPS.items():
        for elements in (1, 2, END // 2, END - 1, END):
            for name, offset in (("last inside", elements - 1), ("first outside", elements), ("largest", END - 1)):
                if offset < END:
                    index = np.zeros((TENSOR_ROWS, 1), np.uint32)
                    index[rng.randrange(group)] = offset
                    each = List(engine, index, group, elements)
                    await table.play([each])
                    assert await table.outside() == each.leaves == (offset >= elements)
                    coverage.hit(engine, name, each.leaves)
                    await table.play([random_list(rng, 2, engine, END)])
                    assert await table.outside() == each.leaves
                    await table.clear()
        for leaves in (False, True):
            each = random_list(rng, 3 * group, engine, END // 2 if leaves else END)
            await table.play([each])
            assert await table.outside() == leaves
            coverage.hit(engine, "random", leaves)
            await table.clear()


@covers("indirect_offsets.order")
@BENCH.test("indirect_offsets.stream", "A column may come before or after its command", pace=list(PACES))
async def random_lists(frame, pace):
    """Gaps of commands and of columns, stalls, and both."""
    rng = pauses.rng("lists")
    table = Table(frame, pace)
    lists = [random_list(rng) for _ in range(max(1, CASES // 4))]
    await table.play(lists)
    assert await table.outside() == any(each.leaves for each in lists)


@BENCH.test("indirect_offsets.throughput", "An engine reads an element a cycle")
async def an_offset_in_every_cycle(frame):
    """An offset in every cycle, between columns and between commands."""
    rng = pauses.rng("lists")
    lists = [random_list(rng, count) for count in (1, 1, 16, 33, 1, 17, 32, 2, 64, 1)]
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    commands, index = frame.driver("i"), frame.driver("index")
    dut.o__ready.value = 1
    for each in lists:
        commands.send_bits(each.command)
        for column in each.columns:
            index.send_bits(column)
    while not resolved(dut.i__valid):
        await FallingEdge(dut.clk)
    assert not resolved(dut.o__valid)
    await FallingEdge(dut.clk)
    for offset in [offset for each in lists for offset in each.offsets]:
        assert resolved(dut.o__valid), "a cycle without an offset"
        board.compare(resolved(dut.o__payload), offset)
        await FallingEdge(dut.clk)
    assert not resolved(dut.o__valid)


@BENCH.test("indirect_offsets.reset", "The next list starts at row 0")
async def resets(frame):
    """Resets within a column, with the flag set."""
    rng = pauses.rng("lists")
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    for cycles in range(1, 6):
        for ready in (0, 1):
            before, after = random_list(rng, 20, elements=0), random_list(rng, 3)
            dut.o__ready.value, dut.i__valid.value, dut.index__valid.value = ready, 1, 1
            dut.i__payload.value, dut.index__payload.value = before.command, before.columns[0]
            for _ in range(cycles):
                await FallingEdge(dut.clk)
            await frame.reset()
            await FallingEdge(dut.clk)
            assert not resolved(dut.o__valid)
            assert not resolved(dut.outside)
            dut.o__ready.value, dut.i__valid.value, dut.index__valid.value = 1, 1, 1
            dut.i__payload.value, dut.index__payload.value = after.command, after.columns[0]
            await FallingEdge(dut.clk)
            dut.i__valid.value, dut.index__valid.value = 0, 0
            for offset in after.offsets:
                assert resolved(dut.o__valid)
                board.compare(resolved(dut.o__payload), offset)
                await FallingEdge(dut.clk)
            assert not resolved(dut.o__valid)
