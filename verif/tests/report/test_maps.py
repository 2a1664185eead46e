"""Maps of a result hold the counts, distances and errors of its blocks."""

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.sim.flows.outcome import CELLS, ERROR_CELLS, result_map
from bitpath.verif.kit.values import ulp_distance

SHAPES = ((1, 1), (64, 64), (65, 3), (128, 512), (300, 1000))


def matrix(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def blocks(array, block):
    """Return the blocks of a matrix by their place, one after the other."""
    height, width = block
    return [
        [array[m : m + height, n : n + width] for n in range(0, array.shape[1], width)]
        for m in range(0, array.shape[0], height)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_mismatches_and_distances_of_each_block(shape):
    golden, rng = matrix(shape), np.random.default_rng(2)
    rtl = golden.copy()
    wrong = rng.random(shape) < 0.01
    wrong[-1, -1] = True
    rtl.view(np.uint32)[wrong] ^= rng.integers(1, 1 << 31, wrong.sum(), np.uint32)
    found = result_map(rtl, golden, rtl, golden.astype(np.float64))
    assert set(found) == {"block", "mismatches", "ulp"}
    assert all(side & (side - 1) == 0 for side in found["block"])
    assert max(len(found["ulp"]), len(found["ulp"][0])) <= CELLS
    assert found["mismatches"] == [[int(each.sum()) for each in row] for row in blocks(wrong, found["block"])]
    pairs = np.stack([rtl.view(np.uint32), golden.view(np.uint32)], axis=-1)
    for row, cells in zip(blocks(pairs, found["block"]), found["ulp"], strict=True):
        for block, largest in zip(row, cells, strict=True):
            distances = [ulp_distance(FP32, int(a), int(b)) for a, b in block.reshape(-1, 2) if a != b]
            assert largest == max((each for each in distances if each is not None), default=None)


@pytest.mark.parametrize(("wrong", "most"), [(True, 64), (False, 32)])
def test_a_side_of_one_more_has_cells_of_two(wrong, most):
    golden = matrix((most, most + 1))
    rtl = golden + np.float32(wrong)
    assert result_map(rtl, golden, rtl, golden.astype(np.float64))["block"] == [1, 2]


def test_distances_of_zeros_nan_and_both_signs():
    golden = np.array([[0.0, 1.0, np.nan, 1e-45, 1.0]], np.float32)
    rtl = np.array([[-0.0, np.nan, 1.0, -1e-45, 1.0]], np.float32)
    found = result_map(rtl, golden, rtl, golden.astype(np.float64))
    assert found == {"block": [1, 1], "mismatches": [[1, 1, 1, 1, 0]], "ulp": [[0, None, None, 2, None]]}


def test_bytes_have_no_distance():
    golden = np.zeros((2, 3), np.uint8)
    rtl = golden + np.array([[0, 1, 0]], np.uint8)
    assert result_map(rtl, golden, rtl, rtl) == {"block": [1, 1], "mismatches": [[0, 1, 0], [0, 1, 0]]}


@pytest.mark.parametrize("shape", SHAPES)
def test_errors_where_all_bits_agree(shape):
    result, reference = matrix(shape), matrix(shape, 1).astype(np.float64)
    found = result_map(result, result.copy(), result, reference)
    assert set(found) == {"block", "error"}
    assert max(len(found["error"]), len(found["error"][0])) <= ERROR_CELLS
    relative = np.abs(result - reference) / np.sqrt(np.mean(reference**2))
    expected = [[each.max() for each in row] for row in blocks(relative, found["block"])]
    np.testing.assert_allclose(found["error"], expected, rtol=0.05)


def test_numbers_that_are_not_finite_have_no_error():
    result = np.array([[np.inf, 1.0]], np.float32)
    assert result_map(result, result, result, np.array([[2.0, 2.0]]))["error"] == [[None, 0.5]]
    for reference in (np.array([[np.inf, 1.0]]), np.zeros((1, 2))):
        assert result_map(result, result, result, reference) == {}
