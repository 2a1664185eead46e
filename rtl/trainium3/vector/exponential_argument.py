"""The exponential's argument on the scale of powers of two.

Ref: the algorithm is that of ``ExponentialNumerics``, step 1.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.vector.exponential_constants import log2e

FAR = 8
"""From ``2**FAR`` on exp is beyond FP32's range, and that of its negative is less than half of the smallest number."""
INTEGER_BITS = FAR + 2
"""Of the argument below that, times log2(e), which is less than 2; and a sign."""


class ExponentialArgument(wiring.Component):
    """``o = floor(|t| * log2(e))`` on the grid of ``2**-fraction_bits``, inverted where t has a minus sign. Combinational.

    Of a t of 128 or more, infinities too, ``o`` is that of another one whose exp is infinite or zero as well.

    Parameters
    ----------
    numerics : of which ``fraction_bits`` and ``log2e_bits`` are used.

    Members
    -------
    t : In(32), FP32
    o : Out(signed(INTEGER_BITS + fraction_bits))
    nan : Out(1), t is NaN
    """

    clocked = False
    apart = True

    def __init__(self, numerics: ExponentialNumerics):
        self.numerics = numerics
        super().__init__(
            {
                "t": In(FP32.width),
                "o": Out(signed(INTEGER_BITS + numerics.fraction_bits)),
                "nan": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.numerics
        decode = instantiate(m, platform, "decode", Decode, (FP32,))
        number = decode.o

        factor = log2e(numerics)
        # The product's lowest bit has weight 2**(exponent - bias - FP32's fraction bits - log2e_bits). Of arguments below 128
        # it ends this many places below the grid, where none has a use for them.
        largest = FP32.bias + FAR - 1
        below = FP32.fraction_bits + numerics.log2e_bits - numerics.fraction_bits - (FAR - 2)
        product = Signal(FP32.precision + factor.bit_length() - below)
        shifted = Signal(signed(len(product) + 1))
        m.d.comb += [
            decode.code.eq(self.t),
            product.eq((number.significand * factor)[below:]),
            # What leaves below the grid is lost either way, so that it may be inverted before.
            shifted.eq(Cat(product ^ number.sign.replicate(len(product)), number.sign)),
        ]
        # Beyond the grid every shift is the same: it leaves the sign.
        shift_bits = len(self.o).bit_length()
        align = instantiate(
            m,
            platform,
            "align",
            Align,
            len(shifted),
            len(self.o),
            (1 << shift_bits) - 1,
            Dropped.TRUNCATED,
            twos_complement=True,
        )
        far = number.exponent > largest
        distance = Signal(FP32.exponent_bits + 1)
        m.d.comb += [
            # That of the largest exponent below FAR: 128 or more is far enough.
            distance.eq(Mux(far, 0, largest - number.exponent)),
            align.i.eq(shifted),
            align.shift.eq(shift_of(distance, shift_bits)),
            self.o.eq(align.o),
            self.nan.eq(number.nan),
        ]
        return m
