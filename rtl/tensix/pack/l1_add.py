"""Accumulation in L1, first half: the exact sum of two floats, or what overrides it.

Ref: ttsim v1.10.0; the documents only say that it exists.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.raw import SPECIAL, raw_sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.unpack.float_word import FloatWord

BELOW = 2
"""Places below the smaller significand's grid, above the sticky bit. A sum loses bits only where the exponents are 2 or
more apart, and then cancels at most one leading place: that leaves a guard bit and the sticky bit under it."""
WINDOW = FP32.precision + BELOW
MAX_DISTANCE = WINDOW + 1
"""From here on the smaller operand is all sticky."""
SUM_BITS = 1 + WINDOW + 1
"""A carry, the window, the sticky bit."""
EXPONENT_BITS = FP32.exponent_bits + 1
"""Of a biased exponent less WINDOW: below 256 and above -256."""


class L1Sum(data.Struct):
    """A sum on its way to being rounded, its exponent biased.

    ``top`` is the larger of the two operands' biased exponents.
    """

    total: raw_sum(SUM_BITS, EXPONENT_BITS)
    special: SPECIAL
    top: FP32.exponent_bits


class L1Add(wiring.Component):
    """``o = old + added``, for FP32, BF16 and FP16, whose codes are aligned alike. Combinational.

    The operand of smaller magnitude is aligned to the other's exponent. A zero exponent is read as zero, a zero sum has the
    IEEE sign. Infinity overrides a number, and two opposite ones make NaN; NaN is one in FP32 only, in BF16 a number.

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
            # The sticky bit takes part: a difference stays on the right side of what was lost.
            total.eq(Mux(large.sign ^ small.sign, upper - align.o, upper + align.o)),
            self.o.total.magnitude.eq(total),
            # The hidden bit of the larger operand stands WINDOW places above the lowest.
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
            self.o.special.inf.eq(infinite.any()),
            self.o.special.sign.eq(Mux(infinite[0], self.old.sign, Mux(infinite[1], self.added.sign, both_negative))),
        ]
        return m

    @staticmethod
    def _magnitude(word: FloatWord) -> Value:
        return Cat(word.fraction, word.exponent)

    @staticmethod
    def _significand(word: FloatWord) -> Value:
        normal = word.exponent.any()
        return Cat(Mux(normal, word.fraction, 0), normal)
