"""The last step of the Tensix dot product: sums to Dst words.

Ref: ttsim v1.10.0; tt-isa-documentation 3930471, Dst, for the formats.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import BF16, FP16, FP32, FloatFormat
from bitpath.golden.spec.tensix import DST32
from bitpath.golden.spec.tensix_numerics import TensixNumerics
from bitpath.rtl.common.nearest import rounds_up
from bitpath.rtl.tensix.dst_add import INTEGER_BITS
from bitpath.rtl.tensix.layouts import DotControl, StyleCode

HALF_MAX = (1 << FP16.width - 1) - 1
"""What a 16-bit Dst of style FP16 overflows to; exponent 31 is as good as any other."""


class DstRound(wiring.Component):
    """A normalised sum as FP32, BF16 or FP16, or an integer as INT32 in sign and magnitude. Combinational.

    Exponents of 0 and below give +0; too large ones infinity, and in FP16 the largest code. Integers saturate.

    Parameters
    ----------
    numerics : what is computed.
    normal : layout of the normalised sum, with FP32's precision; its exponent is biased.

    Members
    -------
    normal : In(normal_sum)
    magnitude : In(32), of an integer, with the normalised sum's sign
    control : In(DotControl)
    o : Out(32), a 16-bit word in the low half
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics, normal: data.StructLayout):
        self.numerics = numerics
        super().__init__(
            {
                "normal": In(normal),
                "magnitude": In(INTEGER_BITS + 1),
                "control": In(DotControl),
                "o": Out(DST32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        normal, control = self.normal, self.control
        half = control.style == StyleCode.FP16

        # A carry out of the fraction runs into the exponent, which is what that number needs.
        rounded = Signal(FP32.fraction_bits + len(normal.exponent))
        step = Signal(FP32.fraction_bits)
        with m.If(control.dst32):
            m.d.comb += step.eq(self._step(FP32))
        with m.Elif(half):
            m.d.comb += step.eq(self._step(FP16))
        with m.Else():
            m.d.comb += step.eq(self._step(BF16))
        m.d.comb += rounded.eq(Cat(normal.significand[: FP32.fraction_bits], normal.exponent) + step)

        exponent = rounded[FP32.fraction_bits :]
        nothing = normal.zero | exponent[-1] | ~exponent.any()
        # Of exponents that are not negative.
        beyond = exponent[FP32.exponent_bits :].any() | exponent[: FP32.exponent_bits].all()
        half_beyond = exponent[FP16.exponent_bits :].any()

        with m.If(control.style == StyleCode.INT8):
            too_large = self.magnitude[INTEGER_BITS].replicate(INTEGER_BITS)
            m.d.comb += self.o.eq(Cat(self.magnitude[:INTEGER_BITS] | too_large, normal.sign))
        with m.Elif(~nothing):
            with m.If(control.dst32):
                m.d.comb += self.o.eq(Cat(Mux(beyond, FP32.infinity_code, _code(rounded, FP32)), normal.sign))
            with m.Elif(half):
                m.d.comb += self.o.eq(Cat(Mux(half_beyond, HALF_MAX, _code(rounded, FP16)), normal.sign))
            with m.Else():
                m.d.comb += self.o.eq(Cat(Mux(beyond, BF16.infinity_code, _code(rounded, BF16)), normal.sign))
        return m

    def _step(self, fmt: FloatFormat) -> Value:
        """What rounding to the format adds to FP32's fraction: 1 in the format's last place, or nothing."""
        normal, unused = self.normal, FP32.fraction_bits - fmt.fraction_bits
        below = Cat(normal.sticky, normal.guard, normal.significand[:unused])
        up = rounds_up(
            self.numerics.final_tie,
            odd=normal.significand[unused],
            guard=below[-1],
            sticky=below[:-1].any(),
            negative=normal.sign,
        )
        return Cat(Const(0, unused), up)


def _code(rounded: Value, fmt: FloatFormat) -> Value:
    """The magnitude's code in a format, out of what was rounded to it in FP32's places."""
    unused = FP32.fraction_bits - fmt.fraction_bits
    return rounded[unused : unused + fmt.width - 1]
