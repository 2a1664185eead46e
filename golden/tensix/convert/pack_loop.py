"""The packers as one compiled pass: each step is a loop over a tile of words, which stays in the nearest cache."""

import numpy as np

from bitpath.golden.arrays.bits import kernel
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.convert.block_floats import exponent_stream_bytes
from bitpath.golden.tensix.convert.block_floats_loop import STEPS, block_fields, encode_blocks
from bitpath.golden.tensix.convert.early_conversion_loop import convert_early, early_fields
from bitpath.golden.tensix.convert.edge_mask_loop import mask_edge
from bitpath.golden.tensix.convert.exponent_threshold_loop import apply_threshold, threshold_fields
from bitpath.golden.tensix.convert.l1_accumulate_loop import add_to_l1
from bitpath.golden.tensix.convert.late_conversion_loop import convert_late, late_fields
from bitpath.golden.tensix.convert.relu_loop import apply_relu, relu_fields
from bitpath.golden.tensix.convert.tiles_loop import SHARE, TILE, by_width, codes_of, lanes, store
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics


def pack(
    numerics: TensixNumerics,
    words: np.ndarray,
    mid_format: Format,
    out_format: Format,
    width: int,
    masks: np.ndarray,
    old: np.ndarray,
    bits: np.ndarray,
    *,
    dst32: bool,
    unsigned: bool,
    raw: bool,
    narrows: bool,
    e4m3: bool,
    descale_shift: int,
    replacement: int,
    relu: int,
    relu_threshold: int,
    exponent_threshold: int,
) -> np.ndarray:
    """Return the bytes of Dst words, uint32; arguments beside these are those of `tensix.pack`, checked.

    Parameters
    ----------
    width : bytes of a datum; 1 for block floats.
    masks : edge masks, one for each 16 words, or none.
    old : uint8 bytes to add to, as many as the result has, or none.
    bits : random bits, uint32, one for each word, or none.
    replacement : intermediate value of masked words.
    narrows : True if BF16 Dst words are narrowed to the intermediate format FP16.
    """
    words = owned(words).reshape(-1)
    block = block_fields(numerics, out_format)
    steps = (
        early_fields(
            numerics,
            mid_format,
            dst32=dst32,
            unsigned=unsigned,
            raw=raw,
            narrows=narrows,
            stochastic=bits.size > 0,
            descale_shift=descale_shift,
        ),
        relu_fields(mid_format, relu, relu_threshold, unsigned=unsigned),
        threshold_fields(mid_format, exponent_threshold),
        late_fields(mid_format, out_format, e4m3=e4m3),
        block,
    )
    options = np.uint32(replacement), *map(lanes, steps), width
    in_blocks = out_format in BLOCK_FLOATS
    stream = exponent_stream_bytes(words.size) if in_blocks else 0
    datum_bits = block.magnitude_bits + 1 if in_blocks else 8 * width
    result = np.empty(stream + words.size * datum_bits // 8, np.uint8)
    exponents, codes = result[:stream], result[stream:].view(f"u{width}")
    exponents[words.size // BLOCK :] = 0
    bits = owned(bits).reshape(-1)
    rows, present = owned(masks.astype("<u2")).view(np.uint8), codes_of(old, width)

    def work(part: slice) -> None:
        own = codes[part.start * datum_bits // (8 * width) :]
        _pack(
            words[part], bits[part], rows[part.start // 8 :], exponents[part.start // BLOCK :], by_width(own), *options
        )
        if present.size:
            add_to_l1(numerics, present[part], codes[part], out_format)

    in_parallel(work, shares(words.size, SHARE))
    return result.view(f"u{width}").astype(f"<u{width}", copy=False).view(np.uint8)


@kernel
def _pack(
    words, bits, masks, exponents, data, replacement, early, relu, threshold, late, block, width
):  # fmt: skip
    values = np.empty(TILE, np.uint32)
    scratch = np.empty((STEPS + 1, TILE), np.uint8)
    datum_bits = np.int64(block.magnitude_bits) + 1
    for start in range(0, words.shape[0], TILE):
        size = min(TILE, words.shape[0] - start)
        tile = values[:size]
        convert_early(words[start : start + size], bits[start : start + size], tile, early)
        if masks.shape[0]:
            mask_edge(tile, masks[start // 8 :], replacement, scratch)
        apply_relu(tile, relu)
        apply_threshold(tile, threshold)
        convert_late(tile, late)
        if block.magnitude_bits:
            encode_blocks(tile, exponents[start // BLOCK :], data[0][start * datum_bits // 8 :], block, scratch)
        else:
            store(tile, data, start, width)
