"""Packers: rounding, ReLU, edge mask, exponent threshold and accumulation against the scalar tier, and corners by hand."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.convert.formats import EARLY_FORMATS, INTEGERS
from bitpath.golden.tensix.convert.pack import FLOAT_OUTPUTS
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import TIES, WORMHOLE, BfpRange
from bitpath.verif.tensix.golden.samples import words16, words32
from bitpath.verif.tensix.unpack.unpack import split_datums

BASE = WORMHOLE.numerics
FLUSH = replace(BASE, bfp_range=BfpRange.FLUSH, bfp_a_range=BfpRange.FLUSH)
ALL16 = np.arange(1 << 16, dtype=np.uint32)


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
    words = words32(rng, 1000) if dst32 else words16(rng, 1200)
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
    words = words32(rng, 160) if dst32 else words16(rng, 480)
    edge = {"dst32": dst32, "edge_mask": rng.integers(0, 1 << 16, len(words) // COLUMNS)}
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
    words = np.concatenate([words32(rng, 160), rng.integers(0, 1 << 12, 160) | rng.integers(0, 2, 160) << 31])
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
    words = words32(rng, 1200) if dst32 else words16(rng, 1600)
    for mid, outs in (("FP32", ("TF32", "FP32", "BF16", "FP16", "BFP8")), ("BF16", ("FP16",))):
        for out in outs:
            got = tensix.pack(words, mid, out, dst32=dst32, round_10b=True)
            assert np.array_equal(got, tensix.pack(words, "TF32", out, dst32=dst32))
    same = tensix.pack(words, "BF16", "BF16", dst32=dst32, raw=True, round_10b=True)
    assert np.array_equal(same, tensix.pack(words, "BF16", "BF16", dst32=dst32, raw=True))


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
