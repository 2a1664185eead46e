"""An UNPACR's datums as rows of SrcA, SrcB or Dst: where they come from in L1, and where each goes.

Output i of the unpacker, with zeros or gaps for upsampling, goes to row i // 16 and column i % 16; then::

    column shift     columns below it are lost, all others move down by it
    transpose        row and column are exchanged within each aligned 16 rows

In tilise mode each row of datums starts `row_stride` bytes after the one before. A row has 16 datums; on Blackhole 32 of formats
of 16 and 32 bits.

Ref: tt-isa-documentation, UNPACR_Regular; ttsim v1.10.0 for the rows of 32.
"""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked, integer
from bitpath.golden.tensix.convert.block_floats import exponent_stream_bytes
from bitpath.golden.tensix.convert.unpack import L1_BYTES, as_bytes, first_bytes, unpack
from bitpath.golden.tensix.convert.unpack_to_dst import unpack_to_dst
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, COLUMNS, FACE, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import numerics_or_default

ALIGNMENT = 16
"""Bytes of which `row_stride`, and in some modes the first datum's address, is a multiple."""
LARGEST_STRIDE = 0xFFF0
WIDE_ROW = 2 * COLUMNS


@checked
@dataclass(frozen=True, kw_only=True)
class UnpackControl:
    """Configuration of an unpacker.

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
    datums = _datums(numerics, as_bytes("l1", l1), control, first_datum, count, tile_datums)
    step = 1 << control.upsample_rate
    outputs = np.zeros(count * step, np.uint32)
    outputs[::step] = 0 if control.zero else datums
    written = np.arange(outputs.size) % step == 0 if control.interleave else np.ones(outputs.size, bool)
    row, column = np.divmod(np.arange(outputs.size), COLUMNS)
    written &= column >= control.col_shift
    column = column - control.col_shift
    rows = int(row[-1]) + 1
    if control.transpose:
        rows = -(-rows // FACE) * FACE
        row, column = row // FACE * FACE + column, row % FACE
    if before is None:
        result = np.zeros((rows, COLUMNS), np.uint32)
    else:
        check_array("before", before, np.uint32)
        check_shape("before", before, rows, COLUMNS)
        result = before.copy()
    result[row[written], column[written]] = outputs[written]
    return result


def _datums(
    numerics: TensixNumerics, data: np.ndarray, control: UnpackControl, first: int, count: int, tile_datums: int | None
) -> np.ndarray:
    """Return the converted datums."""
    fmt = control.in_format
    exponents = data[:0]
    if fmt in BLOCK_FLOATS and control.forced_exponent is None:
        if first % BLOCK:
            raise ValueError(f"first_datum must be a multiple of {BLOCK} with {fmt.name}, not {first}")
        stream = exponent_stream_bytes(first + count if tile_datums is None else tile_datums)
        exponents, data = first_bytes(data, stream)[first // BLOCK : (first + count) // BLOCK], data[stream:]
        exponents = np.pad(exponents, (0, -exponents.size % ALIGNMENT))
    bits = BLOCK_FLOATS[fmt].datum_bits if fmt in BLOCK_FLOATS else 8 * L1_BYTES[fmt]
    if (control.transpose or control.row_stride is not None) and first * bits % (8 * ALIGNMENT):
        raise ValueError(f"first_datum must be at a multiple of {ALIGNMENT} bytes with {fmt.name}, not {first}")
    start = first * bits // 8
    if control.row_stride is None:
        data = data[start:]
    else:
        if bits < 8:
            raise ValueError(f"row_stride must be None with {fmt.name}, not {control.row_stride}")
        data = _gathered(data, start, bits // 8, count, control.row_stride, wide=numerics.tilise_wide_rows and bits > 8)
    convert = unpack_to_dst if control.to_dst else unpack
    return convert(
        np.concatenate([exponents, data]),
        fmt,
        control.out_format,
        unsigned=control.unsigned,
        e4m3=control.e4m3,
        count=count,
        forced_exponent=control.forced_exponent,
        numerics=numerics,
    )


def _gathered(data: np.ndarray, start: int, width: int, count: int, stride: int, *, wide: bool) -> np.ndarray:
    """Return the bytes of datums whose rows are `stride` bytes apart."""
    row, place = np.divmod(np.arange(count), WIDE_ROW if wide else COLUMNS)
    addresses = start + row * stride + place * width
    first_bytes(data, int(addresses.max()) + width)
    return data[addresses[:, np.newaxis] + np.arange(width)].reshape(-1)
