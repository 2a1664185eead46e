"""Conversions on the way to and from L1, of both chips and of Quasar's MX formats: every code in both tiers, and by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.arrays.parallel import THREADS
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, BfpRange, StochasticCompare
from bitpath.golden.tensix.declarations.quasar import MX_FORMATS
from bitpath.verif.tensix.golden.samples import words16, words32
from bitpath.verif.tensix.unpack.unpack import join_datums, split_datums

# Quasar's MX formats: both tiers, every element code, and blocks by hand.


ONE = 127


def floats(rng):
    """Return FP32 numbers of all kinds, and blocks of close ones, of NaN, infinities and zeros alone."""
    close = rng.standard_normal(32 * 40) * np.exp2(np.repeat(rng.integers(-140, 120, 40), 32))
    ties = rng.integers(-64, 65, 32 * 10) / 16
    special = np.repeat([np.nan, np.inf, -np.inf, 0.0, -0.0], 32)
    mixed = np.tile([np.nan, 0.0, np.inf, 0.0], 8), np.tile([np.nan, 0.0], 16), np.tile([np.inf, 3.0], 16)
    parts = close, ties, special, *mixed
    random = words32(rng)[: 32 * 60].view(np.float32)
    return np.concatenate([random, *(each.astype(np.float32) for each in parts)])


def split(l1, fmt, count):
    """Return scales and elements of an image, the elements bit by bit."""
    bits, blocks = MX_FORMATS[fmt].bits, count // 32
    start = -(-blocks // 16) * 16
    whole = int.from_bytes(l1[start:].tobytes(), "little")
    return l1[:blocks].tolist(), [whole >> bits * i & (1 << bits) - 1 for i in range(count)]


@pytest.mark.parametrize("fmt", MX_FORMATS)
@pytest.mark.parametrize("rule", ["floor", "ceil"])
@pytest.mark.parametrize("exp_rnd", [False, True])
def test_pack_and_unpack(fmt, rule, exp_rnd):
    own, x = MX_FORMATS[fmt], floats(np.random.default_rng(81))
    l1 = tensix.mx_pack(x, fmt, scale_rule=rule, exp_rnd=exp_rnd)
    scales, elements = split(l1, fmt, x.size)
    codes = x.view(np.uint32).reshape(-1, 32).tolist()
    assert scales == [exact.mx_scale(block, own, ceil=rule == "ceil", exp_rnd=exp_rnd) for block in codes]
    pairs = [(code, scale) for block, scale in zip(codes, scales, strict=True) for code in block]
    assert elements == [exact.mx_element(code, scale, own) for code, scale in pairs]
    got = tensix.mx_unpack(l1, fmt, count=x.size)
    assert got.tolist() == [exact.mx_source(each, scales[i // 32], own) for i, each in enumerate(elements)]


@pytest.mark.parametrize("fmt", MX_FORMATS)
def test_every_code_under_every_scale_unpacks(fmt):
    rng, codes = np.random.default_rng(82), 1 << MX_FORMATS[fmt].bits
    scales = np.arange(256, dtype=np.uint8)
    count = 256 * 32
    data = rng.integers(0, 256, count * MX_FORMATS[fmt].bits // 8, np.uint8)
    _, elements = split(np.concatenate([scales, data]), fmt, count)
    got = tensix.mx_unpack(np.concatenate([scales, data]), fmt, count=count)
    assert got.tolist() == [exact.mx_source(each, i // 32, MX_FORMATS[fmt]) for i, each in enumerate(elements)]
    assert len(set(elements)) == codes


@pytest.mark.parametrize("fmt", MX_FORMATS)
def test_every_element_code_survives_decoding_and_encoding(fmt):
    """tt-metal #51971: the host's encoder failed for 132 of E4M3's 256 codes. Infinity saturates, NaN stays NaN."""
    own = MX_FORMATS[fmt]
    checked = 0
    for code in range(1 << own.bits):
        word = exact.mx_source(code, ONE, own) >> 3
        if word & 0x7F80 == 0x7F80 or (own.element is None and code == 1 << own.bits - 1):
            continue
        assert exact.mx_element(word << 16, ONE, own) == code
        checked += 1
    left_out = {"MXFP8R": 8, "MXFP8P": 2, "MXINT8": 1, "MXINT4": 1, "MXINT2": 1}.get(fmt, 0)
    assert checked == (1 << own.bits) - left_out


