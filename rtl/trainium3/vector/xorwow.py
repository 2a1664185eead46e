"""XORWOW random number generators of VectorE's lanes, with load and store of their states.

Ref: "Trainium3 Architecture Guide for NKI"; the ``nki.isa.rand_*`` reference pages, NKI 0.5.
"""

from amaranth import Array, Cat, Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.config import XorwowConfig
from bitpath.rtl.trainium3.vector.xorwow_lane import LaneNumbers, LaneStates, XorwowLane


def lane_bits(config: XorwowConfig) -> int:
    """Bits of a lane's index."""
    return max(1, ceil_log2(config.lanes))


def load_layout(config: XorwowConfig) -> data.StructLayout:
    """Layout of a load: the states of one lane, and the lane's index."""
    return data.StructLayout({"states": LaneStates, "lane": lane_bits(config)})


class Xorwow(wiring.Component):
    """Lanes that step together: four 32-bit numbers for each lane and cycle, word j from state j.

    ``random`` offers the next numbers of the present states until they are taken. One exception to the stream rules: a
    load of a lane replaces its offer in the next cycle, taken or not; the other lanes keep theirs. Numbers taken in the
    cycle of the load are those of the states before it.

    Parameters
    ----------
    config : number of lanes.

    Members
    -------
    load : In(stream of load_layout, always ready)
    lane : In(lane_bits), index of the lane whose states are shown
    states : Out(LaneStates), present states of that lane
    random : Out(stream of LaneNumbers for each lane, always valid)
    fault : Out(Fault), PARTITIONS in the cycle of a load of a lane that there is not, which loads nothing
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
                "fault": Out(Fault),
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
        beyond = self.load.valid & (self.load.p.lane >= self.config.lanes)
        m.d.comb += [
            self.fault.eq(Mux(beyond, Fault.PARTITIONS, Fault.NONE)),
            self.random.payload.eq(Cat(lane.numbers for lane in lanes)),
            self.states.eq(Array(lane.states.as_value() for lane in lanes)[self.lane]),
        ]
        return m
