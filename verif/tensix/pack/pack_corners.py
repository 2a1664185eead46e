"""Directed corners of the packer: a word with its required datum.

A bin is hit only if golden gives the required datum, so that a wrong corner shows up as a bin not hit.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.common.boundary_codes import TIE, breaks
from bitpath.verif.tensix.pack.blackhole_corners import blackhole_corners
from bitpath.verif.tensix.pack.corner import Corner, corner
from bitpath.verif.tensix.pack.l1_corners import l1_corners
from bitpath.verif.tensix.pack.pack import Packing
from bitpath.verif.tensix.pack.step_corners import step_corners

ONE = FP32.bias << FP32.fraction_bits
ONE16 = BF16.bias << BF16.fraction_bits
HALF_FP16 = FP16.bias - 1 << FP16.fraction_bits
REBIAS = FP32.bias - FP16.bias
PLUS_MINUS = ((0, "+"), (1, "-"))


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
    """Half a unit, and half a unit that one bit breaks at every distance: above an even and an odd last place, up to the next
    binade, up to infinity, and up to the smallest normal number, below which a result is flushed."""
    for dst32, mid, kept, out, dst_bits, out_bits in ROUNDINGS:
        dropped = dst_bits - kept
        bias = FP16.bias if mid is Format.BFP8A else FP32.bias
        width = 32 if dst32 else 16
        packing = Packing(mid, out, dst32)
        out_width = packing.datum_bits
        ones = (1 << kept) - 1
        above = [(bias, 0b10, "even"), (bias, 0b11, "odd"), (bias, ones, "all ones")]
        # The largest FP16 saturates to itself; what is denormal in 16 bits of Dst is flushed before.
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
