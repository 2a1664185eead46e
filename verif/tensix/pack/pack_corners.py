"""Directed corners of the packer: a word with its required datum, and their layout in rows.

A bin is hit only if golden gives the required datum, so that a wrong corner shows up as a bin not hit.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, Rounding
from bitpath.golden.tensix.convert.pack import LARGEST_DESCALE_SHIFT
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.common.boundary_codes import TIE, breaks
from bitpath.verif.tensix.pack.pack import ALL_COLUMNS, Packing, PackRow


@dataclass(frozen=True)
class Corner:
    """One word for any column of a row, or a whole row; the required datum of the word, or of column ``place``, and the exponent."""

    bin: str
    packing: Packing
    words: tuple[int, ...]
    datum: int
    exponent: int = 0
    old: int = 0
    edge_mask: int = ALL_COLUMNS
    place: int = 0


def corner(name: str, packing: Packing, word: int, datum: int, old: int = 0) -> Corner:
    return Corner(name, packing, (word,), datum, old=old)


def lay_out(table: list[Corner]) -> list[tuple[PackRow, dict[int, Corner]]]:
    """Return rows that hold all corners, single words of one kind side by side, and the columns of the corners.

    Corners of accumulation take every column in turn, because each column has its own adder.
    """
    whole, groups = defaultdict(dict), defaultdict(list)
    for each in table:
        if len(each.words) == BLOCK:
            whole[PackRow(each.packing, each.words, edge_mask=each.edge_mask)][each.place] = each
        else:
            groups[each.packing].append(each)
    rows = list(whole.items())
    for packing, group in groups.items():
        for start in range(0, len(group), BLOCK):
            part = group[start : start + BLOCK]
            rest = (0,) * (BLOCK - len(part))
            words, old = tuple(each.words[0] for each in part) + rest, tuple(each.old for each in part) + rest
            for turn in range(BLOCK if packing.accumulate else 1):
                row = PackRow(packing, words[turn:] + words[:turn], old[turn:] + old[:turn])
                rows.append((row, {(k - turn) % BLOCK: each for k, each in enumerate(part)}))
    return rows


# Directed corners of the packer: INT16 from a 32-bit Dst on both chips, E4M3 and FP16 from FP32 or BF16 in Dst on Blackhole.


PLUS_MINUS = ((0, "+"), (1, "-"))
LARGEST = 0x7FFF
"""FP16 of all ones, to which narrowing saturates."""


def blackhole_corners(numerics: TensixNumerics) -> Iterator[Corner]:
    yield from _wide_int16()
    if numerics.fp8_e4m3:
        yield from _e4m3()
    if numerics.round_10b_fp16:
        yield from _narrowed_bf16()
        yield from _rounded_fp32()


def _wide_int16() -> Iterator[Corner]:
    """The upper half in the register's order: sign, 7 fraction bits, 8 exponent bits."""
    for relu in range(2):
        packing = Packing(Format.INT16, Format.INT16, True, relu=relu)
        for word, datum in ((0x80842202, 0x8401), (0x7F80FFFF, 0x00FF), (0x007FFFFF, 0x7F00), (0xFFFF0000, 0xFFFF)):
            yield corner(
                f"INT16 from 32 bits/{word:08x}/relu{relu}", packing, word, 0 if relu and word >> 31 else datum
            )


def _e4m3() -> Iterator[Corner]:
    """FP16 exponents next to the ends of E4M3's; fractions are truncated."""
    packing = Packing(Format.FP16, Format.FP8, False, e4m3=True)
    for sign, name in PLUS_MINUS:
        for exponent in (0, 1, 8, 9, 15, 16, 23, 24, 31):
            for fraction in (0, 0x7F, 0x80, 0x37F, 0x3FF):
                if exponent == 0:
                    datum = 0  # flushed before, with its sign
                elif exponent <= 8:
                    datum = sign << 7
                else:
                    datum = sign << 7 | min((exponent - 8 << 3) + (fraction >> 7), 0x7F)
                word = sign << 15 | exponent << 10 | fraction
                yield corner(f"E4M3/{exponent}/{fraction:03x}/{name}", packing, word, datum)


def _narrowed_bf16() -> Iterator[Corner]:
    """Before ReLU, without a rounding or a flush."""
    for sign, name in PLUS_MINUS:
        for exponent in (0, 111, 112, 113, 142, 143, 144, 255):
            for fraction in (0, 1, 0x7F):
                inside = (exponent - 112 << 10 | fraction << 3) if exponent >= 112 else 0
                magnitude = LARGEST if exponent > 143 else inside
                word = sign << 15 | exponent << 7 | fraction
                packing = Packing(Format.FP16, Format.FP16, False, round_10b=True)
                yield corner(f"BF16 narrowed/{exponent}/{fraction:02x}/{name}", packing, word, sign << 15 | magnitude)
    for relu, threshold, word, datum in (
        (2, LARGEST, 0x7F80, 0),
        (2, LARGEST - 1, 0x7F80, LARGEST),
        (3, 0x3C00, 0x4000, 0x3C00),
        (3, 0x3C00, 0x3F7F, 0x3BF8),
    ):
        packing = Packing(Format.FP16, Format.FP16, False, relu=relu, relu_threshold=threshold, round_10b=True)
        yield corner(f"BF16 narrowed/relu{relu}/{threshold:04x}/{word:04x}", packing, word, datum)


