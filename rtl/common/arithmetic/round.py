"""Rounding of normalised sums to codes of a floating-point format."""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.raw import SPECIAL
from bitpath.rtl.common.arithmetic.round_increment import increment


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
