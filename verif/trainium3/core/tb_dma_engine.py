"""Bench of a DMA engine: schedules of moves in several queues, memories at every pace, resets.

Every write is compared with golden's, and every grant with its queue and cycle.
"""

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3 import QueueConfig, TrafficClass
from bitpath.golden.trainium3.declarations.dma import MAX_DESCRIPTOR_BYTES
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES, DEFAULT_QUEUES
from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.core.dma_engine import DmaEngine
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.unit_bench import UnitBench, cases, pauses, resolved
from bitpath.verif.trainium3.core.dma_engine import Host, QueuedMove, grants
from bitpath.verif.trainium3.dma.dma_mover import PACES, Move, any_move, placed, refused_moves
from bitpath.verif.trainium3.dma.dma_queues import Schedule, random_schedule

# Classes with low rates grant rarely.
BENCH = UnitBench(DmaEngine, DmaEngineConfig, ms=100, patience=200_000)
CONFIG = BENCH.config
CASES = cases(60)
BEHIND = 60
"""Cycles that are watched behind the last grant."""
MOST = 6 * CONFIG.mover.beat_bytes
"""Bytes of a move."""


def any_schedule(rng, count, spread):
    """Moves in some queues within `spread` cycles; most classes are unlimited, so that most moves are granted."""
    schedule = random_schedule(np.random.default_rng(rng.getrandbits(32)), count, CONFIG.queues)
    queues = sorted({each.queue for each in schedule.descriptors})
    arrivals = sorted(rng.randrange(spread) for _ in range(count))
    return schedule, [
        QueuedMove(rng.choice(queues), arrival, any_move(rng, CONFIG.mover, MOST)) for arrival in arrivals
    ]


async def moved(host, schedule, moves):
    """Move the granted descriptors, and check writes, semaphores, queues; return the cycles of golden's grants and of
    the engine's."""
    expected = grants(CONFIG, schedule, moves)
    for _, move in expected:
        host.memories.expect(move)
    host.start(schedule, moves)
    while host.memories.target.board.pending or len(host.granted) < len(expected):
        await RisingEdge(host.frame.dut.clk)
    for _ in range(BEHIND):
        await RisingEdge(host.frame.dut.clk)
    host.memories.check()
    found = host.granted
    assert [queue for queue, _ in found] == [grant.queue for grant, _ in expected], "queues in another order"
    return [grant.grant for grant, _ in expected], [cycle for _, cycle in found]


@BENCH.test(
    "dma_engine.schedules",
    "The mover's time of a descriptor decides when the queues choose the next one",
    number=range(4),
)
async def schedules(frame, number):
    """Copies, casts and additions in up to four queues, with priorities, turns, rates and bursts: each grant in
    golden's cycle, each write golden's, the semaphore with the last write of each move that signals."""
    rng = pauses.rng("moves")
    host = Host(frame, CONFIG, pauses.rng("memory"))
    compared = 0
    for play in range(4):
        if play:
            await host.reset()
        expected, found = await moved(host, *any_schedule(rng, CASES // 4, rng.choice((1, 200, 2000))))
        assert found == expected, "grants in other cycles"
        compared += len(found)
    assert compared >= CASES // 4


@BENCH.test(
    "dma_engine.pace", "A mover that memories delay takes the next descriptor later, and the same one", pace=list(PACES)
)
async def any_pace(frame, pace):
    """Moves that are all there from the first cycle on, with gaps of words read, stalls of every port, and both."""
    rng = pauses.rng("moves")
    host = Host(frame, CONFIG, pauses.rng("memory"), *PACES[pace])
    schedule, moves = any_schedule(rng, CASES, 1)
    await moved(host, Schedule(schedule.queues, DEFAULT_CLASSES, schedule.descriptors), moves)


@BENCH.test(
    "dma_engine.longest", "Their length is 0 in the queues, and their beats need all bits of the mover's counters"
)
async def the_longest_moves(frame):
    """Moves of 64 KiB and less by odd bytes, which spend a class's burst."""
    rng = pauses.rng("moves")
    longest = min(MAX_DESCRIPTOR_BYTES, 1 << CONFIG.mover.address_bits - 1)
    sizes = (longest, longest - 1, longest // 2 + 1)
    moves = [QueuedMove(1, 0, placed(rng, CONFIG.mover, Move(0, 0, size))) for size in sizes]
    classes = (DEFAULT_CLASSES[0], TrafficClass(rate256=60_000, burst=3 * longest // 2), *DEFAULT_CLASSES[2:])
    queues = (DEFAULT_QUEUES[0], QueueConfig(traffic_class=1), *DEFAULT_QUEUES[2:])
    host = Host(frame, CONFIG, pauses.rng("memory"))
    expected, found = await moved(host, Schedule(queues, classes, ()), moves)
    assert found == expected, "grants in other cycles"


@BENCH.test("dma_engine.refused", "A queue goes on behind them")
async def refused_descriptors(frame):
    """Descriptors that the mover refuses between others of their queue."""
    rng = pauses.rng("moves")
    dut = frame.dut
    host = Host(frame, CONFIG, pauses.rng("memory"))
    wrong = [move for _, move in refused_moves(rng, CONFIG.mover)]
    # Queues of one queue's descriptors keep their order.
    moves = []
    for number, each in enumerate(rng.sample(wrong, len(wrong))):
        moves += [QueuedMove(0, number, any_move(rng, CONFIG.mover, MOST)), QueuedMove(0, number, each)]
    for each in moves[::2]:
        host.memories.expect(each.move)
    host.start(Schedule(DEFAULT_QUEUES, DEFAULT_CLASSES, ()), moves)
    while host.memories.target.board.pending or len(host.granted) < len(moves):
        await RisingEdge(dut.clk)
    host.memories.check()
    faults = {fault.value: each for fault, each in refused_moves(rng, CONFIG.mover)}
    assert resolved(dut.fault) in faults
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    await FallingEdge(dut.clk)
    assert resolved(dut.fault) == Fault.NONE.value
    assert host.memories.target.board.compared >= len(wrong)


@BENCH.test("dma_engine.reset", "Descriptors wait in queues, and runs in the mover")
async def resets(frame):
    """Resets 1 to 13 cycles into a schedule: nothing is granted, read, written or signalled of its moves, and later
    ones are moved."""
    rng = pauses.rng("moves")
    dut = frame.dut
    host = Host(frame, CONFIG, pauses.rng("memory"))
    for cycles in (1, 4, 8, 13):
        schedule, moves = any_schedule(rng, 8, 1)
        host.memories.target.stall = 1.0
        host.start(schedule, moves)
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        await host.reset()
        for _ in range(6):
            await FallingEdge(dut.clk)
            for port in ("granted", "read__valid", "fetch__valid", "write__valid", "done"):
                assert not resolved(getattr(dut, port)), f"{port} of before a reset"
            await RisingEdge(dut.clk)
        host.memories.target.stall = 0.0
        await moved(host, *any_schedule(rng, 8, 40))
        await host.reset()