def _rounded_fp32() -> Iterator[Corner]:
    """Rounded to 10 bits, then ReLU with a threshold in BF16, then narrowed."""
    packing = Packing(Format.FP16, Format.FP16, True, round_10b=True)
    for sign, name in PLUS_MINUS:
        for word, datum in (
            (0x3E801000, 0x3401),
            (0x3E800FFF, 0x3400),
            (0x7F800001, LARGEST),
            (0x477FF000, 0x7C00),
            (0x47800000, 0x7C00),
            (0x48000000, LARGEST),
            (0x477FE000, 0x7BFF),
            (0x38400000, 0x0200),
            (0x37FFFFFF, 0x0000),
        ):
            yield corner(f"FP32 to FP16/{word:08x}/{name}", packing, sign << 31 | word, sign << 15 | datum)
    for relu, word, datum in ((2, 0x3F800000, 0), (2, 0x3F801000, 0x3C01), (3, 0x40000000, 0x3C00)):
        packing = Packing(Format.FP16, Format.FP16, True, relu=relu, relu_threshold=0x3F80, round_10b=True)
        yield corner(f"FP32 to FP16/relu{relu}/{word:08x}", packing, word, datum)


# Directed corners of accumulation in L1 by the packer.


ONE = FP32.bias << FP32.fraction_bits
ONE16 = BF16.bias << BF16.fraction_bits


def l1_corners(numerics: TensixNumerics) -> Iterator[Corner]:
    yield from _l1_fp32()
    yield from _l1_bf16()
    yield from _l1_fp16(saturates=numerics.l1_fp16_underflow_saturates)


def _l1_fp32() -> Iterator[Corner]:
    packing = Packing(Format.FP32, Format.FP32, True, accumulate=True)
    infinity, nan, minus = FP32.infinity_code, FP32.nan_code, FP32.sign_mask
    least, top = 1 << 23, FP32.max_code
    half = top - (24 << 23) & ~FP32.fraction_mask
    table = (
        ("tie to even", ONE, ONE - (24 << 23), ONE),
        ("tie up from odd", ONE | 1, ONE - (24 << 23), ONE + 2),
        *((f"above the tie by bit {bit}", ONE, ONE - (24 << 23) | 1 << bit, ONE + 1) for bit in range(23)),
        *((f"below the tie by bit {bit}", ONE | 1, ONE - (24 << 23) - (1 << bit), ONE | 1) for bit in range(23)),
        *((f"above the largest and a half by bit {bit}", top, half | 1 << bit, infinity) for bit in range(23)),
        *((f"below the largest and a half by bit {bit}", top, half - (1 << bit), top) for bit in range(23)),
        ("below a power of two", ONE, minus | ONE - (25 << 23), ONE),
        ("borrow", ONE, minus | ONE - (24 << 23), ONE - 1),
        ("far apart", ONE, ONE - (60 << 23), ONE),
        ("cancel all", ONE | 5, minus | ONE | 5, 0),
        ("cancel to one place", ONE | 1, minus | ONE, ONE - (23 << 23)),
        ("zeros", 0, minus, 0),
        ("minus zeros", minus, minus, minus),
        ("denormals are zero", FP32.fraction_mask, FP32.fraction_mask, 0),
        ("minus denormals are minus zero", minus | 1, minus | 5, minus),
        ("denormal result is zero", least | 1, minus | least, 0),
        ("minus denormal result is minus zero", minus | least | 1, least, minus),
        ("least result stays", least * 2, minus | least, least),
        ("overflow", top, top, infinity),
        ("minus overflow", minus | top, minus | top, minus | infinity),
        ("half a place above the largest", top, half, infinity),
        ("infinity", infinity, minus | ONE, infinity),
        ("minus infinity", ONE, minus | infinity, minus | infinity),
        ("equal infinities", minus | infinity, minus | infinity, minus | infinity),
        ("equal plus infinities", infinity, infinity, infinity),
        ("opposite infinities", infinity, minus | infinity, nan),
        ("NaN", infinity | 1, ONE, nan),
        ("minus NaN", ONE, minus | nan | 1, nan),
        ("NaN and infinity", minus | nan, infinity, nan),
    )
    lone = [(f"NaN of bit {bit}", infinity | 1 << bit, ONE, nan) for bit in range(23)]
    for bit in range(23, 31):
        code = infinity ^ 1 << bit
        lone += [
            (f"all ones but bit {bit}", code, 0, code),
            (f"all ones but bit {bit}, and one", code | 1, 0, code | 1),
        ]
    for name, old, word, datum in (
        *table,
        *lone,
        *((f"{name}, onto", word, old, datum) for name, old, word, datum in lone),
    ):
        yield corner(f"L1 FP32/{name}", packing, word, datum, old)
    yield corner("L1 FP32/ReLU before the sum", replace(packing, relu=1), minus | ONE, ONE, ONE)


