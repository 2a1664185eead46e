"""West edge of a row of processing elements of all modes: words of operand memory become beats and moving words.

moving word      slot s of the row's group at bits 32 s; MX and double row at bits 0, with scale 0
stationary word  two columns of 32 bits (FP32, TF32, FP8 x4), or four of 16 (FP8 in the lower byte; double row's two FP8;
                 FP4 x4), with a scale and a tag for each
"""

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import BF16, E8M0, FP32
from bitpath.golden.trainium3.declarations.tensor import LOAD_BITS, LOAD_COLUMNS, LOW_BITS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.config import RowConfig
from bitpath.rtl.trainium3.dot.element_map import ElementMap, MapConfig, MapTable
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.core_pe import CorePe, Mode, moving_layout, stationary_layout
from bitpath.rtl.trainium3.tensor.element_decode import ElementDecode, OperandFormat
from bitpath.rtl.trainium3.tensor.sparse_select import PATTERN, SLOTS, TAG

# A processing element of all modes with its place in a fast weight load: beats of stationary words move east with the moving words.
#
#     beat  | words 3 .. 0 | place |  a column c of a beat whose first word is for column f has place f - c;
#                                     it takes word -place, if that exists, and passes place - 1 on
#
# Ref: "Trainium Architecture Guide for NKI", fast weight load and background load of LoadStationary. Its structure is a
# choice.


COLUMN_CHAINS = (("beat_west", "beat_east"), ("moving_west", "moving_east"), ("swap_west", "swap_east"))
"""Ports that chain a column to its eastern neighbour."""


def beat_layout(config: CorePeConfig, cols: int) -> data.StructLayout:
    """Layout of a beat: its stationary words, the first one's column less the present one, and how many words it has."""
    return data.StructLayout(
        {
            "words": data.ArrayLayout(stationary_layout(config), LOAD_COLUMNS),
            "place": signed(ceil_log2(cols) + 1),
            "narrow": 1,  # four words, else two
            "valid": 1,
        }
    )


