"""Random numbers: XORWOW, rng, seeds, dropout and the bits of PSUM."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.trainium3 import Xorwow, dropout, psum_random_bits, rand2, rng, seeded_state
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.vector import XORWOW_INCREMENT
from bitpath.golden.trainium3.exact import (
    column_bits,
    dropout_element,
    rng_element,
    seed_word,
    uniform,
    xorwow_lane,
    xorwow_step,
)
from bitpath.golden.trainium3.exact.conversions import to_fp32
from bitpath.verif.trainium3.dtype_words import bits, destination, draw, tile

# rng, seeded states and dropout against the scalar tier, and their rules.


INTEGERS = [name for name in FORMATS if "int" in name]
FLOATS = [name for name in FORMATS if name not in (*INTEGERS, "tf32")]


@pytest.mark.parametrize("name", INTEGERS)
def test_rng(name):
    state = seeded_state(5, lanes=3)
    words = Xorwow(state).elements(10)
    got = rng(Xorwow(state), 10, dtype=destination(name))
    assert got.dtype == destination(name)
    assert bits(got) == [[rng_element(word, name) for word in row] for row in words.tolist()]


def test_rng_continues():
    """A request of less than four elements leaves the rest of the generator's step."""
    one, two = (Xorwow(seeded_state(9, lanes=2)) for _ in range(2))
    first, second = rng(one, 3), rng(one, 4)
    whole = rng(two, 8)
    assert (first == whole[:, :3]).all()
    assert (second == whole[:, 4:]).all()


@pytest.mark.parametrize("seed", [0, 1, 0x80000000, 0xFFFFFFFF, 0x9E3779B9])
def test_seeds(seed):
    state = seeded_state(seed)
    assert (state.shape, state.dtype) == ((128, 4, 6), np.uint32)
    assert len(np.unique(state)) == state.size
    for lane in (0, 1, 127):
        expected = [[seed_word(seed, lane, i, k) for k in range(6)] for i in range(4)]
        assert state[lane].tolist() == expected
    assert seeded_state(seed, lanes=2).tolist() == state[:2].tolist()


def test_the_mix_by_hand():
    """MurmurHash3's final mix maps 0 to 0 and 1 to 0x514E28B7."""
    assert [seed_word((x - 0x9E3779B9) % 2**32, 0, 0, 0) for x in (0, 1)] == [0, 0x514E28B7]


def test_seeds_differ():
    """Neighbouring seeds give numbers that have about half of their bits in common."""
    numbers = [rng(Xorwow(seeded_state(seed)), 64) for seed in (7, 8)]
    same = np.unpackbits(~(numbers[0] ^ numbers[1]).view(np.uint8)).mean()
    assert abs(same - 0.5) < 0.005


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_dropout(name):
    """Kept elements keep their bits, NaN payloads too."""
    draws = np.random.default_rng([*FLOATS, *INTEGERS].index(name))
    data = draw(draws, name, (8, 11))
    state = seeded_state(3, lanes=8)
    words = Xorwow(state).elements(11)
    kind = "fp32" if name in INTEGERS else FLOATS[int(draws.integers(len(FLOATS)))]
    probabilities = draw(draws, kind, (8, 1))
    if kind == "fp32":
        probabilities[:6, 0] = bits(draws.random(6, dtype=np.float32))
        probabilities[0, 0] = bits((words[0, 3:4] >> 8).astype(np.float32) * np.float32(2**-24))[0]
    got = dropout(Xorwow(state), tile(name, data), tile(kind, probabilities))
    assert got.dtype == destination(name)
    for p, row in enumerate(data.tolist()):
        threshold = to_fp32(int(probabilities[p, 0]), kind)
        pairs = zip(row, words[p].tolist(), strict=True)
        assert bits(got)[p] == [dropout_element(code, word, threshold) for code, word in pairs]


