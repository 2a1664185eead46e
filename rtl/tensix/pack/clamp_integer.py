"""INT32 to INT8, in sign and magnitude.

``o = sign * clamp(round(magnitude / 2**shift))``, clamped to 127, or to 255 if unsigned.

Ref: tt-isa-documentation 3930471, Packers/FormatConversion.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import DST32
from bitpath.rtl.common.arithmetic.round_increment import increment
from bitpath.rtl.tensix.pack.layouts import DESCALE_SHIFT_BITS

SIGNED_BITS = 7
UNSIGNED_BITS = 8
MAX_SHIFT = (1 << DESCALE_SHIFT_BITS) - 1


class ClampInteger(wiring.Component):
    """A Dst word as INT8: scaled by ``2**-shift``, rounded to nearest and clamped; with ``raw`` its low bits.

    A signed result keeps its sign, also when it rounds to zero. A negative word as unsigned is 0. Combinational: latency 0.

    Parameters
    ----------
    tie : rounding mode; on magnitudes, RNU and RNA are the same.

    Members
    -------
    word : In(32), sign and magnitude
    shift : In(5), ignored with ``raw``
    is_unsigned : In(1)
    raw : In(1)
    magnitude : Out(8)
    sign : Out(1)
    """

    clocked = False

    def __init__(self, tie: Rounding):
        self.tie = tie
        super().__init__(
            {
                "word": In(DST32.width),
                "shift": In(DESCALE_SHIFT_BITS),
                "is_unsigned": In(1),
                "raw": In(1),
                "magnitude": Out(UNSIGNED_BITS),
                "sign": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        magnitude, negative = self.word[:-1], self.word[-1]
        shifted = Signal(len(magnitude) + MAX_SHIFT)
        m.d.comb += shifted.eq(Cat(Const(0, MAX_SHIFT), magnitude) >> self.shift)
        whole = shifted[MAX_SHIFT:]
        guard, sticky = shifted[MAX_SHIFT - 1], shifted[: MAX_SHIFT - 1].any()
        up = increment(self.tie, odd=whole[0], guard=guard, sticky=sticky, negative=Const(0))

        # Overflow: a carry out of the low bits, or any bit above them.
        rounded = Signal(UNSIGNED_BITS + 1)
        beyond = Signal()
        largest = Signal(UNSIGNED_BITS)
        m.d.comb += [
            rounded.eq(whole[:UNSIGNED_BITS] + up),
            beyond.eq(
                whole[UNSIGNED_BITS:].any()
                | rounded[UNSIGNED_BITS]
                | (~self.is_unsigned & rounded[SIGNED_BITS:UNSIGNED_BITS].any())
            ),
            largest.eq(Mux(self.is_unsigned, (1 << UNSIGNED_BITS) - 1, (1 << SIGNED_BITS) - 1)),
            self.sign.eq(negative & ~self.is_unsigned),
        ]
        with m.If(self.raw):
            m.d.comb += self.magnitude.eq(magnitude & largest)
        with m.Elif(~(self.is_unsigned & negative)):
            m.d.comb += self.magnitude.eq(Mux(beyond, largest, rounded))
        return m
