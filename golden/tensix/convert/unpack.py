"""The unpackers' conversions: datums in L1 to words of SrcA, SrcB and Dst.

Ref: tt-isa-documentation 3930471, UNPACR_Regular and Unpackers/FormatConversion; ttsim v1.10.0 for FP32 to FP16.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked, integer, one_of
from bitpath.golden.tensix.convert.formats import check_e4m3, exponent_stream_bytes
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    COLUMNS,
    EXPONENT5_FORMATS,
    FACE,
    Chip,
    Format,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import format_member, numerics_or_default

L1_BYTES = {
    Format.FP32: 4,
    Format.TF32: 4,
    Format.INT32: 4,
    Format.FP16: 2,
    Format.BF16: 2,
    Format.INT16: 2,
    Format.FP8: 1,
    Format.INT8: 1,
}
"""Bytes of a datum in L1, but for block floats."""

CONVERSIONS = {fmt: (fmt,) for fmt in L1_BYTES} | {
    Format.FP32: (Format.FP32, Format.TF32, Format.BF16, Format.FP16),
    Format.FP8: (Format.FP8, Format.FP16),
    **{fmt: (fmt, Format.BF16 if each.exponent_bits == 8 else Format.FP16) for fmt, each in BLOCK_FLOATS.items()},
}
"""Register formats that each L1 format converts to. FP32 and INT32 make 32-bit Dst words, all others Src words."""


@checked
def unpack(
    l1: np.ndarray,
    in_format: Format | int | str,
    out_format: Format | int | str,
    *,
    unsigned: bool = False,
    e4m3: bool = False,
    count: int = 256,
    forced_exponent: int | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Convert datums in L1 to register words.

    Parameters
    ----------
    l1 : uint8 bytes or uint32 little-endian words, one axis; block floats have their exponent bytes first, padded to 16.
    in_format, out_format : a pair of `CONVERSIONS`, members, hardware codes or names.
    unsigned : True if INT8 datums are 0 to 255 (else sign and 7 magnitude bits).
    e4m3 : True if FP8 datums are E4M3, else E5M2; without effect on other formats.
    count : datums, a multiple of 16 for block floats.
    forced_exponent : the unpacker's forced shared exponent, for all blocks; `l1` then holds datums without exponents.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 [count]: logical 19-bit Src words; 32-bit Dst words for the register formats FP32 and INT32.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or pair of formats; too few bytes; `unsigned` without INT8; an exponent of
        more than 5 bits in an 'a' variant; `forced_exponent` without block floats; `e4m3` where the chip has none.
    """
    formats = format_member("in_format", in_format), format_member("out_format", out_format)
    numerics = numerics_or_default(numerics, chip)
    return _unpacked(conversion_of(numerics, *formats, unsigned, e4m3, forced_exponent, False), l1, count)


