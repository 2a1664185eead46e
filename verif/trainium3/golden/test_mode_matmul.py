"""Products in TensorE's modes have the bits of their instructions: batches, one row, a second use, numerics, mistakes."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import E4M3FN, E5M2
from bitpath.golden.trainium3 import matmul_mode, mode_program, multiply_mode, nc_matmul, prepare_mode, run_mode_program
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_DOUBLE_ROW
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS
from bitpath.golden.trainium3.matmul import nc_matmul_loop
from bitpath.golden.trainium3.tensor.modes import DENSE, MODES


def matrices(rng, m, k, n, batch=3):
    """Three pairs: ordinary ones, ones of all magnitudes, and ones with zeros, infinities and NaN."""
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((batch, m, k), (batch, k, n)))
    for each in (a, b):
        each[1] *= np.exp2(rng.integers(-60, 40, each[1].shape)).astype(np.float32)
        each[2][rng.random(each[2].shape) < 0.3] = 0
        each[2].flat[:7] = [np.inf, -0.0, np.nan, 0, 1e-40, -np.inf, 3e38]
    return a, b


@pytest.mark.parametrize("mode", MODES)
def test_the_bits_of_the_instructions(mode):
    rng = np.random.default_rng(MODES.index(mode))
    a, b = matrices(rng, 11, 600, 70)
    right = prepare_mode(b, mode=mode)
    for rows in (1, 11):
        got = multiply_mode(a[:, :rows], right)
        assert got.tobytes() == multiply_mode(a[:, :rows], right).tobytes()
        for own, x, y in zip(got, a[:, :rows], b, strict=True):
            expected = run_mode_program(mode_program(x, y, mode))[:rows, :70]
            assert own.tobytes() == expected.tobytes() == matmul_mode(x, y, mode=mode).tobytes()


@pytest.mark.parametrize("mode", ["bf16", "tf32"])
def test_other_numerics(mode):
    """Products rounded to BF16, one instruction of nc_matmul after the other."""
    numerics = TRAINIUM2_BF16_PRODUCTS.numerics
    a, b = (each[0] for each in matrices(np.random.default_rng(20), 5, 160, 9))
    got = matmul_mode(a, b, mode=mode, numerics=numerics)
    x, y, psum = a.T.astype(DENSE[mode]), b.astype(DENSE[mode]), None
    for part, flag in ((slice(0, 128), 1), (slice(128, 160), 2)):
        rounded = {"stationary_tf32": True, "moving_tf32": True} if mode == "tf32" else {}
        psum = nc_matmul(x[part], y[part], dst=psum, psum_accumulate_flag=flag, numerics=numerics, **rounded)
    assert got.tobytes() == psum.tobytes()
    assert got.tobytes() != matmul_mode(a, b, mode=mode).tobytes()


def test_the_cheap_step_is_taken_where_it_is_exact():
    """BF16 of ordinary numbers; products of FP32 have too many bits."""
    choose = nc_matmul_loop.choose_steps.py_func
    rng = np.random.default_rng(21)
    for mode, cheap in (("bf16", True), ("fp32", False)):
        sides = [rng.standard_normal((1, 8, 128)).astype(np.float32) for _ in range(2)]
        if mode == "bf16":
            sides = [(each.view(np.uint32) & 0xFFFF0000).view(np.float32) for each in sides]
        spans = [each[0, 0] for side in sides for each in nc_matmul_loop.packed(side, 8)[1:]]
        steps = np.empty(128, np.int64)
        choose(*spans, 0, False, steps)
        assert (steps == nc_matmul_loop.PLAIN).all() == cheap


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("small", [0.0, 2.0**-100])
def test_what_float64_loses_decides_a_tie(sign, small):
    """1 + 2**-23, then 2**-24 - 2**-70: float64 rounds the sum to a midpoint of FP32, whose even neighbour is above it.

    A product below FP32's smallest number makes the row take the odd step at once.
    """
    u = 2.0**-23
    a = np.array([[1, 1 + u, small]], np.float32)
    b = np.array([[1 + u], [2.0**-24 * (1 - u)], [small]], np.float32)
    # Two more columns are not in doubt.
    b = np.hstack([b, 2 * b * [[1], [0], [1]], b * [[1], [-1], [1]]]).astype(np.float32)
    got = matmul_mode(np.float32(sign) * a, b, mode="fp32")
    assert got.tolist() == [[sign * (1 + u), sign * 2 * (1 + u), sign * (1 + u)]]


def test_rows_in_blocks_and_their_progress(monkeypatch):
    a, b = (each[0] for each in matrices(np.random.default_rng(22), 300, 70, 33))
    whole, shown = matmul_mode(a, b, mode="bf16"), []
    monkeypatch.setitem(multiply_mode.__wrapped__.__globals__, "ROWS", 128)
    parts = matmul_mode(a, b, mode="bf16", progress=lambda *share: shown.append(share))
    assert parts.tobytes() == whole.tobytes()
    assert shown == [(128, 300), (256, 300), (300, 300)]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"mode": "mx"}, ValueError, "mode must be 'bf16', .* or 'sparse_1_2', not 'mx'"),
        ({"mode": "bf16", "b": np.ones((4, 2), np.float32)}, ValueError, "b must have three dimensions of at least 1"),
        ({"mode": "bf16", "numerics": TRAINIUM3_DOUBLE_ROW.numerics}, TypeError, "numerics must be a MatmulNumerics"),
        (
            {
                "mode": "fp8_double_row",
                "numerics": replace(TRAINIUM3_DOUBLE_ROW.numerics, element_formats=(E4M3FN, E5M2)),
            },
            ValueError,
            "numerics must have E4M3 in double row, not E4M3FN, E5M2",
        ),
    ],
)
def test_errors(given, error, says):
    with pytest.raises(error, match=says):
        prepare_mode(**{"b": np.ones((2, 4, 3), np.float32)} | given)
    with pytest.raises(ValueError, match=r"^a must have shape \[2, M, 4\] for this right operand, not \(1, 2, 4\)$"):
        multiply_mode(np.ones((1, 2, 4), np.float32), prepare_mode(np.ones((2, 4, 3), np.float32), mode="bf16"))