def _l1_bf16() -> Iterator[Corner]:
    packing = Packing(Format.BF16, Format.BF16, False, raw=True, accumulate=True)
    infinity, nan, minus, one = BF16.infinity_code, BF16.nan_code, BF16.sign_mask, ONE16
    least, top = 1 << 7, BF16.max_code
    half = top - (8 << 7) & ~BF16.fraction_mask
    table = (
        ("tie to even", one, one - (8 << 7), one),
        ("tie up from odd", one | 1, one - (8 << 7), one + 2),
        *((f"above the tie by bit {bit}", one, one - (8 << 7) | 1 << bit, one + 1) for bit in range(7)),
        *((f"below the tie by bit {bit}", one | 1, one - (8 << 7) - (1 << bit), one | 1) for bit in range(7)),
        ("half a place above the largest", top, half, infinity),
        *((f"above the largest and a half by bit {bit}", top, half | 1 << bit, infinity) for bit in range(7)),
        *((f"below the largest and a half by bit {bit}", top, half - (1 << bit), top) for bit in range(7)),
        ("above the tie by a borrow", one | 1, minus | one - (9 << 7) | 0x7F, one | 1),
        ("cancel all", one | 5, minus | one | 5, 0),
        ("minus zeros", minus, minus, minus),
        ("zeros", 0, minus, 0),
        ("underflow", least | 1, minus | least, 0),
        ("underflow of minus", minus | least | 1, least, minus),
        ("denormals are zero", 0x7F, 0x7F, 0),
        ("overflow", top, top, infinity),
        ("minus overflow", minus | top, minus | top, minus | infinity),
        ("opposite infinities", infinity, minus | infinity, nan),
        ("equal infinities", minus | infinity, minus | infinity, minus | infinity),
        ("infinity and a number", infinity, minus | top, infinity),
        ("infinity and new NaN", minus | infinity, infinity | 1, minus | infinity),
        ("infinity and new minus NaN", infinity, minus | infinity | 1, infinity),
        ("old NaN and infinity", infinity | 1, minus | infinity, minus | infinity),
        ("old minus NaN and infinity", minus | infinity | 1, infinity, infinity),
        # A number below would bring 1.m * 2**128 back in range.
        *((f"old NaN of bit {bit} overflows", infinity | 1 << bit, minus | top, infinity) for bit in range(7)),
        ("old minus NaN overflows", minus | infinity | 1, top, minus | infinity),
        ("old NaN and zero", infinity | 1, minus, infinity),
        ("old NaN and new NaN", infinity | 1, minus | infinity | 1, infinity),
        ("old minus NaN and new NaN", minus | infinity | 1, infinity | 0x7F, minus | infinity),
        ("new NaN overflows", one, infinity | 0x40, infinity),
        # (1 + 2**-7) * 2**128 - (2 - 2**-7) * 2**127 = 3 * 2**120.
        ("new NaN is back in range", minus | top, infinity | 1, 121 + BF16.bias << 7 | 0x40),
        ("new minus NaN is back in range", top, minus | infinity | 1, minus | 121 + BF16.bias << 7 | 0x40),
    )
    for name, old, word, datum in table:
        yield corner(f"L1 BF16/{name}", packing, word, datum, old)


def _l1_fp16(*, saturates: bool) -> Iterator[Corner]:
    packing = Packing(Format.FP16, Format.FP16, False, raw=True, accumulate=True)
    minus, one, largest = 1 << 15, FP16.bias << 10, 0x7FFF
    least = 1 << 10
    table = (
        ("tie to even", one, one - (11 << 10), one),
        ("tie up from odd", one | 1, one - (11 << 10), one + 2),
        *((f"above the tie by bit {bit}", one, one - (11 << 10) | 1 << bit, one + 1) for bit in range(10)),
        *((f"below the tie by bit {bit}", one | 1, one - (11 << 10) - (1 << bit), one | 1) for bit in range(10)),
        ("above the tie by a borrow", one | 1, minus | one - (12 << 10) | 0x3FF, one | 1),
        ("overflow", largest, largest, largest),
        ("minus overflow", minus | largest, minus | largest, minus | largest),
        ("top binade is ordinary", 30 << 10, 30 << 10, 31 << 10),
        ("no infinity", 31 << 10, minus | one, 31 << 10),
        ("minus zeros", minus, minus, minus),
        ("zeros", 0, minus, 0),
        ("denormals are zero", 0x3FF, 0x3FF, 0),
        ("cancel below exponent 30", 29 << 10 | 3, minus | 29 << 10 | 3, 0),
        *(
            (f"cancel at exponent {31 ^ 1 << bit}", (31 ^ 1 << bit) << 10, minus | (31 ^ 1 << bit) << 10, 0)
            for bit in (2, 3, 4)
        ),
        ("cancel at exponent 30", 30 << 10 | 3, minus | 30 << 10 | 3, largest if saturates else 0),
        ("cancel at exponent 31", minus | 31 << 10, 31 << 10, largest if saturates else 0),
        ("underflow to exponent 0", least | 0x200, minus | least * 2, minus),
        ("underflow below exponent 0", least | 1, minus | least, largest if saturates else 0),
        ("minus underflow below exponent 0", minus | least | 1, least, minus | largest if saturates else minus),
    )
    for name, old, word, datum in table:
        yield corner(f"L1 FP16/{name}", packing, word, datum, old)


# Directed corners of edge mask, exponent threshold, shift from INT32 to INT8, and rounding to 10 bits.


ONE_FP16 = FP16.bias << FP16.fraction_bits
MINUS = FP32.sign_mask


def step_corners(numerics: TensixNumerics) -> Iterator[Corner]:
    yield from _edge_mask()
    yield from _minus_infinity()
    yield from _exponent_threshold()
    yield from _around_the_threshold()
    yield from _descale(even=numerics.final_tie is Rounding.RNE)
    yield from _ten_bits(even=numerics.final_tie is Rounding.RNE)


def _edge_mask() -> Iterator[Corner]:
    """Bits at both ends and their neighbours, in masks that keep one column, all but one, none."""
    for packing, first in (
        (Packing(Format.BF16, Format.BF16, False), ONE16),
        (Packing(Format.FP16, Format.FP16, False), ONE_FP16),
        (Packing(Format.FP32, Format.FP32, True), ONE),
        (Packing(Format.INT32, Format.INT32, True), MINUS | 1),
        (Packing(Format.INT16, Format.INT16, False), 1 << 15 | 1),
        (Packing(Format.INT8, Format.INT8, True), 1),
        (Packing(Format.INT8, Format.INT8, True, unsigned=True), 200),
    ):
        words = tuple(first + k for k in range(BLOCK))
        for mask in (0x0000, 0x0001, 0x8000, 0x7FFE, 0x7FFF, 0xFFFE, 0xBFFD):
            for place in (0, 1, BLOCK - 2, BLOCK - 1):
                datum = words[place] if mask >> place & 1 else 0
                name = f"edge mask/{packing.bin}/{mask:#06x}/column {place}"
                yield Corner(name, packing, words, datum, edge_mask=mask, place=place)


