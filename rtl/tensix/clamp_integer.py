"""INT32 to INT8, in sign and magnitude.

Ref: tt-isa-documentation 3930471, Packers/FormatConversion.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.tensix import DST32

SIGNED_BITS = 7
UNSIGNED_BITS = 8


class ClampInteger(wiring.Component):
    """A word of Dst as INT8: clamped to -127..127 or 0..255, or its low bits where ``raw``. Combinational.

    The sign stays, that of a zero too; an unsigned datum has none.

    Members
    -------
    word : In(32), sign and magnitude
    unsigned : In(1)
    raw : In(1)
    magnitude : Out(8)
    sign : Out(1)
    """

    clocked = False
    word: In(DST32.width)
    unsigned: In(1)
    raw: In(1)
    magnitude: Out(UNSIGNED_BITS)
    sign: Out(1)

    def elaborate(self, platform):
        m = Module()
        magnitude, negative = self.word[:-1], self.word[-1]
        beyond = Signal()
        largest = Signal(UNSIGNED_BITS)
        m.d.comb += [
            beyond.eq(Mux(self.unsigned, magnitude[UNSIGNED_BITS:].any(), magnitude[SIGNED_BITS:].any())),
            largest.eq(Mux(self.unsigned, (1 << UNSIGNED_BITS) - 1, (1 << SIGNED_BITS) - 1)),
            self.sign.eq(negative & ~self.unsigned),
        ]
        with m.If(self.raw):
            m.d.comb += self.magnitude.eq(magnitude & largest)
        with m.Elif(~(self.unsigned & negative)):
            m.d.comb += self.magnitude.eq(Mux(beyond, largest, magnitude))
        return m
