"""Directed corners of the packer: INT16 from a 32-bit Dst on both chips, E4M3 and FP16 from FP32 or BF16 in Dst on Blackhole."""

from collections.abc import Iterator

from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.tensix.pack.corner import Corner, corner
from bitpath.verif.tensix.pack.pack import Packing

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
