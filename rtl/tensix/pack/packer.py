"""The packer: one or two rows of 16 Dst words to 16 datums in L1 each::

      EarlyConversion -> EdgeMask  [early]  -> ReLU -> ExponentThreshold -> LateConversion  [late]
         -> largest exponent of the row, L1Add  [sum]  -> BlockEncode | L1Round -> L1Code  [write]

Ref: tt-isa-documentation 3930471, Packers/FormatConversion and its neighbours; ttsim v1.10.0 where they are silent.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, Format
from bitpath.rtl.common.arithmetic.align import MaxExponent
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.pack.early_conversion import (
    RAW_FRACTION_BITS,
    ROUNDED_FRACTION_BITS,
    SHORT_FORMATS,
    EarlyConversion,
)
from bitpath.rtl.tensix.pack.l1_round import ACCUMULATING_FORMATS, L1Add, L1Round, L1Sum
from bitpath.rtl.tensix.pack.late_conversion import BlockEncode, L1Code, LateConversion
from bitpath.rtl.tensix.pack.layouts import PackControl, PackedRow, PackerConfig, pack_request_layout, packed_layout
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS, FIELDS, FloatWord, float_word
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS

# Edge mask of the packer, between early conversion and ReLU.
#
# Ref: tt-isa-documentation 3930471, Packers/EdgeMasking, which calls the replacement infinity and gives no bits; ttsim
# v1.10.0 for FP16, whose largest number replaces infinity.


class EdgeMask(wiring.Component):
    """A row of intermediate values with the masked ones replaced.

    The replacement is +0, or minus infinity for floats: -infinity for 8-bit exponents, all ones in every bit of the
    intermediate format for 5-bit exponents. It is combinational, with latency 0.

    Members
    -------
    i : In(16 FloatWords)
    masked : In(16), a bit for each value
    control : In(PackControl)
    o : Out(16 FloatWords)
    """

    clocked = False
    i: In(data.ArrayLayout(FloatWord, COLUMNS))
    masked: In(COLUMNS)
    control: In(PackControl)
    o: Out(data.ArrayLayout(FloatWord, COLUMNS))

    def elaborate(self, platform):
        m = Module()
        control = self.control
        short = control.mid_format.matches(*SHORT_FORMATS)
        replacement = Signal(FloatWord)
        with m.If(control.edge_minus_infinity):
            m.d.comb += [
                replacement.sign.eq(1),
                replacement.exponent.eq(Mux(short, FP16.exponent_mask, FP32.exponent_mask)),
            ]
            with m.Switch(Cat(control.mid_format, control.raw)):
                for raw, kept in enumerate((ROUNDED_FRACTION_BITS, RAW_FRACTION_BITS)):
                    for fmt in filter(kept.__contains__, SHORT_FORMATS):
                        with m.Case(raw << FORMAT_BITS | fmt):
                            absent = (1 << FP32.fraction_bits - kept[fmt]) - 1
                            m.d.comb += replacement.fraction.eq(FP32.fraction_mask ^ absent)
        for k in range(COLUMNS):
            m.d.comb += self.o[k].eq(Mux(self.masked[k], replacement, self.i[k]))
        return m


# ReLU of the packer, on intermediate values.
#
# Ref: tt-isa-documentation 3930471, Packers/ReLU; ttsim v1.10.0 for the bits that mode 3 compares.


CLAMP_IGNORED_BITS = 13
"""Low fraction bits that mode 3 ignores: it compares 19 bits, all bits of every format but FP32."""


class ReluMode(enum.Enum, shape=2):
    """Function of the ReLU, by the code of the hardware."""

    NONE = 0
    POSITIVE = 1  # max(x, 0)
    THRESHOLD = 2  # x if x > threshold else 0
    CLAMP = 3  # min(max(x, 0), threshold)


class Relu(wiring.Component):
    """An intermediate value after the ReLU that ``control`` selects.

    Every value with a set sign bit becomes +0, also -0 and NaN. The threshold is FP16 for intermediate formats with 5 exponent
    bits, otherwise BF16, and must not be negative; integers have no threshold. It is combinational, with latency 0.

    Members
    -------
    i : In(FloatWord)
    control : In(PackControl)
    o : Out(FloatWord)
    """

    clocked = False
    i: In(FloatWord)
    control: In(PackControl)
    o: Out(FloatWord)

    def elaborate(self, platform):
        m = Module()
        control = self.control
        mode = Signal(ReluMode)
        threshold = Signal(FloatWord)
        limit = Signal(FloatWord)
        m.d.comb += [
            mode.eq(control.relu),
            threshold.eq(
                Mux(
                    control.mid_format.matches(*SHORT_FORMATS),
                    float_word(control.relu_threshold, FP16),
                    float_word(control.relu_threshold, BF16),
                )
            ),
            limit.eq(Mux(mode == ReluMode.POSITIVE, 0, threshold)),
        ]
        value, bound = (Cat(word.fraction, word.exponent) for word in (self.i, limit))
        with m.If(mode == ReluMode.NONE):
            m.d.comb += self.o.eq(self.i)
        with m.Elif(~self.i.sign):
            with m.If(mode == ReluMode.CLAMP):
                above = value[CLAMP_IGNORED_BITS:] > bound[CLAMP_IGNORED_BITS:]
                m.d.comb += self.o.eq(Mux(above, bound, value))
            with m.Elif(value > bound):
                m.d.comb += self.o.eq(value)
        return m


# Exponent threshold of the packer, behind ReLU: ``o = i if exponent >= threshold else +0``.
#
# Ref: tt-isa-documentation 3930471, Packers/ExponentThresholding.


class ExponentThreshold(wiring.Component):
    """An intermediate float, or +0 if its biased exponent is below the threshold.

    A 5-bit exponent is compared as it is. Threshold 0 passes all values, and integers require it.
    It is combinational, with latency 0.

    Members
    -------
    i : In(FloatWord)
    threshold : In(8)
    o : Out(FloatWord)
    """

    clocked = False
    i: In(FloatWord)
    threshold: In(EXPONENT_BITS)
    o: Out(FloatWord)

    def elaborate(self, platform):
        m = Module()
        with m.If(self.i.exponent >= self.threshold):
            m.d.comb += self.o.eq(self.i)
        return m


FloatRow = data.ArrayLayout(FloatWord, COLUMNS)
SumRow = data.ArrayLayout(L1Sum, COLUMNS)
STEPS = ("early", "late", "sum", "write")
"""The steps that pipeline registers follow."""


class Packer(wiring.Component):
    """Rows of Dst words, converted to the L1 format: one block of 16, or added to the row in L1, or as they are.

    Latency is ``LATENCY`` = 4 cycles, throughput ``config.rows`` rows a cycle. All stages stall while rows wait for ``o.ready``.
    Pairs of formats that the hardware does not convert give undefined rows.

    Parameters
    ----------
    config : rows, 1 or 2, and numerics, of which ``final_tie``, ``l1_fp16_underflow_saturates``, ``round_10b_fp16``, ``fp8_e4m3`` and
        ``stochastic_compare`` are read.

    Members
    -------
    i : In(stream of pack_request_layout)
    o : Out(stream of packed_layout)
    """

    LATENCY = len(STEPS)
    """Cycles from a request to its rows."""

    def __init__(self, config: PackerConfig):
        self.config = config
        request, packed = pack_request_layout(config.rows), packed_layout(config.rows)
        super().__init__({"i": In(stream.Signature(request)), "o": Out(stream.Signature(packed))})

    def elaborate(self, platform):
        m = Module()
        if self.config.rows == 1:
            requests, packed = [self.i.p], [self.o.p]
        else:
            requests, packed = (list(payload) for payload in (self.i.p, self.o.p))
        # The rows share their handshakes; the registers of the first one give them.
        for row in reversed(range(self.config.rows)):
            registers = PipelineRegisters(m, STEPS, valid=self.i.valid, ready=self.o.ready)
            m.d.comb += packed[row].eq(self._row(m, platform, row, requests[row], registers))
            valid, ready = registers.valid, registers.finish()
        m.d.comb += [self.o.valid.eq(valid), self.i.ready.eq(ready)]
        return m

    def _row(self, m: Module, platform: Any, row: int, request: Value, registers: PipelineRegisters) -> Value:
        """Add the datapath of a row; return the packed row."""
        numerics = self.config.numerics
        tie, compare, narrows = numerics.final_tie, numerics.stochastic_compare, numerics.round_10b_fp16
        lanes = range(row * COLUMNS, (row + 1) * COLUMNS)
        control = self._control(m, request)
        mask = instantiate(m, platform, f"mask_{row}", EdgeMask)
        m.d.comb += [mask.masked.eq(request.masked), mask.control.eq(control)]
        for k, lane in enumerate(lanes):
            early = instantiate(m, platform, f"early_{lane}", EarlyConversion, tie, compare, narrows=narrows)
            m.d.comb += [
                early.word.eq(request.row[k]),
                early.control.eq(control),
                early.stochastic.eq(request.stochastic),
                early.random.eq(request.random[k]),
                mask.i[k].eq(early.o),
            ]
        control, old, words = registers.hold("early", control=control, old=request.old, words=mask.o)

        converted = Signal(FloatRow)
        for k, lane in enumerate(lanes):
            relu = instantiate(m, platform, f"relu_{lane}", Relu)
            threshold = instantiate(m, platform, f"threshold_{lane}", ExponentThreshold)
            late = instantiate(m, platform, f"late_{lane}", LateConversion)
            m.d.comb += [
                relu.i.eq(words[k]),
                relu.control.eq(control),
                threshold.i.eq(relu.o),
                threshold.threshold.eq(control.exponent_threshold),
                late.i.eq(threshold.o),
                late.mid_format.eq(control.mid_format),
                late.out_format.eq(control.out_format),
                converted[k].eq(late.o),
            ]
        control, old, words = registers.hold("late", control=control, old=old, words=converted)

        largest = instantiate(m, platform, f"largest_{row}", MaxExponent, COLUMNS, EXPONENT_BITS)
        m.d.comb += [largest.i[k].eq(words[k].exponent) for k in range(COLUMNS)]
        sums = self._add(m, platform, lanes, control.out_format, old, words)
        control, shared, words, sums = registers.hold("sum", control=control, shared=largest.o, words=words, sums=sums)

        datums = Signal(data.ArrayLayout(max(DATUM_BITS.values()), COLUMNS))
        for k, lane in enumerate(lanes):
            rounder = instantiate(
                m, platform, f"round_{lane}", L1Round, self.config.numerics.l1_fp16_underflow_saturates
            )
            block = instantiate(m, platform, f"block_{lane}", BlockEncode, tie)
            code = instantiate(m, platform, f"code_{lane}", L1Code, has_e4m3=self.config.numerics.fp8_e4m3)
            m.d.comb += [
                rounder.i.eq(sums[k]),
                rounder.out_format.eq(control.out_format),
                block.i.eq(words[k]),
                block.shared.eq(shared),
                block.out_format.eq(control.out_format),
                code.i.eq(Mux(control.accumulate, rounder.o, words[k])),
                code.block.eq(block.o),
                code.out_format.eq(control.out_format),
                code.e4m3.eq(control.e4m3),
                datums[k].eq(code.o),
            ]
        packed = Signal(PackedRow)
        is_block = control.out_format.matches(*BLOCK_FLOATS)
        m.d.comb += packed.exponent.eq(Mux(is_block, shared, 0))
        widths = sorted(set(DATUM_BITS.values()))
        with m.Switch(control.out_format):
            for bits in widths:
                formats = (fmt for fmt, width in DATUM_BITS.items() if width == bits)
                with m.Case(*formats) if bits < widths[-1] else m.Default():
                    m.d.comb += packed.datums.eq(Cat(datums[k][:bits] for k in range(COLUMNS)))
        (packed,) = registers.hold("write", packed=packed)
        return packed

    def _control(self, m: Module, request: Value) -> Signal:
        """Return the request's control with TF32 as intermediate format if rounding to 10 fraction bits is requested.

        Where ``round_10b_fp16``, FP16 from a 16-bit Dst stays: early conversion narrows it.
        """
        asked = request.control
        control = Signal(PackControl)
        m.d.comb += control.eq(asked)
        stays = Const(0)
        if self.config.numerics.round_10b_fp16:
            stays = (asked.mid_format == Format.FP16) & ~asked.dst32
        with m.If(asked.round_10b & ~asked.raw & ~stays):
            m.d.comb += control.mid_format.eq(Format.TF32)
        return control

    def _add(self, m: Module, platform: Any, lanes: range, out_format: Value, old: Value, words: Value) -> Value:
        """Return the sums of the row and the row in L1."""
        sums = Signal(SumRow)
        for k, lane in enumerate(lanes):
            add = instantiate(m, platform, f"add_{lane}", L1Add)
            with m.Switch(out_format):
                for fmt in ACCUMULATING_FORMATS:
                    with m.Case(fmt):
                        m.d.comb += add.old.eq(float_word(old.word_select(k, DATUM_BITS[fmt]), FIELDS[fmt]))
            m.d.comb += [add.added.eq(words[k]), add.out_format.eq(out_format), sums[k].eq(add.o)]
        return sums


RECORDS = (
    Unit(
        name="packer",
        config_type=PackerConfig,
        build=Packer,
        summary="Tensix: a row of 16 words of Dst to L1",
        covered=Covered(PackerConfig(), 500),
        judges=(Judge(21, PackerConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("early conversion", r"early_"),
            WaveGroup("ReLU", r"relu_"),
            WaveGroup("late conversion", r"late_"),
            WaveGroup("block", r"block"),
            WaveGroup("add to L1", r"(add_|round_|code_)"),
            OUTPUT,
        ),
    ),
)
