"""SFP_STOCH_RND: 32 lanes, each with a PRNG lane::

      seed -> PrngSeed -> PrngLane x 32 -> states, random bits
                               |
      i ----------------> StochasticRound x 32 -> [register] -> o

Ref: tt-isa-documentation, SFPSTOCHRND and VectorUnit, commit 585749d; ttsim v1.10.0 for the seed.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.vector.config import SfpStochasticRoundConfig
from bitpath.rtl.tensix.vector.layouts import (
    LANE_BITS,
    LANES,
    RANDOM_BITS,
    LaneWords,
    RandomBits,
    RoundRequest,
)
from bitpath.rtl.tensix.vector.prng_lane import PrngLane
from bitpath.rtl.tensix.vector.prng_seed import PrngSeed
from bitpath.rtl.tensix.vector.stochastic_round import StochasticRound

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
                rounder.mode.eq(request.mode),
                rounder.random.eq(Mux(request.rounding == RandomBits.STOCHASTIC, prng.state, fixed)),
            ]
            with m.If(taken):
                m.d.sync += results[lane].eq(rounder.o)
            pushed = prng.state
        return m
