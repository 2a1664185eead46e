"""XORWOW: published numbers, the scalar tier, and the users of the numbers."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.scalar.fp32 import convert
from bitpath.golden.trainium3 import Xorwow, psum_random_bits, rand2
from bitpath.golden.trainium3.declarations.vector import XORWOW_INCREMENT
from bitpath.golden.trainium3.exact import column_bits, uniform, xorwow_lane, xorwow_step

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


BAD = [
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


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call(random_state(2))
