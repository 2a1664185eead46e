"""The Vector unit: 32 lanes, the configuration of their columns, and the issue of one instruction a cycle::

      i ---------> Interlock -> word ----> SfpuLane x 32 <-> rows and columns of lanes
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
    BY_CONFIGURATION,
    COLUMNS,
    FIRST_TEMPLATE,
    LANES,
    PROGRAMMED,
    PROGRAMMED_DEFAULTS,
    WIDE_STORES,
    StoreMode,
)
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.sfpu.interlock import LANE_MOVES, RegisterMasks
from bitpath.rtl.tensix.sfpu.layouts import (
    ADDRESS_BITS,
    REGISTERS,
    ROWS,
    WORD_BITS,
    SfpuConfig,
    SfpuState,
    destination,
    modifier,
    named,
)
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import PrngSeed
from bitpath.rtl.tensix.sfpu.sfpu_lane import ROTATE, ROTATE_COPY4, SHIFT, SfpuLane

NO_TEMPLATES = ("SFPLOAD", "SFPLOADI", "SFPLOADMACRO", "SFPNOP", "SFPCONFIG")
"""Instructions that no VD turns into a template."""
LANE_CONFIG, MISC = 15, 8
IMMEDIATE_BITS = 16


class SfpuRequest(data.Struct):
    """An instruction. ``address`` is of SFPLOAD and SFPSTORE; ``implied`` is FP16, BF16 or FP32, for their mode 0."""

    word: WORD_BITS
    address: ADDRESS_BITS
    implied: 2


class DstStore(data.Struct):
    """Words that SFPSTORE writes, in the register's bit order: lane l's, if enabled, to row l / 8 of the address's four, and column
    2 * (l mod 8), or the next one if ``odd``; of 32 bits if ``wide``."""

    lanes: LANES
    odd: COLUMNS
    wide: 1
    words: data.ArrayLayout(WORD_BITS, LANES)


DstRows = data.ArrayLayout(data.ArrayLayout(WORD_BITS, DST_COLUMNS), ROWS)
"""Words of four rows of Dst, in the register's bit order; those of 16 bits are in the lower half."""


