"""The unpacker: rows of 16 datums in L1 to rows of SrcA, SrcB or Dst, up to 64 bytes of L1 a cycle.

Ref: tt-isa-documentation 3930471, UNPACR_Regular and Unpackers/FormatConversion.
"""

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS, unpack_request_layout, unpacked_layout
from bitpath.rtl.tensix.unpack.unpack_datum import UnpackDatum


class Unpacker(wiring.Component):
    """Rows of datums, converted to 19-bit Src words, or to 32-bit Dst words for the register formats FP32 and INT32.

    Latency is ``LATENCY`` = 1 cycle, throughput one request a cycle; it stalls while rows wait for ``o.ready``. Rows that do
    not fit in the 64 bytes of a request are rows of zeros. Pairs of formats that the hardware does not convert, and exponents
    above an 'a' variant's 5 bits, give undefined rows.

    Parameters
    ----------
    config : rows, and numerics, of which ``bfp_range`` and ``bfp_a_range`` are read.

    Members
    -------
    i : In(stream of unpack_request_layout)
    o : Out(stream of unpacked_layout); a Src word is in the low 19 bits, zeros above
    """

    LATENCY = 1
    """Cycles from a request to its rows."""

    def __init__(self, config: ConversionConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(unpack_request_layout(config.rows))),
                "o": Out(stream.Signature(unpacked_layout(config.rows))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request = self.i.p
        rows = Signal(unpacked_layout(self.config.rows), reset_less=True)
        advance = Signal()
        m.d.comb += [
            advance.eq(self.o.ready | ~self.o.valid),
            self.i.ready.eq(advance),
            self.o.p.eq(rows),
        ]
        with m.If(advance):
            m.d.sync += self.o.valid.eq(self.i.valid)
        ranges = (self.config.numerics.bfp_range, self.config.numerics.bfp_a_range)
        for k in range(self.config.rows * COLUMNS):
            row, column = divmod(k, COLUMNS)
            datum = instantiate(m, platform, f"datum_{k}", UnpackDatum, *ranges)
            m.d.comb += [datum.shared.eq(request.exponents[row]), datum.control.eq(request.control)]
            with m.Switch(request.control.l1_format):
                for bits in sorted(set(DATUM_BITS.values())):
                    if (k + 1) * bits > ROW_BITS:
                        continue
                    with m.Case(*(fmt for fmt, width in DATUM_BITS.items() if width == bits)):
                        m.d.comb += datum.code.eq(request.datums.word_select(k, bits))
            with m.If(advance):
                m.d.sync += rows[row][column].eq(datum.o)
        return m
