"""Bench of the load FIFO: every start in a line with every element, random operations, sparse chunks, jumps, resets.

Golden's `LoadFifo` gives the expected registers and bytes.
"""

from dataclasses import dataclass

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import LoadFifo as GoldenFifo
from bitpath.golden.aie_ml_v2.declarations.tile import FIFO_BYTES, LINE_BYTES
from bitpath.rtl.aie_ml_v2.tile.fifos import FIFO_BITS, FLAG_CYCLES, LINE_BITS, LOAD_REQUEST, LoadFifo, LoadFifoConfig
from bitpath.verif.aie_ml_v2.tile.slot_bench import ELEMENTS, SPACE, RoundMemory, number, write_held
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved

BENCH = UnitBench(LoadFifo, LoadFifoConfig, ms=20)
CONFIG = BENCH.config
CASES = cases(400)
STARTS = range(0, LINE_BYTES, max(1, 400 // CASES))


@dataclass(frozen=True)
class Operation:
    """A fill without bytes, a pop of some, or with -1 of two sparse chunks; a jump goes on at a pointer."""

    size: int | None = None
    jump: int | None = None


@dataclass(frozen=True)
class Later:
    """Outputs of an operation when its line comes, and a cycle later."""

    line: int | None
    late: tuple[int, int] | None
    popped: int | None
    held: int


class Table:
    """Plays operations one a cycle; ``pause`` is the share of cycles in which nothing advances."""

    def __init__(self, frame, pause=0.0, sparse=False):
        self.dut, self.pause, self.rng = frame.dut, pause, pauses.rng("pauses")
        self.memory = RoundMemory().fill(pauses.rng("memory"), sparse)
        self.board = frame.scoreboard("o", FIFO_BITS)
        self.fifo, self.now = GoldenFifo(), 0
        self.later, self.flags, self.held = {}, {}, 0
        self.seen = set()

    def start(self, pointer):
        self.fifo = GoldenFifo(pointer, self.fifo.count, self.fifo.data)

    async def play(self, operations):
        for operation in operations:
            while not await self.step(operation):
                pass
            if operation.size == -1:
                await self.wait(CONFIG.latency)
        await self.wait(CONFIG.latency + FLAG_CYCLES)

    async def wait(self, cycles):
        for _ in range(cycles):
            while not await self.step():
                pass

    async def step(self, operation=None, write=None):
        """Play a cycle with an operation, or a write of the held bytes; return whether it advanced."""
        dut, fifo, rng = self.dut, self.fifo, self.rng
        advance = rng.random() >= self.pause
        dut.advance.value, dut.enable.value = advance, operation is not None
        request = {"count": fifo.count, "pointer": fifo.pointer}
        if operation is not None:
            size = operation.size
            request |= {
                "pop": int(size is not None),
                "sparse": int(size == -1),
                "jumps": int(operation.jump is not None),
            }
            request["bytes"] = size if size is not None and size >= 0 else rng.randrange(FIFO_BYTES + 1)
        dut.request.value = pack(LOAD_REQUEST, request) if operation else rng.getrandbits(len(dut.request))
        dut.write.value, dut.write_data.value = (write[0], write[1]) if write else (0, rng.getrandbits(FIFO_BITS))
        now = self.later.get(self.now)
        dut.data.value = rng.getrandbits(LINE_BITS) if now is None or now.line is None else now.line
        await FallingEdge(dut.clk)
        self._see(now, operation)
        if operation is not None:
            after = self._front(operation)
        await RisingEdge(dut.clk)
        if advance:
            self.now += 1
            if operation is not None:
                self.fifo = after
        return advance

    def _see(self, now, operation):
        dut = self.dut
        assert resolved(dut.underflow) == self.flags.get(self.now, 0)
        late = now and now.late
        assert resolved(dut.late) == (late is not None)
        if late is not None:
            assert (resolved(dut.late_count), resolved(dut.late_underflow)) == late
        before = self.later.get(self.now - 1)
        assert resolved(dut.popped) == (before is not None and before.popped is not None)
        if before is not None:
            if before.popped is not None:
                self.board.compare(resolved(dut.o), before.popped, f"cycle {self.now}")
            self.held = before.held
        assert resolved(dut.held) == self.held
        if operation is None:
            assert not resolved(dut.loads)

    def _front(self, operation):
        """Compare the registers of an operation; note its later outputs; return the FIFO after it."""
        dut, fifo, memory, size = self.dut, self.fifo, self.memory, operation.size
        filled = fifo.fill(memory)
        loads = fifo.count <= FIFO_BYTES - LINE_BYTES
        data, underflow, after = np.zeros(0, np.uint8), False, filled
        if size is not None:
            data, underflow, after = fifo.pop_sparse(memory) if size < 0 else fifo.pop(memory, size)
        late = (after.count, int(underflow)) if size == -1 else None
        shown = filled.count if size == -1 else after.count
        if operation.jump is not None:
            after, shown = GoldenFifo(operation.jump), 0
            late = late and (0, late[1])
        assert (resolved(dut.loads), resolved(dut.line)) == (loads, fifo.pointer // LINE_BYTES)
        assert (resolved(dut.next_count), resolved(dut.next_pointer)) == (shown, filled.pointer)
        assert resolved(dut.head) == fifo.head
        line = memory.load(fifo.pointer // LINE_BYTES * LINE_BYTES, LINE_BYTES) if loads else None
        self.flags[self.now + FLAG_CYCLES] = int(underflow and size != -1)
        self.later[self.now + CONFIG.latency] = Later(
            None if line is None else number(line),
            late,
            None if size is None else number(data) & (1 << FIFO_BITS) - 1,
            number(after.data),
        )
        kinds = {None: "fill", -1: "sparse pop"}
        name = kinds.get(size, "pop") + (" with a jump" if operation.jump is not None else "")
        self.seen.update([name, f"{name}, underflow"] if underflow else [name])
        if not loads:
            self.seen.add(f"{name} without a line")
        return after


@BENCH.test("load_fifo.starts", "Elements of 72 and 96 bytes lie at any place of a line")
async def every_start(frame):
    """A fill and pops of each size from every place of a line."""
    table = Table(frame)
    coverage = frame.coverage([f"{size} bytes" for size in ELEMENTS])
    for size in ELEMENTS:
        coverage.hit(f"{size} bytes")
        for start in STARTS:
            await table.play([Operation(0, jump=SPACE - 64 + start), *[Operation()] * 2, *[Operation(size)] * 2])


@BENCH.test("load_fifo.random", "Count and pointer are registers that the next operation reads", pause=[0.0, 0.4])
async def random_operations(frame, pause):
    """Random operations, one a cycle, with and without cycles in which nothing advances; underflow or overflow, lines
    that are not needed."""
    rng = pauses.rng("operations")
    kinds = [
        "fill",
        "pop",
        "pop with a jump",
        "fill with a jump",
        "pop, underflow",
        "fill without a line",
        "pop without a line",
    ]
    table = Table(frame, pause)
    coverage = frame.coverage(kinds)
    table.start(rng.randrange(SPACE))
    operations = [
        Operation(0, 5),
        *[Operation()] * 3,
        Operation(0),
        Operation(40, 7),
        Operation(96),
        Operation(None, 3),
    ]
    for _ in range(CASES):
        size = rng.choice((None, rng.choice(ELEMENTS), rng.choice(ELEMENTS), rng.randrange(FIFO_BYTES + 1)))
        jump = rng.randrange(SPACE) if rng.random() < 0.1 else None
        operations.append(Operation(size, jump))
    await table.play(operations)
    for kind in kinds:
        if kind in table.seen:
            coverage.hit(kind)


@BENCH.test("load_fifo.sparse", "Their masks decide how many bytes leave")
async def sparse_chunks(frame):
    """Compressed chunks of all sizes, behind fills and pops, at any place of a line, with jumps."""
    rng = pauses.rng("operations")
    kinds = ["sparse pop", "sparse pop, underflow", "sparse pop with a jump"]
    table = Table(frame, sparse=True)
    coverage = frame.coverage(kinds)
    operations = []
    for number_of in range(max(4, CASES // 8)):
        operations += [Operation(0, jump=rng.randrange(SPACE)), *[Operation()] * rng.randrange(3)]
        operations += [Operation(-1)] * 3
        operations.append(Operation(-1, rng.randrange(SPACE)) if number_of % 2 else Operation(rng.choice(ELEMENTS)))
    await table.play(operations)
    for kind in kinds:
        if kind in table.seen:
            coverage.hit(kind)


@BENCH.test(
    "load_fifo.written",
    "The FIFO's registers are a program's too",
    "Halves of the register written by a program, with any count",
)
async def written_bytes(frame):
    """A program writes halves of the register, and every count; a short run takes some counts.

    Bytes above the count never come back, and neither do bytes above a pop's size.
    """
    rng = pauses.rng("operations")
    table = Table(frame, 0.2)
    for number_of in range(max(6, CASES // 8)):
        await write_held(table, rng, halves=number_of % 4)
        await table.play([Operation(rng.choice(ELEMENTS)), Operation(rng.choice((None, 7)))])
    for count in range(0, FIFO_BYTES + 1, max(1, 100 // CASES)):
        await write_held(table, rng, 3, count)
        await table.play([Operation(rng.choice(ELEMENTS))])
        await write_held(table, rng, 3, FIFO_BYTES)
        await table.play([Operation(count)])


@BENCH.test("load_fifo.reset", "Nothing of a pop from before a reset may come")
async def resets(frame):
    """Resets with operations at every depth."""
    table = Table(frame)
    for depth in range(1, CONFIG.latency + 3):
        await table.play([Operation(0, jump=100), Operation(), Operation(32)])
        for _ in range(depth):
            await table.step(Operation(96))
        await frame.reset()
        table.fifo, table.later, table.flags, table.held = GoldenFifo(depth), {}, {}, 0
        await table.wait(CONFIG.latency + 2)
