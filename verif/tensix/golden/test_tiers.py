"""The vectorised Matrix unit equals the scalar tier bit for bit, also for unmeasured numerics."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.declarations.formats import STYLE_OWN_FORMAT, Format, Style
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE, GmpoolFp16, Masking
from bitpath.golden.tensix.exact import add, maximum, multiply_add
from bitpath.golden.tensix.exact.dot import read_dst
from bitpath.golden.tensix.exact.matrix import next_index_phase
from bitpath.verif.tensix.golden.scalar_dot import scalar_dot

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