Conversion = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""Register words of exponent bytes, bytes of datums, and a number of datums."""


class Unpacking(NamedTuple):
    """A conversion with its settings, which are checked.

    Attributes
    ----------
    convert : the compiled conversion.
    in_format, bits : format and bits of a datum in L1.
    reads_exponents : True if L1 holds the blocks' exponents.
    """

    convert: Conversion
    in_format: Format
    bits: int
    reads_exponents: bool


def conversion_of(
    numerics: TensixNumerics,
    in_format: Format,
    out_format: Format,
    unsigned: bool,
    e4m3: bool,
    forced_exponent: int | None,
    to_dst: bool,
) -> Unpacking:
    """Return the conversion of `unpack`, or with `to_dst` of `unpack_to_dst`; raises ValueError as they do."""
    if to_dst and out_format in DST32_FORMATS and in_format in (Format.FP32, out_format):
        # Two formats of the same 32 bits, which FP32 and INT32 alone keep whole.
        return conversion_of(numerics, Format.FP32, Format.FP32, unsigned, e4m3, forced_exponent, False)
    if out_format not in CONVERSIONS[in_format]:
        known = one_of(each.name for each in CONVERSIONS[in_format])
        raise ValueError(f"out_format must be {known} from {in_format.name}, not {out_format.name}")
    if unsigned and in_format is not Format.INT8:
        raise ValueError(f"unsigned must be False with in_format {in_format.name}, not True")
    e4m3 = check_e4m3(numerics, in_format, e4m3)
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.convert import datums_loop, unpack_loop

    block = BLOCK_FLOATS.get(in_format)
    if block is not None:
        limits = range(1 << block.exponent_bits)
        if forced_exponent is not None:
            forced_exponent = integer("forced_exponent", forced_exponent, limits, f" for {in_format.name}")
        fields = datums_loop.lanes(datums_loop.block_fields(numerics, in_format))

        def convert(exponents: np.ndarray, data: np.ndarray, count: int) -> np.ndarray:
            if forced_exponent is not None:
                exponents = np.full(count // BLOCK, forced_exponent, np.uint8)
            elif exponents.max() not in limits:
                raise ValueError(
                    f"l1 holds the exponent {exponents.max()}; {in_format.name} has {block.exponent_bits} exponent bits"
                )
            return unpack_loop.unpack_blocks(exponents, data, fields)

    else:
        if forced_exponent is not None:
            raise ValueError(f"forced_exponent must be None with in_format {in_format.name}, not {forced_exponent}")
        width = L1_BYTES[in_format]
        word = np.array(
            unpack_loop.source_word_fields(numerics, in_format, out_format, unsigned=unsigned, e4m3=e4m3), np.uint32
        )

        def convert(exponents: np.ndarray, data: np.ndarray, count: int) -> np.ndarray:
            return unpack_loop.unpack(data, width, word)

    return Unpacking(
        convert=(lambda *datums: _without_dst_bits(convert(*datums), out_format)) if to_dst else convert,
        in_format=in_format,
        bits=8 * L1_BYTES[in_format] if block is None else block.datum_bits,
        reads_exponents=block is not None and forced_exponent is None,
    )


def _unpacked(conversion: Unpacking, l1: np.ndarray, count: int) -> np.ndarray:
    """Return the register words of datums at the begin of L1, behind their exponents."""
    data = as_bytes("l1", l1)
    if count < 1:
        raise ValueError(f"count must be 1 or more, not {count}")
    if conversion.in_format in BLOCK_FLOATS and count % BLOCK:
        name = conversion.in_format.name
        raise ValueError(f"count must be a multiple of {BLOCK} with in_format {name}, not {count}")
    start = exponent_stream_bytes(count) if conversion.reads_exponents else 0
    data = first_bytes(data, start + count * conversion.bits // 8)
    return conversion.convert(data[: count // BLOCK], data[start:], count)


def as_bytes(name: str, l1: np.ndarray) -> np.ndarray:
    """Return L1 contents as uint8, whatever the byte order of the host."""
    check_array(name, l1, np.uint8, np.uint32)
    if l1.ndim != 1:
        raise ValueError(f"{name} must have one axis, not shape {l1.shape}")
    return np.ascontiguousarray(l1.astype(l1.dtype.newbyteorder("<"), copy=False)).view(np.uint8)


def first_bytes(data: np.ndarray, needed: int) -> np.ndarray:
    """Return the bytes of L1 that are needed; raise ValueError for fewer."""
    if len(data) < needed:
        raise ValueError(f"l1 must have {needed} or more bytes, not {len(data)}")
    return data[:needed]


# Unpacker 0 into Dst: FP32, TF32 and INT32 are copied, all others are converted as for SrcA and lose the bits that Dst lacks.
#
# Ref: tt-isa-documentation, UNPACR_Regular.


DST32_FORMATS = (Format.FP32, Format.TF32, Format.INT32)
"""Register formats of 32 bits in Dst; TF32 means FP32 there."""


@checked
def unpack_to_dst(
    l1: np.ndarray,
    in_format: Format | int | str,
    out_format: Format | int | str,
    *,
    unsigned: bool = False,
    e4m3: bool = False,
    count: int = 256,
    forced_exponent: int | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Convert datums in L1 to Dst words; nothing is flushed but by FP32 to BF16. The arguments are those of `unpack`.

    Returns
    -------
    uint32 [count]: words of 32 bits for FP32, TF32 and INT32, FP16's for formats with 5 exponent bits and INT8, else BF16's,
    in the logical order.

    Raises
    ------
    TypeError, ValueError : as `unpack`.
    """
    formats = format_member("in_format", in_format), format_member("out_format", out_format)
    numerics = numerics_or_default(numerics, chip)
    return _unpacked(conversion_of(numerics, *formats, unsigned, e4m3, forced_exponent, True), l1, count)


