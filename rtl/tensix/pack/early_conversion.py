"""Step 1 of the packer: Dst word to the intermediate format, rounded to nearest or stochastically, or truncated::

      FloatWord   sign | exponent, 8 bits | kept fraction bits | half | other discarded bits
                                                        unit ^     guard  sticky

      stochastic                       discarded bits 1...1 >= random, both of 23 bits; zeros with `StochasticCompare.ALL_BITS`

Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0 for large denormals and FP16's saturation.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, Rounding
from bitpath.golden.tensix.declarations.formats import DST32, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import StochasticCompare
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.pack.layouts import DESCALE_SHIFT_BITS, PackControl
from bitpath.rtl.tensix.sfpu.stochastic_round import RANDOM_BITS
from bitpath.rtl.tensix.unpack.float_word import FIELDS, FloatWord, NarrowExponent, float_word

# INT32 to INT8, in sign and magnitude.
#
# ``o = sign * clamp(round(magnitude / 2**shift))``, clamped to 127, or to 255 if unsigned.
#
# Ref: tt-isa-documentation 3930471, Packers/FormatConversion.


SIGNED_BITS = 7
UNSIGNED_BITS = 8
MAX_SHIFT = (1 << DESCALE_SHIFT_BITS) - 1


class ClampInteger(wiring.Component):
    """A Dst word as INT8: scaled by ``2**-shift``, rounded to nearest and clamped; with ``raw`` its low bits.

    A signed result keeps its sign, also when it rounds to zero. A negative word as unsigned is 0.
    It is combinational, with latency 0.

    Parameters
    ----------
    tie : rounding mode; on magnitudes, RNU and RNA are the same.

    Members
    -------
    word : In(32), sign and magnitude
    shift : In(5), ignored with ``raw``
    is_unsigned : In(1)
    raw : In(1)
    magnitude : Out(8)
    sign : Out(1)
    """

    clocked = False

    def __init__(self, tie: Rounding):
        self.tie = tie
        super().__init__(
            {
                "word": In(DST32.width),
                "shift": In(DESCALE_SHIFT_BITS),
                "is_unsigned": In(1),
                "raw": In(1),
                "magnitude": Out(UNSIGNED_BITS),
                "sign": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        magnitude, negative = self.word[:-1], self.word[-1]
        shifted = Signal(len(magnitude) + MAX_SHIFT)
        m.d.comb += shifted.eq(Cat(Const(0, MAX_SHIFT), magnitude) >> self.shift)
        whole = shifted[MAX_SHIFT:]
        guard, sticky = shifted[MAX_SHIFT - 1], shifted[: MAX_SHIFT - 1].any()
        up = increment(self.tie, odd=whole[0], guard=guard, sticky=sticky, negative=Const(0))

        # Overflow: a carry out of the low bits, or any bit above them.
        rounded = Signal(UNSIGNED_BITS + 1)
        beyond = Signal()
        largest = Signal(UNSIGNED_BITS)
        m.d.comb += [
            rounded.eq(whole[:UNSIGNED_BITS] + up),
            beyond.eq(
                whole[UNSIGNED_BITS:].any()
                | rounded[UNSIGNED_BITS]
                | (~self.is_unsigned & rounded[SIGNED_BITS:UNSIGNED_BITS].any())
            ),
            largest.eq(Mux(self.is_unsigned, (1 << UNSIGNED_BITS) - 1, (1 << SIGNED_BITS) - 1)),
            self.sign.eq(negative & ~self.is_unsigned),
        ]
        with m.If(self.raw):
            m.d.comb += self.magnitude.eq(magnitude & largest)
        with m.Elif(~(self.is_unsigned & negative)):
            m.d.comb += self.magnitude.eq(Mux(beyond, largest, rounded))
        return m


ROUNDED_FRACTION_BITS = {
    Format.TF32: FIELDS[Format.TF32].fraction_bits,
    Format.BF16: FIELDS[Format.BF16].fraction_bits,
    Format.FP16: FIELDS[Format.FP16].fraction_bits,
    Format.BFP8: 6,
    Format.BFP8A: 6,
}
"""Fraction bits kept by rounding; a BFP8 datum has 7 magnitude bits with the leading one."""
RAW_FRACTION_BITS = {
    Format.BF16: FIELDS[Format.BF16].fraction_bits,
    Format.FP16: FIELDS[Format.FP16].fraction_bits,
    Format.FP8: FIELDS[Format.FP8].fraction_bits,
    Format.BFP8A: 7,
}
"""Fraction bits kept by the raw conversion, which truncates."""
SHORT_FORMATS = tuple(fmt for fmt in EXPONENT5_FORMATS if fmt in {*ROUNDED_FRACTION_BITS, *RAW_FRACTION_BITS})
"""Intermediate formats with 5 exponent bits."""
MAGNITUDE_BITS = FP32.exponent_bits + FP32.fraction_bits
ABSENT_BF16, ABSENT_FP16 = ((1 << FP32.fraction_bits - fmt.fraction_bits) - 1 for fmt in (BF16, FP16))
"""Fraction bits of FP32 that 16-bit words have not."""


class EarlyConversion(wiring.Component):
    """A Dst word in the intermediate format, as a `FloatWord`.

    Rounding turns NaN into infinity, saturates FP16 at its largest number, and flushes denormals and -0 to +0, except a
    denormal of FP32 or FP16 that rounds up to the least normal number. The raw conversion keeps all of these. FP32 and integers pass through;
    INT16 is in the upper half of the word, and from a 32-bit word it is that half in the register's order. BF16 that is narrowed
    is neither rounded nor flushed. Words without bits to discard round to nearest, that is, not at all. It is combinational, with latency 0.

    Parameters
    ----------
    tie : rounding mode; on magnitudes, RNU and RNA are the same.
    compare : comparison of fewer than 23 discarded bits.
    narrows : True if ``round_10b`` makes FP16 of a BF16 word, not raw.

    Members
    -------
    word : In(32), 16-bit words in the low half
    control : In(PackControl)
    stochastic : In(1), random : In(23)
    o : Out(FloatWord)
    """

    clocked = False

    def __init__(self, tie: Rounding, compare: StochasticCompare, *, narrows: bool):
        self.tie, self.compare, self.narrows = tie, compare, narrows
        super().__init__(
            {
                "word": In(DST32.width),
                "control": In(PackControl),
                "stochastic": In(1),
                "random": In(RANDOM_BITS),
                "o": Out(FloatWord),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        short = Signal()
        m.d.comb += short.eq(control.mid_format.matches(*SHORT_FORMATS))
        source = Signal(FloatWord)
        with m.If(control.dst32 & (control.mid_format == Format.INT16)):
            sign, exponent, fraction = self.word[-1], self.word[23:31], self.word[16:23]
            m.d.comb += source.eq(Cat(Const(0, 16), exponent, fraction, sign))
        with m.Elif(control.dst32):
            m.d.comb += source.eq(self.word)
        with m.Elif(short):
            m.d.comb += source.eq(float_word(self.word, FP16))
        with m.Else():
            m.d.comb += source.eq(float_word(self.word, BF16))

        clamp = instantiate(m, platform, "clamp", ClampInteger, self.tie)
        m.d.comb += [
            clamp.word.eq(self.word),
            clamp.shift.eq(control.descale_shift),
            clamp.is_unsigned.eq(control.unsigned),
            clamp.raw.eq(control.raw),
        ]

        below, half = self._places(m)
        # FP32 keeps all fraction bits and is not rounded; it passes through, as integers do.
        rounds = Signal()
        nan = Signal()
        magnitude = Signal(MAGNITUDE_BITS)
        absent = Signal(FP32.fraction_bits)  # fraction bits that the word has not
        up = Signal()
        rounded = Signal(FloatWord)
        m.d.comb += [
            rounds.eq(~control.raw & control.mid_format.matches(*ROUNDED_FRACTION_BITS)),
            # A 5-bit exponent never sets all 8 bits.
            nan.eq(source.exponent.all()),
            magnitude.eq(Cat(source.fraction & ~Mux(rounds & nan, FP32.fraction_mask, 0), source.exponent)),
            absent.eq(Mux(control.dst32, 0, Mux(short, ABSENT_FP16, ABSENT_BF16))),
            up.eq(self._goes_up(m, magnitude, below, half, absent)),
            # Infinity has no fraction bits, so no carry leaves the exponent field.
            rounded.eq(magnitude + Mux(rounds & up, half << 1, 0)),
        ]
        # Infinity that goes up stays infinity.
        beyond = rounds & rounded.exponent.all()
        # Overflow of a 5-bit exponent sets bit 5 of the 8-bit field.
        saturated = short & rounded.exponent[FP16.exponent_bits]
        flushed = ~rounded.exponent.any() | (~(control.dst32 | short) & ~source.exponent.any())
        if self.narrows:
            narrow = instantiate(m, platform, "narrow", NarrowExponent)
            m.d.comb += narrow.i.eq(float_word(self.word, BF16))
        with m.If(control.mid_format == Format.INT8):
            m.d.comb += [self.o.fraction.eq(clamp.magnitude), self.o.sign.eq(clamp.sign)]
        if self.narrows:
            with m.Elif(control.round_10b & ~control.raw & ~control.dst32 & (control.mid_format == Format.FP16)):
                kept = FP32.fraction_mask - (1 << FP32.fraction_bits - FP16.fraction_bits) + 1
                m.d.comb += [self.o.eq(narrow.o), self.o.fraction.eq(narrow.o.fraction & kept)]
        with m.Elif(~(rounds & flushed)):
            m.d.comb += [
                self.o.fraction.eq(Mux(saturated, FP32.fraction_mask, Mux(beyond, 0, rounded.fraction)) & ~below),
                self.o.exponent.eq(Mux(saturated, FP16.exponent_mask, rounded.exponent)),
                self.o.sign.eq(source.sign),
            ]
        return m

    def _places(self, m: Module) -> tuple[Signal, Signal]:
        """Return masks of the fraction bits that the intermediate format discards: all of them, and the highest."""
        below = Signal(FP32.fraction_bits)
        half = Signal(FP32.fraction_bits)
        with m.If(self.control.raw):
            self._choose(m, below, half, RAW_FRACTION_BITS)
        with m.Else():
            self._choose(m, below, half, ROUNDED_FRACTION_BITS)
        return below, half

    def _choose(self, m: Module, below: Signal, half: Signal, kept: dict[Format, int]) -> None:
        with m.Switch(self.control.mid_format):
            for fmt, bits in kept.items():
                dropped = FP32.fraction_bits - bits
                # FP16 comes from 16-bit words, which have no bits to discard.
                if fmt is not Format.FP16:
                    with m.Case(fmt):
                        m.d.comb += [below.eq((1 << dropped) - 1), half.eq(1 << dropped - 1)]

    def _goes_up(self, m: Module, magnitude: Signal, below: Signal, half: Signal, absent: Signal) -> Value:
        """Return whether a unit in the last kept place is added."""
        guard, sticky, odd = ((magnitude & bits).any() for bits in (half, below & ~half, half << 1))
        nearest = increment(self.tie, odd=odd, guard=guard, sticky=sticky, negative=Const(0))
        # The discarded bits at the top of 23, behind them ones or zeros.
        filled = Const(-1 if self.compare is StochasticCompare.TOP_BITS else 0, RANDOM_BITS)
        discarded = Signal(RANDOM_BITS)
        with m.Switch(self.control.mid_format):
            for fmt, bits in ROUNDED_FRACTION_BITS.items():
                with m.Case(fmt):
                    fraction = magnitude[: FP32.fraction_bits] | absent & filled
                    m.d.comb += discarded.eq(Cat(filled[:bits], fraction[: RANDOM_BITS - bits]))
        by_chance = self.stochastic & (below & ~absent).any()
        return Mux(by_chance, discarded >= self.random, nearest)
