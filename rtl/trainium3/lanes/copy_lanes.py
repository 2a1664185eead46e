"""tensor_copy of a lane of VectorE or ScalarE: rows in 8-byte words, cast on their way, 4, 2 or 1 elements a cycle.

    word in   elements of the source's dtype, side by side from byte 0
    group     the next w elements: to FP32 and to the destination's dtype; of equal dtypes the bits
    word out  groups side by side from byte 0; a whole word, or the end of the row

Ref: ``nki.isa.tensor_copy`` reference page, NKI 0.6; "Trainium3 Architecture Guide for NKI". Points that they leave open are
in `bitpath.golden.trainium3.declarations.rates.CHOICES` and in `dtypes.CHOICES` beside it.
"""

from dataclasses import dataclass, field

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.rates import CORE_RATES
from bitpath.rtl.common.config import PipelineConfig, UnitConfig, in_range, require_range
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.dma.dma_cast import WIDTHS, FromFp32, Pair, ToFp32, is_unknown, log_bytes
from bitpath.rtl.trainium3.dma.dtype import Dtype, dtypes_within
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal

INTERVAL = CORE_RATES.numerics.interval
"""Cycles of the shortest instruction of an engine."""


@dataclass(frozen=True, kw_only=True)
class CopyConfig(UnitConfig, unit="copy_lanes"):
    """Configuration of the copy lanes.

    Attributes
    ----------
    interval : cycles of the shortest row, 1 to 64; the machine's instructions take 64.
    pipeline : pipeline stages before the word out, 0 to 2.
    checks : whether commands are checked; without it they must be right.
    """

    interval: int = in_range(1, INTERVAL, INTERVAL)
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))
    checks: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("copy_lanes", "stages", self.pipeline.stages, 0, 2)


# Ports of the copy lanes.
#
# Ref: ``nki.isa.tensor_copy`` reference page, NKI 0.6.


WORD_BYTES = 8
"""Bytes of a partition that a port of SBUF reads or writes in a cycle."""


class Engine(enum.Enum, shape=1):
    """The engine whose lane copies."""

    VECTOR = 0
    SCALAR = 1


class Stride(enum.Enum, shape=2):
    """The larger of the innermost strides of source and destination."""

    NONE = 0  # elements lie side by side in both
    SHORT = 1  # up to 16 bytes
    LONG = 2  # above


class CopyMode(data.Struct):
    """Properties that decide the elements a cycle."""

    pair: Pair
    engine: Engine
    psum: 1  # source or destination lies in PSUM
    stride: Stride
    indirect: 1  # a gather or a scatter


class CopyCommand(data.Struct):
    """A row of 1 to 65,536 elements; ``rest`` is the length less 1."""

    mode: CopyMode
    rest: 16


class CopyWord(data.Struct):
    """Bytes of the destination: ``mask`` tells those that the row has; the others are zeros, above them."""

    data: 8 * WORD_BYTES
    mask: WORD_BYTES
    last: 1


# Elements a cycle of a copy, from the performance modes of VectorE and ScalarE.
#
#     VectorE   4   floats of 16 and 8 bits, both ends in SBUF, elements side by side
#               2   others
#     ScalarE   2   floats of 16 and 8 bits
#               1   others
#
# A stride above 16 bytes halves this, to no less than 1. A gather or scatter takes an element a cycle.
#
# Ref: "Trainium3 Architecture Guide for NKI"; `bitpath.golden.trainium3.declarations.rates` has the numbers.


RATES = CORE_RATES.numerics
NARROW = tuple(dtype for dtype, name in dtypes_within(16).items() if isinstance(FORMATS[name], FloatFormat))
"""Floats of 16 and 8 bits."""


class CopyWidth(wiring.Component):
    """Combinational elements a cycle: 1, 2 or 4.

    Members
    -------
    mode : In(CopyMode)
    o : Out(3)
    """

    clocked = False
    mode: In(CopyMode)
    o: Out(3)

    def elaborate(self, platform):
        m = Module()
        narrow, contiguous, full = Signal(), Signal(), Signal(3)
        m.d.comb += [
            narrow.eq(_is_narrow(self.mode.pair.source) & _is_narrow(self.mode.pair.destination)),
            contiguous.eq((self.mode.stride == Stride.NONE) & ~self.mode.psum),
        ]
        with m.If(self.mode.engine == Engine.SCALAR):
            m.d.comb += full.eq(Mux(narrow, RATES.scalar_narrow, RATES.scalar_wide))
        with m.Else():
            fast = narrow & contiguous
            m.d.comb += full.eq(Mux(fast, RATES.vector_narrow, RATES.vector_wide))
        with m.If(self.mode.indirect):
            m.d.comb += self.o.eq(1)
        with m.Elif(Value.cast(self.mode.stride)[1] & ~full[0]):
            m.d.comb += self.o.eq(full >> 1)
        with m.Else():
            m.d.comb += self.o.eq(full)
        return m


def _is_narrow(dtype: Dtype) -> Value:
    return Value.cast(dtype).matches(*NARROW)


STEPS = {0: ("word",), 1: ("fp32", "word"), 2: ("fp32", "group", "word")}
"""Steps that end in a pipeline register, by ``stages``; the word out always does."""
LANES = (32, 32, 16, 16)
"""Bits of the elements of a group; only narrow floats come in groups of four."""


class CopyLanes(wiring.Component):
    """Copies rows, a group of w elements a cycle, which `CopyWidth` gives.

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


RECORDS = (
    Unit(
        name="copy_lanes",
        config_type=CopyConfig,
        build=CopyLanes,
        summary="Trainium3: tensor_copy of VectorE and ScalarE, 4, 2 or 1 elements a cycle",
        covered=Covered(CopyConfig(interval=8), 100),
        judges=(Judge(51, CopyConfig(interval=4), 60),),
        waves=(
            CLOCK,
            WaveGroup("commands", r"command__"),
            INPUTS,
            WaveGroup("row", r"(busy|rest|pair|width|pace|copy_width)"),
            WaveGroup("group", r"(place|fill|count|size|element)"),
            WaveGroup("first element", r"(to_fp32_0|from_fp32_0)\."),
            WaveGroup("elements", r"(to_fp32|fp32_|from_fp32|group)"),
            WaveGroup("words", r"(before|word|whole)"),
            OUTPUT,
        ),
    ),
)
