"""Tensor engine: instructions in, PSUM out.

Ref: "Trainium3 Architecture Guide for NKI", Tensor Engine; ``nki.isa.nc_matmul_mx``.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO, SyncFIFOBuffered
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup
from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.array.psum import Psum, host_layout, write_layout
from bitpath.rtl.trainium3.array.systolic_array import SystolicArray, Tiling, operand_write_layout
from bitpath.rtl.trainium3.dot.element_map import ElementFormat, MapTable
from bitpath.rtl.trainium3.engine.instruction import (
    EngineConfig,
    InstructionCheck,
    Opcode,
    count_width,
    destination_layout,
    instruction_layout,
)
from bitpath.rtl.trainium3.faults import Fault

# Memory of the partial sums between two passes of a contraction.


class Chain(wiring.Component):
    """A queue of ``chain_depth`` words of one partial sum for each column.

    Whoever writes must leave room: a multiplication writes at most ``chain_depth`` words.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    write : In(cols * 32), write_valid : In(1)
    read : Out(cols * 32), read_valid : Out(1), the oldest word; take : In(1), it leaves
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        words = FP32.width * config.array.cols
        super().__init__(
            {"write": In(words), "write_valid": In(1), "read": Out(words), "read_valid": Out(1), "take": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = SyncFIFOBuffered(width=len(self.write), depth=self.config.chain_depth)
        m.d.comb += [
            queue.w_data.eq(self.write),
            queue.w_en.eq(self.write_valid),
            self.read.eq(queue.r_data),
            self.read_valid.eq(queue.r_rdy),
            queue.r_en.eq(self.take),
        ]
        return m


# Sequencer of a row tile: loads stationary operands during a multiplication.


def load_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of a load, whose ``replace`` is set if no multiplication used the previous load."""
    address = ceil_log2(config.array.operand_depth)
    return data.StructLayout({"address": address, "format": ElementFormat, "replace": 1})


def multiply_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of a multiplication, whose ``swap`` is set if operands were loaded since the previous one."""
    address = ceil_log2(config.array.operand_depth)
    return data.StructLayout(
        {"address": address, "format": ElementFormat, "count": count_width(config), "chain_in": 1, "swap": 1}
    )


class Sequencer(wiring.Component):
    """Issues the row control of loads and multiplications, cycle by cycle.

    A load takes ``cols`` cycles and starts when the second copies are free: the previous swap has passed the last column.
    A multiplication takes one cycle for its swap, if any, and one for each word. It stalls for its load, and for each
    chained word until its partial sums are valid.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    load : In(stream of load_layout), multiply : In(stream of multiply_layout)
    chain_valid : In(1), chain_take : Out(1), handshake of the chained partial sums
    loading : Out(1), an unused load is in flight: rows still read operand memory for it
    control : Out(control_layout)
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "load": In(stream.Signature(load_layout(config))),
                "multiply": In(stream.Signature(multiply_layout(config))),
                "chain_valid": In(1),
                "chain_take": Out(1),
                "loading": Out(1),
                "control": Out(control_layout(config.array)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        cols = self.config.array.cols
        control, load, multiply = self.control, self.load, self.multiply

        loaded = Signal()  # the second copies hold operands of an unused load
        since_swap = Signal(range(cols + 1), init=cols)
        with m.If(since_swap != cols):
            m.d.sync += since_swap.eq(since_swap + 1)

        column = Signal(range(cols))
        m.d.comb += [
            control.stationary_address.eq(load.p.address + (cols - 1) - column),
            control.stationary_format.eq(load.p.format),
        ]
        free = (since_swap == cols) & (~loaded | load.p.replace)
        with m.If(load.valid & (free | column.any())):
            m.d.comb += [control.load.eq(1), load.ready.eq(column == cols - 1)]
            m.d.sync += [column.eq(column + 1), loaded.eq(column == cols - 1)]

        # A used load needs no count: its multiplication's results come after it has passed all rows.
        down = self.config.array.rows * self.config.array.row_latency
        rows_left = Signal(range(down + 1))
        m.d.comb += self.loading.eq(rows_left.any())
        with m.If(control.load):
            m.d.sync += rows_left.eq(down)
        with m.Elif(control.swap):
            m.d.sync += rows_left.eq(0)
        with m.Elif(self.loading):
            m.d.sync += rows_left.eq(rows_left - 1)

        word = Signal(count_width(self.config))
        swapped = Signal()
        m.d.comb += [
            control.moving_address.eq(multiply.p.address + word),
            control.moving_format.eq(multiply.p.format),
        ]
        with m.If(multiply.valid):
            with m.If(multiply.p.swap & ~swapped):
                # A pending load that replaces the present one was issued before this multiplication and belongs to it.
                with m.If(loaded & ~(load.valid & load.p.replace)):
                    m.d.comb += control.swap.eq(1)
                    m.d.sync += [swapped.eq(1), loaded.eq(0), since_swap.eq(0)]
            with m.Elif(~multiply.p.chain_in | self.chain_valid):
                m.d.comb += [control.valid.eq(1), self.chain_take.eq(multiply.p.chain_in)]
                m.d.sync += word.eq(word + 1)
                with m.If(word + 1 == multiply.p.count):
                    m.d.comb += multiply.ready.eq(1)
                    m.d.sync += [word.eq(0), swapped.eq(0)]
        return m


# In-order dispatch of instructions to the row tiles.


IN_FLIGHT = 8
"""Largest number of multiplications of one tile in flight, from dispatch to last result."""


class Dispatch(wiring.Component):
    """Sends each instruction to its tile's sequencer, and a multiplication's destination to the tile's write-back. A refused one
    goes nowhere, and takes a cycle.

    Tiles work in parallel. Dispatch stalls on three hazards: the queue is full; rows are busy under another tiling;
    another tile has results in flight to the same PSUM bank. So a bank accumulates in the order of the instructions.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    i : In(stream of instruction_layout)
    load, multiply, destination : Out(streams), one for each row group
    tiling : Out(Tiling)
    fault : Out(Fault), other than NONE for the cycle of a refused instruction
    idle : In(groups), the tile has nothing queued or in flight
    done : In(groups), a multiplication of the tile writes its last result to PSUM, bank ``done_bank``
    done_bank_0, ... : In(bank), one for each row group
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        groups = config.array.groups
        bank = destination_layout(config)["address"].shape["bank"].shape
        super().__init__(
            {
                "i": In(stream.Signature(instruction_layout(config))),
                "load": Out(stream.Signature(load_layout(config))).array(groups),
                "multiply": Out(stream.Signature(multiply_layout(config))).array(groups),
                "destination": Out(stream.Signature(destination_layout(config))).array(groups),
                "tiling": Out(Tiling),
                "fault": Out(Fault),
                "idle": In(groups),
                "done": In(groups),
                "done_bank": In(bank).array(groups),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, p = self.i, self.i.p
        is_load = p.opcode == Opcode.LOAD_STATIONARY
        check = instantiate(m, platform, "check", InstructionCheck, self.config)
        legal = Signal()
        bank_free = self._banks(m, legal)

        right_tiling = Signal()
        m.d.comb += [
            check.instruction.eq(p),
            check.starts.eq(legal & i.ready),
            legal.eq(i.valid & (check.fault == Fault.NONE)),
            self.fault.eq(Mux(i.valid, check.fault.as_value(), Fault.NONE)),
            right_tiling.eq(p.tiling == self.tiling),
        ]
        with m.If(self.fault != Fault.NONE):
            m.d.comb += i.ready.eq(1)
        with m.If(legal & ~right_tiling & self.idle.all()):
            m.d.sync += self.tiling.eq(p.tiling)

        for group in range(self.config.array.groups):
            load, multiply, destination = self.load[group], self.multiply[group], self.destination[group]
            unused_load = Signal(name=f"unused_load_{group}")
            here = Signal(name=f"here_{group}")
            m.d.comb += [
                here.eq(legal & right_tiling & (p.group == group)),
                load.p.address.eq(p.operand_address),
                load.p.format.eq(p.format),
                load.p.replace.eq(unused_load),
                load.valid.eq(here & is_load),
                multiply.p.address.eq(p.operand_address),
                multiply.p.format.eq(p.format),
                multiply.p.count.eq(p.destination.count),
                multiply.p.chain_in.eq(p.chain_in),
                multiply.p.swap.eq(unused_load),
                destination.p.eq(p.destination),
                # Both queues take a multiplication in the same cycle. Their ready does not depend on valid.
                multiply.valid.eq(here & ~is_load & bank_free & destination.ready),
                destination.valid.eq(here & ~is_load & bank_free & multiply.ready),
            ]
            with m.If(here):
                m.d.comb += i.ready.eq(Mux(is_load, load.ready, bank_free & multiply.ready & destination.ready))
                with m.If(i.ready):
                    m.d.sync += unused_load.eq(is_load)
        return m

    def _banks(self, m: Module, legal: Signal):
        """Return 1 if the instruction's tile may write its bank; count the multiplications in flight to each bank."""
        config = self.config
        p = self.i.p
        groups = config.array.groups
        multiplies = Signal()
        m.d.comb += multiplies.eq(
            legal & self.i.ready & (p.opcode == Opcode.MULTIPLY_MOVING) & ~p.destination.chain_out
        )
        bank_free = Signal()
        m.d.comb += bank_free.eq(p.destination.chain_out)
        for bank in range(config.psum_banks):
            owner = Signal(range(groups), name=f"owner_{bank}")
            count = Signal(range(IN_FLIGHT + 1), name=f"count_{bank}")
            enters = Signal(name=f"enters_{bank}")
            leaves = Signal(name=f"leaves_{bank}")
            m.d.comb += [
                enters.eq(multiplies & (p.destination.address.bank == bank)),
                leaves.eq(Cat(self.done[group] & (self.done_bank[group] == bank) for group in range(groups)).any()),
            ]
            with m.If((p.destination.address.bank == bank) & (~count.any() | (owner == p.group))):
                m.d.comb += bank_free.eq(1)
            with m.If(enters):
                m.d.sync += owner.eq(p.group)
            m.d.sync += count.eq(count + enters - leaves)
        return bank_free


# Write-back of a row tile's results to PSUM or to the next pass over the rows.


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


RECORDS = (
    Unit(
        name="tensor_engine",
        config_type=EngineConfig,
        build=TensorEngine,
        summary="Trainium3: array, operand memory, PSUM and sequencers",
        covered=Covered(EngineConfig(), 24),
        waves=(
            CLOCK,
            WaveGroup("instructions", r"(instruction__|busy|retired|fault|clear)"),
            WaveGroup("host", r"(host|data)__"),
            WaveGroup("operands and random bits", r"(write|table|random)__"),
            WaveGroup("dispatch", r"dispatch\."),
            WaveGroup("sequencers", r"(sequencer|load_queue|multiply_queue)_\d"),
            WaveGroup("chains and write-back", r"(chain|write_back|destination_queue)_\d"),
            WaveGroup("PSUM", r"psum\."),
            WaveGroup("array", r"array\."),
        ),
    ),
)
