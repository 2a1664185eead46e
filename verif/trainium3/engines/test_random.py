"""rng, seeded states and dropout against the scalar tier, and their rules."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import Xorwow, dropout, rand2, rng, seeded_state
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import dropout_element, rng_element, seed_word
from bitpath.golden.trainium3.exact.conversions import to_fp32
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

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


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
