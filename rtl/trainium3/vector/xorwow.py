"""XORWOW random number generators of VectorE's lanes, with load and store of their states.

Ref: "Trainium3 Architecture Guide for NKI"; the ``nki.isa.rand_*`` reference pages, NKI 0.5.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import XORWOW_INCREMENT, XORWOW_STATES, XORWOW_WORDS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.faults import Fault


@dataclass(frozen=True, kw_only=True)
class XorwowConfig(UnitConfig, unit="xorwow"):
    """Configuration of XORWOW lanes, four states each.

    Attributes
    ----------
    lanes : lanes that step together.
    """

    lanes: int = in_range(1, PARTITIONS, 2)


# XORWOW generators of one VectorE lane: four states that step together.
#
#     t = x ^ (x >> 2);  new = v ^ (v << 4) ^ t ^ (t << 1);  d = d + 362437;  number = new + d
#     (x, y, z, w, v) = (y, z, w, v, new)
#
# Ref: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, sections 3.1 and 4; "Trainium3
# Architecture Guide for NKI" for the four states of a lane.


WORD_BITS = 32
LaneStates = data.ArrayLayout(data.ArrayLayout(WORD_BITS, XORWOW_WORDS), XORWOW_STATES)
"""Words x, y, z, w, v, d of each state, x lowest."""
LaneNumbers = data.ArrayLayout(WORD_BITS, XORWOW_STATES)
"""One 32-bit number from each state."""


class XorwowLane(wiring.Component):
    """Four states and the next number of each; the states step when the numbers are taken.

    Members
    -------
    load : In(1), sets the states to ``loaded``; overrides ``take``
    loaded : In(LaneStates)
    take : In(1), steps the states
    states : Out(LaneStates), cleared by reset
    numbers : Out(LaneNumbers), combinational from the states
    """

    load: In(1)
    loaded: In(LaneStates)
    take: In(1)
    states: Out(LaneStates)
    numbers: Out(LaneNumbers)

    def elaborate(self, platform):
        m = Module()
        after, numbers = [], []
        for j in range(XORWOW_STATES):
            x, y, z, w, v, d = (self.states[j][word] for word in range(XORWOW_WORDS))
            new = Signal(WORD_BITS, name=f"new_{j}")
            counter = Signal(WORD_BITS, name=f"counter_{j}")
            t = x ^ (x >> 2)
            # Left shifts and sums are modulo 2**32.
            m.d.comb += [new.eq(v ^ (v << 4) ^ t ^ (t << 1)), counter.eq(d + XORWOW_INCREMENT)]
            after += [y, z, w, v, new, counter]
            numbers.append((new + counter)[:WORD_BITS])
        m.d.comb += self.numbers.eq(Cat(numbers))
        with m.If(self.load | self.take):
            m.d.sync += self.states.eq(Mux(self.load, self.loaded, Cat(after)))
        return m


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


RECORDS = (
    Unit(
        name="xorwow",
        config_type=XorwowConfig,
        build=Xorwow,
        summary="Trainium3: four XORWOW states a lane, loaded and stored",
        covered=Covered(XorwowConfig(lanes=2), 300),
        judges=(Judge(4, XorwowConfig()),),
        waves=(
            CLOCK,
            WaveGroup("loads", r"load__"),
            WaveGroup("numbers", r"random__"),
            WaveGroup("states shown", r"(lane|states)$"),
            WaveGroup("first lane", r"lane_0\."),
            WaveGroup("lanes", r"lane_"),
        ),
    ),
)
