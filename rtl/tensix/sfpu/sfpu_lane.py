"""A lane of the Vector unit: eight registers, predication, random numbers, and the effect of an instruction on them::

      registers, constants -> a, b, c --+-> Multiply -> [product] -> Add --+
                                        +-> Simple ------------------------+-> registers
      Dst --------------------------------> FromDst -----------------------+
      other lanes ---------------------------------> [moved] --------------+

Ref: tt-isa-documentation, VectorUnit and the pages of the instructions: of Wormhole 3930471, of Blackhole 585749d.
"""

from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.golden.tensix.declarations.sfpu import CONSTANTS, FIRST_TEMPLATE, LANES, PROGRAMMED, StoreMode
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
    destination,
    modifier,
    named,
)
from bitpath.rtl.tensix.sfpu.multiply_add import Add, Multiply, Product
from bitpath.rtl.tensix.sfpu.predication import FlagInstructions
from bitpath.rtl.tensix.sfpu.simple import RANDOM_WORD, Simple
from bitpath.rtl.tensix.sfpu.stochastic_round import PrngStep
from bitpath.rtl.tensix.sfpu.tables import ONE, LookUp

FLAG_INSTRUCTIONS = ("SFPENCC", "SFPPUSHC", "SFPPOPC", "SFPCOMPC")
"""Instructions that act on all lanes, enabled or not."""
COMPARES = ("SFPLE", "SFPGT")
PLAIN = (
    *(
        "SFPLOADI",
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
    ),
    *("SFPLZ", "SFPSETEXP", "SFPSETMAN", "SFPSETSGN", "SFPCAST", "SFP_STOCH_RND", "SFPARECIP"),
)
"""Instructions of one cycle that write a value to VD of the enabled lanes; SFPMOV, SFPSHFT2, SFPLE and SFPGT do on conditions."""
SETS_FLAG_BELOW_8 = ("SFPEXEXP", "SFPIADD", "SFPLZ")
ANY_VB = ("SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24", "SFPARECIP", "SFP_STOCH_RND", "SFPSHFT2")
"""Instructions whose b is VB; that of SFPAND and SFPOR is on Blackhole by their modifier, that of others is VD."""
MINIMUM_ROWS = (0b0000, 0b1111, 0b0011, 0b0101, 0b1001, 0b0001, 0b0010, 0b0100, 0b1000)
"""Rows in which VD gets the minimum, by SFPSWAP's modifier."""
COPY4, CHAINED, ROTATE_COPY4, ROTATE, SHIFT = range(5)
"""Modifiers of SFPSHFT2 that move registers or lanes; from `ROTATE_COPY4` on they take two cycles."""
ALL_LANES_MOVE = 2
"""SFPMOV's modifier that ignores whether lanes are enabled."""


