"""PSUM: the accumulation memory below the array.

Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM; ``nki.isa.nc_matmul_mx``, psum_accumulate_flag.
"""

from dataclasses import dataclass

from amaranth import Array, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two
from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.array.config import MAX_LANES
from bitpath.rtl.trainium3.array.psum_column import PsumColumn, PsumMode, mode_fault
from bitpath.rtl.trainium3.faults import Fault, keep_first
from bitpath.rtl.trainium3.vector.xorwow import LaneNumbers, LaneStates, Xorwow, XorwowConfig, lane_bits


@dataclass(frozen=True, kw_only=True)
class PsumConfig(UnitConfig, unit="psum"):
    """Configuration of PSUM below an array.

    Attributes
    ----------
    cols : partitions, one below each array column.
    lanes : result streams that may write in the same cycle, each to another bank.
    banks, bank_depth : number of banks, and results of each partition in a bank; powers of two.
    checks : whether the lanes' modes are checked; without it they must be right.
    """

    cols: int = in_range(1, PARTITIONS, 4)
    lanes: int = in_range(1, MAX_LANES, 4)
    banks: int = power_of_two(2, 8, 4)
    bank_depth: int = power_of_two(2, 1 << 16, 64)
    checks: bool = True


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


# PSUM with the random number generators of its stochastic rounding.
#
# Ref: "Trainium3 Architecture Guide for NKI", BF16 Matmul Results in PSUM. The assignment of generators to columns is a
# choice of this project.


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


RECORDS = (
    Unit(
        name="psum",
        config_type=PsumConfig,
        build=Psum,
        summary="Trainium3: PSUM banks, FP32 or BF16, overwrite or accumulate",
        covered=Covered(PsumConfig(cols=2, bank_depth=16), 1000),
    ),
    Unit(
        name="stochastic_psum",
        config_type=PsumConfig,
        build=StochasticPsum,
        summary="Trainium3: PSUM with the generators of its stochastic rounding",
        covered=Covered(PsumConfig(cols=10, lanes=2, banks=2, bank_depth=16), 200),
        judges=(Judge(12, PsumConfig()),),
        waves=(
            CLOCK,
            WaveGroup("writes", r"write\b"),
            WaveGroup("host", r"(host|data)__"),
            WaveGroup("generators", r"(load__|shown|states|xorwow_)"),
            WaveGroup("first column", r"psum\.columns_0\.(psum_columns_0\.)*psum_column_0\."),
            WaveGroup("banks", r"psum\."),
        ),
    ),
)
