"""Bench of the RWCs: random instructions and modifiers, the whole state compared in every cycle; corners; resets."""

from itertools import product

from bitpath.golden.tensix.declarations.encodings import INDEX_BITS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.operands.counters import COUNTERS
from bitpath.rtl.tensix.stream.counters import AB, BIAS, DST, SET_BASE, CounterConfig, Rwc, RwcOp
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pauses
from bitpath.verif.tensix.stream.counters import CounterTable, Rwcs

BENCH = UnitBench(Rwc, CounterConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
CASES = cases(300)
REGISTERS = [*AB[CHIP], *DST[CHIP], *BIAS[CHIP], *([SET_BASE[CHIP]] if CHIP in SET_BASE else [])]
NOTHING = {"modifier": 0, "which": 0, "cr": 0, **dict.fromkeys(COUNTERS, 0)}


def random_write(rng):
    """Write one of the unit's registers, or any; clear bits are rare, so that counters grow."""
    register = rng.choice(REGISTERS) if rng.random() < 0.9 else rng.getrandbits(8)
    clears = {**dict.fromkeys(AB[CHIP], 0x8080), **dict.fromkeys(DST[CHIP], 0x8800), **dict.fromkeys(BIAS[CHIP], 0x10)}
    rare = clears.get(register, 0) if rng.random() < 0.7 else 0
    return register, rng.getrandbits(16) & ~rare


@BENCH.test("rwc.instructions", "RWCs: the instruction uses the counters before it", busy=[1.0, 0.5])
async def random_instructions(frame, busy):
    """Random instructions and writes to the modifiers, one a cycle and with gaps; the whole state equal to golden's in
    every cycle."""
    rng = pauses.rng("instructions")
    modifies = RwcOp.MODIFY, RwcOp.MODIFY_KEEPING_PHASE
    numbers = range(8)
    coverage = frame.coverage(
        cross([op.name for op in modifies], numbers)
        + cross(["SET"], range(4))
        + cross(["INCREMENT"], range(3))
        + ["write beside"]
    )
    table = CounterTable(frame, Rwcs(CONFIG), rng)
    for register in REGISTERS[:-1]:
        await table.cycle(write=(register, random_write(rng)[1]))

    def see(fields, writes):
        op = fields["op"]
        if op in modifies:
            coverage.hit(op.name, table.model.number(fields))
            if writes:
                coverage.hit("write beside")
        else:
            for bit in (bit for bit in range(4 if op is RwcOp.SET else 3) if fields["cr"] >> bit & 1):
                coverage.hit(op.name, bit)

    await table.random(CASES, busy, random_write, see)


@BENCH.test("rwc.flags", "Clear goes before C to Cr, which goes before Cr")
async def every_flag(frame):
    """All 256 sets of a modifier's flags, each after SETRWC from all carries."""
    rng = pauses.rng("increments")
    table = CounterTable(frame, Rwcs(CONFIG), rng)
    for flags in product((0, 1), repeat=8):
        a_cr, a_clear, b_cr, b_clear, cr, clear, c_to_cr, phase_clear = flags
        ab = a_cr << 6 | a_clear << 7 | b_cr << 14 | b_clear << 15 | rng.getrandbits(6) | rng.getrandbits(6) << 8
        dst = cr << 10 | clear << 11 | c_to_cr << 12 | phase_clear << 15 | rng.randrange(1024) | 1 << 13
        await table.cycle({**NOTHING, "op": RwcOp.SET, "which": 7, "cr": 7, "src_a": 9, "src_b": 10, "dst": 11})
        await table.cycle(write=(AB[CHIP][1], ab))
        await table.cycle(write=(DST[CHIP][1], dst))
        for op in (RwcOp.MODIFY, RwcOp.MODIFY_KEEPING_PHASE, RwcOp.MODIFY):
            await table.cycle({**NOTHING, "op": op, "modifier": 1})
    await table.cycle()


@BENCH.test("rwc.modifiers", "Wormhole has two bits of index and adds 4; Blackhole has three")
async def every_modifier(frame):
    """Every index with and without the extra bit and the set base."""
    rng = pauses.rng("increments")
    table = CounterTable(frame, Rwcs(CONFIG), rng)
    for number in range(8):
        await table.cycle(write=(AB[CHIP][number], 1 + number))
        await table.cycle(write=(BIAS[CHIP][number], (0, 1, 2, 3, 4, 8, 16, 17)[number]))
    bases = (0, 1) if CHIP in SET_BASE else (0,)
    for base, _, index in product(bases, range(4), range(1 << INDEX_BITS[CHIP])):
        if CHIP is Chip.WORMHOLE:
            await table.cycle(write=(SET_BASE[CHIP], 0xFFFE | base))
        await table.cycle({**NOTHING, "op": RwcOp.MODIFY, "modifier": index})
    await table.cycle()


@BENCH.test("rwc.reset", "A modifier from before would be another program's")
async def resets(frame):
    """Resets of counters and modifiers."""
    rng = pauses.rng("instructions")
    table = CounterTable(frame, Rwcs(CONFIG), rng)

    def probe():
        for op, index in product(RwcOp, range(1 << INDEX_BITS[CHIP])):
            yield {**NOTHING, "op": op, "modifier": index}
        for _ in range(5):
            yield {**table.model.random(rng), "op": RwcOp.SET}

    await table.resets(frame.reset, REGISTERS, probe)
