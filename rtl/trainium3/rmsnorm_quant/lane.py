"""Lane of the RMSNorm-Quant row unit: row memory and datapath."""

from fractions import Fraction
from typing import Any

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.common.arithmetic.decode import SPECIAL, Decode, raw_sum
from bitpath.rtl.common.fp32.fp32_arithmetic import (
    Bf16Clamp,
    Fp32Add,
    Fp32Cast,
    Fp32Multiply,
    Fp32Result,
    Fp32ToBf16,
    fp32_constant,
)
from bitpath.rtl.common.fp32.fp32_functions import Reciprocal, ReciprocalSquareRoot, SquareRoot
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import (
    LANE_BYTE,
    NUMERICS,
    OCP_NUMERICS,
    OPTIONS,
    Phase,
    RmsNormQuantConfig,
    lane_control,
    to_fp32,
)
from bitpath.rtl.trainium3.vector.exponential import Source

# Pass 2 of RMSNorm-Quant in a lane: normalises elements and multiplies them by gamma.
#
# Ref: ``nki.isa.scalar_tensor_tensor``: two multiplications in FP32, then BF16.


class NormalizePass(wiring.Component):
    """``o = bf16(fp32(fp32(i * inverse) * gamma))``, rounded to nearest even at each step.

    Latency is LATENCY cycles; throughput is one element a cycle. Gamma arrives GAMMA_LATENCY cycles after its element.

    Members
    -------
    i : In(32), FP32
    inverse : In(32), FP32, reciprocal of the root mean square
    gamma : In(32), FP32
    o : Out(16), BF16
    """

    LATENCY = 2
    GAMMA_LATENCY = 1

    i: In(FP32.width)
    inverse: In(FP32.width)
    gamma: In(FP32.width)
    o: Out(BF16.width)

    def elaborate(self, platform):
        m = Module()
        normalize = instantiate(m, platform, "normalize", Fp32Multiply)
        weigh = instantiate(m, platform, "weigh", Fp32Multiply)
        narrow = instantiate(m, platform, "narrow", Fp32ToBf16)
        normalized = Signal(FP32.width, reset_less=True)
        result = Signal(BF16.width, reset_less=True)
        m.d.comb += [
            normalize.a.eq(self.i),
            normalize.b.eq(self.inverse),
            weigh.a.eq(normalized),
            weigh.b.eq(self.gamma),
            narrow.i.eq(weigh.o),
            self.o.eq(result),
        ]
        m.d.sync += [normalized.eq(normalize.o), result.eq(narrow.o[-BF16.width :])]
        return m


# Statistics of a row in RMSNorm-Quant: reciprocal root mean square, scale, and reciprocal of the scale.
#
# Ref: RQ of :mod:`bitpath.golden.trainium3.declarations.vector`: activation with scale and bias, tensor_scalar, reciprocal.


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


# Pass 1 of RMSNorm-Quant in a lane: sum of squares.
#
# Ref: ``nki.isa.activation_reduce``: squares and their sum in FP32, element by element.


class SquareSum(wiring.Component):
    """``o = fp32(o + fp32(i * i))`` in the order of the elements; one element a cycle.

    Members
    -------
    clear : In(1), sets the sum to +0
    i : In(32), FP32; its square is registered
    add : In(1), adds the registered square, one cycle after its element
    o : Out(31), FP32 without its sign, which is always plus
    """

    clear: In(1)
    i: In(FP32.width)
    add: In(1)
    o: Out(FP32.width - 1)

    def elaborate(self, platform):
        m = Module()
        multiply = instantiate(m, platform, "multiply", Fp32Multiply)
        add = instantiate(m, platform, "add", Fp32Add)
        square = Signal(FP32.width - 1, reset_less=True)
        total = Signal(FP32.width - 1, reset_less=True)
        m.d.comb += [
            multiply.a.eq(self.i),
            multiply.b.eq(self.i),
            add.a.eq(total),
            add.b.eq(square),
            self.o.eq(total),
        ]
        m.d.sync += square.eq(multiply.o)
        with m.If(self.clear):
            # Adding the first square to +0 is exact, as squares are never -0.
            m.d.sync += total.eq(0)
        with m.Elif(self.add):
            m.d.sync += total.eq(add.o)
        return m


# Pass 3 of RMSNorm-Quant in a lane: converts elements to FP8.
#
# Ref: RQ of :mod:`bitpath.golden.trainium3.declarations.vector`: tensor_scalar, by the row's scale or a static one.


