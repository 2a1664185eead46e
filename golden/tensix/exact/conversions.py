"""The Tensix unpackers' and packers' conversions on single datums and blocks.

Ref: tt-isa-documentation 3930471, FloatBitPatterns, Unpackers and Packers; ttsim v1.10.0 for points that they leave open.
"""

import sys
from collections.abc import Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar.checked import check_length, checked
from bitpath.golden.scalar.codec import Kind, Overflow, decode, power_of_two
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, round_to_integer, shift_round
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange, TensixNumerics
from bitpath.golden.tensix.declarations.quasar import MxFormat
from bitpath.golden.tensix.exact.sfpu import rounds_up

# Quasar's MX formats on scalars: the scale of a block, an element, and a source word.
#
# Ref: tt-metal, host quantisers of MX formats; tt-llk, test goldens.


@checked
def mx_scale(codes: Sequence[int], fmt: MxFormat, *, ceil: bool = False, exp_rnd: bool = False) -> int:
    """Return the E8M0 code of a block of FP32 codes."""
    numbers = [decode(FP32, code) for code in codes]
    kinds = {each.kind for each in numbers}
    if kinds == {Kind.NAN}:
        return 255
    largest = max((abs(each.value) for each in numbers if each.kind is Kind.FINITE), default=Fraction(0))
    if largest == 0:
        return 254 if Kind.INFINITY in kinds else 0
    exponent = floor_log2(largest) - fmt.emax
    if ceil:
        ratio = largest / fmt.largest
        exponent = floor_log2(ratio)
        exponent += ratio > power_of_two(exponent)
    return min(max(exponent + exp_rnd, -127) + 127, 254)


@checked
def mx_element(code: int, scale: int, fmt: MxFormat) -> int:
    """Return the element of an FP32 code under a scale's code: to nearest even, saturating."""
    number = decode(FP32, code)
    if number.kind is Kind.NAN:
        return fmt.element.nan_code or 0 if fmt.element else 0
    if number.kind is Kind.INFINITY:
        value = (-1) ** number.sign * fmt.largest
    else:
        value = number.value / power_of_two(scale - 127)
    if fmt.element:
        return round_to_format(value, fmt.element, overflow=Overflow.SATURATE, zero_sign=number.sign)
    units = round_to_integer(value / power_of_two(fmt.step_exponent), Rounding.RNE)
    return min(max(units, -fmt.largest_integer), fmt.largest_integer) % (1 << fmt.bits)


@checked
def mx_source(element: int, scale: int, fmt: MxFormat) -> int:
    """Return the source word, BF16, of an element under a scale's code."""
    if fmt.element:
        number = decode(fmt.element, element)
        if number.kind is Kind.NAN or scale == 255:
            return BF16.nan_code << 3
        if number.kind is Kind.INFINITY:
            return (BF16.infinity_code | number.sign << 15) << 3
        value, sign = number.value, number.sign
    else:
        if scale == 255:
            return BF16.nan_code << 3
        signed = element - (element >> fmt.bits - 1 << fmt.bits)
        value, sign = signed * power_of_two(fmt.step_exponent), 0
    return round_to_format(value * power_of_two(scale - 127), BF16, zero_sign=sign) << 3


# Accumulation in L1 on single datums, with exact sums.
#
# Ref: ttsim v1.10.0; the documents only say that it exists.


LARGEST_FP64 = Fraction(sys.float_info.max)


@checked
def add_to_l1(numerics: TensixNumerics, old: int, new: int, fmt: Format) -> int:
    """Add two codes of FP32, BF16 or FP16, to nearest even."""
    match fmt:
        case Format.FP32:
            return _add_fp32(old, new)
        case Format.BF16:
            return _add_bf16(old, new)
        case _:
            return _add_fp16(numerics, old, new)


def _flush(code: int, fmt: FloatFormat) -> int:
    return code & fmt.sign_mask if code & ~fmt.sign_mask <= fmt.fraction_mask else code


def _add_fp32(old: int, new: int) -> int:
    return _flush(add(_flush(old, FP32), _flush(new, FP32)), FP32)


def _add_bf16(old: int, new: int) -> int:
    """Infinities first; then an old NaN is the largest number of FP64, and a new NaN is 1.m * 2**128."""
    infinite = [code & 0x7FFF == BF16.infinity_code for code in (old, new)]
    if all(infinite):
        return old if old == new else BF16.nan_code
    for code, is_infinite in ((old, infinite[0]), (new, infinite[1])):
        if is_infinite:
            return code
    augend, addend = _number(old, BF16), _number(new, BF16)
    if old & 0x7FFF > BF16.infinity_code:
        augend = LARGEST_FP64 if augend > 0 else -LARGEST_FP64
    return _flush(round_to_format(augend + addend, BF16, zero_sign=(old & new) >> 15), BF16)


