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

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.golden.tensix.declarations.numerics import GmpoolFp16
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.pool.config import GmpoolColumnConfig
from bitpath.rtl.tensix.pool.dst_datum import HALF, DstDatum
from bitpath.rtl.tensix.pool.later_maximum import LaterMaximum
from bitpath.rtl.tensix.pool.layouts import (
    POOL_ROWS,
    Datum,
    PoolControl,
    PoolWords,
    pool_request,
    reads_integers,
)
from bitpath.rtl.tensix.pool.pool_word import PoolWord
from bitpath.rtl.tensix.pool.scaled_datum import ScaledDatum

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
