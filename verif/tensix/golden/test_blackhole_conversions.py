"""Blackhole's conversions, and stochastic rounding, in both tiers: every FP8 code, narrowing with Round_10b, INT16, tilise mode."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, StochasticCompare
from bitpath.verif.tensix.golden.words import words16, words32

ALL8, ALL16 = (np.arange(1 << bits, dtype=np.uint32) for bits in (8, 16))


@pytest.mark.parametrize("e4m3", [False, True])
def test_unpack_every_fp8_code(e4m3):
    got = tensix.unpack(ALL8.astype(np.uint8), "FP8", "FP16", e4m3=e4m3, chip="blackhole")
    options = {"unsigned": False, "e4m3": e4m3}
    expected = [
        exact.unpack_datum(BLACKHOLE.numerics, code, Format.FP8, Format.FP16, **options) for code in ALL8.tolist()
    ]
    assert got.tolist() == expected


@pytest.mark.parametrize(
    ("chip", "e4m3", "code", "word"),
    [
        ("wormhole", False, 0x7F, 0x7F00),
        ("blackhole", False, 0x7F, 0x7FFF),
        ("blackhole", False, 0xFF, 1 << 18 | 0x7FFF),
        ("blackhole", False, 0x7E, 0x7E00),
        ("blackhole", True, 0x3C, 0x3E00),
        ("blackhole", True, 0xFF, 1 << 18 | 23 << 10 | 0x3FF),
        ("blackhole", True, 0x07, 0x0380),
    ],
)
def test_fp8_codes_by_hand(chip, e4m3, code, word):
    assert tensix.unpack(np.array([code], np.uint8), "FP8", "FP8", e4m3=e4m3, count=1, chip=chip)[0] == word


def test_every_e4m3_number_survives_a_round_trip():
    """But for subnormals, which the Matrix unit reads as zeros and the packers flush."""
    words = tensix.unpack(ALL8.astype(np.uint8), "FP8", "FP8", e4m3=True, chip="blackhole")
    dst = words >> 18 << 15 | words & 0x7FFF
    packed = tensix.pack(dst, "FP16", "FP8", dst32=False, e4m3=True, chip="blackhole")
    normal = ALL8 & 0x78 > 0
    assert np.array_equal(packed[normal], ALL8[normal])
    assert not packed[~normal].any()


def scalar_pack(numerics, words, mid, out, *, dst32, relu, relu_threshold, round_10b, e4m3, bits=None):
    """Return L1's codes by the scalar tier."""
    wide = mid not in EXPONENT5_FORMATS or (round_10b and dst32)
    between = Format.TF32 if wide and mid is Format.FP16 else mid
    codes = []
    for i, word in enumerate(words.tolist()):
        random = None if bits is None else int(bits[i])
        code = exact.early_float(numerics, word, mid, dst32=dst32, round_10b=round_10b, bits=random)
        code = exact.relu(code, 32 if wide else 16, relu, relu_threshold)
        codes.append(exact.late_float(code, between, out, e4m3=e4m3))
    return codes


@pytest.mark.parametrize("relu", range(4))
@pytest.mark.parametrize("out", [Format.FP16, Format.FP8], ids=lambda each: each.name)
@pytest.mark.parametrize(("dst32", "round_10b"), [(True, True), (False, True), (False, False)])
def test_pack_fp16(dst32, round_10b, out, relu):
    """From FP32, from BF16 before ReLU, and from FP16: boundaries and a quarter of the words. The threshold is BF16's only from FP32."""
    rng = np.random.default_rng(51 + relu)
    words = words32(rng, 1600) if dst32 else words16(rng, 1 << 14)
    threshold = 0x3F80 if dst32 else 0x3C00
    options = {
        "dst32": dst32,
        "relu": relu,
        "relu_threshold": threshold * (relu > 1),
        "round_10b": round_10b,
        "e4m3": True,
    }
    got = tensix.pack(words, "FP16", out, chip="blackhole", **options)
    expected = scalar_pack(BLACKHOLE.numerics, words, Format.FP16, out, **options)
    assert got.view(f"<u{L1_BYTES[out]}").tolist() == expected


