"""Rounding of normalised sums to codes of a floating-point format."""

from enum import IntEnum

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import FP32, FloatFormat, Rounding
from bitpath.rtl.common.arithmetic.decode import SPECIAL

# Rounding increment: 1 if a rounded number lies one unit in the last place above its kept bits.
#
# ::
#
#     kept bits ... odd | guard | sticky        rounded = kept + increment
#                       |<- discarded ->|
#
#     to nearest     increment = guard & (sticky | goes_up)      goes_up decides ties
#     directed       increment = (guard | sticky) & goes_up      goes_up decides everything between two integers
#
#     mode           goes_up of a magnitude      goes_up of a two's complement number
#     RNE            odd                         odd
#     RNO            ~odd                        ~odd
#     RNA, RTA       1                           ~negative
#     RNZ, RTZ       0                           negative
#     RNU, RTU       ~negative                   1
#     RND, RTD       negative                    0
#
# The kept bits of a magnitude are rounded toward zero, those of a two's complement number down. The mode is a member of
# `Rounding` at build time (the functions), or a signal at run time (`RoundIncrement`). All of them are combinational.
# Stochastic rounding adds its random bits below the kept bits instead, and needs no increment.
#
# Arguments of the functions, 1 bit each, as the ports of `RoundIncrement`:
#
#     odd        lowest kept bit
#     guard      highest discarded bit
#     sticky     OR of the bits below the guard bit
#     negative   sign of the number


PAIRS = (
    (Rounding.RTD, Rounding.RND),
    (Rounding.RTU, Rounding.RNU),
    (Rounding.RTZ, Rounding.RNZ),
    (Rounding.RTA, Rounding.RNA),
    (Rounding.RNE,),
    (Rounding.RNO,),
)
"""Modes that share ``goes_up``."""


def goes_up(mode: Rounding, *, odd: Value, negative: Value, twos_complement: bool = False) -> Value:
    """Return 1 if `mode` prefers the next integer above the kept bits, as in the table."""
    above = Const(1) if twos_complement else ~negative
    away = ~negative if twos_complement else Const(1)
    match mode:
        case Rounding.RNE:
            return odd
        case Rounding.RNO:
            return ~odd
        case Rounding.RNA | Rounding.RTA:
            return away
        case Rounding.RNZ | Rounding.RTZ:
            return ~away
        case Rounding.RNU | Rounding.RTU:
            return above
        case Rounding.RND | Rounding.RTD:
            return ~above
    raise ValueError(f"mode must not be {mode.name}")


def increment(
    mode: Rounding, *, odd: Value, guard: Value, sticky: Value, negative: Value, twos_complement: bool = False
) -> Value:
    """The increment of kept bits; `twos_complement` says which column of the table they follow."""
    if mode is Rounding.RTZ and not twos_complement:
        return Const(0)
    up = goes_up(mode, odd=odd, negative=negative, twos_complement=twos_complement)
    return guard & (sticky | up) if mode.to_nearest else (guard | sticky) & up


def increment_inverted(mode: Rounding, *, odd: Value, guard: Value, sticky: Value, negative: Value) -> Value:
    """The increment of a magnitude whose kept and guard bits are inverted where it is negative.

    The ones' complement is the magnitude less one unit of its lowest place. That unit and the rounding are one increment:
    where ``sticky`` is 0 all bits below the guard bit are 1, and the unit carries into it.

    Parameters
    ----------
    odd, guard : of the ones' complement.
    sticky : of the magnitude itself.
    """
    more = negative & ~sticky
    carried = guard & more
    if mode is Rounding.RTZ:
        return carried
    return carried | increment(mode, odd=odd, guard=guard ^ more, sticky=sticky, negative=negative)


class RoundIncrement(wiring.Component):
    """The increment by a mode that is chosen at run time.

    Parameters
    ----------
    codes : codes of ``mode``. A member's attribute ``mode`` is its Rounding; the highest bit is 1 in those that round to
        nearest. Increments of reserved codes have no meaning.
    twos_complement : as of `increment`.

    Members
    -------
    mode : In(bits of the largest code)
    negative, odd, guard, sticky : In(1)
    up : Out(1), the increment
    """

    clocked = False

    def __init__(self, codes: type[IntEnum], twos_complement: bool):
        self.codes, self.twos_complement = codes, twos_complement
        bits = {"negative": In(1), "odd": In(1), "guard": In(1), "sticky": In(1), "up": Out(1)}
        super().__init__({"mode": In(bits_for(max(codes))), **bits})

    def elaborate(self, platform):
        m = Module()
        preferred = Signal()
        with m.Switch(self.mode):
            for pair in PAIRS:
                with m.Case(*(code for code in self.codes if code.mode in pair)):
                    up = goes_up(pair[0], odd=self.odd, negative=self.negative, twos_complement=self.twos_complement)
                    m.d.comb += preferred.eq(up)
        to_nearest = self.mode[-1]
        m.d.comb += self.up.eq(
            Mux(to_nearest, self.guard & (self.sticky | preferred), (self.guard | self.sticky) & preferred)
        )
        return m


