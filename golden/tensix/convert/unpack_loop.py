"""The unpackers as compiled passes over tiles of datums, which stay in the nearest cache."""

import numpy as np

from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.convert.block_floats_loop import STEPS, block_fields, decode_blocks
from bitpath.golden.tensix.convert.source_word_loop import source_word_fields, to_source_words
from bitpath.golden.tensix.convert.tiles_loop import SHARE, TILE, by_width, codes_of, lanes, load
from bitpath.golden.tensix.declarations.formats import BLOCK, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics


def unpack(
    numerics: TensixNumerics,
    data: np.ndarray,
    width: int,
    in_format: Format,
    out_format: Format,
    *,
    unsigned: bool,
    e4m3: bool,
) -> np.ndarray:
    """Return the register words of datums of `width` bytes, uint8."""
    codes = codes_of(data, width)
    words = np.empty(codes.size, np.uint32)
    fields = lanes(source_word_fields(numerics, in_format, out_format, unsigned=unsigned, e4m3=e4m3))

    def work(part: slice) -> None:
        _unpack(by_width(codes[part]), width, words[part], fields)

    in_parallel(work, shares(words.size, SHARE))
    return words


def unpack_blocks(numerics: TensixNumerics, fmt: Format, exponents: np.ndarray, data: np.ndarray) -> np.ndarray:
    """Return the source words of blocks.

    Parameters
    ----------
    exponents : uint8, one a block.
    data : uint8 bytes of the datums.
    """
    exponents, data = owned(exponents), owned(data)
    words = np.empty(exponents.size * BLOCK, np.uint32)
    block = block_fields(numerics, fmt)
    fields, datum_bits = lanes(block), block.magnitude_bits + 1

    def work(part: slice) -> None:
        _unpack_blocks(exponents[part.start // BLOCK :], data[part.start * datum_bits // 8 :], words[part], fields)

    in_parallel(work, shares(words.size, SHARE))
    return words


@kernel
def _unpack(data, width, words, fields):
    codes = np.empty(TILE, np.uint32)
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
