"""Bench of the queues of a DMA engine: known traces, random schedules, starvation, exact rates, resets.

Every grant is compared with its cycle.
"""

import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3 import QueueConfig, QueuedDescriptor, TrafficClass, descriptor_cycles
from bitpath.golden.trainium3.declarations.dma import DMA_QUEUES
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES, DEFAULT_QUEUES
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueues, DmaQueuesConfig
from bitpath.verif.kit.unit_bench import UnitBench, cases, pauses, resolved
from bitpath.verif.trainium3.dma.dma_queues import (
    HORIZON,
    Player,
    Schedule,
    brief,
    deepest,
    every_token,
    known_schedule,
    of_schedule,
    random_schedule,
)

# Classes with low rates grant rarely.
BENCH = UnitBench(DmaQueues, DmaQueuesConfig, ms=100, patience=2 * HORIZON)
CONFIG = BENCH.config
CASES = cases(200)
KNOWN = "BITPATH_KAT_DIR"


async def played(frame, *plays):
    """Play schedules, each behind a reset."""
    player = Player(frame, CONFIG, pauses.rng("descriptors"))
    for number, play in enumerate(plays):
        if number:
            await player.reset()
        await player.play(play)


@BENCH.test(
    "dma_queues.known_answers",
    "Another author derived them independently",
    skip=KNOWN not in os.environ or CONFIG.queues < DMA_QUEUES,
)
async def known_answers(frame):
    """Eight traces, each grant in its cycle: priorities, turns of equals, classes with rates and bursts, descriptors
    that arrive late."""
    with np.load(Path(os.environ[KNOWN]) / "trn_core_dma.npz") as archive:
        known = dict(archive)
    count = sum(name.endswith("_trace") for name in known)
    await played(frame, *(of_schedule(*known_schedule(known, number)) for number in range(count)))


@BENCH.test(
    "dma_queues.schedules", "A decision depends on arrivals, tokens and turns of the same cycle", number=range(4)
)
async def brief_descriptors(frame, number):
    """Random schedules with descriptors of 1 to 12 cycles and with those of the machine's mover: lengths of 1 byte to
    64 KiB, rates of 0 to the largest, bursts of 0 to the largest, unlimited classes."""
    rng = pauses.rng("schedule")
    await played(frame, *(brief(rng, CONFIG.queues, max(10, CASES // 4)) for _ in range(8)))


@BENCH.test("dma_queues.schedules")
async def descriptors_of_the_machine(frame):
    """Schedules with the mover's times; classes unlimited, tight, stopped or never open."""
    rng = np.random.default_rng(pauses.rng("schedule").getrandbits(32))
    await played(frame, *(of_schedule(random_schedule(rng, 20, CONFIG.queues)) for _ in range(max(2, CASES // 40))))


@BENCH.test("dma_queues.schedules")
async def the_deepest_debts(frame):
    """Each class spends its largest burst, and a descriptor of 64 KiB more."""
    await played(frame, deepest(CONFIG.queues), deepest(CONFIG.queues))


@BENCH.test("dma_queues.tokens", "A token more or less moves a grant by a cycle, or for ever")
async def every_token_counts(frame):
    """Bursts of each single bit spent to the last byte, descriptors of each single bit, buckets that fill at any rate
    down to 1/256 byte a cycle, also from a reset on: grants and their cycles."""
    await played(frame, *every_token(pauses.rng("tokens"), CONFIG.queues))


def waiting(queue, count, size=4096):
    return [QueuedDescriptor(queue=queue, arrival=0, bytes=size)] * count


@BENCH.test("dma_queues.starvation", "The priority is strict")
async def a_busy_queue_starves_those_behind_it(frame):
    """A queue of a lower priority number that always has a descriptor: those behind it are never served."""
    queues = list(DEFAULT_QUEUES)
    queues[1] = QueueConfig(priority=0)
    schedule = Schedule(tuple(queues), DEFAULT_CLASSES, tuple(waiting(1, CASES // 4) + waiting(0, 1)))
    play = of_schedule(schedule)
    assert play.trace[-1][0] == 0
    assert play.trace[-1][2] == CASES // 4 * descriptor_cycles(4096)
    await played(frame, play)


@BENCH.test("dma_queues.rates", "A descriptor takes its tokens when it is granted, below zero too", rate=[997, 5000])
async def the_rate_of_a_class_is_exact(frame, rate):
    """10**5 cycles of a class beside one that takes the rest: bytes are those of the rate to one descriptor."""
    cycles, burst, size = 10**5, 4096, 8192
    queues = list(DEFAULT_QUEUES)
    queues[0] = QueueConfig(priority=0, traffic_class=1)
    classes = (DEFAULT_CLASSES[0], TrafficClass(rate256=rate, burst=burst), *DEFAULT_CLASSES[2:])
    others = waiting(1, cycles // descriptor_cycles(4096))
    schedule = Schedule(tuple(queues), classes, tuple(waiting(0, cycles * rate // 256 // size) + others))
    play = of_schedule(schedule)
    granted = size * sum(row[0] == 0 and row[2] < cycles for row in play.trace)
    late = rate * descriptor_cycles(size) // 256
    assert -late - size <= granted - rate * cycles // 256 <= burst + size
    await played(frame, play)


@BENCH.test("dma_queues.reset", "The tokens of a class outlast its descriptors")
async def resets(frame):
    """Resets with descriptors waiting and a class in debt: queues are empty, buckets full, and queue 0 is next."""
    dut = frame.dut
    player = Player(frame, CONFIG, pauses.rng("descriptors"))
    limited = (TrafficClass(rate256=0, burst=4096), *DEFAULT_CLASSES[1:])
    play = of_schedule(Schedule(DEFAULT_QUEUES, limited, tuple(waiting(0, 1) + waiting(1, 1))))
    assert len(play.trace) == 1
    for _ in range(3):
        await player.play(play)
        await player.reset()
        dut.free.value = 1
        for _ in range(4):
            await FallingEdge(dut.clk)
            assert not resolved(dut.granted), "a grant of before a reset"
            await RisingEdge(dut.clk)
        await player.reset()


@BENCH.test("dma_queues.tokens")
async def a_reset_fills_the_buckets_of_slow_classes(frame):
    """To the token: limits are there before the reset ends, so that no unlimited cycle fills the buckets."""
    play = every_token(pauses.rng("tokens"), CONFIG.queues)[-1]
    player = Player(frame, CONFIG, pauses.rng("descriptors"))

    async def settle_within_the_reset():
        await FallingEdge(frame.dut.clk)
        player.settle(play.priorities, play.classes, play.rates, play.bursts)

    cocotb.start_soon(settle_within_the_reset())
    await player.reset()
    await player.play(play)
