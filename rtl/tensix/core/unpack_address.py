"""Addresses of an UNPACR: from the address counters and the tile descriptor to rows in L1 and in SrcA, SrcB or Dst.

::

    datum   = ((W * Z_dim + Z) * Y_dim + Y) * X_dim + X          channel 0; (X of channel 1) - (X of channel 0) + 1 datums
    row     = (Y * Y_stride + Z * Z_stride + W * W_stride) / bytes of a datum / 16      channel 1, from the base or Dst address
    context = (the instruction's number or the thread's counter) + the thread's offset      multi-context mode, else 0

Ref: tt-isa-documentation 3930471, UNPACR_Regular.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import FIELDS
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    FACE,
    SRC_ROWS,
    Chip,
    Format,
)
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.tensix.core.config import UnpackAddressConfig
from bitpath.rtl.tensix.core.config_file import field_of
from bitpath.rtl.tensix.core.dst_rows import row_order
from bitpath.rtl.tensix.core.l1_memory import line_address_bits
from bitpath.rtl.tensix.core.row_unpacker import (
    DST32_FORMATS,
    LINE_BYTES_LOG2,
    LINE_WORDS_LOG2,
    row_words_log2,
    rows_layout,
)
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS

SKIPPED_ROWS = 4
"""Rows before SrcA's first one in unpacker 0's addresses."""
SHIFT_BITS = 4
"""Bits of a context's column shift; in tilise mode three of them are the row stride in units of 16 bytes."""
CONTEXT_BITS = 3
WIDE_FORMATS = (Format.FP32, Format.INT32)
"""Formats that Dst alone holds."""
DATUM_BITS_IN_L1 = 24
"""Bits of the number of a datum in L1, whose 2 MB at most have 2**23 datums of 2 bits."""
DATUM_NUMBER_BITS, TILE_BITS, START_BITS = 57, 48, 44
"""Bits of the largest first datum, datums of a tile, and start of a tile, that counters and descriptors give."""


