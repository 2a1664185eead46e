"""GMPOOL of one column: the maximum of 16 SrcA words, scaled by SrcB's exponents, and a Dst word::

    rows (16), scales (16)                         dst (4)
          |                                          |
     ScaledDatum x 16  [register "scale"]         DstDatum, counts + 1
          |                                          |
     LaterMaximum x 8  [register "pairs"]            |        rows 4 to 7, 0 to 3, 8 to 15
     LaterMaximum x 4  [register "fours"]            |
     LaterMaximum x 2  [register "eights"]           |
          |        |                                 |
          |   LaterMaximum <-------------------------+        the first eight rows and Dst: the index
          |        |       [register "first"]
     LaterMaximum <+       [register "all"]
          |
      PoolWord
          |
          o

Ref: tt-isa-documentation 3930471, GMPOOL.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32, SRC
from bitpath.golden.tensix.declarations.numerics import GmpoolFp16
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.layouts import (
    EXPONENT_BITS,
    FRACTION_BITS,
    MAGNITUDE_BITS,
    POOL_ROWS,
    SCALE_BITS,
    Datum,
    GmpoolColumnConfig,
    PoolControl,
    PoolWords,
    pool_request,
    reads_halves,
    reads_integers,
)

# Sign and magnitude to the code that GMPOOL compares.


class Order(wiring.Component):
    """``o.order`` is the magnitude below a 1, inverted as a whole if the number is negative.
    It is combinational, with latency 0.

    Members
    -------
    sign : In(1), magnitude : In(19)
    o : Out(Datum)
    """

    clocked = False
    sign: In(1)
    magnitude: In(MAGNITUDE_BITS)
    o: Out(Datum)

    def elaborate(self, platform):
        m = Module()
        # -0 equals +0.
        negative = self.sign & self.magnitude.any()
        m.d.comb += [
            self.o.order.eq(Cat(self.magnitude ^ negative.replicate(MAGNITUDE_BITS), ~negative)),
            self.o.sign.eq(self.sign),
        ]
        return m


# Dst word to datum, for GMPOOL::
#
#       Dst word                     sign   exponent              fraction
#       FP32                         31     30:23 + 127           22:13
#       BF16, BF16 of argmax         15     14:7 + 127            6:0, three zeros     of the low or of the upper half
#       FP16, FP16 of argmax         15     14:10 + 15            9:0                  likewise
#       INT32, TF32 with argmax      31     magnitude 18:0
#
# A float has the second bias that a datum of SrcA has, whose scale 1.0 is a biased exponent.
#
# Ref: tt-isa-documentation 3930471, GMPOOL.


HALF = 16


class DstDatum(wiring.Component):
    """A Dst word as a datum; a 16-bit word is in the low half. It is combinational, with latency 0.

    Members
    -------
    word : In(32), control : In(PoolControl)
    o : Out(Datum)
    """

    clocked = False
    word: In(DST32.width)
    control: In(PoolControl)
    o: Out(Datum)

    def elaborate(self, platform):
        m = Module()
        order = instantiate(m, platform, "order", Order)
        word = self.word
        half = Signal(HALF)
        exponent, fraction, bias = Signal(FP32.exponent_bits), Signal(FRACTION_BITS), Signal(FP32.exponent_bits)
        m.d.comb += [half.eq(Mux(self.control.dst32, word[HALF:], word[:HALF])), bias.eq(FP32.bias)]
        with m.If(~reads_halves(self.control)):
            m.d.comb += [
                exponent.eq(word[FP32.fraction_bits : -1]),
                fraction.eq(word[FP32.fraction_bits - FRACTION_BITS : FP32.fraction_bits]),
            ]
        with m.Elif(self.control.style == StyleCode.FP16):
            m.d.comb += [
                exponent.eq(half[FP16.fraction_bits : -1]),
                fraction.eq(half[: FP16.fraction_bits]),
                bias.eq(FP16.bias),
            ]
        with m.Else():
            m.d.comb += [
                exponent.eq(half[BF16.fraction_bits : -1]),
                fraction.eq(Cat(Const(0, FRACTION_BITS - BF16.fraction_bits), half[: BF16.fraction_bits])),
            ]
        total = Signal(EXPONENT_BITS)
        m.d.comb += [
            total.eq(exponent + bias),
            order.sign.eq(Mux(reads_halves(self.control), half[-1], word[-1])),
            order.magnitude.eq(Mux(reads_integers(self.control), word[:MAGNITUDE_BITS], Cat(fraction, total))),
            self.o.eq(order.o),
        ]
        return m


# SrcA word to datum: times the power of two that a SrcB datum's exponent is::
#
#       SrcB exponent  SrcA exponent   sign  exponent         fraction
#       0              any             1     511              1023              below every datum
#       not 0          0               0     0                0                 denormals are zeros
#                      not 0           s     SrcA + SrcB      BF16: 7 bits      float
#                                      s     SrcA + SrcB + 224                  FP16 for a 32-bit Dst, if rebiased
#                                      s     0                magnitude         integer
#
# 224 = 127 - 2 * 15 + 127 makes FP32's bias of FP16's two, with the second bias that Dst's data have.
#
# Ref: tt-isa-documentation 3930471, GMPOOL.


FP16_EXPONENT_BITS = 5
BF16_LACKS = 3
"""Fraction bits of a source word that BF16 lacks."""


class ScaledDatum(wiring.Component):
    """A SrcA word scaled by a SrcB exponent. FP16 has 5 bits of either exponent. It is combinational, with latency 0.

    Parameters
    ----------
    rebias : True gives FP16 the exponents of FP32 in a 32-bit Dst.

    Members
    -------
    word : In(19), scale : In(8), control : In(PoolControl)
    o : Out(Datum)
    """

    clocked = False

    def __init__(self, *, rebias: bool):
        self.rebias = rebias
        super().__init__({"word": In(SRC.width), "scale": In(SCALE_BITS), "control": In(PoolControl), "o": Out(Datum)})

    def elaborate(self, platform):
        m = Module()
        order = instantiate(m, platform, "order", Order)
        fraction, exponent_byte = self.word[:FRACTION_BITS], self.word[FRACTION_BITS:-1]
        style = self.control.style
        is_fp16, is_integer = style == StyleCode.FP16, style == StyleCode.INT8
        # The three exponent bits that FP16 lacks are 224.
        bias = (self.rebias & ~reads_halves(self.control)).replicate(SCALE_BITS - FP16_EXPONENT_BITS)
        fp16_scale = self.scale[:FP16_EXPONENT_BITS]
        exponent, scale = Signal(SCALE_BITS), Signal(SCALE_BITS)
        kept, total = Signal(FRACTION_BITS), Signal(EXPONENT_BITS)
        narrow = style == StyleCode.BF16
        m.d.comb += [
            exponent.eq(Mux(is_fp16, exponent_byte[:FP16_EXPONENT_BITS], exponent_byte)),
            scale.eq(Mux(is_fp16, Cat(fp16_scale, bias), self.scale)),
            kept.eq(Cat(Mux(narrow, Const(0, BF16_LACKS), fraction[:BF16_LACKS]), fraction[BF16_LACKS:])),
            total.eq(Mux(is_integer, 0, exponent + scale)),
            self.o.eq(order.o),
        ]
        with m.If(~Mux(is_fp16, fp16_scale, self.scale).any()):
            m.d.comb += [order.sign.eq(1), order.magnitude.eq((1 << MAGNITUDE_BITS) - 1)]
        with m.Elif(exponent.any()):
            m.d.comb += [order.sign.eq(self.word[-1]), order.magnitude.eq(Cat(kept, total))]
        return m


# The larger of two data of GMPOOL; of equal ones the later.


class LaterMaximum(wiring.Component):
    """``o = later if later >= earlier else earlier``. It is combinational, with latency 0.

    Members
    -------
    earlier, later : In(Datum)
    o : Out(Datum)
    wins : Out(1), the later one is taken
    """

    clocked = False
    earlier: In(Datum)
    later: In(Datum)
    o: Out(Datum)
    wins: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.wins.eq(self.later.order >= self.earlier.order),
            self.o.eq(Mux(self.wins, self.later.as_value(), self.earlier.as_value())),
        ]
        return m


# Datum to Dst word, for GMPOOL: takes the second bias off. Bits are dropped, none is rounded.
#
# Ref: tt-isa-documentation 3930471, GMPOOL.


INTEGER_BITS = 13
"""Bits of a magnitude that GMPOOL writes."""


class PoolWord(wiring.Component):
    """A datum as a Dst word; a 16-bit word is in the low half. It is combinational, with latency 0.

    An exponent of 0 is +0: SrcA's zeros and denormals have no bias. Any other exponent may wrap if the scale is not 1.0.

    Members
    -------
    i : In(Datum), control : In(PoolControl)
    o : Out(32)
    """

    clocked = False
    i: In(Datum)
    control: In(PoolControl)
    o: Out(DST32.width)

    def elaborate(self, platform):
        m = Module()
        magnitude = Signal(MAGNITUDE_BITS)
        fraction, total = magnitude[:FRACTION_BITS], magnitude[FRACTION_BITS:]
        exponent = Signal(FP32.exponent_bits)
        is_half = reads_halves(self.control)
        is_fp16 = is_half & (self.control.style == StyleCode.FP16)
        m.d.comb += [
            magnitude.eq(self.i.order[:-1] ^ (~self.i.order[-1]).replicate(MAGNITUDE_BITS)),
            exponent.eq(total - Mux(is_fp16, FP16.bias, FP32.bias)),
        ]
        with m.If(reads_integers(self.control)):
            m.d.comb += [self.o[:INTEGER_BITS].eq(magnitude), self.o[-1].eq(self.i.sign)]
        with m.Elif(total.any()):
            fp16 = Cat(fraction, exponent[: FP16.exponent_bits], self.i.sign)
            bf16 = Cat(fraction[FRACTION_BITS - BF16.fraction_bits :], exponent, self.i.sign)
            fp32 = Cat(Const(0, FP32.fraction_bits - FRACTION_BITS), fraction, exponent, self.i.sign)
            m.d.comb += self.o.eq(Mux(is_half, Mux(is_fp16, fp16, bf16), fp32))
        return m


STEPS = {
    0: (),
    1: ("fours",),
    2: ("fours", "first"),
    3: ("pairs", "eights", "all"),
    4: ("scale", "fours", "first", "all"),
}
"""The steps that pipeline registers follow, by number of stages."""
INDEXED_ROWS = 8
"""Rows of SrcA that argmax gives the index of."""
FIRST_ROW = 4
"""The first eight places of the comparison are the rows ``place ^ FIRST_ROW``."""
INDEX_FACTOR = 3
"""A row's index is stored times 3, modulo 8."""
COUNT_LOW = 8
COUNT_BITS = 4
"""Dst bits 11 to 8 count the instructions with argmax; bits 7 to 0 are the index."""


