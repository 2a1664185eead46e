"""Rows and words of the registers, and moves between SrcA, SrcB and Dst."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import exact, tile_instructions
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, DST32_ROWS, Format
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, PRESETS, WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.golden.tensix.operands.registers import check_rows, dst32_rows, permuted_row
from bitpath.verif.kit.known_answers import skip_absent

# Rows and words of the Tensix registers.


def test_the_32_bit_rows_fill_the_16_bit_rows():
    halves = [row for each in range(DST32_ROWS) for row in dst32_rows(each)]
    assert sorted(halves) == list(range(DST16_ROWS))


@pytest.mark.parametrize(("row", "high"), [(0, 0), (7, 7), (8, 16), (9, 17), (16, 32), (511, 1015)])
def test_dst32_rows_by_hand(row, high):
    assert dst32_rows(row) == (high, high + 8)


@pytest.mark.parametrize(("remap", "swizzle"), [(True, False), (False, True), (True, True)])
def test_blackholes_address_modes_permute_rows(remap, swizzle):
    rows = [permuted_row(row, remap=remap, swizzle=swizzle) for row in range(DST16_ROWS)]
    assert sorted(rows) == list(range(DST16_ROWS))
    assert max(rows[:DST32_ROWS]) < DST32_ROWS


@pytest.mark.parametrize(
    ("row", "remap", "swizzle", "expected"),
    [
        (8, True, False, 32),
        (16, True, False, 8),
        (48, True, False, 24),
        (4, False, True, 8),
        (8, False, True, 4),
        (8, True, True, 32),
    ],
)
def test_permuted_rows_by_hand(row, remap, swizzle, expected):
    assert permuted_row(row, remap=remap, swizzle=swizzle) == expected


def test_the_order_of_a_tile_product_starts_at_allowed_rows():
    for preset in PRESETS.values():
        for each in tile_instructions("HiFi4"):
            check_rows(
                src_a_row=each.src_a_row,
                src_b_row=each.src_b_row,
                dst_row=each.dst_row,
                dst32=True,
                numerics=preset.numerics,
            )


@pytest.mark.parametrize(
    ("rows", "preset", "says"),
    [
        ((-1, 0, 0), "tensix_wormhole", "src_a_row must be 0 to 48, not -1"),
        ((8, 0, 0), "tensix_wormhole", "src_a_row must be a multiple of 16, not 8"),
        ((4, 0, 0), "tensix_wormhole_documented", "src_a_row must be a multiple of 8, not 4"),
        ((56, 0, 0), "tensix_wormhole_documented", "src_a_row must be 0 to 48, not 56"),
        ((0, 9, 0), "tensix_wormhole", "src_b_row must be a multiple of 8, not 9"),
        ((0, 0, 512), "tensix_wormhole", "dst_row must be 0 to 504, not 512"),
    ],
)
def test_rows_that_are_not_allowed(rows, preset, says):
    a, b, dst = rows
    with pytest.raises(ValueError, match=says):
        check_rows(src_a_row=a, src_b_row=b, dst_row=dst, dst32=True, numerics=PRESETS[preset].numerics)


def test_the_documents_allow_every_eighth_row_of_src_a():
    check_rows(src_a_row=8, src_b_row=0, dst_row=0, dst32=True, numerics=PRESETS["tensix_wormhole_documented"].numerics)


def test_dst32_rows_end():
    with pytest.raises(ValueError, match="row must be 0 to 511, not 512"):
        dst32_rows(512)


# Moves between SrcA, SrcB and Dst: known answers of ttsim v1.10.0 for Blackhole, and both tiers for every format.


NUMERICS = {each.name: each.numerics for each in (WORMHOLE, WORMHOLE_DOCUMENTED, BLACKHOLE)}
MOVES = {0x12: "mova2d", 0x13: "movb2d", 0x08: "movd2a", 0x0A: "movd2b", 0x0B: "movb2a", 0x16: "trnspsrcb"}
ROWS = {"mova2d": {0: (1, 1), 2: (8, 8)}, "movb2d": {0: (1, 1), 1: (1, 1), 2: (1, 8), 3: (1, 8), 4: (4, 4), 5: (4, 4)}}
"""Rows read and written by mode."""


def moved(name, word, cfg, src_a, src_b, dst):
    """Return SrcA, SrcB and Dst after a move, [rows, 16] each; Blackhole's fields of the word are in the specification."""
    fmt, fp32, keeps, kind = cfg
    src_a, src_b, dst = src_a.copy(), src_b.copy(), dst.copy()
    source, low = word >> 17 & 0x3F, bool(word >> 23 & 1)
    common = {"keep_denormals": bool(keeps), "chip": "blackhole"}
    if name == "trnspsrcb":
        src_b[16:] = tensix.trnspsrcb(src_b[16:])
    elif name == "movb2a":
        target, rows = word >> 17 & 0x3F, 4 if word >> 12 & 3 == 2 else 1
        source = word & 0x3F
        src_a[target : target + rows] = tensix.movb2a(src_b[source : source + rows], srcb_format=fmt, **common)
    elif name in ("movd2a", "movd2b"):
        row, rows = word & 0x3FF, 4 if word >> 12 & 3 == 2 else 1
        words = getattr(tensix, name)(dst[row : row + rows], srca_format=fmt, dst32=kind == 2, low_half=low)
        (src_a if name == "movd2a" else src_b)[source : source + rows] = words
    else:
        mode = word >> 12 & 3 if name == "mova2d" else word >> 11 & 7
        reads, writes = ROWS[name][mode]
        row = word & 0x3FF
        common |= {"srca_format": fmt, "fp32_enabled": bool(fp32), "low_half": low}
        if name == "movb2d":
            common["column_0"] = bool(mode & 1)
        bank = src_a if name == "mova2d" else src_b
        target = slice(row, row + writes)
        dst[target] = getattr(tensix, name)(dst[target], bank[source : source + reads], **common)
    return src_a, src_b, dst


