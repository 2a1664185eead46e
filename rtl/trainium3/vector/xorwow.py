"""XORWOW: the random numbers of VectorE's lanes, their states loaded and stored.

Ref: "Trainium3 Architecture Guide for NKI"; the ``nki.isa.rand_*`` reference pages, NKI 0.5.
"""

from amaranth import Array, Cat, Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.vector.config import XorwowConfig
from bitpath.rtl.trainium3.vector.xorwow_lane import LaneNumbers, LaneStates, XorwowLane


def lane_bits(config: XorwowConfig) -> int:
    """Of a lane's index."""
    return max(1, ceil_log2(config.lanes))


def load_layout(config: XorwowConfig) -> data.StructLayout:
    """A lane's states, and which lane's."""
    return data.StructLayout({"states": LaneStates, "lane": lane_bits(config)})


class Xorwow(wiring.Component):
    """Lanes that step together: 4 numbers of 32 bits for each lane and cycle, word j from state j.

    ``random`` always has the next numbers of the present states. They stay until they are taken, with one exception to the
    rule of streams: after a load of a lane its numbers are those of the states loaded, taken or not; other lanes' stay. A
    load takes a cycle. Numbers taken in that cycle are those of the states before it.

    Parameters
    ----------
    config : lanes.

    Members
    -------
    load : In(stream of load_layout, always ready)
    lane : In, which lane's states are shown
    states : Out(LaneStates), as they are now
    random : Out(stream of LaneNumbers for each lane, always valid); a load changes an offer, as new states mean new numbers
    """

    def __init__(self, config: XorwowConfig):
        self.config = config
        numbers = data.ArrayLayout(LaneNumbers, config.lanes)
        super().__init__(
            {
                "load": In(stream.Signature(load_layout(config), always_ready=True)),
                "lane": In(lane_bits(config)),
                "states": Out(LaneStates),
                "random": Out(stream.Signature(numbers, always_valid=True)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = [instantiate(m, platform, f"lane_{index}", XorwowLane) for index in range(self.config.lanes)]
        for index, lane in enumerate(lanes):
            m.d.comb += [
                lane.load.eq(self.load.valid & (self.load.p.lane == index)),
                lane.loaded.eq(self.load.p.states),
                lane.take.eq(self.random.ready),
            ]
        m.d.comb += [
            self.random.payload.eq(Cat(lane.numbers for lane in lanes)),
            self.states.eq(Array(lane.states.as_value() for lane in lanes)[self.lane]),
        ]
        return m
