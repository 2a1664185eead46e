"""States of all lanes from a seed.

Ref: ttsim v1.10.0: a write to PRNG_SEED steps the seed 32 times; then lanes 31 to 0 take it, each after two more steps.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.vector.layouts import LANE_BITS, LANES
from bitpath.rtl.tensix.vector.prng_step import PrngStep

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
