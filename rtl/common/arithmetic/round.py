"""The only rounder of sums: normalised sums to codes of a floating-point format."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.raw import SPECIAL
from bitpath.rtl.common.arithmetic.round_increment import increment


class Round(wiring.Component):
    """A normalised sum, or the special value that overrides it, as a code. Combinational.

    Parameters
    ----------
    i : layout of the sum, as made by ``normal_sum`` with the format's precision.
    fmt : format rounded to; the container's exponent field, and its fraction or a shorter one, whose missing bits are 0.
    rounding : RNE or RTZ.
    subnormals : whether subnormal results are kept; otherwise they become zero of their sign.
    overflow_to_infinity : whether sums beyond the range become infinity, or the largest finite number. A format that has
        no infinity takes the largest number for infinite sums too.
    container : format of the code.

    Members
    -------
    i : In(normal_sum)
    special : In(SPECIAL); where neither ``nan`` nor ``inf`` is set, its sign is that of a zero sum
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
            raise ValueError(f"round: {fmt.name} does not fit an {container.name} code with low bits to spare")
        if overflow_to_infinity and fmt.infinity_code is None:
            raise ValueError(f"round: {fmt.name} has no infinity to overflow to")
        if rounding not in (Rounding.RNE, Rounding.RTZ):
            raise ValueError(f"round: rounding is {rounding.name}, allowed are RNE and RTZ")
        if i["significand"].shape.width != fmt.precision:
            raise ValueError(f"round: {i['significand'].shape.width} bits of significand for {fmt.name}")
        self.fmt, self.rounding, self.subnormals = fmt, rounding, subnormals
        self.overflow_to_infinity, self.container = overflow_to_infinity, container
        super().__init__({"i": In(i), "special": In(SPECIAL), "o": Out(container.width)})

    def elaborate(self, platform):
        m = Module()
        fmt, i = self.fmt, self.i
        exponent_width = i.exponent.shape().width

        # Below emin the significand moves down to the subnormals' fixed last place; beyond precision + 1 places all of
        # it is sticky.
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

        # The carry of a significand that rounds up to the next power of two runs into the exponent field, which is what
        # that number needs; from the largest subnormal it makes the smallest normal number.
        up = increment(self.rounding, odd=kept[0], guard=guard, sticky=sticky, negative=i.sign)
        biased = Signal(exponent_width + 1)
        rounded = Signal(exponent_width + 1 + fmt.fraction_bits)
        m.d.comb += [
            biased.eq(Mux(subnormal, 0, i.exponent + fmt.bias)),
            rounded.eq(Cat(kept[: fmt.fraction_bits], biased) + up),
        ]
        overflow = rounded > fmt.max_code
        # Only a tiny sum has the hidden bit clear, and only there may the field stay 0.
        flushed = ~rounded[fmt.fraction_bits :].any() if not self.subnormals else Const(0)

        unused = self.container.fraction_bits - fmt.fraction_bits
        largest = fmt.max_code << unused
        infinity = largest if fmt.infinity_code is None else fmt.infinity_code << unused
        beyond = infinity if self.overflow_to_infinity else largest
        magnitude = Signal(self.container.width - 1)
        sign = Signal()
        with m.If(self.special.nan):
            m.d.comb += [magnitude.eq(self.container.nan_code), sign.eq(0)]
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