def test_known_answers(kat):
    archive = kat("tensix_bh_control.npz")
    compared = set()
    for case, (cfg, word) in enumerate(zip(archive["m_cfg"].tolist(), archive["m_in"].tolist(), strict=True)):
        name = MOVES[word >> 24]
        before, after = ([archive[f"m_{bank}{end}"][case] for bank in ("srcA", "srcB", "dst")] for end in ("", "_out"))
        for got, expected in zip(moved(name, word, cfg, *before), after, strict=True):
            assert np.array_equal(got, expected), (name, cfg, hex(word))
        compared.add(name)
    assert compared
    skip_absent("tensix_bh_control.npz", {name: name in compared for name in MOVES.values()})


def words(rng, shape):
    """Return source words, a third of them of exponent 0."""
    exponent = np.where(rng.random(shape) < 1 / 3, 0, rng.integers(0, 256, shape))
    return (rng.integers(0, 2, shape) << 18 | exponent << 10 | rng.integers(0, 1024, shape)).astype(np.uint32)


@pytest.mark.parametrize("fmt", Format, ids=lambda each: each.name)
@pytest.mark.parametrize("name", NUMERICS)
def test_moves_to_dst(name, fmt):
    rng, numerics = np.random.default_rng(61), NUMERICS[name]
    a, old = words(rng, (8, 16)), rng.integers(0, 1 << 32, (8, 16), np.uint32)
    for keeps, fp32, int8, low in product((False, True), repeat=4):
        if low and (fmt is Format.TF32 or (fp32 and numerics.moves_follow_fp32)):
            continue
        options = {"fp32_enabled": fp32, "int8_math": int8, "low_half": low}
        common = {"srca_format": fmt, "keep_denormals": keeps, "numerics": numerics, **options}
        got_a, got_b = tensix.mova2d(old, a, **common), tensix.movb2d(old, a, srcb_format=fmt, **common)
        for i, j in product(range(8), range(16)):
            datums = [
                exact.moved_source(numerics, int(a[i, j]), srcb_format=own, keep_denormals=keeps) for own in (None, fmt)
            ]
            expected = [exact.dst_word(numerics, each, fmt, old=int(old[i, j]), **options) for each in datums]
            assert [got_a[i, j], got_b[i, j]] == expected


