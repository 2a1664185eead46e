"""Bench of the mover of a DMA engine: lengths and places of both ends, casts, additions, exact durations, semaphores, resets.

Every write is compared with golden's.
"""

from itertools import pairwise

from cocotb.triggers import ClockCycles, RisingEdge

from bitpath.golden.trainium3.declarations.dma import MAX_DESCRIPTOR_BYTES
from bitpath.rtl.trainium3.dma.dma_mover import DmaMover, DmaMoverConfig
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.unit_bench import UnitBench, cases, pauses, resolved
from bitpath.verif.trainium3.dma.dma_cast import PAIRS
from bitpath.verif.trainium3.dma.dma_mover import ADDED, PACES, Memories, Move, any_move, placed, refused_moves

BENCH = UnitBench(DmaMover, DmaMoverConfig, ms=100, patience=100_000)
CONFIG = BENCH.config
CASES = cases(60)
ROOM = 1 << CONFIG.address_bits


async def all_written(frame, moves, pace="full_speed"):
    """Send descriptors at a pace, and check every write and the semaphore; return the cycles in which they were taken."""
    dut, (gap, stall) = frame.dut, PACES[pace]
    memories = Memories(
        frame, CONFIG, lambda: resolved(dut.i__valid) & resolved(dut.i__ready), pauses.rng("memory"), gap, stall
    )
    driver = frame.driver("i", pauses.scattered(gap, pauses.rng("descriptor gaps")))
    for move in moves:
        memories.expect(move)
        driver.send_bits(move.payload(CONFIG))
    await driver.drained()
    while memories.target.board.pending:
        await RisingEdge(dut.clk)
    memories.check()
    return memories.taken


@BENCH.test("dma_mover.places", "Each end has an aligner, and a run may lie in a word more than it has beats")
async def every_length(frame):
    """Copies of 1 to 100 bytes at any place, and from each place of a word to each."""
    rng, width = pauses.rng("moves"), CONFIG.beat_bytes
    moves = [placed(rng, CONFIG, Move(0, 0, count)) for count in range(1, min(100, ROOM) + 1)]
    moves += [Move(width + s, width + d, rng.randint(1, 2 * width)) for s in range(width) for d in range(width)]
    await all_written(frame, moves)


@BENCH.test(
    "dma_mover.casts", "A side with narrower elements moves a half or a quarter of a word for each beat", part=range(4)
)
async def casts_of_every_pair(frame, part):
    """Runs of whole and partial beats in all 169 pairs of dtypes."""
    rng = pauses.rng("moves")
    await all_written(frame, [any_move(rng, CONFIG, 4 * CONFIG.beat_bytes, pair) for pair in PAIRS[part::4]])


