"""The unpackers as compiled passes over tiles of datums, which stay in the nearest cache."""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.convert.datums_loop import (
    SHARE,
    STEPS,
    TILE,
    Block,
    by_width,
    codes_of,
    decode_blocks,
    load,
    narrow_exponent,
)
from bitpath.golden.tensix.convert.formats import E4M3_BIAS
from bitpath.golden.tensix.declarations.formats import BLOCK, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

COLUMNS = WORD_COLUMNS

# The unpackers' conversion of one datum, no block float, to a register word, compiled.


class SourceWord(NamedTuple):
    """Fields of the unpackers' conversion.

    Attributes
    ----------
    int8, int16, fp8 : 1 for these formats.
    magnitude : mask of an INT8's magnitude, of 7 bits or 8.
    narrows : 1 to narrow the exponent, from FP32 to FP16.
    short : 1 for 5 exponent bits.
    bias, ones : for FP8, added to FP16's exponent unless it is 0, and the low bits of the code with a magnitude of all ones.
    left, right : shifts of the datum, one after the other.
    kept : mask of the bits that remain.
    exponent : datums without any of these bits become a zero of their sign.
    sign : their sign bit.
    """

    int8: int = 0
    int16: int = 0
    fp8: int = 0
    magnitude: int = 0
    narrows: int = 0
    short: int = 0
    bias: int = 0
    ones: int = 0
    left: int = 0
    right: int = 0
    kept: int = 0xFFFFFFFF
    exponent: int = 0xFFFFFFFF
    sign: int = 0


def source_word_fields(
    numerics: TensixNumerics, in_format: Format, out_format: Format, *, unsigned: bool, e4m3: bool
) -> SourceWord:
    """Return the fields for a pair of `CONVERSIONS`; with `e4m3`, FP8 means E4M3."""
    match in_format, out_format:
        case Format.INT8, _:
            return SourceWord(int8=1, magnitude=0xFF if unsigned else 0x7F)
        case Format.INT16, _:
            return SourceWord(int16=1)
        case Format.FP8, _ if e4m3:
            return SourceWord(fp8=1, bias=E4M3_BIAS << 10, ones=0x7F, left=7)
        case Format.FP8, _:
            return SourceWord(fp8=1, ones=0xFF if numerics.fp8_all_ones else 0, left=8)
        case _ if out_format in EXPONENT5_FORMATS:
            return SourceWord(short=1, narrows=in_format is Format.FP32)
        case _, Format.TF32:
            return SourceWord(right=13)
        case Format.FP32, Format.BF16:
            return SourceWord(right=13, kept=~0b111 & 0xFFFFFFFF, exponent=0x7F800000, sign=1 << 31)
        case Format.BF16, _:
            return SourceWord(left=3)
    return SourceWord()


@piece
def _int8(datum, magnitude):
    own = np.uint32(datum & magnitude)
    return np.uint32((datum & ~magnitude & 0x80) << 11) | np.uint32(own > 0) << 14 | own


@piece
def _int16(datum):
    return np.uint32(datum >> 15 << 18 | (datum & 0xFF) << 10 | (datum >> 8 & 0x7F) << 3)


@piece
def _fp8(datum, left, bias, ones):
    magnitude = np.uint32(datum & 0x7F)
    code = np.uint32(magnitude << left)
    code = np.uint32(code + bias) if code >> 10 else code
    return datum >> 7 << 18 | code | (ones if magnitude == 0x7F else np.uint32(0))


@piece
def _place(datum, left, right, kept, exponent, sign):
    datum = datum if datum & exponent else np.uint32(datum & sign)
    return np.uint32(datum << left) >> right & kept


@piece
def _place_short(datum):
    """Place an FP16 word; its exponent has the low 5 bits of 8."""
    return datum >> 15 << 18 | datum & 0x7FFF