def _without_dst_bits(words: np.ndarray, fmt: Format) -> np.ndarray:
    """Return source words without the bits that Dst lacks."""
    if fmt in (*EXPONENT5_FORMATS, Format.INT8):
        return (words & 1 << 18) >> 3 | words & 0x7FFF
    return words >> 3


# An UNPACR's datums as rows of SrcA, SrcB or Dst: where they come from in L1, and where each goes.
#
# Output i of the unpacker, with zeros or gaps for upsampling, goes to row i // 16 and column i % 16; then::
#
#     column shift     columns below it are lost, all others move down by it
#     transpose        row and column are exchanged within each aligned 16 rows
#
# In tilise mode each row of datums starts `row_stride` bytes after the one before. A row has 16 datums; on Blackhole 32 of formats
# of 16 and 32 bits.
#
# Ref: tt-isa-documentation, UNPACR_Regular; ttsim v1.10.0 for the rows of 32.


ALIGNMENT = 16
"""Bytes of which `row_stride`, and in some modes the first datum's address, is a multiple."""
LARGEST_STRIDE = 0xFFF0
WIDE_ROW = 2 * COLUMNS


@checked
@dataclass(frozen=True, kw_only=True)
class UnpackControl:
    """Configuration of an unpacker: formats, upsampling and places.

    Attributes
    ----------
    in_format, out_format : members or hardware codes.
    unsigned, e4m3, forced_exponent : as `unpack` takes them.
    to_dst : True for unpacker 0 into Dst.
    transpose : Haloize_mode, unpacker 0's into SrcA alone.
    row_stride : bytes from row to row, Tileize_mode; None without.
    col_shift : columns that rows of SrcA lose on the left, 0 to 15; not in tilise mode.
    upsample_rate : each datum is followed by 2**rate - 1 outputs, 0 to 3; not in tilise mode.
    interleave : True if these outputs are left as they were, False if they are zeros.
    zero : AllDatumsAreZero.
    """

    in_format: Format
    out_format: Format
    unsigned: bool = False
    e4m3: bool = False
    forced_exponent: int | None = None
    to_dst: bool = False
    transpose: bool = False
    row_stride: int | None = None
    col_shift: int = 0
    upsample_rate: int = 0
    interleave: bool = False
    zero: bool = False

    def __post_init__(self) -> None:
        integer("col_shift", self.col_shift, range(COLUMNS))
        integer("upsample_rate", self.upsample_rate, range(4))
        if self.to_dst and (self.transpose or self.col_shift):
            raise ValueError(
                f"to_dst must be False with transpose {self.transpose} and col_shift {self.col_shift}, not True"
            )
        if self.row_stride is None:
            return
        if integer("row_stride", self.row_stride, range(LARGEST_STRIDE + 1)) % ALIGNMENT:
            raise ValueError(f"row_stride must be a multiple of {ALIGNMENT}, not {self.row_stride}")
        if self.col_shift or self.upsample_rate:
            raise ValueError(
                f"row_stride must be None with col_shift {self.col_shift} and upsample_rate {self.upsample_rate}, "
                f"not {self.row_stride}"
            )


