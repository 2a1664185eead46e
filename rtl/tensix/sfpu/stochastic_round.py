"""SFP_STOCH_RND of one lane: FP32 with fewer fraction bits, or a number or a shifted integer as a bounded integer::

      FP16A    s eeeeeeee ffffffffff|ddddddddddddd          discarded, above ones:  ddddddddddddd 1111111111
      FP16B    s eeeeeeee fffffff|dddddddddddddddd                                  dddddddddddddddd 1111111
      integer  1.fff... << exponent - 127 = whole . dddddddddddddddddddddddd        the upper 23 fraction bits
               magnitude >> shift         = whole . ddddddddddddddddddddddd

The result is ``magnitude + 1`` if ``discarded >= random``, both of 23 bits. Ones below the d discarded bits make this a
comparison with the top d random bits; `StochasticCompare.ALL_BITS` has zeros there, so all random bits count.

Ref: tt-isa-documentation, SFPSTOCHRND and its two pages of flavours, commit 585749d.
"""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, StochasticCompare, TensixNumerics

# Layouts of SFP_STOCH_RND.


LANES = 32
LANE_BITS = 32
RANDOM_BITS = 23
"""Random bits of a lane that an instruction compares: the low ones of its state."""


class RoundMode(enum.Enum, shape=3):
    """Results of SFP_STOCH_RND of FP32 numbers, by the instruction's mode; 4 and 5 are UINT8 and INT8 of integers."""

    FP16A = 0  # FP32 with 10 fraction bits
    FP16B = 1  # FP32 with 7
    UINT8 = 2
    INT8 = 3
    UINT16 = 6
    INT16 = 7


class RandomBits(enum.Enum, shape=2):
    """The 23 bits with which discarded bits are compared."""

    NEAREST = 0  # 0x400000: ties away from zero
    STOCHASTIC = 1  # the lane's state
    ZERO = 2  # 0x7FFFFF, where ``sfpu_round_to_zero``


LaneWords = data.ArrayLayout(LANE_BITS, LANES)
"""A word of each lane."""


class RoundRequest(data.Struct):
    """An instruction: FP32 codes, mode and rounding."""

    lanes: LaneWords
    mode: RoundMode
    rounding: RandomBits


# One step of a lane's random numbers::
#
#     o = i >> 1, bit 31 = not (i[31] ^ i[21] ^ i[1] ^ i[0])
#
# Ref: tt-isa-documentation, VectorUnit.


TAPS = (0, 1, 21, 31)
"""Bits of the state that are added."""


class PrngStep(wiring.Component):
    """The state that follows a state. A state of all ones follows itself. It is combinational, with latency 0.

    Members
    -------
    i : In(32)
    o : Out(32)
    """

    clocked = False
    i: In(LANE_BITS)
    o: Out(LANE_BITS)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(Cat(self.i[1:], ~Cat(self.i[tap] for tap in TAPS).xor()))
        return m


# Configuration of SFP_STOCH_RND.


@dataclass(frozen=True, kw_only=True)
class SfpStochasticRoundConfig:
    """Configuration of SFP_STOCH_RND.

    Attributes
    ----------
    numerics : ``stochastic_compare`` and ``sfpu_round_to_zero``.
    """

    numerics: TensixNumerics = WORMHOLE.numerics


KEPT_FRACTION_BITS = {RoundMode.FP16A: 10, RoundMode.FP16B: 7}
WIDE_BITS, NARROW_BITS = 16, 8
"""Bits of the unsigned integers; the signed have one less for the magnitude."""
HALF_EXPONENT = FP32.bias - 1
"""Exponent field of 0.5; numbers below it become 0 in every rounding."""
LARGEST_EXPONENT = FP32.bias + WIDE_BITS
"""Exponent field from which on an integer saturates."""


