"""Copies as commands of the DGE, with the descriptors that golden makes of them or the error that they must give."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES
from bitpath.golden.trainium3.declarations.memory import SBUF_ADDRESS, SBUF_PARTITION_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.dma.descriptors import descriptors
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.dge import DgeConfig, dge_command, dge_descriptor
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.unit_bench import PACES, Bench, resolved

# Commands for a unit that walks memory, the answers that golden gives to them, and its sticky error.


class Commands:
    """Sends commands and expects golden's answers; a bench has a subclass.

    Attributes
    ----------
    errors : the unit's error codes.
    config : its configuration.
    """

    errors: ClassVar[Any]
    config: ClassVar[Any]

    def __init__(self, frame: Bench, pace: str = "full_speed"):
        gaps, stalls = (make() for make in PACES[pace])
        self.frame, self.dut = frame, frame.dut
        self.driver = frame.driver("i", gaps)
        self.board = frame.check_stream("o", stalls=stalls)

    def answers(self, command: Any) -> Iterable[int]:
        """Return the payloads that must come."""
        raise NotImplementedError

    async def play(self, commands: Iterable[Any]) -> None:
        """Send commands and wait until the unit is empty."""
        for command in commands:
            for answer in self.answers(command):
                self.board.expect(answer, str(command))
            self.driver.send_bits(command.command(self.config))
        await self.driver.drained()
        await FallingEdge(self.dut.clk)
        while resolved(self.dut.busy):
            await FallingEdge(self.dut.clk)
        await RisingEdge(self.dut.clk)

    async def fault(self) -> Any:
        """Return the error that the unit shows."""
        await FallingEdge(self.dut.clk)
        found = self.errors(resolved(self.dut.fault))
        await RisingEdge(self.dut.clk)
        return found

    async def clear(self) -> None:
        self.dut.clear.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.clear.value = 0
        assert await self.fault() is self.errors.NONE


DTYPES = (np.uint8, np.uint16, np.uint32)
"""Elements of each size."""
Pairs = Sequence[tuple[int, int]]
"""Step and num, outermost first."""


@dataclass(frozen=True)
class Side:
    """A pattern in SBUF from partition ``start`` on, or in HBM (``start`` is None) with a step between partitions."""

    pairs: Pairs
    offset: int
    start: int | None = None
    partition_step: int = 0

    def fields(self, config: DgeConfig) -> dict:
        pairs = [{"step": step, "num": num} for step, num in reversed(self.pairs)]
        pairs += [{"step": 0, "num": 1}] * (4 - len(pairs))
        return {
            "pairs": pairs,
            "offset": self.offset,
            "sbuf": self.start is not None,
            "start": self.start or 0,
            "partition_step": self.partition_step,
        }

    def pattern(self, size: int, partitions: int) -> AccessPattern | HbmPattern:
        if self.start is None:
            return HbmPattern(DTYPES[size], self.offset, [(self.partition_step, partitions), *self.pairs])
        return AccessPattern(DTYPES[size], self.start, partitions, self.offset, self.pairs, dma=True)


@dataclass(frozen=True)
class Copy:
    """A command, and what golden says of it."""

    source: Side
    destination: Side
    partitions: int
    size: int
    queue: int = 0

    def command(self, config: DgeConfig) -> int:
        fields = {
            "source": self.source.fields(config),
            "destination": self.destination.fields(config),
            "partitions": self.partitions,
            "size": self.size,
            "queue": self.queue,
        }
        return pack(dge_command(config), fields)

    def fault(self, config: DgeConfig) -> Fault:
        sides = (self.source, self.destination)
        if self.size >= len(DTYPES):
            return Fault.DTYPE
        if not self.partitions or any((side.start or 0) + self.partitions > PARTITIONS for side in sides if side.start):
            return Fault.PARTITIONS
        if any(num == 0 for side in sides for _, num in side.pairs):
            return Fault.NUM
        counts = {int(np.prod([num for _, num in side.pairs])) for side in sides}
        if len(counts) > 1:
            return Fault.COUNT
        try:
            ends = [side.pattern(self.size, self.partitions).end() for side in sides]
        except ValueError:
            return Fault.RANGE
        bits = [config.hbm_bits if side.start is None else config.partition_bits for side in sides]
        return Fault.RANGE if any(end > 1 << each for end, each in zip(ends, bits, strict=True)) else Fault.NONE

    def descriptors(self, config: DgeConfig) -> list[int]:
        """The payloads that the unit must give: golden's descriptors, cut further where the configuration is small."""
        if self.fault(config) is not Fault.NONE:
            return []
        rows = []
        for each in descriptors(
            *(side.pattern(self.size, self.partitions) for side in (self.destination, self.source))
        ):
            for done in range(0, each.bytes, 1 << config.cut_bits):
                rows.append(
                    (
                        each.engine,
                        each.source + done,
                        each.destination + done,
                        min(1 << config.cut_bits, each.bytes - done),
                    )
                )
        in_hbm = self.source.start is None and self.destination.start is None
        found = []
        for i, (engine, source, destination, length) in enumerate(rows):
            fields = {
                "engine": i % DMA_ENGINES if in_hbm else engine,
                "queue": self.queue,
                "source": _address(config, source),
                "destination": _address(config, destination),
                "length": length,
                "first": i == 0,
                "last": i == len(rows) - 1,
            }
            found.append(pack(dge_descriptor(config), fields))
        return found


