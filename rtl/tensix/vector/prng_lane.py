"""Random numbers of one lane."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.vector.layouts import LANE_BITS
from bitpath.rtl.tensix.vector.prng_step import PrngStep


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
