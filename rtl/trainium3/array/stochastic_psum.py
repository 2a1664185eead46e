"""PSUM with the random number generators of its stochastic rounding.

Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM. The assignment of generators to columns is a
choice of this project.
"""

from amaranth import Array, Module, Mux
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from bitpath.rtl.common.fp32.fp32_to_bf16 import DROPPED_BITS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.config import PsumConfig
from bitpath.rtl.trainium3.array.psum import Psum, psum_members
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.config import XorwowConfig
from bitpath.rtl.trainium3.vector.xorwow import Xorwow, lane_bits
from bitpath.rtl.trainium3.vector.xorwow_lane import LaneNumbers, LaneStates

LANE_COLUMNS = LaneNumbers.size // DROPPED_BITS
"""Columns of one XORWOW lane: four words of two half-words."""


def generators(config: PsumConfig) -> XorwowConfig:
    """Configuration of the XORWOW lanes of one PSUM lane."""
    return XorwowConfig(lanes=-(-config.cols // LANE_COLUMNS))


def generator_address(config: PsumConfig) -> data.StructLayout:
    """Layout of a generator's address: the XORWOW lane lowest, then the PSUM lane."""
    return data.StructLayout({"lane": lane_bits(generators(config)), "psum_lane": max(1, ceil_log2(config.lanes))})


class StochasticPsum(wiring.Component):
    """PSUM with XORWOW lanes for each PSUM lane, one for every 8 columns.

    Column c takes half-word ``c % 8`` of XORWOW lane ``c // 8``, counted from the low half of word 0. All generators of a
    PSUM lane step once with each of its stochastic writes to BF16.

    Parameters
    ----------
    config : configuration of PSUM.

    Members
    -------
    write, host, data, fault, clear : those of :class:`Psum`
    load : In(stream of a generator's address and states, always ready)
    shown : In(generator_address)
    states : Out(LaneStates), present states of the generator ``shown``
    load_fault : Out(Fault), PARTITIONS in the cycle of a load of a generator that there is not, which loads nothing
    """

    def __init__(self, config: PsumConfig):
        self.config = config
        members = psum_members(config)
        address = generator_address(config)
        load = data.StructLayout({"states": LaneStates, "address": address})
        super().__init__(
            {name: members[name] for name in ("write", "host", "data", "fault", "clear")}
            | {
                "load": In(stream.Signature(load, always_ready=True)),
                "shown": In(address),
                "states": Out(LaneStates),
                "load_fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.psum = psum = Psum(config)
        m.d.comb += [psum.write.eq(self.write), psum.clear.eq(self.clear), self.fault.eq(psum.fault)]
        connect(m, flipped(self.host), psum.host)
        connect(m, psum.data, flipped(self.data))
        address = self.load.p.address
        beyond = (address.lane >= generators(config).lanes) | (address.psum_lane >= config.lanes)
        m.d.comb += self.load_fault.eq(Mux(self.load.valid & beyond, Fault.PARTITIONS, Fault.NONE))
        sources = []
        for lane in range(config.lanes):
            source = instantiate(m, platform, f"xorwow_{lane}", Xorwow, generators(config))
            m.d.comb += [
                source.load.valid.eq(self.load.valid & (address.psum_lane == lane)),
                source.load.p.lane.eq(address.lane),
                source.load.p.states.eq(self.load.p.states),
                source.lane.eq(self.shown.lane),
                # Half-word c is the c-th from the bottom in both layouts.
                psum.random[lane].payload.eq(source.random.payload),
                source.random.ready.eq(psum.random[lane].ready),
            ]
            sources.append(source)
        m.d.comb += self.states.eq(Array(source.states.as_value() for source in sources)[self.shown.psum_lane])
        return m
