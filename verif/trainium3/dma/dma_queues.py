"""Schedules for the queues of a DMA engine: settings, descriptors with arrivals and durations, and their grants."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import cocotb
import numpy as np
from amaranth.lib import data
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from bitpath.golden.trainium3 import QueueConfig, QueuedDescriptor, TrafficClass, dma_schedule, exact
from bitpath.golden.trainium3.declarations.dma import (
    DMA_QUEUES,
    MAX_BURST,
    MAX_DESCRIPTOR_BYTES,
    MAX_RATE,
    TRAFFIC_CLASSES,
)
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueuesConfig, QueueSettings, descriptor_layout, grant_layout
from bitpath.rtl.trainium3.dma.token_bucket import ClassSettings
from bitpath.verif.kit.streams import StreamDriver
from bitpath.verif.kit.unit_bench import Bench, pack, resolved

# Queues, classes and descriptors of a DMA engine, from known answers or at random.


@dataclass(frozen=True)
class Schedule:
    """The arguments of `dma_schedule`."""

    queues: tuple[QueueConfig, ...]
    classes: tuple[TrafficClass, ...]
    descriptors: tuple[QueuedDescriptor, ...]


def known_schedule(archive, number):
    """Return a schedule of the archive, and its trace as rows (queue, number, grant, end)."""
    part = {key.removeprefix(f"q{number}_"): array for key, array in archive.items() if key.startswith(f"q{number}_")}
    queues = zip(part["priority"].tolist(), part["class"].tolist(), strict=True)
    classes = zip(part["rate256"].tolist(), part["burst"].tolist(), strict=True)
    return Schedule(
        tuple(QueueConfig(priority=priority, traffic_class=kind) for priority, kind in queues),
        tuple(TrafficClass(rate256=None if rate < 0 else rate, burst=burst) for rate, burst in classes),
        tuple(
            QueuedDescriptor(queue=queue, arrival=arrival, bytes=size)
            for queue, _, arrival, size in part["descriptors"].tolist()
        ),
    ), [tuple(row) for row in part["trace"].tolist()]


def random_schedule(rng: np.random.Generator, count: int, queues_used: int = DMA_QUEUES) -> Schedule:
    """Return `count` descriptors in some queues; classes are unlimited, tight, stopped or never open."""
    used = rng.choice(queues_used, rng.integers(1, min(7, queues_used + 1)), replace=False).tolist()
    levels = rng.integers(0, 4, rng.integers(1, 5)).tolist()
    queues = [
        QueueConfig(priority=int(rng.choice(levels)), traffic_class=int(rng.integers(0, 4))) for _ in range(DMA_QUEUES)
    ]
    classes = []
    for _ in range(4):
        rate = None if rng.random() < 0.3 else int(rng.choice([0, 1, 300, 1760, 5000, 65535]))
        classes.append(TrafficClass(rate256=rate, burst=int(rng.choice([0, 1, 64, 512, 4096, 70000]))))
    spread = int(rng.choice([1, 300, 4000]))
    descriptors = sorted(
        (
            QueuedDescriptor(
                queue=int(rng.choice(used)),
                arrival=int(rng.integers(0, spread)),
                bytes=int(rng.choice([1, 64, 2464, 2465, 4096, int(rng.integers(1, 6000))])),
            )
            for _ in range(count)
        ),
        key=lambda each: (each.queue, each.arrival if rng.random() < 0.9 else 0),
    )
    return Schedule(tuple(queues), tuple(classes), tuple(descriptors))


LEAD = 4
"""Cycles between the end of the reset and cycle 0 of a schedule."""
BEHIND = 40
"""Cycles without a grant that are watched after the last one."""
HORIZON = 120_000
"""Cycles of a schedule that are played; a slow class may wait for millions."""
Row = tuple[int, int, int, int]


@dataclass(frozen=True)
class Play:
    """A schedule and its grants before cycle `watched`, as rows (queue, number in the queue, cycle, end)."""

    priorities: Sequence[int]
    classes: Sequence[int]
    rates: Sequence[int | None]
    bursts: Sequence[int]
    descriptors: Sequence[tuple[int, int, int]]
    trace: Sequence[Row]
    watched: int


def of_schedule(schedule: Schedule, trace: Sequence[Row] | None = None) -> Play:
    """A schedule with the durations of the machine's mover, and its trace or golden's."""
    if trace is None:
        grants = dma_schedule(schedule.queues, schedule.classes, schedule.descriptors)
        trace = [(each.queue, each.number, each.grant, each.end) for each in grants]
    first, later = ([row for row in trace if (row[2] < HORIZON) is early] for early in (True, False))
    watched = min([row[2] for row in later[:1]] + [first[-1][3] + BEHIND if first else BEHIND])
    return Play(
        [each.priority for each in schedule.queues],
        [each.traffic_class for each in schedule.queues],
        [each.rate256 for each in schedule.classes],
        [each.burst for each in schedule.classes],
        [(each.queue, each.arrival, each.bytes) for each in schedule.descriptors],
        first,
        watched,
    )


def brief(rng: Random, queues: int, count: int) -> Play:
    """Descriptors of 1 to 12 cycles, so that many decisions fall into few cycles; classes fill and empty."""
    sizes = [rng.choice((1, 200, 4096, MAX_DESCRIPTOR_BYTES)), rng.randrange(1, MAX_DESCRIPTOR_BYTES)]
    rates = [rng.choice((None, None, None, 0, 1, 4000, 30_000, MAX_RATE)) for _ in range(TRAFFIC_CLASSES)]
    bursts = [rng.choice((0, 1, 4096, 100_000, MAX_BURST)) for _ in rates]
    spread = rng.choice((1, 3 * count, 10 * count))
    arrivals = sorted(rng.randrange(spread) for _ in range(count))
    descriptors = [(rng.randrange(queues), arrival, rng.choice(sizes), rng.randint(1, 12)) for arrival in arrivals]
    levels = rng.choices(range(4), k=rng.randint(1, 3))
    priorities = [rng.choice(levels) for _ in range(DMA_QUEUES)]
    classes = [rng.randrange(TRAFFIC_CLASSES) for _ in range(DMA_QUEUES)]
    watched = 14 * count + spread
    trace = exact.dma_schedule(priorities, classes, rates, bursts, descriptors, watched)
    return Play(priorities, classes, rates, bursts, [each[:3] for each in descriptors], trace, watched)


def deepest(queues: int) -> Play:
    """Descriptors of 64 KiB in each class, until its largest burst is spent at the lowest rate."""
    count = (MAX_BURST + 1) // MAX_DESCRIPTOR_BYTES + 2
    kinds = [queue % TRAFFIC_CLASSES for queue in range(DMA_QUEUES)]
    rates, bursts = [1] * TRAFFIC_CLASSES, [MAX_BURST] * TRAFFIC_CLASSES
    descriptors = [(queue, 0, MAX_DESCRIPTOR_BYTES, 2) for queue in range(queues) for _ in range(count)]
    return _equals(kinds, rates, bursts, descriptors, 2 * len(descriptors) + BEHIND)


def every_token(rng: Random, queues: int) -> list[Play]:
    """Bursts of a single bit are spent to the last byte without a rate and at a low one. Then buckets of a byte open
    again: after descriptors that take a few cycles at any rate, of any single bit, and of many tokens at a low rate."""
    kinds = [queue % TRAFFIC_CLASSES for queue in range(DMA_QUEUES)]
    plays = []
    for low in range(0, MAX_BURST.bit_length(), TRAFFIC_CLASSES):
        bursts = [1 << low + k for k in range(TRAFFIC_CLASSES)]
        spent = [(queue, size) for queue, burst in enumerate(bursts) for size in (*_cut(burst - 1), *[1] * 6)]
        descriptors = [(queue, 0, size, 2) for queue, size in spent if queue < queues]
        for rates in ([0] * TRAFFIC_CLASSES, [rng.randint(3, 30) for _ in range(TRAFFIC_CLASSES)]):
            plays.append(_equals(kinds, rates, bursts, descriptors, 2 * len(descriptors) + 10 * BEHIND))
    for _ in range(10):
        rates = [1 + rng.getrandbits(rng.randint(8, 16)) for _ in range(TRAFFIC_CLASSES)]
        filled = [(queue, rng.randint(1, 1 + rate // 64)) for queue, rate in enumerate(rates) for _ in range(10)]
        descriptors = [(queue, 0, size, 2) for queue, size in filled if queue < queues]
        plays.append(_equals(kinds, rates, [1] * TRAFFIC_CLASSES, descriptors, 200))
    # Buckets fill to the last token before a descriptor comes that sees it.
    for _ in range(6):
        rates = [2 + rng.getrandbits(rng.randint(1, 5)) for _ in range(TRAFFIC_CLASSES)]
        comes = [(queue, 300 * turn) for turn in range(6) for queue in range(min(queues, TRAFFIC_CLASSES))]
        descriptors = [(queue, arrival, rng.randint(1, 2), 2) for queue, arrival in comes]
        plays.append(_equals(kinds, rates, [1] * TRAFFIC_CLASSES, descriptors, 1800))
    rates, sizes = [MAX_RATE, 1, 611, 30_011], [[1 << bit for bit in range(16)], [8], [2048], [MAX_DESCRIPTOR_BYTES]]
    descriptors = [(queue, 0, size, 2) for queue in range(min(queues, len(sizes))) for size in (*sizes[queue], 1)]
    return [*plays, _equals(kinds, rates, [1] * TRAFFIC_CLASSES, descriptors, 2000)]


def _cut(size: int) -> list[int]:
    """The largest descriptors, and one of the rest."""
    whole, rest = divmod(size, MAX_DESCRIPTOR_BYTES)
    return [MAX_DESCRIPTOR_BYTES] * whole + [rest] * (rest > 0)


def _equals(
    kinds: Sequence[int],
    rates: Sequence[int],
    bursts: Sequence[int],
    descriptors: Sequence[tuple[int, int, int, int]],
    watched: int,
) -> Play:
    """Descriptors (queue, arrival, bytes, cycles) of queues with one priority, and their grants by the exact twin."""
    priorities = [3] * DMA_QUEUES
    trace = exact.dma_schedule(priorities, kinds, rates, bursts, descriptors, watched)
    return Play(priorities, kinds, rates, bursts, [each[:3] for each in descriptors], trace, watched)


class Feeder:
    """Settings of the queues, and descriptors so that each arrives in its cycle; cycle 0 is `LEAD` cycles behind a reset.

    Parameters
    ----------
    frame : of the test.
    """

    def __init__(self, frame: Bench, config: DmaQueuesConfig, rng: Random):
        self.frame, self.dut, self.config, self.rng = frame, frame.dut, config, rng
        self.drivers: list[StreamDriver] = [frame.driver(f"i__{queue}") for queue in range(config.queues)]
        self._feeds: list[cocotb.task.Task] = []

    def settle(
        self, priorities: Sequence[int], kinds: Sequence[int], rates: Sequence[int | None], bursts: Sequence[int]
    ) -> None:
        """Set each queue's priority and class, and each class's rate and burst."""
        queues = zip(priorities, kinds, strict=True)
        settings = [{"priority": priority, "traffic_class": kind} for priority, kind in queues]
        shape = data.ArrayLayout(QueueSettings, self.config.queues)
        self.dut.queues.value = pack(shape, settings[: self.config.queues])
        limits: list[dict[str, Any]] = [
            {
                "limited": rate is not None,
                "rate": rate if rate is not None else self.rng.randrange(MAX_RATE),
                "burst": burst,
            }
            for rate, burst in zip(rates, bursts, strict=True)
        ]
        self.dut.classes.value = pack(data.ArrayLayout(ClassSettings, TRAFFIC_CLASSES), limits)

    def feed(self, descriptors: Sequence[tuple[int, int, int]]) -> None:
        """Start to send descriptors (queue, arrival, payload), those of a queue in order; to be called behind a reset."""
        for queue, driver in enumerate(self.drivers):
            own = [(arrival, payload) for number, arrival, payload in descriptors if number == queue]
            self._feeds.append(cocotb.start_soon(self._feed(driver, own)))

    async def reset(self) -> None:
        """Reset the unit and forget what waits for it."""
        for driver in self.drivers:
            driver.drop()
        for task in self._feeds:
            task.cancel()
        self._feeds.clear()
        await self.frame.reset()

    async def _feed(self, driver: StreamDriver, descriptors: list[tuple[int, int]]) -> None:
        """Send each descriptor two cycles before it arrives: one to offer it, one to take it."""
        now = -LEAD
        for arrival, payload in descriptors:
            if arrival - 2 > now:
                await ClockCycles(self.dut.clk, arrival - 2 - now)
                # The time is after the edge at which an idle driver looks for a payload.
                await FallingEdge(self.dut.clk)
                now = arrival - 2
            driver.send_bits(payload)


class Player(Feeder):
    """Feeds descriptors, and takes grants as a mover does."""

    def __init__(self, frame: Bench, config: DmaQueuesConfig, rng: Random):
        super().__init__(frame, config, rng)
        self.board = frame.scoreboard("grant", grant_layout(config))
        self.cycle = -LEAD

    async def play(self, play: Play) -> None:
        """Play a schedule from behind a reset; compare each grant and its cycle."""
        self.settle(play.priorities, play.classes, play.rates, play.bursts)
        self._expect(play)
        cycles = [(row[2], row[3]) for row in play.trace]
        await self._until(0)
        self.dut.free.value = 1
        while cycles or self.cycle < play.watched:
            await FallingEdge(self.dut.clk)
            if not resolved(self.dut.granted):
                assert not cycles or self.cycle < cycles[0][0], (
                    f"no grant in cycle {self.cycle}, golden has {cycles[0][0]}"
                )
                await self._until(self.cycle + 1)
                continue
            self.board.got(resolved(self.dut.grant))
            granted, end = cycles.pop(0)
            assert self.cycle == granted, f"a grant in cycle {self.cycle}, golden's is in {granted}"
            await self._until(self.cycle + 1)
            if end > self.cycle:
                self.dut.free.value = 0
                await FallingEdge(self.dut.clk)
                assert not resolved(self.dut.granted), "a grant though the mover is not free"
                await self._until(end)
                self.dut.free.value = 1

    async def reset(self) -> None:
        await super().reset()
        self.cycle = -LEAD

    async def _until(self, cycle: int) -> None:
        """Step to the begin of a cycle."""
        if cycle - self.cycle == 1:
            await RisingEdge(self.dut.clk)
        elif cycle > self.cycle:
            await ClockCycles(self.dut.clk, cycle - self.cycle)
        self.cycle = cycle

    def _expect(self, play: Play) -> None:
        """Expect the grants, and start to feed the descriptors."""
        layout = descriptor_layout(self.config)
        payloads: list[list[int]] = [[] for _ in self.drivers]
        fed = []
        for queue, arrival, size in play.descriptors:
            body = self.rng.getrandbits(self.config.body_bits)
            payloads[queue].append(pack(layout, {"length": size % MAX_DESCRIPTOR_BYTES, "body": body}))
            fed.append((queue, arrival, payloads[queue][-1]))
        for queue, number, _, _ in play.trace:
            self.board.expect(pack(grant_layout(self.config), {"descriptor": payloads[queue][number], "queue": queue}))
        self.feed(fed)
