"""tensor_copy of a lane of VectorE or ScalarE: rows in 8-byte words, cast on their way, 4, 2 or 1 elements a cycle.

    word in   elements of the source's dtype, side by side from byte 0
    group     the next w elements: to FP32 and to the destination's dtype; of equal dtypes the bits
    word out  groups side by side from byte 0; a whole word, or the end of the row

Ref: ``nki.isa.tensor_copy`` reference page, NKI 0.6; "Trainium3 Architecture Guide for NKI". Points that they leave open are
in `bitpath.golden.trainium3.declarations.core_rates.CHOICES` and in `dtypes.CHOICES` beside it.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dma.dma_cast import WIDTHS, Pair, is_unknown, log_bytes
from bitpath.rtl.trainium3.dma.from_fp32 import FromFp32
from bitpath.rtl.trainium3.dma.to_fp32 import ToFp32
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.lanes.config import CopyConfig
from bitpath.rtl.trainium3.lanes.copy_control import WORD_BYTES, CopyCommand, CopyWord, Stride
from bitpath.rtl.trainium3.lanes.copy_width import CopyWidth

STEPS = {0: ("word",), 1: ("fp32", "word"), 2: ("fp32", "group", "word")}
"""Steps that end in a pipeline register, by ``stages``; the word out always does."""
LANES = (32, 32, 16, 16)
"""Bits of the elements of a group; only narrow floats come in groups of four."""


class CopyLanes(wiring.Component):
    """Copies rows, a group of w elements a cycle; `CopyWidth` gives w.

    A row of n elements takes ``max(interval, ceil(n / w))`` cycles from its command to the next one's, unless a word is
    late or a result waits. Its first group follows the command by a cycle. A word out follows its last group by
    ``stages + 1`` cycles. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : cycles of the shortest row, pipeline, and whether commands are checked.

    Members
    -------
    command : In(stream of CopyCommand)
    i : In(stream of 64 bits), words of the rows; each row begins a word
    o : Out(stream of CopyWord)
    fault : Out(Fault), OPERATION or DTYPE in the cycle in which a command is taken of a stride or of a dtype that there is not; its
        row has no words, and the next command can go over in the next cycle
    """

    command: In(stream.Signature(CopyCommand))
    i: In(stream.Signature(8 * WORD_BYTES))
    o: Out(stream.Signature(CopyWord))
    fault: Out(Fault)

    def __init__(self, config: CopyConfig):
        self.config = config
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        busy, rest = Signal(), Signal.like(self.command.p.rest)  # elements behind the next one
        pair, width = Signal(Pair), Signal(3)
        pace = Signal(range(self.config.interval))  # cycles that the row still has to take
        place, fill = Signal(range(WORD_BYTES)), Signal(range(WORD_BYTES))  # the group's byte in the word in and out
        registers = PipelineRegisters(
            m, STEPS[self.config.pipeline.stages], valid=busy & self.i.valid, ready=self.o.ready
        )
        found = instantiate(m, platform, "copy_width", CopyWidth)
        last, step, count = Signal(), Signal(), Signal(3)  # elements of the group
        size_in, size_out = Signal(2), Signal(2)  # binary logarithms of an element's bytes
        # Bytes of the words in and out up to the group's end.
        place_end, fill_end = Signal(range(WORD_BYTES + 1)), Signal(range(WORD_BYTES + 1))
        m.d.comb += [
            found.mode.eq(self.command.p.mode),
            last.eq(rest < width),
            step.eq(registers.valid & registers.advance),
            count.eq(Mux(last, rest[:2] + 1, width)),
            size_in.eq(log_bytes(pair.source)),
            size_out.eq(log_bytes(pair.destination)),
            place_end.eq(place + (width << size_in)),
            fill_end.eq(fill + (count << size_out)),
            self.i.ready.eq(busy & registers.advance & (last | (place_end == WORD_BYTES))),
            self.command.ready.eq(~pace.any() & (~busy | (step & last))),
        ]
        with m.If(step):
            m.d.sync += [
                busy.eq(~last),
                rest.eq(rest - width),
                place.eq(Mux(last, 0, place_end)),
                fill.eq(Mux(last, 0, fill_end)),
            ]
        mode, wrong = self.command.p.mode, Value.cast(Fault.NONE)
        if self.config.checks:
            dtypes = (mode.pair.source, mode.pair.destination)
            wrong = first_of(
                (~mode.stride.as_value().matches(*Stride), Fault.OPERATION),
                (Cat(is_unknown(dtype) for dtype in dtypes).any(), Fault.DTYPE),
            )
        with m.If(taken_if_legal(m, self.command, self.fault, wrong) & self.command.ready):
            m.d.sync += [
                busy.eq(1),
                rest.eq(self.command.p.rest),
                pair.eq(self.command.p.mode.pair),
                width.eq(found.o),
                pace.eq(self.config.interval - 1),
            ]
        with m.Elif(pace.any()):
            m.d.sync += pace.eq(pace - 1)

        control = {"pair": pair, "count": count, "size": size_out, "fill": fill, "end": fill_end, "last": last}
        self._group(m, platform, registers, place, size_in, control)
        registers.finish()
        return m

    def _group(
        self, m: Module, platform, registers: PipelineRegisters, place: Value, size: Value, control: dict[str, Value]
    ) -> None:
        """Cast a group, and put it behind those before it."""
        window = Signal(8 * WORD_BYTES)
        m.d.comb += window.eq(self.i.p >> (place << 3))
        numbers, codes = {}, {}
        for k, bits in enumerate(LANES):
            code = Signal(bits, name=f"element_{k}")
            with m.Switch(size):
                for log, width in enumerate(WIDTHS):
                    if width <= bits:
                        with m.Case(log):
                            m.d.comb += code.eq(window.word_select(k, width))
            convert = instantiate(m, platform, f"to_fp32_{k}", ToFp32, bits)
            m.d.comb += [convert.code.eq(code), convert.dtype.eq(control["pair"].source)]
            numbers[f"number_{k}"], codes[f"code_{k}"] = convert.o, code
        held = registers.hold("fp32", **control, **numbers, **codes)
        pair, count, size, fill, end, last, *elements = held

        group, kept = Signal(8 * WORD_BYTES), Signal()
        m.d.comb += kept.eq(pair.source == pair.destination)
        results = []
        for k, bits in enumerate(LANES):
            convert = instantiate(m, platform, f"from_fp32_{k}", FromFp32, bits)
            m.d.comb += [convert.i.eq(elements[k]), convert.dtype.eq(pair.destination)]
            results.append(Mux(count > k, Mux(kept, elements[len(LANES) + k], convert.o), 0))
        with m.Switch(size):
            for log, bits in enumerate(WIDTHS):
                with m.Case(log):
                    m.d.comb += group.eq(Cat(each[:bits] for each in results))
        group, fill, end, last = registers.hold("group", group=group, fill=fill, end=end, last=last)

        # Groups before this one in its word; they lie below it.
        before = Signal(8 * (WORD_BYTES - 1))
        word, mask, whole = Signal(8 * WORD_BYTES), Signal(WORD_BYTES), Signal()
        m.d.comb += [
            word.eq(before | (group << (fill << 3))),
            mask.eq(Cat(end > k for k in range(WORD_BYTES))),
            whole.eq(last | mask[-1]),
        ]
        with m.If(registers.valid & registers.advance):
            m.d.sync += before.eq(Mux(whole, 0, word))
        registers.valid = registers.valid & whole
        word, mask, last = registers.hold("word", word=word, mask=mask, last=last)
        m.d.comb += [self.o.p.eq(Cat(word, mask, last)), self.o.valid.eq(registers.valid)]