def _address(config: DgeConfig, address: int) -> dict:
    if address < SBUF_ADDRESS:
        return {"sbuf": 0, "byte": address}
    partition, byte = divmod(address - SBUF_ADDRESS, SBUF_PARTITION_BYTES)
    return {"sbuf": 1, "byte": partition << config.partition_bits | byte}


def factors(count: int, rng: Random) -> list[int]:
    """Return up to four nums with this product, in any order, ones among them."""
    nums = []
    while count > 1 and len(nums) < 3:
        nums.append(rng.choice([each for each in range(2, count + 1) if count % each == 0]))
        count //= nums[-1]
    nums.append(count)
    nums += [1] * rng.randint(0, 4 - len(nums))
    rng.shuffle(nums)
    return nums


def random_side(config: DgeConfig, count: int, partitions: int, size: int, rng: Random) -> Side | None:
    """Return a pattern inside its memory, mostly of long runs; None if it does not fit."""
    nums = factors(count, rng)
    if max(nums) >= 1 << config.num_bits:
        return None
    pairs, step, span = [], 1, 1 << config.step_bits - 1
    for num in reversed(nums):
        step = step if rng.random() < 0.75 else rng.choice((-1, 0, 1, 2, 3))
        if not -span <= step < span:
            return None
        pairs.insert(0, (step, num))
        step *= num
    low = sum(min(0, step * (num - 1)) for step, num in pairs)
    high = sum(max(0, step * (num - 1)) for step, num in pairs)
    in_sbuf = rng.random() < 0.6
    between = 0 if in_sbuf else rng.choice((count, count, count + 1, 0, -count))
    if not -span <= between < span:
        return None
    low, high = low + min(0, between * (partitions - 1)), high + max(0, between * (partitions - 1))
    room = (1 << (config.partition_bits if in_sbuf else config.hbm_bits) - size) - 1 - (high - low)
    if room < 0:
        return None
    start = rng.randint(0, PARTITIONS - partitions) if in_sbuf else None
    return Side(pairs, rng.randint(0, room) - low, start, between)


def random_copy(config: DgeConfig, rng: Random) -> Copy:
    """Return a legal copy of up to some hundred elements."""
    while True:
        count, partitions, size = rng.choice((1, 2, 4, 6, 12, 18, 24)), rng.choice((1, 2, 3, 5, 9)), rng.randrange(3)
        sides = [random_side(config, count, partitions, size, rng) for _ in range(2)]
        if all(sides):
            return Copy(*sides, partitions, size, rng.randrange(16))


def random_command(config: DgeConfig, rng: Random) -> int:
    """Return a legal command, or one with a wrong field."""
    copy = random_copy(config, rng)
    if rng.random() < 0.3:
        copy = replace(copy, **rng.choice(({"size": 3}, {"partitions": 0})))
    return copy.command(config)
