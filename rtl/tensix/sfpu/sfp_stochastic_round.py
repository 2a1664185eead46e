"""SFP_STOCH_RND: 32 lanes, each with a PRNG lane::

      seed -> PrngSeed -> PrngLane x 32 -> states, random bits
                               |
      i ----------------> StochasticRound x 32 -> [register] -> o

Ref: tt-isa-documentation, SFPSTOCHRND and VectorUnit, commit 585749d; ttsim v1.10.0 for the seed.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.sfpu.stochastic_round import (
    LANE_BITS,
    LANES,
    RANDOM_BITS,
    LaneWords,
    PrngStep,
    RandomBits,
    RoundRequest,
    SfpStochasticRoundConfig,
    StochasticRound,
)

# Random numbers of one lane.


class PrngLane(wiring.Component):
    """A state that is loaded, or steps, or stays. Its reset value is 0.

    Members
    -------
    load, advance : In(1); ``load`` wins
    loaded : In(32)
    state : Out(32)
    """

    load: In(1)
    advance: In(1)
    loaded: In(LANE_BITS)
    state: Out(LANE_BITS)

    def elaborate(self, platform):
        m = Module()
        step = instantiate(m, platform, "step", PrngStep)
        m.d.comb += step.i.eq(self.state)
        with m.If(self.load):
            m.d.sync += self.state.eq(self.loaded)
        with m.Elif(self.advance):
            m.d.sync += self.state.eq(step.o)
        return m


# States of all lanes from a seed.
#
# Ref: ttsim v1.10.0: a write to PRNG_SEED steps the seed 32 times; then lanes 31 to 0 take it, each after two more steps.


WARM_UP_STEPS, LANE_STEPS = 32, 2
"""Steps of the seed before the lanes get theirs, and from lane to lane."""
STEPS = WARM_UP_STEPS + LANE_STEPS * LANES


class PrngSeed(wiring.Component):
    """A step a cycle, 96 cycles a seed; ``busy`` and not ready meanwhile. The states come in the order of lanes 31 to 0.

    Members
    -------
    i : In(stream of 32)
    busy : Out(1)
    load : Out(1), a state is there
    state : Out(32)
    """

    i: In(stream.Signature(LANE_BITS))
    busy: Out(1)
    load: Out(1)
    state: Out(LANE_BITS)

    def elaborate(self, platform):
        m = Module()
        value = Signal(LANE_BITS, reset_less=True)
        left = Signal(range(STEPS + 1))
        step = instantiate(m, platform, "step", PrngStep)
        m.d.comb += [
            step.i.eq(value),
            self.state.eq(step.o),
            self.busy.eq(left.any()),
            self.i.ready.eq(~self.busy),
            # Two steps a lane: the second one has an odd number of steps left.
            self.load.eq(left[0] & (left < LANE_STEPS * LANES)),
        ]
        with m.If(self.busy):
            m.d.sync += left.eq(left - 1)
        with m.Elif(self.i.valid):
            m.d.sync += left.eq(STEPS)
        m.d.sync += value.eq(Mux(self.busy, step.o, self.i.p))
        return m


NEAREST_BITS = 1 << RANDOM_BITS - 1
ZERO_BITS = (1 << RANDOM_BITS) - 1


class SfpStochasticRound(wiring.Component):
    """Rounded lanes; every instruction steps the random numbers of all lanes and uses those before the step.

    Latency is ``LATENCY`` = 1 cycle, throughput a vector a cycle; it stalls while a result waits for ``o.ready``, and takes no
    instruction in the 96 cycles behind a seed. The states' reset value is 0. Modes 4 and 5, and ``RandomBits.ZERO`` without
    ``sfpu_round_to_zero``, give undefined results.

    Parameters
    ----------
    config : numerics, of which ``stochastic_compare`` and ``sfpu_round_to_zero`` are read.

    Members
    -------
    i : In(stream of RoundRequest)
    seed : In(stream of 32), a write to PRNG_SEED
    states : Out(32 words), the lanes' random numbers
    o : Out(stream of 32 words)
    """

    LATENCY = 1
    """Cycles from an instruction to its result."""

    def __init__(self, config: SfpStochasticRoundConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(RoundRequest)),
                "seed": In(stream.Signature(LANE_BITS)),
                "states": Out(LaneWords),
                "o": Out(stream.Signature(LaneWords)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        m.submodules.prng_seed = prng_seed = PrngSeed()
        connect(m, flipped(self.seed), prng_seed.i)
        free, taken = Signal(), Signal()
        m.d.comb += [
            free.eq(self.o.ready | ~self.o.valid),
            self.i.ready.eq(free & ~prng_seed.busy),
            taken.eq(self.i.valid & self.i.ready),
        ]
        with m.If(free):
            m.d.sync += self.o.valid.eq(taken)

        request = self.i.p
        results = Signal(LaneWords, reset_less=True)
        m.d.comb += self.o.p.eq(results)
        # Each state that a seed gives pushes those before it on by one lane.
        pushed = prng_seed.state
        for lane in range(LANES):
            prng = instantiate(m, platform, f"prng_{lane}", PrngLane)
            rounder = instantiate(m, platform, f"round_{lane}", StochasticRound, numerics.stochastic_compare)
            fixed = NEAREST_BITS
            if numerics.sfpu_round_to_zero:
                fixed = Mux(request.rounding == RandomBits.ZERO, ZERO_BITS, NEAREST_BITS)
            m.d.comb += [
                prng.load.eq(prng_seed.load),
                prng.loaded.eq(pushed),
                prng.advance.eq(taken),
                self.states[lane].eq(prng.state),
                rounder.word.eq(request.lanes[lane]),
                rounder.mode.eq(request.mode.as_value()),
                rounder.random.eq(Mux(request.rounding == RandomBits.STOCHASTIC, prng.state, fixed)),
            ]
            with m.If(taken):
                m.d.sync += results[lane].eq(rounder.o)
            pushed = prng.state
        return m


_BLACKHOLE = SfpStochasticRoundConfig(numerics=BLACKHOLE.numerics)


RECORDS = (
    Unit(
        name="sfp_stochastic_round",
        config_type=SfpStochasticRoundConfig,
        build=SfpStochasticRound,
        summary="Tensix: 32 lanes of FP32 to fewer fraction bits or integers, and their random numbers",
        covered=Covered(_BLACKHOLE, 300),
        judges=(Judge(38, _BLACKHOLE),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("seed", r"(seed|prng_seed)"),
            WaveGroup("random numbers", r"(states|prng_)"),
            WaveGroup("lanes", r"round_"),
            OUTPUT,
        ),
    ),
)
