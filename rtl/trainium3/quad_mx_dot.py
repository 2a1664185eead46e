"""The quad-MX dot product: four FP8 pairs, two scales, one partial sum.

Ref: "Trainium3 Architecture Guide for NKI", Quad-MXFP8/MXFP4 Matmul Performance; OCP Microscaling Formats (MX) 1.0.
"""

from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import FP32
from bitpath.golden.spec.numerics import DotNumerics, ScaleNan
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.decode import Decode
from bitpath.rtl.common.multiply import Multiply
from bitpath.rtl.common.normalize import Normalize
from bitpath.rtl.common.ranks import Ranks
from bitpath.rtl.common.round import Round
from bitpath.rtl.common.specials import sum_special
from bitpath.rtl.trainium3.config import DotConfig
from bitpath.rtl.trainium3.dot_sums import AlignedSum, ExactSum

RANKS = {
    0: (),
    1: ("add",),
    2: ("sum", "add"),
    3: ("sum", "add", "normalize"),
    4: ("multiply", "sum", "add", "normalize"),
}
"""After which steps the register ranks stand, by their number."""


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

    Steps: multiply, sum (or align), add, normalise, round. With ``stages`` register ranks a result appears that many
    cycles after its operands, one a cycle; all ranks stand still while a result waits for ``o.ready``.

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
        ranks = Ranks(m, RANKS[self.config.pipeline.stages], valid=self.i.valid, ready=self.o.ready)

        products, partial, special = self._multiply(m, platform)
        scale = Signal(numerics.scale_format.width + 1)  # the sum of two biased exponents
        m.d.comb += scale.eq(self.i.p.stationary.scale + self.i.p.moving.scale)
        products, partial, scale, special = ranks.hold(
            "multiply", products=products, partial=partial, scale=scale, special=special
        )

        summing = ExactSum if numerics.align_fraction_bits is None else AlignedSum
        m.submodules.sum = sums = summing(numerics, products.shape(), partial.shape())
        m.d.comb += [sums.products.eq(products), sums.partial.eq(partial), sums.scale.eq(scale)]
        middle, special = ranks.hold("sum", middle=sums.middle, special=special)
        m.d.comb += sums.middle_held.eq(middle)
        total, special = ranks.hold("add", total=sums.o, special=special)

        normalize = place(m, platform, "normalize", Normalize, sums.o.shape(), numerics.accumulator.precision)
        m.d.comb += normalize.i.eq(total)
        normal, special = ranks.hold("normalize", normal=normalize.o, special=special)

        rounder = place(
            m,
            platform,
            "round",
            Round,
            normalize.o.shape(),
            numerics.accumulator,
            rounding=numerics.accumulator_rounding,
            subnormals=numerics.accumulator_subnormals,
            overflow_to_infinity=numerics.overflow_to_infinity,
        )
        m.d.comb += [
            rounder.i.eq(normal),
            rounder.special.eq(special),
            self.o.p.eq(rounder.o),
            self.o.valid.eq(ranks.valid),
            self.i.ready.eq(ranks.finish()),
        ]
        return m

    def _multiply(self, m: Module, platform: Any) -> tuple[Value, Value, Value]:
        """The products, the decoded partial sum, and what overrides their sum."""
        numerics, i = self.config.numerics, self.i.p
        decoded = {}
        for side in ("stationary", "moving"):
            operand = i[side]
            for k in range(numerics.terms):
                name = f"decode_{side}_{k}"
                decode = place(
                    m, platform, name, Decode, numerics.element_formats, subnormals=numerics.element_subnormals
                )
                m.d.comb += [decode.code.eq(operand.elements[k]), decode.format.eq(operand.format)]
                decoded[side, k] = self._with_scale(m, decode.o, operand.scale, f"{side}_{k}")
        multipliers = []
        for k in range(numerics.terms):
            multiply = place(m, platform, f"multiply_{k}", Multiply, decoded["moving", k].shape())
            m.d.comb += [multiply.a.eq(decoded["stationary", k]), multiply.b.eq(decoded["moving", k])]
            multipliers.append(multiply)
        products = Signal(data.ArrayLayout(multipliers[0].o.shape(), numerics.terms))
        m.d.comb += [products[k].eq(multiply.o) for k, multiply in enumerate(multipliers)]

        decode = place(m, platform, "decode_partial", Decode, (FP32,), subnormals=numerics.accumulator_subnormals)
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
