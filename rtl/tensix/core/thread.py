"""A thread of a core: expanders, decoder, wait gate, and the counters of rows and addresses::

      words -> InstructionExpander -> Decode -> WaitGate --+-> Rwc, Adc, waits     in the thread
                                                           +-> asks                units that the threads share

Ref: tt-isa-documentation 3930471, TensixCoprocessor.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.rtl.common.pipeline.faults import first_of, keep_first
from bitpath.rtl.tensix.core.config import ChipConfig, TensixCoreConfig
from bitpath.rtl.tensix.core.decode import (
    ADC,
    BANKS,
    CONFIG,
    MATRIX,
    MOVES,
    SEMAPHORES,
    VECTOR,
    Decode,
    instruction_layout,
    named,
)
from bitpath.rtl.tensix.core.wait_gate import SEMAPHORE_STATE, UNITS, Banks, WaitGate
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.matrix.instruction import Zeroed
from bitpath.rtl.tensix.stream.counters import ADC_STATE, RWC_STATE, THREAD_WRITE, Adc, AdcOp, CounterConfig, Rwc, RwcOp
from bitpath.rtl.tensix.stream.expanders import MOP_WRITE, InstructionExpander, InstructionExpanderConfig

PACKERS_UNIT = 2
FAULT_NUMBER_BITS = 32
_ADC_OPS = {
    AdcOp.SETADC: ("SETADC",),
    AdcOp.SETADCXX: ("SETADCXX",),
    AdcOp.SET_FOUR: ("SETADCXY", "SETADCZW"),
    AdcOp.ADD_FOUR: ("INCADCXY", "INCADCZW"),
    AdcOp.ADD_CR_FOUR: ("ADDRCRXY", "ADDRCRZW"),
    AdcOp.UNPACR: ("UNPACR",),
    AdcOp.PACR: ("PACR",),
}
WITH_MODIFIER = tuple(name for name in MOVES if name != "TRNSPSRCB")
"""Moves that have an address modifier."""
_ZW = ("SETADCZW", "INCADCZW", "ADDRCRZW")


class Asks(data.Struct):
    """Units that an instruction asks for, at most one of them."""

    matrix: 1
    unpacker_0: 1
    unpacker_1: 1
    packer: 1
    config: 1
    semaphores: 1
    vector: 1


class Executed(data.Struct):
    """A word that is executed in this cycle."""

    word: WORD_BITS
    valid: 1


class Thread(wiring.Component):
    """It issues an instruction a cycle. A word reaches the gate 2 cycles after it came.

    Refused words count as executed and do nothing; those that the decoder refuses do not wait at the gate.

    Parameters
    ----------
    config : configuration of the core.

    Members
    -------
    i : In(stream of 32-bit words)
    mop : In(stream of MOP_WRITE)
    write : In(stream of THREAD_WRITE), modifiers for the counters
    banks, idle, vector_idle, semaphores : as of `WaitGate`
    asks : Out(Asks); granted : In(1), the unit takes the instruction in this cycle; refused : In(Fault), it takes it and does nothing;
        displaced : In(1), it executes another one instead
    instruction : Out(instruction_layout), rwc : Out(RWC_STATE), adc : Out(ADC_STATE)
    executed : Out(Executed)
    waits : Out(1), an instruction is at the gate
    clear : In(1); fault : Out(Fault), fault_number : Out(32), as of `TensixCore`
    """

    def __init__(self, config: TensixCoreConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(WORD_BITS)),
                "mop": In(stream.Signature(MOP_WRITE)),
                "write": In(stream.Signature(THREAD_WRITE, always_ready=True)),
                "banks": In(Banks),
                "idle": In(len(UNITS[config.chip])),
                "vector_idle": In(1),
                "semaphores": In(SEMAPHORE_STATE),
                "asks": Out(Asks),
                "granted": In(1),
                "refused": In(Fault),
                "displaced": In(1),
                "instruction": Out(instruction_layout(config.chip)),
                "rwc": Out(RWC_STATE),
                "adc": Out(ADC_STATE),
                "executed": Out(Executed),
                "waits": Out(1),
                "clear": In(1),
                "fault": Out(Fault),
                "fault_number": Out(FAULT_NUMBER_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        chip = self.config.chip
        m.submodules.expander = expander = InstructionExpander(InstructionExpanderConfig())
        m.submodules.decoder = decoder = Decode(ChipConfig(chip=chip))
        m.submodules.gate = gate = WaitGate(ChipConfig(chip=chip))
        connect(m, flipped(self.i), expander.i)
        connect(m, flipped(self.mop), expander.write)
        instruction, asks = decoder.instruction, self.asks
        opens, passes, does, legal = Signal(), Signal(), Signal(), Signal()
        asked = Signal(Asks)
        m.d.comb += [
            decoder.word.eq(expander.o.p),
            gate.instruction.eq(instruction),
            gate.banks.eq(self.banks),
            gate.idle.eq(self.idle),
            gate.vector_idle.eq(self.vector_idle),
            gate.semaphores.eq(self.semaphores),
            gate.passes.eq(does),
            legal.eq(decoder.fault == Fault.NONE),
            opens.eq(expander.o.valid & (gate.opens | ~legal)),
            asked.matrix.eq(
                named(instruction, *MATRIX, *MOVES, *BANKS) | (named(instruction, "SETRWC") & instruction.flip.any())
            ),
            asked.unpacker_0.eq(named(instruction, "UNPACR") & ~instruction.unpacker),
            asked.unpacker_1.eq(named(instruction, "UNPACR") & instruction.unpacker),
            asked.packer.eq(named(instruction, "PACR")),
            asked.config.eq(named(instruction, *CONFIG)),
            asked.semaphores.eq(named(instruction, *SEMAPHORES)),
            asked.vector.eq(named(instruction, *VECTOR)),
            asks.eq(Mux(opens & legal, asked.as_value(), 0)),
            passes.eq(opens & (~asks.as_value().any() | self.granted)),
            does.eq(passes & legal & (self.refused == Fault.NONE) & ~self.displaced),
            expander.o.ready.eq(passes),
            self.instruction.eq(instruction),
            self.waits.eq(expander.o.valid),
            self.executed.valid.eq(passes),
            self.executed.word.eq(expander.o.p),
        ]
        found = first_of((passes & ~legal, decoder.fault), (passes, self.refused), (expander.illegal, Fault.WORD))
        keep_first(m, taken=passes, found=found, clear=self.clear, fault=self.fault, number=self.fault_number)
        self._rows(m, instruction, does)
        self._addresses(m, instruction, does)
        return m

    def _rows(self, m: Module, instruction: data.View, does: Signal) -> None:
        """Add the counters of rows."""
        m.submodules.rwc = rwc = Rwc(CounterConfig(chip=self.config.chip))
        connect(m, flipped(self.write), rwc.write)
        # A ZEROACC of half of Dst, or of all, leaves the counters.
        leaves = named(instruction, "ZEROACC") & instruction.mode.matches(Zeroed.HALF, Zeroed.ALL)
        modifies = named(instruction, *MATRIX, *WITH_MODIFIER) & ~leaves
        sets, adds = named(instruction, "SETRWC"), named(instruction, "INCRWC")
        accesses = named(instruction, "SFPLOAD", "SFPLOADMACRO", "SFPSTORE")
        modified = Mux(accesses, RwcOp.MODIFY_KEEPING_PHASE, RwcOp.MODIFY)
        m.d.comb += [
            rwc.i.valid.eq(does & (modifies | sets | adds | accesses)),
            rwc.i.p.op.eq(Mux(sets, RwcOp.SET, Mux(adds, RwcOp.INCREMENT, modified))),
            rwc.i.p.modifier.eq(instruction.modifier),
            *(rwc.i.p[name].eq(instruction[name]) for name in ("which", "cr", "src_a", "src_b", "dst")),
            self.rwc.eq(rwc.state),
        ]

    def _addresses(self, m: Module, instruction: data.View, does: Signal) -> None:
        """Add the counters of addresses."""
        m.submodules.adc = adc = Adc(CounterConfig(chip=self.config.chip))
        unpacks, packs = named(instruction, "UNPACR"), named(instruction, "PACR")
        p = adc.i.p
        m.d.comb += [
            adc.write.valid.eq(self.write.valid),
            adc.write.p.eq(self.write.p),
            adc.i.valid.eq(does & named(instruction, *ADC, "UNPACR", "PACR")),
            p.units.eq(Mux(unpacks, Mux(instruction.unpacker, 2, 1), Mux(packs, 1 << PACKERS_UNIT, instruction.units))),
            p.channel.eq(instruction.channel),
            p.dimension.eq(instruction.dimension),
            p.value.eq(Mux(named(instruction, "SETADCXX"), instruction.start, instruction.value)),
            p.zw.eq(named(instruction, *_ZW)),
            p.which.eq(instruction.which),
            p.modifier.eq(instruction.modifier),
            self.adc.eq(adc.state),
        ]
        for op, names in _ADC_OPS.items():
            with m.If(named(instruction, *names)):
                m.d.comb += p.op.eq(op)
        xy, zw, yz = (
            Cat(instruction[f"ch{channel}_{name}"] for channel in (0, 1) for name in pair)
            for pair in ("xy", "zw", "yz")
        )
        m.d.comb += p.four.eq(Mux(unpacks, yz, Mux(p.zw, zw, xy)))
        with m.If(named(instruction, "SETADCXX")):
            m.d.comb += p.four.eq(instruction.end)