def _minus_infinity() -> Iterator[Corner]:
    """The minus infinity of each intermediate format, in each L1 format."""
    exponent8, exponent5 = FP32.exponent_mask, FP16.exponent_mask
    for mid, out, dst32, raw, datum, exponent in (
        (Format.FP32, Format.FP32, True, False, 0xFF800000, 0),
        (Format.FP32, Format.BF16, True, True, 0xFF80, 0),
        (Format.FP32, Format.FP16, True, False, 0xFFFF, 0),
        (Format.FP32, Format.FP8, True, False, 0xFF, 0),
        (Format.TF32, Format.TF32, True, False, 0xFF800000, 0),
        (Format.BF16, Format.BF16, False, False, 0xFF80, 0),
        (Format.BF16, Format.BFP2, False, True, 0b11, exponent8),
        (Format.BFP8, Format.FP32, False, False, 0xFF800000, 0),
        (Format.BFP8, Format.BFP8, True, False, 0x80 | 64, exponent8),
        (Format.FP16, Format.FP16, False, False, 0xFFFF, 0),
        (Format.FP16, Format.FP16, False, True, 0xFFFF, 0),
        (Format.FP16, Format.FP32, False, False, MINUS | 143 << 23 | 0x3FF << 13, 0),
        (Format.FP16, Format.BFP8A, False, False, 0x80 | 127, exponent5),
        (Format.BFP8A, Format.FP16, False, False, 0xFFF0, 0),
        (Format.BFP8A, Format.FP16, False, True, 0xFFF8, 0),
        (Format.FP8, Format.FP8, False, True, 0xFF, 0),
        (Format.FP8, Format.FP16, False, True, 0xFF00, 0),
    ):
        packing = Packing(mid, out, dst32, raw, edge_minus_infinity=True)
        one = ONE if dst32 else ONE_FP16 if mid in (Format.FP16, Format.BFP8A, Format.FP8) else ONE16
        for place in (0, BLOCK - 1):
            mask = ALL_COLUMNS ^ 1 << place
            name = f"edge minus infinity/{packing.bin}/column {place}"
            yield Corner(name, packing, (one,) * BLOCK, datum, exponent, edge_mask=mask, place=place)
    fp32, fp16 = (
        Packing(fmt, fmt, dst32, edge_minus_infinity=True) for fmt, dst32 in ((Format.FP32, True), (Format.FP16, False))
    )
    for packing in (fp32, fp16):
        for mode in (1, 2, 3):
            relu = replace(packing, relu=mode)
            yield Corner(f"edge minus infinity/{relu.bin}", relu, (0,) * BLOCK, 0, edge_mask=0)
    for packing, threshold, datum in ((fp32, 255, 0xFF800000), (fp16, 31, 0xFFFF), (fp16, 32, 0)):
        kind = replace(packing, exponent_threshold=threshold)
        name = f"edge minus infinity/{packing.mid_format.name}/exponent threshold {threshold}"
        yield Corner(name, kind, (0,) * BLOCK, datum, edge_mask=0)


def _exponent_threshold() -> Iterator[Corner]:
    """Exponents just below, at and above thresholds at the ends and inside the range, in each intermediate format."""
    for mid, out, dst32, raw, source in (
        (Format.FP32, Format.FP32, True, False, FP32),
        (Format.TF32, Format.TF32, True, False, FP32),
        (Format.BF16, Format.FP32, True, False, FP32),
        (Format.BFP8, Format.FP32, True, False, FP32),
        (Format.BF16, Format.BF16, False, False, BF16),
        (Format.BF16, Format.BF16, False, True, BF16),
        (Format.FP16, Format.FP16, False, False, FP16),
        (Format.BFP8A, Format.FP16, False, True, FP16),
        (Format.FP8, Format.FP8, False, True, FP16),
    ):
        packing = Packing(mid, out, dst32, raw)
        top = source.exponent_mask
        drop = source.width - packing.datum_bits
        for sign, name in PLUS_MINUS:
            for threshold in {1, source.bias, top, 32, 255}:
                for exponent in (threshold - 1, threshold, threshold + 1):
                    # Without raw, only FP32 zeros keep their sign.
                    if exponent > top or (exponent == 0 and mid is not Format.FP32):
                        continue
                    word = sign << source.width - 1 | exponent << source.fraction_bits
                    kind = replace(packing, exponent_threshold=threshold)
                    place = f"exponent threshold/{packing.bin}/{exponent} under {threshold}/{name}"
                    yield corner(place, kind, word, 0 if exponent < threshold else word >> drop)
            for exponent in (1, top - 1):
                word = sign << source.width - 1 | exponent << source.fraction_bits
                kind = replace(packing, exponent_threshold=255)
                yield corner(f"exponent threshold/{packing.bin}/{exponent} under 255/{name}", kind, word, 0)
                yield corner(f"exponent threshold/{packing.bin}/{exponent} under 0/{name}", packing, word, word >> drop)


def _around_the_threshold() -> Iterator[Corner]:
    """The threshold applies after rounding and ReLU and before the L1 format; denormals and NaN compare by exponent."""
    fp32, minus_nan = Packing(Format.FP32, Format.FP32, True), MINUS | FP32.infinity_code | 1
    over = FP32.bias + 1
    for threshold in (0, 1):
        kind = replace(fp32, exponent_threshold=threshold)
        for name, word in (("+", FP32.fraction_mask), ("-", MINUS | FP32.fraction_mask), ("-0", MINUS)):
            yield corner(f"exponent threshold/{threshold}/denormal {name}", kind, word, 0 if threshold else word)
    yield corner("exponent threshold/255/-NaN", replace(fp32, exponent_threshold=255), minus_nan, minus_nan)
    clamp = replace(fp32, relu=3, relu_threshold=ONE16, exponent_threshold=over)
    yield corner("exponent threshold/after the clamp", clamp, over << FP32.fraction_bits, 0)
    rounded = Packing(Format.BF16, Format.FP32, True, exponent_threshold=over)
    yield corner("exponent threshold/after rounding up", rounded, ONE | FP32.fraction_mask, over << FP32.fraction_bits)
    yield corner("exponent threshold/after rounding down", rounded, ONE | 0x7F << 16 | 0x7FFF, 0)
    narrow = Packing(Format.FP32, Format.FP16, True, exponent_threshold=FP32.bias)
    yield corner("exponent threshold/before FP16/at", narrow, ONE, ONE_FP16)
    yield corner("exponent threshold/before FP16/below", narrow, ONE - 1, 0)
    onto = replace(fp32, accumulate=True, exponent_threshold=over)
    yield corner("exponent threshold/before the sum", onto, ONE, ONE, ONE)


