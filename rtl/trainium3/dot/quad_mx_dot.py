"""Quad-MX dot product: four scaled FP8 products and an FP32 partial sum, with one rounding.

    o = round(2**(sx + sw - 254) * (x0*w0 + x1*w1 + x2*w2 + x3*w3) + partial)

x and w are the moving and the stationary elements, sx and sw the E8M0 codes of their scales (bias 127 each).

Datapath, with the pipeline registers and the values of ``stages`` that have them::

    elements              partial    scales
    decode (8)            decode       +       Decode
    multiply (4)             |         |       Multiply: exact products
    =========================|=========|===    "multiply": 4
    one grid, carry-save compression           ExactTerms or AlignedTerms: two rows
    =======================================    "align":    2, 3, 4
    carry-propagate adder                      DotTotal: two's complement sum
    =======================================    "add":      1, 2, 3, 4
    shift by 64, 32, 16                        NormalizeShift "coarse"
    =======================================    "coarse":   3, 4
    shift by 8, 4, 2, 1; round                 NormalizeShift "fine", RoundSigned

Window of the exact sum, two's complement, for E4M3FN and E5M2 elements. For E4M3FN alone the product grid has 36 bits,
and the window 90. `ExactTerms` derives the widths, `AlignedTerms` has the window of the aligned sum::

    bit  117         94 93    92 91    90 89                26 25             1   0
        +--------------+--------+--------+--------------------+----------------+---+
        | partial sum  | clear- | carry  | product grid       | partial sum    | S |
        | far above    | ance   |        | 2**31 ... 2**-32   | below the grid |   |
        +--------------+--------+--------+--------------------+----------------+---+
         24 bits        2        2        64                   25               sticky
                          after the shift to the leading bit
        +--------------------------------+-------+--------+
        | significand, 24 bits           | guard | sticky |  sticky: OR of all lower bits
        +--------------------------------+-------+--------+

Latency is ``stages`` cycles, 0 to 4; throughput is one result a cycle. While ``o`` stalls, all pipeline registers hold:
``i.ready = o.ready | ~o.valid`` with ``stages > 0``, and ``i.ready = o.ready`` in the combinational unit. Reset clears
the valid bits only.

Ref: "Trainium3 Architecture Guide for NKI", Quad-MXFP8/MXFP4 Matmul Performance; OCP Microscaling Formats (MX) 1.0.
"""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.dot import DotNumerics, ScaleNan
from bitpath.golden.trainium3.declarations.quad_mx import (
    TRAINIUM3_QUAD_MX,
    TRAINIUM3_QUAD_MX_ALIGNED,
    TRAINIUM3_QUAD_MX_E4M3,
)
from bitpath.rtl.common.arithmetic.decode import Decode, sum_special
from bitpath.rtl.common.arithmetic.dot_sum import AlignedTerms, DotTotal, ExactTerms
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize import NormalizeShift
from bitpath.rtl.common.arithmetic.round import RoundSigned
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import (
    CLOCK,
    INPUTS,
    OUTPUT,
    Covered,
    Judge,
    Synthesised,
    Unit,
    WaveGroup,
    YardstickConfig,
    registered,
)
from bitpath.rtl.trainium3.dot.config import DotConfig

STEPS = {
    0: (),
    1: ("add",),
    2: ("align", "add"),
    3: ("align", "add", "coarse"),
    4: ("multiply", "align", "add", "coarse"),
}
"""Steps that end in a pipeline register, by ``stages``; the registers cut the longest path into about equal parts."""
FINE_LEVELS = 4
"""Levels of the fine normalisation shift, 0 to 15 bits: its delay and that of rounding balance the coarse shift's."""


def operand_layout(numerics: DotNumerics) -> data.StructLayout:
    """Layout of one operand: the elements (element 0 lowest), their scale's code, and the index of their format in
    ``numerics.element_formats``."""
    return data.StructLayout(
        {
            "elements": data.ArrayLayout(numerics.element_formats[0].width, numerics.terms),
            "scale": numerics.scale_format.width,
            "format": max(1, ceil_log2(len(numerics.element_formats))),
        }
    )


