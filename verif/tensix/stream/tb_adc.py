"""Bench of the ADCs: random instructions and modifiers, the whole state compared in every cycle; wraps; resets."""

from itertools import product

from bitpath.rtl.tensix.stream.counters import PACK, Adc, AdcOp, CounterConfig
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pauses
from bitpath.verif.tensix.stream.counters import AddressCounters, CounterTable

BENCH = UnitBench(Adc, CounterConfig)
CONFIG = BENCH.config
REGISTERS = PACK[CONFIG.chip]
CASES = cases(300)
FOURS = (AdcOp.SET_FOUR, AdcOp.ADD_FOUR, AdcOp.ADD_CR_FOUR)


def random_write(rng):
    """Write one of the unit's registers, or any."""
    register = rng.choice(REGISTERS) if rng.random() < 0.9 else rng.getrandbits(8)
    return register, rng.getrandbits(16)


@BENCH.test("adc.instructions", "ADCs: three units, two channels, four counters", busy=[1.0, 0.5])
async def random_instructions(frame, busy):
    """Random instructions and writes to the PACK modifiers, one a cycle and with gaps; the whole state equal to
    golden's in every cycle."""
    rng = pauses.rng("instructions")
    coverage = frame.coverage(
        cross(["SETADC"], range(2), range(4))
        + cross([op.name for op in FOURS], ["xy", "zw"])
        + cross(["PACR"], range(4))
        + ["SETADCXX", "UNPACR", "write beside"]
    )
    table = CounterTable(frame, AddressCounters(CONFIG), rng)
    for channel, dimension in product(range(2), range(4)):
        coverage.hit("SETADC", channel, dimension)
        named = {"op": AdcOp.SETADC, "channel": channel, "dimension": dimension}
        await table.cycle(table.model.random(rng) | named)

    def see(fields, writes):
        op = fields["op"]
        details = {AdcOp.SETADC: (fields["channel"], fields["dimension"]), AdcOp.PACR: (fields["modifier"],)}
        details |= dict.fromkeys(FOURS, ("zw" if fields["zw"] else "xy",))
        coverage.hit(op.name, *details.get(op, ()))
        if writes and op is AdcOp.PACR:
            coverage.hit("write beside")

    await table.random(CASES, busy, random_write, see)


@BENCH.test("adc.wraps", "X has 18 bits, Y 13, Z and W 8")
async def every_counter_wraps(frame):
    """Every counter from its largest value on, by each kind of increment, in one unit."""
    rng = pauses.rng("words")
    table = CounterTable(frame, AddressCounters(CONFIG), rng)
    for unit, channel, dimension in product(range(3), range(2), range(4)):
        fields = table.model.random(rng) | {"units": 1 << unit, "channel": channel, "dimension": dimension}
        top = {**fields, "op": AdcOp.SETADC, "value": 0x3FFFF}
        sevens = {"four": [7] * 4, "which": 15, "zw": dimension // 2}
        await table.cycle(write=(REGISTERS[3], 0x57DF if rng.random() < 0.5 else 0x53CF))
        for op in (AdcOp.ADD_FOUR, AdcOp.ADD_CR_FOUR, AdcOp.UNPACR, AdcOp.PACR):
            await table.cycle(top)
            await table.cycle({**fields, **sevens, "op": op, "modifier": 3})
    await table.cycle()


@BENCH.test("adc.pack_flags", "Clear goes before Cr, and Z has none")
async def every_pack_flag(frame):
    """All 256 sets of a PACK modifier's flags."""
    rng = pauses.rng("words")
    table = CounterTable(frame, AddressCounters(CONFIG), rng)
    for flags in product((0, 1), repeat=8):
        places = (4, 5, 10, 11, 12, 13, 14, 15)
        word = sum(flag << place for flag, place in zip(flags, places, strict=True))
        await table.cycle({**table.model.random(rng), "op": AdcOp.SET_FOUR, "units": 7, "zw": 0, "which": 15})
        await table.cycle({**table.model.random(rng), "op": AdcOp.SET_FOUR, "units": 7, "zw": 1, "which": 15})
        await table.cycle(
            {**table.model.random(rng), "op": AdcOp.UNPACR, "units": 7},
            (REGISTERS[0], word | rng.getrandbits(4) | rng.getrandbits(4) << 6),
        )
        for _ in range(2):
            await table.cycle({**table.model.random(rng), "op": AdcOp.PACR, "units": 7, "modifier": 0})
    await table.cycle()


@BENCH.test("adc.reset", "A counter from before would be another program's address")
async def resets(frame):
    """Resets of counters and modifiers."""
    rng = pauses.rng("instructions")
    table = CounterTable(frame, AddressCounters(CONFIG), rng)

    def probe():
        for modifier in range(4):
            yield {**table.model.random(rng), "op": AdcOp.PACR, "units": 7, "modifier": modifier}
        for _ in range(5):
            yield table.model.random(rng)

    await table.resets(frame.reset, REGISTERS, probe)
