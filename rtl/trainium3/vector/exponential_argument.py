"""Argument of the exponential in powers of two: ``t * log2(e)`` in fixed point.

Ref: step 1 of ``ExponentialNumerics``.
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
"""From ``|t| = 2**FAR`` on, exp(t) overflows FP32 or is less than half of the smallest number."""
INTEGER_BITS = FAR + 2
"""Integer bits of ``t * log2(e)`` for ``|t| < 2**FAR``: one for log2(e) < 2, one for the sign."""


class ExponentialArgument(wiring.Component):
    """Combinational ``o = floor(|t| * log2(e))`` on the grid of ``2**-fraction_bits``, inverted if t is negative.

    For ``|t| >= 128``, infinities included, ``o`` is the argument of another t whose exp is infinite or zero too.

    Parameters
    ----------
    numerics : ``fraction_bits`` and ``log2e_bits``.

    Members
    -------
    t : In(32), FP32
    o : Out(signed(INTEGER_BITS + fraction_bits))
    nan : Out(1), 1 if t is NaN
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
        # The product's lowest bit has weight 2**(exponent - bias - FP32's fraction bits - log2e_bits). The lowest ``below``
        # bits lie below the grid for every exponent up to ``largest``.
        largest = FP32.bias + FAR - 1
        below = FP32.fraction_bits + numerics.log2e_bits - numerics.fraction_bits - (FAR - 2)
        product = Signal(FP32.precision + factor.bit_length() - below)
        shifted = Signal(signed(len(product) + 1))
        m.d.comb += [
            decode.code.eq(self.t),
            product.eq((number.significand * factor)[below:]),
            # Discarded bits do not affect the kept ones, so the inversion may come before the shift.
            shifted.eq(Cat(product ^ number.sign.replicate(len(product)), number.sign)),
        ]
        # A shift by the whole grid leaves the sign alone.
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
            # A far t gets the largest exponent below FAR: its exp overflows or underflows too.
            distance.eq(Mux(far, 0, largest - number.exponent)),
            align.i.eq(shifted),
            align.shift.eq(shift_of(distance, shift_bits)),
            self.o.eq(align.o),
            self.nan.eq(number.nan),
        ]
        return m
