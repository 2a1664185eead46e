"""The Vector unit: 32 lanes, the configuration of their columns, and the issue of one instruction a cycle::

      i ---> interlock -> LoadMacro -----> SfpuLane x 32 <-> rows and columns of lanes
      dst ------------------------------------^  |
      seed ------> PrngSeed -> random numbers --^  +-> store
      SFPCONFIG -> templates, sequences, misc, LaneConfig, LReg 11 to 14 of 8 columns

Ref: tt-isa-documentation, VectorUnit, SFPCONFIG 47385dd, SFPSHFT2 1354710, SFPSWAP 585749d.
"""

from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.tensix.declarations.formats import COLUMNS as DST_COLUMNS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.golden.tensix.declarations.sfpu import (
    COLUMNS,
    FIRST_TEMPLATE,
    LANES,
    PROGRAMMED,
    PROGRAMMED_DEFAULTS,
    WIDE_STORES,
)
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.sfpu.interlock import LANE_MOVES, RegisterMasks
from bitpath.rtl.tensix.sfpu.layouts import (
    ADDRESS_BITS,
    REGISTERS,
    ROWS,
    WORD_BITS,
    ColumnState,
    SfpuConfig,
    SfpuRequest,
    SfpuState,
    destination,
    modifier,
    named,
)
from bitpath.rtl.tensix.sfpu.load_macro import LoadMacro
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import PrngSeed
from bitpath.rtl.tensix.sfpu.sfpu_lane import ROTATE, ROTATE_COPY4, SHIFT, SfpuLane

NO_TEMPLATES = ("SFPLOAD", "SFPLOADI", "SFPLOADMACRO", "SFPNOP", "SFPCONFIG")
"""Instructions that no VD turns into a template."""
LANE_CONFIG, MISC = 15, 8
IMMEDIATE_BITS = 16


class DstStore(data.Struct):
    """Words that SFPSTORE writes, in the register's bit order: lane l's, if enabled, to row l / 8 of the address's four, and column
    2 * (l mod 8), or the next one if ``odd``; of 32 bits if ``wide``. A ``scheduled`` SFPSTORE has the address of its SFPLOADMACRO."""

    lanes: LANES
    odd: COLUMNS
    wide: 1
    words: data.ArrayLayout(WORD_BITS, LANES)
    address: ADDRESS_BITS
    scheduled: 1


DstRows = data.ArrayLayout(data.ArrayLayout(WORD_BITS, DST_COLUMNS), ROWS)
"""Words of four rows of Dst, in the register's bit order; those of 16 bits are in the lower half."""