@pytest.mark.parametrize(
    ("dst32", "round_10b", "out", "word", "code"),
    [
        # Rounded to 10 bits, ties away; NaN is infinity; 0.25 is 0x3400.
        (True, True, "FP16", 0x3E801000, 0x3401),
        (True, True, "FP16", 0xFF800001, 0xFFFF),
        (True, True, "FP16", 0x33000000, 0),
        # e - 112 = 0 is not flushed.
        (True, True, "FP16", 0x38400000, 0x0200),
        (False, True, "FP16", 0x3FC0, 0x3E00),
        (False, True, "FP16", 0x3800 | 0x7F, 0x03F8),
        (False, False, "FP8", 0x3C00, 0x38),
        (False, False, "FP8", 0x5F80, 0x7F),
        (False, False, "FP8", 0xA000, 0x80),
    ],
)
def test_pack_fp16_by_hand(dst32, round_10b, out, word, code):
    options = {"dst32": dst32, "round_10b": round_10b, "e4m3": True, "chip": "blackhole"}
    got = tensix.pack(np.array([word], np.uint32), "FP16", out, **options)
    assert int.from_bytes(got.tobytes(), "little") == code


def test_int16_from_a_32_bit_dst():
    words = np.concatenate([np.array([0x80842202], np.uint32), words32(np.random.default_rng(52))])
    got = tensix.pack(words, "INT16", "INT16", dst32=True).view("<u2")
    assert got[0] == 0x8401
    assert got.tolist() == [exact.early_int16(word) for word in words.tolist()]


@pytest.mark.parametrize("compare", StochasticCompare)
@pytest.mark.parametrize(
    ("dst32", "mid", "out"),
    [
        (True, "BF16", "BF16"),
        (True, "TF32", "FP32"),
        (True, "BFP8", "FP32"),
        (False, "BFP8", "BF16"),
        (False, "BF16", "BF16"),
        (False, "BFP8A", "FP16"),
        (False, "FP16", "FP16"),
    ],
)
def test_stochastic_rounding_of_the_packers(dst32, mid, out, compare):
    rng = np.random.default_rng(53)
    numerics = replace(WORMHOLE.numerics, stochastic_compare=compare)
    words = words32(rng) if dst32 else words16(rng, 6000)
    bits = rng.integers(0, 1 << 32, words.size, np.uint32)
    bits[:1000] &= 0xFF8000FF
    got = tensix.pack(words, mid, out, dst32=dst32, stochastic_bits=bits, numerics=numerics)
    options = {"dst32": dst32, "relu": 0, "relu_threshold": 0, "round_10b": False, "e4m3": False}
    expected = scalar_pack(numerics, words, Format[mid], Format[out], bits=bits, **options)
    assert got.view(f"<u{L1_BYTES[Format[out]]}").tolist() == expected
    nearest = tensix.pack(words, mid, out, dst32=dst32)
    halves = np.full(words.size, 0x400000, np.uint32)
    assert np.array_equal(tensix.pack(words, mid, out, dst32=dst32, stochastic_bits=halves, numerics=numerics), nearest)