def _descale(*, even: bool) -> Iterator[Corner]:
    """Ties and their neighbours at every shift; rounding into the clamp; signs of zeros."""
    for shift in range(LARGEST_DESCALE_SHIFT + 1):
        half = (1 << shift) >> 1
        signed = Packing(Format.INT8, Format.INT8, True, descale_shift=shift)
        for packing, largest in ((signed, 127), (replace(signed, unsigned=True), 255)):
            for whole in (0, 1, largest - 1, largest) if shift in (1, 8, 24) else (0, largest):
                middle = (whole << shift) + half
                tie = whole + (shift > 0 and not (even and whole % 2 == 0))
                yield from _descaled(packing, f"{whole} tie", middle, tie)
                # Shorter shifts have no value between half a unit and one unit.
                if shift > 1:
                    yield from _descaled(packing, f"{whole} below", middle - 1, whole)
                    yield from _descaled(packing, f"{whole} above", middle + 1, whole + 1)
            yield from _descaled(packing, "all ones", MINUS - 1, (MINUS - 1 >> shift) + (shift > 0))
    signed = replace(signed, descale_shift=4)
    yield corner("descale/-0", signed, MINUS, 0x80)
    yield corner("descale/rounds to -0", signed, MINUS | 7, 0x80)
    yield corner("descale/ReLU", replace(signed, relu=1), MINUS | 100, 0)


def _descaled(packing: Packing, what: str, magnitude: int, rounded: int) -> Iterator[Corner]:
    """Yield a magnitude in either sign if it fits Dst."""
    if magnitude >= MINUS:
        return
    for sign, name in PLUS_MINUS:
        datum = (0 if sign else min(rounded, 255)) if packing.unsigned else sign << 7 | min(rounded, 127)
        place = f"descale/{'unsigned' if packing.unsigned else 'signed'}/{packing.descale_shift}/{what}/{name}"
        yield corner(place, packing, sign << 31 | magnitude, datum)


def _ten_bits(*, even: bool) -> Iterator[Corner]:
    """Ties at the tenth fraction bit, up to the next binade and to infinity, in the precision of FP16 and BF16."""
    fp32 = Packing(Format.FP32, Format.FP32, True, round_10b=True)
    tf32, bf16 = replace(fp32, out_format=Format.TF32), replace(fp32, out_format=Format.BF16)
    fp16 = Packing(Format.BF16, Format.FP16, True, round_10b=True)
    half = 1 << 12
    for sign, name in PLUS_MINUS:
        minus, minus16 = sign << 31, sign << 15
        for last, which in ((0b10, "even"), (0b11, "odd"), ((1 << 10) - 1, "all ones")):
            for below, what in ((0, "exact"), (half - 1, "below"), (half, "tie"), (half + 1, "above")):
                up = what == "above" or (what == "tie" and not (even and which == "even"))
                word, ten = minus | ONE | last << 13 | below, last + up
                place = f"10 bits/{what} {which}/{name}"
                yield corner(f"{place}/FP32", fp32, word, minus | ONE + (ten << 13))
                yield corner(f"{place}/TF32", tf32, word, minus | ONE + (ten << 13))
                yield corner(f"{place}/BF16", bf16, word, minus16 | ONE16 + (ten >> 3))
                yield corner(f"{place}/BF16 to FP16", fp16, word, minus16 | ONE_FP16 + ten)
                # Without rounding to 10 bits, or with raw, FP32 keeps its fraction.
                yield corner(f"{place}/off", replace(fp32, round_10b=False), word, word)
                yield corner(f"{place}/raw", replace(fp32, raw=True), word, word)
        infinity = minus | FP32.infinity_code
        yield corner(f"10 bits/overflow/{name}", fp32, minus | FP32.max_code, infinity)
        yield corner(f"10 bits/NaN/{name}", fp32, infinity | 1, infinity)
        yield corner(f"10 bits/NaN to FP16/{name}", fp16, infinity | 1, minus16 | 0x7FFF)
        yield corner(f"10 bits/large denormal/{name}", fp32, minus | FP32.fraction_mask, minus | 1 << 23)
        yield corner(f"10 bits/small denormal/{name}", fp32, minus | half, 0)
        yield corner(f"10 bits/zero/{name}", fp32, minus, 0)
        # BF16 has no bits to round, but its denormals are flushed.
        word = minus16 | ONE16 | 0x55
        yield corner(f"10 bits/16-bit Dst/{name}", replace(fp32, dst32=False), word, word << 16)
        narrow = replace(fp16, dst32=False)
        yield corner(f"10 bits/16-bit Dst to FP16/{name}", narrow, word, minus16 | ONE_FP16 | 0x55 << 3)
        denormal = replace(fp32, dst32=False)
        yield corner(f"10 bits/16-bit Dst/denormal/{name}", denormal, minus16 | BF16.fraction_mask, 0)


HALF_FP16 = FP16.bias - 1 << FP16.fraction_bits
REBIAS = FP32.bias - FP16.bias


