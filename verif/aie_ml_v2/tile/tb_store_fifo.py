"""Bench of the store FIFO: every start in a line with every element, random pushes and flushes, written bytes, resets.

Golden's `StoreFifo` gives the expected registers, and memory after each store.
"""

from dataclasses import dataclass

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import StoreFifo as GoldenFifo
from bitpath.golden.aie_ml_v2.declarations.tile import FIFO_BYTES, LINE_BYTES
from bitpath.rtl.aie_ml_v2.tile.fifos import FIFO_BITS, LINE_STORE, STORE_REQUEST, StoreFifo, StoreFifoConfig
from bitpath.verif.aie_ml_v2.tile.slot_bench import ELEMENTS, SPACE, RoundMemory, number, write_held
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved

BENCH = UnitBench(StoreFifo, StoreFifoConfig, ms=20)
CONFIG = BENCH.config
CASES = cases(400)
LONGEST = CONFIG.latency + CONFIG.late
STARTS = range(0, LINE_BYTES, max(1, 400 // CASES))


@dataclass(frozen=True)
class Later:
    """Bytes that a push brings, the store that it makes, and the bytes held after it."""

    data: int
    store: int | None
    held: int


class Table:
    """Plays pushes, which are bytes, and flushes, which are None; ``pause`` is the share of cycles without an advance."""

    def __init__(self, frame, pause=0.0):
        self.dut, self.pause, self.rng = frame.dut, pause, pauses.rng("pauses")
        self.memory = RoundMemory()
        self.board = frame.scoreboard("store", LINE_STORE)
        self.fifo, self.now, self.late = GoldenFifo(), 0, False
        self.later, self.held = {}, 0
        self.seen = set()

    async def play(self, operations, late=False):
        """Play operations that are all late, or none of them."""
        self.late = late
        for operation in operations:
            while not await self.step([operation]):
                pass
        await self.wait(LONGEST + 2)

    async def wait(self, cycles):
        for _ in range(cycles):
            while not await self.step():
                pass

    async def step(self, operation=None, write=None):
        """Play a cycle with an operation in a list, or a write of the held bytes; return whether it advanced."""
        dut, fifo, rng = self.dut, self.fifo, self.rng
        advance = rng.random() >= self.pause
        dut.advance.value, dut.enable.value = advance, operation is not None
        if operation is None:
            dut.request.value = rng.getrandbits(len(dut.request))
        else:
            data = operation[0]
            size = rng.randrange(FIFO_BYTES + 1) if data is None else len(data)
            place = {"bytes": size, "count": fifo.count, "pointer": fifo.pointer}
            dut.request.value = pack(STORE_REQUEST, {"flush": int(data is None), "late": int(self.late)} | place)
        dut.write.value, dut.write_data.value = (write[0], write[1]) if write else (0, rng.getrandbits(FIFO_BITS))
        now = self.later.get(self.now)
        dut.data.value = rng.getrandbits(FIFO_BITS) if now is None or now.data is None else now.data
        await FallingEdge(dut.clk)
        self._see(operation)
        if operation is not None:
            after = self._front(operation[0], advance)
        await RisingEdge(dut.clk)
        if advance:
            self.now += 1
            if operation is not None:
                self.fifo = after
        return advance

    def _see(self, operation):
        dut, before = self.dut, self.later.get(self.now - 1)
        assert resolved(dut.store_valid) == (before is not None and before.store is not None)
        if before is not None:
            self.held = before.held
            if before.store is not None:
                self.board.compare(resolved(dut.store), before.store, f"cycle {self.now}")
        assert resolved(dut.held) == self.held
        if operation is None:
            assert not resolved(dut.overflow)

    def _front(self, data, advance):
        """Compare the registers of an operation; note its later outputs; return the FIFO after it."""
        dut, fifo = self.dut, self.fifo
        memory = self.memory if advance else RoundMemory()
        overflow = False
        if data is None:
            after = fifo.flush(memory)
        else:
            overflow, after = fifo.push(memory, data)
        assert (resolved(dut.next_count), resolved(dut.next_pointer)) == (after.count, after.pointer)
        assert resolved(dut.overflow) == overflow
        written = (after.pointer - fifo.pointer) % SPACE
        line, place = divmod(fifo.pointer, LINE_BYTES)
        store = None
        if written:
            mask = (1 << written) - 1 << place
            stored = memory.load(line * LINE_BYTES, LINE_BYTES)
            bits = number(np.where([mask >> byte & 1 for byte in range(LINE_BYTES)], stored, 0).astype(np.uint8))
            store = pack(LINE_STORE, {"line": line, "data": bits, "mask": mask})
        latency = CONFIG.latency + CONFIG.late * self.late
        brings = None if data is None else number(data)
        self.later[self.now + latency] = Later(brings, store, number(after.data))
        name = "flush" if data is None else "push"
        self.seen.update([f"{name} {'with' if written else 'without'} a store", *(["overflow"] if overflow else [])])
        return after


def element(rng, size):
    return np.frombuffer(rng.randbytes(size), np.uint8)


async def jump(table, pointer):
    """Empty the FIFO, and go on at a pointer."""
    while table.fifo.count:
        await table.play([None])
    table.fifo = GoldenFifo(pointer)


@BENCH.test("store_fifo.starts", "Elements of 72 and 96 bytes lie at any place of a line")
async def every_start(frame):
    """Pushes of each size from every place of a line, then flushes."""
    rng = pauses.rng("elements")
    table = Table(frame)
    coverage = frame.coverage([f"{size} bytes" for size in ELEMENTS])
    for size in ELEMENTS:
        coverage.hit(f"{size} bytes")
        for start in STARTS:
            table.fifo = GoldenFifo(SPACE - 64 + start)
            pushes = [element(rng, size) for _ in range(2)]
            await table.play([*pushes, None, None, None], late=start % 2 == 1)


@BENCH.test("store_fifo.random", "Count and pointer are registers that the next operation reads", pause=[0.0, 0.4])
async def random_operations(frame, pause):
    """Random operations, one a cycle, with and without cycles in which nothing advances; underflow or overflow, lines
    that are not needed."""
    rng = pauses.rng("operations")
    kinds = ["push with a store", "push without a store", "flush with a store", "flush without a store", "overflow"]
    table = Table(frame, pause)
    coverage = frame.coverage(kinds)
    for late in (False, True) * max(2, CASES // 40):
        await jump(table, rng.randrange(SPACE))
        await table.play([None, element(rng, 1), *(element(rng, 128) for _ in range(2))], late)
        operations = []
        for _ in range(20):
            size = rng.choice((*ELEMENTS, 5, rng.randrange(FIFO_BYTES + 1)))
            operations.append(None if rng.random() < 0.4 else element(rng, size))
        await table.play(operations, late)
    for kind in kinds:
        if kind in table.seen:
            coverage.hit(kind)


@BENCH.test("store_fifo.written", "The FIFO's registers are a program's too")
async def written_bytes(frame):
    """Halves of the register written by a program, with any count."""
    rng = pauses.rng("operations")
    table = Table(frame, 0.2)
    for number_of in range(max(6, CASES // 8)):
        await write_held(table, rng, halves=number_of % 4)
        await table.play([element(rng, rng.choice(ELEMENTS)), None])


@BENCH.test("store_fifo.reset", "Nothing of a push from before a reset may come")
async def resets(frame):
    """Resets with operations at every depth."""
    rng = pauses.rng("operations")
    table = Table(frame)
    for depth in range(1, LONGEST + 3):
        table.fifo = GoldenFifo(depth)
        await table.play([element(rng, 96), None], late=depth % 2 == 0)
        for _ in range(depth):
            await table.step([element(rng, 72)])
        await frame.reset()
        table.fifo, table.later, table.held = GoldenFifo(depth), {}, 0
        await table.wait(LONGEST + 2)