class SfpuLane(wiring.Component):
    """Latency is a cycle; two of the MAD sub-unit, SFPSWAP, and SFPSHFT2 between lanes. Throughput is an instruction a cycle;
    behind an SFPSWAP nothing may be executed for a cycle. An instruction that reads the result of two cycles in the next one finds
    the register as it was; one that writes the same register wins. SFPCONFIG and SFPLOADMACRO change nothing in a lane.

    Parameters
    ----------
    config : chip and numerics.

    Members
    -------
    execute : In(1), word : In(32), the instruction of this cycle
    number : In(5), of the lane
    programmed : In(4 words), LReg 11 to 14; lane_config : In(LaneConfig)
    special : In(32), the word of the configuration that SFPMOV names by VC
    mode : In(StoreMode), of SFPLOAD or SFPSTORE; dst : In(32), the word of Dst; place : In(14), its row and column
    transposed : In(8 words), registers behind SFPTRANSP; below : In(32), LReg 0 of the lane 8 further, or 0;
        beside : In(32), VC of the lane to the left, for SFPSHFT2
    preset : In(1), a state replaces the lane's, at the end of this cycle: preset_state : In(LaneState)
    seeded : In(1), seed : In(32), a new random state
    state : Out(LaneState)
    vc : Out(32), the operand c
    store : Out(1), SFPSTORE writes the word stored : Out(32)
    """

    def __init__(self, config: SfpuConfig):
        self.config = config
        reset = dict.fromkeys(Entry.as_shape().members, config.numerics.sfpu_reset_conditional)
        super().__init__(
            {
                "execute": In(1),
                "word": In(WORD_BITS),
                "number": In(range(LANES)),
                "programmed": In(data.ArrayLayout(WORD_BITS, len(PROGRAMMED))),
                "lane_config": In(LaneConfig),
                "special": In(WORD_BITS),
                "mode": In(StoreMode),
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
        word, state, registers = self.word, self.state, self.state.registers
        current = state.predication.current
        vd, mod = Signal(4), Signal(4)
        enabled, legal, low = Signal(), Signal(), Signal()
        m.d.comb += [
            vd.eq(destination(word)),
            mod.eq(modifier(word)),
            enabled.eq(
                self.execute & ~self.lane_config.row_mask.bit_select(self.number[3:], 1) & (~current.use | current.flag)
            ),
            legal.eq((vd < FIRST_TEMPLATE) | self.lane_config.no_templates),
            low.eq(vd < REGISTERS),
        ]
        swapping, swapped_b, swapped_c = Signal(), Signal(4), Signal(4)
        a, b, c = self._operands(m, vd, mod, swapping, swapped_b, swapped_c)
        m.d.comb += self.vc.eq(c)
        simple = instantiate(m, platform, "simple", Simple, self.config)
        m.d.comb += [
            simple.word.eq(word),
            simple.b.eq(b),
            simple.c.eq(c),
            simple.special.eq(self.special),
            simple.random.eq(state.random),
            simple.current.eq(current),
        ]
        # Results of two cycles come first: those of one cycle, which are younger, win.
        self._multiply_add(m, platform, vd, mod, enabled & legal, a, b, c)
        self._swap(m, vd, mod, enabled & legal, simple.smaller, swapping, swapped_b, swapped_c, b, c)
        self._move_lanes(m, vd, mod, enabled, legal)
        self._write(m, platform, vd, mod, enabled, low, b, simple.value)
        self._predicate(m, platform, mod, enabled, legal, low, simple)
        self._random(m, platform, mod, enabled & legal)
        self._store(m, platform, b, enabled, legal)
        with m.If(self.preset):
            m.d.sync += [registers.eq(self.preset_state.registers), state.predication.eq(self.preset_state.predication)]
        return m

    def _operands(
        self, m: Module, vd: Value, mod: Value, swapping: Value, swapped_b: Value, swapped_c: Value
    ) -> list[Signal]:
        word, state = self.word, self.state
        constants = [Const(CONSTANTS[place], WORD_BITS) for place in sorted(CONSTANTS)]
        words = [*state.registers, *constants, *self.programmed, Cat(Const(0, 1), self.number)]
        readable = Array(Value.cast(each) for each in words)
        indirect = named(word, "SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24") & mod[2]
        names_b = named(word, *ANY_VB)
        if self.config.chip is Chip.BLACKHOLE:
            names_b |= named(word, "SFPAND", "SFPOR") & mod[0]
        indices = {
            "a": Mux(indirect, state.registers[7][:4], word[16:20]),
            "b": Mux(swapping, swapped_b, Mux(names_b, word[12:16], vd)),
            "c": Mux(swapping, swapped_c, Mux(named(word, "SFPADDI", "SFPMULI"), vd, word[8:12])),
        }
        operands = []
        for name, index in indices.items():
            chosen, operand = Signal(4, name=f"index_{name}"), Signal(WORD_BITS, name=f"operand_{name}")
            m.d.comb += [chosen.eq(index), operand.eq(readable[chosen])]
            operands.append(operand)
        return operands

    def _multiply_add(
        self, m: Module, platform: Any, vd: Value, mod: Value, enabled: Value, a: Value, b: Value, c: Value
    ) -> None:
        """Begin an instruction of the MAD sub-unit, and write the result of the one before."""
        word, registers = self.word, self.state.registers
        blackhole = self.config.chip is Chip.BLACKHOLE
        multiply = instantiate(m, platform, "multiply", Multiply, self.config.chip)
        add = instantiate(m, platform, "add", Add, self.config.chip)
        look_up = instantiate(m, platform, "look_up", LookUp)
        narrow = named(word, "SFPLUT")
        table = narrow | named(word, "SFPLUTFP32")
        m.d.comb += [look_up.registers.eq(registers), look_up.narrow.eq(narrow), look_up.mode.eq(mod)]
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
                    multiply.integer.eq(1),
                    multiply.upper.eq(mod[0]),
                ]

        target, written = Signal(4), Signal()
        keeps_sign, sign = Signal(), Signal()
        product = Signal(Product, reset_less=True)
        result = Signal(FP32.width)
        indirect = Signal(4)
        m.d.comb += [
            indirect.eq(Mux(mod[3], registers[7][:4], vd)),
            add.i.eq(product),
            result.eq(Cat(add.o[:-1], Mux(keeps_sign, sign, add.o[-1]))),
        ]
        m.d.sync += [
            written.eq(enabled & named(word, *MULTIPLY_ADDS) & (indirect < REGISTERS)),
            target.eq(indirect),
            product.eq(multiply.o),
            keeps_sign.eq(table & mod[2]),
            sign.eq(registers[3][-1]),
        ]
        self._set(m, written, target, result)

    def _set(self, m: Module, condition: Value, index: Value, value: Value) -> None:
        for place in range(REGISTERS):
            with m.If(condition & (index == place)):
                m.d.sync += self.state.registers[place].eq(value)

    def _swap(
        self,
        m: Module,
        vd: Value,
        mod: Value,
        enabled: Value,
        smaller: Value,
        swapping: Signal,
        swapped_b: Signal,
        swapped_c: Signal,
        b: Value,
        c: Value,
    ) -> None:
        """Decide in the first cycle, read again and write in the second one."""
        word, registers, lane_config = self.word, self.state.registers, self.lane_config
        rows = Cat(Const(each, ROWS) for each in (*MINIMUM_ROWS, *[0] * 7))
        minimum = rows.word_select(mod, ROWS).bit_select(self.number[3:], 1)
        decided = Mux(mod == 0, 1, smaller ^ ~minimum ^ lane_config.invert_swap)
        m.d.sync += [
            swapping.eq(enabled & named(word, "SFPSWAP") & decided),
            swapped_b.eq(vd),
            swapped_c.eq(word[8:12]),
        ]
        writes = Mux(lane_config.swap_index, REGISTERS // 2, REGISTERS)
        self._set(m, swapping & (swapped_c < writes), swapped_c, b)
        self._set(m, swapping & (swapped_b < writes), swapped_b, c)
        with m.If(swapping & lane_config.swap_index):
            upper = Array(registers[REGISTERS // 2 + place] for place in range(REGISTERS // 2))
            m.d.sync += [
                upper[swapped_c[:2]].eq(upper[swapped_b[:2]]),
                upper[swapped_b[:2]].eq(upper[swapped_c[:2]]),
            ]

    def _move_lanes(self, m: Module, vd: Value, mod: Value, enabled: Value, legal: Value) -> None:
        """SFPTRANSP and SFPSHFT2's modifiers that move registers or lanes."""
        word, registers = self.word, self.state.registers
        shift = named(word, "SFPSHFT2")
        moves, copies = Signal(), Signal()
        moved = Signal(WORD_BITS, reset_less=True)
        target = Signal(4)
        rotates, slides = shift & (mod == ROTATE), shift & (mod == SHIFT)
        m.d.sync += [
            copies.eq(enabled & legal & shift & (mod == ROTATE_COPY4)),
            moves.eq(enabled & (vd < REGISTERS) & (rotates | slides)),
            moved.eq(self.beside),
            target.eq(vd),
        ]
        self._set(m, moves, target, moved)
        with m.If(copies):
            m.d.sync += [*(registers[place].eq(registers[place + 1]) for place in range(3)), registers[3].eq(moved)]
        with m.If(enabled & legal & shift & ((mod == COPY4) | (mod == CHAINED))):
            m.d.sync += [
                *(registers[place].eq(registers[place + 1]) for place in range(3)),
                registers[3].eq(Mux(mod == CHAINED, self.below, 0)),
            ]
        with m.If(enabled & legal & named(word, "SFPTRANSP")):
            m.d.sync += registers.eq(self.transposed)

    def _write(
        self,
        m: Module,
        platform: Any,
        vd: Value,
        mod: Value,
        enabled: Value,
        low: Value,
        b: Value,
        value: Value,
    ) -> None:
        """Write the results of one cycle to VD, and SFPLOAD's."""
        word, lane_config = self.word, self.lane_config
        shifts = named(word, "SFPSHFT2") & (mod > SHIFT)
        compares = named(word, *COMPARES) & mod[3] if self.config.chip is Chip.BLACKHOLE else Const(0)
        moves = named(word, "SFPMOV")
        everywhere = moves & (mod == ALL_LANES_MOVE) & self.execute
        writes = enabled & (named(word, *PLAIN) | shifts | compares | moves)
        load = instantiate(m, platform, "load", FromDst, self.config.numerics)
        whole = self.mode == StoreMode.INT32_ALL
        loads = named(word, "SFPLOAD") & (enabled | whole & self.execute) & ~lane_config.block_load
        m.d.comb += [
            load.i.eq(self.dst),
            load.before.eq(b),
            load.mode.eq(self.mode),
            load.infinity.eq(lane_config.fp16_infinity),
        ]
        self._set(m, low & (writes | everywhere | loads), vd, Mux(named(word, "SFPLOAD"), load.o, value))
        captures = loads & (vd < REGISTERS // 2) & lane_config.swap_index & lane_config.load_index
        self._set(m, captures, Cat(vd[:2], Const(1, 1)), self.place)

    def _predicate(
        self, m: Module, platform: Any, mod: Value, enabled: Value, legal: Value, low: Value, simple: Simple
    ) -> None:
        """Write flags and the stack."""
        word, predication = self.word, self.state.predication
        flags = instantiate(m, platform, "flags", FlagInstructions, self.config.chip)
        m.d.comb += [flags.word.eq(word), flags.relation.eq(simple.relation), flags.i.eq(predication)]
        acts = named(word, *FLAG_INSTRUCTIONS)
        if self.config.chip is Chip.BLACKHOLE:
            acts |= named(word, *COMPARES)
        with m.If(self.execute & legal & acts):
            m.d.sync += predication.eq(flags.o)
        sets = named(word, *SETS_FLAG_BELOW_8) & low | named(word, "SFPSETCC", *COMPARES) & legal
        with m.If(enabled & sets):
            m.d.sync += predication.current.flag.eq(simple.flag)

    def _random(self, m: Module, platform: Any, mod: Value, enabled: Value) -> None:
        word, random = self.word, self.state.random
        step = instantiate(m, platform, "step", PrngStep)
        m.d.comb += step.i.eq(random)
        cast = named(word, "SFPCAST") & mod[0]
        if self.config.chip is Chip.BLACKHOLE:
            cast &= ~mod[1]
        move = named(word, "SFPMOV") & mod[3] & (word[8:12] == RANDOM_WORD)
        with m.If(self.preset):
            m.d.sync += random.eq(self.preset_state.random)
        with m.Elif(self.seeded):
            m.d.sync += random.eq(self.seed)
        with m.Elif(enabled & (named(word, "SFP_STOCH_RND") | cast | move)):
            m.d.sync += random.eq(step.o)

    def _store(self, m: Module, platform: Any, b: Value, enabled: Value, legal: Value) -> None:
        """Give the word that SFPSTORE writes."""
        to_dst = instantiate(m, platform, "to_dst", ToDst, self.config.numerics)
        whole = self.mode == StoreMode.INT32_ALL
        stores = named(self.word, "SFPSTORE") & (enabled | whole & self.execute)
        m.d.comb += [
            to_dst.i.eq(b),
            to_dst.mode.eq(self.mode),
            self.store.eq(stores & legal & ~self.lane_config.block_store),
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
        judges=(Judge(65, _BLACKHOLE, 1000),),
        waves=(
            CLOCK,
            WaveGroup("instruction", r"(execute|word|mode|dst|number)"),
            WaveGroup("registers", r"state"),
            WaveGroup("operands", r"(operand|index)_"),
            WaveGroup("MAD sub-unit", r"(multiply|add|product|look_up)"),
            WaveGroup("simple and round sub-units", r"simple"),
        ),
    ),
)