class CoreColumn(wiring.Component):
    """One :class:`CorePe`, which holds the word of its column twice; a beat leaves east a cycle later.

    Parameters
    ----------
    config : configuration of the PE.
    cols : columns of the array.

    Members
    -------
    advance : In(1), clock enable of every register
    beat_west : In(beat_layout), beat_east : Out(beat_layout)
    moving_west : In(moving_layout), moving_east : Out(moving_layout)
    swap_west : In(1), swap_east : Out(1)
    partial_north : In(32), partial_south : Out(32)
    """

    def __init__(self, config: CorePeConfig, cols: int):
        self.config, self.cols = config, cols
        super().__init__(self.ports(config, cols))

    @staticmethod
    def ports(config: CorePeConfig, cols: int) -> dict[str, wiring.Member]:
        """Return the members of one column."""
        beat, moving = beat_layout(config, cols), moving_layout(config)
        return {
            "advance": In(1),
            "beat_west": In(beat),
            "beat_east": Out(beat),
            "moving_west": In(moving),
            "moving_east": Out(moving),
            "swap_west": In(1),
            "swap_east": Out(1),
            "partial_north": In(FP32.width),
            "partial_south": Out(FP32.width),
        }

    def elaborate(self, platform):
        m = Module()
        pe = instantiate(m, platform, "pe", CorePe, self.config)
        beat = self.beat_west
        number = Signal(len(beat.place))
        m.d.comb += [
            number.eq(-beat.place),
            pe.load.eq(beat.valid & (number < Mux(beat.narrow, LOAD_COLUMNS, LOAD_COLUMNS // 2))),
            pe.stationary_west.eq(beat.words[number[: ceil_log2(LOAD_COLUMNS)]]),
            pe.advance.eq(self.advance),
            pe.moving_west.eq(self.moving_west),
            pe.swap_west.eq(self.swap_west),
            pe.partial_north.eq(self.partial_north),
            self.moving_east.eq(pe.moving_east),
            self.swap_east.eq(pe.swap_east),
            self.partial_south.eq(pe.partial_south),
        ]
        with m.If(self.advance):
            m.d.sync += [self.beat_east.eq(beat), self.beat_east.place.eq(beat.place - 1)]
        return m


def slots(config: CorePeConfig) -> int:
    """Return the moving elements that a PE chooses from."""
    return SLOTS * SLOTS if config.sparse else 1


def core_word(config: CorePeConfig) -> data.StructLayout:
    """Layout of a word of operand memory; scales and tags of a moving word are read as one scale."""
    tags = {"tags": data.ArrayLayout(TAG, LOAD_COLUMNS)} if config.sparse else {}
    bits = max(LOAD_BITS, FP32.width * slots(config))
    return data.StructLayout({"bits": bits, "scales": data.ArrayLayout(E8M0.width, LOAD_COLUMNS)} | tags)


def core_control(config: RowConfig) -> dict[str, object]:
    """Fields of a row's control beside those of every array.

    ``mode``, ``number``, ``first`` and ``pattern`` are a moving word's, see :func:`moving_layout`; ``stationary_mode`` is
    that of the words that ``load`` reads, and ``column`` the first one's.
    """
    pattern = {"pattern": PATTERN} if config.dot.sparse else {}
    return {
        "mode": Mode,
        "stationary_mode": Mode,
        "number": 2,
        "first": 1,
        "column": ceil_log2(config.cols),
    } | pattern


class CoreEdge(wiring.Component):
    """It is combinational, with latency 0.

    Parameters
    ----------
    config : configuration of the row.
    control : layout of its control.

    Members
    -------
    control : In(control)
    stationary, moving : In(core_word), the words that control asked for
    fp4_table : In(MapTable)
    beat : Out(beat_layout), o : Out(moving_layout)
    """

    clocked = False

    def __init__(self, config: RowConfig, control: data.StructLayout):
        self.config = config
        word = core_word(config.dot)
        super().__init__(
            {
                "control": In(control),
                "stationary": In(word),
                "moving": In(word),
                "fp4_table": In(MapTable),
                "beat": Out(beat_layout(config.dot, config.cols)),
                "o": Out(moving_layout(config.dot)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pe, control, bits = self.config.dot, self.control, self.stationary.bits
        mode, fmt = control.stationary_mode, control.stationary_format
        wide = Signal()
        m.d.comb += [
            wide.eq(
                (fmt == OperandFormat.FP32)
                | (fmt == OperandFormat.TF32)
                | ((mode == Mode.MX) & (fmt != OperandFormat.E2M1))
            ),
            self.beat.place.eq(control.column),
            self.beat.narrow.eq(~wide),
            self.beat.valid.eq(control.load),
        ]
        for k in range(LOAD_COLUMNS):
            word, code = self.beat.words[k], Signal(FP32.width, name=f"code_{k}")
            narrow = bits.word_select(k, BF16.width)
            m.d.comb += code.eq(
                Mux(wide, bits.word_select(k, FP32.width), narrow) if k < LOAD_BITS // FP32.width else narrow
            )
            element = instantiate(m, platform, f"stationary_{k}", ElementDecode, pe.numerics.tf32_rounding)
            m.d.comb += [element.code.eq(code), element.format.eq(fmt)]
            mapped = self._mapped(m, platform, f"map_{k}", code, self.stationary.scales[k], fmt)
            with m.Switch(mode):
                with m.Case(Mode.MX, Mode.DOUBLE_ROW):
                    m.d.comb += word.word.mx.eq(mapped)
                with m.Case(Mode.PASS):
                    m.d.comb += word.word.bits.eq(code)
                with m.Default():
                    m.d.comb += word.word.element.eq(element.o)
            if pe.sparse:
                m.d.comb += word.tag.eq(self.stationary.tags[k])
        self._moving(m, platform)
        return m

    def _moving(self, m: Module, platform) -> None:
        pe, control, word = self.config.dot, self.control, self.moving
        fmt, low = control.moving_format, Signal()
        m.d.comb += [
            low.eq(((control.mode == Mode.NARROW) | (control.mode == Mode.FUSED)) & ~control.number[0]),
            # A bubble must not add to the sum of passes.
            self.o.mode.eq(Mux(control.valid, control.mode, Mode.NARROW)),
            self.o.number.eq(control.number),
            self.o.first.eq(control.first),
        ]
        if pe.sparse:
            m.d.comb += self.o.pattern.eq(control.pattern)
        code = word.bits[: FP32.width]
        mapped = self._mapped(m, platform, "map_moving", code, word.scales[0], fmt)
        elements = []
        for slot in range(slots(pe)):
            element = instantiate(m, platform, f"moving_{slot}", ElementDecode, pe.numerics.tf32_rounding)
            m.d.comb += [
                element.code.eq(word.bits.word_select(slot, FP32.width)),
                element.format.eq(fmt),
                element.low.eq(low),
            ]
            elements.append(element.o)
        with m.If((control.mode == Mode.MX) | (control.mode == Mode.DOUBLE_ROW)):
            m.d.comb += self.o.word.mx.eq(mapped)
        with m.Else():
            for own, element in zip(self.o.word.slots, elements, strict=True):
                m.d.comb += [
                    own.significand.eq(element.significand[LOW_BITS:]),
                    own.exponent.eq(element.exponent),
                    own.sign.eq(element.sign),
                    own.inf.eq(element.inf),
                    own.nan.eq(element.nan),
                ]

    def _mapped(self, m: Module, platform, name: str, code, scale, fmt):
        """The operand of MX and double row, which alone has E4M3."""
        numerics = self.config.dot.dot
        mapper = instantiate(m, platform, name, ElementMap, MapConfig(numerics=numerics))
        mapped = Signal(mapper.o.shape(), name=f"{name}_o")
        index = next(k for k, each in enumerate(numerics.element_formats) if each.name == OperandFormat.E4M3.name)
        m.d.comb += [
            mapper.word.elements.eq(code),
            mapper.word.scale.eq(scale),
            mapper.format.eq(fmt.as_value()[:2]),
            mapper.fp4_table.eq(self.fp4_table),
            mapped.eq(mapper.o),
            mapped.format.eq(Mux(fmt == OperandFormat.E4M3, index, mapper.o.format)),
        ]
        return mapped
