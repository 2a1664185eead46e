"""Bench of the ADCs: random instructions and modifiers, the whole state compared in every cycle; wraps; resets.

``BITPATH_CASES`` sets the instructions of a random test.
"""

import os
from itertools import product

import cocotb

from bitpath.rtl.tensix.stream.counters import PACK, Adc, AdcOp, CounterConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.stream.counters import AddressCounters, CounterTable

CONFIG = config_from_environment(CounterConfig)
REGISTERS = PACK[CONFIG.chip]
SIGNATURE = Adc(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "300"))
LIMIT = {"timeout_time": 10, "timeout_unit": "ms"}
FOURS = (AdcOp.SET_FOUR, AdcOp.ADD_FOUR, AdcOp.ADD_CR_FOUR)


def random_write(rng):
    """Write one of the unit's registers, or any."""
    register = rng.choice(REGISTERS) if rng.random() < 0.9 else rng.getrandbits(8)
    return register, rng.getrandbits(16)


@covers("adc.instructions", "ADCs: three units, two channels, four counters")
@cocotb.test(**LIMIT)
@cocotb.parametrize(busy=[1.0, 0.5])
async def random_instructions(dut, busy):
    """Random instructions and writes to the PACK modifiers, one a cycle and with gaps; the whole state equal to
    golden's in every cycle."""
    rng = pauses.rng("instructions")
    async with bench(dut, SIGNATURE, drain=False) as frame:
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


@covers("adc.wraps", "X has 18 bits, Y 13, Z and W 8")
@cocotb.test(**LIMIT)
async def every_counter_wraps(dut):
    """Every counter from its largest value on, by each kind of increment, in one unit."""
    rng = pauses.rng("words")
    async with bench(dut, SIGNATURE, drain=False) as frame:
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


@covers("adc.pack_flags", "Clear goes before Cr, and Z has none")
@cocotb.test(**LIMIT)
async def every_pack_flag(dut):
    """All 256 sets of a PACK modifier's flags."""
    rng = pauses.rng("words")
    async with bench(dut, SIGNATURE, drain=False) as frame:
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


@covers("adc.reset", "A counter from before would be another program's address")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Resets of counters and modifiers."""
    rng = pauses.rng("instructions")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        table = CounterTable(frame, AddressCounters(CONFIG), rng)

        def probe():
            for modifier in range(4):
                yield {**table.model.random(rng), "op": AdcOp.PACR, "units": 7, "modifier": modifier}
            for _ in range(5):
                yield table.model.random(rng)

        await table.resets(frame.reset, REGISTERS, probe)
