"""The quad-MX dot product: four FP8 pairs, two scales, one partial sum.

Ref: "Trainium3 Architecture Guide for NKI", Quad-MXFP8/MXFP4 Matmul Performance; OCP Microscaling Formats (MX) 1.0.
"""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.dot import DotNumerics, ScaleNan
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize_shift import NormalizeShift
from bitpath.rtl.common.arithmetic.round_signed import RoundSigned
from bitpath.rtl.common.arithmetic.specials import sum_special
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dot.aligned_terms import AlignedTerms
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.dot_total import DotTotal
from bitpath.rtl.trainium3.dot.exact_terms import ExactTerms

STEPS = {
    0: (),
    1: ("add",),
    2: ("align", "add"),
    3: ("align", "add", "coarse"),
    4: ("multiply", "align", "add", "coarse"),
}
"""After which steps the register ranks stand, by their number. The steps take about as long as each other: normalising is
two, and the second one goes with rounding."""
FINE_LEVELS = 4
"""Levels of the normalising shifter behind its coarse ones."""


def operand_layout(numerics: DotNumerics) -> data.StructLayout:
    """One side of the dot product: x4 elements (element 0 lowest), their scale, and their format.

    ``format`` is an index into ``numerics.element_formats``.
    """
    return data.StructLayout(
        {
            "elements": data.ArrayLayout(numerics.element_formats[0].width, numerics.terms),
            "scale": numerics.scale_format.width,
            "format": 1,
        }
    )


def dot_layout(numerics: DotNumerics) -> data.StructLayout:
    """All that one step of the dot product takes; ``partial`` is an FP32 code."""
    side = operand_layout(numerics)
    return data.StructLayout({"stationary": side, "moving": side, "partial": FP32.width})


class QuadMxDot(wiring.Component):
    """``o = round(2**(sx + sw - 254) * sum(x[k] * w[k]) + partial)``, as ``DotNumerics`` says in full.

    Steps: multiply; bring all terms to one grid, as two rows of digits; add these; normalise, first by large shifts, then
    by small ones, and round. With ``stages`` register ranks a result appears that many cycles after its operands, one a
    cycle; all ranks stand still while a result waits for ``o.ready``.

    Parameters
    ----------
    config : numerics and pipeline.

    Members
    -------
    i : In(stream of dot_layout)
    o : Out(stream of FP32 codes)
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
        scale = Signal(numerics.scale_format.width + 1)  # the sum of two biased exponents
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
        """The FP32 code of the partial sum, after flushing; ``inf`` and ``nan`` are not read."""
        *fraction, hidden = partial.significand
        return Cat(*fraction, partial.exponent & hidden.replicate(len(partial.exponent)), partial.sign)

    def _multiply(self, m: Module, platform: Any) -> tuple[Value, Value, Value]:
        """The products, the decoded partial sum, and what overrides their sum."""
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
        """The element, with an infinite scale taken into its class where the numerics read code 255 so."""
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
