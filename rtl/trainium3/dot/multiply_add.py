"""Multiply-add of TensorE's unscaled matmul: one exact product and one partial sum, with one rounding.

    o = round(stationary * moving + partial)

Steps: Decode, Multiply (exact), ExactAdd (exact for rounding, with a sticky bit), Normalize, Round. ProductRound follows
Multiply where the numerics round products by themselves.

Ref: ``nki.isa.nc_matmul`` reference page; "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM.
"""

from typing import Any

from amaranth import Const, Module, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import MatmulNumerics
from bitpath.rtl.common.arithmetic.add import ExactAdd
from bitpath.rtl.common.arithmetic.decode import Decode, sum_special
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.product_round import ProductRound
from bitpath.rtl.common.arithmetic.round import Round
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
"""Steps that end in a pipeline register, by ``stages``."""
PARTIAL_OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded partial sum is ``significand * 2**(exponent - PARTIAL_OFFSET)``."""


def rounded_sum(
    m: Module,
    platform: Any,
    registers: PipelineRegisters,
    numerics: MatmulNumerics,
    product: data.View,
    partial: data.View,
    offset: int,
    exponent_width: int,
) -> Value:
    """Return the FP32 code of ``round(product + partial)``, behind the steps multiply, add and normalize.

    Parameters
    ----------
    product : ``significand * 2**(exponent - offset)``, as made by ``raw_float``.
    partial : a decoded FP32 code.
    exponent_width : bits of the product's exponent less the offset.
    """
    special = sum_special(m, (product, partial))
    product, partial, special = registers.hold("multiply", product=product, partial=partial, special=special)

    m.submodules.add = add = ExactAdd(
        fixed_width=len(product.significand) + 1,
        fixed_exponent_width=exponent_width,
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
    m.d.comb += [rounder.i.eq(normal), rounder.special.eq(special)]
    return rounder.o


def element_layout(config: MultiplyAddConfig) -> data.StructLayout:
    """Layout of one operand: its code and the index of its format in ``element_formats``."""
    formats = config.element_formats
    return data.StructLayout({"code": formats[0].width, "format": max(1, ceil_log2(len(formats)))})


class MultiplyAdd(wiring.Component):
    """``o = round(stationary * moving + partial)``, as ``MatmulNumerics`` defines it.

    Latency is ``stages`` cycles, 0 to 4; throughput is one result a cycle, with no back-pressure. The component has no
    clock if ``stages`` is 0.

    Parameters
    ----------
    config : numerics, formats and pipeline.

    Members
    -------
    stationary, moving : In(element_layout)
    partial : In(32), an FP32 code
    o : Out(32), an FP32 code
    """

    def __init__(self, config: MultiplyAddConfig):
        self.config = config
        element = element_layout(config)
        super().__init__(
            {"stationary": In(element), "moving": In(element), "partial": In(FP32.width), "o": Out(FP32.width)}
        )

    @property
    def clocked(self) -> bool:
        """True if the component has registers."""
        return self.config.pipeline.stages > 0

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        # Operands arrive and results leave in every cycle.
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=Const(1), ready=Const(1))

        decoders = self._decoders(m, platform)
        # A product is significand * 2**(exponent - offset): each element adds its bias and fraction bits.
        formats = self.config.element_formats
        offset = 2 * (max(fmt.bias for fmt in formats) + max(fmt.fraction_bits for fmt in formats))
        decoded = {name: decoder.o for name, decoder in decoders.items()}
        stationary, moving, partial = registers.hold("decode", **decoded)
        multiply = instantiate(m, platform, "multiply", Multiply, moving.shape())
        m.d.comb += [multiply.a.eq(stationary), multiply.b.eq(moving)]
        product = multiply.o
        if numerics.product_rounding is not None:
            arguments = (product.shape(), offset, numerics.product_rounding)
            product_round = instantiate(m, platform, "product_round", ProductRound, *arguments)
            m.d.comb += product_round.i.eq(product)
            fmt = numerics.product_rounding.format
            product, offset = product_round.o, fmt.bias + fmt.fraction_bits
        # The product's exponent lies between -offset and offset.
        width = bits_for(offset) + 1
        m.d.comb += self.o.eq(rounded_sum(m, platform, registers, numerics, product, partial, offset, width))
        registers.finish()
        return m

    def _decoders(self, m: Module, platform: Any) -> dict[str, Any]:
        """Decoders of both elements and of the partial sum, by the names of their ports."""
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