def _number(code: int, fmt: FloatFormat) -> Fraction:
    """Return a code's number; the largest exponent is ordinary, and exponent 0 is zero."""
    exponent = code >> fmt.fraction_bits & fmt.exponent_mask
    significand = (code & fmt.fraction_mask) + (1 << fmt.fraction_bits)
    magnitude = significand * Fraction(2) ** (exponent - fmt.bias - fmt.fraction_bits) if exponent else Fraction(0)
    return -magnitude if code & fmt.sign_mask else magnitude


def _add_fp16(numerics: TensixNumerics, old: int, new: int) -> int:
    total = _number(old, FP16) + _number(new, FP16)
    if total == 0:
        saturates = numerics.l1_fp16_underflow_saturates and old >> 10 & 0x1F >= 30
        return 0x7FFF if saturates else old & new & 0x8000
    sign = 0x8000 if total < 0 else 0
    exponent = floor_log2(total)
    significand = round(abs(total) / Fraction(2) ** (exponent - 10))
    # After a rounding carry the fraction bits are already 0.
    exponent += significand == 1 << 11
    biased = exponent + 15
    if biased > 31 or (biased < 0 and numerics.l1_fp16_underflow_saturates):
        return sign | 0x7FFF
    return sign if biased <= 0 else sign | biased << 10 | significand & 0x3FF


# A store of a RISC-V core to Dst on one datum.
#
# Ref: tt-isa-documentation 3930471, Blackhole's Dst, RISCV access to Dst.


BITS = {0: 32, 1: 32, 2: 16, 3: 16, 4: 16, 5: 8}
"""Bits of a datum by the configuration's fmt."""


@checked
def riscv_stored(value: int, fmt: int, *, no_swizzle: bool = False, unsigned_int: bool = False) -> int:
    """Return the logical Dst word of a value stored with fmt 0 to 5; 16-bit integers are in the register's order."""
    top = 1 << BITS[fmt] - 1
    negative = value >= top and not no_swizzle and not (unsigned_int and fmt in (4, 5))
    if fmt == 5:
        if not negative:
            return 16 << 10 | value if value else 0
        return 1 << 15 | 16 << 10 | (0x180 - value - (value == 0x80)) % 256
    if fmt in (1, 4) and negative:
        return top | min(2 * top - value, top - 1)
    if not no_swizzle or fmt == 4:
        return value
    low_bits = BITS[fmt] - 16
    high, low, exponent_bits = value >> low_bits, value % (1 << low_bits), 5 if fmt == 2 else 8
    sign, fraction, exponent = high >> 15, high % (1 << 15) >> exponent_bits, high % (1 << exponent_bits)
    return (sign << 15 | exponent << 15 - exponent_bits | fraction) << low_bits | low