def test_ends_of_the_probability():
    """0 keeps all and 1 drops all, also where the numbers are at their ends; NaN drops."""
    state = seeded_state(4, lanes=2)
    x = np.arange(1, 401, dtype=np.int32).reshape(2, 200)
    for prob, kept in ((0.0, 400), (-0.0, 400), (1.0, 0), (np.nan, 0), (-1.0, 400), (2.0, 0)):
        got = dropout(Xorwow(state), x, prob)
        assert np.count_nonzero(got) == kept
    u = rand2(Xorwow(state), 200, 0.0, 1.0)
    assert (dropout(Xorwow(state), x, 0.25) == np.where(u >= 0.25, x, 0)).all()
    assert not np.signbit(dropout(Xorwow(state), np.full((2, 9), -1.0, np.float32), 1.0)).any()
    wide = dropout(Xorwow(seeded_state(1)), np.ones((128, 512), ml_dtypes.bfloat16), 0.1)
    assert abs(wide.astype(np.float32).mean() - 0.9) < 0.005


def source(lanes=2):
    return Xorwow(seeded_state(1, lanes=lanes))


X = np.ones((2, 3), np.float32)
BAD = [
    (lambda: rng(None, 3), TypeError, "source must be a Xorwow, not None"),
    (lambda: rng(source(), -1), ValueError, "count must be 0 or more, not -1"),
    (lambda: rng(source(), 3, dtype=np.float32), TypeError, "dtype must be int8, int16, int32, uint8, uint16 or uint32, not float32"),
    (lambda: seeded_state(1 << 32), ValueError, "seed must be 0 to 4294967295, not 4294967296"),
    (lambda: seeded_state(-1), ValueError, "seed must be 0 to 4294967295, not -1"),
    (lambda: seeded_state(1.0), TypeError, "seed must be an integer, not 1.0"),
    (lambda: seeded_state(1, lanes=129), ValueError, "lanes must be 1 to 128, not 129"),
    (lambda: dropout(source(3), X, 0.5), ValueError, "source must have 2 lanes, one for each partition of data, not 3"),
    (lambda: dropout(source(), X.astype(float), 0.5), TypeError, "data must be float32,"),
    (lambda: dropout(source(), X, None), TypeError, r"prob must be a number, or an array \[P, 1\], not None"),
    (lambda: dropout(source(), X, X), ValueError, r"prob must have shape \(2, 1\) or a number, not \(2, 3\)"),
    (lambda: dropout(source(), X, np.ones((2, 1), np.int8)), TypeError, "prob must be float32, .* or float8_e3m4, not int8"),
    (lambda: dropout(source(), X.astype(np.int8), np.ones((2, 1), ml_dtypes.bfloat16)), TypeError, "prob must be float32, not bfloat16"),
    (lambda: rng_element(1, "bf16"), ValueError, "dtype must be 'int8', 'int16', 'int32', 'uint8', 'uint16' or 'uint32', not 'bf16'"),
    (lambda: rng_element(1 << 32, "int8"), ValueError, "word must be 0 to 4294967295, not 4294967296"),
    (lambda: seed_word(1, 0, 4, 0), ValueError, "state must be 0 to 3, not 4"),
    (lambda: seed_word(1, 0, 0, 6), ValueError, "word must be 0 to 5, not 6"),
    (lambda: seed_word(1 << 32, 0, 0, 0), ValueError, "seed must be 0 to 4294967295, not 4294967296"),
    (lambda: dropout_element(1, -1, 0), ValueError, "word must be 0 to 4294967295, not -1"),
]  # fmt: skip


def test_arguments_of_random(subtests):
    for call, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()


# XORWOW: published numbers, the scalar tier, and the users of the numbers.


DEFAULT = (123456789, 362436069, 521288629, 88675123, 5783321, 6615241)
"""Marsaglia's starting values, and the first numbers from them."""
NUMBERS = [246875399, 3690007200, 1264581005, 3906711041, 1866187943]


def random_state(lanes, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 32, (lanes, 4, 6), dtype=np.uint32)


def scalar_numbers(state, n):
    """Numbers [lanes, 4, n] and the state afterwards, one lane after the other."""
    lanes, after = [], []
    for states in state.tolist():
        steps = [xorwow_lane(states)]
        while len(steps) < n:
            steps.append(xorwow_lane(steps[-1][1]))
        lanes.append(np.transpose([numbers for numbers, _ in steps]))
        after.append(steps[-1][1])
    return np.array(lanes), np.array(after)


