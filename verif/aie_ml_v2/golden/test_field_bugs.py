"""Regression tests of bugs reported in the field, named by issue number."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.verif.kit.testplan import covers

BASE = AIE_ML_V2.numerics


def errors_of_blocks(x, fmt, **options):
    """Return rows of 16 numbers as blocks, and their errors in units of each number's last place."""
    blocks = aie.to_mx(x, fmt, **options)
    places = np.exp2(blocks.exponent.astype(float) - 127 + 1 - blocks.fmt.magnitude_bits)[..., np.newaxis]
    errors = (aie.from_mx(blocks).astype(float) - x)[:, np.newaxis] / (places * np.exp2(-blocks.element_shifts))
    return blocks, errors


@covers(
    "mx_convert.bias",
    "mlir-air#1440: the machine's own default is floor",
    "The mean error is minus half a unit in the last place for floor rounding, 0 for nearest even; floor's error "
    "accumulates along K",
)
@pytest.mark.parametrize("fmt", ["mx9", "mx6", "mx4"])
def test_mlir_air_1440_floor_rounding_is_biased(fmt):
    """Floor, the machine's own default, moves every number down by half a last place; even rounding by nothing.

    In units of a number's last place floor's mean error is -1/2 + 2**-k of k bits shifted out, the even one's is 0.
    """
    rng = np.random.default_rng(30)
    x = rng.uniform(-1, 1, (4000, 16)).astype(np.float32)
    bias = {}
    for code in (RoundingCode.FLOOR, RoundingCode.CONV_EVEN):
        blocks, error = errors_of_blocks(x, fmt, rounding=code)
        # Saturation moves to zero what rounds out of range: with even rounding some of every magnitude's top half place.
        inside = np.abs(blocks.codes) < blocks.fmt.max_code
        assert inside.sum() > 30_000
        bias[code] = error[inside].mean()
    assert -0.52 < bias[RoundingCode.FLOOR] < -0.48
    assert abs(bias[RoundingCode.CONV_EVEN]) < 0.02


@covers("mx_convert.bias")
def test_mlir_air_1440_the_bias_grows_with_k_in_a_matmul():
    """Positive weights: floor's errors add up along K, half a last place each."""
    rng = np.random.default_rng(31)
    a = rng.standard_normal((32, 512), dtype=np.float32)
    b = np.full((512, 16), 1.0, np.float32)
    exact = a.astype(float) @ b
    floor, even = (aie.matmul(a, b, format="mx9", rounding=code) - exact for code in (0, 12))
    blocks = aie.to_mx(a, "mx9")
    places = np.exp2(blocks.exponent.astype(int)[..., np.newaxis] - blocks.element_shifts - 127 - 6)
    expected = -places.sum(axis=(1, 2)).mean() / 2
    assert abs(floor.mean() / expected - 1) < 0.05
    assert abs(even.mean() / expected) < 0.05


def test_mlir_aie_2987_the_rounding_code_is_the_one_given():
    """A register's index was wrong, so that the code had no effect. All ten codes differ on this block."""
    ties = np.array([0.5, -0.5, 1.5, -1.5, 0.25, -0.25, 0.75, -0.75], np.float32)
    # Halves and quarters of the last place, 2**-6, in pairs that 1.5 keeps from being shifted.
    x = np.zeros(16, np.float32)
    x[::2], x[1::2] = ties / 64 + np.sign(ties), 1.5
    results = {tuple(aie.to_mx(x, "mx9", rounding=code).codes[0].tolist()) for code in RoundingCode}
    assert len(results) == len(RoundingCode)


def test_gem5_2478_the_sum_is_fused():
    """Products are neither rounded one by one to FP32 nor added in turn: 2**24 - 2**24 leaves the small one whole."""
    a = np.array([4096.0, 1.0, 4096.0, 0, 0, 0, 0, 0], np.float32)
    b = np.array([4096.0, 2.0, -4096.0, 0, 0, 0, 0, 0], np.float32)
    operands = [aie.f32_to_bf16(each.view(np.uint32), rounding=12) for each in (a, b)]
    x, y = (each.view(ml_dtypes.bfloat16) for each in operands)
    assert aie.fused_dot(x, y, format="bf16") == 2
    # But it is aligned first: a product below half a unit of the grid at the largest exponent is lost.
    y[1] = 0.5
    assert aie.fused_dot(x, y, format="bf16") == 0


def test_transformers_46763_the_stored_scale_is_the_one_that_divides():
    """The exponent is fixed before rounding: codes times stored scale are within half a last place, or saturated."""
    rng = np.random.default_rng(32)
    x = (rng.standard_normal((500, 16)) * np.exp2(rng.integers(-100, 100, (500, 1)))).astype(np.float32)
    for fmt in ("mx9", "mx6", "mx4"):
        blocks, error = errors_of_blocks(x, fmt)
        saturated = np.abs(blocks.codes) == blocks.fmt.max_code
        assert np.abs(error[~saturated]).max() <= 0.5
        assert np.abs(error).max() <= 1


def test_transformer_engine_2881_exponents_are_exact():
    """Powers of two, and numbers just below: no exponent is off by one."""
    for exponent in range(-126, 128):
        for value, biased in ((2.0**exponent, exponent + 127), (np.nextafter(np.float32(2.0**exponent), 0), None)):
            x = np.zeros(16, np.float32)
            x[7] = value
            expected = max(exponent + 126, 0) if biased is None else biased
            assert aie.to_mx(x, "mx9").exponent[0] == expected


@pytest.mark.parametrize("sign", [1, -1])
def test_cvfpu_zero_signs(sign):
    """A zero code has no sign, a flushed result has that of the sum, cancellation is +0."""
    x = np.zeros(16, np.float32)
    x[0] = sign * 2.0**-140
    assert not np.signbit(aie.from_mx(aie.to_mx(x, "mx9"))).any()
    codes = np.zeros((1, 16), np.int8)
    codes[0, 0] = sign
    low = aie.MxBlocks("mx9", np.array([1], np.uint8), np.zeros(1, np.uint8), codes)
    assert np.signbit(aie.from_mx(low)[0]) == (sign < 0)


def test_onnxruntime_31155_dead_results_would_show():
    """Every format's product of ones is K."""
    a, b = np.ones((4, 32), np.float32), np.ones((32, 16), np.float32)
    for fmt in ("mx9", "mx6", "mx4", "bf16", "fp16", "fp8_e4m3", "fp8_e5m2fnuz"):
        assert np.all(aie.matmul(a, b, format=fmt) == 32)
