"""Quasar's MX formats: both tiers, every element code, and blocks by hand."""

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.declarations.quasar import MX_FORMATS
from bitpath.verif.tensix.golden.words import words32

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