def block(*values):
    return np.array([*values, *[0] * (32 - len(values))], np.float32)


@pytest.mark.parametrize(
    ("fmt", "values", "scale", "numbers"),
    [
        # 0.35 * 4 = 1.4 is 1, a tie of 1.5 is 2.
        ("MXINT4", (3.0, 0.7, 0.75), 128, (3.0, 0.5, 1.0)),
        ("MXFP4", (3.0, -0.25), 126, (3.0, -0.25)),
        ("MXINT8", (1.0, -1.984375, 2.0**-6), 127, (1.0, -1.984375, 2.0**-6)),
        ("MXINT2", (1.99, -1.0, 0.5), 127, (1.0, -1.0, 0.0)),
        ("MXFP8P", (448.0, 2.0**-9), 127, (448.0, 2.0**-9)),
        # 464 has E4M3's largest exponent under scale 1, and saturates.
        ("MXFP8P", (500.0, 1.0), 127, (448.0, 1.0)),
    ],
)
def test_blocks_by_hand(fmt, values, scale, numbers):
    l1 = tensix.mx_pack(block(*values), fmt)
    assert l1[0] == scale
    got = (tensix.mx_unpack(l1, fmt, count=32) << 13).view(np.float32)
    assert np.array_equal(got, block(*numbers))


def test_the_scale_rules_differ_above_the_largest_element():
    assert [tensix.mx_pack(block(500.0), "MXFP8P", scale_rule=rule)[0] for rule in ("floor", "ceil")] == [127, 128]
    assert tensix.mx_pack(block(448.0), "MXFP8P", scale_rule="ceil")[0] == 127
    assert tensix.mx_pack(block(448.0), "MXFP8P", exp_rnd=True)[0] == 128


@pytest.mark.parametrize(("fmt", "size"), [("MXFP8R", 1056), ("MXFP6P", 800), ("MXFP4", 544), ("MXINT2", 288)])
def test_bytes_of_a_tile(fmt, size):
    assert tensix.mx_pack(np.ones(1024, np.float32), fmt).size == size


def test_a_section_is_padded():
    """One block of MXINT2: 1 byte of scales, 8 of elements."""
    assert tensix.mx_pack(np.ones(32, np.float32), "MXINT2").tolist() == [127, *[0] * 15, *[0x55] * 8, *[0] * 8]


# Blackhole's conversions, and stochastic rounding, in both tiers: every FP8 code, narrowing with Round_10b, INT16, tilise mode.


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


# Conversions on the way to and from L1: all codes of every format against the scalar tier, physical orders, threads and tiles.


BASE = WORMHOLE.numerics
FLUSH = replace(BASE, bfp_range=BfpRange.FLUSH, bfp_a_range=BfpRange.FLUSH)


PLAIN = [(source, target) for source in L1_BYTES for target in CONVERSIONS[source]]


@pytest.mark.parametrize(("source", "target"), PLAIN, ids=lambda each: each.name)
def test_unpack_every_code(source, target):
    width = L1_BYTES[source]
    codes = words32(np.random.default_rng(31)) if width == 4 else np.arange(1 << 8 * width, dtype=np.uint32)
    stored = codes.astype(f"<u{width}").view(np.uint8)
    for unsigned in (False, True) if source is Format.INT8 else (False,):
        got = tensix.unpack(stored, source, target, unsigned=unsigned, count=len(codes))
        expected = [exact.unpack_datum(BASE, code, source, target, unsigned=unsigned) for code in codes.tolist()]
        assert got.tolist() == expected


