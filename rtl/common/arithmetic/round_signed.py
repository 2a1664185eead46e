"""Leading bits of two's complement sums to FP32 codes."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.raw import SPECIAL
from bitpath.rtl.common.arithmetic.round_increment import increment_inverted


class RoundSigned(wiring.Component):
    """What :class:`NormalizeShift` made of a sum, or what overrides it, as a code. Combinational.

    Of a negative sum it has the ones' complement, which is the magnitude less one unit of the sum's lowest place;
    ``sticky`` is taken before the complement, and so is the magnitude's own.

    Parameters
    ----------
    i : layout of the sum, as made by ``moving_sum``: the format's precision and a guard bit, no levels left, inverted.
    fmt : format rounded to; FP32's exponent field, and its fraction or a shorter one, whose missing bits are 0.
    rounding : RNE or RTZ.
    subnormals : whether subnormal results are kept; otherwise they become zero of their sign.
    overflow_to_infinity : whether sums beyond the range become infinity, or the largest finite number.

    Members
    -------
    i : In(moving_sum)
    special : In(SPECIAL); where neither ``nan`` nor ``inf`` is set, its sign is that of a zero sum
    negate : In(1), whether the sum is that of the negated terms
    alone : In(1), whether a number so far below the sum that it is only part of ``sticky`` is the whole of it
    number : In(31), that number's code without its sign
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
        # Without its leading bit a number is subnormal, its exponent field 0.
        field = i.exponent & significand[-1].replicate(len(i.exponent))
        code = Cat(significand[:-1], field[: fmt.exponent_bits])
        # A bit is flipped where all below it are 1 and one comes in from below: no carry waits for the rounding. From
        # all ones it runs into the field and makes the next power of two there, infinity too.
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
        """Whether the significand is to be one more."""
        guard, odd = self.i.digits[:2]
        return increment_inverted(self.rounding, odd=odd, guard=guard, sticky=self.i.sticky, negative=self.i.sign)
