"""TensorE's sequencer: operands of SBUF to the array's operand memory, control of their rows, and PSUM's command.

SBUF -> a word of each row -> operand memory, a ring -> load beats, then moving words
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT
from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.array.psum_memory import HALF, WORD, psum_command
from bitpath.rtl.trainium3.array.systolic_array import operand_write_layout
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Fault, tensor_layout
from bitpath.rtl.trainium3.core.lane_engine import first_of, starts_wrong
from bitpath.rtl.trainium3.core.lane_reader import WORD_BITS
from bitpath.rtl.trainium3.core.pattern_check import CHECK_CYCLES, PatternCheck
from bitpath.rtl.trainium3.core.quarters import QUARTERS
from bitpath.rtl.trainium3.core.tensor_operands import TensorOperands, element_log_bytes
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker
from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.memory.sbuf import sbuf_place
from bitpath.rtl.trainium3.memory.scale_fetch import SCALES
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import BYTES, OperandFormat

MX_FORMATS = (OperandFormat.E4M3FN, OperandFormat.E5M2, OperandFormat.E2M1)
DOUBLE_ROW_FORMATS = (OperandFormat.E4M3FN, OperandFormat.E5M2, OperandFormat.E4M3)
NARROW_FORMATS = (*BYTES, OperandFormat.FP16, OperandFormat.BF16)
MODES = (Mode.MX, Mode.DOUBLE_ROW, Mode.NARROW, Mode.FUSED, Mode.PASS)
"""Modes of a core, whose instructions have no tags."""


class TensorSequencer(wiring.Component):
    """Runs one instruction after the other: load beats, swap, moving words. A refused one reads and writes nothing.

    Latency: the first beat enters the array ``CHECK_CYCLES + 4`` cycles after its instruction. Throughput: a beat or a moving
    word a cycle, a word of FUSED one in four.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of tensor_layout)
    fault : Out(Fault), other than NONE for one cycle if the instruction is refused
    busy : Out(1), an instruction is inside
    read, scale_read : Out(stream of sbuf_place, always ready); data, scale_data : In, SBUF's words, a cycle later
    write : Out(operand_write_layout), control : Out(control_layout), of the array
    advance : In(1), the array takes control
    taken : In(1), PSUM takes a result in this cycle
    command : Out(stream of psum_command)
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        place = stream.Signature(sbuf_place(config.sbuf), always_ready=True)
        words = 8 * SBUF_WORD_BYTES * config.size
        super().__init__(
            {
                "i": In(stream.Signature(tensor_layout(config))),
                "fault": Out(Fault),
                "busy": Out(1),
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
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        held = Signal(tensor_layout(config), reset_less=True)
        start, taken, finished = Signal(), Signal(), Signal()
        step = Signal(range(CHECK_CYCLES))
        passes = held.mode == Mode.PASS
        moving_size = element_log_bytes(held.mode, held.moving_format)
        checks = []
        for name, size, limit in (
            ("moving", moving_size, config.partition_bytes),
            ("result", Mux(held.bf16, HALF, WORD), config.bank_bytes),
        ):
            check = instantiate(m, platform, f"check_{name}", PatternCheck, config)
            m.d.comb += [
                check.start.eq(taken),
                check.pattern.eq(Mux(taken, self.i.p[name].as_value(), held[name].as_value())),
                check.size.eq(size),
                check.limit.eq(limit),
            ]
            checks.append(check)
        m.d.comb += taken.eq(self.i.valid & self.i.ready)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [held.eq(self.i.p), step.eq(0)]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += step.eq(step + 1)
                with m.If(step == CHECK_CYCLES - 1):
                    m.d.comb += [self.fault.eq(self._fault(held, *checks)), start.eq(self.fault == Fault.NONE)]
                    m.next = "IDLE"
                    with m.If(start):
                        m.next = "COMMAND"
            with m.State("COMMAND"):
                m.d.comb += self.command.valid.eq(1)
                with m.If(self.command.ready):
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(finished):
                    m.next = "IDLE"
        m.d.comb += [
            self.busy.eq(~fsm.ongoing("IDLE")),
            self.command.p.pairs.eq(held.result.pairs),
            self.command.p.offset.eq(held.result.offset),
            self.command.p.size.eq(Mux(held.bf16, HALF, WORD)),
            self.command.p.bank.eq(held.bank),
            self.command.p.flag.eq(held.flag),
            # Transposes move bits.
            self.command.p.store.eq(passes),
            self.command.p.columns.eq((1 << held.columns) - 1),
        ]
        self._run(m, platform, held, start, fsm.ongoing("RUN"), moving_size, finished)
        return m

    def _run(
        self, m: Module, platform: Any, held, start: Value, running: Value, moving_size: Value, finished: Value
    ) -> None:
        """Ask for words, and use them in the order of their arrival."""
        config, depth = self.config, self.config.array.operand_depth
        passes, fused = held.mode == Mode.PASS, held.mode == Mode.FUSED
        walker = instantiate(m, platform, "walker", AccessWalker, config.walk)
        m.d.comb += [
            walker.i.valid.eq(start & ~passes),
            walker.i.p.pairs.eq(held.moving.pairs),
            walker.i.p.offset.eq(held.moving.offset),
            walker.i.p.size.eq(moving_size),
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
        asks, last = Signal(), Signal()
        m.d.comb += [
            byte.eq(Mux(moves, walker.o.p.byte, held.stationary + (column << size))),
            scale_byte.eq(Mux(moves, scale_at, held.stationary_scales + column)),
            asks.eq(running & room & ~all_asked & (~moves | passes | walker.o.valid)),
            walker.o.ready.eq(asks & moves),
            last.eq(Mux(passes, number == held.rows - 1, walker.o.p.last)),
        ]
        for port, at in ((self.read, byte), (self.scale_read, scale_byte)):
            m.d.comb += [
                port.valid.eq(asks),
                port.p.start.eq(held.start << exact_log2(config.size // QUARTERS)),
                port.p.partitions.eq(held.rows),
                port.p.word.eq(at >> WORD_BITS),
            ]
        with m.If(start):
            m.d.sync += [column.eq(0), moves.eq(0), all_asked.eq(0), number.eq(0), scale_at.eq(held.moving_scales)]
        with m.Elif(asks):
            m.d.sync += asked.eq(asked + 1)
            with m.If(moves):
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
            operands.data.eq(self.data),
            operands.scale_data.eq(self.scale_data),
            self.write.eq(operands.write),
            present.eq(operands.present),
        ]

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

    def _fault(self, held, moving: PatternCheck, result: PatternCheck) -> Value:
        """What is wrong with an instruction."""
        config, mode = self.config, held.mode
        formats = [held.stationary_format, held.moving_format]
        mx, passes = mode == Mode.MX, mode == Mode.PASS
        e4m3 = [Cat(fmt == each for fmt in formats).any() for each in (OperandFormat.E4M3, OperandFormat.E4M3FN)]
        mixed = e4m3[0] & e4m3[1]
        allowed = {
            Mode.MX: [Value.cast(fmt).matches(*MX_FORMATS) for fmt in formats],
            Mode.DOUBLE_ROW: [*(Value.cast(fmt).matches(*DOUBLE_ROW_FORMATS) for fmt in formats), ~mixed],
            Mode.NARROW: [
                (Cat(Value.cast(fmt).matches(*NARROW_FORMATS) for fmt in formats).all() & ~mixed)
                | Cat(fmt == OperandFormat.TF32 for fmt in formats).all()
            ],
            Mode.FUSED: [fmt == OperandFormat.FP32 for fmt in formats],
            Mode.PASS: [Value.cast(formats[0]).matches(OperandFormat.BF16, OperandFormat.FP16), held.bf16],
        }
        known_formats = Mux(mx, Cat(allowed[Mode.MX]).all(), 0)
        for each in MODES[1:]:
            known_formats = Mux(mode == each, Cat(allowed[each]).all(), known_formats)
        operation = ~Value.cast(mode).matches(*MODES) | (mx & (not config.has_mx))
        partitions = (
            (held.rows == 0)
            | (held.rows > config.size)
            | (held.columns == 0)
            | (held.columns > config.size)
            | (mx & (held.columns[0] | held.rows[: exact_log2(QUADRANT)].any()))
        )
        count = Mux(passes, held.rows, moving.count)
        ends = [held.stationary + (held.columns << element_log_bytes(mode, held.stationary_format))]
        scale_ends = [held.stationary_scales + held.columns, held.moving_scales + moving.count]
        outside = Cat(
            held.stationary[:WORD_BITS].any(),
            *(end > config.partition_bytes for end in ends),
            mx & held.stationary_scales[: exact_log2(SCALES)].any(),
            *(mx & (end > config.partition_bytes) for end in scale_ends),
            ~passes & moving.outside,
            result.outside,
        ).any()
        return first_of(
            (operation, Fault.OPERATION),
            (~known_formats, Fault.DTYPE),
            (partitions, Fault.PARTITIONS),
            (starts_wrong(config, held.start, held.rows), Fault.START),
            ((~passes & moving.empty) | result.empty, Fault.NUM),
            (count != result.count, Fault.COUNT),
            (outside, Fault.RANGE),
        )
