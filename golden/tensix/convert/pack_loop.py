"""The packers as one compiled pass: each step is a loop over a tile of words, which stays in the nearest cache."""

import numpy as np

from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.convert.block_floats import exponent_stream_bytes
from bitpath.golden.tensix.convert.block_floats_loop import STEPS, block_fields, encode_blocks
from bitpath.golden.tensix.convert.early_conversion_loop import convert_early, early_fields, round_randomly, truncates
from bitpath.golden.tensix.convert.edge_mask_loop import mask_edge
from bitpath.golden.tensix.convert.exponent_threshold_loop import apply_threshold, threshold_fields
from bitpath.golden.tensix.convert.l1_accumulate_loop import add_to_l1
from bitpath.golden.tensix.convert.late_conversion_loop import convert_late, late_fields, shifts
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
    in_blocks, block = out_format in BLOCK_FLOATS, block_fields(numerics, out_format)
    early = early_fields(
        numerics,
        mid_format,
        dst32=dst32,
        unsigned=unsigned,
        raw=raw,
        narrows=narrows,
        stochastic=bits.size > 0,
        descale_shift=descale_shift,
    )
    late = late_fields(mid_format, out_format, e4m3=e4m3)
    edge = np.uint32(replacement), owned(masks.astype("<u2")).view(np.uint8)
    between = (
        relu_fields(mid_format, relu, relu_threshold, unsigned=unsigned),
        threshold_fields(mid_format, exponent_threshold),
    )
    changes = masks.size > 0 or relu > 0 or exponent_threshold > 0
    copies = not changes and truncates(early) and early.left == early.dropped == late.right and shifts(late)
    # numba compiles no step whose argument is None.
    options = (
        None if copies else lanes(early),
        (*edge, *map(lanes, between)) if changes else None,
        None if copies else lanes(late),
        lanes(block) if in_blocks else None,
    )
    stream = exponent_stream_bytes(words.size) if in_blocks else 0
    datum_bits = block.magnitude_bits + 1 if in_blocks else 8 * width
    result = np.empty(stream + words.size * datum_bits // 8, np.uint8)
    exponents, codes = result[:stream], result[stream:].view(f"u{width}")
    exponents[words.size // BLOCK :] = 0
    random, present = owned(bits).reshape(-1) if early.random else None, codes_of(old, width)

    def work(part: slice) -> None:
        if copies and not in_blocks:
            codes[part] = words[part]
        else:
            own = by_width(codes[part.start * datum_bits // (8 * width) :])
            noise = None if random is None else random[part]
            _pack(words[part], noise, exponents[part.start // BLOCK :], own, width, part.start, *options)
        if present.size:
            add_to_l1(numerics, present[part], codes[part], out_format)

    in_parallel(work, shares(words.size, SHARE))
    return result.view(f"u{width}").astype(f"<u{width}", copy=False).view(np.uint8)


@kernel
def _pack(words, bits, exponents, data, width, first, early, between, late, block):
    """Pack words that stand at `first` of all, whose edge masks come with ReLU and threshold in `between`."""
    values = np.empty(TILE, np.uint32)
    scratch = np.empty((STEPS + 1, TILE), np.uint8)
    for start in range(0, words.shape[0], TILE):
        size = min(TILE, words.shape[0] - start)
        tile = values[:size]
        if early is None:
            tile = words[start : start + size]
        elif bits is None:
            convert_early(words[start : start + size], tile, early)
        else:
            round_randomly(words[start : start + size], bits[start : start + size], tile, early)
        if between is not None:
            replacement, masks, relu, threshold = between
            if masks.shape[0]:
                mask_edge(tile, masks[(first + start) // 8 :], replacement, scratch)
            apply_relu(tile, relu)
            apply_threshold(tile, threshold)
        if late is not None:
            convert_late(tile, late)
        if block is not None:
            datum_bits = np.int64(block.magnitude_bits) + 1
            encode_blocks(tile, exponents[start // BLOCK :], data[0][start * datum_bits // 8 :], block, scratch)
        else:
            store(tile, data, start, width)
