"""Counters in lockstep: a unit, golden's state, and instructions for both."""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random
from typing import Any

from amaranth.lib import data
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.encodings import DIMENSIONS, INDEX_BITS, MODIFIERS
from bitpath.golden.tensix.isa.words import decode
from bitpath.golden.tensix.operands import counters as adcs
from bitpath.golden.tensix.operands.counters import (
    COUNTERS,
    Adcs,
    Channel,
    Modifier,
    Rwc,
    apply_modifier,
    incrwc,
    modifier_number,
    setrwc,
)
from bitpath.rtl.tensix.stream.counters import (
    AB,
    ADC_INSTRUCTION,
    ADC_STATE,
    BIAS,
    DST,
    PACK,
    RWC_STATE,
    SET_BASE,
    THREAD_WRITE,
    AdcOp,
    CounterConfig,
    RwcOp,
    rwc_instruction,
)
from bitpath.verif.kit.unit_bench import pack, resolved, width

Fields = dict[str, Any]
"""Fields of the unit's instruction."""
Writes = Callable[[Random], tuple[int, int]]
PAIRS = ("xy", "zw")
ADC_STEPS = {AdcOp.SET_FOUR: adcs.set_four, AdcOp.ADD_FOUR: adcs.add_four, AdcOp.ADD_CR_FOUR: adcs.add_cr_four}
ADC_NAMES = {AdcOp.SET_FOUR: "SETADC{}", AdcOp.ADD_FOUR: "INCADC{}", AdcOp.ADD_CR_FOUR: "ADDRCR{}"}
PACKS = 4
FOUR = data.ArrayLayout(3, 4)


class Rwcs:
    """Golden's RWCs with their modifiers, and the unit's fields."""

    def __init__(self, config: CounterConfig):
        self.chip, self.instruction, self.state_layout = config.chip, rwc_instruction(config), RWC_STATE
        self.restart()

    def restart(self) -> None:
        self.rwc, self.set_base = Rwc(), False
        self.words = {name: [0] * MODIFIERS for name in ("ab", "dst", "bias")}

    @property
    def state(self) -> dict[str, Any]:
        """Fields of the unit's state."""
        rwc = self.rwc
        counters = {name: {"value": getattr(rwc, name), "carry": getattr(rwc, f"{name}_cr")} for name in COUNTERS}
        return counters | {"fidelity_phase": rwc.fidelity_phase, "extra_bit": rwc.extra_bit}

    def step(self, fields: dict[str, Any]) -> None:
        """Do an instruction, given as the unit's fields."""
        op, given = RwcOp(fields["op"]), {name: fields[name] for name in (*COUNTERS, "cr")}
        if op is RwcOp.SET:
            self.rwc = setrwc(self.rwc, which=fields["which"], **given)
        elif op is RwcOp.INCREMENT:
            self.rwc = incrwc(self.rwc, **given | {"cr": fields["cr"] & 7})
        else:
            number = self.number(fields)
            modifier = Modifier(**{name: words[number] for name, words in self.words.items()})
            self.rwc = apply_modifier(self.rwc, modifier, chip=self.chip, fidelity=op is RwcOp.MODIFY)

    def number(self, fields: dict[str, Any]) -> int:
        """Return which modifier an instruction names."""
        return modifier_number(self.rwc, fields["modifier"], chip=self.chip, set_base=self.set_base)

    def write(self, register: int, value: int) -> None:
        """Write a configuration register of the thread."""
        for name, places in (("ab", AB), ("dst", DST), ("bias", BIAS)):
            if register in places[self.chip]:
                self.words[name][places[self.chip].index(register)] = value
        if register == SET_BASE.get(self.chip):
            self.set_base = bool(value & 1)

    def random(self, rng: Random) -> dict[str, Any]:
        """Return the fields of a random instruction."""
        fields = {name: rng.randrange(16) for name in (*COUNTERS, "cr", "which")}
        return {"op": rng.choice([*RwcOp]), "modifier": rng.randrange(1 << INDEX_BITS[self.chip]), **fields}

    def fields_of(self, word: int) -> dict[str, Any]:
        """Return the unit's fields of an instruction word."""
        instruction = decode(word, chip=self.chip)
        op = {"SETRWC": RwcOp.SET, "INCRWC": RwcOp.INCREMENT}.get(instruction.name, RwcOp.MODIFY)
        fields = {name: instruction.fields.get(name, 0) for name in (*COUNTERS, "cr", "which", "modifier")}
        if op is RwcOp.MODIFY:
            fields |= dict.fromkeys(COUNTERS, 0)
        return {"op": op, **fields}