@pytest.mark.parametrize("fmt", BLOCK_FLOATS, ids=lambda each: each.name)
@pytest.mark.parametrize("numerics", [BASE, FLUSH], ids=["wrap", "flush"])
def test_unpack_every_block_float(fmt, numerics):
    """Every datum under every exponent."""
    block = BLOCK_FLOATS[fmt]
    datums = np.resize(np.arange(1 << block.datum_bits), max(16, 1 << block.datum_bits)).reshape(-1, 16)
    for exponent in range(1 << block.exponent_bits):
        blocks = len(datums)
        stream = np.zeros(-(-blocks // 16) * 16, np.uint8)
        stream[:blocks] = exponent
        l1 = np.concatenate([stream, join_datums(block, datums)])
        got = tensix.unpack(l1, fmt, fmt, count=datums.size, numerics=numerics)
        assert got.tolist() == exact.unpack_block(numerics, fmt, exponent, datums.reshape(-1).tolist())


@pytest.mark.parametrize("fmt", BLOCK_FLOATS, ids=lambda each: each.name)
def test_block_floats_survive_a_round_trip(fmt):
    """A block whose largest magnitude has its top bit set survives unpacking and packing; negative zero does not."""
    rng = np.random.default_rng(32)
    block = BLOCK_FLOATS[fmt]
    datums = rng.integers(0, 1 << block.datum_bits, (64, 16))
    datums[:, 0] |= 1 << block.magnitude_bits - 1
    datums = np.where(datums == 1 << block.magnitude_bits, 0, datums)
    stream = rng.integers(9, (1 << block.exponent_bits) - 1, 64).astype(np.uint8)
    l1 = np.concatenate([stream, join_datums(block, datums)])
    words = tensix.unpack(l1, fmt, fmt, count=1024)
    wide = block.exponent_bits == 8
    dst = words >> 3 if wide else words >> 18 << 15 | words & 0x7FFF
    packed = tensix.pack(dst, "BF16" if wide else "FP16", fmt, dst32=False)
    assert np.array_equal(packed, l1)
    assert np.array_equal(split_datums(block, packed[64:], 1024), datums)


def test_every_bf16_word_through_unpack_and_pack():
    """Raw conversion keeps all codes; rounding turns denormals and -0 into +0 and NaN into infinity."""
    words = tensix.unpack(ALL16.astype("<u2").view(np.uint8), "BF16", "BF16", count=1 << 16) >> 3
    raw = tensix.pack(words, "BF16", "BF16", dst32=False, raw=True).view("<u2")
    assert np.array_equal(raw, ALL16)
    exponent, fraction = ALL16 >> 7 & 0xFF, ALL16 & 0x7F
    expected = np.where(exponent == 0, 0, np.where((exponent == 255) & (fraction > 0), ALL16 & 0xFF80, ALL16))
    assert np.array_equal(tensix.pack(words, "BF16", "BF16", dst32=False).view("<u2"), expected)


@pytest.mark.parametrize("fmt", BLOCK_FLOATS, ids=lambda each: each.name)
def test_every_raw_word_into_a_block_float(fmt):
    """The two conversions before the block change no raw word."""
    words = np.random.default_rng(34).permutation(ALL16)
    packed = tensix.pack(words, "BF16" if BLOCK_FLOATS[fmt].exponent_bits == 8 else "FP16", fmt, dst32=False, raw=True)
    exponents, datums = packed[: 1 << 12], split_datums(BLOCK_FLOATS[fmt], packed[1 << 12 :], 1 << 16)
    expected = [exact.pack_block(BASE, fmt, block) for block in words.reshape(-1, 16).tolist()]
    assert list(zip(exponents.tolist(), datums.reshape(-1, 16).tolist(), strict=True)) == expected


@pytest.mark.parametrize("layout", ["SRC", "DST16_BF16", "DST16_FP16", "DST32"])
def test_physical_orders(layout):
    words = ALL16 if "16" in layout else np.arange(1 << 19, dtype=np.uint32)
    words = words32(np.random.default_rng(33)) if layout == "DST32" else words
    physical = tensix.to_physical(words, layout)
    assert np.array_equal(tensix.from_physical(physical, layout), words)
    if layout != "DST32":
        assert len(np.unique(physical)) == len(words)


@pytest.mark.parametrize(
    ("layout", "logical", "physical"),
    [
        ("SRC", 1 << 18 | 0xAB << 10 | 0x155, 1 << 18 | 0x155 << 8 | 0xAB),
        ("DST16_BF16", 1 << 15 | 0xAB << 7 | 0x2A, 1 << 15 | 0x2A << 8 | 0xAB),
        ("DST16_FP16", 1 << 15 | 0x15 << 10 | 0x2AB, 1 << 15 | 0x2AB << 5 | 0x15),
        ("DST32", 0xAB << 23 | 0x2A << 16 | 0x1234, 0x2A << 24 | 0xAB << 16 | 0x1234),
    ],
)
def test_physical_orders_by_hand(layout, logical, physical):
    assert tensix.to_physical(np.array([logical], np.uint32), layout)[0] == physical


@pytest.fixture
def several_shares(monkeypatch):
    """Three threads with a tile or two each, the last tile unfinished."""
    from bitpath.golden.tensix.convert import pack_loop, unpack_loop

    monkeypatch.setenv(THREADS, "3")
    for module in (pack_loop, unpack_loop):
        monkeypatch.setattr(module, "SHARE", module.TILE)
    return 5 * pack_loop.TILE - 48


@pytest.mark.parametrize("out", ["FP32", "BF16", "FP8", "BFP8", "BFP4", "BFP2"])
def test_threads_and_tiles_pack_what_rows_do(several_shares, out):
    """With a mask for each row, and sums in L1 where the format has them."""
    rng = np.random.default_rng(40)
    words = rng.integers(0, 1 << 32, several_shares, np.uint32).reshape(-1, 16)
    masks, width = rng.integers(0, 1 << 16, len(words)), L1_BYTES.get(Format[out])
    sums = out in ("FP32", "BF16")
    old = rng.integers(0, 256, (len(words), 16 * (width or 1)), np.uint8)

    def packed(rows):
        l1 = {"l1": old[rows].reshape(-1)} if sums else {}
        return tensix.pack(words[rows], "FP32", out, dst32=True, edge_mask=masks[rows], **l1)

    got, rows = packed(slice(None)), [packed(slice(each, each + 1)) for each in range(len(words))]
    stream = 0 if width else -(-len(words) // 16) * 16
    assert np.array_equal(got[stream:], np.concatenate([row[0 if width else 16 :] for row in rows]))
    if stream:
        assert got[:stream].tolist() == [int(row[0]) for row in rows] + [0] * (stream - len(words))


@pytest.mark.parametrize("fmt", ["FP32", "INT16", "FP8", "BFP8", "BFP4", "BFP2"])
def test_threads_and_tiles_unpack_what_rows_do(several_shares, fmt):
    rng = np.random.default_rng(41)
    bits = BLOCK_FLOATS[Format[fmt]].datum_bits if Format[fmt] in BLOCK_FLOATS else 8 * L1_BYTES[Format[fmt]]
    stream = -(-several_shares // 256) * 16 if Format[fmt] in BLOCK_FLOATS else 0
    l1 = rng.integers(0, 256, stream + several_shares * bits // 8, np.uint8)
    rows = l1[stream:].reshape(-1, 2 * bits)
    forced = [{"forced_exponent": int(each)} for each in l1[: len(rows)]] if stream else [{}] * len(rows)
    expected = [tensix.unpack(row, fmt, fmt, count=16, **each) for row, each in zip(rows, forced, strict=True)]
    assert np.array_equal(tensix.unpack(l1, fmt, fmt, count=several_shares), np.concatenate(expected))


def test_l1_at_any_address():
    """Datums of 4 bytes at addresses that are no multiple of 4, and in memory that cannot be written."""
    l1 = np.arange(69, dtype=np.uint8)
    l1.flags.writeable = False
    for start in range(4):
        assert np.array_equal(
            tensix.unpack(l1[start:], "FP32", "FP32", count=16), l1[start : start + 64].copy().view("<u4")
        )


@pytest.mark.parametrize("fmt", BLOCK_FLOATS, ids=lambda each: each.name)
def test_a_forced_exponent_stands_for_all_blocks(fmt):
    """L1 holds datums alone; their own exponent would have been this one."""
    rng = np.random.default_rng(39)
    block = BLOCK_FLOATS[fmt]
    datums = rng.integers(0, 1 << block.datum_bits, (20, 16))
    forced = (1 << block.exponent_bits) - 2
    stream = np.full(32, forced, np.uint8)
    got = tensix.unpack(join_datums(block, datums), fmt, fmt, count=320, forced_exponent=forced)
    assert np.array_equal(got, tensix.unpack(np.concatenate([stream, join_datums(block, datums)]), fmt, fmt, count=320))
    assert got.tolist() == exact.unpack_block(BASE, fmt, forced, datums.reshape(-1).tolist())
