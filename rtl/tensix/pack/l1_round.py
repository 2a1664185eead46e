"""Accumulation in L1, step 2: normalise the sum and round it to nearest even, as FP32, BF16 or FP16.

Ref: ttsim v1.10.0, also for FP16's underflow to the largest number; the vendor's documents only say that it exists.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round_increment import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.pack.l1_add import L1Sum
from bitpath.rtl.tensix.unpack.float_word import FIELDS, FloatWord

ACCUMULATING_FORMATS = (Format.FP32, Format.BF16, Format.FP16)
CANCELLATION_EXPONENT = 30
"""At and above this biased exponent of FP16 operands, exact cancellation gives the largest number."""


class L1Round(wiring.Component):
    """An `L1Sum` rounded to nearest even; underflow gives a zero of its sign.

    Denormal sums need no rounding, because no operand has bits below the least normal ulp: the exponent alone tells underflow.
    FP32 and BF16 overflow to infinity, FP16 to its largest number. Combinational: latency 0.

    Parameters
    ----------
    fp16_underflow_saturates : True if FP16 sums with a negative biased exponent, and exact cancellation at exponents of 30 and
        above, give the largest number; False if they give zero.

    Members
    -------
    i : In(L1Sum)
    out_format : In(4), FP32, BF16 or FP16
    o : Out(FloatWord)
    """

    clocked = False

    def __init__(self, fp16_underflow_saturates: bool):
        self.fp16_underflow_saturates = fp16_underflow_saturates
        super().__init__({"i": In(L1Sum), "out_format": In(FORMAT_BITS), "o": Out(FloatWord)})

    def elaborate(self, platform):
        m = Module()
        normalize = instantiate(m, platform, "normalize", Normalize, L1Sum.as_shape().members["total"], FP32.precision)
        m.d.comb += normalize.i.eq(self.i.total)
        normal = normalize.o

        # Significand with guard and sticky bit below; each format rounds at its own last fraction bit.
        extended = Cat(normal.sticky, normal.guard, normal.significand)
        unit = Signal(FP32.fraction_bits)
        with m.Switch(self.out_format):
            for fmt in ACCUMULATING_FORMATS:
                with m.Case(fmt) if fmt is not Format.FP16 else m.Default():
                    dropped = FP32.fraction_bits - FIELDS[fmt].fraction_bits
                    guard, sticky, odd = extended[dropped + 1], extended[: dropped + 1].any(), extended[dropped + 2]
                    up = increment(Rounding.RNE, odd=odd, guard=guard, sticky=sticky, negative=normal.sign)
                    m.d.comb += unit.eq(Mux(up, 1 << dropped, 0))
        exponent_bits = len(normal.exponent) + 1  # one bit for the carry of rounding up to the next binade
        fields = Signal(FP32.fraction_bits + exponent_bits)
        exponent = Signal(signed(exponent_bits))
        m.d.comb += [
            fields.eq(Cat(normal.significand[:-1], normal.exponent).as_signed() + unit),
            exponent.eq(fields[FP32.fraction_bits :]),
        ]

        is_fp16 = self.out_format == Format.FP16
        saturates = is_fp16 & self.fp16_underflow_saturates
        largest = Signal(FloatWord)
        m.d.comb += [
            largest.fraction.eq(Mux(is_fp16, FP32.fraction_mask, 0)),
            largest.exponent.eq(Mux(is_fp16, FP16.exponent_mask, FP32.exponent_mask)),
            largest.sign.eq(normal.sign),
        ]
        with m.If(self.i.special.nan):
            m.d.comb += self.o.eq(FP32.nan_code)
        with m.Elif(self.i.special.inf):
            m.d.comb += [self.o.eq(FP32.infinity_code), self.o.sign.eq(self.i.special.sign)]
        with m.Elif(normal.zero):
            # FP16 exponents have 5 bits.
            with m.If(saturates & (self.i.top[: FP16.exponent_bits] >= CANCELLATION_EXPONENT)):
                m.d.comb += [self.o.eq(largest), self.o.sign.eq(0)]
            with m.Else():
                m.d.comb += self.o.sign.eq(self.i.special.sign)
        with m.Elif(
            (exponent > Mux(is_fp16, FP16.exponent_mask, FP32.exponent_mask - 1)) | (saturates & (exponent < 0))
        ):
            m.d.comb += self.o.eq(largest)
        with m.Else():
            m.d.comb += self.o.sign.eq(normal.sign)
            with m.If(exponent > 0):
                m.d.comb += [self.o.fraction.eq(fields), self.o.exponent.eq(exponent)]
        return m
