"""Accumulation in L1, step 1: the sum of two floats, with guard and sticky bits, or the special value that replaces it::

      larger operand     1.fraction (24 bits)        0 0   0
      smaller operand      1.fraction, aligned       x x   sticky        x x: BELOW = 2 guard bits
      total              carry | 24 bits |  2 bits | sticky              SUM_BITS = 28

Ref: ttsim v1.10.0; the vendor's documents only say that accumulation exists.
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
    infinity that an added one replaces, and an added NaN is a number. FP16 has neither. Combinational: latency 0.

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
