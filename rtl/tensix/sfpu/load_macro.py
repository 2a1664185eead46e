"""SFPLOADMACRO: instructions that the sub-units execute beside a thread's, some cycles behind the load::

      request -> operands -------------------------------------> thread's -+
         |                                                                 +-> o, one of each sub-unit
         +-> templates, sequences, misc -> [7] -> [6] -> ... -> [0] due ---+

Each sub-unit has eight places, by the delay that an instruction still has. One that is due displaces the thread's. All places move
on in a cycle; if an instruction in them counts issued instructions, they do in a cycle in which a thread's is issued.

Ref: tt-isa-documentation, SFPLOADMACRO and VectorUnit: of Wormhole 3930471, of Blackhole 585749d.
"""

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import BY_NAME, OPCODE_LOW
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import BY_CONFIGURATION, MISC_BITS, SCHEDULED, TEMPLATES
from bitpath.rtl.tensix.sfpu.layouts import (
    LOADS,
    MULTIPLY_ADDS,
    ROUNDS,
    WORD_BITS,
    Operation,
    SfpuRequest,
    SubUnits,
    destination,
    modifier,
    named,
    opcode,
)

DELAYS = 8
ANY_VB = ("SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24", "SFPARECIP", "SFP_STOCH_RND", "SFPSHFT2")
"""Instructions whose b is VB; that of SFPAND and SFPOR is on Blackhole by their modifier, that of others is VD."""
SFPNOP = opcode("SFPNOP") << OPCODE_LOW


def executors(chip: Chip) -> dict[str, tuple[str, ...]]:
    """Return the instructions of each sub-unit that a sequence has a byte for, in the order of the bytes."""
    others = (*LOADS, *MULTIPLY_ADDS, *ROUNDS, "SFPSTORE")
    simple = tuple(name for name in BY_NAME[chip] if name.startswith("SFP") and name not in others)
    multiply_adds = tuple(name for name in MULTIPLY_ADDS if name in BY_NAME[chip])
    return {"simple": simple, "mad": multiply_adds, "round": ROUNDS, "store": ("SFPSTORE",)}


class Pending(data.Struct):
    """A scheduled instruction, and whether it counts issued instructions."""

    operation: Operation
    counts: 1


