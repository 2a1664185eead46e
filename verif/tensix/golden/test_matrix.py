"""The Matrix unit: both tiers over all numerics, and rules that no known answer decides, by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE, BfpRange, GmpoolFp16, Masking
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
from bitpath.golden.tensix.exact.dot import read_dst
from bitpath.golden.tensix.exact.matrix import next_index_phase
from bitpath.verif.tensix.golden.samples import scalar_dot

# The vectorised Matrix unit equals the scalar tier bit for bit, also for unmeasured numerics.


BASE = WORMHOLE.numerics
LITERAL = replace(BASE, gmpool_fp16=GmpoolFp16.LITERAL)
TIE_FIELDS = ("product_tie", "sum_tie", "dst_tie", "final_tie")
NUMERICS = {name: preset.numerics for name, preset in PRESETS.items()} | {
    "group_4": replace(BASE, group=4),
    "group_16": replace(BASE, group=16),
    "guard_3": replace(BASE, product_guard_bits=3),
    "guard_13_even": replace(BASE, product_guard_bits=13, product_tie=Rounding.RNE),
    "ties_even": replace(BASE, **dict.fromkeys(TIE_FIELDS, Rounding.RNE)),
    "ties_up": replace(BASE, **dict.fromkeys(TIE_FIELDS, Rounding.RNU) | {"sum_tie": Rounding.RNA}),
    "one_rounding": replace(BASE, pre_round=False),
    "empty_terms_out": replace(BASE, empty_terms_in_maximum=False),
    "zero_terms_at_0": replace(BASE, zero_terms_keep_bias=False),
    "no_zero_flag": replace(BASE, zero_flag_disabled=True),
    "no_integer_flush": replace(BASE, int8_zero_exponent_flush=False),
}
CONFIGURATIONS = [(style, dst32) for style in Style for dst32 in (False, True) if dst32 or style is not Style.INT8]
KINDS = ("uniform", "near", "cancel", "zeros", "extreme")


def sources(rng, style, kind, shape):
    top = 32 if style in (Style.FP16, Style.INT8) else 256
    exponent = {
        "uniform": rng.integers(0, top, shape),
        "near": rng.integers(top // 2 - 4, top // 2 + 4, shape),
        "cancel": rng.integers(top // 2 - 1, top // 2 + 1, shape),
        "zeros": rng.choice([0, 0, 1, top // 2], shape),
        "extreme": rng.choice([0, 1, 2, top // 4, top - 2, top - 1], shape),
    }[kind]
    fraction = rng.integers(0, 1024, shape)
    if kind == "cancel":
        fraction &= 0x380
    if style is Style.INT8:
        exponent = np.where(exponent > 2, 16, exponent)
    return (rng.integers(0, 2, shape) << 18 | exponent << 10 | fraction).astype(np.uint32)


def dsts(rng, style, dst32, kind, shape):
    """Return Dst words, half random and half near the products."""
    width = 32 if dst32 else 16
    words = rng.integers(0, 1 << width, shape)
    if style is Style.INT8:
        words = np.where(rng.random(shape) < 0.3, words | 0x7FFFFF00, words)
    elif kind in ("near", "cancel"):
        bits = 5 if style is Style.FP16 and not dst32 else 8
        middle = (1 << bits - 1) + rng.integers(-4, 4, shape)
        low = width - 1 - bits
        words = words & ~(((1 << bits) - 1) << low) | middle << low
    return words.astype(np.uint32)


def settings_of(style, dst32):
    """Return the options of an instruction with the style's own format for both sources, and with one mix."""
    mixed = {Style.BF16: (Format.BF16, Format.TF32), Style.TF32: (Format.TF32, Format.BFP8)}
    for a, b in [(STYLE_OWN_FORMAT[style],) * 2, *([mixed[style]] if style in mixed else [])]:
        yield {"style": style, "dst32": dst32, "srca_format": a, "srcb_format": b}


