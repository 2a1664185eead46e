"""TensorE's front: it checks an instruction, and gives it to a main slot or to the background slot.

    instruction -> check -+-> main 0      any mode, on the whole array
                          +-> main k      any mode, tiled, on the rows of quarter k
                          +-> background  a transpose, while the array is busy

Ref: "Trainium3 Architecture Guide for NKI", background transpose; ``nki.isa.nc_matmul``, row tiling. The rule is chosen, see the
declarations. A tile of half the rows has the whole array: chosen.
"""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES, QUADRANT
from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS, TRAINIUM3_SPARSE
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.array.psum_column import OVERWRITING_FLAGS
from bitpath.rtl.trainium3.array.psum_memory import HALF, WORD, psum_command
from bitpath.rtl.trainium3.array.systolic_array import operand_write_layout
from bitpath.rtl.trainium3.core.config import MAIN_PORTS, CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.lane_engine import starts_wrong
from bitpath.rtl.trainium3.core.lane_reader import CHECK_CYCLES, WORD_BITS, PatternCheck, turned
from bitpath.rtl.trainium3.core.tensor_operands import TensorOperands, element_log_bytes, request_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker
from bitpath.rtl.trainium3.memory.sbuf import QUARTERS, SBUF_WORD_BYTES, sbuf_place, sbuf_tiles
from bitpath.rtl.trainium3.memory.scale_fetch import SCALES
from bitpath.rtl.trainium3.tensor.background_transpose import BackgroundTranspose, TransposeConfig
from bitpath.rtl.trainium3.tensor.config import PASS_BITS
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import BYTES, OperandFormat
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS, is_known

# TensorE's main slots: operands of SBUF to the array's operand memory, control of their rows, and PSUM's command.
#
# SBUF -> a word of each row -> operand memory, a ring -> load beats, then moving words


def _in_halves(held) -> Value:
    """Return 1 for a transpose of 32-bit elements: the lower halves of all of them, then the upper ones."""
    return (held.mode == Mode.PASS) & (held.stationary_format == OperandFormat.FP32)


def _write(m: Module, command: Any, held, upper: Value) -> None:
    """Drive PSUM's command of an instruction; halves of 32-bit elements lie twice as far apart as the elements."""
    halves, result = _in_halves(held), held.result
    for own, pair in zip(command.pairs, result.pairs, strict=True):
        m.d.comb += [own.step.eq(Mux(halves, pair.step << 1, pair.step)), own.num.eq(pair.num)]
    m.d.comb += [
        command.offset.eq(Mux(halves, Cat(upper, result.offset), result.offset)),
        command.size.eq(Mux(held.bf16 | halves, HALF, WORD)),
        command.bank.eq(held.bank),
        command.flag.eq(held.flag),
        # Transposes move bits unchanged.
        command.store.eq(held.mode == Mode.PASS),
        command.columns.eq((1 << held.columns) - 1),
    ]


