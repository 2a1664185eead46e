"""An FP32 function of one operand, several times side by side."""

from amaranth import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import FP32
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.digit_recurrence import DigitRecurrence


class Fp32Lanes(wiring.Component):
    """Lanes that work in step: they take their operands, and give their results, at the same time.

    Parameters
    ----------
    function : the component that each lane is.
    lanes : how many.

    Members
    -------
    i, o : In, Out(stream of ArrayLayout(32, lanes)), FP32 codes
    """

    def __init__(self, function: type[DigitRecurrence], lanes: int):
        self.function, self.lanes = function, lanes
        codes = data.ArrayLayout(FP32.width, lanes)
        super().__init__({"i": In(stream.Signature(codes)), "o": Out(stream.Signature(codes))})

    def elaborate(self, platform):
        m = Module()
        for k in range(self.lanes):
            lane = place(m, platform, f"lane_{k}", self.function)
            m.d.comb += [
                lane.i.p.eq(self.i.p[k]),
                lane.i.valid.eq(self.i.valid),
                lane.o.ready.eq(self.o.ready),
                self.o.p[k].eq(lane.o.p),
            ]
            if k == 0:  # what it says of itself holds for all
                m.d.comb += [self.i.ready.eq(lane.i.ready), self.o.valid.eq(lane.o.valid)]
        return m
