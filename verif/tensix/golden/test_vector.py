"""The Vector unit and the RISC-V cores' stores: both tiers, and known answers of ttsim v1.10.0.

Random numbers, SFP_STOCH_RND, SFPSTORE, SFPLOAD and the stores in all formats.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix import exact
from bitpath.golden.tensix.convert.riscv_store import WIDTHS
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, WORMHOLE_DOCUMENTED, StochasticCompare
from bitpath.golden.tensix.declarations.sfpu import HALF_LOADS, WIDE_LOADS, WIDE_STORES
from bitpath.golden.tensix.sfpu.rounding import FROM_INTEGER
from bitpath.verif.tensix.golden.samples import words32

CONTROL = "tensix_bh_control.npz"
BASE = WORMHOLE.numerics
EDGES = np.array(
    [0, 1, 1 << 31, 0x80000001, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F7F8000, 0x7F800000, 0xFF800001], np.uint32
)
NEAR = np.array(
    [0x3EFFFFFF, 0x3F000000, 0x3F7FFFFE, 0x3F7FFFFF, 0x3FFFFFFF, 0x42FEFFFF, 0x477FFFFF, 0x4F000000], np.uint32
)
LARGEST = np.array([0x7FFF, 0xFFFF], np.uint32)
LANES = np.concatenate([EDGES, NEAR, NEAR | 1 << 31, words32(np.random.default_rng(71), 1600)])


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
    shift = rng.integers(0, 1 << 8, LANES.size, np.uint32) if mode in FROM_INTEGER else np.zeros_like(LANES)
    for rounding, own in (("nearest", 0x400000), ("zero", 0x7FFFFF), ("stochastic", bits)):
        given = bits if rounding == "stochastic" else None
        got = tensix.sfp_stoch_rnd(LANES, mode, rounding=rounding, bits=given, shift=shift, numerics=numerics)
        random = np.broadcast_to(own, LANES.shape).tolist()
        operands = zip(LANES.tolist(), random, (shift & 31).tolist(), strict=True)
        expected = [exact.stochastic_round(numerics, lane, int(mode), each, by) for lane, each, by in operands]
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


@pytest.mark.parametrize(
    ("mode", "rounding", "lane", "shift", "expected"),
    [
        ("INT32_TO_INT8", "nearest", 0x80000005, 1, 0x80000003),
        ("INT32_TO_UINT8", "nearest", 0x80000005, 1, 3),
        ("INT32_TO_INT8", "nearest", 0x80000001, 2, 0),
        ("INT32_TO_INT8", "nearest", 0x7FFFFFFF, 23, 127),
        ("INT32_TO_UINT8", "nearest", 0x7FFFFFFF, 23, 255),
        # Rounding to zero goes up where the 23 highest discarded bits are ones.
        ("INT32_TO_INT8", "zero", 0x007FFFFF, 23, 1),
        ("INT32_TO_INT8", "zero", 0x007FFFFF, 24, 0),
        ("INT32_TO_INT8", "zero", 0x00FFFFFF, 24, 1),
        ("INT32_TO_INT8", "zero", 0x00FFFFFE, 24, 1),
        ("INT32_TO_INT8", "zero", 0x00FFFFFD, 24, 0),
    ],
)
def test_integers_by_hand(mode, rounding, lane, shift, expected):
    got = tensix.sfp_stoch_rnd(np.array([lane], np.uint32), mode, rounding=rounding, shift=shift, chip="blackhole")
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
        assert (mode in WIDE_STORES) == bool(wide)
        rows = np.zeros((4, 16), np.uint32)
        rows[:, ::2] = tensix.sfpstore(lanes, mode, chip=chip).reshape(4, 8)
        assert np.array_equal(rows, expected), mode


@pytest.mark.parametrize("mode", tensix.StoreMode, ids=lambda each: each.name)
@pytest.mark.parametrize("preset", [WORMHOLE, WORMHOLE_DOCUMENTED, BLACKHOLE], ids=lambda each: each.name)
def test_sfpstore(mode, preset):
    got = tensix.sfpstore(LANES, mode, numerics=preset.numerics)
    assert got.tolist() == [exact.stored(preset.numerics, lane, int(mode)) for lane in LANES.tolist()]
    assert mode in WIDE_STORES or got.max() < 1 << 16


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


@pytest.mark.parametrize("mode", tensix.StoreMode, ids=lambda each: each.name)
@pytest.mark.parametrize("preset", [WORMHOLE, BLACKHOLE], ids=lambda each: each.name)
@pytest.mark.parametrize("infinity", [False, True])
def test_sfpload(mode, preset, infinity):
    words = LANES if mode in WIDE_LOADS else np.append(np.arange(0, 1 << 16, 9, np.uint32), LARGEST)
    old = np.resize(LANES, words.shape)
    lanes = old if mode in HALF_LOADS else None
    got = tensix.sfpload(words, mode, lanes=lanes, fp16_infinity=infinity, numerics=preset.numerics)
    load = partial(exact.loaded, preset.numerics, mode=int(mode), fp16_infinity=infinity)
    pairs = zip(words.tolist(), old.tolist(), strict=True)
    assert got.tolist() == [load(word, old=each) for word, each in pairs]
    assert got.dtype == np.uint32


@pytest.mark.parametrize(
    ("chip", "mode", "word", "lane"),
    [
        ("wormhole", "FP16", 0xBC00, 0xBF800000),
        ("wormhole", "FP16", 0x8001, 0x80002000),
        ("wormhole", "BF16", 0xBF80, 0xBF800000),
        ("wormhole", "INT8", 0xC1FF, 0x8000007F),
        ("blackhole", "INT8", 0xC1FF, 0x800000FF),
        ("wormhole", "INT8_COMP", 0xC002, 0xFFFFFFFE),
        ("blackhole", "INT8_COMP", 0xC002, 0x80000002),
        ("wormhole", "INT32_SM", 0x80000001, 0xFFFFFFFF),
        ("blackhole", "INT32_SM", 0x80000001, 0x80000001),
        ("wormhole", "INT32_SM", 0x80000000, 0),
        ("wormhole", "INT16", 0x8003, 0x80000003),
        ("wormhole", "HI16", 0x1234, 0x12340000),
        ("wormhole", "LO16", 0x1234, 0x1234),
    ],
)
def test_sfpload_by_hand(chip, mode, word, lane):
    assert tensix.sfpload(np.array([word], np.uint32), mode, chip=chip).tolist() == [lane]


@pytest.mark.parametrize("chip", ["wormhole", "blackhole"])
@pytest.mark.parametrize(
    "mode", [each for each in tensix.StoreMode if each not in HALF_LOADS], ids=lambda each: each.name
)
def test_what_is_stored_is_loaded(chip, mode):
    """A second store and load change nothing. HI16 and LO16 store 32 bits; the load returns the half that holds them."""
    words = tensix.sfpstore(LANES, mode, chip=chip)
    if mode in (tensix.StoreMode.HI16, tensix.StoreMode.LO16):
        halves = tensix.to_physical(words, "DST32") >> 16
        kept = LANES & 0xFFFF0000 if mode is tensix.StoreMode.HI16 else LANES & 0xFFFF
        assert np.array_equal(tensix.sfpload(halves, mode, chip=chip), kept)
        return
    lanes = tensix.sfpload(words, mode, chip=chip)
    if mode in (tensix.StoreMode.INT32, tensix.StoreMode.INT32_ALL):
        assert np.array_equal(lanes, LANES)
    else:
        assert np.array_equal(tensix.sfpload(tensix.sfpstore(lanes, mode, chip=chip), mode, chip=chip), lanes)


@pytest.mark.parametrize("fmt", tensix.RiscvFormat, ids=lambda each: each.name)
@pytest.mark.parametrize("options", [{}, {"no_swizzle": True}, {"unsigned_int": True}], ids=str)
def test_riscv_store(fmt, options):
    values = LANES.astype(WIDTHS[fmt])
    got = tensix.riscv_store(values, fmt, **options)
    assert got.tolist() == [exact.riscv_stored(value, int(fmt), **options) for value in values.tolist()]


def test_riscv_bytes_have_the_documented_bug():
    """All bytes: -1 stores the magnitude 129, -127 stores 255 and -128, as -127 should, 255 too."""
    values = np.arange(256, dtype=np.uint8)
    words = tensix.riscv_store(values, "INT8")
    assert words.tolist() == [exact.riscv_stored(value, 5) for value in values.tolist()]
    magnitudes = (words & 0x3FF)[0x80:].tolist()
    assert magnitudes == [255, *range(255, 128, -1)]
    assert np.array_equal(words[:0x80], tensix.sfpstore(values[:0x80].astype(np.uint32), "INT8") * (values[:0x80] > 0))
    assert tensix.riscv_store(np.array([0x80000000, 0xFFFFFFFF], np.uint32), "INT32").tolist() == [
        0xFFFFFFFF,
        0x80000001,
    ]
