"""Matrices in TensorE's modes beside quad MX: each against instructions of slices that are written out."""

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E4M3, FP16, FP32
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.tensor.modes import DOUBLE_ROW, MODES, SPARSE, pruned

NARROW = {
    "bf16": DTYPES[BF16],
    "fp16": DTYPES[FP16],
    "tf32": DTYPES[FP32],
    "fp32": DTYPES[FP32],
    DOUBLE_ROW: DTYPES[E4M3],
}


def matrices(m, k, n, seed=5):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))


def same(x, y):
    return x.dtype == y.dtype and np.array_equal(x.view(np.uint32), y.view(np.uint32))


@pytest.mark.parametrize("mode", ["bf16", "fp16", "tf32", "fp32"])
def test_parts_of_k_accumulate_in_psum(mode):
    """K of 300 is 128, 128 and 44; 130 rows are two instructions, 520 columns two."""
    a, b = matrices(130, 300, 520)
    program = trainium3.mode_program(a, b, mode)
    assert [each.psum_accumulate_flag for each in program] == 4 * [1, 0, 2]
    tf32 = {"stationary_tf32": mode == "tf32", "moving_tf32": mode == "tf32"}
    x, y = (trainium3.cast(each, NARROW[mode]) for each in (np.ascontiguousarray(a.T), b))
    total = None
    for k in (slice(0, 128), slice(128, 256), slice(256, 300)):
        part = trainium3.nc_matmul(x[k, 128:], np.ascontiguousarray(y[k, 512:]), **tf32)
        total = part if total is None else fp32.add(total, part)
    assert same(np.ascontiguousarray(trainium3.run_mode_program(program)[128:, 512:]), total)


def test_double_row_takes_256_places_of_k():
    """The second half of an instruction's K is its second row; the last instruction has a quadrant of 64 places."""
    a, b = matrices(3, 259, 5)
    program = trainium3.mode_program(a, b, DOUBLE_ROW)
    assert [each.stationary.shape for each in program] == [(128, 2, 3), (32, 2, 3)]
    x, y = (trainium3.cast(each, NARROW[DOUBLE_ROW]) for each in (np.ascontiguousarray(a.T), b))
    assert np.array_equal(program[0].moving[7].view(np.uint8), y[[7, 135]].view(np.uint8))
    last = program[1].stationary.view(np.uint8)
    assert np.array_equal(last[:3, 0], x[256:].view(np.uint8))
    assert not last[3:].any()
    assert not last[:, 1].any()
    parts = [trainium3.nc_matmul(each.stationary, each.moving, perf_mode="double_row") for each in program]
    assert same(trainium3.run_mode_program(program), fp32.add(*parts))


@pytest.mark.parametrize("mode", SPARSE)
def test_a_sparse_product_is_the_dense_one_of_pruned_weights(mode):
    """A group of K keeps its largest magnitudes; K of 100 and N of 6 are padded."""
    a, b = matrices(5, 100, 6)
    pattern = trainium3_pattern(mode)
    program = trainium3.mode_program(a, b, mode)
    kept, group = pattern
    once = pruned(b, mode)
    weights = np.pad(trainium3.cast(b, DTYPES[BF16]).astype(np.float32), ((0, -100 % group), (0, 0)))
    grouped = weights.reshape(-1, group, 6)
    order = np.argsort(-np.abs(grouped), axis=1, kind="stable")[:, kept:]
    np.put_along_axis(grouped, order, 0, axis=1)
    x = np.pad(trainium3.cast(np.ascontiguousarray(a.T), DTYPES[BF16]), ((0, -100 % group), (0, 0)))
    assert same(once, weights[:100])
    weights = trainium3.cast(weights, DTYPES[BF16])
    assert same(np.ascontiguousarray(trainium3.run_mode_program(program)[:, :6]), trainium3.nc_matmul(x, weights))


@pytest.mark.parametrize("mode", SPARSE)
def test_pruning_keeps_groups_whole(mode):
    """K of 300 is pruned as each of its groups alone."""
    (b, _), group = matrices(300, 3, 1), trainium3_pattern(mode)[1]
    alone = [pruned(b[first : first + group], mode) for first in range(0, 300, group)]
    assert same(pruned(b, mode), np.concatenate(alone))


def trainium3_pattern(mode):
    return tuple(int(number) for number in SPARSE[mode].split(":"))


@pytest.mark.parametrize("mode", MODES)
def test_a_single_element(mode):
    a, b = np.full((1, 1), 1.5, np.float32), np.full((1, 1), -2.0, np.float32)
    assert trainium3.run_mode_program(trainium3.mode_program(a, b, mode))[0, 0] == -3


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"mode": "fp9"}, ValueError, "mode must be .bf16., .fp16., .tf32., .fp32."),
        ({"a": np.ones((2, 3), np.float64)}, TypeError, "a must be float32, not float64"),
        ({"b": np.ones((4, 2), np.float32)}, ValueError, "b must have 3 rows, as many as a has columns, not 4"),
        ({"a": np.ones(3, np.float32)}, ValueError, r"a must have shape \[M, K\], not \(3,\)"),
        ({"b": np.ones(3, np.float32)}, ValueError, r"b must have shape \[K, N\], not \(3,\)"),
    ],
)
def test_mistakes(change, error, sentence):
    given = {"a": np.ones((2, 3), np.float32), "b": np.ones((3, 2), np.float32), "mode": "bf16"} | change
    with pytest.raises(error, match=sentence):
        trainium3.mode_program(**given)


def test_mistakes_beside_a_program():
    with pytest.raises(ValueError, match=r"^program must have at least 1 element, not 0$"):
        trainium3.run_mode_program([])
    with pytest.raises(ValueError, match=r"^matrix must have shape \[K, N\], not \(4,\)$"):
        pruned(np.ones(4, np.float32), "sparse_2_4")
