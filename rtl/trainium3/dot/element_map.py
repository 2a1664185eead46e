"""Programmable FP4-to-FP8 map at the edge of the array.

Ref: "NeuronCore-v4 architecture": MXFP4 is converted to MXFP8 before the PE, with a programmable mapping.
"""

from dataclasses import dataclass

from amaranth import Module, Mux
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E2M1, E4M3FN
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, X4
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.trainium3.dot.config import DOT_FORMATS, require_dot
from bitpath.rtl.trainium3.dot.quad_mx_dot import operand_layout


def require_words(unit: str, numerics: DotNumerics) -> None:
    """Raise ValueError unless x4 words can feed a dot product of these numerics."""
    require_dot(unit, numerics)
    if numerics.terms != X4:
        raise ValueError(f"{unit}: terms must be {X4}, the elements of an x4 word, not {numerics.terms}")
    if numerics.element_formats != DOT_FORMATS[: len(numerics.element_formats)]:
        names = [[fmt.name for fmt in each] for each in (DOT_FORMATS, numerics.element_formats)]
        raise ValueError(f"{unit}: element_formats must be the first of {', '.join(names[0])}, not {names[1]}")


@dataclass(frozen=True, kw_only=True)
class MapConfig:
    """Configuration of the FP4 map at the edge of the array.

    Attributes
    ----------
    numerics : numerics of the PEs behind the map.
    """

    numerics: DotNumerics = TRAINIUM3_QUAD_MX.numerics

    def __post_init__(self) -> None:
        require_words("element_map", self.numerics)


class ElementFormat(enum.Enum, shape=2):
    """Element format of an operand word."""

    E4M3FN = 0
    E5M2 = 1
    E2M1 = 2


class MapTable(data.Struct):
    """The programmable map: an FP8 code for each E2M1 code, and the index of their format in ``element_formats``."""

    codes: data.ArrayLayout(E4M3FN.width, 1 << E2M1.width)
    code_format: 1


class OperandWord(data.Struct):
    """One row's x4 word and scale in operand memory; E2M1 elements take the low 16 bits."""

    elements: 4 * E4M3FN.width
    scale: 8


class ElementMap(wiring.Component):
    """Combinational map of E2M1 elements e, ``o.elements[k] = fp4_table.codes[e[k]]``; elements in FP8 pass unchanged.

    Parameters
    ----------
    config : numerics of the PEs behind the map; a word must not have a format that they lack.

    Members
    -------
    word : In(OperandWord), 40 bits
    format : In(ElementFormat), 2 bits
    fp4_table : In(MapTable), 129 bits
    o : Out(operand_layout), 41 bits; the scale passes
    """

    clocked = False

    def __init__(self, config: MapConfig):
        self.config = config
        super().__init__(
            {
                "word": In(OperandWord),
                "format": In(ElementFormat),
                "fp4_table": In(MapTable),
                "o": Out(operand_layout(config.numerics)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        is_fp4 = self.format == ElementFormat.E2M1
        for k in range(len(self.o.elements)):
            fp8 = self.word.elements.word_select(k, E4M3FN.width)
            fp4 = self.word.elements.word_select(k, E2M1.width)
            m.d.comb += self.o.elements[k].eq(Mux(is_fp4, self.fp4_table.codes[fp4], fp8))
        m.d.comb += [
            self.o.scale.eq(self.word.scale),
            self.o.format.eq(Mux(is_fp4, self.fp4_table.code_format, self.format == ElementFormat.E5M2)),
        ]
        return m


RECORDS = (
    Unit(
        name="element_map",
        config_type=MapConfig,
        build=ElementMap,
        summary="Trainium3: FP4 elements to FP8 through the programmable map",
        covered=Covered(MapConfig(), 200),
        judges=(Judge(1, MapConfig(), cases=2000),),
    ),
)
