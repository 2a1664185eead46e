"""The host of a core: loads HBM, runs programs on the core and on golden, and compares memories."""

from collections.abc import Sequence
from random import Random

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3.declarations.dma import MAX_BURST, MAX_RATE, TRAFFIC_CLASSES
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.core import PROGRAMS
from bitpath.rtl.trainium3.core.instruction import Engine, semaphores
from bitpath.rtl.trainium3.dot.element_map import MapTable
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.engine_lane import Operator
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.unit_bench import Bench, pack, pauses, resolved
from bitpath.verif.trainium3.array.core_products import fp4_table
from bitpath.verif.trainium3.core.programs.instructions import (
    Copy,
    Instruction,
    Memories,
    Operand,
    Operate,
    Pattern,
    Side,
)
from bitpath.verif.trainium3.dma.dma_queues import Schedule


class Streams:
    """Instructions that a core got since its semaphores were 0, in the order of the program, and their places in the streams."""

    def __init__(self, config: CoreConfig):
        self.counts = [0] * semaphores(config)
        self.places: dict[Engine, list[int]] = {engine: [] for engine in Engine}
        self._program: list[Instruction] = []
        self._ends: dict[int, tuple[int, int]] = {}

    def add(self, instruction: Instruction) -> list[int]:
        """Append an instruction; return the least values of all semaphores with which it starts."""
        waits = [0] * len(self.counts)
        for each in instruction.after:
            ends = self._of_engine(each) if isinstance(each, Engine) else [self._ends[id(each)]]
            for semaphore, value in ends:
                waits[semaphore] = max(waits[semaphore], value)
        own = instruction.semaphore
        self.counts[own] += 1
        self._ends[id(instruction)] = own, self.counts[own]
        self.places[instruction.engine].append(len(self._program))
        # A program may hold equal instructions: they are told apart by their identity while they are kept.
        self._program.append(instruction)
        return waits

    def place(self, engine: Engine, number: int) -> int:
        """Return the place in the program of an engine's instruction by its number."""
        return self.places[engine][number]

    def _of_engine(self, engine: Engine) -> list[tuple[int, int]]:
        """Return the semaphores that count an engine's instructions, with their values behind those that it has."""
        numbers = range(Engine.DMA.value, len(self.counts)) if engine is Engine.DMA else [engine.value]
        return [(number, self.counts[number]) for number in numbers]