class Sfpu(wiring.Component):
    """An instruction a cycle; its result is there in the next one, of the MAD sub-unit, SFPSWAP and SFPSHFT2 between lanes in the
    one after.

    Blackhole delays an instruction for a cycle if it reads the result of the MAD sub-unit, by `RegisterMasks`. In the cycle
    behind an SFPSWAP, and on Blackhole behind an SFPSHFT2 between lanes, only an SFPNOP is taken. Otherwise an instruction that
    reads a result of two cycles in the next cycle finds the registers as they were. No instruction is taken in the 96 cycles behind a
    seed. SFPLOADMACRO must not come.

    Parameters
    ----------
    config : chip and numerics.

    Members
    -------
    i : In(stream of SfpuRequest)
    dst : In(DstRows), the rows of the request's address
    store : Out(DstStore), in the cycle in which SFPSTORE is taken
    seed : In(stream of 32), a write to PRNG_SEED
    preset : In(stream of SfpuState), always ready; the state replaces all registers at the end of the cycle, for a debugger
    state : Out(SfpuState); LReg 11 to 14 begin with their defaults
    busy : Out(1), an instruction is in its second cycle, or a seed on its way
    """

    def __init__(self, config: SfpuConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(SfpuRequest)),
                "dst": In(DstRows),
                "store": Out(DstStore),
                "seed": In(stream.Signature(WORD_BITS)),
                "preset": In(stream.Signature(SfpuState, always_ready=True)),
                "state": Out(SfpuState, init={"columns": [{"programmed": PROGRAMMED_DEFAULTS}] * COLUMNS}),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, word = self.config, self.i.p.word
        m.submodules.prng_seed = prng_seed = PrngSeed()
        connect(m, flipped(self.seed), prng_seed.i)
        execute, second = Signal(), Signal()
        m.d.comb += [execute.eq(self.i.valid & self.i.ready), self.busy.eq(second | prng_seed.busy)]
        vd, mod = Signal(4), Signal(4)
        m.d.comb += [vd.eq(destination(word)), mod.eq(modifier(word))]
        legal = (vd < FIRST_TEMPLATE) | Cat(each.lane_config.no_templates for each in self.state.columns).any()
        self._issue(m, platform, execute, legal, mod, second, prng_seed.busy)
        lanes = [instantiate(m, platform, f"lane_{number}", SfpuLane, config) for number in range(LANES)]
        for column, state in enumerate(self.state.columns):
            self._configure(m, execute, vd, mod, column, state, lanes[column])
        self._connect(m, execute, vd, mod, lanes, prng_seed)
        return m

    def _issue(
        self, m: Module, platform: Any, execute: Value, legal: Value, mod: Value, second: Signal, seeding: Value
    ) -> None:
        """Take an instruction, unless it must wait for the one before."""
        word = self.i.p.word
        exclusive, alone = named(word, "SFPSWAP"), Signal()
        waits = Const(0)
        moves = named(word, "SFPSHFT2") & mod.matches(*LANE_MOVES)
        masks = instantiate(m, platform, "masks", RegisterMasks)
        m.d.comb += masks.word.eq(word)
        if self.config.chip is Chip.BLACKHOLE:
            exclusive |= moves
            pending = Signal(REGISTERS)
            m.d.sync += pending.eq(Mux(execute & legal, masks.writes, 0))
            waits = (pending & masks.reads).any()
        m.d.sync += [
            alone.eq(execute & legal & exclusive),
            second.eq(execute & legal & (exclusive | moves | masks.writes.any())),
        ]
        m.d.comb += self.i.ready.eq(~seeding & ~(alone & ~named(word, "SFPNOP")) & ~waits)

    def _configure(
        self, m: Module, execute: Value, vd: Value, mod: Value, column: int, state: data.View, lane: SfpuLane
    ) -> None:
        """Write the configuration of a column: SFPCONFIG from the lane of row 0, and templates."""
        word = self.i.p.word
        immediate = word[8 : 8 + IMMEDIATE_BITS]
        current = lane.state.predication.current
        enabled = execute & named(word, "SFPCONFIG") & (~mod[3] | immediate[2 * column]) & (~current.use | current.flag)
        source, value = lane.state.registers[0], Signal(WORD_BITS, name=f"value_{column}")
        m.d.comb += value.eq(Mux(mod[0], immediate, source))

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
        with m.If(execute & (vd >= FIRST_TEMPLATE) & ~state.lane_config.no_templates & ~named(word, *NO_TEMPLATES)):
            for place in range(len(state.templates)):
                with m.If(vd == FIRST_TEMPLATE + place):
                    m.d.sync += state.templates[place].eq(word)
        with m.If(self.preset.valid):
            m.d.sync += state.eq(self.preset.p.columns[column])

    def _connect(
        self, m: Module, execute: Value, vd: Value, mod: Value, lanes: list[SfpuLane], prng_seed: PrngSeed
    ) -> None:
        """Connect the lanes to each other, to Dst and to their columns."""
        word, address = self.i.p.word, self.i.p.address
        mode = Signal(StoreMode)
        m.d.comb += [
            mode.eq(Mux(mod == BY_CONFIGURATION, self.i.p.implied, mod)),
            self.store.wide.eq(mode.matches(*WIDE_STORES)),
        ]
        rotated = self._rotated(m, execute, vd, mod, lanes)
        special, load_odd = [], []
        for column, state in enumerate(self.state.columns):
            words = [*state.templates, *state.sequences, state.misc, *[0] * 6, state.lane_config.as_value()]
            special.append(Signal(WORD_BITS, name=f"special_{column}"))
            load_odd.append(address[1] | state.lane_config.load_odd)
            m.d.comb += [
                special[column].eq(Array(map(Value.cast, words))[word[8:12]]),
                self.store.odd[column].eq(address[1] | state.lane_config.store_odd),
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
                lane.execute.eq(execute),
                lane.word.eq(word),
                lane.number.eq(number),
                lane.programmed.eq(state.programmed),
                lane.lane_config.eq(state.lane_config),
                lane.special.eq(special[column]),
                lane.mode.eq(mode),
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

    def _rotated(self, m: Module, execute: Value, vd: Value, mod: Value, lanes: list[SfpuLane]) -> list[Value]:
        """Return the word that the first lane of each row gets from SFPSHFT2 that shifts lanes: 0, on Wormhole by a bug that of the
        last lane of the row in the SFPSHFT2 before that rotated lanes."""
        if self.config.chip is Chip.BLACKHOLE:
            return [Const(0)] * ROWS
        rotates = execute & named(self.i.p.word, "SFPSHFT2") & mod.matches(ROTATE, ROTATE_COPY4) & (vd < FIRST_TEMPLATE)
        for row, held in enumerate(self.state.rotated):
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
            WaveGroup("issue", r"(execute|alone|pending|second|masks)"),
            WaveGroup("random numbers", r"(seed|prng_)"),
            WaveGroup("columns", r"(value|special)_"),
            WaveGroup("lanes", r"lane_"),
        ),
    ),
)