class UnpackAddress(wiring.Component):
    """It is combinational, with latency 0.

    Parameters
    ----------
    config : the chip, the unpacker, and the size of L1.

    Members
    -------
    view : In(view_layout)
    counter : In(3), the thread's counter of contexts; counted : Out(3), its value behind the UNPACR
    o : Out(rows_layout)
    refused : Out(1), a core does not execute the UNPACR: compressed data; a context that unpacker 1 has not; formats of 32 bits for
        SrcA and SrcB; counters of another thread; a first datum or a number of datums that is no multiple of 16, or of 256 if
        transposed; a first row that is no multiple of 16 if transposed; a start that is no multiple of 16 bytes if transposed or
        tilised; tilised block floats; transposition or a column shift to Dst; tilise mode in unpacker 1; rows that do not exist;
        addresses outside of L1
    """

    clocked = False

    def __init__(self, config: UnpackAddressConfig):
        self.config = config
        super().__init__(
            {
                "view": In(view_layout(config.chip)),
                "counter": In(CONTEXT_BITS),
                "counted": Out(CONTEXT_BITS),
                "o": Out(rows_layout(config)),
                "refused": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        unit, view, o = self.config.unpacker, self.view, self.o
        instruction = view.instruction
        near, far = view.adc[unit]
        multi, context = instruction.multi_context, self._context(m)
        in_format, out_format = self._read("l1_format"), self._read("unpack_out_format")
        first, count = Signal(DATUM_NUMBER_BITS), Signal(20)
        datums = self._tile(m, near, first, context)
        m.d.comb += count.eq(far.x.value - near.x.value + 1)
        modes = self._modes(m, in_format, context)
        words_log2 = row_words_log2(in_format)
        base, start, row, aligned = Signal(33), Signal(START_BITS), Signal(32), Signal()
        # The exponents of a whole tile of block floats come first, 16 bytes for 256 datums.
        blocks = in_format.matches(*BLOCK_FLOATS) & ~o.forced
        exponents = Mux(blocks, (datums + 255) >> 8, 0)
        offset = _chosen(view.shared[f"base_offsets_{unit}"], context)
        m.d.comb += [
            base.eq(self._of_context("base_address", f"base_addresses_{unit}", context) + offset + 1),
            start.eq(((base + exponents) << LINE_WORDS_LOG2) + (first[4:DATUM_BITS_IN_L1] << words_log2)),
        ]
        self._row(m, row, aligned, out_format, context)
        rows = count >> 4
        m.d.comb += [
            o.address.eq(start),
            o.exponent.eq((base << LINE_BYTES_LOG2) + first[4:DATUM_BITS_IN_L1]),
            o.rows.eq(rows),
            o.row.eq(row),
            o.flips.eq(instruction.flip),
            o.zero.eq(instruction.zero),
            o.control.l1_format.eq(in_format),
            o.control.register_format.eq(out_format),
            o.control.e4m3.eq(self._read("unpack_e4m3")),
            o.control.unsigned.eq(
                (in_format == Format.INT8) & self._read("src_b_unsigned" if unit else "src_a_unsigned")
            ),
        ]
        end = start + (rows << words_log2)
        uncompressed = self._of_context("uncompressed", f"uncompressed_{unit}", context)
        compressed = ~Mux(multi, uncompressed, self._read("descriptor_uncompressed"))[0]
        refusals = [
            ~in_format.matches(*Format),
            ~out_format.matches(*Format),
            modes,
            compressed,
            multi & (instruction.adc != view.thread),
            far.x.value < near.x.value,
            out_format.matches(*WIDE_FORMATS) & ~o.control.to_dst & ~instruction.zero,
            first[:4].any() | count[:4].any(),
            rows > SRC_ROWS,
            first[DATUM_BITS_IN_L1:].any(),
            blocks & (first + count > datums),
            ~aligned,
            end > 1 << line_address_bits(self.config.l1_words) + LINE_WORDS_LOG2,
        ]
        if unit:
            refusals.append(context[1:].any())
        else:
            refusals += self._first_unpackers(m, start, row, rows)
        m.d.comb += self.refused.eq(Cat(refusals).any())
        return m

    def _read(self, name: str) -> Value:
        """Return a field of this unpacker, or the field that both share."""
        places = len(FIELDS[self.config.chip][name])
        return field_of(self.view.shared, name, self.config.unpacker % places if places else 0)

    def _context(self, m: Module) -> Signal:
        """Return the context, 0 without multi-context mode, and count."""
        instruction, shared, unit = self.view.instruction, self.view.shared, self.config.unpacker
        context = Signal(CONTEXT_BITS)
        number = Mux(instruction.context_counter, self.counter, instruction.context)
        after = context + 1
        m.d.comb += [
            context.eq(Mux(instruction.multi_context, number + self.view.own.context_offset[unit], 0)),
            self.counted.eq(Mux(after < 1 << shared.context_count[unit], after, 0)),
        ]
        with m.If(~(instruction.multi_context & instruction.context_counter)):
            m.d.comb += self.counted.eq(self.counter)
        return context

    def _of_context(self, first: str, others: str, context: Value) -> Value:
        """Return a field of a context; contexts behind the last one that has its own take the first ones'."""
        fields = [self._read(first), *(self.view.shared[others][k] for k in range(len(self.view.shared[others])))]
        return Cat(fields).word_select(context[: (len(fields) - 1).bit_length()], len(fields[0]))

    def _tile(self, m: Module, near: data.View, first: Signal, context: Value) -> Value:
        """Compute the first datum; return the datums of the tile."""
        multi = self.view.instruction.multi_context
        x_dim, z_dim = Signal(16), Signal(16)
        datums = Signal(TILE_BITS)
        y_dim = self._read("y_dim")
        m.d.comb += [
            x_dim.eq(
                self._read("x_dim")
                if self.config.unpacker
                else Mux(multi, self._of_context("context_x_dim", "context_x_dims", context), self._read("x_dim"))
            ),
            z_dim.eq(Mux(self._read("z_dim") == 0, 1, self._read("z_dim"))),
            first.eq(((near.w.value * z_dim + near.z.value) * y_dim + near.y.value) * x_dim + near.x.value),
            datums.eq(x_dim * y_dim * z_dim),
        ]
        return datums

    def _modes(self, m: Module, in_format: Value, context: Value) -> Value:
        """Choose the modes; return whether they do not go together."""
        o, blocks = self.o, in_format.matches(*BLOCK_FLOATS)
        forced = Mux(blocks, self._read("force_exponent"), 0)
        m.d.comb += [o.forced.eq(forced), o.forced_exponent.eq(self._read("forced_exponent"))]
        if self.config.unpacker:
            return self._read("tilise").any()
        multi, stride = self.view.instruction.multi_context, self._read("shift_amounts")
        shift = Cat(stride, self._read("last_shift_amount")).word_select(context[:2], SHIFT_BITS)
        to_dst = Mux(
            multi, self._of_context("unpack_to_dst", "contexts_to_dst", context), self._read("descriptor_to_dst")
        )
        m.d.comb += [
            o.turns.eq(self._read("transpose")),
            o.tilises.eq(self._read("tilise")),
            o.stride.eq(Mux(o.tilises, stride, shift)),
            o.control.to_dst.eq(to_dst),
            o.order.eq(row_order(self.view.shared)),
        ]
        shifted = ~o.tilises & o.stride.any()
        return (o.tilises & blocks) | (o.control.to_dst & (o.turns | shifted))

    def _first_unpackers(self, m: Module, start: Value, row: Value, rows: Value) -> list[Value]:
        """Return the conditions that unpacker 0 refuses."""
        o, own = self.o, self.view.own
        last, reached = row + rows, Signal(32)
        wide = self.config.numerics.tilise_wide_rows & (row_words_log2(o.control.l1_format) > LINE_WORDS_LOG2)
        # Lines up to the last row's end, which has at most 64 bytes, or 128 where rows of datums are two register rows.
        steps = Mux(wide, (rows - 1) >> 1, rows - 1)
        row_words = (1 << row_words_log2(o.control.l1_format)) << (wide & ~rows[0])
        m.d.comb += reached.eq(start + ((steps * o.stride) << LINE_WORDS_LOG2) + row_words)
        overrides = own.override_with_address[0]
        return [
            Mux(o.control.to_dst, overrides, (last > SRC_ROWS) | (last > FACE) & ~overrides),
            o.turns & (rows[:4].any() | row[:4].any()),
            (o.turns | o.tilises) & start[:LINE_WORDS_LOG2].any(),
            o.tilises & (reached > 1 << line_address_bits(self.config.l1_words) + LINE_WORDS_LOG2),
        ]

    def _row(self, m: Module, row: Signal, aligned: Signal, out_format: Value, context: Value) -> None:
        """Compute the first row, and whether the output address belongs to an existing row."""
        multi, channel = self.view.instruction.multi_context, self.view.adc[self.config.unpacker][1]
        strided = Signal(32)
        strides = (self._read(f"unpack_{name}_stride") * channel[name].value for name in "yzw")
        m.d.comb += strided.eq(sum(strides, Value.cast(0)))
        log2 = Mux(out_format.matches(*DST32_FORMATS), 2, _datum_bytes_log2(out_format))
        datums, given = Signal(32), Signal(32)
        m.d.comb += [datums.eq(strided >> log2), given.eq(datums)]
        if self.config.unpacker:
            m.d.comb += row.eq((given // COLUMNS) % SRC_ROWS)
        else:
            adds = self._read("add_dst_address") | self.o.control.to_dst
            with m.If(multi):
                address = self._of_context("dst_address", "dst_addresses", context)
                m.d.comb += given.eq(address + Mux(adds, datums, 0))
            m.d.comb += row.eq(given[4:] - SKIPPED_ROWS)
        low = ((1 << log2) - 1)[:2]
        enough = given[4:] >= SKIPPED_ROWS if self.config.unpacker == 0 else 1
        m.d.comb += aligned.eq(~(strided & low).any() & ~given[:4].any() & enough)


def _chosen(fields: data.View, number: Value) -> Value:
    """Return a field of several, whose number is a power of two."""
    return fields[number[: (len(fields) - 1).bit_length()]]


def _datum_bytes_log2(code: Value) -> Value:
    """Return the bytes of a datum in L1, as a power of two; 0 for block floats."""
    found = Value.cast(0)
    for log, bits in ((1, 16), (2, 32)):
        formats = [fmt for fmt, width in DATUM_BITS.items() if width == bits]
        found = Mux(code.matches(*formats), log, found)
    return found


RECORDS = (
    Unit(
        name="unpack_address",
        config_type=UnpackAddressConfig,
        build=UnpackAddress,
        summary="Tensix: rows of L1 and of SrcA, SrcB or Dst of an UNPACR",
        covered=Covered(UnpackAddressConfig(chip=Chip.BLACKHOLE), 2000),
        judges=(Judge(99, UnpackAddressConfig(chip=Chip.BLACKHOLE), 1000),),
        agreed=UnpackAddressConfig(unpacker=1),
    ),
)
