"""max8, nc_find_index8 and nc_match_replace8 against the scalar tier, and the examples of their rules."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import max8, nc_find_index8, nc_match_replace8
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import find_index8_row, match_replace8_row, max8_row
from bitpath.verif.trainium3.engines.codes import SPECIALS, bits, destination, draw, tile

NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
INDICES = (np.uint16, np.uint32)
INF, NAN = np.inf, np.nan


def rows(rng, name):
    """Rows of all kinds of numbers, of few different ones, of one, and of zeros."""
    data = draw(rng, name, (12, 14))
    data[4:8] = data[4:8, rng.integers(0, 4, 14)]
    data[8:10] = data[8:10, :1]
    data[10:] = np.array([0, 1 << FORMATS[name].width - 1, 1])[rng.integers(0, 3, (2, 14))]
    return data


@pytest.mark.parametrize("name", FLAT)
def test_max8(name):
    rng = np.random.default_rng(FLAT.index(name))
    data, result = rows(rng, name), NAMES[int(rng.integers(13))]
    for size in (8, 9, 14):
        got = bits(max8(tile(name, data[:, :size]), dtype=destination(result)))
        assert got == [max8_row(row, name, result) for row in data[:, :size].tolist()]


@pytest.mark.parametrize("name", FLAT)
def test_find_and_replace(name):
    """Values out of the row with repeats, and others."""
    rng = np.random.default_rng([FLAT.index(name), 1])
    data, result, other = rows(rng, name), NAMES[int(rng.integers(13))], FLAT[int(rng.integers(12))]
    immediate = SPECIALS[FLAT.index(name) % len(SPECIALS)]
    for values_name in (name, other):
        values = draw(rng, values_name, (12, 8))
        if values_name == name:
            values[:, :6] = data[:, rng.integers(0, 14, 6)]
        tiles = tile(name, data), tile(values_name, values)
        for dtype in INDICES:
            none = np.iinfo(dtype).max
            found = nc_find_index8(*tiles, dtype=dtype)
            number = tile("fp32", immediate)[()]
            got, replaced = nc_match_replace8(*tiles, number, dtype=destination(result), index_dtype=dtype)
            assert found.dtype == replaced.dtype == dtype
            for p, (row, wanted) in enumerate(zip(data.tolist(), values.tolist(), strict=True)):
                indices = find_index8_row(row, name, wanted, values_name)
                assert found[p].tolist() == [none if i is None else i for i in indices]
                codes, indices = match_replace8_row(row, name, wanted, values_name, immediate, result)
                assert bits(got)[p] == codes
                assert replaced[p].tolist() == [none if i is None else i for i in indices]


def test_worked_examples():
    """Repeats in both orders."""
    data = np.array([[1, 2, 3, 4, *[8] * 7]], np.int8)
    vals = np.array([[3, *[8] * 7]], np.float32)
    assert nc_match_replace8(data, vals, 0.0)[1].tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
    assert nc_find_index8(data, vals).tolist() == [[2, 4, 5, 6, 7, 8, 9, 10]]
    replaced, _ = nc_match_replace8(data, max8(data), -1.5, dtype=ml_dtypes.bfloat16)
    assert replaced.tolist() == [[1, 2, 3, *[-1.5] * 8]]
    # Two are left for three values; the immediate is not found again.
    vals = np.array([[4, 4, 4, 9, 9, 9, 9, 9]], np.int8)
    row = np.array([[4, 0, 4, 0, 0, 0, 0, 0]], np.int8)
    none = (1 << 16) - 1
    assert nc_find_index8(row, vals, dtype=np.uint16).tolist() == [[0, 2, none, *[none] * 5]]
    got, indices = nc_match_replace8(row, vals, 9.0, index_dtype=np.uint16)
    assert got.tolist() == [[9, 0, 9, 0, 0, 0, 0, 0]]
    assert indices.tolist() == [[none, 2, 0, *[none] * 5]]


def test_order_of_specials():
    row = np.array([[0.0, -1, NAN, -0.0, INF, 0.0, -INF, 2, NAN, -0.0]], np.float32)
    assert bits(max8(row)) == [[0x7FC00000, 0x7FC00000, 0x7F800000, 0x40000000, 0, 0, 1 << 31, 1 << 31]]
    none = (1 << 32) - 1
    assert nc_find_index8(row, max8(row)).tolist() == [[none, none, 4, 7, 0, 3, 5, 9]]


def test_long_rows():
    """Eight passes over the largest rows: all of the largest numbers are found and replaced."""
    data = np.random.default_rng(8).permutation(16384).astype(np.float32)[np.newaxis] * np.ones((128, 1), np.float32)
    largest = max8(data)
    assert (largest == np.arange(16383, 16375, -1)).all()
    places = nc_find_index8(data, largest, dtype=np.uint16)
    assert (np.take_along_axis(data, places.astype(int), axis=1) == largest).all()
    rest, indices = nc_match_replace8(data, largest, -1.0)
    assert (indices == places).all()
    assert (max8(rest) == np.arange(16375, 16367, -1)).all()


X = np.ones((2, 8), np.float32)
BAD = [
    (lambda: max8(X[:, :7]), ValueError, "src must have 8 to 16384 elements for each partition, not 7"),
    (lambda: max8(np.ones((1, 16385), np.int8)), ValueError, "src must have 8 to 16384 elements for each partition, not 16385"),
    (lambda: max8(X.astype(float)), TypeError, "src must be float32,"),
    (lambda: max8(X, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: nc_find_index8(X[:, :7], X), ValueError, "data must have 8 to 16384 elements for each partition, not 7"),
    (lambda: nc_find_index8(X, X[:, :7]), ValueError, r"vals must have shape \(2, 8\), not \(2, 7\)"),
    (lambda: nc_find_index8(X, X[:1]), ValueError, r"vals must have shape \(2, 8\), not \(1, 8\)"),
    (lambda: nc_find_index8(X, X, dtype=np.int32), TypeError, "dtype must be uint16 or uint32, not int32"),
    (lambda: nc_match_replace8(X, X, None), TypeError, "imm must be a number, not None"),
    (lambda: nc_match_replace8(X, X, 0.0, index_dtype=np.uint8), TypeError, "index_dtype must be uint16 or uint32, not uint8"),
    (lambda: nc_match_replace8(np.ones((2, 16385), np.int8), X, 0.0), ValueError, "data must have 1 to 16384 elements for each partition, not 16385"),
    (lambda: max8_row([1] * 7, "bf16"), ValueError, "row must have 8 elements, not 7"),
    (lambda: find_index8_row([1], "bf16", [1] * 7, "bf16"), ValueError, "values must have 8 elements, not 7"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