@pytest.mark.parametrize("name", NUMERICS)
@pytest.mark.parametrize(("style", "dst32"), CONFIGURATIONS)
def test_mvmul(name, style, dst32):
    numerics, rng = NUMERICS[name], np.random.default_rng(21)
    compared = 0
    for kind, phase, formats in product(KINDS, range(4), settings_of(style, dst32)):
        b, a = sources(rng, style, kind, (8, 16)), sources(rng, style, kind, (16, 16))
        dst = dsts(rng, style, dst32, kind, (8, 16))
        got = tensix.mvmul(dst, b, a, numerics=numerics, phase=phase, **formats)
        for flat in rng.choice(128, 5, replace=False).tolist():
            i, j = divmod(flat, 16)
            scalars = int(dst[i, j]), b[i].tolist(), a[:, j].tolist()
            assert got[i, j] == scalar_dot(numerics, *scalars, phase=phase, **formats)
            compared += 1
    assert compared >= 100


@pytest.mark.parametrize(
    "name",
    ["tensix_wormhole", "ties_even", "ties_up", "one_rounding", "zero_terms_at_0", "empty_terms_out", "no_zero_flag"],
)
@pytest.mark.parametrize(("style", "dst32"), CONFIGURATIONS)
def test_elementwise(name, style, dst32):
    numerics, rng = NUMERICS[name], np.random.default_rng(22)
    for kind, common in product(KINDS, settings_of(style, dst32)):
        b, a = sources(rng, style, kind, (8, 16)), sources(rng, style, kind, (8, 16))
        dst = dsts(rng, style, dst32, kind, (8, 16))
        cells = [divmod(flat, 16) for flat in rng.choice(128, 8, replace=False).tolist()]
        scalars = {cell: [int(each[cell]) for each in (dst, b, a)] for cell in cells}
        for phase in range(4):
            got = tensix.elwmul(dst, b, a, phase=phase, numerics=numerics, **common)
            for cell in cells:
                assert got[cell] == multiply_add(numerics, *scalars[cell], phase=phase, **common)
        for subtract, accumulate in product((False, True), repeat=2):
            operation = tensix.elwsub if subtract else tensix.elwadd
            got = operation(dst, b, a, accumulate=accumulate, numerics=numerics, **common)
            for cell in cells:
                expected = add(numerics, *scalars[cell], subtract=subtract, accumulating=accumulate, **common)
                assert got[cell] == expected


POOLS = [(style, dst32, argmax) for style, dst32 in CONFIGURATIONS for argmax in (False, True) if dst32 or not argmax]


@pytest.mark.parametrize(("style", "dst32", "argmax"), POOLS)
def test_gmpool(style, dst32, argmax):
    rng = np.random.default_rng(23)
    for kind, scale in product((*KINDS, "equal"), ("one", "any")):
        b, a = (sources(rng, style, "near" if kind == "equal" else kind, (rows, 16)) for rows in (8, 16))
        if kind == "equal":
            # Few distinct datums in a column; integers include zeros of both signs with an exponent.
            choices = np.array([[16 << 10] * 16, [1 << 18 | 16 << 10] * 16]) if style is Style.INT8 else a[:2].copy()
            a = np.where(rng.random((16, 16)) < 0.5, *choices[:, np.newaxis]).astype(np.uint32)
        if scale == "one":
            b[0] = (15 if style is Style.FP16 else 16 if style is Style.INT8 else 127) << 10
        if kind == "zeros":
            a &= 0x40000
        dst = dsts(rng, style, dst32, kind, (8, 16))
        dst[0, :8] &= 0x80000000 if dst32 else 0x8000
        dst[0, :4] |= 0x80000000 if dst32 else 0x8000
        options = {"style": style, "dst32": dst32, "argmax": argmax}
        got = tensix.gmpool(dst, b, a, **options)
        literal = tensix.gmpool(dst, b, a, numerics=LITERAL, **options)
        for j in range(16):
            scalars = int(dst[0, j]), b[0].tolist(), a[:, j].tolist()
            assert got[0, j] == maximum(*scalars, **options)
            assert literal[0, j] == maximum(*scalars, numerics=LITERAL, **options)
        expected = [[next_index_phase(word) if argmax else 0 for word in row] for row in dst[1:4].tolist()]
        assert got[1:4].tolist() == expected
        assert np.array_equal(got[4:], dst[4:])


