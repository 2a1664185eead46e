"""RWCs of a thread: counters of rows of SrcA, SrcB and Dst, fidelity phase and extra modifier bit.

Ref: tt-isa-documentation 3930471, RWCs, SETRWC, INCRWC.
"""

from amaranth import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.streams import (
    DST_BITS,
    INDEX_BITS,
    MODIFIER_BITS,
    MODIFIERS,
    PHASE_BITS,
    SRC_BITS,
)
from bitpath.rtl.tensix.stream.config import CounterConfig
from bitpath.rtl.tensix.stream.counter_step import CounterStep, counter_layout
from bitpath.rtl.tensix.stream.thread_registers import AB, BIAS, DST, SET_BASE, THREAD_WRITE

COUNTER_BITS = {"src_a": SRC_BITS, "src_b": SRC_BITS, "dst": DST_BITS}
BIAS_BITS = 5
"""Bits of a BIAS word that count: increment and clear."""


class RwcOp(enum.Enum, shape=2):
    """What an instruction does to the counters."""

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
