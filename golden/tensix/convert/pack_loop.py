"""The packers as one compiled pass: each step is a loop over a tile of words, which stays in the nearest cache."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.bits import code64, magnitude_code, round_magnitude, value64
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, Rounding
from bitpath.golden.tensix.convert.datums_loop import (
    SHARE,
    STEPS,
    TILE,
    block_fields,
    by_width,
    codes_of,
    encode_blocks,
    lanes,
    narrow_exponent,
    split,
    store,
)
from bitpath.golden.tensix.convert.formats import (
    E4M3_BIAS,
    E4M3_LARGEST,
    INTEGERS,
    UPPER_HALF_FORMATS,
    exponent_stream_bytes,
    kept_fraction_bits,
)
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics

# The packers' first conversion, compiled: one Dst word to an intermediate value.


RANDOM_BITS = 23
"""Random bits of a datum."""


class Early(NamedTuple):
    """Fields of the conversion.

    Attributes
    ----------
    int8 : 1 for INT32 to INT8.
    upper : 1 for the upper half of a 32-bit word, INT16.
    narrows : 1 to narrow a BF16 word to FP16.
    rounds : 1 to round, 0 to truncate.
    random : discarded bits that are compared with random ones, 0 to round to nearest.
    all_bits : 1 if they are compared with all 23 random bits, 0 with as many of the top ones.
    to_even : 1 if ties round to even, 0 if away from zero.
    left : shift that brings a 16-bit word to the place of FP32.
    dropped : low bits that are dropped.
    sign : sign bit of the result, 0 for none.
    infinity : greater magnitudes, NaN, become this before they are rounded.
    largest : largest magnitude of the result.
    least : rounded magnitudes below become +0.
    flushed : magnitudes below become +0 before they are rounded.
    """

    int8: int = 0
    upper: int = 0
    narrows: int = 0
    rounds: int = 0
    random: int = 0
    all_bits: int = 0
    to_even: int = 0
    left: int = 0
    dropped: int = 0
    sign: int = 0
    infinity: int = 0
    largest: int = 0
    least: int = 0
    flushed: int = 0


def early_fields(
    numerics: TensixNumerics,
    mid_format: Format,
    *,
    dst32: bool,
    unsigned: bool,
    raw: bool,
    narrows: bool,
    stochastic: bool,
    descale_shift: int,
) -> Early:
    """Return the fields for `pack`'s arguments, checked; with `narrows` Dst words are BF16 and the values FP16."""
    if narrows:
        return Early(narrows=1, left=16)
    to_even = numerics.final_tie is Rounding.RNE
    if mid_format is Format.INT8:
        sign, largest = (0, 0xFF) if unsigned else (0x80, 0x7F)
        return Early(int8=1, rounds=not raw, to_even=to_even, dropped=descale_shift, sign=sign, largest=largest)
    if dst32 and mid_format in UPPER_HALF_FORMATS:
        return Early(upper=1)
    if mid_format in INTEGERS or (dst32 and mid_format is Format.FP32):
        return Early()
    kept = kept_fraction_bits(mid_format, raw=raw)
    discarded = max(0, (10 if mid_format in EXPONENT5_FORMATS else 23 if dst32 else 7) - kept)
    all_bits = numerics.stochastic_compare is StochasticCompare.ALL_BITS
    common = {"rounds": not raw, "to_even": to_even, "random": discarded * stochastic, "all_bits": all_bits}
    if mid_format in EXPONENT5_FORMATS:
        dropped = 10 - kept
        largest = 0x7FFF >> dropped << dropped
        return Early(dropped=dropped, sign=1 << 15, infinity=0x7FFF, largest=largest, least=1 << 10, **common)
    # A 16-bit denormal is flushed before it is rounded, a 32-bit one after.
    left, flushed = (0, 0) if dst32 else (16, 1 << 23)
    limits = {"infinity": 0x7F800000, "largest": 0x7F800000, "least": 1 << 23, "flushed": flushed}
    return Early(left=left, dropped=23 - kept, sign=1 << 31, **limits, **common)


def truncates(early: Early) -> bool:
    """Return True for a conversion that shifts left and drops low bits, and nothing else."""
    return not any((early.int8, early.upper, early.narrows, early.rounds, early.random))


@piece
def _truncate(word, left, dropped):
    return np.uint32(word << left) >> dropped << dropped