# Rounding of normalised two's complement sums to FP32 codes.


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
        guard, odd = self.i.digits[:2]
        return increment_inverted(self.rounding, odd=odd, guard=guard, sticky=self.i.sticky, negative=self.i.sign)


class Round(wiring.Component):
    """Combinational rounding of a normalised sum, or of its special value, to a code.

    Parameters
    ----------
    i : layout of the sum, as made by ``normal_sum`` with the format's precision.
    fmt : format of the result: the container's exponent field, and at most its fraction bits; missing ones are 0.
    rounding : RNE or RTZ.
    subnormals : True keeps subnormal results; False flushes them to zero of their sign.
    overflow_to_infinity : True gives infinity on overflow; False gives the largest finite number. A format without
        infinity gives the largest number for infinite sums too.
    container : format of the code.

    Members
    -------
    i : In(normal_sum)
    special : In(SPECIAL); overrides the sum if ``nan`` or ``inf`` is set, else has the sign of a zero sum. A format without
        NaN gives its largest number for ``nan``
    o : Out(container.width), the code
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
        container: FloatFormat = FP32,
    ):
        own, its = ((each.exponent_bits, each.bias, each.specials) for each in (fmt, container))
        if own != its or fmt.fraction_bits > container.fraction_bits:
            raise ValueError(
                f"round: fmt must have the exponents of {container.name} and at most its fraction bits, not be {fmt.name}"
            )
        if overflow_to_infinity and fmt.infinity_code is None:
            raise ValueError(f"round: fmt must have an infinity with overflow_to_infinity, not be {fmt.name}")
        if rounding not in (Rounding.RNE, Rounding.RTZ):
            raise ValueError(f"round: rounding must be RNE or RTZ, not {rounding.name}")
        if i["significand"].shape.width != fmt.precision:
            raise ValueError(
                f"round: the significand must have {fmt.precision} bits, not {i['significand'].shape.width}"
            )
        self.fmt, self.rounding, self.subnormals = fmt, rounding, subnormals
        self.overflow_to_infinity, self.container = overflow_to_infinity, container
        super().__init__({"i": In(i), "special": In(SPECIAL), "o": Out(container.width)})

    def elaborate(self, platform):
        m = Module()
        fmt, i = self.fmt, self.i
        exponent_width = i.exponent.shape().width

        # Below emin the significand shifts right to the subnormals' fixed last place; a shift by precision + 1 or more
        # leaves the sticky bit alone.
        deficit = Signal(signed(exponent_width + 1))
        places = Signal(range(fmt.precision + 2))
        subnormal = Signal()
        m.d.comb += [
            deficit.eq(fmt.emin - i.exponent),
            subnormal.eq(deficit > 0),
            places.eq(Mux(subnormal, Mux(deficit > fmt.precision + 1, fmt.precision + 1, deficit), 0)),
        ]
        extended = Cat(Const(0, fmt.precision + 1), i.guard, i.significand)
        moved = Signal(len(extended))
        m.d.comb += moved.eq(extended >> places)
        kept = moved[-fmt.precision :]
        guard = moved[-fmt.precision - 1]
        sticky = i.sticky | moved[: -fmt.precision - 1].any()

        # A carry out of the fraction increments the exponent field: to the next power of two, or from the largest
        # subnormal to the smallest normal number.
        up = increment(self.rounding, odd=kept[0], guard=guard, sticky=sticky, negative=i.sign)
        biased = Signal(exponent_width + 1)
        rounded = Signal(exponent_width + 1 + fmt.fraction_bits)
        m.d.comb += [
            biased.eq(Mux(subnormal, 0, i.exponent + fmt.bias)),
            rounded.eq(Cat(kept[: fmt.fraction_bits], biased) + up),
        ]
        overflow = rounded > fmt.max_code
        # The exponent field stays 0 only for a subnormal result.
        flushed = ~rounded[fmt.fraction_bits :].any() if not self.subnormals else Const(0)

        unused = self.container.fraction_bits - fmt.fraction_bits
        largest = fmt.max_code << unused
        infinity = largest if fmt.infinity_code is None else fmt.infinity_code << unused
        beyond = infinity if self.overflow_to_infinity else largest
        nan = largest if self.container.nan_code is None else self.container.nan_code
        magnitude = Signal(self.container.width - 1)
        sign = Signal()
        with m.If(self.special.nan):
            m.d.comb += [magnitude.eq(nan), sign.eq(0)]
        with m.Elif(self.special.inf):
            m.d.comb += [magnitude.eq(infinity), sign.eq(self.special.sign)]
        with m.Elif(i.zero):
            m.d.comb += [magnitude.eq(0), sign.eq(self.special.sign)]
        with m.Else():
            m.d.comb += [
                magnitude.eq(Mux(flushed, 0, Mux(overflow, beyond, Cat(Const(0, unused), rounded)))),
                sign.eq(i.sign),
            ]
        m.d.comb += self.o.eq(Cat(magnitude, sign))
        return m