class Host:
    """Runs programs, and keeps what golden makes of them in ``memories``; without ``compares`` its caller reads HBM."""

    def __init__(self, frame: Bench, config: CoreConfig, gaps: float = 0.0, *, compares: bool = True):
        self.frame, self.dut, self.config = frame, frame.dut, config
        self.memories = Memories(config)
        self.drivers = {
            engine: frame.driver(port, pauses.scattered(gaps, pauses.rng(port))) for engine, port in PROGRAMS.items()
        }
        self.unused = pauses.rng("unused fields")
        self.word = config.mover.beat_bytes
        self.board = frame.scoreboard("host_data", 8 * self.word) if compares else None
        frame.onlook("host_address")
        self.start()

    def start(self) -> None:
        """Set the inputs that stay, also behind a reset, which clears random states."""
        self.streams = Streams(self.config)
        self.memories.illegal_tag = False
        self.memories.states[:] = 0
        if self.config.has_mx:
            self.dut.fp4_table.value = pack(MapTable, fp4_table())

    def set_limits(self, rng: Random) -> None:
        """Set any priorities, classes and limits of DMA."""
        queues = [{name: rng.randrange(4) for name in ("priority", "traffic_class")} for _ in range(self.config.queues)]
        classes = [
            {
                "limited": rng.getrandbits(1),
                "rate": rng.randint(MAX_RATE // 64, MAX_RATE),
                "burst": rng.randint(0, MAX_BURST),
            }
            for _ in range(TRAFFIC_CLASSES)
        ]
        self._limit(queues, classes)

    def set_schedule(self, schedule: Schedule) -> None:
        """Set golden's queues and classes of DMA."""
        queues = [{"priority": each.priority, "traffic_class": each.traffic_class} for each in schedule.queues]
        classes = [
            {"limited": each.rate256 is not None, "rate": each.rate256 or 0, "burst": each.burst}
            for each in schedule.classes
        ]
        self._limit(queues[: self.config.queues], classes)

    def _limit(self, queues: list[dict[str, int]], classes: list[dict[str, int]]) -> None:
        members = self.frame.signature.members
        self.dut.queues.value = pack(members["queues"].shape, queues)
        self.dut.classes.value = pack(members["classes"].shape, classes)

    async def load(self, rng: Random) -> None:
        """Fill all memories through HBM, with specials, and with numbers near 1 or, at times in the upper half of a partition,
        near the smallest, whose products are subnormal."""
        config, below = self.config, (0, rng.choice((0, 122)))
        upper = [2 * byte // config.partition_bytes % 2 for byte in range(0, config.hbm_bytes, 4)]
        values = [fp32.mixed(rng) if rng.random() < 0.3 else _near(rng, below[each]) for each in upper]
        self.memories.hbm[:] = np.array(values, np.uint32).view(np.uint8)
        await self.write_hbm()
        await self.run(
            [self._sbuf_copy(to_sbuf=True), *self._copy_psum(from_psum=False), self._sbuf_copy(to_sbuf=True)]
        )

    async def write_hbm(self, used: int | None = None) -> None:
        """Write golden's HBM, or its first `used` bytes, to the core's."""
        for address, word in enumerate(self.memories.hbm[:used].reshape(-1, self.word)):
            self.dut.host_address.value = address
            self.dut.host_word.value = int.from_bytes(word.tobytes(), "little")
            self.dut.host_write.value = 1
            await RisingEdge(self.dut.clk)
        self.dut.host_write.value = 0

    async def compare(self, label: str) -> None:
        """Compare all memories: HBM, then SBUF and PSUM through it; and whether a tag was illegal."""
        if self.config.has_sparse:
            assert resolved(self.dut.illegal_tag) == self.memories.illegal_tag, f"{label}: illegal tag"
        await self.compare_hbm(label)
        await self.run([self._sbuf_copy(to_sbuf=False)])
        await self.compare_hbm(f"{label}, SBUF")
        await self.run([*self._copy_psum(from_psum=True), self._sbuf_copy(to_sbuf=False)])
        await self.compare_hbm(f"{label}, PSUM")

    async def compare_hbm(self, label: str) -> None:
        """Compare HBM word by word."""
        assert self.board, "the host does not compare"
        words = self.memories.hbm.reshape(-1, self.word)
        for address, got in enumerate(await self.read_hbm(len(words))):
            self.board.compare(got, int.from_bytes(words[address].tobytes(), "little"), f"{label}, word {address}")

    async def read_hbm(self, count: int) -> list[int]:
        """Return the first words of HBM."""
        words = []
        for address in range(count + 1):
            self.dut.host_address.value = min(address, count - 1)
            await FallingEdge(self.dut.clk)
            if address:
                words.append(resolved(self.dut.host_data))
            await RisingEdge(self.dut.clk)
        return words

    def send(self, instruction: Instruction) -> None:
        """Offer an instruction to its engine alone."""
        waits = self.streams.add(instruction)
        self.drivers[instruction.engine].send_bits(instruction.word(self.config, self.unused, waits))

    def drop(self) -> None:
        """Withdraw the instructions that no engine has taken, for a reset."""
        for driver in self.drivers.values():
            driver.drop()

    async def run(self, program: Sequence[Instruction]) -> int:
        """Run instructions on both; return the cycles that they took."""
        for each in program:
            self.send(each)
            each.run(self.memories)
        return await self.finish()

    async def finish(self) -> int:
        """Wait until all instructions are done; return the cycles."""
        began = self.frame.elapsed
        for driver in self.drivers.values():
            await driver.drained()
        await FallingEdge(self.dut.clk)
        while not resolved(self.dut.idle):
            await RisingEdge(self.dut.clk)
            await FallingEdge(self.dut.clk)
        cycles = self.frame.elapsed - began
        # A fault and counters show a cycle later.
        for _ in range(2):
            await RisingEdge(self.dut.clk)
        return cycles

    async def clear(self) -> None:
        """Clear fault, counters and semaphores of an idle core."""
        self.streams = Streams(self.config)
        self.memories.illegal_tag = False
        self.dut.clear.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.clear.value = 0
        await RisingEdge(self.dut.clk)

    def busy(self) -> list[int]:
        """Return the cycles in which each engine had an instruction."""
        return list(self.frame.signature.members["busy"].shape.from_bits(resolved(self.dut.busy)))

    def fault(self) -> tuple[Fault, int]:
        """Return the first fault and its instruction's place in the program since the last `clear`, 0 without a fault."""
        fault, engine, number = (
            resolved(port) for port in (self.dut.fault, self.dut.fault_engine, self.dut.fault_number)
        )
        return Fault(fault), self.streams.place(Engine(engine), number) if fault else 0

    def _sbuf_copy(self, *, to_sbuf: bool) -> Copy:
        """All of SBUF from the start of HBM, or to it."""
        config = self.config
        words = config.partition_bytes // 4
        row = Pattern(((words // 2, 2), (1, words // 2)))
        sbuf, hbm = Side(row, 0), Side(row, None, words)
        source, destination = (hbm, sbuf) if to_sbuf else (sbuf, hbm)
        return Copy(source=source, destination=destination, partitions=config.size, size=2, after=tuple(Engine))

    def _copy_psum(self, *, from_psum: bool) -> list[Instruction]:
        """All of PSUM's bits to SBUF, or from it, bank after bank."""
        config = self.config
        words, made = config.bank_bytes // 4, []
        for bank in range(config.banks):
            row = Pattern(((words // 2, 2), (1, words // 2)), bank * words)
            psum, sbuf = Operand(row, "uint32", psum=True), Operand(row, "uint32")
            x, result = (psum, sbuf) if from_psum else (sbuf, psum)
            made.append(
                Operate(
                    engine=Engine.VECTOR,
                    x=x,
                    result=result,
                    partitions=config.size,
                    op=Operator.BITWISE_OR,
                    immediate_dtype="uint32",
                    after=tuple(Engine),
                )
            )
        return made


def _near(rng: Random, below: int) -> int:
    """Two BF16 numbers between 1/16 and 16 of any sign, by ``2**-below``; as FP32 of the same size."""
    exponents = range(123 - below, 131 - below)
    return sum((rng.getrandbits(1) << 15 | rng.choice(exponents) << 7 | rng.getrandbits(7)) << 16 * k for k in (0, 1))
