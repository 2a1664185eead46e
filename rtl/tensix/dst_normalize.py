"""Before the last step of the Tensix dot product: the sum's leading bits and its exponent.

Ref: ttsim v1.10.0; tt-metal #38306 for the wrong result of a sum of -1 unit.
"""

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import FP32
from bitpath.golden.spec.tensix_numerics import TensixNumerics
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.normalize import Normalize
from bitpath.rtl.common.raw import normal_sum, raw_sum
from bitpath.rtl.tensix.dst_align import SUM_FRACTION_BITS
from bitpath.rtl.tensix.products import EXPONENT_BITS

FLOAT_BITS = 29
"""Of a float sum's magnitude: 16 products of at most 31 * 127 units of 2**-10, and a Dst below 2."""
QUIRK_BINADES = 4
"""Above the common exponent, where Wormhole puts a sum of -1 unit."""


class DstNormalize(wiring.Component):
    """A sum in units of 2**-23 at a biased exponent, as its 24 leading bits, guard and sticky. Combinational.

    Parameters
    ----------
    numerics : what is computed.

    Members
    -------
    magnitude : In(29), sign : In(1), exponent : In(9)
    dst32 : In(1)
    o : Out(normal_sum); its exponent is the leading bit's, biased
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        # The lowest place's exponent: above -23, and at most 4 above the largest exponent.
        self.raw = raw_sum(FLOAT_BITS, EXPONENT_BITS + 1)
        super().__init__(
            {
                "magnitude": In(FLOAT_BITS),
                "sign": In(1),
                "exponent": In(EXPONENT_BITS),
                "dst32": In(1),
                # The leading bit's exponent, above the lowest place's: a bit more.
                "o": Out(normal_sum(FP32.precision, EXPONENT_BITS + 2)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        normalize = place(m, platform, "normalize", Normalize, self.raw, FP32.precision)
        minus_one = Signal()
        if self.numerics.minus_one_quirk:
            m.d.comb += minus_one.eq(self.sign & self.dst32 & (self.magnitude == 1))
        lowest_place = Signal(signed(EXPONENT_BITS + 1))
        m.d.comb += [
            lowest_place.eq(self.exponent + Mux(minus_one, QUIRK_BINADES, -SUM_FRACTION_BITS)),
            normalize.i.magnitude.eq(self.magnitude),
            normalize.i.exponent.eq(lowest_place),
            normalize.i.sign.eq(self.sign),
            self.o.eq(normalize.o),
        ]
        return m
