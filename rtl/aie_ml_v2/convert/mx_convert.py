"""FP32 accumulators to MX9, MX6 and MX4: a block of 16 a cycle.

Ref: amd-quark 0.13, both implementations; llvm-aie: the conversion reads crRnd, and no saturation code.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_NAN_EXPONENT, MX_PAIRS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.config import MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.layouts import MX_EXPONENT_BITS, MxBlock, MxRequest, MxResult
from bitpath.rtl.aie_ml_v2.convert.mx_element import MxElement
from bitpath.rtl.aie_ml_v2.convert.mx_image import MxImage
from bitpath.rtl.common.arithmetic.max_exponent import MaxExponent
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate

PairExponents = data.ArrayLayout(MX_EXPONENT_BITS, MX_PAIRS)
LARGEST_EXPONENT = MX_NAN_EXPONENT - 1
"""A pair that has it is not bumped."""


class MxConvert(wiring.Component):
    """The larger exponent of each pair; the largest of them, which the block shares, and a shift bit for each pair below
    it; then the codes. An exponent of 255 makes a NaN block: exponent 255, all else 0.

    With the knob ``mx_bump`` the codes are made once only to see which pairs leave the range; the exponents of these grow
    by one, and shared exponent, shift bits and codes are made from them again.

    A register rank stands behind each of these steps. A block appears ``latency`` cycles after its request, one a cycle;
    all ranks stand still while a block waits.

    Parameters
    ----------
    config : numerics, of which ``mx_flush``, ``mx_bump``, ``mx_min_code`` and ``mx_nan_block`` are used.

    Members
    -------
    i : In(stream of MxRequest)
    o : Out(stream of MxResult)
    """

    def __init__(self, config: MxConvertConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(MxRequest)), "o": Out(stream.Signature(MxResult))})

    @property
    def steps(self) -> tuple[str, ...]:
        """After which a rank stands."""
        bump = ("leaves", "bumped") if self.config.numerics.mx_bump else ()
        return ("pairs", "shared", *bump, "codes")

    @property
    def latency(self) -> int:
        """Cycles from a request to its block."""
        return len(self.steps)

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        registers = PipelineRegisters(m, self.steps, valid=self.i.valid, ready=self.o.ready)

        exponents = [lane[FP32.fraction_bits : FP32.width - 1] for lane in self.i.p.lanes]
        pairs = Signal(PairExponents)
        m.d.comb += pairs.eq(Cat(Mux(a > b, a, b) for a, b in zip(exponents[::2], exponents[1::2], strict=True)))
        request, pairs = registers.hold("pairs", request=self.i.p, pairs=pairs)
        request, pairs, block = self._share(m, platform, registers, "shared", request, pairs)
        if numerics.mx_bump:
            _, leaves = self._elements(m, platform, "trial", request, block)
            bumped = Signal(PairExponents)
            m.d.comb += bumped.eq(
                Cat(
                    (pairs[j] + (leaves[2 * j : 2 * j + 2].any() & (pairs[j] < LARGEST_EXPONENT)))[:MX_EXPONENT_BITS]
                    for j in range(MX_PAIRS)
                )
            )
            request, pairs = registers.hold("leaves", request=request, pairs=bumped)
            request, pairs, block = self._share(m, platform, registers, "bumped", request, pairs)
        codes, _ = self._elements(m, platform, "element", request, block)
        result = Signal(MxBlock)
        m.d.comb += result.eq(Cat(block.exponent, block.shift, codes))
        if numerics.mx_nan_block:
            with m.If(block.exponent == MX_NAN_EXPONENT):
                m.d.comb += result.eq(Cat(block.exponent))
        result, block_format = registers.hold("codes", result=result, block_format=request.control.block_format)

        image = instantiate(m, platform, "image", MxImage)
        m.d.comb += [
            image.i.eq(result),
            image.block_format.eq(block_format),
            self.o.p.eq(Cat(result, image.o)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _share(
        self, m: Module, platform: Any, registers: PipelineRegisters, step: str, request: Value, pairs: Value
    ) -> tuple[Value, Value, Value]:
        """Request, pairs' exponents and a block without codes, behind the step's rank."""
        largest = instantiate(m, platform, f"{step}_exponent", MaxExponent, MX_PAIRS, MX_EXPONENT_BITS)
        block = Signal(MxBlock, name=f"{step}_block")
        shift = Cat(pairs[j] < largest.o for j in range(MX_PAIRS))
        m.d.comb += [largest.i.eq(pairs), block.eq(Cat(largest.o, shift))]
        return tuple(registers.hold(step, request=request, pairs=pairs, block=block))

    def _elements(self, m: Module, platform: Any, name: str, request: Value, block: Value) -> tuple[Value, Value]:
        """The codes under a block's exponent and shift bits, and which of them left the range."""
        numerics = self.config.numerics
        elements = []
        for k in range(MX_BLOCK):
            element = instantiate(m, platform, f"{name}_{k}", MxElement, numerics.mx_flush, numerics.mx_min_code)
            m.d.comb += [
                element.i.eq(request.lanes[k]),
                element.shared.eq(block.exponent),
                element.shifted.eq(block.shift[k // 2]),
                element.control.eq(request.control),
            ]
            elements.append(element)
        return Cat(element.o for element in elements), Cat(element.leaves for element in elements)