def test_published_numbers():
    state, numbers = DEFAULT, []
    for _ in range(5):
        number, state = xorwow_step(state)
        numbers.append(number)
    assert numbers == NUMBERS
    assert Xorwow(np.full((1, 4, 6), DEFAULT, np.uint32)).next(5).tolist() == [[NUMBERS] * 4]


def test_tiers_agree():
    state = random_state(60)
    state[0], state[1], state[2, 1] = 0, 0xFFFFFFFF, DEFAULT
    source = Xorwow(state)
    numbers, after = scalar_numbers(state, 40)
    assert np.array_equal(source.next(40), numbers)
    assert np.array_equal(source.state, after)


def test_known_answers(kat):
    archive = kat("trn_xorwow.npz")
    source = Xorwow(archive["state"])
    assert np.array_equal(source.next(64), archive["out"])
    assert np.array_equal(source.state, archive["final"])
    numbers, after = scalar_numbers(archive["state"], 64)
    assert np.array_equal(numbers, archive["out"])
    assert np.array_equal(after, archive["final"])


def test_state_is_stored_and_loaded():
    whole, first = Xorwow(random_state(3)), Xorwow(random_state(3))
    expected = whole.next(20)
    start = first.next(7)
    stored = first.state
    second = Xorwow(stored)
    stored[:] = 0  # neither side keeps the caller's array
    assert np.array_equal(np.concatenate([start, second.next(13)], axis=2), expected)
    assert np.array_equal(first.next(13), expected[:, :, 7:])
    assert first.next(0).shape == (3, 4, 0)


def test_all_zero_state_counts():
    assert Xorwow(np.zeros((1, 4, 6), np.uint32)).next(3)[0, 0].tolist() == [XORWOW_INCREMENT * k for k in (1, 2, 3)]


