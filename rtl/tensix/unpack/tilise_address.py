"""Tilise mode of an unpacker: L1 addresses of the register rows of one UNPACR.

Ref: tt-isa-documentation, UNPACR_Regular: each row of datums starts RowStride bytes after the one before; ttsim v1.10.0 for
Blackhole's rows of 32 datums.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig

WORD_BYTES = 16
"""Unit of addresses and strides."""
ADDRESS_BITS = 17
"""Bits of an address of 2 MiB in words."""
STRIDE_BITS = 12
ROW_COUNT_BITS = 12
"""Bits of the register rows of an UNPACR, less one: up to 65,536 datums."""
ROW_WORDS = {bits: COLUMNS * bits // 8 // WORD_BYTES for bits in (8, 16, 32)}
"""Words of L1 that 16 datums take, by the bits of a datum."""

TILISE_REQUEST = data.StructLayout(
    {"address": ADDRESS_BITS, "stride": STRIDE_BITS, "last": ROW_COUNT_BITS, "l1_format": FORMAT_BITS}
)
"""Start and row stride in words of 16 bytes, register rows less one, format of at least 8 bits."""
TILISE_ROW = data.StructLayout({"address": ADDRESS_BITS, "last": 1})


class TiliseAddress(wiring.Component):
    """The address of a register row a cycle: ``address + row * stride``, or, where a row of datums is two register rows,
    ``address + row // 2 * stride + row % 2 * (words of a register row)``. Addresses wrap at 2 MiB.

    A request is taken in the cycle in which the last row of the one before is taken, so requests follow each other without a gap;
    the first row comes in the cycle behind. Formats below 8 bits give undefined addresses.

    Parameters
    ----------
    config : numerics, of which ``tilise_wide_rows`` is read: 32 datums a row for formats of 16 and 32 bits.

    Members
    -------
    i : In(stream of TILISE_REQUEST)
    o : Out(stream of TILISE_ROW)
    """

    def __init__(self, config: ConversionConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(TILISE_REQUEST)), "o": Out(stream.Signature(TILISE_ROW))})

    def elaborate(self, platform):
        m = Module()
        request = Signal(TILISE_REQUEST, reset_less=True)
        start = Signal(ADDRESS_BITS, reset_less=True)  # of the row of datums
        row = Signal(ROW_COUNT_BITS)
        busy = Signal()
        words = Signal(range(max(ROW_WORDS.values()) + 1))
        wide = Signal()
        with m.Switch(request.l1_format):
            for bits, count in ROW_WORDS.items():
                with m.Case(*(fmt for fmt, width in DATUM_BITS.items() if width == bits)):
                    m.d.comb += words.eq(count)
                    if self.config.numerics.tilise_wide_rows and bits > 8:
                        m.d.comb += wide.eq(1)
        second = wide & row[0]
        m.d.comb += [
            self.o.valid.eq(busy),
            self.o.p.last.eq(row == request.last),
            self.o.p.address.eq(start + Mux(second, words, 0)),
            self.i.ready.eq(~busy | self.o.ready & self.o.p.last),
        ]
        with m.If(self.o.ready & busy):
            m.d.sync += row.eq(row + 1)
            with m.If(~wide | row[0]):
                m.d.sync += start.eq(start + request.stride)
        with m.If(self.i.ready):
            m.d.sync += [busy.eq(self.i.valid), row.eq(0), request.eq(self.i.p), start.eq(self.i.p.address)]
        return m


RECORDS = (
    Unit(
        name="tilise_address",
        config_type=ConversionConfig,
        build=TiliseAddress,
        summary="Tensix: L1 addresses of an unpacker in tilise mode",
        covered=Covered(ConversionConfig(numerics=BLACKHOLE.numerics), 200),
        judges=(Judge(1, ConversionConfig(numerics=BLACKHOLE.numerics)),),
        waves=(CLOCK, INPUTS, WaveGroup("rows", r"(request|start|row|busy|words|wide)"), OUTPUT),
    ),
)