def corners(numerics: TensixNumerics) -> list[Corner]:
    makers = (
        _ties,
        _specials,
        _denormals,
        _narrowing,
        _saturation,
        _relu,
        _integers,
        _blocks,
        step_corners,
        l1_corners,
        blackhole_corners,
    )
    return [each for maker in makers for each in maker(numerics)]


ROUNDINGS = (
    # Columns: Dst, intermediate format, its fraction bits, L1 format, fraction bits of Dst and of L1.
    (True, Format.TF32, 10, Format.FP32, 23, 23),
    (True, Format.BF16, 7, Format.BF16, 23, 7),
    (True, Format.BFP8, 6, Format.FP32, 23, 23),
    (False, Format.BFP8, 6, Format.BF16, 7, 7),
    (False, Format.BFP8A, 6, Format.FP16, 10, 10),
)


def _ties(numerics: TensixNumerics) -> Iterator[Corner]:
    """Half a unit, and half a unit that one bit breaks at every distance: above an even and an odd last place, up to
    the next binade, up to infinity, and up to the smallest normal number. Smaller results are flushed."""
    for dst32, mid, kept, out, dst_bits, out_bits in ROUNDINGS:
        dropped = dst_bits - kept
        bias = FP16.bias if mid is Format.BFP8A else FP32.bias
        width = 32 if dst32 else 16
        packing = Packing(mid, out, dst32)
        out_width = packing.datum_bits
        ones = (1 << kept) - 1
        above = [(bias, 0b10, "even"), (bias, 0b11, "odd"), (bias, ones, "all ones")]
        # The largest FP16 saturates to itself; denormals in 16 bits of Dst are flushed before.
        above += [(FP32.exponent_mask - 1, ones, "largest")] * (mid is not Format.BFP8A) + [
            (0, ones, "denormal")
        ] * dst32
        for (exponent, last, odd), (how, beside), (sign, name) in product(above, breaks(dropped).items(), PLUS_MINUS):
            up = beside > 0 or (how == TIE and (numerics.final_tie is not Rounding.RNE or odd != "even"))
            significand = exponent << kept | last
            word = sign << width - 1 | significand << dropped | int((Fraction(1, 2) + beside) * (1 << dropped))
            code = significand + up << out_bits - kept | sign << out_width - 1
            place = f"tie/{'dst32' if dst32 else 'dst16'} {mid.name}/{how} {odd}/{name}"
            yield corner(place, packing, word, 0 if exponent == 0 and not up else code)


def _specials(numerics: TensixNumerics) -> Iterator[Corner]:
    """NaN becomes infinity when rounded and is kept when copied; zeros."""
    infinity, minus = FP32.infinity_code, FP32.sign_mask
    for sign, name in PLUS_MINUS:
        s32, s16 = sign << 31, sign << 15
        for payload in (1, 0x8000, FP32.fraction_mask):
            nan = s32 | infinity | payload
            rounding, raw = Packing(Format.BF16, Format.BF16, True), Packing(Format.BF16, Format.BF16, True, raw=True)
            yield corner(f"NaN/rounded to BF16/{name}", rounding, nan, s16 | BF16.infinity_code)
            yield corner(f"NaN/rounded to TF32/{name}", Packing(Format.TF32, Format.FP32, True), nan, s32 | infinity)
            yield corner(f"NaN/raw to BF16/{name}", raw, nan, nan >> 16)
            yield corner(f"NaN/FP32 passes/{name}", Packing(Format.FP32, Format.FP32, True), nan, nan)
        nan = s16 | BF16.infinity_code | 1
        yield corner(f"NaN/BF16 copied/{name}", Packing(Format.BF16, Format.BF16, False), nan, s16 | BF16.infinity_code)
        yield corner(f"NaN/BF16 raw/{name}", Packing(Format.BF16, Format.BF16, False, raw=True), nan, nan)
        overflow = s32 | FP32.max_code
        yield corner(
            f"rounds to infinity/{name}", Packing(Format.BF16, Format.BF16, True), overflow, s16 | BF16.infinity_code
        )
    for mid, dst32 in ((Format.BF16, False), (Format.BF16, True), (Format.FP16, False)):
        zero = minus if dst32 else minus >> 16
        yield corner(f"-0/{mid.name} rounded", Packing(mid, mid, dst32), zero, 0)
        yield corner(f"-0/{mid.name} raw", Packing(mid, mid, dst32, raw=True), zero, minus >> 16)
    yield corner("-0/FP32 passes", Packing(Format.FP32, Format.FP32, True), minus, minus)
    yield corner("-0/FP32 to BF16", Packing(Format.FP32, Format.BF16, True), minus, minus >> 16)