class Beside(data.Struct):
    """Dst's part of a request beside the rows: row 0 as a datum, its index, and the counts of all four rows, one higher."""

    dst: Datum
    index: COUNT_LOW
    counts: data.ArrayLayout(COUNT_BITS, POOL_ROWS)
    control: PoolControl


class GmpoolColumn(wiring.Component):
    """One column of GMPOOL: ``o[0] = max(dst[0], rows[k] * 2**scales[k])``; ``o[1]`` to ``o[3]`` are 0.

    With ``control.argmax`` bits 11 to 8 of each word count the instructions, and the low byte of ``o[0]`` is the index of the
    last maximum of Dst and rows 0 to 7: Dst's index, or the count and three times the row. The maximum of all rows is in the
    upper half for BF16 and FP16, and not returned for TF32 and INT8.

    Style INT8 and ``control.argmax`` require ``control.dst32``.

    Latency is ``config.pipeline.stages`` cycles, 0 to 4, and throughput is one column a cycle. Back-pressure: all stages stall
    while a result waits for ``o.ready``.

    Parameters
    ----------
    config : exponent of FP16 in a 32-bit Dst, and number of pipeline stages.

    Members
    -------
    i : In(stream of pool_request)
    o : Out(stream of PoolWords), the new Dst words
    """

    def __init__(self, config: GmpoolColumnConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(pool_request())), "o": Out(stream.Signature(PoolWords))})

    def elaborate(self, platform):
        m = Module()
        steps = STEPS[self.config.pipeline.stages]
        registers = PipelineRegisters(m, steps, valid=self.i.valid, ready=self.o.ready)
        numbers, beside = registers.hold("scale", numbers=self._scaled(m, platform), beside=self._beside(m))
        places = None
        for step, count in (("pairs", 8), ("fours", 4), ("eights", 2)):
            winners, won = self._halve(m, platform, step, numbers, places, count)
            numbers, places, beside = registers.hold(step, numbers=winners, places=won, beside=beside)

        largest, row_wins = self._larger(m, platform, "first", beside.dst, numbers[0])
        row = Signal(range(INDEXED_ROWS))
        code = (INDEX_FACTOR * row)[: len(row)]
        index = Signal(COUNT_LOW)
        m.d.comb += [
            row.eq(places[0] ^ FIRST_ROW),
            index.eq(Mux(row_wins, Cat(code, Const(0, 1), beside.counts[0]), beside.index)),
        ]
        largest, second, index, counts, control = registers.hold(
            "first", largest=largest, second=numbers[1], index=index, counts=beside.counts, control=beside.control
        )
        largest, _ = self._larger(m, platform, "all", largest, second)
        largest, index, counts, control = registers.hold(
            "all", largest=largest, index=index, counts=counts, control=control
        )

        m.submodules.pool_word = word = PoolWord()
        m.d.comb += [word.i.eq(largest), word.control.eq(control)]
        half = Mux(reads_integers(control), 0, word.o[:HALF])
        indexed = Cat(index, counts[0], Const(0, HALF - COUNT_LOW - COUNT_BITS), half)
        m.d.comb += self.o.p[0].eq(Mux(control.argmax, indexed, word.o))
        for k in range(1, POOL_ROWS):
            m.d.comb += self.o.p[k].eq(Mux(control.argmax, Cat(Const(0, COUNT_LOW), counts[k]), 0))
        m.d.comb += [self.o.valid.eq(registers.valid), self.i.ready.eq(registers.finish())]
        return m

    def _scaled(self, m: Module, platform: Any) -> data.View:
        """Return the data of SrcA in the order of their comparison."""
        i = self.i.p
        scaled = Signal(data.ArrayLayout(Datum, COLUMNS))
        rebias = self.config.numerics.gmpool_fp16 is GmpoolFp16.REBIAS
        for place in range(COLUMNS):
            row = place ^ FIRST_ROW if place < INDEXED_ROWS else place
            scale = instantiate(m, platform, f"scale_{row}", ScaledDatum, rebias=rebias)
            m.d.comb += [
                scale.word.eq(i.rows[row]),
                scale.scale.eq(i.scales[row]),
                scale.control.eq(i.control),
                scaled[place].eq(scale.o),
            ]
        return scaled

    def _beside(self, m: Module) -> data.View:
        m.submodules.read_dst = read = DstDatum()
        i = self.i.p
        beside = Signal(Beside)
        m.d.comb += [
            read.word.eq(i.dst[0]),
            read.control.eq(i.control),
            beside.dst.eq(read.o),
            beside.index.eq(i.dst[0][:COUNT_LOW]),
            beside.control.eq(i.control),
            *(beside.counts[k].eq(i.dst[k][COUNT_LOW : COUNT_LOW + COUNT_BITS] + 1) for k in range(POOL_ROWS)),
        ]
        return beside

    def _halve(
        self, m: Module, platform: Any, name: str, numbers: data.View, places: data.View | None, count: int
    ) -> tuple[data.View, data.View]:
        """Return the larger one of each of ``count`` pairs of neighbours, and the places of those of the indexed rows."""
        bits = INDEXED_ROWS.bit_length() - count.bit_length()  # bits of a place among the rows of a pair
        winners = Signal(data.ArrayLayout(Datum, count), name=f"{name}_winners")
        won = Signal(data.ArrayLayout(bits + 1, count // 2), name=f"{name}_won")
        for k in range(count):
            larger, wins = self._larger(m, platform, f"{name}_{k}", numbers[2 * k], numbers[2 * k + 1])
            m.d.comb += winners[k].eq(larger)
            if k < count // 2:
                below = [] if places is None else [Mux(wins, places[2 * k + 1], places[2 * k])]
                m.d.comb += won[k].eq(Cat(*below, wins))
        return winners, won

    def _larger(
        self, m: Module, platform: Any, name: str, earlier: data.View, later: data.View
    ) -> tuple[data.View, Signal]:
        larger = instantiate(m, platform, f"larger_{name}", LaterMaximum)
        m.d.comb += [larger.earlier.eq(earlier), larger.later.eq(later)]
        return larger.o, larger.wins


RECORDS = (
    Unit(
        name="gmpool_column",
        config_type=GmpoolColumnConfig,
        build=GmpoolColumn,
        summary="Tensix: the maximum of 16 scaled SrcA words and a Dst word, and its index",
        default=GmpoolColumnConfig(pipeline=registered(3)),
        covered=Covered(GmpoolColumnConfig(pipeline=registered(3)), 300),
        judges=(Judge(22, GmpoolColumnConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("scaled data", r"(scale_|scaled)"),
            WaveGroup("Dst", r"(read_dst|beside)"),
            WaveGroup("comparisons", r"(larger_|pairs|fours|eights|first|all)"),
            WaveGroup("word", r"word"),
            OUTPUT,
        ),
    ),
)