@pytest.mark.parametrize("fmt", Format, ids=lambda each: each.name)
@pytest.mark.parametrize("name", NUMERICS)
def test_moves_from_src_b_to_src_a(name, fmt):
    rng, numerics = np.random.default_rng(62), NUMERICS[name]
    b = words(rng, (8, 16))
    for keeps in (False, True):
        got = tensix.movb2a(b, srcb_format=fmt, keep_denormals=keeps, numerics=numerics)
        expected = [
            exact.moved_source(numerics, word, srcb_format=fmt, keep_denormals=keeps) for word in b.reshape(-1).tolist()
        ]
        assert got.reshape(-1).tolist() == expected


@pytest.mark.parametrize("fmt", Format, ids=lambda each: each.name)
@pytest.mark.parametrize(("dst32", "low"), [(False, False), (True, False), (True, True)])
def test_moves_from_dst(fmt, dst32, low):
    if fmt is Format.TF32 and (low or not dst32):
        return
    dst = np.random.default_rng(63).integers(0, 1 << (32 if dst32 else 16), (4, 16), np.uint32)
    got = tensix.movd2a(dst, srca_format=fmt, dst32=dst32, low_half=low)
    expected = [exact.source_word(word, fmt, dst32=dst32, low_half=low) for word in dst.reshape(-1).tolist()]
    assert got.reshape(-1).tolist() == expected


def test_a_row_and_a_column_are_repeated():
    b, dst = words(np.random.default_rng(64), (1, 16)) | 1 << 14, np.zeros((8, 16), np.uint32)
    assert np.array_equal(tensix.movb2d(dst, b, srca_format="BF16"), np.repeat(b >> 3, 8, axis=0))
    assert np.all(tensix.movb2d(dst, b, srca_format="BF16", column_0=True) == b[0, 0] >> 3)


@pytest.mark.parametrize(
    ("fmt", "kept"),
    [
        ("FP16", 0x47FFF),
        ("INT8", 0x47FFF),
        ("BFP4A", 0x47FF8),
        ("BF16", 0x7FFF8),
        ("TF32", 0x7FFFF),
        ("INT16", 0x7FFF8),
    ],
)
def test_masks_by_hand(fmt, kept):
    ones = np.full((1, 16), 0x7FFFF, np.uint32)
    documented = WORMHOLE_DOCUMENTED.numerics
    assert np.all(tensix.movb2a(ones, srcb_format=fmt, numerics=documented) == kept)
    assert np.all(tensix.movb2a(ones, srcb_format=fmt) == 0x7FFFF)


@pytest.mark.parametrize("mode", ["fp32_enabled", "int8_math"])
def test_8_exponent_bits_of_fp16_by_hand(mode):
    """Sign 1, exponent 0x10 and fraction 0x2AD in a 32-bit or integer mode: 7 fraction bits above 8 of the exponent."""
    word, dst = np.full((1, 16), 1 << 18 | 0x10 << 10 | 0x2AD, np.uint32), np.zeros((1, 16), np.uint32)
    by_format = replace(WORMHOLE.numerics, moves_widen_exponent=False)
    for move in (tensix.mova2d, tensix.movb2d):
        moved = move(dst, word, srca_format="FP16", **{mode: True})
        assert np.all(tensix.to_physical(moved, "DST16_BF16") == 0xD510)
        as_simulated = move(dst, word, srca_format="FP16", numerics=by_format, **{mode: True})
        assert np.all(tensix.to_physical(as_simulated, "DST16_FP16") == 0xD5B0)
        assert np.array_equal(move(dst, word, srca_format="FP16"), as_simulated)


def test_fp32_enabled_on_blackhole():
    """A 16-bit format makes 32-bit words with Fp32_enabled, but for ttsim and Wormhole."""
    a, dst = np.full((1, 16), 127 << 10, np.uint32), np.zeros((1, 16), np.uint32)
    common = {"srca_format": "BF16", "fp32_enabled": True}
    assert np.all(tensix.mova2d(dst, a, chip="blackhole", **common) == 0x3F800000)
    assert np.all(tensix.mova2d(dst, a, **common) == 0x3F80)
    as_simulated = replace(BLACKHOLE.numerics, moves_follow_fp32=False)
    assert np.all(tensix.mova2d(dst, a, numerics=as_simulated, **common) == 0x3F80)