@checked
def unpack_tile(
    l1: np.ndarray,
    control: UnpackControl,
    *,
    first_datum: int = 0,
    count: int = 256,
    tile_datums: int | None = None,
    before: np.ndarray | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Return the register rows that one UNPACR writes, from its first output row on.

    Parameters
    ----------
    l1 : uint8 bytes or uint32 words from the unpacker's base address on; block floats have the exponents of the whole tile first,
        unless one is forced.
    first_datum, count : datums of the tile that are read; multiples of 16 for block floats. With `transpose` or a `row_stride` the
        first is at a multiple of 16 bytes.
    tile_datums : datums of the tile, for its exponents; None is `first_datum + count`.
    before : uint32 [R, 16], the rows before, of which unwritten places stay; None is zeros.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 [R, 16], R rows for all outputs, a multiple of 16 with `transpose`: words of `unpack`, or with `to_dst` of
    `unpack_to_dst`.

    Raises
    ------
    TypeError, ValueError : as `unpack`; a wrong shape of `before`; a tilise mode with datums below 8 bits.
    """
    numerics = numerics_or_default(numerics, chip)
    integer("first_datum", first_datum, range(1 << 32))
    integer("count", count, range(1, 1 << 16))
    rows = -(-(count << control.upsample_rate) // COLUMNS)
    if control.transpose:
        rows = -(-rows // FACE) * FACE
    if before is None:
        result = np.zeros((rows, COLUMNS), np.uint32)
    else:
        check_array("before", before, np.uint32)
        check_shape("before", before, rows, COLUMNS)
        result = before.copy()
    tile_datums = first_datum + count if tile_datums is None else tile_datums
    tile_of(numerics, control)(as_bytes("l1", l1), first_datum, count, tile_datums, result, 0)
    return result


def tile_of(numerics: TensixNumerics, control: UnpackControl) -> Callable[..., None]:
    """Return the function that fills rows as `unpack_tile` does: of L1's bytes, `first_datum`, `count`, `tile_datums`, the rows, which
    wrap, and the first of them.

    Raises
    ------
    ValueError : as `conversion_of`; the function as `unpack_tile`.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.convert import unpack_loop

    fmt, step = control.in_format, 1 << control.upsample_rate
    conversion = conversion_of(
        numerics, fmt, control.out_format, control.unsigned, control.e4m3, control.forced_exponent, control.to_dst
    )
    bits, aligned = conversion.bits, control.transpose or control.row_stride is not None
    flags = step, control.interleave, control.zero, control.col_shift, control.transpose

    def fill(data: np.ndarray, first: int, count: int, tile_datums: int, rows: np.ndarray, row: int) -> None:
        exponents = data
        if fmt in BLOCK_FLOATS and count % BLOCK:
            raise ValueError(f"count must be a multiple of {BLOCK} with {fmt.name}, not {count}")
        if conversion.reads_exponents:
            if first % BLOCK:
                raise ValueError(f"first_datum must be a multiple of {BLOCK} with {fmt.name}, not {first}")
            stream = exponent_stream_bytes(tile_datums)
            exponents, data = first_bytes(data, stream)[first // BLOCK : (first + count) // BLOCK], data[stream:]
        if aligned and first * bits % (8 * ALIGNMENT):
            raise ValueError(f"first_datum must be at a multiple of {ALIGNMENT} bytes with {fmt.name}, not {first}")
        start = first * bits // 8
        if control.row_stride is None:
            data = first_bytes(data[start:], count * bits // 8)
        elif bits < 8:
            raise ValueError(f"row_stride must be None with {fmt.name}, not {control.row_stride}")
        else:
            wide = numerics.tilise_wide_rows and bits > 8
            data = _gathered(data, start, bits // 8, count, control.row_stride, wide=wide)
        unpack_loop.place(conversion.convert(exponents, data, count), *flags, row, rows)

    return fill


def _gathered(data: np.ndarray, start: int, width: int, count: int, stride: int, *, wide: bool) -> np.ndarray:
    """Return the bytes of datums whose rows are `stride` bytes apart."""
    row, place = np.divmod(np.arange(count), WIDE_ROW if wide else COLUMNS)
    addresses = start + row * stride + place * width
    first_bytes(data, int(addresses.max()) + width)
    return data[addresses[:, np.newaxis] + np.arange(width)].reshape(-1)
