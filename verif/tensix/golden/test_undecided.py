"""Rules of the Matrix unit that no known answer decides: each by hand, and the same in both tiers.

They rest on ttsim's source or on this project's choice; the sources of the numerics say which.
"""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, BfpRange, Masking
from bitpath.golden.tensix.exact import (
    add,
    add_to_l1,
    late_float,
    maximum,
    multiply_add,
    pack_block,
    trace_dot16,
    unpack_block,
    unpack_datum,
)

BASE = WORMHOLE.numerics
ONE, FP16_ONE = 127 << 10, 15 << 10
"""1.0 as a source word with 8 and with 5 exponent bits."""


def packed(word, mid, out, **options):
    return int.from_bytes(tensix.pack(np.array([word], np.uint32), mid, out, **options).tobytes(), "little")


@pytest.mark.parametrize(
    ("fmt", "handling", "exponent", "datum", "word"),
    [
        # Magnitude 1 has 6 leading zeros: under exponent 3 its exponent is -3, which wraps modulo 256 or 32.
        (Format.BFP8, BfpRange.WRAP, 3, 0x81, 1 << 18 | 253 << 10),
        (Format.BFP8, BfpRange.FLUSH, 3, 0x81, 1 << 18),
        (Format.BFP8A, BfpRange.WRAP, 3, 0x01, 29 << 10),
        (Format.BFP8A, BfpRange.FLUSH, 3, 0x01, 0),
        (Format.BFP8A, BfpRange.WRAP, 15, 0x40, 15 << 10),
        (Format.BFP8A, BfpRange.WRAP, 15, 0xE0, 1 << 18 | 15 << 10 | 1 << 9),
        (Format.BFP8A, BfpRange.WRAP, 31, 0x80, 1 << 18 | 31 << 10),
    ],
)
def test_unpacked_block_floats(fmt, handling, exponent, datum, word):
    field, out = ("bfp_range", "BF16") if fmt is Format.BFP8 else ("bfp_a_range", "FP16")
    numerics = replace(BASE, **{field: handling})
    assert unpack_block(numerics, fmt, exponent, [datum]) == [word]
    l1 = np.zeros(32, np.uint8)
    l1[[0, 16]] = exponent, datum
    assert tensix.unpack(l1, fmt, out, count=16, numerics=numerics)[0] == word


@pytest.mark.parametrize(
    ("word", "expected"), [(0x38400000, 0x0200), (0xB87FFFFF, 0x83FF), (0x37FFFFFF, 0), (0x38800000, 0x0400)]
)
def test_fp32_to_fp16_keeps_a_fraction_under_a_zero_exponent(word, expected):
    """In packer and unpacker; the Matrix unit reads the code as zero."""
    assert late_float(word, Format.FP32, Format.FP16) == expected
    assert packed(word, "FP32", "FP16", dst32=True) == expected
    source = expected >> 15 << 18 | expected & 0x7FFF
    assert unpack_datum(BASE, word, Format.FP32, Format.FP16, unsigned=False) == source
    assert tensix.unpack(np.array([word], np.uint32), "FP32", "FP16", count=1)[0] == source


@pytest.mark.parametrize(
    ("mid", "out", "raw", "words", "exponent", "datums"),
    [
        # Denormals have no hidden bit; ties round away from zero.
        ("BF16", Format.BFP8, True, (0x007F, 0x8001, 0x0002, 0x8000), 0, (64, 0x81, 1, 0)),
        # Exponent 0 counts as one below exponent 1, though it weighs the same.
        ("BF16", Format.BFP8, True, (0x007F, 0x0080), 1, (32, 64)),
        # Rounding clamps instead of raising the exponent.
        ("BF16", Format.BFP8, False, (0x3FFF,), 127, (127,)),
        # 1.5, -0.25 and 2**-9 under exponent 15: the last is a quarter of the last place.
        ("FP16", Format.BFP8A, False, (0x3E00, 0xB400, 0x1800), 15, (96, 0x90, 0)),
    ],
)
def test_packed_block_floats(mid, out, raw, words, exponent, datums):
    words, datums = ([*each, *[0] * (16 - len(each))] for each in (words, datums))
    assert pack_block(BASE, out, words) == (exponent, datums)
    got = tensix.pack(np.array(words, np.uint32), mid, out, dst32=False, raw=raw)
    assert (got[0], got[16:].tolist()) == (exponent, datums)


@pytest.mark.parametrize(
    ("fmt", "old", "new", "saturating", "expected"),
    [
        # -2**-24 has biased exponent -9; 2**-15 has 0.
        (Format.FP16, 0x0400, 0x8401, True, 0xFFFF),
        (Format.FP16, 0x0400, 0x8401, False, 0x8000),
        (Format.FP16, 0x0600, 0x8400, True, 0),
        (Format.FP16, 0x7800, 0xF800, True, 0x7FFF),
        (Format.FP16, 0x7800, 0xF800, False, 0),
        (Format.FP16, 0x7400, 0xF400, True, 0),
        # Underflow gives a zero of the same sign.
        (Format.BF16, 0x0080, 0x8081, True, 0x8000),
        (Format.BF16, 0x8080, 0x0081, True, 0),
        (Format.FP32, 0x00800000, 0x80800001, True, 0x80000000),
        (Format.FP32, 0x80800000, 0x00800001, True, 0),
    ],
)
def test_accumulation_in_l1_that_underflows(fmt, old, new, saturating, expected):
    numerics = replace(BASE, l1_fp16_underflow_saturates=saturating)
    assert accumulated(numerics, fmt, old, new) == expected


