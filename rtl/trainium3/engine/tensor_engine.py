"""Tensor engine: instructions in, PSUM out.

Ref: "Trainium3 Architecture Guide for NKI", Tensor Engine; ``nki.isa.nc_matmul_mx``.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_to_bf16 import DROPPED_BITS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.wide import wide_array
from bitpath.rtl.trainium3.array.psum import Psum, host_layout
from bitpath.rtl.trainium3.array.systolic_array import SystolicArray, operand_write_layout
from bitpath.rtl.trainium3.dot.element_map import MapTable
from bitpath.rtl.trainium3.engine.chain import Chain
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.engine.dispatch import IN_FLIGHT, Dispatch
from bitpath.rtl.trainium3.engine.instruction import instruction_layout
from bitpath.rtl.trainium3.engine.sequencer import Sequencer
from bitpath.rtl.trainium3.engine.write_back import WriteBack
from bitpath.rtl.trainium3.faults import Fault

QUEUE_DEPTH = 4
"""Depth of a tile's queues of loads and of multiplications."""


class TensorEngine(wiring.Component):
    """Systolic array with operand memory, PSUM, and a sequencer for each row tile::

        instruction -> dispatch -> queues -> sequencer -> array -> write-back -> PSUM <-> host
                                                ^                      |
                                                +---- chain memory <---+

    The host writes operands and the FP4 map, streams instructions in, waits until ``busy`` is low, and reads PSUM.
    Results do not depend on the array's shape or pipelining: a contraction of more rows than the array has continues in
    further passes from the chained partial sums.

    A refused instruction reads and writes nothing, and those behind it run; :class:`InstructionCheck` says which are refused.

    Throughput: one moving word a cycle for each tile, and one cycle for each swap. Multiplications of ``2 * cols`` words
    and more hide the loads.

    Parameters
    ----------
    config : array, PSUM and chain memory.

    Members
    -------
    instruction : In(stream of instruction_layout)
    write : In(stream of operand_write_layout, always ready)
    table : In(stream of MapTable, always ready); zero after reset, so write it before E2M1 operands are used
    random : In(stream of 16 bits for each column, always valid), one for each row group; for stochastic rounding
    host : In(stream of host_layout), data : Out(stream of 32 bits for each column), access to PSUM
    busy : Out(1), an instruction is pending or in flight
    fault : Out(Fault), fault_number : Out(32), of the first refused instruction since reset or ``clear``: numbers count from 0
    clear : In(1), clears ``fault``; the next instruction's number is 0
    retired : Out(32), multiplications completed since reset
    busy_cycles : Out(32), cycles since reset in which ``busy`` was high
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        columns = wide_array(FP32.width, config.array.cols)
        random = wide_array(DROPPED_BITS, config.array.cols)
        super().__init__(
            {
                "instruction": In(stream.Signature(instruction_layout(config))),
                "write": In(stream.Signature(operand_write_layout(config.array), always_ready=True)),
                "table": In(stream.Signature(MapTable, always_ready=True)),
                "random": In(stream.Signature(random, always_valid=True)).array(config.array.groups),
                "host": In(stream.Signature(host_layout(config.psum))),
                "data": Out(stream.Signature(columns)),
                "busy": Out(1),
                "fault": Out(Fault),
                "fault_number": Out(32),
                "clear": In(1),
                "retired": Out(32),
                "busy_cycles": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.array = array = SystolicArray(self.config.array)
        m.submodules.psum = psum = Psum(self.config.psum)
        m.submodules.dispatch = dispatch = Dispatch(self.config)
        connect(m, flipped(self.instruction), dispatch.i)
        connect(m, flipped(self.host), psum.host)
        connect(m, psum.data, flipped(self.data))

        table = Signal(MapTable)
        with m.If(self.table.valid):
            m.d.sync += table.eq(self.table.payload)
        m.d.comb += [
            array.advance.eq(1),
            array.tiling.eq(dispatch.tiling),
            array.fp4_table.eq(table),
            array.write.eq(self.write.payload),
            array.write.groups.eq(Mux(self.write.valid, self.write.payload.groups, 0)),
        ]

        retired = []
        for group in range(self.config.array.groups):
            connect(m, flipped(self.random[group]), psum.random[group])
            retired.append(self._tile(m, platform, group, array, psum, dispatch))
        m.d.comb += self.busy.eq(self.instruction.valid | ~dispatch.idle.all())
        m.d.sync += [
            self.retired.eq(self.retired + sum(retired, Const(0, 1))),
            self.busy_cycles.eq(self.busy_cycles + self.busy),
        ]
        number = Signal(32)
        with m.If(self.instruction.valid & self.instruction.ready):
            m.d.sync += number.eq(number + 1)
            with m.If((dispatch.fault != Fault.NONE) & (self.fault == Fault.NONE)):
                m.d.sync += [self.fault.eq(dispatch.fault), self.fault_number.eq(number)]
        with m.If(self.clear):
            m.d.sync += [number.eq(0), self.fault.eq(Fault.NONE)]
        return m

    def _tile(self, m: Module, platform: Any, group: int, array: SystolicArray, psum: Psum, dispatch: Dispatch):
        """Connect the tile that ``group`` leads; return a pulse for each completed multiplication."""
        config = self.config
        sequencer = instantiate(m, platform, f"sequencer_{group}", Sequencer, config)
        write_back = instantiate(m, platform, f"write_back_{group}", WriteBack, config)
        queues = []
        for name, source, sink, depth in (
            ("load", dispatch.load[group], sequencer.load, QUEUE_DEPTH),
            ("multiply", dispatch.multiply[group], sequencer.multiply, QUEUE_DEPTH),
            ("destination", dispatch.destination[group], write_back.destination, IN_FLIGHT),
        ):
            layout = source.payload.shape()
            m.submodules[f"{name}_queue_{group}"] = queue = SyncFIFO(width=layout.size, depth=depth)
            queues.append(queue)
            m.d.comb += [
                queue.w_data.eq(source.payload),
                queue.w_en.eq(source.valid),
                source.ready.eq(queue.w_rdy),
                sink.payload.eq(queue.r_data),
                sink.valid.eq(queue.r_rdy),
                queue.r_en.eq(sink.ready),
            ]

        chain = instantiate(m, platform, f"chain_{group}", Chain, config)
        m.d.comb += [
            chain.write.eq(write_back.chain),
            chain.write_valid.eq(write_back.chain_valid),
            chain.take.eq(sequencer.chain_take),
            sequencer.chain_valid.eq(chain.read_valid),
            array.control[group].eq(sequencer.control),
            array.partial[group].eq(Mux(sequencer.chain_take, chain.read, 0)),
            write_back.result.eq(array.result[group]),
            write_back.result_valid.eq(array.result_valid[group]),
            psum.write[group].eq(write_back.write),
            # A destination stays queued until the last result of its multiplication.
            dispatch.idle[group].eq(~(Cat(queue.r_rdy for queue in queues).any() | sequencer.loading)),
            dispatch.done[group].eq(write_back.done),
            dispatch.done_bank[group].eq(write_back.write.address.bank),
        ]
        return write_back.retired
