"""Statistics of a row in RMSNorm-Quant: reciprocal root mean square, scale, and reciprocal of the scale.

Ref: RQ of :mod:`bitpath.golden.trainium3.declarations.vector`: activation with scale and bias, tensor_scalar, reciprocal.
"""

from fractions import Fraction
from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.common.fp32.bf16_clamp import Bf16Clamp
from bitpath.rtl.common.fp32.fp32_add import Fp32Add
from bitpath.rtl.common.fp32.fp32_constant import fp32_constant
from bitpath.rtl.common.fp32.fp32_multiply import Fp32Multiply
from bitpath.rtl.common.fp32.reciprocal import Reciprocal
from bitpath.rtl.common.fp32.reciprocal_square_root import ReciprocalSquareRoot
from bitpath.rtl.common.fp32.square_root import SquareRoot
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import NUMERICS, OCP_NUMERICS, OPTIONS, Phase, to_fp32

RECIPROCAL_RANGES = [fp32_constant(Fraction(1, each.output_range)) for each in (NUMERICS, OCP_NUMERICS)]
"""Factors from largest magnitude to scale, in place of a division by the output range; without and with ``ocp``."""
MIN_SCALE = fp32_constant(NUMERICS.min_dequant_scale)


class Statistics(wiring.Component):
    """One register ``number`` that each phase updates; a phase's :class:`DigitRecurrence` starts with the phase::

        1 / RMS      TAKE_SUM, MEAN (* 1 / H), ADD_EPS, RECIPROCAL_SQUARE_ROOT
                     or TAKE_SUM, MEAN, SQUARE_ROOT, ADD_EPS, RECIPROCAL_RMS
        1 / scale    TAKE_LARGEST, SCALE (* 1 / range), FLOOR, RECIPROCAL_SCALE
                     or TAKE_IN_SCALE, RECIPROCAL_SCALE

    Members
    -------
    phase : In(Phase)
    start : In(1), the first cycle of the phase
    options : In(OPTIONS)
    in_scale : In(32), FP32
    sum : In(31), sum of squares, FP32 without its sign
    largest : In(15), largest magnitude, BF16 without its sign
    o : Out(32), FP32, 1 / RMS in pass 2, 1 / scale in pass 3
    scale : Out(32), FP32, the row's own scale
    """

    phase: In(Phase)
    start: In(1)
    options: In(OPTIONS)
    in_scale: In(FP32.width)
    sum: In(FP32.width - 1)
    largest: In(BF16.width - 1)
    o: Out(FP32.width)
    scale: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        number = Signal(FP32.width, reset_less=True)
        scale = Signal(FP32.width, reset_less=True)
        multiply = instantiate(m, platform, "multiply", Fp32Multiply)
        add = instantiate(m, platform, "add", Fp32Add)
        bound = instantiate(m, platform, "bound", Bf16Clamp)
        floor = Signal(FP32.width)
        reciprocal_range = Mux(self.options.ocp, RECIPROCAL_RANGES[1], RECIPROCAL_RANGES[0])
        m.d.comb += [
            multiply.a.eq(number),
            multiply.b.eq(Mux(self.phase == Phase.MEAN, self.options.reciprocal_length, reciprocal_range)),
            add.a.eq(number),
            add.b.eq(to_fp32(self.options.eps)),
            bound.i.eq(self.largest),
            bound.limit.eq(self.options.lower_bound[:-1]),
            # The number is not negative, and NaN compares above all.
            floor.eq(Mux(number < MIN_SCALE, MIN_SCALE, number)),
            self.o.eq(number),
            self.scale.eq(scale),
        ]
        with m.Switch(self.phase):
            with m.Case(Phase.TAKE_SUM):
                m.d.sync += number.eq(self.sum)
            with m.Case(Phase.TAKE_LARGEST):
                m.d.sync += number.eq(Mux(self.options.has_lower_bound, bound.o, to_fp32(self.largest)))
            with m.Case(Phase.TAKE_IN_SCALE):
                m.d.sync += number.eq(self.in_scale)
            with m.Case(Phase.MEAN, Phase.SCALE):
                m.d.sync += number.eq(multiply.o)
            with m.Case(Phase.ADD_EPS):
                m.d.sync += number.eq(add.o)
            with m.Case(Phase.FLOOR):
                m.d.sync += [number.eq(floor), scale.eq(floor)]
        self._function(m, platform, "square_root", SquareRoot, number, Phase.SQUARE_ROOT)
        self._function(
            m, platform, "reciprocal_square_root", ReciprocalSquareRoot, number, Phase.RECIPROCAL_SQUARE_ROOT
        )
        self._function(m, platform, "reciprocal", Reciprocal, number, Phase.RECIPROCAL_RMS, Phase.RECIPROCAL_SCALE)
        return m

    def _function(self, m: Module, platform: Any, name: str, cls: type, number: Signal, *phases: Phase) -> None:
        """Replace the number by its function in these phases."""
        function = instantiate(m, platform, name, cls)
        here = Value.cast(self.phase).matches(*phases)
        m.d.comb += [
            function.i.p.eq(number),
            function.i.valid.eq(self.start & here),
            function.o.ready.eq(1),
        ]
        with m.If(function.o.valid):
            m.d.sync += number.eq(function.o.p)
