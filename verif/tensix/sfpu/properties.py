"""SFP_STOCH_RND: the step of a lane's random numbers, a seed's states, each mode for every word and random bits; the stream."""

from functools import partial

from amaranth import Cat, Const, Mux, Value

from bitpath.golden.tensix.declarations.numerics import StochasticCompare
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import PrngLane, PrngSeed, SfpStochasticRound
from bitpath.rtl.tensix.sfpu.stochastic_round import (
    LANES,
    PrngStep,
    RoundMode,
    SfpStochasticRoundConfig,
    StochasticRound,
)
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property
from bitpath.verif.formal.property import Properties, Sabotage

ROOM = "tensix/sfpu"
_UNIT = partial(SfpStochasticRound, SfpStochasticRoundConfig())
DISCARDED_BITS = {RoundMode.FP16A: 13, RoundMode.FP16B: 16}
LARGEST = {RoundMode.UINT8: 255, RoundMode.INT8: 127, RoundMode.UINT16: 65535, RoundMode.INT16: 32767}
COMPARES = tuple(StochasticCompare)
BELOW = ("StochasticCompare.TOP_BITS else 0", "StochasticCompare.ALL_BITS else 0")

PROPERTIES = Properties(
    ROOM,
    offer_property(
        "tensix.sfp_stochastic_round",
        _UNIT,
        Sabotage(f"{ROOM}/sfp_stochastic_round.py", "self.o.ready | ~self.o.valid", "self.o.ready | ~self.o.ready"),
        whole=False,
    ),
)


@PROPERTIES.of(
    "prng_step",
    "prng_step_inverse",
    "no two states have the same next one, and all but its top bit is the state shifted",
    ("TAPS = (0, 1, 21, 31)", "TAPS = (1, 21, 31)"),
)
def step_inverse(claim: Claim) -> None:
    """The lowest bit is lost by the shift, so the top bit must tell it."""
    dut = claim.instantiate("dut", PrngStep())
    other = claim.instantiate("other", PrngStep())
    claim.ensure(dut.o[:-1] == dut.i[1:], (dut.o != other.o) | (dut.i == other.i))


@PROPERTIES.of(
    "prng_step",
    "prng_step_taps",
    "the new bit is 1 if an even number of the bits 31, 21, 1 and 0 are set",
    ("TAPS = (0, 1, 21, 31)", "TAPS = (0, 1, 22, 31)"),
)
def step_taps(claim: Claim) -> None:
    dut = claim.instantiate("dut", PrngStep())
    tapped = dut.i & 0x80200003
    count = sum((tapped[place] for place in range(32)), start=Const(0, 6))
    claim.ensure(dut.o[-1] == ~count[0])


@PROPERTIES.of(
    "prng_lane",
    "prng_lane_moves",
    "a state is loaded, or steps, or stays",
    ("with m.Elif(self.advance):", "with m.Elif(~self.advance):"),
    depth=1,
)
def lane_moves(claim: Claim) -> None:
    dut = claim.instantiate("dut", PrngLane())
    step = claim.instantiate("spec", PrngStep(), i=dut.state)
    after = Mux(dut.load, dut.loaded, Mux(dut.advance, step.o, dut.state))
    claim.ensure(dut.state == claim.register(after, "after"))


@PROPERTIES.of(
    "prng_seed",
    "prng_seed_order",
    "behind a seed a state is given in every second of the last 64 of 96 cycles, one step after the other",
    ("self.load.eq(left[0] & ", "self.load.eq(~left[0] & "),
    depth=1,
)
def seed_order(claim: Claim) -> None:
    """From any state of the counter that a seed leads to."""
    dut = claim.instantiate("dut", PrngSeed())
    left = claim.inside("dut", "left")
    value = claim.inside("dut", "value")
    claim.assume(left <= 32 + 2 * LANES)
    arrives = dut.i.valid & dut.i.ready
    before = claim.register(left, "left_before")
    step = claim.instantiate("spec", PrngStep(), i=claim.register(value, "value_before"))
    given = Cat(left == count for count in range(1, 2 * LANES, 2)).any()
    claim.ensure(
        dut.load == given,
        dut.busy == (left != 0),
        dut.i.ready == (left == 0),
        ~claim.register(arrives, "arrived") | ((left == 96) & (value == claim.register(dut.i.p, "seed"))),
        (before == 0) | ((left == before - 1) & (value == step.o)),
    )