def _denormals(numerics: TensixNumerics) -> Iterator[Corner]:
    """A large denormal of FP32 and FP16 may round up to the least normal number; those of BF16 are flushed first."""
    for sign, name in PLUS_MINUS:
        s32, s16 = sign << 31, sign << 15
        large, small = s32 | FP32.fraction_mask, s32 | 1 << 22
        for mid, out in ((Format.TF32, Format.FP32), (Format.BF16, Format.FP32), (Format.BFP8, Format.FP32)):
            packing = Packing(mid, out, True)
            yield corner(f"denormal/large to {mid.name}/{name}", packing, large, s32 | 1 << 23)
            yield corner(f"denormal/small to {mid.name}/{name}", packing, small, 0)
        packing = Packing(Format.BFP8, Format.BF16, False)
        yield corner(f"denormal/large BF16 to BFP8/{name}", packing, s16 | BF16.fraction_mask, 0)
        packing = Packing(Format.BFP8A, Format.FP16, False)
        for fraction, code in ((FP16.fraction_mask, s16 | 1 << 10), (0x3F8, s16 | 1 << 10), (0x3F7, 0), (0x200, 0)):
            yield corner(f"denormal/FP16 {fraction:#x} to BFP8A/{name}", packing, s16 | fraction, code)
        for out, block in BLOCK_FLOATS.items():
            datum = 1 << block.magnitude_bits - 1 | sign << block.magnitude_bits
            shared = 1 if block.exponent_bits == 5 else 1 + REBIAS
            words = (s16 | 0x3F8, s16 | 0x3F7, *(0,) * (BLOCK - 2))
            yield Corner(
                f"denormal/FP16 0x3f8 to BFP8A to {out.name}/{name}",
                replace(packing, out_format=out),
                words,
                datum,
                shared,
            )
        for mid, mask in ((Format.BF16, BF16.fraction_mask), (Format.FP16, FP16.fraction_mask)):
            yield corner(f"denormal/{mid.name} copied/{name}", Packing(mid, mid, False), s16 | mask, 0)
            yield corner(f"denormal/{mid.name} raw/{name}", Packing(mid, mid, False, raw=True), s16 | mask, s16 | mask)
        yield corner(f"denormal/FP32 passes/{name}", Packing(Format.FP32, Format.FP32, True), large, large)
        yield corner(f"denormal/FP32 to BF16/{name}", Packing(Format.FP32, Format.BF16, True), large, s16)
        # Raw FP16 denormals: to FP32 with fraction and sign, to BF16 as +0, to FP8 with the sign.
        raw = Packing(Format.FP16, Format.FP32, False, raw=True)
        word = s16 | FP16.fraction_mask
        yield corner(f"denormal/FP16 to FP32/{name}", raw, word, s32 | FP16.fraction_mask << 13)
        yield corner(f"denormal/FP16 to BF16/{name}", replace(raw, out_format=Format.BF16), word, 0)
        yield corner(f"denormal/FP16 to FP8/{name}", replace(raw, out_format=Format.FP8), word, sign << 7)


def _narrowing(numerics: TensixNumerics) -> Iterator[Corner]:
    """Exponents of FP32 below, at and above the range of FP16."""
    for sign, name in PLUS_MINUS:
        for exponent in (-REBIAS, -1, 0, 1, 30, 31, 32, 255 - REBIAS):
            word = sign << 31 | exponent + REBIAS << 23 | 0x2AB << 13 | 0x1FFF
            magnitude = 0 if exponent < 0 else 0x7FFF if exponent > 31 else exponent << 10 | 0x2AB
            code = sign << 15 | magnitude
            where = f"exponent {exponent}/{name}"
            yield corner(f"FP32 to FP16/{where}", Packing(Format.FP32, Format.FP16, True), word, code)
            yield corner(f"FP32 to FP8/{where}", Packing(Format.FP32, Format.FP8, True), word, code >> 8)
        for exponent in (1, 30, 31):
            word = sign << 15 | exponent << 10 | 0x2AB
            wide = sign << 31 | exponent + REBIAS << 23 | 0x2AB << 13
            packing = Packing(Format.FP16, Format.FP32, False)
            yield corner(f"FP16 to FP32/exponent {exponent}/{name}", packing, word, wide)
            yield corner(
                f"FP16 to BF16/exponent {exponent}/{name}", replace(packing, out_format=Format.BF16), word, wide >> 16
            )


def _saturation(numerics: TensixNumerics) -> Iterator[Corner]:
    """FP16 to 6 fraction bits: above 0x7FF7 there is no larger number."""
    packing = Packing(Format.BFP8A, Format.FP16, False)
    for sign, name in PLUS_MINUS:
        for magnitude in (0x7FE7, 0x7FF0, 0x7FF7, 0x7FF8, 0x7FF9, 0x7FFF):
            largest = 0x7FE0 if magnitude == 0x7FE7 else 0x7FF0
            word, code = sign << 15 | magnitude, sign << 15 | largest
            yield corner(f"E5M6/{magnitude:#x}/{name}", packing, word, code)
        word = sign << 15 | 0x7FFF
        yield corner(f"E5M10/0x7fff/{name}", Packing(Format.FP16, Format.FP16, False), word, word)
        raw = Packing(Format.BFP8A, Format.FP16, False, raw=True)
        yield corner(f"E5M7 raw/0x7fff/{name}", raw, word, sign << 15 | 0x7FF8)


def _relu(numerics: TensixNumerics) -> Iterator[Corner]:
    """Values just below, at and above the threshold, and below zero."""
    layouts = (
        # Columns: packing, a positive threshold, its left shift in a word.
        (Packing(Format.FP32, Format.FP32, True), ONE16 | 5, 16),
        (Packing(Format.BF16, Format.BF16, False), ONE16 | 5, 0),
        (Packing(Format.FP16, Format.FP16, False), HALF_FP16 | 5, 0),
    )
    for packing, threshold, shift in layouts:
        top = 1 << 15 + shift
        limit, mid = threshold << shift, packing.mid_format.name
        words = {"below": limit - 1, "at": limit, "above": limit + 1, "far above": limit + (1 << 14 + shift - 2)}
        words |= {"negative": top | limit, "-0": top, "0": 0, "least": 1 << 10 + shift - (0 if mid == "FP16" else 3)}
        for mode in range(4):
            for where, word in words.items():
                positive = 0 if word >= top else word
                clamped = limit if where == "far above" or (where == "above" and shift == 0) else positive
                code = (word, positive, word if limit < word < top else 0, clamped)[mode]
                # Rounding has already turned -0 into +0, except in FP32.
                code = 0 if where == "-0" and (mode or shift == 0) else code
                relu = replace(packing, relu=mode, relu_threshold=threshold if mode > 1 else 0)
                yield corner(f"ReLU {mode}/{mid}/{where}", relu, word, code)
    clamp = Packing(Format.FP32, Format.FP32, True, relu=3, relu_threshold=ONE16)
    yield corner("ReLU 3/FP32/above in the low 13 bits only", clamp, ONE | 0x1FFF, ONE | 0x1FFF)
    yield corner("ReLU 3/FP32/above in bit 13", clamp, ONE | 0x2000, ONE)
    yield corner("ReLU 2/FP32/above in the lowest bit", replace(clamp, relu=2), ONE | 1, ONE | 1)
    # Only a threshold can be this small in TF32.
    small = Packing(Format.FP32, Format.BF16, True, relu=3, relu_threshold=5, round_10b=True)
    yield corner("ReLU 3/TF32/a denormal threshold", small, ONE, 0)
    nan = FP32.infinity_code | 1
    yield corner("ReLU 1/FP32/NaN", replace(clamp, relu=1, relu_threshold=0), nan, nan)
    yield corner("ReLU 1/FP32/-NaN", replace(clamp, relu=1, relu_threshold=0), nan | FP32.sign_mask, 0)


