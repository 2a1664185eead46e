"""The round sub-unit of a lane, and the immediate words of the load sub-unit.

Ref: tt-isa-documentation, SFP_STOCH_RND, SFPSHFT2 and SFPLOADI: of Wormhole 3930471, of Blackhole 585749d.
"""

from amaranth import Cat, Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.sfpu.layouts import WORD_BITS, named
from bitpath.rtl.tensix.sfpu.simple import EXPONENT_BITS, SHIFT_BITS, shifted
from bitpath.rtl.tensix.sfpu.stochastic_round import RANDOM_BITS, StochasticRound
from bitpath.rtl.tensix.sfpu.tables import FP16_REBIAS

NEAREST_BITS, ZERO_BITS = 1 << RANDOM_BITS - 1, (1 << RANDOM_BITS) - 1
"""Thresholds of roundings without random bits."""


def immediate_word(immediate: Value, mod: Value, before: Value) -> Value:
    """Return the word of SFPLOADI: BF16, FP16, unsigned, signed, or a half of the register."""
    fp16 = Cat(Const(0, 13), immediate[:10], (immediate[10:15] + FP16_REBIAS)[:EXPONENT_BITS], immediate[15])
    half = Mux(mod[1], Cat(immediate, before[16:]), Cat(before[:16], immediate))
    narrow = Cat(immediate, (immediate[15] & mod[2]).replicate(16))
    return Mux(mod[3], half, Mux(mod[1] | mod[2], narrow, Mux(mod[0], fp16, Cat(Const(0, 16), immediate))))


class Round(wiring.Component):
    """The value that SFP_STOCH_RND, or SFPSHFT2 that shifts bits, writes to VD. It is combinational, with latency 0.

    Parameters
    ----------
    numerics : its `stochastic_compare` and `sfpu_round_to_zero`.

    Members
    -------
    word : In(32), an instruction
    b, c : In(32), VB and VC
    random : In(32), the lane's random number
    value : Out(32)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(dict.fromkeys(("word", "b", "c", "random"), In(WORD_BITS)) | {"value": Out(WORD_BITS)})

    def elaborate(self, platform):
        m = Module()
        word, rounding = self.word, self.word[21:23]
        rounder = instantiate(m, platform, "rounder", StochasticRound, self.numerics.stochastic_compare)
        zero = rounding == 2 if self.numerics.sfpu_round_to_zero else Const(0)
        by = Mux(word[1], word[12:24].as_signed(), self.c.as_signed())
        m.d.comb += [
            rounder.word.eq(self.c),
            rounder.mode.eq(word[:3]),
            rounder.shift.eq(Mux(word[3], word[16:21], self.b[:SHIFT_BITS])),
            rounder.random.eq(Mux(rounding[0], self.random[:RANDOM_BITS], Mux(zero, ZERO_BITS, NEAREST_BITS))),
            self.value.eq(Mux(named(word, "SFPSHFT2"), shifted(m, self.b, by, Const(0)), rounder.o)),
        ]
        return m