class Sfpu(wiring.Component):
    """An instruction a cycle; its result is there in the next one, of the MAD sub-unit, SFPSWAP and SFPSHFT2 between lanes in the
    one after.

    Blackhole delays an instruction for a cycle if it reads the result of the MAD sub-unit, by `RegisterMasks`. In the cycle
    behind an SFPSWAP, and on Blackhole behind an SFPSHFT2 between lanes, only an SFPNOP is taken. Otherwise an instruction that
    reads a result of two cycles in the next cycle finds the registers as they were. No instruction is taken in the 96 cycles behind a
    seed.

    Instructions that SFPLOADMACRO has scheduled execute beside the thread's, or instead of it (`LoadMacro`). Their configuration is
    that of column 0; all columns must have the same. No interlock applies to them. Bits are undefined in the cases that golden
    refuses: two writers of a register or of the random numbers in a cycle, other results than one for LReg 16 from the simple and
    the round sub-unit, an SFPSWAP beside the MAD sub-unit, and what the instructions of two cycles leave open in the next one.

    Parameters
    ----------
    config : chip and numerics.

    Members
    -------
    i : In(stream of SfpuRequest)
    dst : In(DstRows), the rows of the request's address
    store : Out(DstStore), in the cycle in which SFPSTORE executes
    hold : In(1), no cycle passes, and no instruction is taken; a scheduled store stays in ``store``
    displaced : Out(1), the instruction that is taken does not execute, since a scheduled one does
    seed : In(stream of 32), a write to PRNG_SEED
    preset : In(stream of SfpuState), always ready; the state replaces all registers at the end of the cycle, for a debugger
    state : Out(SfpuState); LReg 11 to 14 begin with their defaults
    busy : Out(1), an instruction is in its second cycle, waits for its cycle, or a seed is on its way
    """

    def __init__(self, config: SfpuConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(SfpuRequest)),
                "dst": In(DstRows),
                "store": Out(DstStore),
                "hold": In(1),
                "displaced": Out(1),
                "seed": In(stream.Signature(WORD_BITS)),
                "preset": In(stream.Signature(SfpuState, always_ready=True)),
                "state": Out(SfpuState),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, word = self.config, self.i.p.word
        m.submodules.prng_seed = prng_seed = PrngSeed()
        connect(m, flipped(self.seed), prng_seed.i)
        execute, second = Signal(), Signal()
        macro = instantiate(m, platform, "macro", LoadMacro, config.chip)
        begin = {"programmed": PROGRAMMED_DEFAULTS}
        columns = [Signal(ColumnState, name=f"column_{number}", init=begin) for number in range(COLUMNS)]
        first = columns[0]
        m.d.comb += [own.eq(column) for own, column in zip(self.state.columns, columns, strict=True)]
        m.d.comb += [
            execute.eq(self.i.valid & self.i.ready),
            macro.issued.eq(execute),
            macro.request.eq(self.i.p),
            macro.hold.eq(self.hold),
            macro.templates.eq(first.templates),
            macro.sequences.eq(first.sequences),
            macro.misc.eq(first.misc),
            self.displaced.eq(macro.displaced),
            self.store.scheduled.eq(macro.stores),
            self.busy.eq(second | macro.pending | prng_seed.busy),
        ]
        legal = (destination(word) < FIRST_TEMPLATE) | Cat(each.lane_config.no_templates for each in columns).any()
        self._issue(m, platform, execute & legal & ~macro.displaced, macro.due, second, prng_seed.busy)
        lanes = [instantiate(m, platform, f"lane_{number}", SfpuLane, config) for number in range(LANES)]
        for column, state in enumerate(columns):
            self._configure(m, execute, macro.o.simple, column, state, lanes[column])
        self._connect(m, macro.o, lanes, prng_seed)
        return m

    def _issue(self, m: Module, platform: Any, execute: Value, due: Value, second: Signal, seeding: Value) -> None:
        """Take an instruction, unless it must wait for the thread's before."""
        word = self.i.p.word
        exclusive, alone = named(word, "SFPSWAP"), Signal()
        waits = Const(0)
        moves = named(word, "SFPSHFT2") & modifier(word).matches(*LANE_MOVES)
        masks = instantiate(m, platform, "masks", RegisterMasks)
        m.d.comb += masks.word.eq(word)
        if self.config.chip is Chip.BLACKHOLE:
            exclusive |= moves
            pending = Signal(REGISTERS)
            m.d.sync += pending.eq(Mux(execute, masks.writes, 0))
            waits = (pending & masks.reads).any()
        m.d.sync += [
            alone.eq(execute & exclusive),
            second.eq(due | (execute & (exclusive | moves | masks.writes.any()))),
        ]
        m.d.comb += self.i.ready.eq(~self.hold & ~seeding & ~(alone & ~named(word, "SFPNOP")) & ~waits)

    def _configure(
        self, m: Module, execute: Value, simple: data.View, column: int, state: data.View, lane: SfpuLane
    ) -> None:
        """Write the configuration of a column: SFPCONFIG from the lane of row 0, and templates."""
        word, vd, mod = simple.word, simple.vd, Signal(4, name=f"mod_{column}")
        immediate = word[8 : 8 + IMMEDIATE_BITS]
        current = lane.state.predication.current
        enabled = (
            simple.valid & named(word, "SFPCONFIG") & (~mod[3] | immediate[2 * column]) & (~current.use | current.flag)
        )
        source, value = lane.state.registers[0], Signal(WORD_BITS, name=f"value_{column}")
        m.d.comb += [mod.eq(modifier(word)), value.eq(Mux(mod[0], immediate, source))]

        def combined(before: Value) -> Value:
            bits = value[: len(before)]
            return Mux(mod[2], Mux(mod[1], before ^ bits, before & bits), Mux(mod[1], before | bits, bits))

        with m.If(enabled):
            for place in range(len(state.templates)):
                with m.If(vd == place):
                    m.d.sync += state.templates[place].eq(source)
                with m.If(vd == len(state.templates) + place):
                    m.d.sync += state.sequences[place].eq(value)
            with m.If(vd == MISC):
                m.d.sync += state.misc.eq(combined(state.misc))
            for place, number in enumerate(PROGRAMMED):
                with m.If(vd == number):
                    m.d.sync += state.programmed[place].eq(Mux(mod[0], PROGRAMMED_DEFAULTS[place], source))
            with m.If(vd == LANE_CONFIG):
                before = state.lane_config.as_value()
                after = combined(before)
                upper = Mux(mod[0], before[IMMEDIATE_BITS:], after[IMMEDIATE_BITS:])
                m.d.sync += before.eq(Cat(after[:IMMEDIATE_BITS], upper))
        template, number = self.i.p.word, destination(self.i.p.word)
        with m.If(execute & ~state.lane_config.no_templates & ~named(template, *NO_TEMPLATES)):
            for place in range(len(state.templates)):
                with m.If(number == FIRST_TEMPLATE + place):
                    m.d.sync += state.templates[place].eq(template)
        with m.If(self.preset.valid):
            m.d.sync += state.eq(self.preset.p.columns[column])

    def _connect(self, m: Module, units: data.View, lanes: list[SfpuLane], prng_seed: PrngSeed) -> None:
        """Connect the lanes to each other, to Dst and to their columns."""
        address, mod = units.load.address, Signal(4)
        m.d.comb += [
            mod.eq(modifier(units.round.word)),
            self.store.wide.eq(units.store.mode.matches(*(each.value for each in WIDE_STORES))),
            self.store.address.eq(units.store.address),
        ]
        rotated = self._rotated(m, units.round, mod, lanes)
        special, load_odd = [], []
        for column, state in enumerate(self.state.columns):
            words = [*state.templates, *state.sequences, state.misc, *[0] * 6, state.lane_config.as_value()]
            special.append(Signal(WORD_BITS, name=f"special_{column}"))
            load_odd.append(address[1] | state.lane_config.load_odd)
            m.d.comb += [
                special[column].eq(Array(map(Value.cast, words))[units.simple.c]),
                self.store.odd[column].eq(units.store.address[1] | state.lane_config.store_odd),
            ]
        seed = prng_seed.state
        for number, lane in enumerate(lanes):
            row, column = divmod(number, COLUMNS)
            state, own = self.state.columns[column], self.dst[row]
            left = lanes[number - 1 if column else number + COLUMNS - 1].vc
            beside = left if column else Mux(mod == SHIFT, rotated[row], left)
            odd = load_odd[column]
            group = [lanes[column + each * COLUMNS] for each in range(ROWS)]
            # Registers 0 to 3, and 4 to 7: row r of register i becomes row i of register r.
            turned = [
                group[register % ROWS].state.registers[register - register % ROWS + row]
                for register in range(REGISTERS)
            ]
            m.d.comb += [
                lane.operations.eq(units),
                lane.number.eq(number),
                lane.programmed.eq(state.programmed),
                lane.lane_config.eq(state.lane_config),
                lane.special.eq(special[column]),
                lane.dst.eq(Mux(odd, own[2 * column + 1], own[2 * column])),
                lane.place.eq(Cat(odd, Const(column, 3), Const(row, 2), address[2:])),
                lane.transposed.as_value().eq(Cat(turned)),
                lane.below.eq(lanes[number + COLUMNS].state.registers[0] if row < ROWS - 1 else 0),
                lane.beside.eq(beside),
                lane.preset.eq(self.preset.valid),
                lane.preset_state.eq(self.preset.p.lanes[number]),
                lane.seeded.eq(prng_seed.load),
                # Each state that a seed gives pushes those before it on by one lane.
                lane.seed.eq(seed),
                self.state.lanes[number].eq(lane.state),
                self.store.lanes[number].eq(lane.store),
                self.store.words[number].eq(lane.stored),
            ]
            seed = lane.state.random

    def _rotated(self, m: Module, operation: data.View, mod: Value, lanes: list[SfpuLane]) -> list[Value]:
        """Return the word that the first lane of each row gets from SFPSHFT2 that shifts lanes: 0, on Wormhole by a bug that of the
        last lane of the row in the SFPSHFT2 before that rotated lanes."""
        if self.config.chip is Chip.BLACKHOLE:
            return [Const(0)] * ROWS
        rotates = operation.valid & named(operation.word, "SFPSHFT2") & mod.matches(ROTATE, ROTATE_COPY4)
        rotates &= operation.vd < FIRST_TEMPLATE
        for row, own in enumerate(self.state.rotated):
            held = Signal(WORD_BITS, name=f"rotated_{row}")
            m.d.comb += own.eq(held)
            with m.If(rotates):
                m.d.sync += held.eq(lanes[(row + 1) * COLUMNS - 1].vc)
            with m.If(self.preset.valid):
                m.d.sync += held.eq(self.preset.p.rotated[row])
        return list(self.state.rotated)


_BLACKHOLE = SfpuConfig(chip=Chip.BLACKHOLE, numerics=BLACKHOLE.numerics)


RECORDS = (
    Unit(
        name="sfpu",
        config_type=SfpuConfig,
        build=Sfpu,
        summary="Tensix: the Vector unit's 32 lanes, their configuration and the issue of instructions",
        covered=Covered(_BLACKHOLE, 300),
        uncompared="its 32 lanes, each of which is compared, are too large a netlist of gates",
        judges=(Judge(66, _BLACKHOLE, 300),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("Dst", r"(dst|store)"),
            WaveGroup("issue", r"(execute|alone|pending|second|masks|macro)"),
            WaveGroup("random numbers", r"(seed|prng_)"),
            WaveGroup("columns", r"(value|special)_"),
            WaveGroup("lanes", r"lane_"),
        ),
    ),
)
