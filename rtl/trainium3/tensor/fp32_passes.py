"""FP32 passes at the edge of the array: moving columns as 12-bit halves in the order of the passes, or rounded to TF32.

    number = 2 * stationary half is high + moving half is high:  lo*lo, lo*hi, hi*lo, hi*hi

Ref: ``nki.isa.nc_matmul`` reference pages (four passes, two with an operand of zeros and ones). What a pass computes is
chosen, see the declarations.
"""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.trainium3.tensor.config import WIDE
from bitpath.rtl.trainium3.tensor.element_decode import Part, PassElement


@dataclass(frozen=True, kw_only=True)
class PassesConfig(UnitConfig, unit="fp32_passes"):
    """Configuration of the FP32 passes at the edge of the array.

    Attributes
    ----------
    rows : elements of a column.
    numerics : rounding of FP32 to TF32.
    """

    rows: int = in_range(1, PARTITIONS, 4)
    numerics: MatmulNumerics = TRAINIUM3_MATMUL.numerics


PASSES = 4


class PassMode(enum.Enum, shape=2):
    """Form of a column in a pass."""

    WHOLE = 0  # the numbers as they are: a stationary column
    TF32 = 1  # rounded to TF32
    SPLIT = 2  # the moving half of one pass, whose number is given: split12
    FUSED = 3  # the moving halves of all passes, one after the other: fused


def request_layout(config: PassesConfig) -> data.StructLayout:
    """Layout of a column: its codes, its mode, the pass of SPLIT, and which operands have no low half."""
    return data.StructLayout(
        {
            "codes": data.ArrayLayout(FP32.width, config.rows),
            "mode": PassMode,
            "number": range(PASSES),
            "moving_onezero": 1,
            "stationary_onezero": 1,
        }
    )


def pass_layout(config: PassesConfig) -> data.StructLayout:
    """Layout of a column in a pass; ``first`` and ``last`` mark a request's first and last one."""
    return data.StructLayout(
        {"elements": data.ArrayLayout(WIDE, config.rows), "number": range(PASSES), "first": 1, "last": 1}
    )


class Fp32Passes(wiring.Component):
    """A column for each pass. FUSED takes 4 cycles, 2 with one onezero operand, 1 with two; the other modes take one.

    Latency is 0 cycles. WHOLE and TF32 have the number 3, the pass that takes high halves alone.

    Parameters
    ----------
    config : rows and rounding to TF32.

    Members
    -------
    i : In(stream of request_layout)
    o : Out(stream of pass_layout)
    """

    def __init__(self, config: PassesConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(request_layout(config))),
                "o": Out(stream.Signature(pass_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request, column = self.i.p, self.o.p
        fused = request.mode == PassMode.FUSED
        split = request.mode == PassMode.SPLIT
        # Numbers of an operand without a low half have its bit set.
        skipped = Cat(request.moving_onezero, request.stationary_onezero)
        following = Signal(range(PASSES))
        part = Signal(Part)
        half = Mux(column.number[0], Part.HIGH, Part.LOW)
        m.d.comb += [
            column.number.eq(Mux(fused, following | skipped, Mux(split, request.number, PASSES - 1))),
            column.first.eq(following == 0),
            column.last.eq(~fused | column.number.all()),
            part.eq(Mux(fused | split, half, Mux(request.mode == PassMode.TF32, Part.TF32, Part.WHOLE))),
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready & column.last),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += following.eq(Mux(column.last, 0, column.number + 1))
        for row in range(self.config.rows):
            element = instantiate(m, platform, f"element_{row}", PassElement, self.config.numerics.tf32_rounding)
            m.d.comb += [
                element.code.eq(request.codes[row]),
                element.part.eq(part),
                column.elements[row].eq(element.o),
            ]
        return m


RECORDS = (
    Unit(
        name="fp32_passes",
        config_type=PassesConfig,
        build=Fp32Passes,
        summary="Trainium3: FP32 columns as the halves of four passes, or rounded to TF32",
        covered=Covered(PassesConfig(), 400),
        judges=(Judge(41, PassesConfig()),),
    ),
)
