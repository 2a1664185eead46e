"""Directed corners of accumulation in L1 by the packer."""

from collections.abc import Iterator
from dataclasses import replace

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.tensix.pack.corner import Corner, corner
from bitpath.verif.tensix.pack.pack import Packing

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
