"""Accumulation in L1, step 2: normalise the sum and round it to nearest even, as FP32, BF16 or FP16.

Ref: ttsim v1.10.0, also for FP16's underflow to the largest number; the vendor's documents only say that it exists.
"""

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP16, FP32, Rounding
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.decode import SPECIAL, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.unpack.float_word import FIELDS, FloatWord

# Accumulation in L1, step 1: the sum of two floats, with guard and sticky bits, or the special value that replaces it::
#
#       larger operand     1.fraction (24 bits)        0 0   0
#       smaller operand      1.fraction, aligned       x x   sticky        x x: BELOW = 2 guard bits
#       total              carry | 24 bits |  2 bits | sticky              SUM_BITS = 28
#
# Ref: ttsim v1.10.0; the vendor's documents only say that accumulation exists.


BELOW = 2
"""Guard bits above the sticky bit. A sum loses bits only if the exponents are 2 or more apart, and then cancels at most one
leading bit: one guard bit and the sticky bit remain.
"""
WINDOW = FP32.precision + BELOW
MAX_DISTANCE = WINDOW + 1
"""At this distance all bits of the smaller operand are sticky: longer shifts saturate to it."""
SUM_BITS = 1 + WINDOW + 1
"""Width of the sum: a carry, the window and the sticky bit."""
EXPONENT_BITS = FP32.exponent_bits + 1
"""Signed width of a biased exponent minus WINDOW, which is between -256 and 256."""


class L1Sum(data.Struct):
    """A sum before rounding, with biased exponent; ``top`` is the larger biased exponent of the operands."""

    total: raw_sum(SUM_BITS, EXPONENT_BITS)
    special: SPECIAL
    top: FP32.exponent_bits


class L1Add(wiring.Component):
    """``o = old + added`` for FP32, BF16 and FP16, which are aligned alike in a `FloatWord`.

    The operand of smaller magnitude is aligned to the exponent of the other. Denormals are read as zero, and a zero sum has the
    IEEE sign. An infinity replaces the sum, and two opposite ones give NaN. NaN exists in FP32 alone. In BF16 an old NaN is an
    infinity that an added one replaces, and an added NaN is a number. FP16 has neither.
    It is combinational, with latency 0.

    Members
    -------
    old, added : In(FloatWord)
    out_format : In(4)
    o : Out(L1Sum)
    """

    clocked = False
    old: In(FloatWord)
    added: In(FloatWord)
    out_format: In(FORMAT_BITS)
    o: Out(L1Sum)

    def elaborate(self, platform):
        m = Module()
        swap = Signal()
        large, small = Signal(FloatWord), Signal(FloatWord)
        m.d.comb += [
            swap.eq(self._magnitude(self.old) > self._magnitude(self.added)),
            large.eq(Mux(swap, self.old, self.added)),
            small.eq(Mux(swap, self.added, self.old)),
        ]
        distance = Signal(FP32.exponent_bits)
        align = instantiate(m, platform, "align", Align, FP32.precision, WINDOW, MAX_DISTANCE, Dropped.STICKY)
        upper = Signal(SUM_BITS)
        total = Signal(SUM_BITS)
        m.d.comb += [
            distance.eq(large.exponent - small.exponent),
            align.i.eq(self._significand(small)),
            align.shift.eq(Mux(distance > MAX_DISTANCE, MAX_DISTANCE, distance)),
            upper.eq(self._significand(large) << BELOW + 1),
            # The sticky bit is subtracted too, so that a difference of discarded bits rounds correctly.
            total.eq(Mux(large.sign ^ small.sign, upper - align.o, upper + align.o)),
            self.o.total.magnitude.eq(total),
            # The larger operand's hidden bit is bit WINDOW of the sum.
            self.o.total.exponent.eq(large.exponent - WINDOW),
            self.o.total.sign.eq(large.sign),
            self.o.top.eq(large.exponent),
        ]

        words = (self.old, self.added)
        extreme, fraction, infinite, nan = (Signal(2, name=name) for name in ("extreme", "fraction", "infinite", "nan"))
        m.d.comb += [
            extreme.eq(Cat(word.exponent.all() for word in words)),
            fraction.eq(Cat(word.fraction.any() for word in words)),
            infinite.eq(extreme & ~fraction),
            nan.eq(extreme & fraction),
        ]
        opposite = self.old.sign ^ self.added.sign
        both_negative = self.old.sign & self.added.sign
        m.d.comb += [
            self.o.special.nan.eq((infinite.all() & opposite) | ((self.out_format == Format.FP32) & nan.any())),
            # NaN overrides the infinity in FP32.
            self.o.special.inf.eq(extreme[0] | infinite[1]),
            self.o.special.sign.eq(Mux(infinite[1], self.added.sign, Mux(extreme[0], self.old.sign, both_negative))),
        ]
        return m

    @staticmethod
    def _magnitude(word: FloatWord) -> Value:
        return Cat(word.fraction, word.exponent)

    @staticmethod
    def _significand(word: FloatWord) -> Value:
        normal = word.exponent.any()
        return Cat(Mux(normal, word.fraction, 0), normal)


ACCUMULATING_FORMATS = (Format.FP32, Format.BF16, Format.FP16)
CANCELLATION_EXPONENT = 30
"""At and above this biased exponent of FP16 operands, exact cancellation gives the largest number."""


class L1Round(wiring.Component):
    """An `L1Sum` rounded to nearest even; underflow gives a zero of its sign.

    Denormal sums need no rounding, because no operand has bits below the least normal ulp: the exponent alone tells underflow.
    FP32 and BF16 overflow to infinity, FP16 to its largest number. It is combinational, with latency 0.

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