class AddressCounters:
    """Golden's ADCs with their PACK modifiers, and the unit's fields."""

    def __init__(self, config: CounterConfig):
        self.chip, self.instruction, self.state_layout = config.chip, ADC_INSTRUCTION, ADC_STATE
        self.restart()

    def restart(self) -> None:
        self.adcs, self.words = Adcs(), [0] * PACKS

    @property
    def state(self) -> list[list[dict[str, Any]]]:
        """Fields of the unit's state."""
        units = [self.adcs.unit(number) for number in range(3)]
        return [[_counters(each) for each in (unit.channel_0, unit.channel_1)] for unit in units]

    def step(self, fields: dict[str, Any]) -> None:
        """Do an instruction, given as the unit's fields."""
        self.adcs = self.adcs.updated(fields["units"], self._step_of(fields))

    def _step_of(self, fields: dict[str, Any]) -> Callable[[adcs.Adc], adcs.Adc]:
        op, four = AdcOp(fields["op"]), fields["four"]
        if op is AdcOp.SETADC:
            return partial(adcs.setadc, **{name: fields[name] for name in ("channel", "dimension", "value")})
        if op is AdcOp.SETADCXX:
            return partial(adcs.setadcxx, start=fields["value"] & 1023, end=pack(FOUR, four) & 1023)
        if op is AdcOp.PACR:
            return partial(adcs.pacr_modifier, word=self.words[fields["modifier"]])
        if op is AdcOp.UNPACR:
            names = ("ch0_y", "ch0_z", "ch1_y", "ch1_z")
            return partial(adcs.unpacr_increments, **{name: each & 3 for name, each in zip(names, four, strict=True)})
        names = [f"ch{channel}_{dimension}" for channel in range(2) for dimension in PAIRS[fields["zw"]]]
        which = {} if op is AdcOp.ADD_FOUR else {"which": fields["which"]}
        return partial(ADC_STEPS[op], **which, **dict(zip(names, four, strict=True)))

    def write(self, register: int, value: int) -> None:
        """Write a configuration register of the thread."""
        if register in PACK[self.chip]:
            self.words[PACK[self.chip].index(register)] = value

    def random(self, rng: Random) -> dict[str, Any]:
        """Return the fields of a random instruction."""
        bits = {"units": 3, "channel": 1, "dimension": 2, "value": 18, "zw": 1, "which": 4, "modifier": 2}
        drawn = {name: rng.getrandbits(count) for name, count in bits.items()}
        return {"op": rng.choice([*AdcOp]), "four": [rng.randrange(8) for _ in range(4)], **drawn}

    def fields_of(self, word: int) -> dict[str, Any]:
        """Return the unit's fields of an instruction word."""
        instruction = decode(word, chip=self.chip)
        name, given = instruction.name, instruction.fields
        fields = {each: given.get(each, 0) for each in ("units", "channel", "dimension", "value", "which")}
        fields |= {"zw": 0, "four": [0] * 4, "modifier": 0}
        if name == "SETADCXX":
            end = [given["end"] >> 3 * place & 7 for place in range(4)]
            return fields | {"op": AdcOp.SETADCXX, "value": given["start"], "four": end}
        if name == "SETADC":
            return fields | {"op": AdcOp.SETADC}
        zw = name.endswith("ZW")
        op = next(op for op, pattern in ADC_NAMES.items() if pattern.format("ZW" if zw else "XY") == name)
        names = [f"ch{channel}_{dimension}" for channel in range(2) for dimension in PAIRS[zw]]
        return fields | {"op": op, "zw": int(zw), "four": [given[each] for each in names]}


def _counters(channel: Channel) -> dict[str, dict[str, int]]:
    return {name: {"value": getattr(channel, name), "carry": getattr(channel, f"{name}_cr")} for name in DIMENSIONS}


class CounterTable:
    """A counter unit with golden in lockstep: the whole state is compared in every cycle.

    Attributes
    ----------
    seen : the state of the last cycle.
    """

    def __init__(self, frame, model: Rwcs | AddressCounters, rng: Random):
        self.dut, self.model, self._rng = frame.dut, model, rng
        self._board = frame.scoreboard("state", model.state_layout)

    async def cycle(self, fields: dict[str, Any] | None = None, write: tuple[int, int] | None = None) -> None:
        """Play a cycle with an instruction or none, and a write to a register or none."""
        dut, model, rng = self.dut, self.model, self._rng
        bits = rng.getrandbits(width(model.instruction)) if fields is None else pack(model.instruction, fields)
        register, value = (rng.getrandbits(8), rng.getrandbits(16)) if write is None else write
        dut.i__valid.value, dut.i__payload.value = fields is not None, bits
        dut.write__valid.value = write is not None
        dut.write__payload.value = pack(THREAD_WRITE, {"register": register, "value": value})
        await FallingEdge(dut.clk)
        self._board.expect(pack(model.state_layout, model.state))
        self.seen = resolved(dut.state)
        self._board.got(self.seen)
        if fields is not None:
            model.step(fields)
        if write is not None:
            model.write(*write)
        await RisingEdge(dut.clk)

    async def random(self, cases: int, busy: float, random_write: Writes, see: Callable[[Fields, bool], None]) -> None:
        """Play random instructions in a share of the cycles, with writes beside three of ten.

        Parameters
        ----------
        random_write : returns a register and a value.
        see : called before each instruction with its fields, and whether a write stands beside it.
        """
        rng = self._rng
        for _ in range(cases):
            fields = self.model.random(rng) if rng.random() < busy else None
            write = random_write(rng) if rng.random() < 0.3 else None
            if fields is not None:
                see(fields, write is not None)
            await self.cycle(fields, write)
        await self.cycle()

    async def resets(
        self, reset: Callable[[], Any], registers: list[int], probe: Callable[[], Iterable[Fields]]
    ) -> None:
        """Reset after few and after many instructions; the probing instructions must find counters and modifiers at zero."""
        for cycles in (3, 30):
            for register in registers:
                await self.cycle(write=(register, self._rng.getrandbits(16)))
            for _ in range(cycles):
                await self.cycle(self.model.random(self._rng))
            await reset()
            self.model.restart()
            for fields in probe():
                await self.cycle(fields)
        await self.cycle()
