"""FP32 codes to BF16, to nearest or stochastically."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32

DROPPED_BITS = FP32.fraction_bits - BF16.fraction_bits
"""Fraction bits that BF16 lacks, and random bits that stochastic rounding takes."""


class Fp32ToBf16(wiring.Component):
    """An FP32 code rounded to BF16, in place: the low 16 bits are 0. Combinational.

    The formats share their exponent field, so rounding is an addition to the code and its carry is right up to infinity.
    Stochastic rounding adds the random bits below BF16's last place and truncates; infinity and NaN pass.

    Members
    -------
    i : In(32), FP32
    stochastic : In(1), else to nearest even
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
            # A NaN whose payload lies in the dropped bits must not turn into infinity.
            self.o.eq(Mux(nan, FP32.nan_code, Cat(Const(0, DROPPED_BITS), rounded[DROPPED_BITS:]))),
        ]
        return m
