"""Unpackers and packers: all codes of every format against the scalar tier, and corners by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.arrays.parallel import THREADS
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.convert.early_conversion import EARLY_FORMATS, INTEGERS
from bitpath.golden.tensix.convert.pack import FLOAT_OUTPUTS
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import TIES, WORMHOLE, BfpRange
from bitpath.verif.tensix.unpack.block_datums import join_datums, split_datums

BASE = WORMHOLE.numerics
FLUSH = replace(BASE, bfp_range=BfpRange.FLUSH, bfp_a_range=BfpRange.FLUSH)
ALL16 = np.arange(1 << 16, dtype=np.uint32)


def words32(rng):
    """Return random words, and words of every exponent with a fraction near a tie."""
    any_word = rng.integers(0, 1 << 32, 3000)
    near = rng.integers(0, 2, 3000) << 31 | rng.integers(0, 256, 3000) << 23
    near |= rng.choice([0, 1, 0xFFF, 0x1000, 0xFFFF, 0x8000, 0x18000, 0x7F7FFF, 0x7F8000, 0x7EFFFF, 0x7FFFFF], 3000)
    return np.concatenate([any_word, near]).astype(np.uint32)[: 6000 // 16 * 16]


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


PACKS = [
    (dst32, mid, out)
    for (dst32, raw), mids in EARLY_FORMATS.items()
    if not raw
    for mid in mids
    for out in ((mid,) if mid in INTEGERS else FLOAT_OUTPUTS)
    if (mid, out) != (Format.FP32, Format.TF32)
]


def scalar_pack(words, mid, out, *, dst32, relu=0, relu_threshold=0, unsigned=False, raw=False, **edge):
    """Return L1's codes by the scalar tier: conversion, edge mask, ReLU, exponent threshold, second conversion."""
    narrow = mid in EXPONENT5_FORMATS
    width = 8 if mid is Format.INT8 else 16 if narrow or mid is Format.INT16 else 32
    dropped = {Format.BFP8A: 4, Format.FP8: 8}.get(mid, 0)
    infinity = 0xFFFF >> dropped << dropped if narrow else 0xFF800000
    codes = []
    for i, word in enumerate(words.tolist()):
        if mid is Format.INT8:
            code = word & 0xFF if raw else exact.early_int8(word, unsigned=unsigned)
        else:
            code = word if mid in INTEGERS else exact.early_float(BASE, word, mid, dst32=dst32)
        if edge:
            replacement = infinity if edge["edge_minus_infinity"] else 0
            code = exact.edge_mask(code, i % 16, int(edge["edge_mask"][i // 16]), replacement)
        code = exact.relu(code, width, relu, relu_threshold)
        if mid not in INTEGERS:
            code = exact.late_float(exact.exponent_threshold(code, mid, edge.get("exponent_threshold", 0)), mid, out)
        codes.append(code)
    return codes


def relus(mid):
    """Yield the options of every ReLU mode."""
    threshold = 0x3E00 if mid in EXPONENT5_FORMATS else 0x3FC0
    for mode in (0, 1) if mid in INTEGERS else range(4):
        yield {"relu": mode, "relu_threshold": threshold * (mode > 1)}


@pytest.mark.parametrize(
    ("dst32", "mid", "out"), PACKS, ids=[f"{mid.name}-{out.name}-{32 if wide else 16}" for wide, mid, out in PACKS]
)
def test_pack(dst32, mid, out):
    """A random sample of words in each ReLU mode, against the scalar tier."""
    rng = np.random.default_rng(34)
    words = words32(rng)[::5] if dst32 else rng.permutation(ALL16)[:1200]
    words = words[: len(words) // 16 * 16]
    for options in relus(mid):
        got = tensix.pack(words, mid, out, dst32=dst32, **options)
        if out in BLOCK_FLOATS:
            block = BLOCK_FLOATS[out]
            via = Format.BF16 if block.exponent_bits == 8 else Format.FP16
            codes = scalar_pack(words, mid, via, dst32=dst32, **options)
            blocks = [exact.pack_block(BASE, out, codes[i : i + 16]) for i in range(0, len(codes), 16)]
            stream = -(-len(blocks) // 16) * 16
            assert got[: len(blocks)].tolist() == [exponent for exponent, _ in blocks]
            datums = split_datums(block, got[stream:], len(words))
            assert datums.tolist() == [datums for _, datums in blocks]
        else:
            assert got.view(f"<u{L1_BYTES[out]}").tolist() == scalar_pack(words, mid, out, dst32=dst32, **options)


def test_every_fp16_word_rounded_for_bfp8a():
    """Eight denormals of either sign become the least normal number."""
    got = tensix.pack(ALL16, "BFP8A", "FP16", dst32=False).view("<u2")
    assert got.tolist() == scalar_pack(ALL16, Format.BFP8A, Format.FP16, dst32=False)
    denormal = ALL16 & 0x7C00 == 0
    assert ALL16[denormal & (got != 0)].tolist() == [*range(0x3F8, 0x400), *range(0x83F8, 0x8400)]


PLAIN_PACKS = [(dst32, mid, out) for dst32, mid, out in PACKS if out in L1_BYTES]


@pytest.mark.parametrize(("dst32", "mid", "out"), PLAIN_PACKS)
def test_edge_mask_and_exponent_threshold(dst32, mid, out):
    """The edge mask applies before ReLU and the threshold after it, as in the scalar tier; masks by row."""
    rng = np.random.default_rng(36)
    words = (words32(rng) if dst32 else rng.permutation(ALL16))[:480]
    edge = {"dst32": dst32, "edge_mask": rng.integers(0, 1 << 16, 30)}
    top = 31 if mid in EXPONENT5_FORMATS else 255
    edge["exponent_threshold"] = 0 if mid in INTEGERS else int(rng.integers(1, top))
    for relu, minus_infinity in product(relus(mid), (False,) if mid in INTEGERS else (False, True)):
        options = edge | relu | {"edge_minus_infinity": minus_infinity}
        got = tensix.pack(words, mid, out, **options)
        assert got.view(f"<u{L1_BYTES[out]}").tolist() == scalar_pack(words, mid, out, **options)


@pytest.mark.parametrize(("fmt", "fraction_bits", "top"), [("FP16", 10, 31), ("BF16", 7, 255)])
def test_exponents_from_the_threshold_on_stay(fmt, fraction_bits, top):
    exponents = np.arange(16)
    words = (exponents + top - 15 << fraction_bits).astype(np.uint32)
    for distance in exponents:
        threshold = top - 15 + int(distance)
        got = tensix.pack(words, fmt, fmt, dst32=False, exponent_threshold=threshold).view(np.uint16)
        assert got.tolist() == np.where(exponents < distance, 0, words).tolist()


@pytest.mark.parametrize("fmt", BLOCK_FLOATS, ids=lambda each: each.name)
def test_a_masked_edge_of_a_block(fmt):
    """One mask for all rows: zeros do not raise the shared exponent, minus infinity does."""
    wide = BLOCK_FLOATS[fmt].exponent_bits == 8
    mid, one, top = ("BF16", 0x3F80, 255) if wide else ("FP16", 0x3C00, 31)
    words = np.full(32, one, np.uint32)
    words[[15, 31]] = 0x7F00 if wide else 0x7800
    kept = tensix.pack(words, mid, fmt, dst32=False, edge_mask=0x7FFF)
    assert kept[:2].tolist() == [127 if wide else 15] * 2
    infinite = tensix.pack(words, mid, fmt, dst32=False, edge_mask=0x7FFF, edge_minus_infinity=True)
    assert infinite[:2].tolist() == [top] * 2


@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("tie", TIES)
def test_descale_shift(unsigned, tie):
    rng = np.random.default_rng(37)
    words = np.concatenate([words32(rng)[:160], rng.integers(0, 1 << 12, 160) | rng.integers(0, 2, 160) << 31])
    words = words.astype(np.uint32)
    numerics = replace(BASE, final_tie=tie)
    for shift in range(32):
        got = tensix.pack(words, "INT8", "INT8", dst32=True, unsigned=unsigned, descale_shift=shift, numerics=numerics)
        expected = [exact.early_int8(word, unsigned=unsigned, shift=shift, tie=tie) for word in words.tolist()]
        assert got.tolist() == expected


@pytest.mark.parametrize(
    ("word", "shift", "unsigned", "expected"),
    [
        *((11, 1, False, 6), (0x8000000B, 1, False, 0x86), (0x80000001, 4, False, 0x80), (0x1FF, 1, True, 255)),
        *((0x7FFFFFFF, 31, False, 1), (0x1FC, 2, False, 127), (0x1FF, 2, False, 127), (0x8000000B, 1, True, 0)),
    ],
)
def test_descale_shift_by_hand(word, shift, unsigned, expected):
    got = tensix.pack(np.array([word], np.uint32), "INT8", "INT8", dst32=True, unsigned=unsigned, descale_shift=shift)
    assert got.tolist() == [expected]


@pytest.mark.parametrize("dst32", [False, True])
def test_rounding_to_10_bits_is_an_intermediate_tf32(dst32):
    rng = np.random.default_rng(38)
    words = words32(rng)[:1600] if dst32 else rng.permutation(ALL16)[:1600]
    for mid, outs in (("FP32", ("TF32", "FP32", "BF16", "FP16", "BFP8")), ("BF16", ("FP16",))):
        for out in outs:
            got = tensix.pack(words, mid, out, dst32=dst32, round_10b=True)
            assert np.array_equal(got, tensix.pack(words, "TF32", out, dst32=dst32))
    same = tensix.pack(words, "BF16", "BF16", dst32=dst32, raw=True, round_10b=True)
    assert np.array_equal(same, tensix.pack(words, "BF16", "BF16", dst32=dst32, raw=True))


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


@pytest.mark.parametrize("out", [Format.FP32, Format.BF16, Format.FP16], ids=lambda each: each.name)
@pytest.mark.parametrize("odd", [True, False])
def test_l1_accumulation(out, odd):
    """Random codes, codes that nearly cancel, and pairs of all special values."""
    rng = np.random.default_rng(35)
    numerics = replace(BASE, l1_fp16_underflow_saturates=odd)
    width = 8 * L1_BYTES[out]
    old = rng.integers(0, 1 << width, 6000)
    new = rng.integers(0, 1 << width, 6000)
    new[2000:4000] = (old[2000:4000] ^ 1 << width - 1) + rng.integers(-2, 3, 2000) & (1 << width) - 1
    top = {Format.FP32: 0x7F800000, Format.BF16: 0x7F80, Format.FP16: 0x7C00}[out]
    unit = {Format.FP32: 1 << 23, Format.BF16: 1 << 7, Format.FP16: 1 << 10}[out]
    specials = np.array([0, 1, unit - 1, unit, unit + 1, 2 * unit, top - 1, top, top + 1, top + unit - 1])
    specials = np.concatenate([specials, specials | 1 << width - 1])
    grid = np.stack(np.meshgrid(specials, specials)).reshape(2, -1)
    old, new = np.concatenate([old, grid[0]]), np.concatenate([new, grid[1]])
    l1 = old.astype(f"<u{width // 8}").view(np.uint8)
    got = tensix.pack(
        new.astype(np.uint32), out, out, dst32=width == 32, l1=l1, raw=width == 16, numerics=numerics
    ).view(f"<u{width // 8}")
    expected = [exact.add_to_l1(numerics, x, y, out) for x, y in zip(old.tolist(), new.tolist(), strict=True)]
    assert got.tolist() == expected


WIDE, NARROW = {"dst32": True}, {"dst32": False}


@pytest.mark.parametrize(
    ("word", "mid", "out", "options", "expected"),
    [
        # A carry out of the fraction increments the exponent.
        (0x00FF, "BFP8", "BF16", NARROW, 0x0100),
        # Six fraction bits under five exponent bits saturate, and denormals are rounded before they are flushed.
        (0x7FF7, "BFP8A", "FP16", NARROW, 0x7FF0),
        (0x7FF8, "BFP8A", "FP16", NARROW, 0x7FF0),
        (0xFFFF, "BFP8A", "FP16", NARROW, 0xFFF0),
        (0x03FF, "BFP8A", "FP16", NARROW, 0x0400),
        (0x83F8, "BFP8A", "FP16", NARROW, 0x8400),
        (0x03F8, "BFP8A", "BF16", NARROW, 0x3880),
        (0x03F7, "BFP8A", "FP16", NARROW, 0),
        (0x03FF, "FP16", "FP16", NARROW, 0),
        (0x8001, "BFP8A", "FP16", NARROW, 0),
        (0x0408, "BFP8A", "FP16", NARROW, 0x0410),
        # FP32 is rounded first, so a large denormal becomes the least normal number.
        (0x007FFFFF, "BF16", "FP32", WIDE, 0x00800000),
        (0x807F8000, "BF16", "FP32", WIDE, 0x80800000),
        (0x007F7FFF, "BF16", "FP32", WIDE, 0),
        (0x007F0000, "BFP8", "FP32", WIDE, 0x00800000),
        (0x007EFFFF, "BFP8", "FP32", WIDE, 0),
        # BF16 denormals are flushed before rounding.
        (0x007F, "BFP8", "FP32", NARROW, 0),
        # ReLU keeps the smallest number.
        *((word, fmt, fmt, WIDE | {"relu": 1}, word) for word in (0, 1) for fmt in ("INT32", "INT8", "FP32")),
        # The threshold itself becomes zero in mode 2 and is kept in mode 3.
        (0x3FC0, "BF16", "BF16", NARROW | {"relu": 2, "relu_threshold": 0x3FC0}, 0),
        (0x3FC1, "BF16", "BF16", NARROW | {"relu": 2, "relu_threshold": 0x3FC0}, 0x3FC1),
        (0x3FC0, "BF16", "BF16", NARROW | {"relu": 3, "relu_threshold": 0x3FC0}, 0x3FC0),
        # Mode 3 compares 19 bits of FP32.
        (0x3FC01FFF, "FP32", "FP32", WIDE | {"relu": 3, "relu_threshold": 0x3FC0}, 0x3FC01FFF),
        (0x3FC02000, "FP32", "FP32", WIDE | {"relu": 3, "relu_threshold": 0x3FC0}, 0x3FC00000),
        (0x80000000, "FP32", "FP32", WIDE | {"relu": 3, "relu_threshold": 0x3FC0}, 0),
        # FP32 to FP16 saturates to all ones.
        (0xC7FFFFFF, "FP32", "FP16", WIDE, 0xFFFF),
        (0xC8000000, "FP32", "FP16", WIDE, 0xFFFF),
        # Magnitude 0 keeps its sign.
        (0x80000000, "INT8", "INT8", WIDE, 0x80),
        (0x80000005, "INT8", "INT8", WIDE | {"unsigned": True}, 0),
        (0x00000123, "INT8", "INT8", WIDE | {"raw": True}, 0x23),
    ],
)
def test_corners_of_pack_by_hand(word, mid, out, options, expected):
    words = np.array([word], np.uint32)
    assert int.from_bytes(tensix.pack(words, mid, out, **options).tobytes(), "little") == expected
    assert scalar_pack(words, Format[mid], Format[out], **options) == [expected]
