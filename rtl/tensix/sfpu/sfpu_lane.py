"""A lane of the Vector unit: its registers, predication, random numbers, and the effect of a cycle's instructions on them::

      registers, constants -+-> a, b, c -> Multiply -> [product] -> Add --+
                            +-> b, c ----> Simple ------------------------+
                            +-> b, c ----> Round -------------------------+-> registers
      other lanes ----------------------------------> [moved] ------------+
      Dst -------------------------------> FromDst -----------------------+

Ref: tt-isa-documentation, VectorUnit and the pages of the instructions: of Wormhole 3930471, of Blackhole 585749d.
"""

from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.golden.tensix.declarations.sfpu import CONSTANTS, FIRST_TEMPLATE, LANES, PROGRAMMED, SCHEDULED, StoreMode
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.sfpu.dst_words import FromDst, ToDst
from bitpath.rtl.tensix.sfpu.layouts import (
    DATUM_BITS,
    MULTIPLY_ADDS,
    REGISTERS,
    ROWS,
    WORD_BITS,
    Entry,
    LaneConfig,
    LaneState,
    SfpuConfig,
    SubUnits,
    modifier,
    named,
)
from bitpath.rtl.tensix.sfpu.multiply_add import Add, Multiply, Product
from bitpath.rtl.tensix.sfpu.predication import FlagInstructions
from bitpath.rtl.tensix.sfpu.rounding import Round, immediate_word
from bitpath.rtl.tensix.sfpu.simple import Simple
from bitpath.rtl.tensix.sfpu.stochastic_round import PrngStep
from bitpath.rtl.tensix.sfpu.tables import ONE, LookUp

FLAG_INSTRUCTIONS = ("SFPENCC", "SFPPUSHC", "SFPPOPC", "SFPCOMPC")
"""Instructions that act on all lanes, enabled or not."""
COMPARES = ("SFPLE", "SFPGT")
PLAIN = (
    *(
        "SFPDIVP2",
        "SFPEXEXP",
        "SFPEXMAN",
        "SFPIADD",
        "SFPSHFT",
        "SFPABS",
        "SFPAND",
        "SFPOR",
        "SFPXOR",
        "SFPNOT",
        "SFPLZ",
    ),
    *("SFPSETEXP", "SFPSETMAN", "SFPSETSGN", "SFPCAST", "SFPARECIP"),
)
"""Instructions of the simple sub-unit that write a value to VD of the enabled lanes; SFPMOV, SFPLE and SFPGT do on conditions."""
SETS_FLAG_BELOW_8 = ("SFPEXEXP", "SFPIADD", "SFPLZ")
MINIMUM_ROWS = (0b0000, 0b1111, 0b0011, 0b0101, 0b1001, 0b0001, 0b0010, 0b0100, 0b1000)
"""Rows in which VD gets the minimum, by SFPSWAP's modifier."""
COPY4, CHAINED, ROTATE_COPY4, ROTATE, SHIFT = range(5)
"""Modifiers of SFPSHFT2 that move registers or lanes; from `ROTATE_COPY4` on they take two cycles."""
ALL_LANES_MOVE = 2
"""SFPMOV's modifier that ignores whether lanes are enabled."""
RANDOM_WORD = 9
"""VC of SFPMOV's random number."""


