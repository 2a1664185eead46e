"""Parallel lanes of an FP32 function."""

from dataclasses import dataclass

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.config import require_range
from bitpath.rtl.common.fp32.digit_recurrence import DigitRecurrence
from bitpath.rtl.common.pipeline.shared_instances import instantiate


@dataclass(frozen=True, kw_only=True)
class Fp32LanesConfig:
    """Configuration of the lanes of an FP32 function.

    Attributes
    ----------
    lanes : operands of one beat, 1 to 128.
    """

    lanes: int = 4

    def __post_init__(self) -> None:
        require_range("fp32 function", "lanes", self.lanes, 1, 128)


class Fp32Lanes(wiring.Component):
    """Lanes in lockstep: one beat of operands enters all lanes together, and its results leave together.

    Latency and throughput are those of the function: one beat every LATENCY cycles.

    Parameters
    ----------
    function : component of a lane.
    config : number of lanes.

    Members
    -------
    i, o : In, Out(stream of ArrayLayout(32, lanes)), FP32 codes
    """

    def __init__(self, function: type[DigitRecurrence], config: Fp32LanesConfig):
        self.function, self.config = function, config
        codes = data.ArrayLayout(FP32.width, config.lanes)
        super().__init__({"i": In(stream.Signature(codes)), "o": Out(stream.Signature(codes))})

    def elaborate(self, platform):
        m = Module()
        for k in range(self.config.lanes):
            lane = instantiate(m, platform, f"lane_{k}", self.function)
            m.d.comb += [
                lane.i.p.eq(self.i.p[k]),
                lane.i.valid.eq(self.i.valid),
                lane.o.ready.eq(self.o.ready),
                self.o.p[k].eq(lane.o.p),
            ]
            if k == 0:  # all lanes have the same handshake
                m.d.comb += [self.i.ready.eq(lane.i.ready), self.o.valid.eq(lane.o.valid)]
        return m
