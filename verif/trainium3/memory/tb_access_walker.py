"""Bench of the access walker: every num and sign, both ends of the partition, errors, throughput, paces, resets.

Addresses come from golden's `AccessPattern` before anything is driven.
"""

from itertools import product

from cocotb.triggers import FallingEdge

from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker, WalkConfig
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, covers, cross, pauses, resolved
from bitpath.verif.trainium3.memory.access_walker import Walk, inside, random_walk
from bitpath.verif.trainium3.memory.dge import Commands

BENCH = UnitBench(AccessWalker, WalkConfig)
CONFIG = BENCH.config
CASES = cases(300)
END = 1 << CONFIG.address_bits
START = 2
"""Cycles from a command to its first address."""


class Table(Commands):
    """Sends walks and expects golden's addresses."""

    errors, config = Fault, CONFIG

    def answers(self, walk):
        return walk.addresses(CONFIG)


def sign(step):
    return "negative" if step < 0 else "zero" if step == 0 else "positive"


@BENCH.test(
    "access_walker.levels",
    "A level that ends steps the next one back by the reach of all levels inside it",
    size=[0, 1, 2],
)
async def every_num(frame, size):
    """Nums 1 to 3 in each of the four levels, steps negative, zero and positive in each, elements of 1, 2 and 4 bytes."""
    rng = pauses.rng("walks")
    walks = []
    coverage = frame.coverage([*cross("abcd", (1, 2, 3), ("negative", "zero", "positive"))])
    for nums in product((1, 2, 3), repeat=4):
        walk = None
        while walk is None:
            steps = [rng.choice((-1, 0, 1)) * rng.randint(1, 3) for _ in nums]
            walk = inside(CONFIG, list(zip(steps, nums, strict=True)), size, rng)
        walks.append(walk)
        for level, (step, num) in zip("abcd", walk.pairs, strict=True):
            coverage.hit(level, num, sign(step))
    await Table(frame).play(walks)