class LoadMacro(wiring.Component):
    """Delay d executes d + 1 cycles behind the SFPLOADMACRO. Each SFPLOADMACRO schedules at most one instruction of each sub-unit,
    and clears the place of the delay that its sequence has, even where it schedules nothing.

    Bits are undefined where the pages leave them open: bits 2:0 of 1 in a sequence, another instruction than SFPSTORE for the
    store sub-unit, one that reads LReg 16.

    Parameters
    ----------
    chip : Blackhole has more instructions, and a modifier that decides VB of SFPAND and SFPOR.

    Members
    -------
    issued : In(1), request : In(SfpuRequest), the thread's instruction is taken
    hold : In(1), no cycle passes; ``issued`` must be 0
    templates, sequences : In(4 words), misc : In(12)
    o : Out(SubUnits), instructions of this cycle; a scheduled store is valid under ``hold`` too
    displaced : Out(1), the thread's instruction does not execute
    due : Out(1), a scheduled instruction executes
    stores : Out(1), the store in ``o`` is a scheduled one
    pending : Out(1), scheduled instructions wait for cycles
    """

    def __init__(self, chip: Chip):
        self.chip = chip
        words = In(data.ArrayLayout(WORD_BITS, TEMPLATES))
        super().__init__(
            {
                "issued": In(1),
                "request": In(SfpuRequest),
                "hold": In(1),
                "templates": words,
                "sequences": words,
                "misc": In(MISC_BITS),
                "o": Out(SubUnits),
                "displaced": Out(1),
                "due": Out(1),
                "stores": Out(1),
                "pending": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, units = self.request.word, executors(self.chip)
        places = {name: Signal(data.ArrayLayout(Pending, DELAYS), name=f"places_{name}") for name in units}
        thread, sequence = Signal(Operation), Signal(WORD_BITS)
        m.d.comb += [
            thread.word.eq(word),
            Cat(thread.b, thread.c).eq(Cat(*self._operands(word))),
            thread.vd.eq(destination(word)),
            thread.mode.eq(self._mode(modifier(word))),
            thread.address.eq(self.request.address),
            sequence.eq(Array(Value.cast(each) for each in self.sequences)[word[22:24]]),
        ]
        executes = {name: named(word, *names) for name, names in units.items() if name != "simple"}
        executes["load"] = named(word, *LOADS)
        executes["simple"] = ~Cat(*executes.values()).any()
        due = {name: place[0].operation.valid for name, place in places.items()}
        m.d.comb += [
            Value.cast(self.o.load).eq(thread),
            self.o.load.valid.eq(self.issued & executes["load"]),
            self.displaced.eq(Cat(executes[name] & due[name] for name in units).any()),
            self.due.eq(Cat(*due.values()).any() & ~self.hold),
            self.stores.eq(due["store"]),
        ]
        waiting = [place[delay] for place in places.values() for delay in range(1, DELAYS)]
        by_instructions, advances = Signal(), Signal()
        m.d.comb += [
            by_instructions.eq(Cat(each.operation.valid & each.counts for each in waiting).any()),
            advances.eq(self.issued | ~by_instructions),
            self.pending.eq(
                Cat(*due.values(), Cat(each.operation.valid for each in waiting).any() & ~by_instructions).any()
            ),
        ]
        schedules = self.issued & named(word, "SFPLOADMACRO")
        for place, (name, names) in enumerate(units.items()):
            own, bits = getattr(self.o, name), sequence.word_select(place, 8)
            m.d.comb += [
                Value.cast(own).eq(Mux(due[name], places[name][0].operation, thread)),
                own.valid.eq(Mux(due[name], Const(1) if name == "store" else ~self.hold, self.issued & executes[name])),
            ]
            scheduled = Signal(Pending, name=f"scheduled_{name}")
            self._schedule(m, scheduled, name, names, bits)
            m.d.comb += scheduled.counts.eq(self.misc[8 + place])
            with m.If(~self.hold):
                m.d.sync += places[name][0].operation.valid.eq(0)
                with m.If(advances):
                    m.d.sync += [places[name][delay].eq(places[name][delay + 1]) for delay in range(DELAYS - 1)]
                    m.d.sync += places[name][DELAYS - 1].operation.valid.eq(0)
                for delay in range(DELAYS):
                    with m.If(schedules & (bits[3:6] == delay)):
                        m.d.sync += places[name][delay].eq(scheduled)
        return m

    def _schedule(self, m: Module, scheduled: data.View, name: str, names: tuple[str, ...], bits: Value) -> None:
        """Give the instruction that a byte of a sequence schedules."""
        word, operation = self.request.word, scheduled.operation
        template, loaded = Signal(WORD_BITS, name=f"template_{name}"), destination(word)
        m.d.comb += [
            template.eq(Array(Value.cast(each) for each in self.templates)[bits[:2]]),
            operation.valid.eq(bits[:3].any()),
            operation.scheduled.eq(1),
            operation.address.eq(self.request.address),
        ]
        if name == "store":
            own_mode = self.misc[4:8].bit_select(word[22:24], 1)
            own_vd = Mux(bits[7], Mux(bits[2], destination(template), 0), loaded)
            m.d.comb += [
                operation.mode.eq(self._mode(Mux(own_mode, modifier(word), self.misc[:4]))),
                operation.vd.eq(Mux(bits[6], SCHEDULED, own_vd)),
            ]
            return
        b, c = self._operands(template)
        follows = named(template, "SFPSWAP")
        if self.chip is Chip.BLACKHOLE:
            follows |= named(template, "SFPAND", "SFPOR") & ~modifier(template)[0]
        m.d.comb += [
            operation.word.eq(Mux(bits[2] & named(template, *names), template, SFPNOP)),
            operation.b.eq(Mux(bits[7] | follows, loaded, b)),
            operation.c.eq(Mux(bits[7], c, loaded)),
            operation.vd.eq(Mux(bits[6], SCHEDULED, loaded)),
        ]

    def _operands(self, word: Value) -> tuple[Value, Value]:
        """Return the registers of b and c of an instruction."""
        names_b, vd = named(word, *ANY_VB), destination(word)[:4]
        if self.chip is Chip.BLACKHOLE:
            names_b |= named(word, "SFPAND", "SFPOR") & modifier(word)[0]
        return Mux(names_b, word[12:16], vd), Mux(named(word, "SFPADDI", "SFPMULI"), vd, word[8:12])

    def _mode(self, mode: Value) -> Value:
        return Mux(mode == BY_CONFIGURATION, self.request.implied, mode)