@PROPERTIES.of(
    "stochastic_round",
    "stochastic_round_{mode.name}_{compare.value}",
    "{mode.name}, {compare.value}: every word and all random bits",
    None,
    "mode, compare, sabotage",
    tuple(
        (mode, compare, sabotage)
        for mode, sabotage in (
            (RoundMode.FP16A, BELOW),
            (RoundMode.FP16B, ("with m.If(exponent.all()):", "with m.If(exponent[1:].all()):")),
        )
        for compare in COMPARES
    ),
)
def floats(claim: Claim, mode: RoundMode, compare: StochasticCompare) -> None:
    """The page's shift of the random bits, or of the discarded ones."""
    dut = claim.instantiate("dut", StochasticRound(compare))
    claim.assume(dut.mode == mode.value)
    count = DISCARDED_BITS[mode]
    discarded, exponent = dut.word[:count], dut.word[23:31]
    if compare is StochasticCompare.TOP_BITS:
        up = discarded >= dut.random >> 23 - count
    else:
        up = discarded << 23 - count >= dut.random
    rounded = claim.value((dut.word[:-1] >> count) + up << count, "rounded", 31)
    infinite = claim.value(Const(0xFF << 23, 31), "infinite")
    answer = Mux(exponent == 0, 0, Cat(Mux(exponent == 255, infinite, rounded), dut.word[-1]))
    claim.ensure(dut.o == claim.value(answer, "answer", 32))


@PROPERTIES.of(
    "stochastic_round",
    "stochastic_round_{mode.name}",
    "{mode.name}: a number as units of 2**-150 is rounded, saturates, and loses the sign of zero",
    ("discarded.eq(scaled[1:])", "discarded.eq(scaled[:])"),
    "mode",
    tuple(LARGEST),
)
def integers(claim: Claim, mode: RoundMode) -> None:
    dut = claim.instantiate("dut", StochasticRound(StochasticCompare.TOP_BITS))
    claim.assume(dut.mode == mode.value)
    exponent = dut.word[23:31]
    # The number times 2**24; those of 2**17 and above saturate as 2**17 does.
    near = claim.value(Mux(exponent > 144, 18, exponent - 126)[:5], "near", 5)
    number = claim.value(Cat(dut.word[:23], Const(1, 1)) << near, "number", 24 + 31)
    whole = claim.value(number >> 24, "whole", 31)
    fraction = claim.value(number >> 1, "fraction", 23)
    magnitude = claim.value(whole + (fraction >= dut.random), "magnitude", 32)
    bounded = claim.value(Mux(magnitude > LARGEST[mode], LARGEST[mode], magnitude), "bounded", 31)
    is_signed = mode in (RoundMode.INT8, RoundMode.INT16)
    answer = Cat(bounded, dut.word[-1] & int(is_signed) & (bounded != 0))
    claim.ensure(dut.o == claim.value(Mux(exponent < 126, 0, answer), "answer", 32))


@PROPERTIES.of(
    "sfp_stochastic_round",
    "sfp_stochastic_round_one_vector",
    "a result is there the cycle after its instruction, of the states of that cycle; no seed's cycles take one",
    ("self.i.ready.eq(free & ~prng_seed.busy)", "self.i.ready.eq(free)"),
    depth=1,
)
def one_vector(claim: Claim) -> None:
    dut = claim.instantiate("dut", _UNIT())
    busy = claim.value(~dut.seed.ready, "busy")
    arrives, waits = dut.i.valid & dut.i.ready, dut.o.valid & ~dut.o.ready
    claim.ensure(
        dut.o.valid == claim.register(arrives | waits, "expected"),
        ~(busy & dut.i.ready),
    )
    states = claim.register(Value.cast(dut.states), "states_before")
    moved = claim.register(arrives | busy, "moved")
    claim.ensure(moved | (Value.cast(dut.states) == states))