def dot_layout(numerics: DotNumerics) -> data.StructLayout:
    """Layout of the operands of one step; ``partial`` is an FP32 code."""
    side = operand_layout(numerics)
    return data.StructLayout({"stationary": side, "moving": side, "partial": FP32.width})


class QuadMxDot(wiring.Component):
    """``o = round(2**(sx + sw - 254) * sum(x[k] * w[k]) + partial)``, as ``DotNumerics`` defines it.

    Parameters
    ----------
    config : ``numerics`` chooses formats, exact or aligned sum, and roundings; ``pipeline.stages`` is the latency.

    Members
    -------
    i : In(stream of dot_layout), 114 bits: two operands of 4 * 8 + 8 + 1 bits and the 32-bit partial sum
    o : Out(stream of 32 bits), an FP32 code
    """

    def __init__(self, config: DotConfig):
        self.config = config
        layout = dot_layout(config.numerics)
        super().__init__({"i": In(stream.Signature(layout)), "o": Out(stream.Signature(FP32.width))})

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=self.i.valid, ready=self.o.ready)

        products, partial, special = self._multiply(m, platform)
        scale_width = numerics.scale_format.width + 1  # the sum of two codes carries once
        scale = Signal(scale_width)
        m.d.comb += scale.eq(self.i.p.stationary.scale + self.i.p.moving.scale)
        products, partial, scale, special = registers.hold(
            "multiply", products=products, partial=partial, scale=scale, special=special
        )

        aligning = ExactTerms if numerics.align_fraction_bits is None else AlignedTerms
        terms = instantiate(m, platform, "terms", aligning, numerics, products.shape().elem_shape, partial.shape())
        m.d.comb += [terms.products.eq(products), terms.partial.eq(partial), terms.scale.eq(scale)]
        number = self._code(partial)
        rows, number, special = registers.hold("align", rows=terms.o, number=number, special=special)

        total = instantiate(m, platform, "total", DotTotal, terms.o.shape(), aligning.padding(numerics))
        m.d.comb += total.i.eq(rows)
        digits, alone, number, special = registers.hold(
            "add", digits=total.o, alone=total.alone, number=number, special=special
        )

        precision = numerics.accumulator.precision
        coarse = instantiate(
            m, platform, "coarse", NormalizeShift, total.o.shape(), FINE_LEVELS, precision, inverted=False
        )
        m.d.comb += coarse.i.eq(digits)
        upper, alone, number, special = registers.hold(
            "coarse", upper=coarse.o, alone=alone, number=number, special=special
        )
        fine = instantiate(m, platform, "fine", NormalizeShift, coarse.o.shape(), 0, precision, inverted=True)
        m.d.comb += fine.i.eq(upper)

        rounder = instantiate(
            m,
            platform,
            "round",
            RoundSigned,
            fine.o.shape(),
            numerics.accumulator,
            rounding=numerics.accumulator_rounding,
            subnormals=numerics.accumulator_subnormals,
            overflow_to_infinity=numerics.overflow_to_infinity,
        )
        m.d.comb += [
            rounder.i.eq(fine.o),
            rounder.special.eq(special),
            rounder.negate.eq(number[-1]),
            rounder.alone.eq(alone),
            rounder.number.eq(number[:-1]),
            self.o.p.eq(rounder.o),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    @staticmethod
    def _code(partial: data.View) -> Value:
        """The FP32 code of the finite partial sum after Decode has flushed it."""
        *fraction, hidden = partial.significand
        return Cat(*fraction, partial.exponent & hidden.replicate(len(partial.exponent)), partial.sign)

    def _multiply(self, m: Module, platform: Any) -> tuple[Value, Value, Value]:
        """The exact products, the decoded partial sum, and the special value that overrides their sum."""
        numerics, i = self.config.numerics, self.i.p
        decoded = {}
        for side in ("stationary", "moving"):
            operand = i[side]
            for k in range(numerics.terms):
                name = f"decode_{side}_{k}"
                decode = instantiate(
                    m, platform, name, Decode, numerics.element_formats, subnormals=numerics.element_subnormals
                )
                m.d.comb += [decode.code.eq(operand.elements[k]), decode.format.eq(operand.format)]
                decoded[side, k] = self._with_scale(m, decode.o, operand.scale, f"{side}_{k}")
        multipliers = []
        for k in range(numerics.terms):
            multiply = instantiate(m, platform, f"multiply_{k}", Multiply, decoded["moving", k].shape())
            m.d.comb += [multiply.a.eq(decoded["stationary", k]), multiply.b.eq(decoded["moving", k])]
            multipliers.append(multiply)
        products = Signal(data.ArrayLayout(multipliers[0].o.shape(), numerics.terms))
        m.d.comb += [products[k].eq(multiply.o) for k, multiply in enumerate(multipliers)]

        decode = instantiate(m, platform, "decode_partial", Decode, (FP32,), subnormals=numerics.accumulator_subnormals)
        m.d.comb += decode.code.eq(i.partial)

        nan = None
        if numerics.scale_nan is ScaleNan.NAN:
            nan = i.stationary.scale.all() | i.moving.scale.all()
        special = sum_special(m, [*(multiply.o for multiply in multipliers), decode.o], nan=nan)
        return products, decode.o, special

    def _with_scale(self, m: Module, element: Value, scale: Value, name: str) -> Value:
        """The element; with ``ScaleNan.INFINITY`` a scale code of 255 makes it infinite, and a zero NaN."""
        if self.config.numerics.scale_nan is ScaleNan.NAN:
            return element
        scaled = Signal.like(element, name=f"scaled_{name}")
        infinite = scale.all()
        zero = ~element.significand.any()
        m.d.comb += [
            scaled.eq(element),
            scaled.inf.eq(element.inf | (infinite & ~zero)),
            scaled.nan.eq(element.nan | (infinite & zero)),
        ]
        return scaled


FLOOR = (
    "4 bare 4x4-bit multipliers and a 32-bit adder",
    YardstickConfig(count=4, a_bits=4, b_bits=4, adder_bits=32),
)


EXACT, ALIGNED, E4M3_ALONE = (
    preset.numerics for preset in (TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED, TRAINIUM3_QUAD_MX_E4M3)
)


def _dot(numerics: DotNumerics, stages: int) -> DotConfig:
    return DotConfig(numerics=numerics, pipeline=PipelineConfig(stages=stages))


DOT_GROUPS = (
    WaveGroup("decode", r"(dot\.)?decode_"),
    WaveGroup("products", r"(dot\.)?(multiply_|products)"),
    WaveGroup("align", r"(dot\.)?terms"),
    WaveGroup("sum", r"(dot\.)?(total|align_)"),
    WaveGroup("normalize", r"(dot\.)?(coarse|fine|add_)"),
    WaveGroup("round", r"(dot\.)?round"),
)


RECORDS = (
    Unit(
        name="quad_mx_dot",
        config_type=DotConfig,
        build=QuadMxDot,
        summary="Trainium3: four FP8 products, two scales, one partial sum",
        default=DotConfig(pipeline=registered(2)),
        covered=Covered(DotConfig(pipeline=registered(2)), 1000),
        judges=(
            Judge(14, DotConfig()),
            Judge(18, DotConfig(numerics=TRAINIUM3_QUAD_MX_ALIGNED.numerics, pipeline=registered(2))),
        ),
        synthesised=(
            Synthesised("quad_mx_dot, exact, combinational", _dot(EXACT, 0), 4, *FLOOR),
            Synthesised("quad_mx_dot, exact, four pipeline registers", _dot(EXACT, 4), 4, *FLOOR),
            Synthesised("quad_mx_dot, exact, E4M3 alone", _dot(E4M3_ALONE, 0), 4, *FLOOR),
            Synthesised("quad_mx_dot, aligned", _dot(ALIGNED, 0), 4, *FLOOR),
        ),
        waves=(CLOCK, INPUTS, *DOT_GROUPS, OUTPUT),
        holds=True,
    ),
)
