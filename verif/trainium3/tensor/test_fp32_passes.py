"""FP32 in four passes, double row, and what nc_matmul's modes refuse."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, FP32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.trainium3 import nc_matmul
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_DOUBLE_ROW
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.exact import fp32_halves, psum_write, split12
from bitpath.golden.trainium3.exact.dot import trace_dot_product
from bitpath.golden.trainium3.matmul.nc_matmul import halves

NUMERICS = TRAINIUM3_MATMUL.numerics
CORNERS = (0, 1, 0xFFF, 0x1000, 0x007FFFFF, 0x00800000, 0x3F800001, 0x3F9E0652, 0x7F7FFFFF, 0x7F800000, 0x7FC00001)
codes = st.one_of(st.sampled_from(CORNERS), st.integers(0, (1 << 31) - 1)).flatmap(
    lambda code: st.sampled_from((code, code | 1 << 31))
)
near = st.builds(lambda sign, exponent, fraction: sign << 31 | exponent << 23 | fraction,
                 st.integers(0, 1), st.integers(120, 134), st.integers(0, (1 << 23) - 1))  # fmt: skip


@given(codes)
def test_halves(code):
    """Halves add up to the number, exactly; both have at most 12 significant bits."""
    high, low = fp32_halves(code)
    x = decode(FP32, code)
    with np.errstate(invalid="ignore"):
        arrays = [each.view(np.uint32)[0] for each in halves(np.array([code], np.uint32).view(np.float32))]
    assert arrays == [high, low]
    if x.kind is not Kind.FINITE:
        assert (high, low) == (code, 0)
        return
    parts = decode(FP32, high), decode(FP32, low)
    assert parts[0].value + parts[1].value == x.value
    for each in parts:
        significand = each.significand
        assert not significand or (significand // (significand & -significand)).bit_length() <= 12


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(codes | near, codes | near), min_size=1, max_size=4))
def test_split12_tiers_agree(rows):
    x, y = (np.array(side, np.uint32)[:, np.newaxis].view(np.float32) for side in zip(*rows, strict=True))
    expected, passes = split12(NUMERICS, *zip(*rows, strict=True))
    assert nc_matmul(x, y, fp32_mode="split12").view(np.uint32) == expected
    assert expected == add(add(add(passes[0], passes[1]), passes[2]), passes[3])


def test_split12_of_one_product():
    """The partial products of 1.23456788 squared, whose sum is the fused result."""
    x = np.array([[0x3F9E0652]], np.uint32).view(np.float32)
    total, passes = split12(NUMERICS, [0x3F9E0652], [0x3F9E0652])
    assert passes == (0x331FC910, 0x3979A700, 0x3979A700, 0x3FC30800)
    assert total == 0x3FC3179B == nc_matmul(x, x).view(np.uint32)


def test_onezero_saves_passes_and_changes_nothing():
    rng = np.random.default_rng(3)
    mask, y = rng.integers(0, 2, (20, 5)).astype(np.float32), rng.standard_normal((20, 6)).astype(np.float32)
    for mode in ("fused", "split12"):
        plain = nc_matmul(mask, y, fp32_mode=mode)
        assert np.array_equal(nc_matmul(mask, y, fp32_mode=mode, is_stationary_onezero=True), plain)
        swapped = nc_matmul(y, mask, fp32_mode=mode, is_moving_onezero=True)
        assert np.array_equal(swapped, nc_matmul(y, mask, fp32_mode=mode))
    both = nc_matmul(mask, mask, fp32_mode="split12", is_stationary_onezero=True, is_moving_onezero=True)
    assert np.array_equal(both, mask.T @ mask)


def test_split12_of_operands_rounded_to_tf32():
    """They have no low half: four passes become two, or one, which is the plain matmul of TF32."""
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal((9, free)).astype(np.float32) for free in (4, 5))
    tf32 = {"stationary_tf32": True, "moving_tf32": True}
    assert np.array_equal(nc_matmul(x, y, fp32_mode="split12", **tf32), nc_matmul(x, y, **tf32))
    rounded = nc_matmul(x.astype(np.float32), np.ones((9, 1), np.float32), fp32_mode="split12", stationary_tf32=True)
    assert not np.array_equal(rounded, nc_matmul(x, np.ones((9, 1), np.float32), fp32_mode="split12"))


def test_split12_accumulates_in_psum():
    x = np.array([[1.2345679]], np.float32)
    present = np.array([[0.1]], np.float32)
    got = nc_matmul(x, x, dst=present, psum_accumulate_flag=0, fp32_mode="split12").view(np.uint32)
    own = split12(NUMERICS, *([int(x.view(np.uint32)[0, 0])],) * 2)[0]
    assert got == psum_write(own, int(present.view(np.uint32)[0, 0]), FP32)


FP8 = (E4M3, E4M3FN, E5M2)
PAIRS = [pair for pair in product(FP8, repeat=2) if set(pair) != {E4M3, E4M3FN}]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}x{pair[1].name}")
def test_double_row_tiers_agree(pair):
    """K is cut in halves: row p holds the places p and P + p."""
    rng = np.random.default_rng(PAIRS.index(pair))
    own = TRAINIUM3_DOUBLE_ROW.numerics
    for low, high in ((0, 256), (48, 64)):  # all codes, and finite ones near 1 that cancel
        x, y = (rng.integers(low, high, (5, 2, free), np.uint8) for free in (3, 4))
        x, y = ((each | rng.integers(0, 2, each.shape, np.uint8) << 7) for each in (x, y))
        sides = [each.view(DTYPES[fmt]) for each, fmt in zip((x, y), pair, strict=True)]
        got = nc_matmul(*sides, perf_mode="double_row").view(np.uint32)
        for m, n in np.ndindex(got.shape):
            rows = x[:, :, m].tolist(), pair[0], y[:, :, n].tolist(), pair[1], [127] * 5, [127] * 5
            assert got[m, n] == trace_dot_product(own, *rows)[-1].result


def test_double_row_of_one_step():
    x, y = (np.array(each, ml_dtypes.float8_e4m3fn).reshape(1, 2, 1) for each in ((1, 2), (3, 0.5)))
    assert nc_matmul(x, y, perf_mode="double_row") == 4
    both = nc_matmul(x, y, perf_mode="double_row", tile_position=(32, 0), tile_size=(32, 128))
    assert both == 4
    present = np.array([[0.5]], ml_dtypes.bfloat16)
    assert nc_matmul(x, y, perf_mode="double_row", dst=present, psum_accumulate_flag=2) == 4.5


BF, F32, E4, E4FN, E3 = (
    ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e3m4
)  # fmt: skip


def ones(dtype, *shape):
    return np.ones(shape, dtype)


WIDE, PAIR = (ones(F32, 2, 4), ones(F32, 2, 3)), (ones(E4, 2, 2, 4), ones(E4, 2, 2, 3))
DOUBLE = {"perf_mode": "double_row"}
MOVE = {"is_transpose": True}
BAD = [
    (WIDE, {"perf_mode": "quad"}, ValueError, "perf_mode must be 'none' or 'double_row', not 'quad'"),
    (WIDE, {"fp32_mode": "split"}, ValueError, "fp32_mode must be 'fused' or 'split12', not 'split'"),
    ((ones(BF, 2, 4), ones(BF, 2, 3)), {"fp32_mode": "split12"}, ValueError, "operands and dst must be float32 with"),
    (WIDE, {"fp32_mode": "split12", "dst_dtype": BF}, ValueError, "operands and dst must be float32 .* not float32 and bf"),
    ((2 * WIDE[0], WIDE[1]), {"is_stationary_onezero": True}, ValueError, "stationary must hold only 0 and 1 with is_stat"),
    ((WIDE[0], -WIDE[1]), {"is_moving_onezero": True}, ValueError, "moving must hold only 0 and 1 with is_moving_onezero"),
    (WIDE, DOUBLE, TypeError, "stationary must be float8_e4m3, float8_e4m3fn or float8_e5m2, not float32"),
    ((ones(E3, 2, 2, 4), PAIR[1]), DOUBLE, TypeError, "stationary must be float8_e4m3, .* not float8_e3m4"),
    ((ones(E4, 2, 3, 4), PAIR[1]), DOUBLE, ValueError, r"stationary must have shape \[P, 2, M\] with P from 1 to 128 in"),
    ((PAIR[0], ones(E4, 129, 2, 3)), DOUBLE, ValueError, r"moving must have shape \[P, 2, N\] with P from 1 to 128 in"),
    ((PAIR[0], ones(E4, 3, 2, 3)), DOUBLE, ValueError, "moving must span stationary's 2 partitions, not 3"),
    ((ones(E4, 2, 2, 129), PAIR[1]), DOUBLE, ValueError, "stationary must have a free size M from 1 to 128, not 129"),
    ((PAIR[0], ones(E4FN, 2, 2, 3)), DOUBLE, ValueError, "a matmul must not mix E4M3 and E4M3FN, but stationary is float8"),
    (PAIR, {**DOUBLE, "tile_size": (32, 64), "tile_position": (0, 0)}, ValueError, r"tile_size must be \(32, 128\), \(64"),
    (PAIR, {**DOUBLE, **MOVE}, ValueError, "is_transpose must not be given with perf_mode 'double_row'"),
    (PAIR, {**DOUBLE, "moving_tf32": True}, ValueError, "moving_tf32 must not be given with perf_mode 'double_row'"),
    (PAIR, {**DOUBLE, "numerics": NUMERICS}, ValueError, "numerics must not be given with perf_mode 'double_row'"),
    (PAIR, {**DOUBLE, "double_row_numerics": TRAINIUM3_QUAD_MX.numerics}, ValueError, "numerics must have 2 terms in double"),
    (WIDE, {"double_row_numerics": TRAINIUM3_DOUBLE_ROW.numerics}, ValueError, "double_row_numerics must not be given with"),
    (WIDE, {**MOVE, "psum_accumulate_flag": 2}, ValueError, "accumulation must not be given with is_transpose"),
    (WIDE, {**MOVE, "dst": ones(F32, 4, 3)}, ValueError, "dst must not be given with is_transpose"),
    (WIDE, {**MOVE, "fp32_mode": "split12"}, ValueError, "split12 must not be given with is_transpose"),
    (WIDE, MOVE, ValueError, "moving must have at most one 1 in a column with is_transpose, not 2"),
    ((WIDE[0], 2 * WIDE[1]), MOVE, ValueError, "moving must hold only 0 and 1 with is_transpose, not other numbers"),
    ((WIDE[0], ones(BF, 2, 3)), MOVE, ValueError, "TF32 and FP32 must be multiplied with each other only"),
    ((WIDE[0], ones(F32, 2, 513)), MOVE, ValueError, "moving must have a free size N from 1 to 512 with is_transpose"),
    ((ones(BF, 2, 4), ones(BF, 2, 1025)), MOVE, ValueError, "moving must have a free size N from 1 to 1024 with is_tr"),
]  # fmt: skip


@pytest.mark.parametrize(("operands", "options", "error", "sentence"), BAD)
def test_arguments_of_the_modes(operands, options, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        nc_matmul(*operands, **options)


def test_scalar_arguments():
    with pytest.raises(ValueError, match=r"^moving must have stationary's 1 rows, not 2$"):
        split12(NUMERICS, [0], [0, 0])


def test_onezero_of_narrow_formats():
    mask = np.array([[0, 1], [1, 1]], ml_dtypes.bfloat16)
    assert codes_of(nc_matmul(mask, mask, is_stationary_onezero=True, dst_dtype=DTYPES[BF16])).tolist() == [
        [0x3F80, 0x3F80],
        [0x3F80, 0x4000],
    ]