@pytest.mark.parametrize("fmt", [Format.FP32, Format.BF16, Format.FP16, Format.INT16, Format.FP8, Format.INT8])
@pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
def test_ramps_in_tilise_mode(chip, fmt):
    """Datum 64 r + c of a matrix with 64 columns, its first 16 or 32: rows of the register follow the matrix's rows."""
    width = L1_BYTES[fmt]
    ramp = np.arange(64 * 64).astype(f"<u{width}").view(np.uint8)
    control = tensix.UnpackControl(in_format=fmt, out_format=fmt, row_stride=64 * width)
    count = 256
    got = tensix.unpack_tile(ramp, control, count=count, chip=chip)
    row = 32 if chip == "blackhole" and width > 1 else 16
    places = np.concatenate([64 * r + np.arange(row) for r in range(count // row)])
    datums = places.astype(f"<u{width}").view(np.uint8)
    assert np.array_equal(got.reshape(-1), tensix.unpack(datums, fmt, fmt, count=count, chip=chip))


def test_a_row_major_matrix_unpacked_face_by_face_is_tilized():
    """On Wormhole, one UNPACR a face with the matrix's row pitch as row stride."""
    matrix = np.arange(64 * 96, dtype=np.uint16).reshape(64, 96)
    l1, pitch = matrix.astype("<u2").view(np.uint8).reshape(-1), 2 * 96
    tiles = tensix.tilize(matrix)
    control = tensix.UnpackControl(in_format=5, out_format=5, row_stride=pitch, to_dst=True)
    for row, column, face in np.ndindex(2, 3, 4):
        start = (32 * row + 16 * (face // 2)) * pitch + 2 * (32 * column + 16 * (face % 2))
        got = tensix.unpack_tile(l1[start:], control)
        assert np.array_equal(got, tiles[row, column, 16 * face : 16 * face + 16])
    assert np.array_equal(tensix.untilize(tiles), matrix)


def test_transpose_shift_and_upsampling_by_hand():
    l1 = np.arange(1, 513).astype("<u2").view(np.uint8)
    words = tensix.unpack(l1, "BF16", "BF16", count=512).reshape(32, 16)

    def rows(count=32, **fields):
        return tensix.unpack_tile(l1, tensix.UnpackControl(in_format=5, out_format=5, **fields), count=count)

    transposed = rows(512, transpose=True)
    assert np.array_equal(transposed[:16], words[:16].T)
    assert np.array_equal(transposed[16:], words[16:].T)
    assert np.array_equal(rows(col_shift=3), np.pad(words[:2, 3:], [(0, 0), (0, 3)]))
    spread = np.zeros(64, np.uint32)
    spread[::2] = words.reshape(-1)[:32]
    assert np.array_equal(rows(upsample_rate=1), spread.reshape(4, 16))
    assert not rows(zero=True).any()
    before = np.full((4, 16), 7, np.uint32)
    control = tensix.UnpackControl(in_format=5, out_format=5, upsample_rate=1, interleave=True)
    kept = tensix.unpack_tile(l1, control, count=32, before=before)
    assert np.array_equal(kept, np.where(spread, spread, 7).reshape(4, 16))


@pytest.mark.parametrize("fmt", [Format.BFP8, Format.BFP4, Format.BFP2], ids=lambda each: each.name)
def test_a_part_of_a_tile_of_blocks(fmt):
    """Exponents of the whole tile come first."""
    rng = np.random.default_rng(54)
    l1 = rng.integers(0, 256, 64 + 1024, np.uint8)
    whole = tensix.unpack(l1, fmt, fmt, count=1024)
    control = tensix.UnpackControl(in_format=fmt, out_format=fmt)
    part = tensix.unpack_tile(l1, control, first_datum=304, count=256, tile_datums=1024)
    assert np.array_equal(part.reshape(-1), whole[304 : 304 + 256])


@pytest.mark.parametrize("fmt", ["FP32", "TF32", "INT32"])
def test_32_bit_datums_are_copied_to_dst(fmt):
    words = words32(np.random.default_rng(55))
    assert np.array_equal(tensix.unpack_to_dst(words, fmt, fmt, count=words.size), words)


def test_16_bit_words_of_dst_pack_to_what_was_unpacked():
    stored = ALL16.astype("<u2").view(np.uint8)
    for fmt in ("BF16", "FP16"):
        words = tensix.unpack_to_dst(stored, fmt, fmt, count=1 << 16)
        assert np.array_equal(tensix.pack(words, fmt, fmt, dst32=False, raw=True), stored)
    physical = tensix.to_physical(tensix.unpack_to_dst(stored, "INT16", "INT16", count=1 << 16), "DST16_BF16")
    assert np.array_equal(tensix.pack(physical, "INT16", "INT16", dst32=False), stored)