class MainSlot(wiring.Component):
    """Runs one instruction after the other: load beats, swap, moving words.

    Latency: the first beat enters the array 6 cycles after its instruction. Throughput: a beat or a moving word a cycle, all slots
    of a row with it, a word of FUSED one in four. A transpose of 32-bit elements runs twice, the lower halves first.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of tensor_layout), instructions that `TensorSlots` has checked; ready while the slot is idle
    instruction : Out(tensor_layout), the one in the slot
    asks : Out(1), request : Out(request_layout), to SBUF; written : In(1), a word of a request comes to operand memory
    control : Out(control_layout), of the array
    taken : In(1), PSUM takes a result in this cycle
    command : Out(stream of psum_command)
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(tensor_layout(config))),
                "instruction": Out(tensor_layout(config)),
                "asks": Out(1),
                "request": Out(request_layout(config)),
                "written": In(1),
                "control": Out(control_layout(config.array)),
                "taken": In(1),
                "command": Out(stream.Signature(psum_command(config.psum))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        held = Signal(tensor_layout(config), reset_less=True)
        start, finished, upper = Signal(), Signal(), Signal()
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [held.eq(self.i.p), upper.eq(0)]
                    m.next = "COMMAND"
            with m.State("COMMAND"):
                m.d.comb += [self.command.valid.eq(1), start.eq(self.command.ready)]
                with m.If(start):
                    m.next = "RUN"
            with m.State("RUN"):
                with m.If(finished):
                    m.d.sync += upper.eq(1)
                    m.next = "IDLE"
                    with m.If(_in_halves(held) & ~upper):
                        m.next = "COMMAND"
        _write(m, self.command.p, held, upper)
        self._run(m, platform, held, upper, start, fsm.ongoing("RUN"), finished)
        return m

    def _run(self, m: Module, platform: Any, held, upper: Value, start: Value, running: Value, finished: Value) -> None:
        """Ask for words, and use them in the order of their arrival."""
        config, depth = self.config, self.config.array.operand_depth
        passes, fused = (held.mode == each for each in (Mode.PASS, Mode.FUSED))
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
        asks, last, request = self.asks, Signal(), self.request
        m.d.comb += [
            self.instruction.eq(held),
            request.byte.eq(Mux(moves, walker.o.p.byte, held.stationary + (column << size))),
            request.scale.eq(Mux(moves, scale_at, self._beside(held, column))),
            request.number.eq(number),
            request.moves.eq(moves),
            request.place.eq(asked),
            asks.eq(running & room & ~all_asked & (~moves | passes | walker.o.valid)),
            walker.o.ready.eq(asks & moves),
            last.eq(Mux(passes, number == held.rows - 1, walker.o.p.last)),
        ]
        with m.If(start):
            m.d.sync += [
                column.eq(0),
                moves.eq(0),
                all_asked.eq(0),
                number.eq(0),
                scale_at.eq(held.moving_scales),
            ]
        with m.Elif(asks):
            with m.If(moves):
                m.d.sync += [number.eq(number + 1), scale_at.eq(scale_at + 1), all_asked.eq(last)]
            with m.Else():
                m.d.sync += [column.eq(column + beat), moves.eq(column + beat >= held.columns)]
        control = self.control
        if config.has_sparse:
            self._slots(m, held, walker)
            m.d.comb += control.pattern.eq(held.pattern)
        there, load, uses = Signal(), Signal(), Signal()
        number_of_pass, left = Signal(2), Signal(range(depth))
        m.d.comb += [
            there.eq(running & (present != used)),
            load.eq(loaded < held.columns),
            control.load.eq(there & load),
            control.swap.eq(there & load & (loaded + beat >= held.columns)),
            control.column.eq(loaded),
            control.valid.eq(there & ~load),
            control.number.eq(Mux(fused, number_of_pass, Mux(passes, upper, (1 << len(control.number)) - 1))),
            control.first.eq(number_of_pass == 0),
            control.mode.eq(held.mode),
            control.stationary_mode.eq(held.mode),
            control.stationary_format.eq(held.stationary_format),
            control.moving_format.eq(Mux(passes, OperandFormat.BF16, held.moving_format.as_value())),
            control.stationary_address.eq(used),
            control.moving_address.eq(used),
            uses.eq(there & (load | ~fused | number_of_pass.all())),
            finished.eq(all_asked & (asked == present) & (present == used) & (left == 0)),
        ]
        with m.If(start):
            m.d.sync += [loaded.eq(0), number_of_pass.eq(0)]
        with m.Elif(there):
            with m.If(load):
                m.d.sync += loaded.eq(loaded + beat)
            with m.Elif(fused):
                m.d.sync += number_of_pass.eq(number_of_pass + 1)
        m.d.sync += left.eq(left + (uses & ~load) - self.taken)
        with m.If(start):
            m.d.sync += [place.eq(0) for place in (asked, present, used)]
        with m.Else():
            m.d.sync += [asked.eq(asked + asks), present.eq(present + self.written), used.eq(used + uses)]

    def _slots(self, m: Module, held, walker: Any) -> None:
        """Ask for all slots of a sparse moving word: the walker has the pairs behind the innermost one, whose step is between slots."""
        sparse = held.mode == Mode.SPARSE
        *results, unused = walker.i.p.pairs
        step = Signal(self.config.walk.address_bits)
        m.d.comb += step.eq(held.moving.pairs[0].step << walker.i.p.size)
        places = [Signal.like(step, name=f"slot_byte_{slot}") for slot in range(1, SLOTS)]
        m.d.comb += [at.eq(walker.o.p.byte + slot * step) for slot, at in enumerate(places, start=1)]
        with m.If(sparse):
            m.d.comb += [own.eq(outer) for own, outer in zip(results, list(held.moving.pairs)[1:], strict=True)]
            m.d.comb += [unused.step.eq(0), unused.num.eq(1)]
        with m.If(sparse & self.request.moves):
            m.d.comb += self.request.scale.eq(places[0])
        m.d.comb += [to.eq(at) for to, at in zip(self.request.slots, places[1:], strict=True)]

    def _beside(self, held, column: Value) -> Value:
        """Return the byte that accompanies a beat's elements: a scale for each column, or a tag of 4 bits."""
        scales = held.stationary_scales + column
        if not self.config.has_sparse:
            return scales
        return Mux(held.mode == Mode.SPARSE, held.tags + (column >> 1), scales)


