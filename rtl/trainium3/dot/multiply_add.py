"""The step of TensorE's unscaled matmul: one product, one partial sum, one rounding.

Ref: ``nki.isa.nc_matmul`` reference page; "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM.
"""

from typing import Any

from amaranth import Const, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.exact_add import ExactAdd
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.arithmetic.specials import sum_special
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dot.config import MultiplyAddConfig

STEPS = {
    0: (),
    1: ("add",),
    2: ("multiply", "add"),
    3: ("multiply", "add", "normalize"),
    4: ("decode", "multiply", "add", "normalize"),
}
"""After which steps the register ranks stand, by their number."""
PARTIAL_OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded partial sum is ``significand * 2**(exponent - PARTIAL_OFFSET)``."""


def element_layout(config: MultiplyAddConfig) -> data.StructLayout:
    """One operand: its code, and its format as an index into ``element_formats``."""
    formats = config.element_formats
    return data.StructLayout({"code": formats[0].width, "format": max(1, ceil_log2(len(formats)))})


class MultiplyAdd(wiring.Component):
    """``o = round(stationary * moving + partial)``, as ``MatmulNumerics`` says in full.

    Steps: decode, multiply, add, normalise, round. With ``stages`` register ranks the result appears that many cycles
    after its operands, one a cycle. With none there is no clock, and the component may be placed like any operator.

    Parameters
    ----------
    config : numerics, formats and pipeline.

    Members
    -------
    stationary, moving : In(element_layout)
    partial : In(32), FP32
    o : Out(32), FP32
    """

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        element = element_layout(config)
        super().__init__(
            {"stationary": In(element), "moving": In(element), "partial": In(FP32.width), "o": Out(FP32.width)}
        )

    @property
    def clocked(self) -> bool:
        """Whether there is a register in it."""
        return self.config.pipeline.stages > 0

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        # Something comes in and is taken in every cycle.
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=Const(1), ready=Const(1))

        decoders = self._decoders(m, platform)
        # A product is significand * 2**(exponent - offset): each element brings the decoder's bias and fraction bits.
        formats = self.config.element_formats
        offset = 2 * (max(fmt.bias for fmt in formats) + max(fmt.fraction_bits for fmt in formats))
        decoded = {name: decoder.o for name, decoder in decoders.items()}
        stationary, moving, partial = registers.hold("decode", **decoded)
        multiply = instantiate(m, platform, "multiply", Multiply, moving.shape())
        m.d.comb += [multiply.a.eq(stationary), multiply.b.eq(moving)]
        special = sum_special(m, (multiply.o, partial))
        product, partial, special = registers.hold("multiply", product=multiply.o, partial=partial, special=special)

        m.submodules.add = add = ExactAdd(
            fixed_width=len(product.significand) + 1,
            # Biased exponents are less than the offset below and above it.
            fixed_exponent_width=bits_for(offset) + 1,
            exponent_width=len(partial.exponent),
            precision=len(partial.significand),
            offset=PARTIAL_OFFSET,
        )
        m.d.comb += [
            add.fixed.eq(Mux(product.sign, -product.significand, product.significand)),
            add.fixed_exponent.eq(product.exponent - offset),
            add.number.eq(partial),
        ]
        total, special = registers.hold("add", total=add.o, special=special)

        normalize = instantiate(m, platform, "normalize", Normalize, add.o.shape(), numerics.accumulator.precision)
        m.d.comb += normalize.i.eq(total)
        normal, special = registers.hold("normalize", normal=normalize.o, special=special)
        rounder = instantiate(
            m,
            platform,
            "round",
            Round,
            normalize.o.shape(),
            numerics.accumulator,
            rounding=numerics.accumulator_rounding,
            subnormals=True,
            overflow_to_infinity=True,
        )
        m.d.comb += [rounder.i.eq(normal), rounder.special.eq(special), self.o.eq(rounder.o)]
        registers.finish()
        return m

    def _decoders(self, m: Module, platform: Any) -> dict[str, Any]:
        """Of both elements and of the partial sum, by their ports' names."""
        operands = {
            "stationary": (self.config.element_formats, self.stationary.code, self.stationary.format),
            "moving": (self.config.element_formats, self.moving.code, self.moving.format),
            "partial": ((FP32,), self.partial, Const(0)),
        }
        decoders = {}
        for name, (formats, code, selected) in operands.items():
            decoders[name] = instantiate(m, platform, f"decode_{name}", Decode, formats)
            m.d.comb += [decoders[name].code.eq(code), decoders[name].format.eq(selected)]
        return decoders
