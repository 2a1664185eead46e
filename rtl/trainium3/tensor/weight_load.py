"""Fast weight load: stationary columns of some rows of PEs into their second copies, four or two columns a cycle.

    beat, 64 bits a row   16-bit or FP8 columns:  | 4k+3 | 4k+2 | 4k+1 | 4k |     FP8 in the lower byte
                          32-bit columns:         |    2k+1     |     2k    |
                          tags of 16 columns:     |16k+15| ...        |16k  |     behind the columns

Ref: "Trainium Architecture Guide for NKI", fast weight load and background load of LoadStationary: up to four times as fast as
MultiplyMoving. Width and order of a beat are chosen, see the declarations.
"""

from dataclasses import dataclass

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.tensor import LOAD_BITS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.tensor.sparse_select import TAG


@dataclass(frozen=True, kw_only=True)
class LoadConfig(UnitConfig, unit="weight_load"):
    """Configuration of the fast weight load.

    Attributes
    ----------
    rows, cols : rows of PEs that load together, and columns of PEs.
    moving_bits : bits of a moving word, which passes by.
    """

    rows: int = in_range(1, PARTITIONS, 2)
    cols: int = in_range(2, PARTITIONS, 6)
    moving_bits: int = in_range(1, 1 << 10, 8)


def load_layout(config: LoadConfig) -> data.StructLayout:
    """Layout of a beat: 64 bits for each row; the load's last column, whether columns have 32 bits, whether tags follow."""
    return data.StructLayout(
        {
            "beats": data.ArrayLayout(LOAD_BITS, config.rows),
            "last_column": range(config.cols),
            "wide": 1,
            "tagged": 1,
        }
    )


def moving_layout(config: LoadConfig) -> data.StructLayout:
    """Layout of a moving word: any payload, and whether the loaded columns become the active ones with it."""
    return data.StructLayout({"word": config.moving_bits, "swap": 1})


def held_layout(config: LoadConfig) -> data.StructLayout:
    """Layout of a moving word beside the stationary words of its PEs: column c of row r at ``cols * r + c``."""
    pes = config.rows * config.cols
    return data.StructLayout(
        {
            "word": config.moving_bits,
            "columns": data.ArrayLayout(FP32.width, pes),
            "tags": data.ArrayLayout(TAG, pes),
        }
    )


class WeightLoad(wiring.Component):
    """Stationary words held twice: loads run beside moving words, and a moving word swaps the loaded ones in.

    A load of M columns takes ``ceil(M / 4)`` cycles, or ``ceil(M / 2)`` of 32 bits, and ``ceil(M / 16)`` more with tags. The next
    one begins when a moving word has swapped it in; a moving word with ``swap`` waits until a load is complete. Columns that a
    load lacks keep their words. Moving words take one cycle. A beat of a load whose last column lies beyond the PEs is refused: it
    leaves no trace.

    Parameters
    ----------
    config : rows, columns and bits of a moving word.

    Members
    -------
    load : In(stream of load_layout)
    i : In(stream of moving_layout)
    o : Out(stream of held_layout)
    fault : Out(Fault), PARTITIONS in the cycle in which a beat is refused
    """

    def __init__(self, config: LoadConfig):
        self.config = config
        super().__init__(
            {
                "load": In(stream.Signature(load_layout(config))),
                "i": In(stream.Signature(moving_layout(config))),
                "o": Out(stream.Signature(held_layout(config))),
                "fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows, cols = self.config.rows, self.config.cols
        full, in_tags = Signal(), Signal()
        column = Signal(range(cols))  # first one of the beat
        following = Signal(range(cols + 17))
        ends, loads, takes = Signal(), Signal(), Signal()
        beat = self.load.p
        wrong = Mux(beat.last_column >= cols, Fault.PARTITIONS, Fault.NONE)
        legal = taken_if_legal(m, self.load, self.fault, wrong)
        m.d.comb += [
            self.load.ready.eq(~full),
            self.i.ready.eq((self.o.ready | ~self.o.valid) & (full | ~self.i.p.swap)),
            loads.eq(legal & self.load.ready),
            takes.eq(self.i.valid & self.i.ready),
            following.eq(column + Mux(in_tags, 16, Mux(beat.wide, 2, 4))),
            ends.eq(following > beat.last_column),
        ]
        second = [Signal(FP32.width, name=f"second_{pe}") for pe in range(rows * cols)]
        tags = [Signal(TAG, name=f"second_tag_{pe}") for pe in range(rows * cols)]
        with m.If(loads):
            m.d.sync += column.eq(Mux(ends, 0, following))
            with m.If(ends):
                m.d.sync += [in_tags.eq(beat.tagged & ~in_tags), full.eq(in_tags | ~beat.tagged)]
            for pe in range(rows * cols):
                row, own = divmod(pe, cols)
                bits, inside = beat.beats[row], (own <= beat.last_column) if own else Const(1)
                with m.If(in_tags):
                    with m.If(inside & (column == own // 16 * 16)):
                        m.d.sync += tags[pe].eq(bits.word_select(own % 16, TAG))
                with m.Elif(inside & beat.wide & (column == own // 2 * 2)):
                    m.d.sync += second[pe].eq(bits.word_select(own % 2, 32))
                with m.Elif(inside & ~beat.wide & (column == own // 4 * 4)):
                    m.d.sync += second[pe].eq(Cat(bits.word_select(own % 4, 16), Const(0, 16)))
        with m.If(self.o.ready | ~self.o.valid):
            m.d.sync += self.o.valid.eq(takes)
        with m.If(takes):
            m.d.sync += self.o.p.word.eq(self.i.p.word)
            with m.If(self.i.p.swap):
                m.d.sync += [full.eq(0), self.o.p.columns.eq(Cat(second)), self.o.p.tags.eq(Cat(tags))]
        return m


RECORDS = (
    Unit(
        name="weight_load",
        config_type=LoadConfig,
        build=WeightLoad,
        summary="Trainium3: stationary words of some rows loaded four or two columns a cycle, and swapped in",
        covered=Covered(LoadConfig(cols=18), 60),
        judges=(Judge(46, LoadConfig(), 30),),
    ),
)