class MainSlots(wiring.Component):
    """A main slot for each row tile, with their operands: the first one has the whole array while ``tiled`` is 0.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i, control, taken, command : those of each `MainSlot`
    tiled : In(1), of the instructions in the slots
    read : Out(stream of sbuf_tiles, always ready), of each of the core's ``main_ports``; data : In, SBUF's words, a cycle later
    write : Out(operand_write_layout), of the array
    illegal : Out(1), of a core with sparse PEs: a tag outside its pattern is loaded, which selects +0
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        ports = len(config.main_ports)
        super().__init__(
            {
                "i": In(stream.Signature(tensor_layout(config))).array(QUARTERS),
                "tiled": In(1),
                "read": Out(stream.Signature(sbuf_tiles(config.sbuf), always_ready=True)).array(ports),
                "data": In(8 * SBUF_WORD_BYTES * config.size).array(ports),
                "write": Out(operand_write_layout(config.array)),
                "control": Out(control_layout(config.array)).array(QUARTERS),
                "taken": In(1).array(QUARTERS),
                "command": Out(stream.Signature(psum_command(config.psum))).array(QUARTERS),
            }
            | ({"illegal": Out(1)} if config.has_sparse else {})
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        slots = [instantiate(m, platform, f"slot_{number}", MainSlot, config) for number in range(QUARTERS)]
        operands = instantiate(m, platform, "operands", TensorOperands, config)
        for number, slot in enumerate(slots):
            connect(m, flipped(self.i[number]), slot.i)
            connect(m, slot.command, flipped(self.command[number]))
            own, first = (
                Cat(each.asks, Value.cast(each.request), Value.cast(each.instruction)) for each in (slot, slots[0])
            )
            to = (operands.asks[number], operands.request[number], operands.instruction[number])
            m.d.comb += [
                Cat(map(Value.cast, to)).eq(Mux(self.tiled, own, first)),
                self.control[number].eq(slot.control),
                slot.taken.eq(self.taken[number]),
                slot.written.eq(operands.write.groups[number]),
            ]
        m.d.comb += self.write.eq(operands.write)
        rows = []
        for number, slot in enumerate(slots):
            own_rows, held = Signal(config.size, name=f"rows_{number}"), slot.instruction
            m.d.comb += own_rows.eq((1 << held.rows) - 1 << (held.start << exact_log2(config.tile_rows)))
            rows.append(own_rows)
        for port, (read, words) in enumerate(zip(self.read, operands.data, strict=True)):
            asking = [slot.asks & self._reads(slot, port) for slot in slots]
            m.d.comb += [
                words.eq(self.data[port]),
                read.valid.eq(Cat(asking).any()),
                read.p.partitions.eq(reduce(or_, (Mux(asks, own, 0) for asks, own in zip(asking, rows, strict=True)))),
            ]
            for quarter, word in enumerate(read.p.words):
                request = operands.request[quarter]
                byte = (request.byte, request.scale, *(request.slots if config.has_sparse else ()))[port]
                m.d.comb += word.eq(byte >> WORD_BITS)
        if config.has_sparse:
            m.d.comb += self.illegal.eq(operands.illegal)
        return m

    def _reads(self, slot: Any, port: int) -> Value:
        """Return whether a request reads through a port: those of slots 2 and 3 only for sparse moving words that have them."""
        if port < len(MAIN_PORTS):
            return Const(1)
        held = slot.instruction
        return (held.mode == Mode.SPARSE) & slot.request.moves & (held.pattern.last_slot >= port)


# TensorE's background slot: a transpose beside the array.
#
# SBUF -> an element of each row a cycle -> background transpose -> results of a row -> PSUM's background lane


class BackgroundSlot(wiring.Component):
    """Runs one transpose after the other.

    Latency: PSUM gets the first result ``columns + 3`` cycles after the instruction. Throughput: a column of the stationary operand
    a cycle, then a result a cycle; elements of 32 bits twice, the lower halves first.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of tensor_layout), instructions of mode PASS that `TensorSlots` has checked; ready while the slot is idle
    read : Out(stream of sbuf_place, always ready); data : In, SBUF's words, a cycle later
    command : Out(stream of psum_command), o : Out(stream of 32 bits for each column)
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(tensor_layout(config))),
                "read": Out(stream.Signature(sbuf_place(config.sbuf), always_ready=True)),
                "data": In(8 * SBUF_WORD_BYTES * config.size),
                "command": Out(stream.Signature(psum_command(config.psum))),
                "o": Out(stream.Signature(wide_array(FP32.width, config.size))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        held = Signal(tensor_layout(config), reset_less=True)
        column, byte = Signal(range(config.size)), Signal(config.walk.address_bits)
        asks, last, upper = Signal(), Signal(), Signal()
        unit = instantiate(m, platform, "transpose", BackgroundTranspose, TransposeConfig(size=config.size))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [held.eq(self.i.p), column.eq(0), upper.eq(0)]
                    m.next = "COMMAND"
            with m.State("COMMAND"):
                m.d.comb += self.command.valid.eq(1)
                with m.If(self.command.ready):
                    m.next = "READ"
            with m.State("READ"):
                m.d.comb += asks.eq(1)
                m.d.sync += column.eq(column + 1)
                with m.If(last):
                    m.next = "WRITE"
            with m.State("WRITE"):
                with m.If(self.o.valid & self.o.ready & unit.o.p.last):
                    m.d.sync += [column.eq(0), upper.eq(1)]
                    m.next = "IDLE"
                    with m.If(_in_halves(held) & ~upper):
                        m.next = "COMMAND"
        size = element_log_bytes(held.mode, held.stationary_format)
        m.d.comb += [
            last.eq(column == held.columns - 1),
            byte.eq(held.stationary + (column << size) + (upper << HALF)),
            self.read.valid.eq(asks),
            self.read.p.start.eq(held.start << exact_log2(config.tile_rows)),
            self.read.p.partitions.eq(held.rows),
            self.read.p.word.eq(byte >> WORD_BITS),
        ]
        came, ends = Signal(), Signal()
        place = Signal(WORD_BITS, reset_less=True)
        m.d.sync += [came.eq(asks), ends.eq(last), place.eq(byte)]
        # An element of 8 bits has zeros above.
        kept = Mux(size == 0, (1 << PASS_BITS // 2) - 1, (1 << PASS_BITS) - 1)
        found = Cat(
            ((self.data.word_select(p, 8 * SBUF_WORD_BYTES) >> (place << 3))[:PASS_BITS] & kept)[:PASS_BITS]
            for p in range(config.size)
        )
        m.d.comb += [
            # A bank of registers is free, since the transpose before has left the unit.
            unit.i.valid.eq(came),
            Value.cast(unit.i.p.elements).eq(turned(found, held.start, PASS_BITS)),
            unit.i.p.last_column.eq(held.rows - 1),
            unit.i.p.last.eq(ends),
            self.o.valid.eq(unit.o.valid),
            unit.o.ready.eq(self.o.ready),
            *(result.eq(element) for result, element in zip(self.o.p, unit.o.p.elements, strict=True)),
        ]
        _write(m, self.command.p, held, upper)
        return m


MX_FORMATS = (OperandFormat.E4M3FN, OperandFormat.E5M2, OperandFormat.E2M1)
DOUBLE_ROW_FORMATS = (OperandFormat.E4M3FN, OperandFormat.E5M2, OperandFormat.E4M3)
NARROW_FORMATS = (*BYTES, OperandFormat.FP16, OperandFormat.BF16)
SPARSE_FORMATS = (OperandFormat.FP16, OperandFormat.BF16, OperandFormat.TF32)


class TensorSlots(wiring.Component):
    """Instructions start in their order; one waits for its slot, and while another slot writes to its PSUM bank. Tiled instructions
    run beside each other, and beside no others.

    A refused instruction goes to no slot. Latency: a slot gets an instruction ``CHECK_CYCLES + 1`` cycles after it came in, and
    can get the next one as many cycles later, beside the first.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of tensor_layout)
    o : Out(stream of tensor_layout), of each slot, which is ready while it is idle: the main ones, then the background slot
    tiled : Out(1), of the instructions in the slots
    fault : Out(Fault), other than NONE for one cycle if the instruction is refused
    busy : Out(1), an instruction is inside or in a slot
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        instructions = stream.Signature(tensor_layout(config))
        super().__init__(
            {
                "i": In(instructions),
                "o": Out(instructions).array(len(config.psum.lanes)),
                "tiled": Out(1),
                "fault": Out(Fault),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        held = Signal(tensor_layout(config), reset_less=True)
        taken, offers, step = Signal(), Signal(), Signal(range(CHECK_CYCLES))
        checks = []
        for name, size, limit in (
            ("moving", element_log_bytes(held.mode, held.moving_format), config.partition_bytes),
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
        given = Cat(slot.valid & slot.ready for slot in self.o).any()
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [held.eq(self.i.p), step.eq(0)]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += step.eq(step + 1)
                with m.If(step == CHECK_CYCLES - 1):
                    m.d.comb += self.fault.eq(self._fault(held, *checks))
                    m.next = "OFFER"
                    with m.If(self.fault != Fault.NONE):
                        m.next = "IDLE"
            with m.State("OFFER"):
                m.d.comb += offers.eq(1)
                with m.If(given):
                    m.next = "IDLE"
        *mains, background = self.o
        banks = [Signal(range(config.banks), name=f"bank_{name}", reset_less=True) for name in config.psum.lanes]
        shares = [~slot.ready & (bank == held.bank) for slot, bank in zip(self.o, banks, strict=True)]
        busy = ~Cat(slot.ready for slot in mains)
        # No slot beside these may have an instruction of the other kind, nor one that writes to the bank.
        free, whole, tile = Signal(), Signal(), Signal()
        m.d.comb += [
            free.eq(offers & ~Cat(shares).any()),
            whole.eq(free & ~held.tiled & ~(self.tiled & busy.any())),
            tile.eq(free & held.tiled & (self.tiled | ~busy.any()) & background.ready),
            background.valid.eq(whole & (held.mode == Mode.PASS) & busy[0]),
            self.busy.eq(~fsm.ongoing("IDLE") | busy.any() | ~background.ready),
        ]
        m.d.comb += [
            slot.valid.eq((tile & (held.start == number)) | (whole if number == 0 else 0))
            for number, slot in enumerate(mains)
        ]
        for slot, bank in zip(self.o, banks, strict=True):
            m.d.comb += slot.p.eq(held)
            with m.If(slot.valid & slot.ready):
                m.d.sync += [bank.eq(held.bank), self.tiled.eq(held.tiled)]
        return m

    def _fault(self, held, moving: PatternCheck, result: PatternCheck) -> Value:
        """Return the fault of an instruction."""
        config, mode = self.config, held.mode
        formats = [held.stationary_format, held.moving_format]
        mx, passes = mode == Mode.MX, mode == Mode.PASS
        e4m3 = [Cat(fmt == each for fmt in formats).any() for each in (OperandFormat.E4M3, OperandFormat.E4M3FN)]
        mixed = e4m3[0] & e4m3[1]

        def both(*allowed: OperandFormat) -> Value:
            return Cat(Value.cast(fmt).matches(*allowed) for fmt in formats).all()

        tf32 = [fmt == OperandFormat.TF32 for fmt in formats]
        allowed = {
            Mode.MX: both(*MX_FORMATS),
            Mode.DOUBLE_ROW: both(*DOUBLE_ROW_FORMATS) & ~mixed,
            Mode.NARROW: (both(*NARROW_FORMATS) & ~mixed) | both(OperandFormat.TF32),
            Mode.FUSED: both(OperandFormat.FP32),
            Mode.PASS: Mux(
                held.bf16, Value.cast(formats[0]).matches(*NARROW_FORMATS), formats[0] == OperandFormat.FP32
            ),
        }
        # Rows and columns come in multiples of these numbers less 1.
        row_rest, column_rest, count = Mux(mx, QUADRANT - 1, 0), mx, result.count
        places = [(held.stationary + (held.columns << element_log_bytes(mode, held.stationary_format)))]
        scale_places = [held.stationary_scales + held.columns, held.moving_scales + moving.count]
        flags = Mux(passes, held.flag.matches(*OVERWRITING_FLAGS), held.flag.matches(*ACCUMULATES))
        slots: Value = Const(0)
        operation, unaligned = (
            ~flags | (mx & (not config.has_mx)),
            mx & held.stationary_scales[: exact_log2(SCALES)].any(),
        )
        outside = [mx & (end > config.partition_bytes) for end in scale_places]
        if config.has_sparse:
            sparse, pattern = mode == Mode.SPARSE, held.pattern
            allowed[Mode.SPARSE] = both(*SPARSE_FORMATS) & (tf32[0] == tf32[1])
            operation |= sparse & ~is_known(pattern, TRAINIUM3_SPARSE.numerics)
            row_rest = Mux(sparse, pattern.last_partition, row_rest)
            column_rest = Mux(sparse, LOAD_COLUMNS - 1, column_rest)
            count = Mux(sparse, result.count * (pattern.last_slot + 1), count)
            slots = sparse & (held.moving.pairs[0].num != pattern.last_slot + 1)
            outside.append(sparse & (held.tags + (held.columns >> 1) > config.partition_bytes))
            unaligned |= sparse & held.tags[0]
        known_formats: Value = allowed.pop(Mode.MX)
        for each, condition in allowed.items():
            known_formats = Mux(mode == each, condition, known_formats)
        operation |= ~Value.cast(mode).matches(Mode.MX, *allowed)
        partitions = (
            (held.rows == 0)
            | (held.rows > Mux(held.tiled, config.tile_rows, config.size))
            | (held.columns == 0)
            | (held.columns > config.size)
            | (held.rows & row_rest).any()
            | (held.columns & column_rest).any()
        )
        outside += [
            held.stationary[:WORD_BITS].any(),
            *(end > config.partition_bytes for end in places),
            unaligned,
            ~passes & moving.outside,
            result.outside,
        ]
        return first_of(
            (operation, Fault.OPERATION),
            (~known_formats, Fault.DTYPE),
            (partitions, Fault.PARTITIONS),
            (starts_wrong(config, held.start, held.rows), Fault.START),
            ((~passes & moving.empty) | result.empty, Fault.NUM),
            ((Mux(passes, held.rows, moving.count) != count) | slots, Fault.COUNT),
            (Cat(outside).any(), Fault.RANGE),
        )