@BENCH.test(
    "access_walker.ends",
    "An address past the end would reach the next partition, and a sum that wraps around would come back into this one",
    skip=not CONFIG.checks,
)
async def ends_of_the_partition(frame):
    """The first and the last element of a partition, one element beyond either, limits from 1 byte to the partition;
    the largest reaches of each level and of all."""
    rng = pauses.rng("walks")
    most = (1 << CONFIG.step_bits - 1) - 1
    table = Table(frame)
    coverage = frame.coverage(cross((0, 1, 2), ("first", "last", "before", "beyond", "limit", "below limit")))
    for size in (0, 1, 2):
        last = (END >> size) - 1
        for steps in ((1,), (-1,), (most, -1), (-most - 1, 1), (1, -1, 2, -2)):
            nums = [2] * len(steps)
            pairs = [*((1, 1) for _ in range(4 - len(steps))), *zip(steps, nums, strict=True)]
            at_start, at_end = (inside(CONFIG, pairs, size, rng, where) for where in (0, 1))
            for walk, name in ((at_start, "first"), (at_end, "last")):
                if walk is not None:
                    await table.play([walk])
                    assert await table.fault() is Fault.NONE
                    coverage.hit(size, name)
            for offset, name in (
                (at_start.offset - 1 if at_start and at_start.offset else None, "before"),
                (at_end.offset + 1 if at_end and at_end.offset < last else None, "beyond"),
            ):
                if offset is not None:
                    await table.play([Walk(pairs, offset, size, END)])
                    assert await table.fault() is Fault.RANGE
                    await table.clear()
                    coverage.hit(size, name)
        for limit in (1, 2, 3, 4, 5, END // 2, END - 1):
            walk = Walk([(1, 1)] * 3 + [(1, 2)], max(0, (limit >> size) - 2), size, limit)
            await table.play([walk])
            assert await table.fault() is walk.fault
            coverage.hit(size, "below limit" if walk.fault is Fault.NONE else "limit")
            await table.clear()
    await table.play([random_walk(CONFIG, rng)])


@BENCH.test("access_walker.ends", skip=not CONFIG.checks)
async def far_outside(frame):
    """The largest reaches of each level and of all, to either side: sums that must not wrap around into the partition."""
    rng = pauses.rng("walks")
    span, most = 1 << CONFIG.step_bits - 1, (1 << CONFIG.num_bits) - 1
    table = Table(frame)
    coverage = frame.coverage(cross(range(1, 16), ("down", "up"), (0, 1, 2)))
    for levels, (name, step), size in product(range(1, 16), (("down", -span), ("up", span - 1)), (0, 1, 2)):
        pairs = [(step, most) if levels >> level & 1 else (rng.choice((step, 0)), 1) for level in range(4)]
        low = sum(min(0, step * (num - 1)) for step, num in pairs)
        for offset in (0, (END >> size) - 1, END - 1, min(END - 1, -low)):
            walk = Walk(pairs, offset, size, rng.choice((END, END - 1, 1)))
            await table.play([walk])
            assert await table.fault() is walk.fault
            if walk.fault is Fault.RANGE:
                coverage.hit(levels, name, size)
            await table.clear()
    await table.play([random_walk(CONFIG, rng)])


@BENCH.test(
    "access_walker.errors", "A rejected command gives no address and must be known afterwards", skip=not CONFIG.checks
)
async def a_rejected_command_leaves_no_trace(frame):
    """A size of no element, a num of 0 in each level, both ends left; alone and among good patterns; the first error
    stays until it is cleared."""
    rng = pauses.rng("walks")
    one = [(0, 1)] * 4
    bad = {
        "size": Walk(one, 0, 3, END),
        **{f"num {level}": Walk([*one[:level], (0, 0), *one[level + 1 :]], 0, 0, END) for level in range(4)},
        "range": Walk(one, 1, 0, 1),
        "before": Walk([*one[:3], (-1, 2)], 0, 0, END),
        "size and num": Walk([(0, 0)] * 4, 0, 3, END),
        "num and range": Walk([(0, 0), *one[1:]], 1, 0, 1),
    }
    table = Table(frame)
    coverage = frame.coverage(cross(bad, ("alone", "first", "second")))
    for name, walk in bad.items():
        assert not walk.addresses(CONFIG)
        await table.play([walk])
        assert await table.fault() is walk.fault
        coverage.hit(name, "alone")
        await table.clear()
        other = rng.choice([each for each in bad.values() if each.fault is not walk.fault])
        for place, pair in (("first", (walk, other)), ("second", (other, walk))):
            good = [random_walk(CONFIG, rng) for _ in range(3)]
            await table.play([good[0], pair[0], good[1], pair[1], good[2]])
            assert await table.fault() is pair[0].fault
            coverage.hit(name, place)
            await table.clear()


@covers("access_walker.levels")
@BENCH.test("access_walker.stream", "A stall holds the walk", pace=list(PACES))
async def random_patterns(frame, pace):
    """Patterns with gaps, stalls and both."""
    rng = pauses.rng("walks")
    await Table(frame, pace).play([random_walk(CONFIG, rng) for _ in range(max(1, CASES // 4))])


@BENCH.test("access_walker.throughput", "An engine reads an element a cycle")
async def an_address_in_every_cycle(frame):
    """An address in every cycle from the second one after a command on, over patterns of single elements too."""
    rng = pauses.rng("walks")
    single = [Walk([(0, 1)] * 4, offset, 0, END) for offset in range(6)]
    walks = [*single, *(random_walk(CONFIG, rng) for _ in range(20)), *single]
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    driver = frame.driver("i")
    dut.o__ready.value = 1
    addresses = [address for walk in walks for address in walk.addresses(CONFIG)]
    for walk in walks:
        driver.send_bits(walk.command(CONFIG))
    while not resolved(dut.i__valid):
        await FallingEdge(dut.clk)
    for cycle in range(START):
        assert not resolved(dut.o__valid)
        assert resolved(dut.busy) == (cycle > 0)
        await FallingEdge(dut.clk)
    for address in addresses:
        assert resolved(dut.o__valid), "a cycle without an address"
        assert resolved(dut.busy)
        board.compare(resolved(dut.o__payload), address)
        await FallingEdge(dut.clk)
    assert not resolved(dut.o__valid)
    assert not resolved(dut.busy)


@BENCH.test("access_walker.reset", "Counters have no reset; only the valid bits hide them")
async def resets(frame):
    """Resets before, while and after a pattern is walked, with another one waiting, and with an error set."""
    rng = pauses.rng("walks")
    long = Walk([(0, 2), (0, 2), (1, 2), (1, 3)], 0, 0, END)
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    for cycles in range(1, 8):
        for bad in (False, True):
            dut.o__ready.value = 0
            dut.i__valid.value = 1
            dut.i__payload.value = Walk([(0, 0)] * 4, 0, 0, END).command(CONFIG) if bad else long.command(CONFIG)
            for _ in range(cycles):
                await FallingEdge(dut.clk)
            await frame.reset()
            await FallingEdge(dut.clk)
            assert not resolved(dut.o__valid)
            assert not resolved(dut.busy)
            assert resolved(dut.fault) == Fault.NONE.value
            walk = random_walk(CONFIG, rng)
            dut.i__payload.value, dut.i__valid.value, dut.o__ready.value = walk.command(CONFIG), 1, 1
            await FallingEdge(dut.clk)
            assert resolved(dut.i__ready)
            dut.i__valid.value = 0
            await FallingEdge(dut.clk)
            for address in walk.addresses(CONFIG):
                board.expect(address)
                assert resolved(dut.o__valid)
                board.got(resolved(dut.o__payload))
                await FallingEdge(dut.clk)
            assert not resolved(dut.o__valid)
