"""RWCs of a thread: counters of rows of SrcA, SrcB and Dst, fidelity phase and extra modifier bit.

Ref: tt-isa-documentation 3930471, RWCs, SETRWC, INCRWC.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import (
    CHANNELS,
    DIMENSIONS,
    DST_BITS,
    INDEX_BITS,
    MODIFIER_BITS,
    MODIFIERS,
    PACK_WORD_BITS,
    PHASE_BITS,
    SRC_BITS,
    THREAD_FIELDS,
    UNITS,
    WIDTHS,
)
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.rtl.common.unit import Covered, Judge, Unit

# Numbers of the thread's configuration registers that hold address modifiers; SETC16 writes the registers.


THREAD_WRITE = data.StructLayout({"register": 8, "value": 16})
"""Layout of a write to a thread's configuration register; units leave writes to other registers than their own alone."""
_NUMBERS = {
    chip: {name: [place.register for place in places] for name, places in fields.items()}
    for chip, fields in THREAD_FIELDS.items()
}
AB, DST, BIAS, PACK = (
    {chip: numbers[f"{name}_modifier"] for chip, numbers in _NUMBERS.items()} for name in ("ab", "dst", "bias", "pack")
)
"""Registers of the modifiers, by number."""
SET_BASE = {chip: register for chip, numbers in _NUMBERS.items() for register in numbers["modifier_base"]}
"""Register whose bit 0 is ADDR_MOD_SET_Base; Blackhole has none."""


@dataclass(frozen=True, kw_only=True)
class CounterConfig:
    """Configuration of a thread's counters.

    Attributes
    ----------
    chip : decides bits of a modifier's index and numbers of the thread's configuration registers.
    """

    chip: Chip = Chip.WORMHOLE


# A counter and its carry after an instruction, the step that RWCs and ADCs share.
#
# ::
#
#     enable   clear              value = carry = 0
#              load               value = carry = increment
#              copy               value = carry = value + increment
#              carry              value = carry = carry + increment
#              none of these      value = value + increment
#
# Earlier rows go first; all is modulo the counter's width.


def counter_layout(bits: int) -> data.StructLayout:
    """Layout of a counter: its value, and its Cr as ``carry``."""
    return data.StructLayout({"value": bits, "carry": bits})


FLAGS = ("enable", "clear", "load", "copy", "carry")


class CounterStep(wiring.Component):
    """It is combinational, with one adder.

    Parameters
    ----------
    bits : width of the counter.

    Members
    -------
    counter : In(counter_layout)
    enable, clear, load, copy, carry : In(1)
    increment : In(bits)
    after : Out(counter_layout)
    """

    clocked = False

    def __init__(self, bits: int):
        self.bits = bits
        counter = counter_layout(bits)
        flags = {name: In(1) for name in FLAGS}
        super().__init__({"counter": In(counter), **flags, "increment": In(bits), "after": Out(counter)})

    def elaborate(self, platform):
        m = Module()
        counter = self.counter
        base = Signal(self.bits)
        total = Signal(self.bits)
        m.d.comb += [
            base.eq(Mux(self.load, 0, Mux(self.carry & ~self.copy, counter.carry, counter.value))),
            total.eq(Mux(self.clear, 0, base + self.increment)),
            self.after.eq(counter),
        ]
        with m.If(self.enable):
            m.d.comb += self.after.value.eq(total)
            with m.If(self.clear | self.load | self.copy | self.carry):
                m.d.comb += self.after.carry.eq(total)
        return m


# ADCs of a thread: address counters of unpacker 0, unpacker 1 and the packers.
#
# Ref: tt-isa-documentation 3930471, ADCs, SETADC to ADDRCRZW, UNPACR_Regular, Packers/InputAddressGenerator.


class AdcOp(enum.Enum, shape=3):
    """Operations of an instruction on the counters."""

    SETADC = 0
    SETADCXX = 1
    SET_FOUR = 2
    ADD_FOUR = 3
    ADD_CR_FOUR = 4
    UNPACR = 5
    PACR = 6


ADC_INSTRUCTION = data.StructLayout(
    {
        "op": AdcOp,
        "units": UNITS,
        "channel": 1,
        "dimension": 2,
        "value": WIDTHS["x"],
        "zw": 1,
        "which": 4,
        "four": data.ArrayLayout(3, 4),
        "modifier": 2,
    }
)
"""Layout of a decoded instruction.

``value`` has SETADCXX's ``start`` in bits 9:0; its ``end`` is in ``four``, bits 9:0. ``four`` has the fields of channel 0 and then of
channel 1: X and Y, or Z and W where ``zw`` is set, or UNPACR's Y and Z.
"""
END_BITS = 10
"""Bits of SETADCXX's fields."""
ADC_STATE = data.ArrayLayout(
    data.ArrayLayout(data.StructLayout({name: counter_layout(WIDTHS[name]) for name in DIMENSIONS}), CHANNELS), UNITS
)
"""Layout of the counters: of each unit, of each channel, X, Y, Z and W."""


