"""ADCs of a thread: address counters of unpacker 0, unpacker 1 and the packers.

Ref: tt-isa-documentation 3930471, ADCs, SETADC to ADDRCRZW, UNPACR_Regular, Packers/InputAddressGenerator.
"""

from amaranth import Array, Const, Module, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.streams import CHANNELS, DIMENSIONS, PACK_WORD_BITS, UNITS, WIDTHS
from bitpath.rtl.tensix.stream.config import CounterConfig
from bitpath.rtl.tensix.stream.counter_step import CounterStep, counter_layout
from bitpath.rtl.tensix.stream.thread_registers import PACK, THREAD_WRITE


class AdcOp(enum.Enum, shape=3):
    """What an instruction does to the counters."""

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
