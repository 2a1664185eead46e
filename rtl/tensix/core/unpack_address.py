"""Addresses of an UNPACR: from the address counters and the tile descriptor to rows in L1 and in SrcA or SrcB.

::

    datum   = ((W * Z_dim + Z) * Y_dim + Y) * X_dim + X          channel 0; (X of channel 1) - (X of channel 0) + 1 datums
    row     = (Y * Y_stride + Z * Z_stride + W * W_stride) / bytes of a datum / 16      channel 1, from the base or Dst address

Ref: tt-isa-documentation 3930471, UNPACR_Regular.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.config_fields import FIELDS
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, FACE, SRC_ROWS, Format
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.tensix.core.config_file import field_of
from bitpath.rtl.tensix.core.l1_memory import line_address_bits
from bitpath.rtl.tensix.core.row_unpacker import rows_layout
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS

SKIPPED_ROWS = 4
"""Rows before SrcA's first one in unpacker 0's addresses."""
DST32_FORMATS = (Format.FP32, Format.TF32, Format.INT32)
"""Output formats whose addresses count four bytes a datum."""
DATUM_ADDRESS_BITS = 24
"""Bits of a datum's number, 2**24 datums of a byte being more than L1."""


class UnpackAddress(wiring.Component):
    """Combinational: latency 0.

    Parameters
    ----------
    config : configuration of the core.
    unpacker : 0 or 1.

    Members
    -------
    view : In(view_layout)
    o : Out(rows_layout)
    refused : Out(1), a core does not execute the UNPACR: block floats, E4M3, unpacking to Dst, transpose, tilise, column shift,
        compressed data, counters of another thread, a first datum or a number of datums that is no multiple of 16, rows that do
        not exist, addresses outside of L1
    """

    clocked = False

    def __init__(self, config: TensixCoreConfig, unpacker: int):
        self.config, self.unpacker = config, unpacker
        super().__init__({"view": In(view_layout(config.chip)), "o": Out(rows_layout(config)), "refused": Out(1)})

    def elaborate(self, platform):
        m = Module()
        unit, view = self.unpacker, self.view
        instruction, own = view.instruction, view.own
        near, far = view.adc[unit]

        def read(name: str) -> Value:
            places = len(FIELDS[self.config.chip][name])
            return field_of(view.shared, name, unit % places if places else 0)

        multi = instruction.multi_context
        in_format, out_format = read("l1_format"), read("unpack_out_format")
        x_dim = Signal(16)
        z_dim = Signal(16)
        first = Signal(DATUM_ADDRESS_BITS)
        count = Signal(20)
        m.d.comb += [
            x_dim.eq(read("x_dim") if unit else Mux(multi, read("context_x_dim"), read("x_dim"))),
            z_dim.eq(Mux(read("z_dim") == 0, 1, read("z_dim"))),
            first.eq(((near.w.value * z_dim + near.z.value) * read("y_dim") + near.y.value) * x_dim + near.x.value),
            count.eq(far.x.value - near.x.value + 1),
        ]
        lines_log2 = _datum_bytes_log2(in_format)  # a row of 16 datums has as many 16 bytes as a datum has bytes
        address, row, aligned = Signal(33), Signal(32), Signal()
        m.d.comb += address.eq(read("base_address") + 1 + ((first >> 4) << lines_log2))
        self._row(m, read, row, aligned, out_format)
        rows = count >> 4
        m.d.comb += [
            self.o.address.eq(address),
            self.o.rows.eq(rows),
            self.o.row.eq(row),
            self.o.flips.eq(instruction.flip),
            self.o.control.l1_format.eq(in_format),
            self.o.control.register_format.eq(out_format),
            self.o.control.unsigned.eq(
                (in_format == Format.INT8) & read("src_b_unsigned" if unit else "src_a_unsigned")
            ),
        ]
        end = address + (rows << lines_log2)
        modes = Cat(read(name) for name in ("transpose", "tilise", "shift_amounts")) if unit == 0 else read("tilise")
        to_dst = Mux(multi, read("unpack_to_dst"), read("descriptor_to_dst")) if unit == 0 else 0
        compressed = ~Mux(multi, read("uncompressed"), read("descriptor_uncompressed"))[0]
        refusals = [
            in_format.matches(*BLOCK_FLOATS),
            ~in_format.matches(*Format),
            ~out_format.matches(*Format),
            read("unpack_e4m3").any() & (in_format == Format.FP8),
            modes.any(),
            Value.cast(to_dst).any(),
            compressed,
            multi & (instruction.adc != view.thread),
            far.x.value < near.x.value,
            first[:4].any() | count[:4].any(),
            rows > SRC_ROWS,
            ~aligned,
            end > 1 << line_address_bits(self.config.l1_words),
        ]
        if unit == 0:
            last = row + rows
            refusals += [last > SRC_ROWS, (last > FACE) & ~own.override_with_address[0]]
        m.d.comb += self.refused.eq(Cat(refusals).any())
        return m

    def _row(self, m: Module, read, row: Signal, aligned: Signal, out_format: Value) -> None:
        """Compute the first row, and whether the output address is one of a row that there is."""
        multi, channel = self.view.instruction.multi_context, self.view.adc[self.unpacker][1]
        strided = Signal(32)
        strides = (read(f"unpack_{name}_stride") * channel[name].value for name in "yzw")
        m.d.comb += strided.eq(sum(strides, Value.cast(0)))
        log2 = Mux(out_format.matches(*DST32_FORMATS), 2, _datum_bytes_log2(out_format))
        datums, given = Signal(32), Signal(32)
        m.d.comb += [datums.eq(strided >> log2), given.eq(datums)]
        if self.unpacker:
            m.d.comb += row.eq((given // COLUMNS) % SRC_ROWS)
        else:
            with m.If(multi):
                m.d.comb += given.eq(read("dst_address") + Mux(read("add_dst_address"), datums, 0))
            m.d.comb += row.eq(given[4:] - SKIPPED_ROWS)
        low = ((1 << log2) - 1)[:2]
        enough = given[4:] >= SKIPPED_ROWS if self.unpacker == 0 else 1
        m.d.comb += aligned.eq(~(strided & low).any() & ~given[:4].any() & enough)


def _datum_bytes_log2(code: Value) -> Value:
    """Return the bytes of a datum in L1, as a power of two; 0 for block floats."""
    found = Value.cast(0)
    for log, bits in ((1, 16), (2, 32)):
        formats = [fmt for fmt, width in DATUM_BITS.items() if width == bits]
        found = Mux(code.matches(*formats), log, found)
    return found