class StochasticRound(wiring.Component):
    """It computes a lane's result. An FP32 exponent of 0 gives +0, one of 255 the infinity of its sign; integers are
    sign and magnitude, saturate, and have no negative zero; the unsigned take the magnitude. In modes 4 and 5 the word is an
    integer whose magnitude is shifted right. It is combinational, with latency 0.

    Parameters
    ----------
    compare : comparison of fewer than 23 discarded bits.

    Members
    -------
    word : In(32), FP32, or sign and magnitude
    random : In(23)
    mode : In(3), a `RoundMode`, 4 or 5
    shift : In(5), of an integer
    o : Out(32)
    """

    clocked = False

    def __init__(self, compare: StochasticCompare):
        self.compare = compare
        inputs = {"word": In(LANE_BITS), "random": In(RANDOM_BITS), "mode": In(3), "shift": In(range(LANE_BITS))}
        super().__init__(inputs | {"o": Out(LANE_BITS)})

    def elaborate(self, platform):
        m = Module()
        fraction, exponent, sign = self.word[:RANDOM_BITS], self.word[RANDOM_BITS:-1], self.word[-1]
        mode = self.mode
        is_signed, is_wide, from_integer = mode[0], mode[2] & mode[1], mode[2] & ~mode[1]

        shift = Signal(range(LARGEST_EXPONENT - HALF_EXPONENT + 1))
        with m.If(exponent >= LARGEST_EXPONENT):
            m.d.comb += shift.eq(LARGEST_EXPONENT - HALF_EXPONENT)
        with m.Elif(exponent >= HALF_EXPONENT):
            m.d.comb += shift.eq(exponent - HALF_EXPONENT)
        # At 0.5 the lowest fraction bit is lost.
        scaled = Signal(RANDOM_BITS + 1 + LANE_BITS - 1)
        whole = Signal(LANE_BITS - 1)
        m.d.comb += scaled.eq(
            Mux(
                from_integer,
                Cat(Const(0, RANDOM_BITS + 1), self.word[:-1]) >> self.shift,
                Cat(fraction, Const(1, 1)) << shift,
            )
        )

        discarded = Signal(RANDOM_BITS)
        kept = Signal(LANE_BITS - 1)
        unit = Signal(LANE_BITS - 1)
        with m.Switch(self.mode):
            for each, bits in KEPT_FRACTION_BITS.items():
                dropped = RANDOM_BITS - bits
                below = Const(-1 if self.compare is StochasticCompare.TOP_BITS else 0, bits)
                with m.Case(each):
                    m.d.comb += [
                        discarded.eq(Cat(below, fraction[:dropped])),
                        kept.eq(Cat(Const(0, dropped), self.word[dropped:-1])),
                        unit.eq(1 << dropped),
                    ]
            with m.Default():
                m.d.comb += [
                    discarded.eq(scaled[1:]),
                    whole.eq(scaled[RANDOM_BITS + 1 :]),
                    kept.eq(whole),
                    unit.eq(1),
                ]
        rounded = Signal(LANE_BITS)
        m.d.comb += rounded.eq(kept + Mux(discarded >= self.random, unit, 0))

        largest = Signal(WIDE_BITS)
        magnitude = Signal(WIDE_BITS)
        m.d.comb += [
            largest.eq(
                Cat(
                    Const(-1, NARROW_BITS - 1),
                    ~is_signed | is_wide,
                    is_wide.replicate(WIDE_BITS - NARROW_BITS - 1),
                    is_wide & ~is_signed,
                )
            ),
            magnitude.eq(Mux(rounded > largest, largest, rounded)),
        ]
        with m.If(mode.matches(*KEPT_FRACTION_BITS)):
            with m.If(exponent.all()):
                m.d.comb += self.o.eq(Cat(Const(FP32.infinity_code, LANE_BITS - 1), sign))
            with m.Elif(exponent.any()):
                m.d.comb += self.o.eq(Cat(rounded[:-1], sign))
        with m.Elif(from_integer | (exponent >= HALF_EXPONENT)):
            m.d.comb += self.o.eq(
                Cat(magnitude, Const(0, LANE_BITS - 1 - WIDE_BITS), sign & is_signed & magnitude.any())
            )
        return m