@BENCH.test("dma_mover.sums", "Transfers of one queue add in order", mode=[mode.name for mode in ADDED])
async def additions_onto_few_words(frame, mode):
    """Additions in BF16 and FP32 of descriptors one after the other onto the same words."""
    rng, name = pauses.rng("moves"), ADDED[WriteMode[mode]]
    moves = []
    for _ in range(CASES // 2):
        move = Move(0, 0, rng.randint(1, 2 * CONFIG.beat_bytes // 4), (name, name), WriteMode[mode])
        source = placed(rng, CONFIG, move).source
        moves.append(Move(source, rng.randrange(4) * move.sizes[1], move.count, move.pair, move.mode))
    await all_written(frame, moves)


@BENCH.test("dma_mover.stream", "The memories may delay both sides at any beat", pace=list(PACES))
async def any_descriptors(frame, pace):
    """Descriptors of any kind at full speed, with gaps of descriptors and words read, stalls of every port, and both;
    the semaphore moves with the last write of each that signals."""
    rng = pauses.rng("moves")
    await all_written(frame, [any_move(rng, CONFIG, 6 * CONFIG.beat_bytes) for _ in range(CASES)], pace)


@BENCH.test("dma_mover.durations", "Small descriptors cost by their number, large ones 64/55 cycles a beat")
async def durations_are_exact(frame):
    """The time from one descriptor to the next is exact: one byte, around the knee, 4 KiB and, in a deep test, 64 KiB,
    at any place, copied and cast."""
    rng = pauses.rng("moves")
    knee = CONFIG.descriptor_cycles * 55 // 64 * CONFIG.beat_bytes
    # The counter has had each of its values after 64 beats.
    long = min(64 * CONFIG.beat_bytes, ROOM - 3 * CONFIG.beat_bytes)
    sizes = [1, knee - CONFIG.beat_bytes, knee, knee + 1, knee + CONFIG.beat_bytes, knee + CONFIG.beat_bytes + 1]
    sizes += [long, 4096]
    moves = []
    for size in (*sizes, MAX_DESCRIPTOR_BYTES):
        if 4 <= size < ROOM - 2 * CONFIG.beat_bytes or size == 1:
            moves += [Move(0, 0, size), Move(1, 3, size), Move(3, 1, size)]
            moves += [
                placed(rng, CONFIG, Move(0, 0, -(-size // 4), pair)) for pair in (("int8", "fp32"), ("fp32", "e5m2"))
            ]
    moves.append(Move(0, 0, 1))
    assert len(moves) > 10
    taken = await all_written(frame, moves)
    durations = [after - before for before, after in pairwise(taken)]
    assert durations == [move.cycles(CONFIG) for move in moves[:-1]]


@BENCH.test(
    "dma_mover.longest",
    "Every counter of bytes and beats needs all of its bits",
    "64 KiB, with length 0, and a beat less, at wrapping addresses: the cycle of its last write and the cycle of "
    "the next descriptor",
)
async def the_longest_descriptor(frame):
    """64 KiB, for which length 0 stands, and a beat less: the last write signals. The first word waits three or four cycles, and
    the next descriptor is taken that much later than golden says. Addresses wrap."""
    rng = pauses.rng("moves")
    most = MAX_DESCRIPTOR_BYTES // CONFIG.beat_bytes
    dut = frame.dut
    for beats, waits in ((most, 3), (most, 4), (most - 1, 3)):
        move = Move(0, 0, beats * CONFIG.beat_bytes)
        dut.i__payload.value, dut.i__valid.value = move.payload(CONFIG), 1
        for port in ("read__ready", "data__valid", "write__ready"):
            getattr(dut, port).value = 1
        await RisingEdge(dut.clk)
        dut.i__valid.value, dut.read__ready.value, dut.data__valid.value = 0, 0, 0
        taken = frame.elapsed
        await ClockCycles(dut.clk, waits)
        dut.read__ready.value, dut.data__valid.value = 1, 1
        await RisingEdge(dut.done)
        assert 0 <= frame.elapsed - taken - beats < 10, "the semaphore moved before the last write, or late"
        await RisingEdge(dut.i__ready)
        assert frame.elapsed + 1 - taken == move.cycles(CONFIG) + waits
        await frame.reset()
    await all_written(frame, [any_move(rng, CONFIG, 4 * CONFIG.beat_bytes) for _ in range(5)])


@BENCH.test("dma_mover.refused", "A refused descriptor reads, writes and signals nothing", skip=not CONFIG.checks)
async def refused_descriptors(frame):
    """A mode and every dtype that there is not, every pair that is not added, bytes that are no whole elements, sums at
    no element's place, each between two descriptors."""
    rng = pauses.rng("moves")
    dut = frame.dut
    coverage = frame.coverage(["OPERATION", "DTYPE", "RANGE"])
    memories = Memories(frame, CONFIG, lambda: resolved(dut.i__valid) & resolved(dut.i__ready), pauses.rng("memory"))
    driver = frame.driver("i")
    for fault, wrong in refused_moves(rng, CONFIG):
        before, behind = (any_move(rng, CONFIG, 2 * CONFIG.beat_bytes) for _ in "ab")
        for move in (before, behind):
            memories.expect(move)
        for move in (before, wrong, behind):
            driver.send_bits(move.payload(CONFIG))
        await driver.drained()
        await RisingEdge(dut.clk)
        assert resolved(dut.fault) == fault.value, wrong
        coverage.hit(fault.name)
        dut.clear.value = 1
        await RisingEdge(dut.clk)
        dut.clear.value = 0
    while memories.target.board.pending:
        await RisingEdge(dut.clk)
    assert resolved(dut.fault) == Fault.NONE.value
    memories.check()
    assert memories.target.board.compared >= 100


@BENCH.test("dma_mover.reset", "Data registers have no reset")
async def resets(frame):
    """Resets 1 to 14 cycles into descriptors: nothing is read, written or signalled of them, and later ones are moved."""
    rng = pauses.rng("moves")
    dut = frame.dut
    for cycles in (1, 3, 6, 9, 14):
        dut.i__payload.value = any_move(rng, CONFIG, 8 * CONFIG.beat_bytes).payload(CONFIG)
        dut.i__valid.value, dut.data__valid.value = 1, 1
        dut.read__ready.value, dut.fetch__ready.value = 1, 1
        for _ in range(cycles):
            await RisingEdge(dut.clk)
        await frame.reset()
        for _ in range(6):
            assert resolved(dut.i__ready), "what was reset is empty, and takes a descriptor"
            for port in ("read__valid", "fetch__valid", "write__valid", "done"):
                assert not resolved(getattr(dut, port)), f"{port} of before a reset"
            await RisingEdge(dut.clk)
    await all_written(frame, [any_move(rng, CONFIG, 4 * CONFIG.beat_bytes) for _ in range(5)])