class SfpuLane(wiring.Component):
    """Latency is a cycle; two of the MAD sub-unit, SFPSWAP, and SFPSHFT2 between lanes. Throughput is an instruction of each sub-unit
    a cycle, which all read the state before it; behind an SFPSWAP the simple sub-unit must execute nothing for a cycle. An
    instruction that reads the result of two cycles in the next one finds the register as it was; one that writes the same register
    wins. Of the instructions of a cycle one alone may write a register. SFPCONFIG and SFPNOP change nothing in a lane.

    Parameters
    ----------
    config : chip and numerics.

    Members
    -------
    operations : In(SubUnits), the instructions of this cycle
    number : In(5), of the lane
    programmed : In(4 words), LReg 11 to 14; lane_config : In(LaneConfig)
    special : In(32), the word of the configuration that SFPMOV names by VC
    dst : In(32), the word of Dst for a load; place : In(14), its row and column
    transposed : In(8 words), registers behind SFPTRANSP; below : In(32), LReg 0 of the lane 8 further, or 0;
        beside : In(32), VC of the lane to the left, for SFPSHFT2
    preset : In(1), a state replaces the lane's, at the end of this cycle: preset_state : In(LaneState)
    seeded : In(1), seed : In(32), a new random state
    state : Out(LaneState)
    vc : Out(32), the operand c of the round sub-unit
    store : Out(1), SFPSTORE writes the word stored : Out(32)
    """

    def __init__(self, config: SfpuConfig):
        self.config = config
        reset = dict.fromkeys(Entry.as_shape().members, config.numerics.sfpu_reset_conditional)
        super().__init__(
            {
                "operations": In(SubUnits),
                "number": In(range(LANES)),
                "programmed": In(data.ArrayLayout(WORD_BITS, len(PROGRAMMED))),
                "lane_config": In(LaneConfig),
                "special": In(WORD_BITS),
                "dst": In(WORD_BITS),
                "place": In(DATUM_BITS),
                "transposed": In(data.ArrayLayout(WORD_BITS, REGISTERS)),
                "below": In(WORD_BITS),
                "beside": In(WORD_BITS),
                "preset": In(1),
                "preset_state": In(LaneState),
                "seeded": In(1),
                "seed": In(WORD_BITS),
                "state": Out(LaneState, init={"predication": {"current": reset}}),
                "vc": Out(WORD_BITS),
                "store": Out(1),
                "stored": Out(WORD_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        state, registers = self.state, self.state.registers
        current = state.predication.current
        enabled = Signal()
        m.d.comb += enabled.eq(
            ~self.lane_config.row_mask.bit_select(self.number[3:], 1) & (~current.use | current.flag)
        )
        constants = [Const(CONSTANTS[place], WORD_BITS) for place in sorted(CONSTANTS)]
        words = [*registers, *constants, *self.programmed, Cat(Const(0, 1), self.number)]
        readable = Array(Value.cast(each) for each in words)
        # Results of two cycles come first: those of one cycle, which are younger, win.
        self._multiply_add(m, platform, enabled, readable)
        simple = self._simple(m, platform, enabled, readable)
        drawn = self._round(m, platform, enabled, readable)
        self._load(m, platform, enabled)
        self._store(m, platform, enabled, readable)
        step = instantiate(m, platform, "step", PrngStep)
        m.d.comb += step.i.eq(state.random)
        with m.If(self.preset):
            m.d.sync += state.eq(self.preset_state)
        with m.Elif(self.seeded):
            m.d.sync += state.random.eq(self.seed)
        with m.Elif(enabled & (simple | drawn)):
            m.d.sync += state.random.eq(step.o)
        return m

    def _legal(self, operation: data.View) -> Value:
        """Return whether a sub-unit executes an instruction, which has not become a template."""
        return operation.valid & (operation.scheduled | (operation.vd < FIRST_TEMPLATE) | self.lane_config.no_templates)

    def _operand(self, m: Module, name: str, readable: Array, index: Value) -> Signal:
        chosen, operand = Signal(4, name=f"index_{name}"), Signal(WORD_BITS, name=f"operand_{name}")
        m.d.comb += [chosen.eq(index), operand.eq(readable[chosen])]
        return operand

    def _set(self, m: Module, condition: Value, index: Value, value: Value) -> None:
        """Write a register from 0 to 7, or LReg 16."""
        for place in range(REGISTERS):
            with m.If(condition & (index == place)):
                m.d.sync += self.state.registers[place].eq(value)
        with m.If(condition & (index == SCHEDULED)):
            m.d.sync += self.state.scheduled.eq(value)

    def _multiply_add(self, m: Module, platform: Any, enabled: Value, readable: Array) -> None:
        """Begin an instruction of the MAD sub-unit, and write the result of the one before."""
        operation, registers = self.operations.mad, self.state.registers
        word, mod, vd = operation.word, Signal(4, name="mod_mad"), operation.vd
        blackhole = self.config.chip is Chip.BLACKHOLE
        indirect_a = named(word, "SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24") & mod[2]
        a = self._operand(m, "a_mad", readable, Mux(indirect_a, registers[7][:4], word[16:20]))
        b = self._operand(m, "b_mad", readable, operation.b)
        c = self._operand(m, "c_mad", readable, operation.c)
        multiply = instantiate(m, platform, "multiply", Multiply, self.config.chip)
        add = instantiate(m, platform, "add", Add, self.config.chip)
        look_up = instantiate(m, platform, "look_up", LookUp)
        narrow = named(word, "SFPLUT")
        table = narrow | named(word, "SFPLUTFP32")
        m.d.comb += [
            mod.eq(modifier(word)),
            look_up.registers.eq(registers),
            look_up.narrow.eq(narrow),
            look_up.mode.eq(mod),
        ]
        immediate = Cat(Const(0, 16), word[8:24])
        negates_a, negates_c = (mod[0], mod[1]) if blackhole else (Const(0), Const(0))
        negated_c = Cat(c[:-1], c[-1] ^ negates_c)
        m.d.comb += [
            multiply.a.eq(Cat(a[:-1], a[-1] ^ negates_a)),
            multiply.b.eq(b),
            multiply.c.eq(negated_c),
        ]
        with m.If(named(word, "SFPADDI")):
            m.d.comb += [multiply.a.eq(immediate), multiply.b.eq(ONE)]
        with m.Elif(named(word, "SFPMULI")):
            m.d.comb += [multiply.a.eq(immediate), multiply.b.eq(negated_c), multiply.c.eq(0)]
        with m.Elif(table):
            m.d.comb += [
                multiply.a.eq(look_up.factor),
                multiply.b.eq(look_up.magnitude),
                multiply.c.eq(look_up.addend),
            ]
        if blackhole:
            with m.Elif(named(word, "SFPMUL24")):
                m.d.comb += [
                    multiply.a.eq(a),
                    multiply.c.eq(c),
                    multiply.is_integer.eq(1),
                    multiply.upper.eq(mod[0]),
                ]

        target, written = Signal(5), Signal()
        keeps_sign, sign = Signal(), Signal()
        product = Signal(Product, reset_less=True)
        result = Signal(FP32.width)
        m.d.comb += [
            add.i.eq(product),
            result.eq(Cat(add.o[:-1], Mux(keeps_sign, sign, add.o[-1]))),
        ]
        m.d.sync += [
            written.eq(self._legal(operation) & enabled & named(word, *MULTIPLY_ADDS)),
            target.eq(Mux(mod[3] & (vd != SCHEDULED), registers[7][:4], vd)),
            product.eq(multiply.o),
            keeps_sign.eq(table & mod[2]),
            sign.eq(registers[3][-1]),
        ]
        self._set(m, written, target, result)

    def _simple(self, m: Module, platform: Any, enabled: Value, readable: Array) -> Value:
        """Execute the simple sub-unit's instruction; return whether an enabled lane draws a random number."""
        operation, state = self.operations.simple, self.state
        word, vd, mod = operation.word, operation.vd, Signal(4, name="mod_simple")
        blackhole = self.config.chip is Chip.BLACKHOLE
        legal, low = Signal(name="legal_simple"), vd < REGISTERS
        swapping, swapped_b, swapped_c = Signal(), Signal(5), Signal(4)
        b = self._operand(m, "b_simple", readable, Mux(swapping, swapped_b, operation.b))
        c = self._operand(m, "c_simple", readable, Mux(swapping, swapped_c, operation.c))
        simple = instantiate(m, platform, "simple", Simple, self.config)
        m.d.comb += [
            mod.eq(modifier(word)),
            legal.eq(self._legal(operation)),
            simple.word.eq(word),
            simple.b.eq(b),
            simple.c.eq(c),
            simple.special.eq(Mux(operation.c == RANDOM_WORD, state.random, self.special)),
            simple.random.eq(state.random),
            simple.current.eq(state.predication.current),
        ]
        acts = legal & enabled
        decided = acts & named(word, "SFPSWAP") & self._decided(mod, simple.smaller)
        m.d.sync += [swapping.eq(decided), swapped_b.eq(vd), swapped_c.eq(operation.c)]
        self._exchange(m, swapping, swapped_b, swapped_c, b, c)
        with m.If(acts & named(word, "SFPTRANSP")):
            m.d.sync += state.registers.eq(self.transposed)

        compares = named(word, *COMPARES) & mod[3] if blackhole else Const(0)
        moves = named(word, "SFPMOV")
        everywhere = moves & (mod == ALL_LANES_MOVE) & legal
        self._set(m, acts & (named(word, *PLAIN) | compares | moves) | everywhere, vd, simple.value)
        self._predicate(m, platform, legal, enabled, low, simple)
        cast = named(word, "SFPCAST") & mod[0]
        if blackhole:
            cast &= ~mod[1]
        return legal & (cast | (moves & mod[3] & (operation.c == RANDOM_WORD)))

    def _decided(self, mod: Value, smaller: Value) -> Value:
        """Return whether SFPSWAP exchanges."""
        rows = Cat(Const(each, ROWS) for each in (*MINIMUM_ROWS, *[0] * 7))
        minimum = rows.word_select(mod, ROWS).bit_select(self.number[3:], 1)
        return Mux(mod == 0, 1, smaller ^ ~minimum ^ self.lane_config.invert_swap)

    def _exchange(self, m: Module, swapping: Signal, swapped_b: Signal, swapped_c: Signal, b: Value, c: Value) -> None:
        """Write in the second cycle of an SFPSWAP."""
        registers, lane_config = self.state.registers, self.lane_config
        writes = Mux(lane_config.swap_index, REGISTERS // 2, REGISTERS)
        self._set(m, swapping & (swapped_c < writes), swapped_c, b)
        self._set(m, swapping & (swapped_b < writes), swapped_b, c)
        with m.If(swapping & lane_config.swap_index):
            upper = Array(registers[REGISTERS // 2 + place] for place in range(REGISTERS // 2))
            m.d.sync += [
                upper[swapped_c[:2]].eq(upper[swapped_b[:2]]),
                upper[swapped_b[:2]].eq(upper[swapped_c[:2]]),
            ]

    def _predicate(self, m: Module, platform: Any, legal: Value, enabled: Value, low: Value, simple: Simple) -> None:
        """Write flags and the stack."""
        word, predication = self.operations.simple.word, self.state.predication
        flags = instantiate(m, platform, "flags", FlagInstructions, self.config.chip)
        m.d.comb += [flags.word.eq(word), flags.relation.eq(simple.relation), flags.i.eq(predication)]
        acts = named(word, *FLAG_INSTRUCTIONS)
        if self.config.chip is Chip.BLACKHOLE:
            acts |= named(word, *COMPARES)
        with m.If(legal & acts):
            m.d.sync += predication.eq(flags.o)
        sets = named(word, *SETS_FLAG_BELOW_8) & low | named(word, "SFPSETCC", *COMPARES)
        with m.If(legal & enabled & sets):
            m.d.sync += predication.current.flag.eq(simple.flag)

    def _round(self, m: Module, platform: Any, enabled: Value, readable: Array) -> Value:
        """Execute the round sub-unit's instruction, and write what the one before moved between lanes; return whether an enabled
        lane draws a random number."""
        operation, registers = self.operations.round, self.state.registers
        word, mod = operation.word, Signal(4, name="mod_round")
        b = self._operand(m, "b_round", readable, operation.b)
        c = self._operand(m, "c_round", readable, operation.c)
        rounder = instantiate(m, platform, "round", Round, self.config.numerics)
        acts, shift = Signal(name="acts_round"), named(word, "SFPSHFT2")
        m.d.comb += [
            mod.eq(modifier(word)),
            acts.eq(self._legal(operation) & enabled),
            self.vc.eq(c),
            rounder.word.eq(word),
            rounder.b.eq(b),
            rounder.c.eq(c),
            rounder.random.eq(self.state.random),
        ]
        moves, copies = Signal(), Signal()
        moved = Signal(WORD_BITS, reset_less=True)
        target = Signal(5)
        m.d.sync += [
            copies.eq(acts & shift & (mod == ROTATE_COPY4)),
            moves.eq(acts & shift & ((mod == ROTATE) | (mod == SHIFT))),
            moved.eq(self.beside),
            target.eq(operation.vd),
        ]
        self._set(m, moves, target, moved)
        with m.If(copies):
            m.d.sync += [*(registers[place].eq(registers[place + 1]) for place in range(3)), registers[3].eq(moved)]
        with m.If(acts & shift & ((mod == COPY4) | (mod == CHAINED))):
            m.d.sync += [
                *(registers[place].eq(registers[place + 1]) for place in range(3)),
                registers[3].eq(Mux(mod == CHAINED, self.below, 0)),
            ]
        rounds = named(word, "SFP_STOCH_RND")
        self._set(m, acts & (rounds | (shift & (mod > SHIFT))), operation.vd, rounder.value)
        return acts & rounds

    def _load(self, m: Module, platform: Any, enabled: Value) -> None:
        """Write what SFPLOAD, SFPLOADMACRO and SFPLOADI load."""
        operation, lane_config = self.operations.load, self.lane_config
        word, vd = operation.word, operation.vd
        before = Array(self.state.registers)[vd[:3]]
        load = instantiate(m, platform, "load", FromDst, self.config.numerics)
        immediate, whole = named(word, "SFPLOADI"), load.mode == StoreMode.INT32_ALL
        loads = named(word, "SFPLOAD", "SFPLOADMACRO") & (enabled | whole) & ~lane_config.block_load
        m.d.comb += [
            load.i.eq(self.dst),
            load.old.eq(before),
            Value.cast(load.mode).eq(operation.mode),
            load.infinity.eq(lane_config.fp16_infinity),
        ]
        # All instructions of this sub-unit have their modifier there.
        value = Mux(immediate, immediate_word(word[:16], word[16:20], before), load.o)
        self._set(m, operation.valid & (loads | (immediate & enabled)), vd, value)
        indexes = (vd < REGISTERS // 2) & lane_config.swap_index & lane_config.load_index
        self._set(m, operation.valid & loads & indexes, Cat(vd[:2], Const(1, 1)), self.place)

    def _store(self, m: Module, platform: Any, enabled: Value, readable: Array) -> None:
        """Give the word that SFPSTORE writes."""
        operation = self.operations.store
        to_dst = instantiate(m, platform, "to_dst", ToDst, self.config.numerics)
        general = self._operand(m, "store", readable, operation.vd)
        whole = to_dst.mode == StoreMode.INT32_ALL
        m.d.comb += [
            to_dst.i.eq(Mux(operation.vd == SCHEDULED, self.state.scheduled, general)),
            Value.cast(to_dst.mode).eq(operation.mode),
            self.store.eq(self._legal(operation) & (enabled | whole) & ~self.lane_config.block_store),
            self.stored.eq(to_dst.o),
        ]


_BLACKHOLE = SfpuConfig(chip=Chip.BLACKHOLE, numerics=BLACKHOLE.numerics)


RECORDS = (
    Unit(
        name="sfpu_lane",
        config_type=SfpuConfig,
        build=SfpuLane,
        summary="Tensix: a lane of the Vector unit, its registers and every instruction on them",
        covered=Covered(_BLACKHOLE, 1000),
        judges=(Judge(65, _BLACKHOLE, 4000),),
        waves=(
            CLOCK,
            WaveGroup("instructions", r"(operations|mod_|dst|number)"),
            WaveGroup("registers", r"state"),
            WaveGroup("operands", r"(operand|index)_"),
            WaveGroup("MAD sub-unit", r"(multiply|add|product|look_up)"),
            WaveGroup("simple and round sub-units", r"simple"),
        ),
    ),
)
