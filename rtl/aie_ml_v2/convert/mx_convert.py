"""Conversion of FP32 accumulators to one block: 16 to MX9, MX6 or MX4, or 8 to bfp16ebs8.

``pair[j] = max(e[2j], e[2j + 1])``, ``exponent = max(pair)``, ``shift[j] = pair[j] < exponent``,
``code[k] = round(x[k] / 2**(exponent - shift - 127 - m + 1))`` with m magnitude bits, saturated::

     lanes (16 FP32)
       |            pair maxima                      [register "pairs"]
       |            block maximum and shift bits     [register "shared"]
       |            trial codes and bumped pairs     [register "leaves"]      mx_bump only
       |            block maximum and shift bits     [register "bumped"]      mx_bump only
       |            element codes                    [register "codes"]
     block, memory image

bfp16ebs8 has no shift bits and no image, and its block is bumped as a whole, so that it needs no second maximum.

Latency: 3 cycles, 5 with ``mx_bump``, 4 for bfp16ebs8 with it. Throughput: one block a cycle.

Ref: amd-quark 0.13, both implementations; llvm-aie: the conversion reads crRnd, and no saturation code.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_NAN_EXPONENT
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.config import MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.layouts import MX_EXPONENT_BITS
from bitpath.rtl.aie_ml_v2.convert.mx_element import MxElement
from bitpath.rtl.aie_ml_v2.convert.mx_image import MxImage
from bitpath.rtl.common.arithmetic.max_exponent import MaxExponent
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate

LARGEST_EXPONENT = MX_NAN_EXPONENT - 1
"""Largest exponent of a number; a pair that has it is not bumped."""


class MxConvert(wiring.Component):
    """FP32 to MX or bfp16ebs8, one block a cycle.

    With ``mx_nan_block`` an element of exponent 255 makes a NaN block: exponent 255, all else 0. With ``mx_bump`` trial codes
    show which pairs overflow; the exponents of these grow by one, and exponent, shift bits and codes are computed again. In
    bfp16ebs8 any overflow makes the block's exponent grow.

    Back-pressure: all stages stall while a block waits for ``o.ready``.

    Parameters
    ----------
    config : MxConvertConfig; uses ``mx_flush``, ``mx_bump``, ``mx_min_code`` and ``mx_nan_block`` of the numerics.

    Members
    -------
    i : In(stream of MxRequest), of Bfp16Request for bfp16ebs8
    o : Out(stream of MxResult), of Bfp16Result
    """

    def __init__(self, config: MxConvertConfig):
        self.config, self.layouts = config, config.blocks.layouts
        self.pairs = data.ArrayLayout(MX_EXPONENT_BITS, self.layouts.elements // 2)
        signatures = (stream.Signature(each) for each in (self.layouts.request, self.layouts.result))
        super().__init__({"i": In(next(signatures)), "o": Out(next(signatures))})

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that pipeline registers follow."""
        return steps_of(self.config)

    @property
    def latency(self) -> int:
        """Cycles from a request to its block."""
        return len(self.steps)

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        registers = PipelineRegisters(m, self.steps, valid=self.i.valid, ready=self.o.ready)

        exponents = [lane[FP32.fraction_bits : FP32.width - 1] for lane in self.i.p.lanes]
        pairs = Signal(self.pairs)
        m.d.comb += pairs.eq(Cat(Mux(a > b, a, b) for a, b in zip(exponents[::2], exponents[1::2], strict=True)))
        request, pairs = registers.hold("pairs", request=self.i.p, pairs=pairs)
        request, pairs, block = self._share(m, platform, registers, "shared", request, pairs)
        if numerics.mx_bump:
            _, leaves = self._elements(m, platform, "trial", request, block)
            if self.layouts.has_shifts:
                bumped = Signal(self.pairs)
                m.d.comb += bumped.eq(
                    Cat(_bumped(pairs[j], leaves[2 * j : 2 * j + 2].any()) for j in range(self.pairs.length))
                )
                request, pairs = registers.hold("leaves", request=request, pairs=bumped)
                request, pairs, block = self._share(m, platform, registers, "bumped", request, pairs)
            else:
                bumped = Signal(self.layouts.block, name="bumped")
                m.d.comb += bumped.exponent.eq(_bumped(block.exponent, leaves.any()))
                request, block = registers.hold("leaves", request=request, block=bumped)
        codes, _ = self._elements(m, platform, "element", request, block)
        result = Signal(self.layouts.block)
        head = (block.exponent, block.shift) if self.layouts.has_shifts else (block.exponent,)
        m.d.comb += result.eq(Cat(*head, codes))
        if numerics.mx_nan_block:
            with m.If(block.exponent == MX_NAN_EXPONENT):
                m.d.comb += result.eq(Cat(block.exponent))
        choice = {"block_format": request.control.block_format} if self.layouts.has_shifts else {}
        result, *block_format = registers.hold("codes", result=result, **choice)

        images = [instantiate(m, platform, "image", MxImage) for _ in block_format]
        m.d.comb += [
            *(each.i.eq(result) for each in images),
            *(each.block_format.eq(*block_format) for each in images),
            self.o.p.eq(Cat(result, *(each.o for each in images))),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _share(
        self, m: Module, platform: Any, registers: PipelineRegisters, step: str, request: Value, pairs: Value
    ) -> tuple[Value, Value, Value]:
        """Return request, pair exponents and a block without codes from the step's registers."""
        count = self.pairs.length
        largest = instantiate(m, platform, f"{step}_exponent", MaxExponent, count, MX_EXPONENT_BITS)
        block = Signal(self.layouts.block, name=f"{step}_block")
        shift = Cat(pairs[j] < largest.o for j in range(count if self.layouts.has_shifts else 0))
        m.d.comb += [largest.i.eq(pairs), block.eq(Cat(largest.o, shift))]
        return tuple(registers.hold(step, request=request, pairs=pairs, block=block))

    def _elements(self, m: Module, platform: Any, name: str, request: Value, block: Value) -> tuple[Value, Value]:
        """Return the codes for a block's exponent and shift bits, and a bit for each that overflowed."""
        numerics = self.config.numerics
        elements = []
        options = numerics.mx_flush, numerics.mx_min_code, self.config.blocks
        for k in range(self.layouts.elements):
            element = instantiate(m, platform, f"{name}_{k}", MxElement, *options)
            m.d.comb += [
                element.i.eq(request.lanes[k]),
                element.shared.eq(block.exponent),
                element.shifted.eq(block.shift[k // 2] if self.layouts.has_shifts else 0),
                element.control.eq(request.control),
            ]
            elements.append(element)
        return Cat(element.o for element in elements), Cat(element.leaves for element in elements)


def steps_of(config: MxConvertConfig) -> tuple[str, ...]:
    """Return the steps of a configuration that pipeline registers follow, one cycle each."""
    again = ("bumped",) if config.blocks.layouts.has_shifts else ()
    bump = ("leaves", *again) if config.numerics.mx_bump else ()
    return ("pairs", "shared", *bump, "codes")


def _bumped(exponent: Value, leaves: Value) -> Value:
    """Return an exponent, one more if a code left the range and it is below the largest."""
    return (exponent + (leaves & (exponent < LARGEST_EXPONENT)))[:MX_EXPONENT_BITS]
