"""Step 4 of the Tensix dot product: normalisation shift of the sum, and the exponent of its leading bit.

``o.value = i.value << zeros``, ``o.exponent = exponent + 5 - zeros``, with the leading-zero count ``zeros``::

      bit      28 ...... 23   22 ............................ 0
      weight   2**5 ... 2**0  2**-1 ..................... 2**-23       i.value, common exponent
               0 0 0 1 x x x x x x x x x x x x x x x x x x x x x
               1 x x x x x x x x x x x x x x x x x x x x x s s s       o.value: copies of the sign fill the free bits

Ref: ttsim v1.10.0; tt-metal #38306 for the wrong result of a sum of -1 unit.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.dot.dst_add import total_layout
from bitpath.rtl.tensix.dot.dst_align import SUM_FRACTION_BITS
from bitpath.rtl.tensix.dot.products import EXPONENT_BITS

FLOAT_BITS = 29
"""Width of a float sum's magnitude: 16 products of at most 31 * 127 units of 2**-10, and a Dst below 2."""
SHIFT_BITS = ceil_log2(FLOAT_BITS)
"""Width of the leading-zero count, 0 to 28 of a nonzero value."""
LEADING_WEIGHT = FLOAT_BITS - 1 - SUM_FRACTION_BITS
"""Weight of the highest bit as an exponent above the common one."""
QUIRK_BINADES = 4
"""Wormhole writes a sum of -1 unit at exponent E as -2**(E + 4)."""

NORMAL = data.StructLayout({"value": FLOAT_BITS, "exponent": signed(EXPONENT_BITS + 2), "sign": 1, "zero": 1})
"""A normalised sum: the highest bit of ``value`` is set unless ``zero``, and ``exponent`` is that bit's, biased.

Its magnitude is ``value + sign``, in units of bit 0.
"""


class DstNormalize(wiring.Component):
    """Leading-zero count and left shift in one: one level for each bit of the shift, from the largest down.

    The free bits take copies of the sign. ``i`` is a ones' complement, whose magnitude is ``value + sign``; the fill keeps the
    missing unit at bit 0 of the shifted value. Combinational: latency 0.

    Parameters
    ----------
    numerics : ``minus_one_quirk`` alone.

    Members
    -------
    i : In(total_layout(29)), in units of 2**-23
    exponent : In(9), the common biased exponent
    dst32 : In(1)
    o : Out(NORMAL)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(
            {"i": In(total_layout(FLOAT_BITS)), "exponent": In(EXPONENT_BITS), "dst32": In(1), "o": Out(NORMAL)}
        )

    def elaborate(self, platform):
        m = Module()
        value, zeros = self.i.value, []
        for level in reversed(range(SHIFT_BITS)):
            amount = 1 << level
            empty = Signal(name=f"empty_{level}")
            shifted = Signal(FLOAT_BITS, name=f"shifted_{level}")
            m.d.comb += [
                empty.eq(~value[-amount:].any()),
                shifted.eq(Mux(empty, Cat(self.i.sign.replicate(amount), value[:-amount]), value)),
            ]
            value = shifted
            zeros.insert(0, empty)
        # Range: 5 for no leading zero, -26 for 31 (a value of 0).
        leading = Signal(signed(SHIFT_BITS + 1))
        m.d.comb += leading.eq(LEADING_WEIGHT - Cat(zeros))
        if self.numerics.minus_one_quirk:
            # The ones' complement of -1 unit is 0: the shift fills all bits with the sign, and rounding carries out of
            # bit 28, which adds the last binade.
            with m.If(self.dst32 & (Cat(zeros) == FLOAT_BITS)):
                m.d.comb += leading.eq(QUIRK_BINADES - 1)
        m.d.comb += [
            self.o.value.eq(value),
            self.o.exponent.eq(self.exponent + leading),
            self.o.sign.eq(self.i.sign),
            self.o.zero.eq(~value[-1]),
        ]
        return m
