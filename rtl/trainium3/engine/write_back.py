"""Write-back of a row tile's results to PSUM or to the next pass over the rows."""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.wide import wide_array
from bitpath.rtl.trainium3.array.psum import write_layout
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.engine.instruction import count_width, destination_layout


class WriteBack(wiring.Component):
    """Assigns destinations to results; both arrive in the same order.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    destination : In(stream of destination_layout), ready with its last result
    result : In(ArrayLayout(32, cols)), result_valid : In(1)
    write : Out(write_layout), to PSUM
    chain : Out(ArrayLayout(32, cols)), chain_valid : Out(1), to the next pass
    done : Out(1), the last result of a multiplication is written to PSUM
    retired : Out(1), the last result of a multiplication, written or chained
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        columns = wide_array(FP32.width, config.array.cols)
        super().__init__(
            {
                "destination": In(stream.Signature(destination_layout(config))),
                "result": In(columns),
                "result_valid": In(1),
                "write": Out(write_layout(config.psum)),
                "chain": Out(columns),
                "chain_valid": Out(1),
                "done": Out(1),
                "retired": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self.destination.p
        index = Signal(count_width(self.config))
        last = index + 1 == p.count
        m.d.comb += [
            self.write.values.eq(self.result),
            self.write.address.bank.eq(p.address.bank),
            self.write.address.index.eq(p.address.index + index),
            self.write.mode.eq(p.mode),
            self.write.valid.eq(self.result_valid & ~p.chain_out),
            self.chain.eq(self.result),
            self.chain_valid.eq(self.result_valid & p.chain_out),
            self.retired.eq(self.result_valid & last),
            self.done.eq(self.retired & ~p.chain_out),
            self.destination.ready.eq(self.retired),
        ]
        with m.If(self.retired):
            m.d.sync += index.eq(0)
        with m.Elif(self.result_valid):
            m.d.sync += index.eq(index + 1)
        return m