RANGE, OCP_RANGE = (fp32_constant(Fraction(each.output_range)) for each in (NUMERICS, OCP_NUMERICS))


class QuantizePass(wiring.Component):
    """``o = fp8(i * factor)``, with a clamp before or after the product; E4M3 and 240, or with ``ocp`` E4M3FN and 448::

        row's own scale   o = fp8(bf16(clamp(i, lower_bound)) * factor)    clamp only with ``has_lower_bound``
        static scale      o = fp8(clamp(bf16(i * factor + 0), output_range))

    Latency is LATENCY cycles of ``advance``; throughput is one element a cycle.

    Members
    -------
    advance : In(1), clock enable
    options : In(OPTIONS)
    i : In(16), BF16
    factor : In(32), FP32, reciprocal of the scale
    o : Out(8)
    """

    LATENCY = 2

    advance: In(1)
    options: In(OPTIONS)
    i: In(BF16.width)
    factor: In(FP32.width)
    o: Out(LANE_BYTE)

    def elaborate(self, platform):
        m = Module()
        within_bound = self._within(m, platform, "bound", self.i, self.options.lower_bound[:-1])
        bounded = self._to_bf16(m, platform, "bounded", within_bound)
        applies = self.options.has_lower_bound & ~self.options.static
        element = Signal(BF16.width, reset_less=True)

        multiply = instantiate(m, platform, "multiply", Fp32Multiply)
        product = Signal(FP32.width, reset_less=True)
        m.d.comb += [multiply.a.eq(to_fp32(element)), multiply.b.eq(self.factor)]
        with m.If(self.advance):
            m.d.sync += [element.eq(Mux(applies, bounded, self.i)), product.eq(multiply.o)]

        # A static scale adds +0, which turns -0 to +0.
        add = instantiate(m, platform, "add", Fp32Add)
        m.d.comb += [add.a.eq(product), add.b.eq(0)]
        total = self._to_bf16(m, platform, "sum", add.o)
        limit = Mux(self.options.ocp, Const(OCP_RANGE, FP32.width - 1), Const(RANGE, FP32.width - 1))
        within_range = self._within(m, platform, "range", total, limit)
        codes = []
        for name, numerics in (("cast", NUMERICS), ("ocp_cast", OCP_NUMERICS)):
            cast = instantiate(m, platform, name, Fp32Cast, numerics.output)
            m.d.comb += cast.i.eq(Mux(self.options.static, within_range, product))
            codes.append(cast.o)
        m.d.comb += self.o.eq(Mux(self.options.ocp, codes[1], codes[0]))
        return m

    def _within(self, m: Module, platform: Any, name: str, number: Value, limit: Value) -> Value:
        """Clamp a BF16 number: ``max(min(number, limit), -limit)`` in FP32."""
        clamp = instantiate(m, platform, name, Bf16Clamp)
        m.d.comb += [clamp.i.eq(number), clamp.limit.eq(limit)]
        return clamp.o

    def _to_bf16(self, m: Module, platform: Any, name: str, number: Value) -> Value:
        """Round an FP32 number to BF16."""
        narrow = instantiate(m, platform, f"{name}_to_bf16", Fp32ToBf16)
        m.d.comb += narrow.i.eq(number)
        return narrow.o[FP32.width - BF16.width :]


# Input of the RMSNorm-Quant row unit: elements of BF16, FP16 or FP32 to BF16, as the DMA casts them on their way in.
#
# Ref: RQ of :mod:`bitpath.golden.trainium3.declarations.vector`: step 1, through FP32.


EXPONENT_WIDTH = FP32.exponent_bits + 1
"""Bits of a signed exponent; the rounder takes its difference to the smallest of FP32."""
OFFSET = FP16.bias + FP16.fraction_bits
"""A decoded FP16 number is ``significand * 2**(exponent - OFFSET)``."""


class HiddenCast(wiring.Component):
    """Combinational BF16 code of an element, rounded once to nearest even; NaN becomes the canonical one.

    FP16 becomes FP32 exactly; a BF16 code above 16 zeros is one of FP32 and passes unrounded.

    Members
    -------
    i : In(32), a code of ``source``; 16-bit codes in the upper half, above 16 zeros
    source : In(Source)
    o : Out(16), BF16
    """

    clocked = False
    i: In(FP32.width)
    source: In(Source)
    o: Out(BF16.width)

    def elaborate(self, platform):
        m = Module()
        decode = instantiate(m, platform, "decode", Decode, (FP16,))
        exact = Signal(raw_sum(FP16.precision, EXPONENT_WIDTH))
        special = Signal(SPECIAL)
        wide = instantiate(m, platform, "wide", Fp32Result, exact.shape())
        narrow = instantiate(m, platform, "narrow", Fp32ToBf16)
        number = decode.o
        m.d.comb += [
            decode.code.eq(self.i[-FP16.width :]),
            exact.magnitude.eq(number.significand),
            exact.exponent.eq(number.exponent - OFFSET),
            exact.sign.eq(number.sign),
            special.sign.eq(number.sign),
            special.inf.eq(number.inf),
            special.nan.eq(number.nan),
            wide.i.eq(exact),
            wide.special.eq(special),
            narrow.i.eq(Mux(self.source == Source.FP16, wide.o, self.i)),
            self.o.eq(narrow.o[-BF16.width :]),
        ]
        return m