@piece
def _round(word, to_even, left, dropped, sign, infinity, largest, least, flushed):
    word = np.uint32(word << left)
    magnitude = np.uint32(word & ~sign)
    rounded = np.uint32(round_magnitude(min(magnitude, infinity), dropped, to_even) << dropped)
    nothing = (rounded < least) | (magnitude < flushed)
    return np.uint32(0) if nothing else np.uint32(word & sign | min(rounded, largest))


@piece
def _round_randomly(word, bits, random, all_bits, left, dropped, sign, infinity, largest, least, flushed):
    word = np.uint32(word << left)
    magnitude = np.uint32(word & ~sign)
    below = min(magnitude, infinity)
    discarded, bits = np.uint32(below >> left & (1 << random) - 1), np.uint32(bits & (1 << RANDOM_BITS) - 1)
    if all_bits:
        up = np.uint32(discarded << RANDOM_BITS - random >= bits)
    else:
        up = np.uint32(discarded >= bits >> RANDOM_BITS - random)
    rounded = np.uint32((below >> dropped) + up << dropped)
    nothing = (rounded < least) | (magnitude < flushed)
    return np.uint32(0) if nothing else np.uint32(word & sign | min(rounded, largest))


@piece
def _truncate_int8(word, sign, largest):
    return word & largest | word >> 24 & sign


@piece
def _round_int8(word, to_even, dropped, sign, largest):
    """Shift, round and clamp sign and magnitude; the sign of a zero stays. Without a sign, a negative number is 0."""
    magnitude = min(round_magnitude(np.uint32(word & 0x7FFFFFFF), dropped, to_even), largest)
    cleared = (word >> 31 != 0) & (sign == 0)
    return np.uint32(0) if cleared else np.uint32(magnitude | word >> 24 & sign)


@piece
def _upper_half(word):
    """Return the upper half of a 32-bit word in the register's order, s | m7 | e8."""
    return word >> 31 << 15 | (word >> 16 & 0x7F) << 8 | word >> 23 & 0xFF


@njit(inline="always")
def _convert_int8(words, values, rounds, to_even, dropped, sign, largest):
    if rounds:
        for i in range(words.shape[0]):
            values[i] = _round_int8(words[i], to_even, dropped, sign, largest)
    else:
        for i in range(words.shape[0]):
            values[i] = _truncate_int8(words[i], sign, largest)


@njit(inline="always")
def round_randomly(words, bits, values, early):
    """Write intermediate values of a tile of Dst words and random bits for each, all uint32, where `early.random` is not 0."""
    _, _, _, _, random, all_bits, _, left, dropped, sign, infinity, largest, least, flushed = early
    left, dropped, random = left & 31, dropped & 31, random & 31
    for i in range(words.shape[0]):
        values[i] = _round_randomly(
            words[i], bits[i], random, all_bits, left, dropped, sign, infinity, largest, least, flushed
        )


@njit(inline="always")
def convert_early(words, values, early):
    """Write intermediate values of a tile of Dst words, both uint32, where `early.random` is 0."""
    int8, upper, narrows, rounds, _, _, to_even, left, dropped, sign, infinity, largest, least, flushed = early
    left, dropped = left & 31, dropped & 31
    if int8:
        _convert_int8(words, values, rounds, to_even, dropped, sign, largest)
    elif upper:
        for i in range(words.shape[0]):
            values[i] = _upper_half(words[i])
    elif narrows:
        for i in range(words.shape[0]):
            values[i] = narrow_exponent(np.uint32(words[i] << left))
    elif rounds:
        for i in range(words.shape[0]):
            values[i] = _round(words[i], to_even, left, dropped, sign, infinity, largest, least, flushed)
    else:
        for i in range(words.shape[0]):
            values[i] = _truncate(words[i], left, dropped)


# The packers' edge mask, compiled.