@pytest.mark.parametrize(("reading", "expected"), [(GmpoolFp16.REBIAS, 0x3FC00000), (GmpoolFp16.LITERAL, 0x4FC00000)])
def test_an_fp16_maximum_in_a_32_bit_dst_by_hand(reading, expected):
    """1.5 with scale 1.0: exponents 15 and 15 make 127, or 30 - 127 modulo 256 = 159; Dst is undefined."""
    one = 15 << 10
    a, b, dst = (
        np.full((16, 16), one | 1 << 9, np.uint32),
        np.full((8, 16), one, np.uint32),
        np.zeros((8, 16), np.uint32),
    )
    dst[0] = 0xFFFFFFFF
    numerics = replace(BASE, gmpool_fp16=reading)
    assert np.all(tensix.gmpool(dst, b, a, style="FP16", dst32=True, numerics=numerics)[0] == expected)


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        # The last of equal maxima wins: rows 4 to 7 are compared before 0 to 3.
        ((2,), 0x10 | 6),
        ((2, 6), 0x10 | 6),
        ((4, 7), 0x10 | 5),
        # A maximum from row 8 on counts, but the index of the previous one is kept.
        ((1, 9), 0x10 | 3),
        ((9,), 0x10 | 1),
    ],
)
def test_the_index_of_a_maximum_by_hand(rows, index):
    """Named rows hold 2.0, others 1.0; Dst holds 0.0 and count 0. With 2.0 in row 9 alone, row 3 was the last 1.0."""
    a = np.full((16, 16), 127 << 10, np.uint32)
    a[list(rows)] = 128 << 10
    b = np.full((8, 16), 127 << 10, np.uint32)
    dst = np.zeros((8, 16), np.uint32)
    got = tensix.gmpool(dst, b, a, style="BF16", dst32=True, argmax=True)
    assert np.all(got[0] == 0x4000 << 16 | 0x100 | index)
    assert np.all(got[1:4] == 0x100)
    again = tensix.gmpool(got, b, a & 0, style="BF16", dst32=True, argmax=True)
    assert np.all(again[0] == 0x4000 << 16 | 0x200 | index)
    only = tensix.gmpool(dst, b, a, style="TF32", dst32=True, argmax=True)
    assert np.all(only[0] == 0x100 | index)


def test_pooling_and_row_broadcast_are_products():
    rng = np.random.default_rng(24)
    dst, b, a = (
        dsts(rng, Style.BF16, True, "any", (3, 8, 16)),
        *(sources(rng, Style.BF16, "uniform", (3, rows, 16)) for rows in (8, 16)),
    )
    common = {"style": "BF16", "dst32": True, "phase": 1}
    whole = tensix.mvmul(dst, b, a, **common)
    assert np.array_equal(tensix.dotpv(dst, b, a, **common), whole)
    pooled = tensix.gapool(dst, b, a, **common)
    assert np.array_equal(pooled[:, :4], whole[:, :4])
    assert np.array_equal(pooled[:, 4:], dst[:, 4:])

    spread = np.repeat(b[:, :1], 8, axis=1)
    spread[:, 1::2] = 0
    rows = tensix.mvmul(dst, spread, a, **common)
    for writes_all in (False, True):
        numerics = replace(BASE, row_broadcast_writes_all=writes_all)
        got = tensix.mvmul_row(dst, b[:, :1], a, numerics=numerics, **common)
        assert np.array_equal(got[:, ::2], rows[:, ::2])
        assert np.array_equal(got[:, 1:7:2], (rows if writes_all else dst)[:, 1:7:2])
        assert np.array_equal(got[:, 7], dst[:, 7])


def test_a_dst_word_with_exponent_0_is_0():
    assert [read_dst(word, Style.TF32, dst32=True) for word in (0, 1, 0x807FFFFF)] == [(0, 0)] * 3


