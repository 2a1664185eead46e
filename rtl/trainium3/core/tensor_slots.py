"""TensorE's front: it checks an instruction, and gives it to the main slot or to the background slot.

    instruction -> check -+-> main        any mode
                          +-> background  a transpose, while the main slot is busy

Ref: "Trainium3 Architecture Guide for NKI", background transpose. The rule is chosen, see the declarations.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.quad_mx import ACCUMULATES, QUADRANT
from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS, TRAINIUM3_SPARSE
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.psum_column import OVERWRITING_FLAGS
from bitpath.rtl.trainium3.array.psum_memory import HALF, LANES, WORD
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.lane_engine import starts_wrong
from bitpath.rtl.trainium3.core.lane_reader import WORD_BITS
from bitpath.rtl.trainium3.core.pattern_check import CHECK_CYCLES, PatternCheck
from bitpath.rtl.trainium3.core.tensor_operands import element_log_bytes
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.scale_fetch import SCALES
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import BYTES, OperandFormat
from bitpath.rtl.trainium3.tensor.tag_select import is_known

MX_FORMATS = (OperandFormat.E4M3FN, OperandFormat.E5M2, OperandFormat.E2M1)
DOUBLE_ROW_FORMATS = (OperandFormat.E4M3FN, OperandFormat.E5M2, OperandFormat.E4M3)
NARROW_FORMATS = (*BYTES, OperandFormat.FP16, OperandFormat.BF16)
SPARSE_FORMATS = (OperandFormat.FP16, OperandFormat.BF16, OperandFormat.TF32)


class TensorSlots(wiring.Component):
    """Instructions start in their order; one waits for its slot, and while the other slot writes to its PSUM bank.

    A refused instruction goes to no slot. Latency: a slot gets an instruction ``CHECK_CYCLES + 1`` cycles after it came in, and
    can get the next one as many cycles later, beside the first.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of tensor_layout)
    o : Out(stream of tensor_layout), of each slot, which is ready while it is idle
    fault : Out(Fault), other than NONE for one cycle if the instruction is refused
    busy : Out(1), an instruction is inside or in a slot
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        instructions = stream.Signature(tensor_layout(config))
        super().__init__(
            {"i": In(instructions), "o": Out(instructions).array(len(LANES)), "fault": Out(Fault), "busy": Out(1)}
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
        main, background = self.o
        banks = [Signal(range(config.banks), name=f"bank_{name}", reset_less=True) for name in LANES]
        shares = [~slot.ready & (bank == held.bank) for slot, bank in zip(self.o, banks, strict=True)]
        m.d.comb += [
            main.valid.eq(offers & ~shares[1]),
            background.valid.eq(offers & (held.mode == Mode.PASS) & ~main.ready & ~shares[0]),
            self.busy.eq(~fsm.ongoing("IDLE") | ~main.ready | ~background.ready),
        ]
        for slot, bank in zip(self.o, banks, strict=True):
            m.d.comb += slot.p.eq(held)
            with m.If(slot.valid & slot.ready):
                m.d.sync += bank.eq(held.bank)
        return m

    def _fault(self, held, moving: PatternCheck, result: PatternCheck) -> Value:
        """What is wrong with an instruction."""
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
            Mode.PASS: Value.cast(formats[0]).matches(OperandFormat.BF16, OperandFormat.FP16) & held.bf16,
        }
        # Rows and columns come in multiples of these numbers less 1.
        row_rest, column_rest, count = Mux(mx, QUADRANT - 1, 0), mx, result.count
        places = [(held.stationary + (held.columns << element_log_bytes(mode, held.stationary_format)))]
        scale_places = [held.stationary_scales + held.columns, held.moving_scales + moving.count]
        flags = Mux(passes, held.flag.matches(*OVERWRITING_FLAGS), held.flag.matches(*ACCUMULATES))
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
            outside.append(sparse & (held.tags + (held.columns >> 1) > config.partition_bytes))
            unaligned |= sparse & held.tags[0]
        known_formats: Value = allowed.pop(Mode.MX)
        for each, condition in allowed.items():
            known_formats = Mux(mode == each, condition, known_formats)
        operation |= ~Value.cast(mode).matches(Mode.MX, *allowed)
        partitions = (
            (held.rows == 0)
            | (held.rows > config.size)
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
            (Mux(passes, held.rows, moving.count) != count, Fault.COUNT),
            (Cat(outside).any(), Fault.RANGE),
        )
