"""Before the last step of the Tensix dot product: the sum's leading bits and its exponent.

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
"""Of a float sum's magnitude: 16 products of at most 31 * 127 units of 2**-10, and a Dst below 2."""
SHIFT_BITS = ceil_log2(FLOAT_BITS)
LEADING_PLACE = FLOAT_BITS - 1 - SUM_FRACTION_BITS
"""Exponent of the highest place above the common exponent."""
QUIRK_BINADES = 4
"""Above the common exponent, where Wormhole puts a sum of -1 unit."""

NORMAL = data.StructLayout({"value": FLOAT_BITS, "exponent": signed(EXPONENT_BITS + 2), "sign": 1, "zero": 1})
"""A sum whose highest bit is set unless ``zero``, with that bit's biased exponent.

Its magnitude is ``value + sign``, in units of the lowest of the 29 places.
"""


class DstNormalize(wiring.Component):
    """A sum in units of 2**-23 at a biased exponent, moved up to its highest bit. Combinational.

    One level for each bit of the shift, from the largest down. The places that become free are filled with the sign: so
    what a negative sum lacks of its magnitude stays one unit of the lowest place, wherever that comes to stand.

    Parameters
    ----------
    numerics : what is computed.

    Members
    -------
    i : In(total_layout(29)), exponent : In(9)
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
        # From the common exponent: 5 at most, -26 at least.
        place = Signal(signed(SHIFT_BITS + 1))
        m.d.comb += place.eq(LEADING_PLACE - Cat(zeros))
        if self.numerics.minus_one_quirk:
            # All bits of -1 unit are the sign: the highest set one is the first that was filled in. Rounding carries out
            # of it, which is the last binade.
            with m.If(self.dst32 & (Cat(zeros) == FLOAT_BITS)):
                m.d.comb += place.eq(QUIRK_BINADES - 1)
        m.d.comb += [
            self.o.value.eq(value),
            self.o.exponent.eq(self.exponent + place),
            self.o.sign.eq(self.i.sign),
            self.o.zero.eq(~value[-1]),
        ]
        return m