def test_masking_by_format_or_by_style():
    """SrcB in TF32 under style BF16: its three low bits count by its own format, not by SrcA's style."""
    b, a = np.zeros((8, 16), np.uint32), np.zeros((16, 16), np.uint32)
    b[:, 0], a[0] = 127 << 10 | 0b111, 127 << 10
    dst = np.zeros((8, 16), np.uint32)
    common = {"style": "BF16", "dst32": True, "phase": 2, "srca_format": "BF16", "srcb_format": "TF32"}
    results = [
        tensix.mvmul(dst, b, a, numerics=replace(BASE, masking=masking), **common).view(np.float32)[0, 0]
        for masking in (Masking.OWN_FORMAT, Masking.SRCA_STYLE)
    ]
    assert results == [7 / 1024, 0]


def test_leading_axes_broadcast():
    rng = np.random.default_rng(25)
    b, a = sources(rng, Style.BF16, "near", (3, 1, 8, 16)), sources(rng, Style.BF16, "near", (40, 16, 16))
    dst = dsts(rng, Style.BF16, False, "near", (8, 16))
    got = tensix.mvmul(dst, b, a, style="BF16", dst32=False, phase=0)
    assert got.shape == (3, 40, 8, 16)
    for i, j in ((0, 0), (1, 31), (2, 39)):
        assert np.array_equal(got[i, j], tensix.mvmul(dst, b[i, 0], a[j], style="BF16", dst32=False, phase=0))


@pytest.mark.parametrize("name", NUMERICS)
@pytest.mark.parametrize(("style", "dst32"), CONFIGURATIONS)
def test_elwmul_is_mvmul_with_fifteen_zero_terms(name, style, dst32):
    """In both tiers and for all numerics: the datum is at any k, all other words are zero."""
    numerics, rng = NUMERICS[name], np.random.default_rng(26)
    for kind, formats in product(KINDS, settings_of(style, dst32)):
        b, a = sources(rng, style, kind, (8, 16)), sources(rng, style, kind, (8, 16))
        dst = dsts(rng, style, dst32, kind, (8, 16))
        for phase in range(4):
            common = formats | {"phase": phase}
            got = tensix.elwmul(dst, b, a, numerics=numerics, **common)
            # One row, with an instruction for each of its datums.
            k, columns, row = rng.permutation(16), np.arange(16), rng.integers(8)
            lone_b, lone_a = np.zeros((16, 8, 16), np.uint32), np.zeros((16, 16, 16), np.uint32)
            lone_b[columns, row, k] = b[row]
            lone_a[columns, k, columns] = a[row]
            whole = tensix.mvmul(dst, lone_b, lone_a, numerics=numerics, **common)
            assert np.array_equal(got[row], whole[columns, row, columns])
            i, j = rng.integers(8), rng.integers(16)
            terms = [[0] * 16, [0] * 16]
            terms[0][k[j]], terms[1][k[j]] = int(b[i, j]), int(a[i, j])
            assert got[i, j] == scalar_dot(numerics, int(dst[i, j]), *terms, **common)


def test_src_b_broadcasts():
    """Source words of an element-wise operation, datum by datum as the documents write them."""
    rng = np.random.default_rng(27)
    b = sources(rng, Style.BF16, "uniform", (2, 8, 16))
    for row in (None, 0, 5):
        for column_0 in (False, True):
            got = tensix.broadcast_src_b(b, row=row, column_0=column_0)
            for i in range(8):
                for j in range(16):
                    expected = b[:, i if row is None else row, 0 if column_0 else j]
                    assert np.array_equal(got[:, i, j], expected)
    assert np.array_equal(tensix.broadcast_src_b(b), b)
    a, dst = sources(rng, Style.BF16, "near", (8, 16)), dsts(rng, Style.BF16, True, "near", (8, 16))
    spread = tensix.broadcast_src_b(b[0], row=3, column_0=True)
    got = tensix.elwadd(dst, spread, a, style="BF16", dst32=True)
    fmt = {"srca_format": Format.BF16, "srcb_format": Format.BF16}
    for i, j in ((0, 0), (3, 1), (7, 15)):
        scalars = int(dst[i, j]), int(b[0, 3, 0]), int(a[i, j])
        common = {"style": Style.BF16, "dst32": True, "subtract": False, "accumulating": True}
        assert got[i, j] == add(BASE, *scalars, **common, **fmt)


# Rules of the Matrix unit that no known answer decides: each by hand, and the same in both tiers.
#
# They rest on ttsim's source or on this project's choice; the sources of the numerics say which.


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
