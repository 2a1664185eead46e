"""Bench of the queues of a DMA engine: known traces, random schedules, starvation, exact rates, resets.

Every grant is compared with its cycle. ``BITPATH_CASES`` sets the descriptors of a random schedule.
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
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dma.dma_queues import HORIZON, Player, brief, deepest, every_token, of_schedule
from bitpath.verif.trainium3.dma.schedules import Schedule, known_schedule, random_schedule

CONFIG = config_from_environment(DmaQueuesConfig)
SIGNATURE = DmaQueues(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "200"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
KNOWN = "BITPATH_KAT_DIR"
PATIENCE = 2 * HORIZON
"""Cycles: classes with low rates grant rarely."""


async def played(dut, *plays):
    """Play schedules, each behind a reset."""
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        player = Player(frame, CONFIG, pauses.rng("descriptors"))
        for number, play in enumerate(plays):
            if number:
                await player.reset()
            await player.play(play)


@covers("dma_queues.known_answers", "Another author derived them independently")
@cocotb.test(**LIMIT, skip=KNOWN not in os.environ or CONFIG.queues < DMA_QUEUES)
async def known_answers(dut):
    """Eight traces, each grant in its cycle: priorities, turns of equals, classes with rates and bursts, descriptors
    that arrive late."""
    with np.load(Path(os.environ[KNOWN]) / "trn_core_dma.npz") as archive:
        known = dict(archive)
    count = sum(name.endswith("_trace") for name in known)
    await played(dut, *(of_schedule(*known_schedule(known, number)) for number in range(count)))


@covers("dma_queues.schedules", "A decision depends on arrivals, tokens and turns of the same cycle")
@cocotb.test(**LIMIT)
@cocotb.parametrize(number=range(4))
async def brief_descriptors(dut, number):
    """Random schedules with descriptors of 1 to 12 cycles and with those of the machine's mover: lengths of 1 byte to
    64 KiB, rates of 0 to the largest, bursts of 0 to the largest, unlimited classes."""
    rng = pauses.rng("schedule")
    await played(dut, *(brief(rng, CONFIG.queues, max(10, CASES // 4)) for _ in range(8)))


@covers("dma_queues.schedules")
@cocotb.test(**LIMIT)
async def descriptors_of_the_machine(dut):
    """Schedules with the mover's times; classes unlimited, tight, stopped or never open."""
    rng = np.random.default_rng(pauses.rng("schedule").getrandbits(32))
    await played(dut, *(of_schedule(random_schedule(rng, 20, CONFIG.queues)) for _ in range(max(2, CASES // 40))))


@covers("dma_queues.schedules")
@cocotb.test(**LIMIT)
async def the_deepest_debts(dut):
    """Each class spends its largest burst, and a descriptor of 64 KiB more."""
    await played(dut, deepest(CONFIG.queues), deepest(CONFIG.queues))


@covers("dma_queues.tokens", "A token more or less moves a grant by a cycle, or for ever")
@cocotb.test(**LIMIT)
async def every_token_counts(dut):
    """Bursts of each single bit spent to the last byte, descriptors of each single bit, buckets that fill at any rate
    down to 1/256 byte a cycle, also from a reset on: grants and their cycles."""
    await played(dut, *every_token(pauses.rng("tokens"), CONFIG.queues))


def waiting(queue, count, size=4096):
    return [QueuedDescriptor(queue=queue, arrival=0, bytes=size)] * count


@covers("dma_queues.starvation", "The priority is strict")
@cocotb.test(**LIMIT)
async def a_busy_queue_starves_those_behind_it(dut):
    """A queue of a lower priority number that always has a descriptor: those behind it are never served."""
    queues = list(DEFAULT_QUEUES)
    queues[1] = QueueConfig(priority=0)
    schedule = Schedule(tuple(queues), DEFAULT_CLASSES, tuple(waiting(1, CASES // 4) + waiting(0, 1)))
    play = of_schedule(schedule)
    assert play.trace[-1][0] == 0
    assert play.trace[-1][2] == CASES // 4 * descriptor_cycles(4096)
    await played(dut, play)


@covers("dma_queues.rates", "A descriptor takes its tokens when it is granted, below zero too")
@cocotb.test(**LIMIT)
@cocotb.parametrize(rate=[997, 5000])
async def the_rate_of_a_class_is_exact(dut, rate):
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
    await played(dut, play)


@covers("dma_queues.reset", "The tokens of a class outlast its descriptors")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Resets with descriptors waiting and a class in debt: queues are empty, buckets full, and queue 0 is next."""
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
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


@covers("dma_queues.tokens")
@cocotb.test(**LIMIT)
async def a_reset_fills_the_buckets_of_slow_classes(dut):
    """To the token: limits are there before the reset ends, so that no unlimited cycle fills the buckets."""
    play = every_token(pauses.rng("tokens"), CONFIG.queues)[-1]
    async with bench(dut, SIGNATURE, patience=PATIENCE) as frame:
        player = Player(frame, CONFIG, pauses.rng("descriptors"))

        async def settle_within_the_reset():
            await FallingEdge(dut.clk)
            player.settle(play.priorities, play.classes, play.rates, play.bursts)

        cocotb.start_soon(settle_within_the_reset())
        await player.reset()
        await player.play(play)
