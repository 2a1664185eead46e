"""Packer of a core: rows of a PACR from Dst to L1::

      cycle   0       1 .. n          n + 1           n + 5         n + 6
      PACR    taken   rows requested  last Dst row    last packed   last written

Ref: tt-isa-documentation 3930471, PACR, Packers.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS, Chip
from bitpath.rtl.tensix.core.config import ChipConfig, TensixCoreConfig
from bitpath.rtl.tensix.core.l1_memory import LINES, line_address_bits
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.engine.command import rows_per_word_log2
from bitpath.rtl.tensix.matrix.instruction import DST_ROW_BITS
from bitpath.rtl.tensix.matrix.registers import DstAddress
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS

PACKERS = {Chip.WORMHOLE: 4, Chip.BLACKHOLE: 1}
SOURCES = 4
"""Packers of Wormhole, or read interfaces of Blackhole's packer."""
ROW_COUNT_BITS = DST_ROW_BITS + 1
ADDRESS_BITS = 17
"""Bits of a packer's address in units of 16 bytes, of L1s up to 2 MiB."""


def pack_rows_layout(config: ChipConfig) -> data.StructLayout:
    """Return the layout of a PACR.

    - ``sources`` : the packers or read interfaces that take part; each reads ``rows`` Dst rows, at least 1, from its ``first`` on.
    - ``begins`` : addresses in units of 16 bytes at which each packer writes if its last PACR was the last one.
    - ``last`` : the next PACR of these packers begins at its address.
    """
    return data.StructLayout(
        {
            "sources": SOURCES,
            "first": data.ArrayLayout(DST_ROW_BITS, SOURCES),
            "rows": ROW_COUNT_BITS,
            "begins": data.ArrayLayout(ADDRESS_BITS, PACKERS[config.chip]),
            "last": 1,
            "masked": COLUMNS,
            "fp16": 1,
            "control": PackControl,
        }
    )