class RmsNormQuantLane(wiring.Component):
    """Memory and datapath of one row; the sequencer's ``control`` drives all lanes alike. Elements are rounded to BF16
    first::

        hidden -+-> square sum -------------> statistics: 1 / RMS, scale, 1 / scale
           |                                    |
           +-> row memory --> normalise -+      v
                  ^    |                 |   quantise --> o
                  +----|-----------------+      ^
                       +------------------------+

    Parameters
    ----------
    config : configuration of the row unit.

    Members
    -------
    control : In(lane_control)
    options : In(OPTIONS), in_scale : In(32), fields of the row's command
    hidden : In(32), a code of the command's ``source``; 16-bit codes in the upper half
    gamma : In(32), FP32, GAMMA_LATENCY cycles after the read of its element
    o : Out(8), OUTPUT_LATENCY cycles of ``control.advance`` after the read of its element
    """

    PUT_LATENCY = 1 + NormalizePass.LATENCY
    """Cycles from the read of an element to its normalised value."""
    GAMMA_LATENCY = 1 + NormalizePass.GAMMA_LATENCY
    OUTPUT_LATENCY = 1 + QuantizePass.LATENCY

    def __init__(self, config: RmsNormQuantConfig):
        self.config = config
        super().__init__(
            {
                "control": In(lane_control(config)),
                "options": In(OPTIONS),
                "in_scale": In(FP32.width),
                "hidden": In(FP32.width),
                "gamma": In(FP32.width),
                "o": Out(LANE_BYTE),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        m.submodules.cells = cells = memory.Memory(shape=BF16.width, depth=self.config.max_row_length, init=[])
        write, read = cells.write_port(), cells.read_port()
        cast = instantiate(m, platform, "cast", HiddenCast)
        squares = instantiate(m, platform, "squares", SquareSum)
        statistics = instantiate(m, platform, "statistics", Statistics)
        normalize = instantiate(m, platform, "normalize", NormalizePass)
        quantize = instantiate(m, platform, "quantize", QuantizePass)
        stored = Signal(BF16.width)
        m.d.comb += [
            cast.i.eq(self.hidden),
            cast.source.eq(self.options.source),
            stored.eq(Mux(control.put, normalize.o, cast.o)),
            write.addr.eq(control.write_address),
            write.en.eq(control.store | control.put),
            write.data.eq(stored),
            read.addr.eq(control.read_address),
            read.en.eq(control.read),
            squares.clear.eq(control.begin),
            squares.i.eq(to_fp32(cast.o)),
            squares.add.eq(control.add),
            normalize.i.eq(to_fp32(read.data)),
            normalize.inverse.eq(statistics.o),
            normalize.gamma.eq(self.gamma),
            quantize.advance.eq(control.advance),
            quantize.options.eq(self.options),
            quantize.i.eq(read.data),
            quantize.factor.eq(statistics.o),
            self.o.eq(
                Mux(control.scale_bytes, statistics.scale.word_select(control.scale_byte, LANE_BYTE), quantize.o)
            ),
        ]

        # Largest magnitude of the elements to quantise, as they arrive or as pass 2 writes them back. Codes without sign
        # compare as integers, with NaN above all.
        largest, magnitude = Signal(BF16.width - 1, reset_less=True), stored[:-1]
        m.d.comb += [
            statistics.phase.eq(control.phase),
            statistics.start.eq(control.start),
            statistics.options.eq(self.options),
            statistics.in_scale.eq(self.in_scale),
            statistics.sum.eq(squares.o),
            statistics.largest.eq(largest),
        ]
        with m.If(control.begin):
            m.d.sync += largest.eq(0)
        with m.Elif((control.put | (control.store & self.options.quant_only)) & (magnitude > largest)):
            m.d.sync += largest.eq(magnitude)
        return m
