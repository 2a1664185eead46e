"""TensorE's main slot: operands of SBUF to the array's operand memory, control of their rows, and PSUM's command.

SBUF -> a word of each row -> operand memory, a ring -> load beats, then moving words
"""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.array.psum_memory import HALF, WORD, psum_command
from bitpath.rtl.trainium3.array.systolic_array import operand_write_layout
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.lane_reader import WORD_BITS
from bitpath.rtl.trainium3.core.quarters import QUARTERS
from bitpath.rtl.trainium3.core.tensor_operands import TensorOperands, element_log_bytes
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker
from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.memory.sbuf import sbuf_place
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.tensor.tag_select import SLOTS


class MainSlot(wiring.Component):
    """Runs one instruction after the other: load beats, swap, moving words.

    Latency: the first beat enters the array 6 cycles after its instruction. Throughput: a beat or a moving word a cycle, a word of
    FUSED one in four, of SPARSE one in as many as a row of it has slots.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of tensor_layout), instructions that `TensorSlots` has checked; ready while the slot is idle
    read, scale_read : Out(stream of sbuf_place, always ready); data, scale_data : In, SBUF's words, a cycle later
    write : Out(operand_write_layout), control : Out(control_layout), of the array
    advance : In(1), the array takes control
    taken : In(1), PSUM takes a result in this cycle
    command : Out(stream of psum_command)
    illegal : Out(1), of a core with sparse PEs: a tag outside its pattern is loaded, which selects +0
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        place = stream.Signature(sbuf_place(config.sbuf), always_ready=True)
        words = 8 * SBUF_WORD_BYTES * config.size
        super().__init__(
            {
                "i": In(stream.Signature(tensor_layout(config))),
                "read": Out(place),
                "data": In(words),
                "scale_read": Out(place),
                "scale_data": In(words),
                "write": Out(operand_write_layout(config.array)),
                "control": Out(control_layout(config.array)),
                "advance": In(1),
                "taken": In(1),
                "command": Out(stream.Signature(psum_command(config.psum))),
            }
            | ({"illegal": Out(1)} if config.has_sparse else {})
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        held = Signal(tensor_layout(config), reset_less=True)
        start, finished = Signal(), Signal()
        passes = held.mode == Mode.PASS
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += held.eq(self.i.p)
                    m.next = "COMMAND"
            with m.State("COMMAND"):
                m.d.comb += [self.command.valid.eq(1), start.eq(self.command.ready)]
                with m.If(start):
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(finished):
                    m.next = "IDLE"
        m.d.comb += [
            self.command.p.pairs.eq(held.result.pairs),
            self.command.p.offset.eq(held.result.offset),
            self.command.p.size.eq(Mux(held.bf16, HALF, WORD)),
            self.command.p.bank.eq(held.bank),
            self.command.p.flag.eq(held.flag),
            # Transposes move bits.
            self.command.p.store.eq(passes),
            self.command.p.columns.eq((1 << held.columns) - 1),
        ]
        self._run(m, platform, held, start, fsm.ongoing("RUN"), finished)
        return m

    def _run(self, m: Module, platform: Any, held, start: Value, running: Value, finished: Value) -> None:
        """Ask for words, and use them in the order of their arrival."""
        config, depth = self.config, self.config.array.operand_depth
        passes, fused, sparse = (held.mode == each for each in (Mode.PASS, Mode.FUSED, Mode.SPARSE))
        walker = instantiate(m, platform, "walker", AccessWalker, config.walk)
        m.d.comb += [
            walker.i.valid.eq(start & ~passes),
            walker.i.p.pairs.eq(held.moving.pairs),
            walker.i.p.offset.eq(held.moving.offset),
            walker.i.p.size.eq(element_log_bytes(held.mode, held.moving_format)),
            walker.i.p.limit.eq(1 << config.walk.address_bits),
            walker.clear.eq(0),
        ]

        # Places in the ring behind the words asked for, those present, those used. The rows below use a word later.
        asked, present, used = (Signal(range(depth), name=name) for name in ("asked", "present", "used"))
        on_their_way = config.size * config.array.row_latency + 4
        room = Signal()
        m.d.comb += room.eq((asked - used)[: len(asked)] < depth - on_their_way)

        # Beats first, then moving words, of a transpose numbers of rows.
        size = element_log_bytes(held.mode, held.stationary_format)
        beat = Mux(size == WORD, LOAD_COLUMNS // 2, LOAD_COLUMNS)
        column, loaded = (Signal(range(config.size + LOAD_COLUMNS), name=name) for name in ("column", "loaded"))
        moves, all_asked, number = Signal(), Signal(), Signal(range(config.size))
        scale_at = Signal(config.walk.address_bits)
        byte, scale_byte = (Signal(config.walk.address_bits, name=name) for name in ("byte", "scale_byte"))
        asks, last, whole = Signal(), Signal(), Signal()
        slot = Signal(range(SLOTS))
        m.d.comb += [
            byte.eq(Mux(moves, walker.o.p.byte, held.stationary + (column << size))),
            scale_byte.eq(Mux(moves, scale_at, self._beside(held, column))),
            asks.eq(running & room & ~all_asked & (~moves | passes | walker.o.valid)),
            walker.o.ready.eq(asks & moves),
            last.eq(Mux(passes, number == held.rows - 1, walker.o.p.last)),
            whole.eq((slot == held.pattern.last_slot) | ~moves | ~sparse if config.has_sparse else 1),
        ]
        for port, at in ((self.read, byte), (self.scale_read, scale_byte)):
            m.d.comb += [
                port.valid.eq(asks),
                port.p.start.eq(held.start << exact_log2(config.size // QUARTERS)),
                port.p.partitions.eq(held.rows),
                port.p.word.eq(at >> WORD_BITS),
            ]
        with m.If(start):
            m.d.sync += [
                column.eq(0),
                moves.eq(0),
                all_asked.eq(0),
                number.eq(0),
                scale_at.eq(held.moving_scales),
                slot.eq(0),
            ]
        with m.Elif(asks):
            m.d.sync += asked.eq(asked + whole)
            with m.If(moves):
                m.d.sync += slot.eq(Mux(whole, 0, slot + 1))
                m.d.sync += [number.eq(number + 1), scale_at.eq(scale_at + 1), all_asked.eq(last)]
            with m.Else():
                m.d.sync += [column.eq(column + beat), moves.eq(column + beat >= held.columns)]
        operands = instantiate(m, platform, "operands", TensorOperands, config)
        m.d.comb += [
            operands.instruction.eq(held),
            operands.asks.eq(asks),
            operands.request.byte.eq(byte),
            operands.request.scale.eq(scale_byte),
            operands.request.number.eq(number),
            operands.request.moves.eq(moves),
            operands.request.slot.eq(slot),
            operands.request.whole.eq(whole),
            operands.data.eq(self.data),
            operands.scale_data.eq(self.scale_data),
            self.write.eq(operands.write),
            present.eq(operands.present),
        ]

        if config.has_sparse:
            m.d.comb += [self.illegal.eq(operands.illegal), self.control.pattern.eq(held.pattern)]
        control = self.control
        there, load, uses = Signal(), Signal(), Signal()
        number_of_pass, left = Signal(2), Signal(range(depth))
        m.d.comb += [
            there.eq(running & (present != used)),
            load.eq(loaded < held.columns),
            control.load.eq(there & load),
            control.swap.eq(there & load & (loaded + beat >= held.columns)),
            control.column.eq(loaded),
            control.valid.eq(there & ~load),
            control.number.eq(Mux(fused, number_of_pass, Mux(passes, 0, (1 << len(control.number)) - 1))),
            control.first.eq(number_of_pass == 0),
            control.mode.eq(held.mode),
            control.stationary_mode.eq(held.mode),
            control.stationary_format.eq(held.stationary_format),
            control.moving_format.eq(Mux(passes, OperandFormat.BF16, held.moving_format.as_value())),
            control.stationary_address.eq(used),
            control.moving_address.eq(used),
            uses.eq(there & self.advance & (load | ~fused | number_of_pass.all())),
            finished.eq(all_asked & (asked == present) & (present == used) & (left == 0)),
        ]
        with m.If(start):
            m.d.sync += [loaded.eq(0), number_of_pass.eq(0)]
        with m.Elif(there & self.advance):
            with m.If(load):
                m.d.sync += loaded.eq(loaded + beat)
            with m.Elif(fused):
                m.d.sync += number_of_pass.eq(number_of_pass + 1)
        m.d.sync += [used.eq(used + uses), left.eq(left + (uses & ~load) - self.taken)]

    def _beside(self, held, column: Value) -> Value:
        """Return the byte of what a beat has beside its elements: a scale for each column, or a tag of 4 bits."""
        scales = held.stationary_scales + column
        if not self.config.has_sparse:
            return scales
        return Mux(held.mode == Mode.SPARSE, held.tags + (column >> 1), scales)
