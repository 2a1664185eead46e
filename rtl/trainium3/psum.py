"""PSUM: the accumulation memory under the array.

Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM; ``nki.isa.nc_matmul_mx``, psum_accumulate_flag.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.spec.formats import FP32
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.narrow import DROPPED_BITS
from bitpath.rtl.trainium3.config import PsumConfig
from bitpath.rtl.trainium3.psum_column import PsumColumn, PsumMode


def psum_address(config: PsumConfig) -> data.StructLayout:
    """Where a result lies; the address inside a bank is lowest."""
    return data.StructLayout({"index": ceil_log2(config.bank_depth), "bank": max(1, ceil_log2(config.banks))})


def write_layout(config: PsumConfig) -> data.StructLayout:
    """One result for each column, to be written or accumulated."""
    return data.StructLayout(
        {
            "values": data.ArrayLayout(FP32.width, config.cols),
            "address": psum_address(config),
            "mode": PsumMode,
            "valid": 1,
        }
    )


def host_layout(config: PsumConfig) -> data.StructLayout:
    """A host access: ``values`` are stored as they are where ``write`` is set, else the place is read."""
    return data.StructLayout(
        {"values": data.ArrayLayout(FP32.width, config.cols), "address": psum_address(config), "write": 1}
    )


class Psum(wiring.Component):
    """Banks of accumulators; a place holds an FP32 code, or a BF16 code above 16 zeros, for each column.

    A result overwrites where flag bit 0 is set and bit 2 is not, else it is added to what is there, in FP32 with RNE;
    a BF16 destination rounds once more, RNE or stochastic, just before the write.

    A lane may write every cycle, and the same place again in the next; two lanes may not use one bank in the same
    cycle (the engine sees to that). The host is served where no lane uses the bank. A result is in place two cycles
    after it was given.

    Parameters
    ----------
    config : columns, lanes, banks.

    Members
    -------
    write : In(write_layout), one for each lane
    random : In(stream of 16 bits for each column, always valid), one for each lane; taken for each stochastic write
    host : In(stream of host_layout), data : Out(stream of 32 bits for each column), an answer for each read
    """

    def __init__(self, config: PsumConfig):
        self.config = config
        columns = data.ArrayLayout(FP32.width, config.cols)
        random = data.ArrayLayout(DROPPED_BITS, config.cols)
        super().__init__(
            {
                "write": In(data.ArrayLayout(write_layout(config), config.lanes)),
                "random": In(stream.Signature(random, always_valid=True)).array(config.lanes),
                "host": In(stream.Signature(host_layout(config))),
                "data": Out(stream.Signature(columns)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        columns = data.ArrayLayout(FP32.width, config.cols)
        host = self.host
        answer_free = ~self.data.valid | self.data.ready
        answers = []
        takes = [[] for _ in range(config.lanes)]
        for bank in range(config.banks):
            m.submodules[f"bank_{bank}"] = cells = memory.Memory(shape=columns, depth=config.bank_depth, init=[])
            write_port = cells.write_port()
            read_port = cells.read_port(transparent_for=(write_port,))

            # First cycle: the bank reads the place of the one who uses it.
            chosen = Signal(write_layout(config), name=f"chosen_{bank}")
            lane = Signal(range(config.lanes), name=f"lane_{bank}")
            for index in range(config.lanes):
                with m.If(self.write[index].valid & (self.write[index].address.bank == bank)):
                    m.d.comb += [chosen.eq(self.write[index]), lane.eq(index)]
            serve = Signal(name=f"serve_{bank}")
            m.d.comb += [
                serve.eq(host.valid & (host.p.address.bank == bank) & ~chosen.valid & answer_free),
                read_port.addr.eq(Mux(chosen.valid, chosen.address.index, host.p.address.index)),
            ]
            with m.If(serve):
                m.d.comb += host.ready.eq(1)

            # Second cycle: what was there is added, and the sum written.
            held = Signal(
                data.StructLayout(
                    {"address": psum_address(config), "lane": range(config.lanes), "valid": 1, "random": 1}
                ),
                name=f"held_{bank}",
            )
            host_writes = serve & host.p.write
            m.d.sync += [
                held.address.eq(Mux(serve, host.p.address, chosen.address)),
                held.lane.eq(lane),
                held.valid.eq(chosen.valid | host_writes),
                held.random.eq(chosen.valid & chosen.mode.bf16 & chosen.mode.stochastic),
            ]
            for col in range(config.cols):
                column = place(m, platform, f"column_{bank}_{col}", PsumColumn)
                m.d.comb += [
                    column.value.eq(Mux(serve, host.p.values[col], chosen.values[col])),
                    column.store.eq(serve),
                    column.mode.eq(chosen.mode),
                    column.present.eq(read_port.data[col]),
                    write_port.data[col].eq(column.o),
                ]
                with m.Switch(held.lane):
                    for index in range(config.lanes):
                        with m.Case(index):
                            m.d.comb += column.random.eq(self.random[index].payload[col])
            m.d.comb += [write_port.addr.eq(held.address.index), write_port.en.eq(held.valid)]
            for index in range(config.lanes):
                takes[index].append(held.random & (held.lane == index))

            answering = Signal(name=f"answering_{bank}")
            m.d.sync += answering.eq(serve & ~host.p.write)
            answers.append((answering, read_port.data))
        for index in range(config.lanes):
            m.d.comb += self.random[index].ready.eq(Cat(takes[index]).any())
        self._answer(m, answers)
        return m

    def _answer(self, m: Module, answers) -> None:
        """A bank's read data, for as long as the host takes to accept it."""
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
