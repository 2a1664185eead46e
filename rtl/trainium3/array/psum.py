"""PSUM: the accumulation memory below the array.

Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM; ``nki.isa.nc_matmul_mx``, psum_accumulate_flag.
"""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_to_bf16 import DROPPED_BITS
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.wide import wide_array
from bitpath.rtl.trainium3.array.config import PsumConfig
from bitpath.rtl.trainium3.array.psum_column import PsumColumn, PsumMode, mode_fault
from bitpath.rtl.trainium3.faults import Fault, keep_first


def psum_address(config: PsumConfig) -> data.StructLayout:
    """Layout of a result's address: index in the bank lowest, then the bank."""
    return data.StructLayout({"index": ceil_log2(config.bank_depth), "bank": max(1, ceil_log2(config.banks))})


def write_layout(config: PsumConfig) -> data.StructLayout:
    """Layout of a write: one result for each column, stored or accumulated by its mode."""
    return data.StructLayout(
        {
            "values": wide_array(FP32.width, config.cols),
            "address": psum_address(config),
            "mode": PsumMode,
            "valid": 1,
        }
    )


def host_layout(config: PsumConfig) -> data.StructLayout:
    """Layout of a host access: ``write`` stores ``values`` unchanged, else the address is read."""
    return data.StructLayout(
        {"values": wide_array(FP32.width, config.cols), "address": psum_address(config), "write": 1}
    )


def psum_members(config: PsumConfig) -> dict[str, wiring.Member]:
    """Return the members of :class:`Psum`."""
    columns = wide_array(FP32.width, config.cols)
    random = wide_array(DROPPED_BITS, config.cols)
    return {
        "write": In(data.ArrayLayout(write_layout(config), config.lanes)),
        "random": In(stream.Signature(random, always_valid=True)).array(config.lanes),
        "host": In(stream.Signature(host_layout(config))),
        "data": Out(stream.Signature(columns)),
        "fault": Out(Fault),
        "clear": In(1),
    }


class Psum(wiring.Component):
    """Banks of accumulators; a word holds an FP32 code, or a BF16 code above 16 zeros, for each column.

    A result overwrites the word if flag bit 0 is set; else it is added in FP32 with RNE. A BF16 destination rounds once
    more, RNE or stochastic, just before the write. A result with bits 0 and 2, or with stochastic rounding to FP32, is refused:
    it writes nothing and takes no random bits.

    Latency: a write takes effect after two cycles; a read of the same word in the next cycle sees it. Throughput: one
    write a cycle for each lane, also to the same word. Two lanes must not use one bank in the same cycle; the engine
    ensures it. The host waits while a lane uses its bank.

    Parameters
    ----------
    config : numbers of columns, lanes and banks.

    Members
    -------
    write : In(write_layout), one for each lane
    random : In(stream of 16 bits for each column, always valid), one for each lane; ready with a stochastic write
    host : In(stream of host_layout)
    data : Out(stream of 32 bits for each column), one beat for each read of the host
    fault : Out(Fault), OPERATION or DTYPE, of the first refused result since reset or ``clear``; in one cycle that of the first lane
    clear : In(1), clears ``fault``
    """

    def __init__(self, config: PsumConfig):
        self.config = config
        super().__init__(psum_members(config))

    def elaborate(self, platform):
        m = Module()
        config = self.config
        columns = wide_array(FP32.width, config.cols)
        host = self.host
        answer_free = ~self.data.valid | self.data.ready
        answers = []
        refused = Signal(config.lanes)
        found: Value = Value.cast(Fault.NONE)
        for lane in reversed(range(config.lanes)):
            taken = self.write[lane]
            fault = mode_fault(taken.mode) if config.checks else Value.cast(Fault.NONE)
            found = Mux(refused[lane], fault, found)
            m.d.comb += [
                refused[lane].eq(taken.valid & (fault != Fault.NONE)),
                self.random[lane].ready.eq(taken.valid & ~refused[lane] & taken.mode.bf16 & taken.mode.stochastic),
            ]
        keep_first(m, self.fault, found, self.clear)
        for bank in range(config.banks):
            chosen = Signal(write_layout(config), name=f"chosen_{bank}")
            random = Signal(wide_array(DROPPED_BITS, config.cols), name=f"random_{bank}")
            for lane in range(config.lanes):
                with m.If(self.write[lane].valid & ~refused[lane] & (self.write[lane].address.bank == bank)):
                    m.d.comb += [chosen.eq(self.write[lane]), random.eq(self.random[lane].payload)]
            serve = Signal(name=f"serve_{bank}")
            m.d.comb += serve.eq(host.valid & (host.p.address.bank == bank) & ~chosen.valid & answer_free)
            with m.If(serve):
                m.d.comb += host.ready.eq(1)

            present = Signal(columns, name=f"present_{bank}")
            values = {
                "index": Mux(serve, host.p.address.index, chosen.address.index),
                "value": Mux(serve, host.p.values.as_value(), chosen.values.as_value()),
                "mode": chosen.mode,
                "random": random,
                "write": chosen.valid | (serve & host.p.write),
                "store": serve,
                "present": present,
            }
            repeat(
                m,
                platform,
                f"columns_{bank}",
                values,
                PsumColumn,
                (config.bank_depth,),
                config.cols,
                spread=("value", "random", "present"),
            )
            answering = Signal(name=f"answering_{bank}")
            m.d.sync += answering.eq(serve & ~host.p.write)
            answers.append((answering, present))
        self._answer(m, answers)
        return m

    def _answer(self, m: Module, answers) -> None:
        """Offer a bank's read data on ``data`` until the host accepts it."""
        held = Signal(self.data.payload.shape())
        waiting = Signal()
        arriving = Signal()
        for answering, values in answers:
            with m.If(answering):
                m.d.comb += [arriving.eq(1), self.data.payload.eq(values)]
        with m.If(~arriving):
            m.d.comb += self.data.payload.eq(held)
        m.d.comb += self.data.valid.eq(arriving | waiting)
        m.d.sync += [waiting.eq(self.data.valid & ~self.data.ready), held.eq(self.data.payload)]
