"""The Vector unit's random numbers, SFP_STOCH_RND and SFPSTORE: known answers of ttsim v1.10.0, and both tiers."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, WORMHOLE_DOCUMENTED, StochasticCompare
from bitpath.golden.tensix.vector.sfpstore import WIDE_MODES
from bitpath.verif.tensix.golden.words import words32

CONTROL = "tensix_bh_control.npz"
BASE = WORMHOLE.numerics
EDGES = np.array(
    [0, 1, 1 << 31, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F7F8000, 0x7F800000, 0xFF800001], np.uint32
)
NEAR = np.array(
    [0x3EFFFFFF, 0x3F000000, 0x3F7FFFFE, 0x3F7FFFFF, 0x3FFFFFFF, 0x42FEFFFF, 0x477FFFFF, 0x4F000000], np.uint32
)
LANES = np.concatenate([EDGES, NEAR, NEAR | 1 << 31, words32(np.random.default_rng(71))[::3]])


def test_random_numbers_known_answers(kat):
    archive = kat(CONTROL)
    for seed, state, following in zip(archive["s_seed"].tolist(), archive["s_state"], archive["s_next"], strict=True):
        prng = tensix.Prng(seed)
        assert np.array_equal(prng.state, state)
        for step in range(following.shape[1]):
            assert np.array_equal(prng.next(), following[:, step - 1] if step else state)
            assert np.array_equal(prng.state, following[:, step])


def test_random_numbers_bit_by_bit():
    """Ten thousand steps of one lane, each bit of the state by itself."""
    prng = tensix.Prng(0x12345678)
    lane = 17
    bits = [int(prng.state[lane]) >> i & 1 for i in range(32)]
    for _ in range(10_000):
        assert sum(bit << i for i, bit in enumerate(bits)) == prng.next()[lane]
        bits = [*bits[1:], 1 ^ bits[0] ^ bits[1] ^ bits[21] ^ bits[31]]


def test_rounding_to_nearest_known_answers(kat):
    archive = kat(CONTROL)
    for mode, lanes, expected in zip(archive["f_mod"].tolist(), archive["f_in"], archive["f_out"], strict=True):
        for chip in ("wormhole", "blackhole"):
            assert np.array_equal(tensix.sfp_stoch_rnd(lanes, mode, chip=chip), expected), mode
        assert [exact.stochastic_round(BASE, lane, mode, 0x400000) for lane in lanes.tolist()] == expected.tolist()


@pytest.mark.parametrize("mode", tensix.StochasticMode, ids=lambda each: each.name)
@pytest.mark.parametrize("compare", StochasticCompare)
def test_stochastic_rounding(mode, compare):
    rng, numerics = np.random.default_rng(72), replace(BLACKHOLE.numerics, stochastic_compare=compare)
    bits = rng.integers(0, 1 << 32, LANES.size, np.uint32)
    bits[::3] &= 0xFF80007F
    for rounding, own in (("nearest", 0x400000), ("zero", 0x7FFFFF), ("stochastic", bits)):
        given = bits if rounding == "stochastic" else None
        got = tensix.sfp_stoch_rnd(LANES, mode, rounding=rounding, bits=given, numerics=numerics)
        random = np.broadcast_to(own, LANES.shape).tolist()
        pairs = zip(LANES.tolist(), random, strict=True)
        expected = [exact.stochastic_round(numerics, lane, int(mode), each) for lane, each in pairs]
        assert got.tolist() == expected


@pytest.mark.parametrize(
    ("mode", "rounding", "bits", "lane", "expected"),
    [
        ("FP16B", "nearest", None, 0x3F808000, 0x3F810000),
        ("FP16B", "stochastic", 0x400080, 0x3F808000, 0x3F800000),
        ("FP16B", "stochastic", 0x40007F, 0x3F808000, 0x3F810000),
        # Nothing discarded goes up once in 2**16.
        ("FP16B", "stochastic", 0x7F, 0x3F800000, 0x3F810000),
        ("FP16B", "stochastic", 0x80, 0x3F800000, 0x3F800000),
        ("FP16B", "zero", None, 0xBF80FFFF, 0xBF810000),
        ("FP16B", "zero", None, 0xBF80FFFE, 0xBF800000),
        ("FP16A", "zero", None, 0x80000001, 0),
        ("FP16A", "nearest", None, 0xFFC00000, 0xFF800000),
        ("INT8", "zero", None, 0xBF7FFFFF, 0x80000001),
        ("INT8", "stochastic", 0, 0x3EFFFFFF, 0),
        ("INT8", "nearest", None, 0xFFC00000, 0x8000007F),
        ("UINT16", "nearest", None, 0xC0200000, 3),
    ],
)
def test_stochastic_rounding_by_hand(mode, rounding, bits, lane, expected):
    random = None if bits is None else np.array([bits], np.uint32)
    got = tensix.sfp_stoch_rnd(np.array([lane], np.uint32), mode, rounding=rounding, bits=random, chip="blackhole")
    assert got.tolist() == [expected]


def test_nothing_discarded_goes_up_once_in_all_values_of_the_top_bits():
    """Over the top 16 bits of P, a datum of BF16 goes up exactly once: the bias of the documents."""
    bits = np.arange(1 << 16, dtype=np.uint32) << 7
    got = tensix.sfp_stoch_rnd(np.full(bits.size, 0x3F800000, np.uint32), 1, rounding="stochastic", bits=bits)
    assert np.flatnonzero(got != 0x3F800000).tolist() == [0]
    old = replace(BASE, stochastic_compare=StochasticCompare.ALL_BITS)
    assert tensix.sfp_stoch_rnd(
        np.full(2, 0x3F800000, np.uint32), 1, rounding="stochastic", bits=bits[:2] >> 1, numerics=old
    ).tolist() == [0x3F810000, 0x3F800000]


@pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
def test_sfpstore_known_answers(kat, chip):
    archive, prefix = kat(CONTROL), f"st_{chip[0]}h_"
    for cfg, lanes, expected in zip(*(archive[prefix + name] for name in ("cfg", "in", "dst")), strict=True):
        mode, wide = cfg.tolist()
        assert (mode in WIDE_MODES) == bool(wide)
        rows = np.zeros((4, 16), np.uint32)
        rows[:, ::2] = tensix.sfpstore(lanes, mode, chip=chip).reshape(4, 8)
        assert np.array_equal(rows, expected), mode


@pytest.mark.parametrize("mode", tensix.StoreMode, ids=lambda each: each.name)
@pytest.mark.parametrize("preset", [WORMHOLE, WORMHOLE_DOCUMENTED, BLACKHOLE], ids=lambda each: each.name)
def test_sfpstore(mode, preset):
    got = tensix.sfpstore(LANES, mode, numerics=preset.numerics)
    assert got.tolist() == [exact.stored(preset.numerics, lane, int(mode)) for lane in LANES.tolist()]
    assert mode in WIDE_MODES or got.max() < 1 << 16


@pytest.mark.parametrize(
    ("chip", "mode", "lane", "word"),
    [
        ("blackhole", 7, 0xBD3511C2, 0x9ABD11C2),
        ("blackhole", 9, 0xA4BCA990, 0xC829A4BC),
        ("wormhole", 12, 0xFFFFFFFF, 0x80000001),
        ("blackhole", 12, 0xFFFFFFFF, 0xFFFFFFFF),
        ("wormhole", "INT8_COMP", 0xFFFFFFFE, 0xC002),
        ("blackhole", "INT8_COMP", 0x80000002, 0xC002),
    ],
)
def test_sfpstore_by_hand(chip, mode, lane, word):
    assert tensix.sfpstore(np.array([lane], np.uint32), mode, chip=chip).tolist() == [word]
