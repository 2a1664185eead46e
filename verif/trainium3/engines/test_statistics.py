"""bn_stats and bn_aggr against the scalar tier, and against the moments that they approximate."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import bn_aggr, bn_stats
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import bn_aggr_row, bn_stats_row
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
NAN = 0x7FC00000


@pytest.mark.parametrize("size", [1, 2, 3, 6, 15])
@pytest.mark.parametrize("name", FLAT)
def test_bn_stats(name, size):
    """Rows of all kinds of numbers, and rows that repeat one."""
    rng = np.random.default_rng([FLAT.index(name), size])
    data, result = draw(rng, name, (16, size)), NAMES[int(rng.integers(13))]
    data[8:] = draw(rng, name, (8, size)) if "int" in name else data[8:, :1]
    got = bits(bn_stats(tile(name, data), dtype=destination(result)))
    assert got == [bn_stats_row(row, name, result) for row in data.tolist()]


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("name", FLAT)
def test_bn_aggr(name, parts):
    rng = np.random.default_rng([FLAT.index(name), parts])
    data, result = draw(rng, name, (16, 3 * parts)), NAMES[int(rng.integers(13))]
    got = bits(bn_aggr(tile(name, data), dtype=destination(result)))
    assert got == [bn_aggr_row(row, name, result) for row in data.tolist()]


def test_moments_of_rows():
    """1000 elements in two instructions, within FP32's accuracy of the mean and variance; counts may differ."""
    x = np.random.default_rng(3).normal(5, 2, (128, 1000)).astype(np.float32)
    triples = np.hstack([bn_stats(x[:, :511]), bn_stats(x[:, 511:])])
    assert triples[0, ::3].tolist() == [256, 255, 245, 244]
    exact = x.astype(np.float64)
    got = bn_aggr(triples)
    assert np.allclose(got[:, 0], exact.mean(axis=1), rtol=1e-6)
    assert np.allclose(got[:, 1], exact.var(axis=1), rtol=1e-5)


def test_statistics_by_hand():
    assert bn_stats(np.array([[1, 10, 3, 30, 5]], np.int8)).tolist() == [[3, 3, 8, 2, 20, 200]]
    assert bn_stats(np.array([[7.0]], np.float32)).tolist() == [[1, 7, 0, 0, 0, 0]]
    assert bn_aggr(np.array([[2, 1, 4, 2, 5, 4]], np.float32)).tolist() == [[3, 6]]
    assert bn_aggr(np.array([[1, 7, 0, 0, 0, 0]], ml_dtypes.bfloat16)).tolist() == [[7, 0]]
    assert bits(bn_aggr(np.zeros((1, 3), np.float32))) == [[NAN, NAN]]
    # The mean of three equal numbers is not always the number: the sum is multiplied by FP32's 1/3.
    third = bn_stats(np.full((1, 5), 5.0, np.float32))
    assert third[0, 1] == np.float32(15) * np.float32(1 / 3)


X = np.ones((2, 6), np.float32)
BAD = [
    (lambda: bn_stats(np.ones((1, 513), np.float32)), ValueError, "data must have at most 512 elements for each partition, not 513"),
    (lambda: bn_stats(X.astype(float)), TypeError, "data must be float32,"),
    (lambda: bn_stats(X, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: bn_aggr(X[:, :4]), ValueError, "data must have a multiple of 3 elements for each partition, not 4"),
    (lambda: bn_aggr(X, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: bn_stats_row([], "bf16"), ValueError, "row must have at least 1 element"),
    (lambda: bn_aggr_row([], "bf16"), ValueError, "row must have at least 1 element"),
    (lambda: bn_aggr_row([1] * 4, "bf16"), ValueError, "row must have 3 elements, a multiple of 3, not 4"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