class RowPacker(wiring.Component):
    """A row a cycle, the rows of one source after the other. PACRs follow each other without a gap but for the cycle in which
    one is taken; one that accumulates in L1 begins when all earlier rows are written.

    Wormhole's four packers take turns here, so that a tile takes 64 cycles, where the machine packs 64 bytes a cycle.

    Parameters
    ----------
    config : configuration of the core.

    Members
    -------
    i : In(stream of pack_rows_layout)
    read_dst : Out(stream of DstAddress), dst : In(stream of DstRow), a cycle later
    old_address : Out, old : In(512), the word of L1, a cycle later
    write_address : Out, write_data : Out(512), write_lines : Out(4)
    idle : Out(1), no row is on its way
    overruns : Out(1), `i` is ready, and rows of its PACR would pass L1's end: it must not be valid
    """

    def __init__(self, config: TensixCoreConfig):
        self.config = config
        address = line_address_bits(config.l1_words)
        super().__init__(
            {
                "i": In(stream.Signature(pack_rows_layout(config))),
                "read_dst": Out(stream.Signature(DstAddress)),
                "dst": In(stream.Signature(DstRow)),
                "old_address": Out(address),
                "old": In(ROW_BITS),
                "write_address": Out(address),
                "write_data": Out(ROW_BITS),
                "write_lines": Out(LINES),
                "idle": Out(1),
                "overruns": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.packer = packer = Packer(config.pack_conversion)
        request = Signal(self.i.p.shape(), reset_less=True)
        waiting = Signal(SOURCES)  # sources of the PACR that still have rows
        done = Signal(ROW_COUNT_BITS)
        source = Signal(range(SOURCES))
        row_layout = data.StructLayout(
            {"address": len(self.old_address), "masked": COLUMNS, "control": PackControl, "valid": 1}
        )
        present = Signal(row_layout)
        ages = [Signal(row_layout, name=f"row_{age}") for age in range(1, Packer.LATENCY + 2)]
        empty = ~Cat(each.valid for each in ages).any()
        goes_on = Signal(PACKERS[config.chip])
        # A bit more than an address: a packer that has filled L1 stands behind its end.
        places = Signal(data.ArrayLayout(len(self.old_address) + 1, len(goes_on)))
        address = self._addresses(m, request, source, goes_on, places, present.valid)
        for number in reversed(range(SOURCES)):
            with m.If(waiting[number]):
                m.d.comb += source.eq(number)
        last_row = done + 1 == request.rows
        left = waiting & ~(1 << source)
        ends = present.valid & last_row & (left == 0)
        m.d.comb += [
            self.i.ready.eq((waiting == 0) & (empty | ~self.i.p.control.accumulate)),
            self.overruns.eq(self.i.ready & self._passes_the_end(goes_on, places)),
            self.read_dst.valid.eq(waiting.any()),
            self.read_dst.p.row.eq(request.first[source] + done),
            self.read_dst.p.dst32.eq(request.control.dst32),
            self.read_dst.p.fp16.eq(request.fp16),
            self.dst.ready.eq(1),
            present.address.eq(address),
            present.masked.eq(request.masked),
            present.control.eq(request.control),
            present.valid.eq(self.read_dst.valid & self.read_dst.ready),
            self.old_address.eq(address),
            self.idle.eq((waiting == 0) & empty),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [request.eq(self.i.p), waiting.eq(self.i.p.sources), done.eq(0)]
        with m.If(present.valid):
            m.d.sync += done.eq(Mux(last_row, 0, done + 1))
            with m.If(last_row):
                m.d.sync += waiting.eq(left)
        m.d.sync += [older.eq(younger) for younger, older in zip([present, *ages], ages, strict=False)]
        with m.If(ends & request.last):
            # The next PACR begins at its addresses.
            m.d.sync += goes_on.eq(goes_on & ~(request.sources if len(goes_on) > 1 else 1))

        read, packed = ages[0], ages[-1]
        m.d.comb += [
            packer.i.valid.eq(read.valid),
            packer.i.p.row.eq(self.dst.p),
            packer.i.p.old.eq(self.old),
            packer.i.p.masked.eq(read.masked),
            packer.i.p.control.eq(read.control),
            packer.o.ready.eq(1),
            self.write_address.eq(packed.address),
            self.write_data.eq(packer.o.p.datums),
            self.write_lines.eq(Mux(packed.valid, (1 << _lines(packed.control)) - 1, 0)),
        ]
        return m

    def _passes_the_end(self, goes_on: Signal, places: data.View) -> Value:
        """Return whether rows of the offered PACR would be written behind L1's end."""
        offered, several = self.i.p, len(goes_on) > 1
        rows = offered.rows if several else sum((offered.sources[k] for k in range(SOURCES)), Value.cast(0))
        lines = rows * _lines(offered.control)
        passes = [
            Mux(goes, places[k], offered.begins[k]) + lines > 1 << len(self.old_address)
            for k, goes in enumerate(goes_on)
        ]
        return (Cat(passes) & (offered.sources if several else 1)).any()

    def _addresses(
        self, m: Module, request: data.View, source: Value, goes_on: Signal, places: data.View, moves: Value
    ) -> Value:
        """Add where each packer goes on; return the address of the present row."""
        packer = source if len(goes_on) > 1 else 0
        here = Signal(len(self.old_address))
        m.d.comb += here.eq(Mux(goes_on.bit_select(packer, 1), places[packer], request.begins[packer]))
        with m.If(moves):
            m.d.sync += [
                goes_on.bit_select(packer, 1).eq(1),
                places[packer].eq(here + _lines(request.control)),
            ]
        return here


def _lines(control: data.View) -> Value:
    """Return how many 16 bytes a packed row has: 4, 2 or 1."""
    return Value.cast(LINES) >> rows_per_word_log2(control.out_format)[:2]