@pytest.mark.parametrize(
    ("fmt", "old", "new", "expected"),
    [
        # An old NaN is the largest FP64 number, which any finite number and NaN leave as it is.
        (Format.BF16, 0x7F81, 0xFC51, 0x7F80),
        (Format.BF16, 0x7FFF, 0xFF7F, 0x7F80),
        (Format.BF16, 0xFF81, 0x0000, 0xFF80),
        (Format.BF16, 0x7FC0, 0x8001, 0x7F80),
        (Format.BF16, 0x7F81, 0xFF81, 0x7F80),
        (Format.BF16, 0xFF81, 0x7FFF, 0xFF80),
        # A new NaN is 1.m * 2**128: (1 + 2**-7) * 2**128 - (2 - 2**-7) * 2**127 = 3 * 2**120.
        (Format.BF16, 0xFF7F, 0x7F81, 0x7C40),
        (Format.BF16, 0x7F7F, 0xFF81, 0xFC40),
        (Format.BF16, 0xFF7F, 0x7F82, 0x7CA0),
        (Format.BF16, 0x3F80, 0xFFC0, 0xFF80),
        # An infinity stays beside a NaN; two opposite ones are NaN.
        (Format.BF16, 0x7FC0, 0xFF80, 0xFF80),
        (Format.BF16, 0xFF80, 0x7FC0, 0xFF80),
        (Format.BF16, 0xFF80, 0x7F80, 0x7FC0),
        # FP32 has one NaN, FP16 none: the largest exponent is ordinary.
        (Format.FP32, 0xFFFFFFFF, 0x3F800000, 0x7FC00000),
        (Format.FP32, 0x7F800000, 0xFF800001, 0x7FC00000),
        (Format.FP16, 0x7E00, 0xFC00, 0x7800),
        (Format.FP16, 0xFC01, 0x7FFF, 0x7BFC),
    ],
)
def test_nan_in_l1(fmt, old, new, expected):
    assert accumulated(BASE, fmt, old, new) == expected


def accumulated(numerics, fmt, old, new):
    """Return the datum that both tiers must give."""
    wide = fmt is Format.FP32
    l1 = np.frombuffer(old.to_bytes(L1_BYTES[fmt], "little"), np.uint8)
    got = packed(new, fmt, fmt, dst32=wide, raw=not wide, l1=l1, numerics=numerics)
    assert add_to_l1(numerics, old, new, fmt) == got
    return got


def test_the_reference_saturates_what_underflows_in_l1():
    assert add_to_l1(BASE, 0x7BFF, 0xFBFF, Format.FP16) == 0x7FFF


def elementwise(operation, dst, b, a, *, style, numerics=BASE, formats=None, phase=0):
    """Return the 32-bit Dst word of one datum, which both tiers must give."""
    own = STYLE_OWN_FORMAT[style]
    fmt_a, fmt_b = formats or (own, own)
    common = {"style": style, "dst32": True, "srca_format": fmt_a, "srcb_format": fmt_b}
    arrays = [np.full((8, 16), word, np.uint32) for word in (dst, b, a)]
    if operation == "mul":
        scalar = multiply_add(numerics, dst, b, a, phase=phase, **common)
        got = tensix.elwmul(*arrays, phase=phase, numerics=numerics, **common)
    else:
        subtract = operation == "sub"
        scalar = add(numerics, dst, b, a, subtract=subtract, accumulating=True, **common)
        got = (tensix.elwsub if subtract else tensix.elwadd)(*arrays, numerics=numerics, **common)
    assert np.all(got == scalar)
    return scalar


def integer(value):
    return (1 << 18 if value < 0 else 0) | (16 << 10 if value else 0) | abs(value)


