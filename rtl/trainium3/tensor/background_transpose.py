"""Background transpose: two banks of registers turn rows into columns beside the array, bit by bit as they are.

    i: rows  p0 p1 p2 ...  -> bank 0 -> o: columns f0 f1 ...      while bank 1 takes the next tile's rows, and the other way round

Ref: "Trainium3 Architecture Guide for NKI", background transpose: a transpose runs beside a matmul or another transpose. The
unit's structure is chosen.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.tensor.config import PASS_BITS


@dataclass(frozen=True, kw_only=True)
class TransposeConfig(UnitConfig, unit="background_transpose"):
    """Configuration of the background transpose.

    Attributes
    ----------
    size : rows and columns of the largest tile.
    """

    size: int = in_range(2, PARTITIONS, 4)


def row_layout(config: TransposeConfig) -> data.StructLayout:
    """Layout of a row: its elements, the index of its last column, and whether it is the tile's last row."""
    return data.StructLayout(
        {
            "elements": data.ArrayLayout(PASS_BITS, config.size),
            "last_column": range(config.size),
            "last": 1,
        }
    )


def column_layout(config: TransposeConfig) -> data.StructLayout:
    """Layout of a column: its elements, zeros beyond the tile's rows, and whether it is the tile's last column."""
    return data.StructLayout({"elements": data.ArrayLayout(PASS_BITS, config.size), "last": 1})


class BackgroundTranspose(wiring.Component):
    """``column[f][p] = row[p][f]`` for tiles of 1 to ``size`` rows and columns.

    A row in and a column out a cycle: tiles of equal sides follow each other without a gap. The first column of a tile appears a
    cycle after its last row. ``last_column`` is that of the tile's last row. A row is refused if its last column lies beyond
    ``size``, or if it is the tile's row ``size`` and not its last one: it leaves no trace.

    Parameters
    ----------
    config : rows and columns of the largest tile.

    Members
    -------
    i : In(stream of row_layout)
    o : Out(stream of column_layout)
    fault : Out(Fault), PARTITIONS in the cycle in which a row is refused
    """

    def __init__(self, config: TransposeConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(row_layout(config))),
                "o": Out(stream.Signature(column_layout(config))),
                "fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size = self.config.size
        bits = PASS_BITS * size
        # Data need no reset: a bank is read only when it is full.
        banks = [[Signal(bits, name=f"bank_{b}_{row}", reset_less=True) for row in range(size)] for b in range(2)]
        full = [Signal(name=f"full_{b}") for b in range(2)]
        last_row = [Signal(range(size), name=f"last_row_{b}", reset_less=True) for b in range(2)]
        last_column = [Signal(range(size), name=f"last_column_{b}", reset_less=True) for b in range(2)]
        filling, reading = Signal(), Signal()
        row, column = Signal(range(size)), Signal(range(size))
        takes, gives = Signal(), Signal()
        beyond = (self.i.p.last_column >= size) | (row == size - 1) & ~self.i.p.last
        legal = taken_if_legal(m, self.i, self.fault, Mux(beyond, Fault.PARTITIONS, Fault.NONE))
        m.d.comb += [
            self.i.ready.eq(~Array(full)[filling]),
            self.o.valid.eq(Array(full)[reading]),
            takes.eq(legal & self.i.ready),
            gives.eq(self.o.valid & self.o.ready),
        ]
        with m.If(takes):
            m.d.sync += row.eq(Mux(self.i.p.last, 0, row + 1))
            for b in range(2):
                with m.If(filling == b):
                    with m.Switch(row):
                        for place in range(size):
                            with m.Case(place):
                                m.d.sync += banks[b][place].eq(self.i.p.elements)
                    with m.If(self.i.p.last):
                        m.d.sync += [
                            full[b].eq(1),
                            filling.eq(~filling),
                            last_row[b].eq(row),
                            last_column[b].eq(self.i.p.last_column),
                        ]
        rows = [Mux(reading, banks[1][place], banks[0][place]) for place in range(size)]
        ends = column == Array(last_column)[reading]
        elements = [words.word_select(column, PASS_BITS) for words in rows]
        # A tile has one row at least.
        elements[1:] = [
            Mux(place <= Array(last_row)[reading], element, 0) for place, element in enumerate(elements[1:], start=1)
        ]
        m.d.comb += [self.o.p.elements.eq(Cat(elements)), self.o.p.last.eq(ends)]
        with m.If(gives):
            m.d.sync += column.eq(Mux(ends, 0, column + 1))
            with m.If(ends):
                m.d.sync += reading.eq(~reading)
                for b in range(2):
                    with m.If(reading == b):
                        m.d.sync += full[b].eq(0)
        return m


RECORDS = (
    Unit(
        name="background_transpose",
        config_type=TransposeConfig,
        build=BackgroundTranspose,
        summary="Trainium3: rows to columns in two banks of registers, beside the array",
        covered=Covered(TransposeConfig(), 100),
        judges=(Judge(44, TransposeConfig(size=2), 40),),
    ),
)