@pytest.mark.parametrize("count", [0, 1, 4, 6, 12])
def test_elements_come_from_states_in_turn(count):
    state = random_state(2)
    numbers = Xorwow(state).next(3)
    source = Xorwow(state)
    got = source.elements(count)
    assert got.shape == (2, count)
    for lane, j in np.ndindex(2, count):
        assert got[lane, j] == numbers[lane, j % 4, j // 4]
    again = Xorwow(state)
    again.next(-(-count // 4))
    assert np.array_equal(source.state, again.state)  # unused numbers of the last group of four are discarded


@pytest.mark.parametrize("count", [0, 1, 7])
def test_elements_of_a_lane_with_one_state(count):
    """GpSimd's generators: no number is dropped."""
    state = random_state(3)[:, :1]
    source = Xorwow(state)
    got = source.elements(count)
    assert got.shape == (3, count)
    for lane, (first,) in enumerate(state.tolist()):
        after, expected = first, []
        for _ in range(count):
            number, after = xorwow_step(after)
            expected.append(number)
        assert got[lane].tolist() == expected
        assert source.state[lane].tolist() == [list(after)]


@pytest.mark.parametrize(("columns", "lanes"), [(1, 1), (8, 1), (9, 2), (20, 5), (128, 16)])
def test_random_bits_of_psum(columns, lanes):
    state = random_state(lanes, seed=columns)
    source = Xorwow(state)
    bits = psum_random_bits(source, columns, 6)
    assert (bits.dtype, bits.shape) == (np.uint16, (columns, 6))
    words, after = scalar_numbers(state, 6)
    for c, n in np.ndindex(columns, 6):
        assert bits[c, n] == column_bits(words[c // 8, :, n].tolist(), c)
    assert np.array_equal(source.state, after)  # every lane steps, used or not


def test_half_words_by_hand():
    words = (0x11110000, 0x33332222, 0x55554444, 0x77776666)
    assert [column_bits(words, c) for c in (0, 1, 2, 3, 6, 7, 8, 15)] == [
        0x0000, 0x1111, 0x2222, 0x3333, 0x6666, 0x7777, 0x0000, 0x7777,
    ]  # fmt: skip


def test_rand2():
    state, count = random_state(3), 40
    low, high = np.array([[0], [-3], [-1e30]], np.float32), np.array([[1], [5], [-1e-30]], np.float32)
    got = rand2(Xorwow(state), count, low, high)
    rounded = rand2(Xorwow(state), count, low, high, dtype=ml_dtypes.bfloat16)
    words = Xorwow(state).elements(count)
    for lane, j in np.ndindex(3, count):
        code = uniform(int(words[lane, j]), *(int(each.view(np.uint32)[lane, 0]) for each in (low, high)))
        assert got.view(np.uint32)[lane, j] == code
        assert codes_of(rounded)[lane, j] == convert(code, FP32, BF16)
    unit = rand2(Xorwow(random_state(128)), 1000, 0.0, 1.0)
    assert unit.min() >= 0
    assert unit.max() < 1
    assert abs(unit.mean() - 0.5) < 0.005  # 128,000 numbers: six standard deviations
    assert uniform(0, 0x3F800000, 0x40000000) == 0x3F800000
    assert uniform(0xFFFFFFFF, 0x3F800000, 0x40000000) == 0x40000000  # 2 - 2**-24 is a tie, which goes to 2


BAD_XORWOW = [
    (lambda s: Xorwow(s.astype(np.int64)), TypeError, "state must be uint32, not int64"),
    (lambda s: Xorwow(s[0]), ValueError, r"state must have shape \[lanes, 4, 6\] or \[lanes, 1, 6\] with 1 to 128 lanes, not \(4, 6\)"),
    (lambda s: Xorwow(s[:0]), ValueError, r"state must have shape \[lanes, 4, 6\] or \[lanes, 1, 6\] with 1 to 128 lanes, not \(0,"),
    (lambda s: Xorwow(np.zeros((129, 4, 6), np.uint32)), ValueError, r"state must have shape \[lanes, 4, 6\] or \[lanes, 1, 6\] with 1 to 128 lanes, not \(129,"),
    (lambda s: Xorwow(s).next(1.0), TypeError, "n must be an integer, not 1.0"),
    (lambda s: Xorwow(s).next(-1), ValueError, "n must be 0 or more, not -1"),
    (lambda s: Xorwow(s).elements(-1), ValueError, "count must be 0 or more, not -1"),
    (lambda s: psum_random_bits(s, 8, 1), TypeError, "source must be a Xorwow, not a ndarray"),
    (lambda s: psum_random_bits(Xorwow(s), 17, 1), ValueError, "source must have at least 3 lanes for 17 columns, not 2"),
    (lambda s: psum_random_bits(Xorwow(s[:, :1]), 8, 1), ValueError, "source must have 4 states a lane, not 1"),
    (lambda s: Xorwow(s[:, :2]), ValueError, r"state must have shape \[lanes, 4, 6\] or \[lanes, 1, 6\] with 1 to 128 lanes, not \(2, 2,"),
    (lambda s: psum_random_bits(Xorwow(s), 129, 1), ValueError, "columns must be 1 to 128, not 129"),
    (lambda s: psum_random_bits(Xorwow(s), 8, -1), ValueError, "writes must be 0 or more, not -1"),
    (lambda s: rand2(None, 1, 0.0, 1.0), TypeError, "source must be a Xorwow, not None"),
    (lambda s: rand2(Xorwow(s), 1, None, 1.0), TypeError, r"low must be a number, or an array \[P, 1\], not None"),
    (lambda s: rand2(Xorwow(s), 1, 0.0, np.ones((3, 1), np.float32)), ValueError, r"high must have shape \(2, 1\) or a number, not \(3, 1\)"),
    (lambda s: rand2(Xorwow(s), 1, 0.0, 1.0, dtype=np.uint64), TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3, float8_e4m3fn,"),
    (lambda s: rand2(Xorwow(s), 1, 1.0, 1.0), ValueError, "low must be below high in every partition"),
    (lambda s: rand2(Xorwow(s), 1, np.nan, 1.0), ValueError, "low must be below high in every partition"),
    (lambda s: xorwow_step((0,) * 5), ValueError, "state must be 6 words of 32 bits, not .*"),
    (lambda s: xorwow_step((0,) * 5 + (1 << 32,)), ValueError, r"state must be 6 words of 32 bits, not \(0, 0, 0, 0, 0, 4294967296\)"),
    (lambda s: xorwow_lane([(0,) * 6] * 3), ValueError, "states must have 4 elements, not 3"),
]  # fmt: skip


def test_arguments_of_xorwow(subtests):
    for call, error, sentence in BAD_XORWOW:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call(random_state(2))