class Adc(wiring.Component):
    """An instruction a cycle; the state behind it is there in the next cycle.

    A write to a PACK modifier takes effect behind the instruction of its cycle.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    i : In(stream of ADC_INSTRUCTION), always ready
    write : In(stream of THREAD_WRITE), always ready
    state : Out(ADC_STATE)
    """

    def __init__(self, config: CounterConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(ADC_INSTRUCTION, always_ready=True)),
                "write": In(stream.Signature(THREAD_WRITE, always_ready=True)),
                "state": Out(ADC_STATE),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pack = [Signal(PACK_WORD_BITS, name=f"pack_{number}") for number in range(len(PACK[self.config.chip]))]
        for place, each in zip(PACK[self.config.chip], pack, strict=True):
            with m.If(self.write.valid & (self.write.p.register == place)):
                m.d.sync += each.eq(self.write.p.value)
        word = Signal(PACK_WORD_BITS)
        m.d.comb += word.eq(Array(pack)[self.i.p.modifier])
        for channel in range(CHANNELS):
            for place, name in enumerate(DIMENSIONS):
                control = self._control(m, word, channel, place)
                for unit in range(UNITS):
                    m.submodules[f"{name}_{channel}_{unit}"] = step = CounterStep(WIDTHS[name])
                    counter = self.state[unit][channel][name]
                    m.d.comb += step.counter.eq(counter)
                    m.d.comb += [getattr(step, flag).eq(value) for flag, value in control.items()]
                    with m.If(self.i.valid & self.i.p.units[unit]):
                        m.d.sync += counter.eq(step.after)
        return m

    def _control(self, m, word, channel, place):
        """Return what happens to a channel's counter, the same in all units, by the members of CounterStep."""
        name, instruction = DIMENSIONS[place], self.i.p
        enable, load, carry, clear = (
            Signal(name=f"{name}_{channel}_{flag}") for flag in ("enable", "load", "carry", "clear")
        )
        increment = Signal(WIDTHS[name], name=f"{name}_{channel}_increment")
        index = CHANNELS * channel + place % 2
        with m.Switch(instruction.op):
            with m.Case(AdcOp.SETADC):
                names_it = (instruction.channel == channel) & (instruction.dimension == place)
                m.d.comb += [enable.eq(names_it), load.eq(1), increment.eq(instruction.value)]
            with m.Case(AdcOp.SETADCXX):
                end = instruction.four.as_value()[:END_BITS]
                m.d.comb += [load.eq(1), increment.eq(end if channel else instruction.value[:END_BITS])]
                if name == "x":
                    m.d.comb += enable.eq(1)
            with m.Case(AdcOp.SET_FOUR, AdcOp.ADD_FOUR, AdcOp.ADD_CR_FOUR):
                adds = instruction.op == AdcOp.ADD_FOUR
                m.d.comb += [
                    enable.eq((instruction.zw == place // 2) & (adds | instruction.which[index])),
                    load.eq(instruction.op == AdcOp.SET_FOUR),
                    carry.eq(instruction.op == AdcOp.ADD_CR_FOUR),
                    increment.eq(instruction.four[index]),
                ]
            if name in ("y", "z"):
                with m.Case(AdcOp.UNPACR):
                    step = instruction.four[CHANNELS * channel + (name == "z")][:2]
                    m.d.comb += [enable.eq(1), increment.eq(step)]
            if name == "y":
                y = word.word_select(channel, 6)
                with m.Case(AdcOp.PACR):
                    m.d.comb += [enable.eq(1), increment.eq(y[:4]), carry.eq(y[4]), clear.eq(y[5])]
            if name == "z":
                z = word[12:].word_select(channel, 2)
                with m.Case(AdcOp.PACR):
                    m.d.comb += [enable.eq(1), increment.eq(z[0]), clear.eq(z[1])]
        return {
            "enable": enable,
            "clear": clear if name in ("y", "z") else Const(0),
            "load": load,
            "copy": Const(0),
            "carry": carry,
            "increment": increment,
        }


COUNTER_BITS = {"src_a": SRC_BITS, "src_b": SRC_BITS, "dst": DST_BITS}
BIAS_BITS = 5
"""Bits of a BIAS word that count: increment and clear."""


class RwcOp(enum.Enum, shape=2):
    """Operations of an instruction on the counters."""

    MODIFY = 0
    MODIFY_KEEPING_PHASE = 1
    SET = 2
    INCREMENT = 3


def rwc_instruction(config: CounterConfig) -> data.StructLayout:
    """Layout of a decoded instruction; fields are those of the instruction word, `modifier` of one that has a modifier."""
    return data.StructLayout(
        {"op": RwcOp, "modifier": INDEX_BITS[config.chip], "which": 4, "cr": 4, "src_a": 4, "src_b": 4, "dst": 4}
    )


RWC_STATE = data.StructLayout(
    {name: counter_layout(bits) for name, bits in COUNTER_BITS.items()} | {"fidelity_phase": PHASE_BITS, "extra_bit": 1}
)
"""Layout of the counters."""


class Rwc(wiring.Component):
    """An instruction a cycle; the state behind it is there in the next cycle.

    A write to a modifier takes effect behind the instruction of its cycle. Blackhole has no extra bit: it stays 0.

    Parameters
    ----------
    config : the chip.

    Members
    -------
    i : In(stream of rwc_instruction), always ready
    write : In(stream of THREAD_WRITE), always ready
    state : Out(RWC_STATE)
    """

    def __init__(self, config: CounterConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(rwc_instruction(config), always_ready=True)),
                "write": In(stream.Signature(THREAD_WRITE, always_ready=True)),
                "state": Out(RWC_STATE),
            }
        )

    def elaborate(self, platform):
        m = Module()
        chip, instruction, state = self.config.chip, self.i.p, self.state
        set_base = Signal()
        registers = {
            "ab": (AB[chip], MODIFIER_BITS),
            "dst": (DST[chip], MODIFIER_BITS),
            "bias": (BIAS[chip] if chip is Chip.WORMHOLE else (), BIAS_BITS),
        }
        number = Signal(range(MODIFIERS))
        words = {}
        for name, (places, bits) in registers.items():
            held = [Signal(bits, name=f"{name}_{each}") for each in range(len(places))]
            for place, each in zip(places, held, strict=True):
                with m.If(self.write.valid & (self.write.p.register == place)):
                    m.d.sync += each.eq(self.write.p.value)
            words[name] = Signal(bits, name=f"word_{name}")
            m.d.comb += words[name].eq(Array(held)[number] if held else 0)
        if chip is Chip.WORMHOLE:
            with m.If(self.write.valid & (self.write.p.register == SET_BASE[chip])):
                m.d.sync += set_base.eq(self.write.p.value[0])
            m.d.comb += number.eq(Cat(instruction.modifier, state.extra_bit | set_base))
        else:
            m.d.comb += number.eq(instruction.modifier)

        ab, dst, bias = words["ab"], words["dst"], words["bias"]
        self._count(m, "src_a", 0, ab[:6], clear=ab[7], carry=ab[6], copy=Const(0))
        self._count(m, "src_b", 1, ab[8:14], clear=ab[15], carry=ab[14], copy=Const(0))
        self._count(m, "dst", 2, dst[:10], clear=dst[11], carry=dst[10], copy=dst[12])
        modifies = (instruction.op == RwcOp.MODIFY) | (instruction.op == RwcOp.MODIFY_KEEPING_PHASE)
        with m.If(self.i.valid & (instruction.op == RwcOp.MODIFY)):
            m.d.sync += state.fidelity_phase.eq(Mux(dst[15], 0, state.fidelity_phase + dst[13:15]))
        with m.If(self.i.valid & (instruction.op == RwcOp.SET) & instruction.which[3]):
            m.d.sync += state.fidelity_phase.eq(0)
        with m.If(self.i.valid & modifies):
            m.d.sync += state.extra_bit.eq(~bias[4] & (state.extra_bit ^ bias[:2].any()))
        return m

    def _count(self, m, name, place, increment, *, clear, carry, copy):
        """Add a counter; flags and increment are those of its modifier."""
        instruction, bits = self.i.p, COUNTER_BITS[name]
        m.submodules[name] = step = CounterStep(bits)
        from_carry = instruction.cr[place]
        from_value = instruction.cr[3] if name == "dst" else Const(0)
        sets = instruction.op == RwcOp.SET
        modifies = ~instruction.op.as_value()[1]
        m.d.comb += [
            step.counter.eq(self.state[name]),
            step.enable.eq(self.i.valid & (~sets | instruction.which[place] | from_value)),
            step.clear.eq(modifies & clear),
            step.load.eq(sets & ~from_carry & ~from_value),
            step.copy.eq(Mux(modifies, copy, sets & from_value)),
            step.carry.eq(Mux(modifies, carry, from_carry)),
            step.increment.eq(Mux(modifies, increment, instruction[name])),
        ]
        m.d.sync += self.state[name].eq(step.after)


RECORDS = (
    Unit(
        name="rwc",
        config_type=CounterConfig,
        build=Rwc,
        summary="Tensix: counters of rows and of the fidelity phase",
        covered=Covered(CounterConfig(), 1000),
        judges=(Judge(28, CounterConfig()),),
    ),
    Unit(
        name="adc",
        config_type=CounterConfig,
        build=Adc,
        summary="Tensix: address counters of unpackers and packers",
        covered=Covered(CounterConfig(), 1000),
        agreed=CounterConfig(chip=Chip.BLACKHOLE),
        judges=(Judge(29, CounterConfig()),),
    ),
)
