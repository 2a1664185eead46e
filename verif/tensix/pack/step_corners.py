"""Directed corners of edge mask, exponent threshold, shift from INT32 to INT8, and rounding to 10 bits."""

from collections.abc import Iterator
from dataclasses import replace

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.convert.pack import LARGEST_DESCALE_SHIFT
from bitpath.golden.tensix.declarations.formats import BLOCK, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.tensix.pack.corner import Corner, corner
from bitpath.verif.tensix.pack.pack import ALL_COLUMNS, Packing

ONE = FP32.bias << FP32.fraction_bits
ONE16 = BF16.bias << BF16.fraction_bits
ONE_FP16 = FP16.bias << FP16.fraction_bits
MINUS = FP32.sign_mask
PLUS_MINUS = ((0, "+"), (1, "-"))


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
