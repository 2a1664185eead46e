"""Rounding of normalised two's complement sums to FP32 codes."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.raw import SPECIAL
from bitpath.rtl.common.arithmetic.round_increment import increment_inverted


class RoundSigned(wiring.Component):
    """Combinational rounding of :class:`NormalizeShift`'s output, or of its special value, to a code::

        digits | significand, precision bits | guard |     sticky is separate

    The digits of a negative sum are inverted: the magnitude less one unit in the sum's last place. ``sticky`` is that of
    the magnitude. One increment adds this unit and rounds.

    Parameters
    ----------
    i : layout of the sum, as made by ``moving_sum``, with ``precision + 1`` digits, no levels, inverted.
    fmt : format of the result: FP32's exponent field, and at most its fraction bits; missing ones are 0 in the code.
    rounding : RNE or RTZ.
    subnormals : True keeps subnormal results; False flushes them to zero of their sign.
    overflow_to_infinity : True gives infinity on overflow; False gives the largest finite number.

    Members
    -------
    i : In(moving_sum)
    special : In(SPECIAL); overrides the sum if ``nan`` or ``inf`` is set, else has the sign of a zero sum
    negate : In(1), 1 if the sum's terms were negated
    alone : In(1), 1 if the result is ``number``, unrounded, with the sum's sign
    number : In(31), an FP32 code without its sign
    o : Out(32), the code
    """

    clocked = False

    def __init__(
        self,
        i: data.StructLayout,
        fmt: FloatFormat,
        *,
        rounding: Rounding,
        subnormals: bool,
        overflow_to_infinity: bool,
    ):
        self.fmt, self.rounding, self.subnormals = fmt, rounding, subnormals
        self.overflow_to_infinity = overflow_to_infinity
        magnitude_bits = FP32.width - 1
        super().__init__(
            {
                "i": In(i),
                "special": In(SPECIAL),
                "negate": In(1),
                "alone": In(1),
                "number": In(magnitude_bits),
                "o": Out(FP32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fmt, i = self.fmt, self.i
        significand = i.digits[1:]
        zero = ~(i.digits.any() | i.sticky | i.sign)
        # A sum without leading bit is subnormal: its exponent field is 0.
        field = i.exponent & significand[-1].replicate(len(i.exponent))
        code = Cat(significand[:-1], field[: fmt.exponent_bits])
        # The increment inverts each bit whose lower bits are all 1, so the carry chain does not wait for the rounding
        # decision. From an all-ones fraction it increments the exponent field, up to infinity.
        ones = Cat(Const(1), *(code[:k].all() for k in range(1, len(code))))
        rounded = Signal(len(code))
        m.d.comb += rounded.eq(code ^ (ones & self._up().replicate(len(code))))

        beyond = field >= fmt.exponent_mask
        if not self.overflow_to_infinity:
            beyond |= rounded[fmt.fraction_bits :].all()
        flushed = Const(0) if self.subnormals else ~rounded[fmt.fraction_bits :].any()
        unused = FP32.fraction_bits - fmt.fraction_bits
        limit = fmt.infinity_code if self.overflow_to_infinity else fmt.max_code
        magnitude = Signal(FP32.width - 1)
        sign = Signal()
        with m.If(self.special.nan):
            m.d.comb += [magnitude.eq(FP32.nan_code), sign.eq(0)]
        with m.Elif(self.special.inf):
            m.d.comb += [magnitude.eq(FP32.infinity_code), sign.eq(self.special.sign)]
        with m.Else():
            m.d.comb += sign.eq(Mux(zero, self.special.sign, i.sign ^ self.negate))
            with m.If(self.alone):
                m.d.comb += magnitude.eq(self.number)
            with m.Elif(beyond):
                m.d.comb += magnitude.eq(limit << unused)
            with m.Elif(~flushed):
                m.d.comb += magnitude.eq(Cat(Const(0, unused), rounded))
        m.d.comb += self.o.eq(Cat(magnitude, sign))
        return m

    def _up(self) -> Value:
        """Increment of the significand."""
        guard, odd = self.i.digits[:2]
        return increment_inverted(self.rounding, odd=odd, guard=guard, sticky=self.i.sticky, negative=self.i.sign)