@pytest.mark.parametrize(
    ("style", "operation", "dst", "b", "a", "expected"),
    [
        (Style.FP16, "mul", 0x3F800000, FP16_ONE, FP16_ONE, 0x40000000),
        (Style.FP16, "add", 0x3F000000, FP16_ONE, FP16_ONE, 0x40200000),
        (Style.FP16, "sub", 0x3F000000, FP16_ONE, FP16_ONE | 1 << 9, 0x3F800000),
        # Zero operands have exponent 97, which shifts out 7 bits of this Dst.
        (Style.FP16, "mul", 90 << 23 | 1, 0, FP16_ONE, 90 << 23),
        (Style.FP16, "add", 90 << 23 | 1, 0, 0, 90 << 23),
        (Style.FP16, "add", 90 << 23 | 1 << 7, 0, 0, 90 << 23 | 1 << 7),
        # A zero difference of ones has exponent 127.
        (Style.FP16, "sub", 90 << 23, FP16_ONE, FP16_ONE, 0),
        # Integers saturate.
        (Style.INT8, "add", 0, integer(-1023), integer(1000), 0x80000017),
        (Style.INT8, "sub", 0x80000001, integer(-3), integer(-2), 0),
        (Style.INT8, "add", 0x7FFFFFF8, integer(3), integer(5), 0x7FFFFFFF),
        (Style.INT8, "add", 0x7FFFFFFF, integer(3), integer(5), 0x7FFFFFFF),
        (Style.INT8, "sub", 0xFFFFFFFF, integer(3), integer(-5), 0xFFFFFFFF),
        (Style.INT8, "mul", 0xFFFFFFFE, integer(16), integer(-32), 0xFFFFFFFF),
    ],
)
def test_elementwise_into_a_32_bit_dst(style, operation, dst, b, a, expected):
    assert elementwise(operation, dst, b, a, style=style) == expected


def test_elementwise_integer_phases_make_the_product():
    word = 0
    for phase in range(4):
        word = elementwise("mul", word, integer(1023), integer(-255), style=Style.INT8, phase=phase)
    assert word == 1 << 31 | 1023 * 255


@pytest.mark.parametrize(("flush", "expected"), [(True, 0), (False, 7)])
def test_elementwise_integers_without_an_exponent(flush, expected):
    numerics = replace(BASE, int8_zero_exponent_flush=flush)
    assert elementwise("add", 0, 3, 4, style=Style.INT8, numerics=numerics) == expected


@pytest.mark.parametrize(
    ("style", "formats", "masking", "significand"),
    [
        (Style.BF16, (Format.BF16, Format.TF32), Masking.OWN_FORMAT, 7),
        (Style.BF16, (Format.BF16, Format.TF32), Masking.SRCA_STYLE, 0),
        (Style.TF32, (Format.TF32, Format.BF16), Masking.OWN_FORMAT, 0),
        (Style.TF32, (Format.TF32, Format.BF16), Masking.SRCA_STYLE, 7),
    ],
)
def test_elementwise_source_masking(style, formats, masking, significand):
    """SrcB is 1 + 7 / 1024, with bits below BF16, which its own format or SrcA's style masks."""
    numerics = replace(BASE, masking=masking)
    settings = {"style": style, "numerics": numerics, "formats": formats}
    words = elementwise("mul", 0, ONE | 7, ONE, phase=2, **settings), elementwise("add", 0, ONE | 7, 0, **settings)
    assert np.array(words, np.uint32).view(np.float32).tolist() == [significand / 1024, 1 + significand / 1024]


@pytest.mark.parametrize(
    ("dst", "a", "dst32", "expected"),
    [
        # A SrcA denormal counts as +0 and wins against a negative Dst.
        (0xBF80, 0x7F, False, 0),
        (0xBF800000, 1 << 18 | 0x7F, True, 0),
        # A denormal of Dst is compared and kept as it is.
        (0x0001, 0, False, 0x0001),
        (0x00002001, 0x3FF, True, 0x00002000),
    ],
)
def test_gmpool_with_denormal_winners(dst, a, dst32, expected):
    assert maximum(dst, [ONE] * 16, [a] * 16, style=Style.BF16, dst32=dst32) == expected
    arrays = (np.full((rows, 16), word, np.uint32) for rows, word in ((8, dst), (8, ONE), (16, a)))
    assert np.all(tensix.gmpool(*arrays, style="BF16", dst32=dst32)[0] == expected)


@pytest.mark.parametrize("dst32", [False, True])
def test_row_broadcast_and_dotpv_by_the_scalar_tier(dst32):
    rng = np.random.default_rng(61)
    b, a = (rng.integers(0, 2, (rows, 16)) << 18 | rng.integers(120, 134, (rows, 16)) << 10 for rows in (8, 16))
    b, a = ((each | rng.integers(0, 1024, each.shape)).astype(np.uint32) for each in (b, a))
    dst = (rng.integers(120, 134, (8, 16)) << (23 if dst32 else 7) | rng.integers(0, 128, (8, 16))).astype(np.uint32)
    common = {"style": Style.BF16, "dst32": dst32, "phase": 0}
    own = {"srca_format": Format.BF16, "srcb_format": Format.BF16}

    def scalar(i, row, j):
        return trace_dot16(BASE, int(dst[i, j]), row.tolist(), a[:, j].tolist(), **common, **own).result

    whole = tensix.dotpv(dst, b, a, **common)
    assert whole.tolist() == [[scalar(i, b[i], j) for j in range(16)] for i in range(8)]
    spread = tensix.mvmul_row(dst, b[5:6], a, **common)
    expected = [[scalar(i, b[5], j) for j in range(16)] if i in (0, 2, 4, 6) else dst[i].tolist() for i in range(8)]
    assert spread.tolist() == expected
