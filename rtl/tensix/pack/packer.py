"""The packer: one row of 16 Dst words to 16 datums in L1::

      EarlyConversion -> EdgeMask  [early]  -> ReLU -> ExponentThreshold -> LateConversion  [late]
         -> largest exponent of the row, L1Add  [sum]  -> BlockEncode | L1Round -> L1Code  [write]

Ref: tt-isa-documentation 3930471, Packers/FormatConversion and its neighbours; ttsim v1.10.0 where they are silent.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, Format
from bitpath.rtl.common.arithmetic.max_exponent import MaxExponent
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.pack.block_encode import BlockEncode
from bitpath.rtl.tensix.pack.early_conversion import EarlyConversion
from bitpath.rtl.tensix.pack.edge_mask import EdgeMask
from bitpath.rtl.tensix.pack.exponent_threshold import ExponentThreshold
from bitpath.rtl.tensix.pack.l1_add import L1Add, L1Sum
from bitpath.rtl.tensix.pack.l1_code import L1Code
from bitpath.rtl.tensix.pack.l1_round import ACCUMULATING_FORMATS, L1Round
from bitpath.rtl.tensix.pack.late_conversion import LateConversion
from bitpath.rtl.tensix.pack.layouts import PackControl, PackedRow, PackRequest
from bitpath.rtl.tensix.pack.relu import Relu
from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS, FIELDS, FloatWord, float_word
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS

FloatRow = data.ArrayLayout(FloatWord, COLUMNS)
SumRow = data.ArrayLayout(L1Sum, COLUMNS)
STEPS = ("early", "late", "sum", "write")
"""The steps that pipeline registers follow."""


class Packer(wiring.Component):
    """Rows of Dst words, converted to the L1 format: one block of 16, or added to the row in L1, or as they are.

    Latency is ``LATENCY`` = 4 cycles, throughput one row a cycle. All stages stall while a row waits for ``o.ready``. Pairs of
    formats that the hardware does not convert give undefined rows.

    Parameters
    ----------
    config : numerics, of which ``final_tie`` and ``l1_fp16_underflow_saturates`` are read.

    Members
    -------
    i : In(stream of PackRequest)
    o : Out(stream of PackedRow)
    """

    LATENCY = len(STEPS)
    """Cycles from a request to its row."""

    def __init__(self, config: ConversionConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(PackRequest)), "o": Out(stream.Signature(PackedRow))})

    def elaborate(self, platform):
        m = Module()
        request = self.i.p
        tie = self.config.numerics.final_tie
        registers = PipelineRegisters(m, STEPS, valid=self.i.valid, ready=self.o.ready)

        control = self._control(m)
        mask = instantiate(m, platform, "mask", EdgeMask)
        m.d.comb += [mask.masked.eq(request.masked), mask.control.eq(control)]
        for k in range(COLUMNS):
            early = instantiate(m, platform, f"early_{k}", EarlyConversion, tie)
            m.d.comb += [early.word.eq(request.row[k]), early.control.eq(control), mask.i[k].eq(early.o)]
        control, old, words = registers.hold("early", control=control, old=request.old, words=mask.o)

        converted = Signal(FloatRow)
        for k in range(COLUMNS):
            relu = instantiate(m, platform, f"relu_{k}", Relu)
            threshold = instantiate(m, platform, f"threshold_{k}", ExponentThreshold)
            late = instantiate(m, platform, f"late_{k}", LateConversion)
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

        largest = instantiate(m, platform, "largest", MaxExponent, COLUMNS, EXPONENT_BITS)
        m.d.comb += [largest.i[k].eq(words[k].exponent) for k in range(COLUMNS)]
        sums = self._add(m, platform, control.out_format, old, words)
        control, shared, words, sums = registers.hold("sum", control=control, shared=largest.o, words=words, sums=sums)

        datums = Signal(data.ArrayLayout(max(DATUM_BITS.values()), COLUMNS))
        for k in range(COLUMNS):
            rounder = instantiate(m, platform, f"round_{k}", L1Round, self.config.numerics.l1_fp16_underflow_saturates)
            block = instantiate(m, platform, f"block_{k}", BlockEncode, tie)
            code = instantiate(m, platform, f"code_{k}", L1Code)
            m.d.comb += [
                rounder.i.eq(sums[k]),
                rounder.out_format.eq(control.out_format),
                block.i.eq(words[k]),
                block.shared.eq(shared),
                block.out_format.eq(control.out_format),
                code.i.eq(Mux(control.accumulate, rounder.o, words[k])),
                code.block.eq(block.o),
                code.out_format.eq(control.out_format),
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

        m.d.comb += [
            self.o.p.eq(packed),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _control(self, m: Module) -> Signal:
        """Return the request's control with TF32 as intermediate format if rounding to 10 fraction bits is requested."""
        asked = self.i.p.control
        control = Signal(PackControl)
        m.d.comb += control.eq(asked)
        with m.If(asked.round_10b & ~asked.raw):
            m.d.comb += control.mid_format.eq(Format.TF32)
        return control

    def _add(self, m: Module, platform: Any, out_format: Value, old: Value, words: Value) -> Value:
        """Return the sums of the row and the row in L1."""
        sums = Signal(SumRow)
        for k in range(COLUMNS):
            add = instantiate(m, platform, f"add_{k}", L1Add)
            with m.Switch(out_format):
                for fmt in ACCUMULATING_FORMATS:
                    with m.Case(fmt):
                        m.d.comb += add.old.eq(float_word(old.word_select(k, DATUM_BITS[fmt]), FIELDS[fmt]))
            m.d.comb += [add.added.eq(words[k]), add.out_format.eq(out_format), sums[k].eq(add.o)]
        return sums
