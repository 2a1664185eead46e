"""Bench of descriptor generation: random and directed copies, errors, throughput, paces, resets.

Golden's `descriptors` gives the expected ones, cut further where the configuration is small.
"""

from dataclasses import replace
from itertools import product

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.dge import SETUP_STEPS, Dge, DgeConfig, dge_descriptor
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, covers, cross, pauses, resolved, unpack
from bitpath.verif.trainium3.memory.dge import Commands, Copy, Side, random_copy

BENCH = UnitBench(Dge, DgeConfig, ms=20)
CONFIG = BENCH.config
CASES = cases(200)
FIRST = SETUP_STEPS + 5
"""Cycles from a command to the first of several descriptors."""
PARTITION, HBM = 1 << CONFIG.partition_bits, 1 << CONFIG.hbm_bits
MOST = (1 << CONFIG.num_bits) - 1
FARTHEST = (1 << CONFIG.step_bits - 1) - 1


class Table(Commands):
    """Sends copies and expects golden's descriptors."""

    errors, config = Fault, CONFIG

    def answers(self, copy):
        return copy.descriptors(CONFIG)


def place(side):
    return "hbm" if side.start is None else "sbuf"


@covers(
    "dge.runs",
    "A byte outside its run would land beside its place",
    "Random copies between both memories, elements of 1, 2 and 4 bytes, steps negative, zero and one, up to four "
    "pairs; runs that one side breaks, both, or neither",
)
@covers("dge.cut", "A length of 16 bits", "Runs longer than a descriptor, cut from their start")
@BENCH.test("dge.stream", "A stall holds the walk of both sides", "Gaps, stalls and both", pace=list(PACES))
async def random_copies(frame, pace):
    """Both memories on both sides, elements of each size, runs that one side breaks, both, or neither."""
    rng = pauses.rng("copies")
    coverage = frame.coverage(
        [*cross(("hbm", "sbuf"), ("hbm", "sbuf"), (0, 1, 2)), "an element each", "cut", "between"]
    )
    copies, count = [], max(60, CASES // 2)
    while len(copies) < count or (len(copies) < 20 * count and not all(coverage.counts.values())):
        copy = random_copy(CONFIG, rng)
        copies.append(copy)
        coverage.hit(place(copy.source), place(copy.destination), copy.size)
        rows = [unpack(dge_descriptor(CONFIG), each) for each in copy.descriptors(CONFIG)]
        lengths = {row.length for row in rows}
        kinds = {1 << copy.size: "an element each", 1 << CONFIG.cut_bits: "cut"}
        coverage.hit(kinds.get(max(lengths), "between"))
    await Table(frame, pace).play(copies)


def row(step=1, num=MOST, **place):
    return Side([(step, num)], **({"offset": 0} | place))


@covers("dge.corners", "The addresses of two partitions are next to each other, and a descriptor must not cross")
@covers("dge.seams")
@BENCH.test("dge.cut")
async def directed_copies(frame):
    """Rows to partitions, single elements, merged pairs and pairs that continue by chance, a run to the end of a
    partition and on in the next, both ends of both memories, 128 partitions, HBM to HBM."""
    wide = min(MOST, PARTITION // 4)
    grid = [(3, 2), (1, 3)]
    # 32 elements in pieces of two; the source goes on in each partition where it ended in the one before.
    seam = Side([(-8, 4), (-2, 4), (1, 2)], 86, partition_step=-28)
    copies = {
        "rows": Copy(row(offset=3, partition_step=MOST), row(offset=0, start=0), 9, 1),
        "steps of two": Copy(row(partition_step=MOST), row(2, start=120), 8, 1),
        "backwards": Copy(row(-1, offset=MOST), row(start=1), 2, 0),
        "repeats": Copy(row(0), row(start=0), 3, 2),
        "pairs merge": Copy(Side(grid, 0, partition_step=6), Side([(1, 6)], 2, 5), 4, 0),
        "pairs do not": Copy(Side([(4, 2), (1, 3)], 0, partition_step=6), Side([(1, 6)], 2, 5), 4, 0),
        "inner pairs of one": Copy(Side([(9, 1), (1, 3), (5, 1), (7, 1)], 0), Side([(1, 3)], 0, 0), 1, 1),
        "continues by chance": Copy(
            Side([(5, 2), (3, 2), (1, 2)], 0), Side([(1, 8)] if MOST > 7 else [(2, 4), (1, 2)], 0, 0), 1, 0
        ),
        "elements alone": Copy(Side([(0, 1)] * 4, 1), Side([(0, 1)], 1, 127), 1, 0),
        "a run ends with the partition": Copy(
            row(offset=0, partition_step=MOST), row(offset=PARTITION - MOST, start=3), 2, 0
        ),
        "whole partitions": Copy(seam, Side([(8, 4), (2, 4), (1, 2)], 0, 3), 3, min(2, CONFIG.partition_bits - 5)),
        "HBM to HBM": Copy(row(partition_step=MOST), row(offset=HBM // 2, partition_step=MOST), 9, 0),
        "one descriptor": Copy(row(num=2, partition_step=2), row(num=2, offset=9, partition_step=2), 3, 0),
        "ends of HBM": Copy(row(offset=HBM - MOST), row(offset=0), 1, 0),
        "ends of partitions": Copy(row(offset=PARTITION - MOST, start=127), row(offset=0, start=0), 1, 0),
        "many engines": Copy(Side([(0, 1)], 0, partition_step=0), Side([(1, 1)], 0, 0), 128, 0),
        "HBM down": Copy(row(offset=HBM - wide, num=wide, partition_step=-wide), row(num=wide, start=0), 4, 0),
    }
    coverage = frame.coverage(copies)
    table = Table(frame)
    for name, copy in copies.items():
        for queue in (0, 15):
            await table.play([replace(copy, queue=queue)])
            assert await table.fault() is copy.fault(CONFIG) is Fault.NONE, name
        coverage.hit(name)


@BENCH.test("dge.errors", "A rejected command leaves no descriptor")
async def a_rejected_command_leaves_no_trace(frame):
    """A wrong size, partition, num of each pair of each side, count, and range of each memory to both sides; alone and
    among good copies; the first error stays until it is cleared."""
    rng = pauses.rng("copies")
    good = Copy(row(offset=3, partition_step=1), row(offset=1, start=4), 2, 0)
    bad = {
        "size": replace(good, size=3),
        "no partition": replace(good, partitions=0),
        "source's partitions": replace(good, source=row(start=126), partitions=3),
        "destination's partitions": replace(good, destination=row(start=127), partitions=2),
        **{
            f"num of the {name}, pair {i}": replace(
                good, **{name: Side([(1, 1)] * i + [(1, 0)] + [(1, 1)] * (3 - i), 0)}
            )
            for name in ("source", "destination")
            for i in range(4)
        },
        "count": replace(good, source=row(num=MOST - 1)),
        "count of pairs": replace(good, destination=Side([(1, MOST), (1, 2)], 0, 3)),
        "large counts": replace(
            good,
            source=Side([(0, MOST), (0, MOST), (0, MOST), (0, MOST - 2)], 0),
            destination=Side([(0, MOST), (0, MOST), (0, MOST - 1), (0, MOST - 1)], 0),
        ),
        "before": replace(good, source=row(-1, offset=MOST - 2)),
        "beyond": replace(good, destination=row(offset=PARTITION - MOST + 1, start=3)),
        "beyond HBM": replace(good, source=row(offset=HBM - 2 * MOST + 1, partition_step=MOST)),
        "before HBM": replace(good, destination=row(offset=0, partition_step=-1)),
        "far above": replace(
            good, source=Side([(FARTHEST, MOST)], 0, partition_step=FARTHEST), destination=row(), partitions=128
        ),
        "far below": replace(good, destination=Side([(-FARTHEST, MOST)], 0, partition_step=-FARTHEST), partitions=128),
        "far up in a partition": replace(good, destination=Side([(FARTHEST, MOST)], 0, 0)),
        "size and partitions": replace(good, size=3, partitions=0),
        "count and range": replace(good, source=row(-1, num=MOST - 1)),
        "partitions and num": Copy(Side([(0, 0)], 0), Side([(0, 0)], 0, 0), 0, 0),
    }
    table = Table(frame)
    coverage = frame.coverage(cross(bad, ("alone", "first", "second")))
    for name, copy in bad.items():
        assert copy.fault(CONFIG) is not Fault.NONE, name
        await table.play([copy])
        assert await table.fault() is copy.fault(CONFIG), name
        coverage.hit(name, "alone")
        await table.clear()
        other = rng.choice([each for each in bad.values() if each.fault(CONFIG) is not copy.fault(CONFIG)])
        for order, pair in (("first", (copy, other)), ("second", (other, copy))):
            await table.play([random_copy(CONFIG, rng), pair[0], good, pair[1], random_copy(CONFIG, rng)])
            assert await table.fault() is pair[0].fault(CONFIG), name
            coverage.hit(name, order)
            await table.clear()


@BENCH.test("dge.levels", "A level that ends goes back by the reach of all levels inside it")
async def every_level(frame):
    """Each of the four levels of each side with its largest num, between levels that do not join, steps of both signs."""
    rng = pauses.rng("copies")
    table = Table(frame)
    coverage = frame.coverage(cross(("source", "destination"), range(4)))
    for name, level in product(("source", "destination"), range(4)):
        for num in (MOST, max(2, MOST // 2)):
            nums = [2] * level + [num] + [2] * (3 - level)
            for steps in ((3, 9, 5, 1), (-2, 7, -9, 2), (1, 2, 3, 4), (9, 1, 7, -1)):
                pairs = list(zip(steps, nums, strict=True))
                low = sum(min(0, step * (each - 1)) for step, each in pairs)
                spread = Side(pairs, -low + rng.randrange(4), partition_step=1)
                rows = Side([(0, each) for each in nums], rng.randrange(8), 2)
                sides = (spread, rows) if name == "source" else (rows, spread)
                copy = Copy(*sides, 2, 0)
                await table.play([copy])
                assert await table.fault() is copy.fault(CONFIG) is Fault.NONE
        coverage.hit(name, level)


@BENCH.test("dge.seams", "What continues by its addresses alone joins, but never over the end of a partition")
async def a_step_almost_of_the_run(frame):
    """Steps that differ in one bit from that of the run; whole partitions in pieces of two, each at both sides where
    the one before it ended."""
    span = 1 << CONFIG.step_bits
    table = Table(frame)
    coverage = frame.coverage(cross(("source", "destination"), ("one", "run")))
    for name, bit, (kind, run) in product(
        ("source", "destination"), range(CONFIG.step_bits), (("one", []), ("run", [(7, 7), (1, 7)]))
    ):
        step = (49 if run else 1) ^ 1 << bit
        step -= span if step >= span // 2 else 0
        almost = Side([(step, 2), *run], max(0, -step))
        rows = Side([(49, 2), *run] if run else [(1, 2)], 0)
        copy = Copy(*((almost, rows) if name == "source" else (rows, almost)), 1, 0)
        await table.play([copy])
        assert await table.fault() is copy.fault(CONFIG) is Fault.NONE
        coverage.hit(name, kind)


@BENCH.test("dge.reach", "A sum that wraps around would come back into the memory")
async def far_outside(frame):
    """The largest reaches of every set of levels and of the partitions, to both sides, in both memories."""
    rng = pauses.rng("copies")
    table = Table(frame)
    refused = {"down": 0, "up": 0}
    for name, levels, (way, step) in product(
        ("source", "destination"), range(1, 32), (("down", -FARTHEST - 1), ("up", FARTHEST))
    ):
        nums = [MOST if levels >> level & 1 else 1 for level in range(4)]
        start = None if levels & 16 or rng.getrandbits(1) else 0
        partitions = rng.randint(16, 128) if levels & 16 else 1
        pairs = [(step if num > 1 else rng.choice((step, -step - 1)), num) for num in nums]
        far = Side(pairs, rng.randrange(PARTITION), start, step if start is None else 0)
        rows = Side([(0, num) for num in nums], rng.randrange(PARTITION), 0)
        sides = (far, rows) if name == "source" else (rows, far)
        copy = Copy(*sides, partitions, rng.randrange(3))
        if copy.fault(CONFIG) is not Fault.NONE:
            await table.play([copy])
            assert await table.fault() is copy.fault(CONFIG)
            await table.clear()
            refused[way] += 1
    assert min(refused.values()) > 40
    await table.play([random_copy(CONFIG, rng)])


@BENCH.test("dge.counts", "The count is the widest number of the unit")
async def large_counts(frame):
    """Thousands of elements in four pairs, joined in one pair and in runs of one element."""
    rng = pauses.rng("copies")
    table = Table(frame)
    copies = []
    many = min(MOST, 7)
    for nums in ([many] * 4, [many, 1, many, many]):
        pairs = [(0, num) for num in nums]
        copies.append(Copy(Side(pairs, 1), Side(pairs, 2, 3), 1, 0))
    for first, second, third in product(range(2, min(MOST, 9) + 1), repeat=3):
        run = [(first * second, third), (first, second), (1, first)]
        if first * second * third <= HBM:
            copies.append(Copy(Side(run, 0), Side(run, 0), 1, 0))
    copies += [Copy(Side([(0, 1)], 1, partition_step=1), Side([(1, 1)], 0, 0), rng.randint(16, 128), 0) for _ in "abcd"]
    await table.play(copies)
    assert await table.fault() is Fault.NONE


@BENCH.test("dge.throughput", "The queues take a descriptor a cycle")
async def a_descriptor_in_every_cycle(frame):
    """The cycle of the first descriptor, and one in every cycle behind it: whole rows, merged pairs, runs of two bytes."""
    wide = min(MOST, 1 << CONFIG.cut_bits)
    copies = [
        Copy(row(num=wide, partition_step=wide), row(num=wide, start=0), 9, 0),
        Copy(Side([(3, 2), (1, 3)], 0, partition_step=7), Side([(2, 3), (1, 2)], 0, 8), 9, 0),
        Copy(row(partition_step=MOST), row(2, start=120), 8, 1),
    ]
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    for copy in copies:
        expected = copy.descriptors(CONFIG)
        dut.o__ready.value = 1
        dut.i__payload.value, dut.i__valid.value = copy.command(CONFIG), 1
        await FallingEdge(dut.clk)
        assert resolved(dut.i__ready)
        assert not resolved(dut.busy)
        for _ in range(FIRST):
            await RisingEdge(dut.clk)
            dut.i__valid.value = 0
            await FallingEdge(dut.clk)
            assert resolved(dut.busy)
            assert not resolved(dut.i__ready)
        for each in expected:
            assert resolved(dut.o__valid), "a cycle without a descriptor"
            board.compare(resolved(dut.o__payload), each)
            await FallingEdge(dut.clk)
        assert not resolved(dut.o__valid)
        assert not resolved(dut.busy)
        await RisingEdge(dut.clk)


@BENCH.test("dge.reset", "Counters have no reset; only the state hides them")
async def resets(frame):
    """Resets in every step of the setup and of the walk, with an offer waiting, and with an error set."""
    rng = pauses.rng("copies")
    long = Copy(row(2, num=3, partition_step=1), row(num=3, start=0), 9, 0)
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    for cycles in range(1, FIRST + 8):
        for copy in (long, replace(long, partitions=0)):
            dut.o__ready.value = rng.getrandbits(1)
            dut.i__valid.value, dut.i__payload.value = 1, copy.command(CONFIG)
            for _ in range(cycles):
                await RisingEdge(dut.clk)
            await frame.reset()
            await FallingEdge(dut.clk)
            assert not resolved(dut.o__valid)
            assert not resolved(dut.busy)
            assert resolved(dut.fault) == Fault.NONE.value
            after = random_copy(CONFIG, rng)
            await RisingEdge(dut.clk)
            dut.o__ready.value, dut.i__valid.value, dut.i__payload.value = 1, 1, after.command(CONFIG)
            await RisingEdge(dut.clk)
            dut.i__valid.value = 0
            for each in after.descriptors(CONFIG):
                board.expect(each)
            await FallingEdge(dut.clk)
            while resolved(dut.busy):
                if resolved(dut.o__valid):
                    board.got(resolved(dut.o__payload))
                await FallingEdge(dut.clk)
            assert not board.pending
            await RisingEdge(dut.clk)
