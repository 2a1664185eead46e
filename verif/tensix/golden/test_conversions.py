"""Conversions on the way to and from L1: all codes of every format against the scalar tier, physical orders, threads and tiles."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.arrays.parallel import THREADS
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.convert.unpack import CONVERSIONS, L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, BfpRange
from bitpath.verif.tensix.golden.words import words32
from bitpath.verif.tensix.unpack.unpack import join_datums, split_datums

BASE = WORMHOLE.numerics
FLUSH = replace(BASE, bfp_range=BfpRange.FLUSH, bfp_a_range=BfpRange.FLUSH)
ALL16 = np.arange(1 << 16, dtype=np.uint32)


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