@piece
def _source_word_of(row):
    """Return the fields of a row of an array of them."""
    low = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
    return SourceWord(*low, row[8], row[9], row[10], row[11], row[12])


@njit(inline="always")
def to_source_words(codes, words, fields):
    """Write the register words of a tile of datums, both uint32."""
    int8, int16, fp8, magnitude, narrows, short, bias, ones, left, right, kept, exponent, sign = fields
    left, right = left & 31, right & 31
    if int8:
        for i in range(words.shape[0]):
            words[i] = _int8(codes[i], magnitude)
    elif int16:
        for i in range(words.shape[0]):
            words[i] = _int16(codes[i])
    elif fp8:
        for i in range(words.shape[0]):
            words[i] = _fp8(codes[i], left, bias, ones)
    elif narrows:
        for i in range(words.shape[0]):
            words[i] = _place_short(narrow_exponent(codes[i]))
    elif short:
        for i in range(words.shape[0]):
            words[i] = _place_short(codes[i])
    else:
        for i in range(words.shape[0]):
            words[i] = _place(codes[i], left, right, kept, exponent, sign)


def unpack(data: np.ndarray, width: int, fields: np.ndarray) -> np.ndarray:
    """Return the register words of datums of `width` bytes, uint8, by a `SourceWord`, uint32 [13]."""
    codes = codes_of(data, width)
    words = np.empty(codes.size, np.uint32)

    def work(part: slice) -> None:
        _unpack(by_width(codes[part]), width, words[part], fields)

    in_parallel(work, shares(words.size, SHARE))
    return words


def unpack_blocks(exponents: np.ndarray, data: np.ndarray, fields: Block) -> np.ndarray:
    """Return the source words of blocks.

    Parameters
    ----------
    exponents : uint8, one a block.
    data : uint8 bytes of the datums.
    fields : as `block_fields` returns them, as uint32.
    """
    exponents, data = owned(exponents), owned(data)
    words = np.empty(exponents.size * BLOCK, np.uint32)
    datum_bits = int(fields.magnitude_bits) + 1

    def work(part: slice) -> None:
        _unpack_blocks(exponents[part.start // BLOCK :], data[part.start * datum_bits // 8 :], words[part], fields)

    in_parallel(work, shares(words.size, SHARE))
    return words


@kernel
def place(words, step, interleave, zero, shift, transpose, first, rows):
    """Write an unpacker's outputs, of which a datum has `step`, to rows from `first` on; the rows wrap.

    Parameters
    ----------
    words : uint32 [datums].
    interleave : True to leave the places of the outputs after a datum's first, which are else 0.
    zero : True to write 0 for datums.
    shift : columns that are lost on the left.
    transpose : True to exchange row and column within each aligned 16 rows.
    rows : uint32 [R, 16].
    """
    for i in range(words.shape[0] * step):
        datum, rest = i // step, i % step
        row, column = i // COLUMNS, i % COLUMNS - shift
        if (rest != 0 and interleave) or column < 0:
            continue
        if transpose:
            row, column = row // COLUMNS * COLUMNS + column, row % COLUMNS
        rows[(first + row) % rows.shape[0], column] = words[datum] if rest == 0 and not zero else 0


@kernel
def _unpack(data, width, words, row):
    codes, fields = np.empty(TILE, np.uint32), _source_word_of(row)
    for start in range(0, words.shape[0], TILE):
        size = min(TILE, words.shape[0] - start)
        load(data, start, width, codes[:size])
        to_source_words(codes[:size], words[start : start + size], fields)


@kernel
def _unpack_blocks(exponents, data, words, block):
    scratch = np.empty((STEPS + 1, TILE), np.uint8)
    datum_bits = np.int64(block.magnitude_bits) + 1
    for start in range(0, words.shape[0], TILE):
        tile = words[start : min(start + TILE, words.shape[0])]
        decode_blocks(exponents[start // BLOCK :], data[start * datum_bits // 8 :], tile, block, scratch)