@checked
def unpack_datum(
    numerics: TensixNumerics, code: int, in_format: Format, out_format: Format, *, unsigned: bool, e4m3: bool = False
) -> int:
    """Convert one datum of L1, no block float, to a register word; FP8 is E4M3 with `e4m3`, else E5M2."""
    if in_format in (Format.FP32, Format.INT32) and out_format is in_format:
        return code
    if in_format is Format.INT8:
        magnitude = code if unsigned else code % 128
        return (0 if unsigned else code // 128 << 18) + (16 << 10 if magnitude else 0) + magnitude
    if in_format is Format.INT16:
        return (code >> 15) << 18 | (code % 256) << 10 | (code >> 8) % 128 << 3
    if in_format is Format.FP16:
        return fp16_source(code)
    if in_format is Format.FP8:
        return fp16_source(_e4m3_to_fp16(code) if e4m3 else _e5m2_to_fp16(numerics, code))
    if in_format is Format.BF16:
        return code << 3
    sign, exponent, fraction = code >> 31, code >> 23 & 0xFF, code & 0x7FFFFF
    if out_format is Format.TF32:
        return sign << 18 | exponent << 10 | fraction >> 13
    if out_format is Format.BF16:
        return sign << 18 | (exponent << 10 | fraction >> 16 << 3 if exponent else 0)
    return fp16_source(fp32_to_fp16(code))


def _e5m2_to_fp16(numerics: TensixNumerics, code: int) -> int:
    """Append zeros, or ones to a magnitude of all ones."""
    return code << 8 | (0xFF if numerics.fp8_all_ones and code % 128 == 127 else 0)


def _e4m3_to_fp16(code: int) -> int:
    """Rebias the exponent, but for 0, and fill the fraction of a magnitude of all ones."""
    sign, exponent, fraction = code >> 7, code >> 3 & 0xF, code & 7
    ones = 0x7F if (exponent, fraction) == (15, 7) else 0
    return sign << 15 | (exponent + 15 - 7 if exponent else 0) << 10 | fraction << 7 | ones


def _fp16_to_e4m3(code: int) -> int:
    """Truncate the fraction, flush exponents that become 0 or less to a signed zero, saturate."""
    sign, exponent, fraction = code >> 15, (code >> 10 & 0x1F) - 15 + 7, code >> 7 & 7
    if exponent <= 0:
        return sign << 7
    return sign << 7 | (0x7F if exponent > 15 else exponent << 3 | fraction)


def fp16_source(code: int) -> int:
    """Place an FP16 code in a logical source word."""
    return code >> 15 << 18 | code & 0x7FFF


def fp32_to_fp16(code: int) -> int:
    """Convert FP32 to FP16: truncate the fraction, saturate, flush numbers far below the range to a signed zero."""
    sign, exponent, fraction = code >> 31, (code >> 23 & 0xFF) - 127 + 15, code >> 13 & 0x3FF
    if exponent < 0:
        return sign << 15
    return sign << 15 | (0x7FFF if exponent > 31 else exponent << 10 | fraction)


@checked
def unpack_block(numerics: TensixNumerics, fmt: Format, exponent: int, datums: Sequence[int]) -> list[int]:
    """Convert the datums under one exponent byte to source words."""
    block = BLOCK_FLOATS[fmt]
    wide = block.exponent_bits == 8
    top = (1 << block.exponent_bits) - 1
    words = []
    for datum in datums:
        sign, magnitude = datum >> block.magnitude_bits, datum & (1 << block.magnitude_bits) - 1
        if magnitude == 0:
            biased, fraction = (top if sign else 0), 0
        else:
            zeros = block.magnitude_bits - magnitude.bit_length()
            biased = exponent - zeros
            # The magnitude's leading 1 is hidden; 10 fraction bits.
            fraction = (magnitude << 10 >> magnitude.bit_length() - 1) - (1 << 10)
            if biased < 0 and (numerics.bfp_range if wide else numerics.bfp_a_range) is BfpRange.FLUSH:
                biased, fraction = 0, 0
        words.append(sign << 18 | biased % (top + 1) << 10 | fraction)
    return words


def round_field(numerics: TensixNumerics, magnitude: int, dropped: int) -> int:
    """Round a code without its sign to fewer fraction bits, a carry going into the exponent."""
    return shift_round(magnitude, dropped, numerics.final_tie) << dropped


def _round_early(numerics: TensixNumerics, magnitude: int, dropped: int, discarded: int, bits: int | None) -> int:
    """Round to nearest, or stochastically where the source has bits to discard."""
    if bits is None or discarded <= 0:
        return round_field(numerics, magnitude, dropped)
    rest = magnitude % (1 << dropped) >> dropped - discarded
    up = rounds_up(numerics, rest, discarded, bits)
    return (magnitude >> dropped) + up << dropped


@checked
def early_float(
    numerics: TensixNumerics,
    word: int,
    mid_format: Format,
    *,
    dst32: bool,
    round_10b: bool = False,
    bits: int | None = None,
) -> int:
    """Round one float Dst word to the intermediate format, as an FP16 code or an FP32 code.

    Blackhole's FP16 with `round_10b` is TF32, an FP32 code, from FP32, and the narrowed word from BF16. Random `bits` round
    stochastically, None to nearest.
    """
    if round_10b and mid_format is Format.FP16:
        return early_float(numerics, word, Format.TF32, dst32=True, bits=bits) if dst32 else fp32_to_fp16(word << 16)
    if mid_format in EXPONENT5_FORMATS:
        dropped = 4 if mid_format is Format.BFP8A else 0
        rounded = _round_early(numerics, word & 0x7FFF, dropped, dropped, bits)
        return word & 0x8000 | min(rounded, 0x7FFF >> dropped << dropped) if rounded >= 1 << 10 else 0
    if mid_format is Format.FP32:
        return word
    if not dst32:
        if word & 0x7F80 == 0:
            return 0
        word <<= 16
    magnitude = min(word & 0x7FFFFFFF, 0x7F800000)
    dropped = {Format.TF32: 13, Format.BF16: 16, Format.BFP8: 17}[mid_format]
    rounded = min(_round_early(numerics, magnitude, dropped, dropped - (0 if dst32 else 16), bits), 0x7F800000)
    return word & 0x80000000 | rounded if rounded >= 1 << 23 else 0


@checked
def early_int16(word: int) -> int:
    """Return the upper half of a 32-bit Dst word in the register's bit order: sign, 7 fraction bits, exponent."""
    sign, exponent, fraction = word >> 31, word >> 23 & 0xFF, word >> 16 & 0x7F
    return sign << 15 | fraction << 8 | exponent


@checked
def early_int8(word: int, *, unsigned: bool, shift: int = 0, tie: Rounding = Rounding.RNA) -> int:
    """Divide the magnitude of one INT32 Dst word by ``2**shift``, round and clamp it to 8 bits."""
    sign, magnitude = word >> 31, shift_round(word & 0x7FFFFFFF, shift, tie)
    if unsigned:
        return 0 if sign else min(magnitude, 255)
    return sign << 7 | min(magnitude, 127)


@checked
def relu(code: int, width: int, mode: int, threshold: int) -> int:
    """Apply a ReLU mode to an intermediate code of 16 or 32 bits."""
    if mode == 0:
        return code
    if code >> width - 1:
        return 0
    if mode == 1:
        return code
    limit = threshold << width - 16
    if mode == 3:
        ignored = 13 if width == 32 else 0
        return limit if code >> ignored > limit >> ignored else code
    return 0 if code <= limit else code


@checked
def edge_mask(code: int, column: int, mask: int, replacement: int) -> int:
    """Replace an intermediate code where its column's bit is not set."""
    return code if mask >> column & 1 else replacement


@checked
def exponent_threshold(code: int, mid_format: Format, threshold: int) -> int:
    """Replace an intermediate float by +0 where its exponent is below the threshold."""
    exponent = code >> 10 & 0x1F if mid_format in EXPONENT5_FORMATS else code >> 23 & 0xFF
    return 0 if exponent < threshold else code


@checked
def late_float(code: int, mid_format: Format, out_format: Format, *, e4m3: bool = False) -> int:
    """Convert an intermediate float to a code of an L1 format that is no block float; FP8 is E4M3 with `e4m3`."""
    if e4m3 and out_format is Format.FP8:
        return _fp16_to_e4m3(late_float(code, mid_format, Format.FP16))
    if mid_format not in EXPONENT5_FORMATS:
        match out_format:
            case Format.FP16:
                return fp32_to_fp16(code)
            case Format.FP8:
                return fp32_to_fp16(code) >> 8
            case Format.BF16:
                narrows = mid_format in (Format.FP32, Format.TF32)
                return code >> 31 << 15 if narrows and code & 0x7F800000 == 0 else code >> 16
        return code
    sign, exponent, fraction = code >> 15, code >> 10 & 0x1F, code & 0x3FF
    match out_format:
        case Format.FP16:
            return code
        case Format.FP8:
            return code >> 8 if exponent else sign << 7
        case Format.BF16:
            return sign << 15 | exponent + 112 << 7 | fraction >> 3 if exponent else 0
    return sign << 31 | (exponent + 112 if exponent else 0) << 23 | fraction << 13


@checked
def pack_block(numerics: TensixNumerics, fmt: Format, codes: Sequence[int]) -> tuple[int, list[int]]:
    """Round 16 BF16 codes, or FP16 codes for an 'a' variant, to one block: its exponent and its datums."""
    check_length("codes", codes, BLOCK)
    block = BLOCK_FLOATS[fmt]
    fraction_bits = 15 - block.exponent_bits
    exponents = [code >> fraction_bits & (1 << block.exponent_bits) - 1 for code in codes]
    shared = max(exponents)
    datums = []
    for code, exponent in zip(codes, exponents, strict=True):
        fraction = (code & (1 << fraction_bits) - 1) >> fraction_bits - 7
        significand = fraction + (128 if exponent else 0)
        magnitude = min(shift_round(significand, shared - exponent + 1, numerics.final_tie), 127)
        magnitude >>= 7 - block.magnitude_bits
        datums.append(magnitude + (code >> 15 << block.magnitude_bits if magnitude else 0))
    return shared, datums