def _integers(numerics: TensixNumerics) -> Iterator[Corner]:
    minus = 1 << 31
    signed = Packing(Format.INT8, Format.INT8, True)
    unsigned = replace(signed, unsigned=True)
    # Any single bit above the datum saturates it.
    for magnitude in (0, 126, 127, 255, minus - 1, *(1 << bit for bit in range(31))):
        name = f"INT32 to INT8/{magnitude:#x}"
        clamped, wide = min(magnitude, 127), min(magnitude, 255)
        yield corner(f"{name}/+", signed, magnitude, clamped)
        yield corner(f"{name}/-", signed, minus | magnitude, 0x80 | clamped)
        yield corner(f"{name}/unsigned +", unsigned, magnitude, wide)
        yield corner(f"{name}/unsigned -", unsigned, minus | magnitude, 0)
        yield corner(f"{name}/raw +", replace(signed, raw=True), magnitude, magnitude & 0x7F)
        yield corner(f"{name}/raw -", replace(signed, raw=True), minus | magnitude, 0x80 | magnitude & 0x7F)
        yield corner(f"{name}/raw unsigned -", replace(unsigned, raw=True), minus | magnitude, magnitude & 0xFF)
        yield corner(f"{name}/ReLU -", replace(signed, relu=1), minus | magnitude, 0)
        yield corner(f"{name}/ReLU unsigned", replace(unsigned, relu=1), magnitude, wide)
    for fmt, width, dst32 in ((Format.INT32, 32, True), (Format.INT16, 16, False)):
        for word in (0, 1, (1 << width - 1) - 1, 1 << width - 1, (1 << width) - 1):
            yield corner(f"{fmt.name}/{word:#x}", Packing(fmt, fmt, dst32), word, word)
            positive = 0 if word >> width - 1 else word
            yield corner(f"{fmt.name}/{word:#x}/ReLU", Packing(fmt, fmt, dst32, relu=1), word, positive)


def _blocks(numerics: TensixNumerics) -> Iterator[Corner]:
    """Shared exponents against the first word: clamp, ties, underflow, and blocks of exponent 0."""
    away = numerics.final_tie is not Rounding.RNE
    for out, block in BLOCK_FLOATS.items():
        wide = block.exponent_bits == 8
        mid = Format.BF16 if wide else Format.FP16
        fmt = BF16 if wide else FP16
        cut = 7 - block.magnitude_bits
        packing = Packing(mid, out, False, raw=True)
        for sign, name in PLUS_MINUS:
            # Columns: 7 fraction bits, distance below the shared exponent, magnitude of 7 bits.
            cases = (
                ("clamp", 0x7F, 0, 127),
                ("all ones below", 0x7E, 0, 127),
                ("tie to odd", 0x01, 0, 65 if away else 64),
                ("tie to even", 0x03, 0, 66),
                ("tie at 1", 0x02, 1, 33 if away else 32),
                ("last tie", 0x00, 7, 1 if away else 0),
                ("above the last tie", 0x01, 7, 1),
                ("vanishes", 0x7F, 8, 0),
                ("vanishes far below", 0x7F, 20, 0),
                ("infinity's exponent", 0x00, None, 64),
            )
            for what, fraction, distance, magnitude in cases:
                shared = fmt.exponent_mask if distance is None else 25
                exponent = shared - (distance or 0)
                word = (sign << fmt.exponent_bits | exponent) << 7 | fraction
                largest = shared << 7
                words = (word, largest, *(0,) * (BLOCK - 2))
                words = tuple(each << fmt.fraction_bits - 7 for each in words)
                datum = magnitude >> cut
                datum |= sign << block.magnitude_bits if datum else 0
                yield Corner(f"{out.name}/{what}/{name}", packing, words, datum, shared)
            # Any nonzero exponent bit sets the hidden bit.
            for bit in range(fmt.exponent_bits):
                words = ((sign << fmt.exponent_bits | 1 << bit) << fmt.fraction_bits, *(0,) * (BLOCK - 1))
                datum = 64 >> cut | sign << block.magnitude_bits
                yield Corner(f"{out.name}/exponent {1 << bit}/{name}", packing, words, datum, 1 << bit)
            # No hidden bit: the 7 fraction bits shift right by one, and 63.5 rounds to 64 in every mode.
            words = tuple((sign << fmt.exponent_bits + 7 | 0x7F) << fmt.fraction_bits - 7 for _ in range(BLOCK))
            datum = 64 >> cut
            datum |= sign << block.magnitude_bits if datum else 0
            yield Corner(f"{out.name}/exponent 0/{name}", packing, words, datum)
            minus_zero = tuple(sign << 15 for _ in range(BLOCK))
            yield Corner(f"{out.name}/zeros/{name}", packing, minus_zero, 0)
