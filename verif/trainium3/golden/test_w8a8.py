"""W8A8: outputs against the exact twins composed, options, prepared weights, and mistakes."""

from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.exact import trace_dot_product
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, FP32
from bitpath.golden.trainium3 import (
    linear_w8a8,
    multiply_w8a8,
    prepare_w8a8,
    quantize_channels,
    rmsnorm_quant,
    unpack_rows,
)
from bitpath.golden.trainium3.core.rmsnorm import NUMERICS
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_DOUBLE_ROW
from bitpath.golden.trainium3.declarations.vector import (
    TRAINIUM2_BF16_PRODUCTS,
    TRAINIUM3_MATMUL,
    DtypeMode,
    EpsPlacement,
    SumOrder,
)
from bitpath.golden.trainium3.exact import (
    dequantize_sum,
    load_row,
    multiply_add,
    psum_write,
    quantize_channel,
    quantize_row,
    rmsnorm_row,
)

FORMATS = {"non_ocp": E4M3, "ocp": E4M3FN}


def layer(rows, k, n, seed=0):
    """Rows, one of zeros; weights, a column of zeros and one of small numbers; gamma."""
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal((rows, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32) * 0.05
    x[1], w[:, 1], w[:, 2] = 0, 0, w[:, 2] * 2.0**-20
    return x, w, (1 + rng.standard_normal(k) / 8).astype(ml_dtypes.bfloat16)


def exact_row(x, gamma, dtype_mode):
    """The codes and the scale of a row by the exact twin."""
    numerics, codes = NUMERICS[DtypeMode(dtype_mode)], x.view(np.uint32).tolist()
    if gamma is None:
        return quantize_row(numerics, load_row(numerics, codes, FP32))
    options = {"eps": Fraction(1, 10**6), "eps_placement": EpsPlacement.KERNEL, "sum_order": SumOrder.SERIAL}
    return quantize_row(numerics, rmsnorm_row(numerics, codes, codes_of(gamma).tolist(), FP32, BF16, **options))


def exact_sum(x, y, fmt, double_row):
    """The code of PSUM after the instructions of a dot product of codes."""
    psum, depth = None, 256 if double_row else 128
    for start in range(0, len(x), depth):
        own = [[*side[start : start + depth]] for side in (x, y)]
        own = [side + [0] * (-len(side) % (depth // 4)) for side in own]
        total = 0
        if double_row:
            half, numerics = len(own[0]) // 2, TRAINIUM3_DOUBLE_ROW.numerics
            steps = ([[side[p], side[half + p]] for p in range(half)] for side in own)
            total = trace_dot_product(numerics, next(steps), fmt, next(steps), fmt, [127] * half, [127] * half, 0)[
                -1
            ].result
        else:
            for a, b in zip(*own, strict=True):
                total = multiply_add(TRAINIUM3_MATMUL.numerics, a, fmt, b, fmt, total)
        psum = psum_write(total, psum, FP32)
    return psum


@pytest.mark.parametrize(
    ("dtype_mode", "normalised", "double_row", "dtype"),
    [
        ("non_ocp", True, False, BF16),
        ("ocp", True, True, BF16),
        ("non_ocp", False, True, FP32),
        ("ocp", False, False, FP32),
    ],
)
def test_outputs_are_the_exact_twins(dtype_mode, normalised, double_row, dtype):
    """K of 290 takes whole tiles and a rest, whose last quadrant is filled with zeros."""
    x, w, gamma = layer(2, 290, 7, seed=1)
    gamma, fmt = gamma if normalised else None, FORMATS[dtype_mode]
    right = prepare_w8a8(w, dtype_mode=dtype_mode, double_row=double_row)
    got = linear_w8a8(x, right, gamma=gamma, dtype=DTYPES[dtype])
    assert (got.shape, got.dtype) == ((2, 7), DTYPES[dtype])
    for m, n in ((0, 1), (1, 0), (0, 2), (0, 6)):
        row, row_scale = exact_row(x[m], gamma, dtype_mode)
        column, scale = quantize_channel(NUMERICS[DtypeMode(dtype_mode)], w[:, n].view(np.uint32).tolist())
        total = exact_sum(row, column, fmt, double_row)
        assert codes_of(got)[m, n] == dequantize_sum(total, scale, row_scale, dtype), (m, n)


@pytest.mark.parametrize("dtype_mode", FORMATS)
def test_channels_are_the_exact_twins(dtype_mode):
    _, w, _ = layer(2, 40, 9, seed=2)
    w[:, 3] *= np.exp2(np.arange(40) - 20).astype(np.float32)
    codes, scales = quantize_channels(w, dtype_mode=dtype_mode)
    assert codes.dtype == DTYPES[FORMATS[dtype_mode]]
    for n in range(9):
        column = quantize_channel(NUMERICS[DtypeMode(dtype_mode)], w[:, n].view(np.uint32).tolist())
        assert (codes_of(codes)[:, n].tolist(), scales.view(np.uint32)[n]) == column


def test_rows_and_leading_axes():
    """One row, many, and axes in front give the same bits; so do weights that are converted at the call."""
    x, w, gamma = layer(6, 200, 70, seed=3)
    right = prepare_w8a8(w)
    whole = linear_w8a8(x, right, gamma=gamma)
    assert whole.tobytes() == linear_w8a8(x, w, gamma=gamma).tobytes()
    assert whole.tobytes() == linear_w8a8(x.reshape(2, 3, 200), right, gamma=gamma.astype(np.float32)).tobytes()
    assert whole.tobytes() == b"".join(linear_w8a8(x[m : m + 1], right, gamma=gamma).tobytes() for m in range(6))
    assert whole[0].tobytes() == linear_w8a8(x[0], right, gamma=gamma).tobytes()


def test_rows_that_are_quantised_already():
    """One row's quantisation serves several products, in the normalisation's other options too."""
    x, w, gamma = layer(5, 96, 11, seed=4)
    right, options = prepare_w8a8(w, dtype_mode="ocp"), {"eps": 1e-3, "eps_placement": "golden", "lower_bound": 2.0}
    rows = rmsnorm_quant(x, gamma, dtype_mode="ocp", **options)
    got = multiply_w8a8(*unpack_rows(rows, dtype=ml_dtypes.float8_e4m3fn), right)
    assert got.tobytes() == linear_w8a8(x, right, gamma=gamma, **options).tobytes()


def test_numerics_are_used():
    x, w, _ = layer(4, 96, 11, seed=5)
    reference = linear_w8a8(x, w, dtype=np.float32)
    narrow = replace(TRAINIUM3_MATMUL.numerics, accumulator=BF16)
    assert linear_w8a8(x, w, numerics=narrow, dtype=np.float32).tobytes() != reference.tobytes()
    shown = []
    assert (
        linear_w8a8(x, w, progress=lambda *share: shown.append(share), dtype=np.float32).tobytes()
        == reference.tobytes()
    )
    assert shown == [(1, 1)]


W = np.ones((4, 3), np.float32)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (
            {"x": np.ones((2, 5), np.float32)},
            ValueError,
            r"x must have shape \[..., 4\] for these weights, not \(2, 5\)",
        ),
        ({"x": np.ones((2, 4))}, TypeError, "x must be bfloat16, float16 or float32, not float64"),
        ({"w": np.full((4, 3), np.inf, np.float32)}, ValueError, "w must hold finite numbers, not infinity or NaN"),
        ({"w": W[0]}, ValueError, r"w must have two dimensions of at least 1, not shape \(3,\)"),
        ({"dtype": np.float16}, TypeError, "dtype must be bfloat16 or float32, not float16"),
        ({"dtype_mode": "fp8"}, ValueError, "dtype_mode must be 'non_ocp' or 'ocp', not 'fp8'"),
        ({"gamma": np.ones(3, np.float32)}, ValueError, r"gamma must have shape \(4,\) or \(1, 4\), not \(3,\)"),
        ({"w": prepare_w8a8(W), "double_row": True}, ValueError, "double_row must not be given with prepared weights"),
        (
            {"dtype_mode": "ocp", "numerics": TRAINIUM2_BF16_PRODUCTS.numerics},
            ValueError,
            "stationary is float8_e4m3fn",
        ),
    ],
)
def test_errors(given, error, says):
    with pytest.raises(error, match=says):
        linear_w8a8(**{"x": np.ones((2, 4), np.float32), "w": W} | given)


def test_a_layer_is_near_to_float64():
    """The SQNR in dB of both FP8 formats, whose codes have four bits."""
    x, w, gamma = layer(16, 256, 64, seed=6)
    exact = (x / np.sqrt((x.astype(float) ** 2).mean(axis=1, keepdims=True) + 1e-6) * gamma.astype(float)) @ w.astype(
        float
    )
    for dtype_mode in FORMATS:
        error = trainium3.linear_w8a8(x, w, gamma=gamma, dtype_mode=dtype_mode).astype(float) - exact
        assert 25 < 10 * np.log10((exact**2).mean() / (error**2).mean()) < 35