@njit(inline="always")
def mask_edge(values, masks, replacement, kept):
    """Replace the values of a tile whose bit in the masks, uint8 of 8 datums each, is 0.

    Parameters
    ----------
    kept : scratch, uint8 [4, size of a tile].
    """
    size = values.shape[0]
    split(masks, kept[0], size // 8, 4)
    split(kept[0], kept[1], size // 4, 2)
    split(kept[1], kept[2], size // 2, 1)
    bits = kept[2]
    for i in range(size):
        values[i] = values[i] if bits[i] else replacement


# The packers' exponent threshold on one intermediate value, compiled.


class Threshold(NamedTuple):
    """Fields of the exponent threshold; a `least` of 0 changes nothing.

    Attributes
    ----------
    right, mask : shift and mask that leave the exponent, 5 bits or 8.
    least : values of a smaller exponent become +0.
    """

    right: int
    mask: int
    least: int


def threshold_fields(mid_format: Format, threshold: int) -> Threshold:
    """Return the fields for `pack`'s arguments, checked."""
    return Threshold(10, 0x1F, threshold) if mid_format in EXPONENT5_FORMATS else Threshold(23, 0xFF, threshold)


@piece
def _flush(value, right, mask, least):
    exponent = np.uint32(value >> right & mask)
    return np.uint32(0) if exponent < least else value


@njit(inline="always")
def apply_threshold(values, threshold):
    """Apply the threshold to a tile of intermediate floats."""
    right, mask, least = threshold
    right &= 31
    if least:
        for i in range(values.shape[0]):
            values[i] = _flush(values[i], right, mask, least)


# The packers' accumulation in L1 on one pair of codes, compiled: old + new, to nearest even.
#
# Additions of float32 and float64 are IEEE's. A float64 sum of BF16 or FP16 numbers has more than twice their bits and two, so
# that rounding it again gives the same as rounding the exact sum.


FP32_NAN, BF16_NAN, BF16_INFINITY = FP32.nan_code, BF16.nan_code, BF16.infinity_code
BF16_EMIN, BF16_BIAS, FP16_BIAS = BF16.emin, BF16.bias, FP16.bias
LARGEST_FP64 = (2047 << 52) - 1
"""Code of the largest finite number of float64."""
FP16_LARGEST = 0x7FFF
CANCELLATION_EXPONENT = 30
"""Biased FP16 exponent from which on an exact cancellation gives the largest number."""
LOWEST_EXPONENT = -32
"""Below the exponent of any sum of FP16 numbers, which have no denormals."""


@piece
def _flush_denormal(code, exponent, sign):
    return code if code & exponent else np.uint32(code & sign)


@piece
def _value32(code):
    return np.uint32(code).view(np.float32)


@piece
def _add_fp32(old, new):
    """IEEE addition with denormals read and written as zeros of their sign."""
    total = _value32(_flush_denormal(old, 0x7F800000, 1 << 31)) + _value32(_flush_denormal(new, 0x7F800000, 1 << 31))
    code = _flush_denormal(np.float32(total).view(np.uint32), 0x7F800000, 1 << 31)
    return np.uint32(FP32_NAN) if code & 0x7FFFFFFF > 0x7F800000 else code


@piece
def _value(code, fraction_bits, exponent_bits, bias):
    """Return a code's number, float64; the largest exponent is ordinary, and exponent 0 is zero."""
    exponent = np.int64(code >> fraction_bits) & (1 << exponent_bits) - 1
    fraction = np.int64(code) & (1 << fraction_bits) - 1
    sign = np.int64(code >> fraction_bits + exponent_bits) << 63
    normal = exponent + 1023 - bias << 52 | fraction << 52 - fraction_bits
    return value64(sign | (normal if exponent else np.int64(0)))


@piece
def _add_bf16(old, new):
    """IEEE addition with denormals read and written as zeros of their sign, and NaN as a number.

    An old NaN is the largest number of FP64, so that it overflows unless the new value is infinite; a new NaN is 1.m * 2**128.
    """
    augend = _value(old, 7, 8, BF16_BIAS)
    largest = value64(LARGEST_FP64 | np.int64(old >> 15) << 63)
    total = code64((largest if old & 0x7FFF > BF16_INFINITY else augend) + _value(new, 7, 8, BF16_BIAS))
    magnitude = min(magnitude_code(total, 7, BF16_EMIN, BF16_BIAS, 1), np.int64(BF16_INFINITY))
    code = (magnitude if magnitude >> 7 else np.int64(0)) | (total < 0) << 15
    code = np.int64(old) if old & 0x7FFF == BF16_INFINITY else code
    opposite = (old & 0x7FFF == BF16_INFINITY) & (old ^ new == 0x8000)
    code = np.int64(new) if new & 0x7FFF == BF16_INFINITY else code
    return np.uint32(BF16_NAN if opposite else code)


@piece
def _add_fp16(old, new, saturates):
    """Addition without infinity and NaN; with `saturates`, an underflow becomes the largest number."""
    total = _value(old, 10, 5, FP16_BIAS) + _value(new, 10, 5, FP16_BIAS)
    code = magnitude_code(code64(total), 10, LOWEST_EXPONENT, FP16_BIAS, 1)
    too_small = (code < 0) & (saturates != 0)
    code = FP16_LARGEST if (code > FP16_LARGEST) | too_small else code
    code = (code if code >> 10 > 0 else 0) | (total < 0.0) << 15
    cancelled = (saturates != 0) & (old >> 10 & 0x1F >= CANCELLATION_EXPONENT)
    # A zero sum is -0 where both are negative.
    nothing = np.int64(FP16_LARGEST if cancelled else old & new & 0x8000)
    return np.uint32(nothing if total == 0.0 else code)


@kernel
def _fp32(old, new):
    for i in range(new.shape[0]):
        new[i] = _add_fp32(old[i], new[i])


@kernel
def _bf16(old, new):
    for i in range(new.shape[0]):
        new[i] = _add_bf16(old[i], new[i])


@kernel
def _fp16(old, new, saturates):
    for i in range(new.shape[0]):
        new[i] = _add_fp16(old[i], new[i], saturates)


def add_to_l1(numerics: TensixNumerics, old: np.ndarray, new: np.ndarray, fmt: Format) -> None:
    """Add old codes of one of `ACCUMULATING_FORMATS` to new ones, in place."""
    match fmt:
        case Format.FP32:
            _fp32(old, new)
        case Format.BF16:
            _bf16(old, new)
        case _:
            _fp16(old, new, numerics.l1_fp16_underflow_saturates)


# The packers' second conversion, compiled: an intermediate float, an FP32 or FP16 word, to a code of an L1 format.


class Late(NamedTuple):
    """Fields of the conversion.

    Attributes
    ----------
    narrows : 1 to narrow the exponent, from FP32 to FP16.
    widens : 1 to widen the exponent, from FP16 to FP32.
    flushes : 1 if values with a zero exponent become +0 when the exponent is widened.
    right : shift of the word, with its exponent as it becomes; 0 without `narrows` and `widens` changes nothing.
    exponent : values without any of these bits become a zero of their sign, when the exponent stays.
    sign : their sign bit.
    e4m3 : 1 to convert FP16 to E4M3 last.
    """

    narrows: int = 0
    widens: int = 0
    flushes: int = 0
    right: int = 0
    exponent: int = 0xFFFFFFFF
    sign: int = 0
    e4m3: int = 0


def late_fields(mid_format: Format, out_format: Format, *, e4m3: bool) -> Late:
    """Return the fields for a pair of formats; block floats come of words s | e8 | m7 or s | e5 | m7, E4M3 of FP16."""
    if e4m3:
        return late_fields(mid_format, Format.FP16, e4m3=False)._replace(e4m3=1)
    block = BLOCK_FLOATS.get(out_format)
    to_short = out_format in (Format.FP16, Format.FP8) or (block is not None and block.exponent_bits == 5)
    to_bf16 = out_format is Format.BF16 or (block is not None and block.exponent_bits == 8)
    right = {Format.FP16: 0, Format.FP8: 8}.get(out_format, 3) if to_short else 16 * to_bf16
    if mid_format in EXPONENT5_FORMATS:
        if not to_short:
            return Late(widens=1, flushes=to_bf16, right=right)
        return Late(right=right, exponent=0x7C00, sign=1 << 15) if out_format is Format.FP8 else Late(right=right)
    if to_short:
        return Late(narrows=1, right=right)
    if to_bf16 and mid_format in (Format.FP32, Format.TF32):
        return Late(right=right, exponent=0x7F800000, sign=1 << 31)
    return Late(right=right)


def shifts(late: Late) -> bool:
    """Return True for a conversion that shifts right, and nothing else."""
    return late._replace(right=0) == Late()


@piece
def _shift(value, right, exponent, sign):
    return (value if value & exponent else np.uint32(value & sign)) >> right


@piece
def _widen(value, flushes, right):
    """Convert FP16 to FP32; a zero exponent stays zero, its fraction and sign kept unless flushed."""
    zero = value & 0x7C00 == 0
    wide = np.uint32(value >> 15 << 31 | (value & 0x7FFF) << 13) + np.uint32(0 if zero else 112 << 23)
    return (np.uint32(0) if zero & (flushes != 0) else np.uint32(wide)) >> right


@piece
def _to_e4m3(value):
    """Convert FP16: the fraction truncated, exponents of 0 or less a zero with sign, large values all ones."""
    code = np.int32((value & 0x7FFF) >> 7) - np.int32(E4M3_BIAS << 3)
    code = np.int32(0) if code < 8 else min(code, np.int32(E4M3_LARGEST))
    return np.uint32(value >> 15 << 7 | np.uint32(code))


@njit(inline="always")
def convert_late(values, late):
    """Convert a tile of intermediate floats in place."""
    narrows, widens, flushes, right, exponent, sign, e4m3 = late
    right &= 31
    if narrows:
        for i in range(values.shape[0]):
            values[i] = narrow_exponent(values[i]) >> right
    elif widens:
        for i in range(values.shape[0]):
            values[i] = _widen(values[i], flushes, right)
    elif right:
        for i in range(values.shape[0]):
            values[i] = _shift(values[i], right, exponent, sign)
    if e4m3:
        for i in range(values.shape[0]):
            values[i] = _to_e4m3(values[i])


# The packers' ReLU on one intermediate value, compiled.


CLAMP_IGNORED_BITS = 13
"""Low bits of an FP32 word that mode 3 does not compare."""


class Relu(NamedTuple):
    """Fields of ReLU, as the loops take them.

    Attributes
    ----------
    on : 0 to change nothing.
    sign : sign bit; negative values, -0 too, become +0.
    floor : values not above become +0.
    most : greater values become `ceiling`.
    """

    on: int
    sign: int
    floor: int
    most: int
    ceiling: int


def relu_fields(mid_format: Format, mode: int, threshold: int, *, unsigned: bool) -> Relu:
    """Return the fields for `pack`'s arguments, checked."""
    if mid_format in INTEGERS:
        top = {Format.INT32: 31, Format.INT16: 15, Format.INT8: 7}[mid_format]
    else:
        top = 15 if mid_format in EXPONENT5_FORMATS else 31
    on = mode > 0 and not unsigned
    limit = threshold << top - 15 if mode > 1 else 0
    if mode == 3:
        ignored = (1 << CLAMP_IGNORED_BITS if top == 31 else 1) - 1
        return Relu(on, 1 << top, 0, limit | ignored, limit)
    return Relu(on, 1 << top, limit, (1 << top) - 1, 0)


@piece
def _clamp(value, sign, floor, most, ceiling):
    return (value if value <= most else ceiling) if (value > floor) & (value < sign) else np.uint32(0)


@njit(inline="always")
def apply_relu(values, relu):
    """Apply ReLU to a tile of intermediate values."""
    on, sign, floor, most, ceiling = relu
    if on:
        for i in range(values.shape[0]):
            values[i] = _clamp(values[i], sign, floor, most, ceiling)


class Packing(NamedTuple):
    """Settings of a conversion, and the fields of its steps; a step is None where it changes nothing.

    Attributes
    ----------
    numerics, out_format : those of the conversion.
    width : bytes of a datum; 1 for block floats.
    early, late : an `Early`, uint32 [14], and a `Late`, uint32 [7]: numba takes over an array in less time than a tuple.
    block : fields of a block.
    between : fields of ReLU and threshold, or None if there are neither these nor edge masks.
    replacement : intermediate value of masked words.
    random : True if the first conversion compares with random bits.
    """

    numerics: TensixNumerics
    out_format: Format
    width: int
    early: np.ndarray | None
    between: tuple[Any, ...] | None
    late: np.ndarray | None
    block: Any
    replacement: np.uint32
    random: bool


def settled(
    numerics: TensixNumerics,
    mid_format: Format,
    out_format: Format,
    width: int,
    *,
    dst32: bool,
    unsigned: bool,
    raw: bool,
    narrows: bool,
    e4m3: bool,
    masked: bool,
    stochastic: bool,
    descale_shift: int,
    replacement: int,
    relu: int,
    relu_threshold: int,
    exponent_threshold: int,
) -> Packing:
    """Return the settings of `pack`; arguments are those of `tensix.pack`, checked, those of `Packing`, and these.

    Parameters
    ----------
    masked : True if there are edge masks.
    narrows : True if BF16 Dst words are narrowed to the intermediate format FP16.
    """
    early = early_fields(
        numerics,
        mid_format,
        dst32=dst32,
        unsigned=unsigned,
        raw=raw,
        narrows=narrows,
        stochastic=stochastic,
        descale_shift=descale_shift,
    )
    late = late_fields(mid_format, out_format, e4m3=e4m3)
    between = (
        relu_fields(mid_format, relu, relu_threshold, unsigned=unsigned),
        threshold_fields(mid_format, exponent_threshold),
    )
    changes = masked or relu > 0 or exponent_threshold > 0
    copies = not changes and truncates(early) and early.left == early.dropped == late.right and shifts(late)
    # numba compiles no step whose argument is None.
    return Packing(
        numerics=numerics,
        out_format=out_format,
        width=width,
        early=None if copies else np.array(early, np.uint32),
        between=tuple(map(lanes, between)) if changes else None,
        late=None if copies else np.array(late, np.uint32),
        block=lanes(block_fields(numerics, out_format)) if out_format in BLOCK_FLOATS else None,
        replacement=np.uint32(replacement),
        random=early.random > 0,
    )


CODES = {width: np.dtype(f"u{width}") for width in (1, 2, 4)}
LITTLE_ENDIAN = {width: np.dtype(f"<u{width}") for width in CODES}
"""Codes as the loops have them and as L1 has them, by their bytes."""


def pack(packing: Packing, words: np.ndarray, masks: np.ndarray, old: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """Return the bytes of Dst words, uint32.

    Parameters
    ----------
    masks : edge masks, one for each 16 words, or none.
    old : uint8 bytes to add to, as many as the result has, or none.
    bits : random bits, uint32, one for each word, or none.
    """
    words, width, block = owned(words).reshape(-1), packing.width, packing.block
    stream = 0 if block is None else exponent_stream_bytes(words.size)
    datum_bits = 8 * width if block is None else int(block.magnitude_bits) + 1
    result = np.empty(stream + words.size * datum_bits // 8, np.uint8)
    exponents, codes = result[:stream], result[stream:].view(CODES[width])
    exponents[words.size // BLOCK :] = 0
    random, present = owned(bits).reshape(-1) if packing.random else None, codes_of(old, width) if old.size else old
    between = packing.between
    if between is not None:
        between = (packing.replacement, owned(masks.astype("<u2")).view(np.uint8), *between)
    options = packing.early, between, packing.late, block

    def work(part: slice) -> None:
        if packing.late is None and block is None:
            codes[part] = words[part]
        else:
            own = by_width(codes[part.start * datum_bits // (8 * width) :])
            noise = None if random is None else random[part]
            _pack(words[part], noise, exponents[part.start // BLOCK :], own, width, part.start, *options)
        if present.size:
            add_to_l1(packing.numerics, present[part], codes[part], packing.out_format)

    in_parallel(work, shares(words.size, SHARE))
    stored = codes.astype(LITTLE_ENDIAN[width], copy=False)
    return result if stored is codes else stored.view(np.uint8)


@piece
def _early_of(row):
    """Return the fields of a row of an array of them."""
    low = row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
    return Early(*low, row[8], row[9], row[10], row[11], row[12], row[13])


@piece
def _late_of(row):
    return Late(row[0], row[1], row[2], row[3], row[4], row[5], row[6])


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
            convert_early(words[start : start + size], tile, _early_of(early))
        else:
            round_randomly(words[start : start + size], bits[start : start + size], tile, _early_of(early))
        if between is not None:
            replacement, masks, relu, threshold = between
            if masks.shape[0]:
                mask_edge(tile, masks[(first + start) // 8 :], replacement, scratch)
            apply_relu(tile, relu)
            apply_threshold(tile, threshold)
        if late is not None:
            convert_late(tile, _late_of(late))
        if block is not None:
            datum_bits = np.int64(block.magnitude_bits) + 1
            encode_blocks(tile, exponents[start // BLOCK :], data[0][start * datum_bits // 8 :], block, scratch)
        else:
            store(tile, data, start, width)
