"""FP32 to BF16, rounded to nearest even or stochastically."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32

DROPPED_BITS = FP32.fraction_bits - BF16.fraction_bits
"""Discarded fraction bits, and random bits that stochastic rounding takes."""


class Fp32ToBf16(wiring.Component):
    """Combinational rounding of an FP32 code to BF16 in its upper half; the low 16 bits become 0::

        nearest even    o = (i + 0x7FFF + i[16]) & 0xFFFF0000
        stochastic      o = (i + random) & 0xFFFF0000

    The formats share their exponent field, so a carry into it is correct up to infinity. Infinity passes, and NaN becomes
    the canonical NaN.

    Members
    -------
    i : In(32), FP32
    stochastic : In(1), 0 rounds to nearest even
    random : In(16), bits for stochastic rounding
    o : Out(32), BF16 above 16 zeros
    """

    clocked = False
    i: In(FP32.width)
    stochastic: In(1)
    random: In(DROPPED_BITS)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        last_place = self.i[DROPPED_BITS]
        half_below = (1 << (DROPPED_BITS - 1)) - 1
        finite = ~self.i[FP32.fraction_bits : FP32.width - 1].all()
        nan = ~finite & self.i[: FP32.fraction_bits].any()
        rounded = Signal(FP32.width)
        m.d.comb += [
            rounded.eq(self.i + Mux(finite, Mux(self.stochastic, self.random, half_below + last_place), 0)),
            # A NaN whose payload lies in the discarded bits must not become infinity.
            self.o.eq(Mux(nan, FP32.nan_code, Cat(Const(0, DROPPED_BITS), rounded[DROPPED_BITS:]))),
        ]
        return m
