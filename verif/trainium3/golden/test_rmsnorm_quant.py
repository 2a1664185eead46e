"""RMSNorm-Quant: the flow of instructions against the scalar tier, and the stated result of every special row."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, FP16
from bitpath.golden.trainium3 import activation, reciprocal, rmsnorm, rmsnorm_quant, tensor_scalar
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT, EpsPlacement, SumOrder
from bitpath.golden.trainium3.exact import load_row, quantize_row, quantize_row_static, rmsnorm_row, row_bytes

NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
BF, NAN = ml_dtypes.bfloat16, 0x7FC00000
EPS = float(NUMERICS.eps)
STATIC = {"quant_type": "static", "in_scale": np.full((128, 1), 0.01, np.float32)}


def scalar_norm(row, gamma, *, eps=EPS, eps_placement="kernel", sum_order="serial", formats=(BF16, BF16)):
    return rmsnorm_row(
        NUMERICS, row, gamma, *formats,
        eps=Fraction(eps), eps_placement=EpsPlacement(eps_placement), sum_order=SumOrder(sum_order),
    )  # fmt: skip


def scalar_bytes(row, gamma, *, quant_only=False, lower_bound=0.0, in_scale=None, formats=(BF16, BF16), **options):
    """The bytes of one row by the scalar tier; `in_scale` is an FP32 code."""
    normalised = (
        load_row(NUMERICS, row, formats[0]) if quant_only else scalar_norm(row, gamma, formats=formats, **options)
    )
    if in_scale is not None:
        return bytes(quantize_row_static(NUMERICS, normalised, in_scale))
    return row_bytes(*quantize_row(NUMERICS, normalised, lower_bound=Fraction(lower_bound)))


def split(packed):
    """Codes, and scales as float32."""
    return packed[..., :-4], np.ascontiguousarray(packed[..., -4:]).view("<f4")[..., 0]


def values(codes):
    return np.ascontiguousarray(codes).view(ml_dtypes.float8_e4m3).astype(np.float64)


def gaussian(rows, columns, rms=1.0, seed=0):
    """Hidden states of a root mean square, and a gamma."""
    rng = np.random.default_rng([rows, columns, seed])
    return (rng.standard_normal((rows, columns)) * rms).astype(BF), (1 + 0.2 * rng.standard_normal(columns)).astype(BF)


codes16 = st.one_of(
    st.integers(0, 0xFFFF),
    st.sampled_from([0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0, 0xFFFF]),
    st.integers(0x3E00, 0x40FF),
    st.integers(0xBE00, 0xC0FF),
)
pairs = st.lists(st.tuples(codes16, codes16), min_size=1, max_size=8)
options = st.fixed_dictionaries({
    "eps": st.sampled_from([EPS, 0.0, 1e-5, 0.37]),
    "eps_placement": st.sampled_from(["kernel", "golden"]),
    "sum_order": st.sampled_from(["serial", "exact"]),
})  # fmt: skip


def carried(codes, fmt=BF16):
    return np.array(codes, np.uint16).view(DTYPES[fmt])


@settings(max_examples=60, deadline=None)
@given(pairs, options, st.sampled_from([(BF16, BF16), (FP16, BF16), (BF16, FP16), (FP16, FP16)]))
def test_normalisation_is_the_scalar_tier(pair, option, formats):
    row, gamma = map(list, zip(*pair, strict=True))
    got = rmsnorm(carried([row], formats[0]), carried(gamma, formats[1]), **option)
    assert codes_of(got)[0].tolist() == scalar_norm(row, gamma, formats=formats, **option)


SCALES = (0x3C23D70A, 0x3F800000, 0xBF800000, 0, 1 << 31, 1, 0x7F7FFFFF, 0x7F800000, NAN)


@settings(max_examples=140, deadline=None)
@given(
    pairs,
    options,
    st.booleans(),
    st.sampled_from([0.0, 1e-6, 1.062e-6, 0.1, 1.0, 3.3]),
    st.one_of(st.none(), st.sampled_from(SCALES)),
)
def test_quantisation_is_the_scalar_tier(pair, option, quant_only, lower_bound, scale):
    """Row mode without a scale, else static mode, which ignores the lower bound."""
    row, gamma = map(list, zip(*pair, strict=True))
    given = {"quant_only": quant_only, "lower_bound": lower_bound} | option
    static = {}
    if scale is not None:
        static = {"quant_type": "static", "in_scale": np.full((128, 1), scale, np.uint32).view(np.float32)}
    got = rmsnorm_quant(carried([row]), carried(gamma), **static, **given)
    assert got.tobytes() == scalar_bytes(row, gamma, in_scale=scale, **given)


LONG = pytest.mark.deep
"""For lengths that take the scalar tier many seconds."""


@pytest.mark.parametrize("order", ["serial", "exact"])
@pytest.mark.parametrize(
    "columns", [1, 2, 3, 511, 512, 513, pytest.param(4097, marks=LONG), pytest.param(16384, marks=LONG)]
)
def test_row_lengths(columns, order):
    """From one element to the longest row, at the ends of gamma's tiles and of their batches."""
    hidden, gamma = gaussian(1, columns)
    got = rmsnorm_quant(hidden, gamma, sum_order=order)
    assert got.shape == (1, columns + 4)
    assert got.tobytes() == scalar_bytes(codes_of(hidden)[0].tolist(), codes_of(gamma).tolist(), sum_order=order)


@pytest.mark.parametrize("columns", [1, 3, 511, 512, 513, 4096, 4097, 8192, 16384])
def test_row_lengths_in_a_few_lines(columns):
    """The same formula without tiles, in numpy's own types; numbers near 1, so that nothing special happens."""
    hidden, gamma = gaussian(3, columns)
    x, f32 = hidden.astype(np.float32), np.float32
    total = x[:, 0] * x[:, 0]
    for column in x.T[1:]:
        total = total + column * column
    inverse = f32(1) / np.sqrt((total * f32(1 / columns) + f32(9.98377799987793e-07)).astype(np.float64))
    norm = (x * inverse.astype(f32)[:, np.newaxis] * gamma.astype(f32)).astype(BF)
    scale = np.maximum(np.abs(norm).astype(f32).max(axis=1, keepdims=True) * f32(1 / 240), f32(1e-6))
    codes = (norm.astype(f32) * (f32(1) / scale)).astype(ml_dtypes.float8_e4m3).view(np.uint8)
    assert np.array_equal(rmsnorm_quant(hidden, gamma), np.hstack([codes, scale.view(np.uint8)]))


def test_orders_of_the_sum_differ():
    """Squares of 2**-24 beside a 1: one after the other they are lost, together they are a thousandth."""
    hidden = np.full((1, 16384), 2.0**-12, BF)
    hidden[0, 0] = 1
    gamma = gaussian(1, 16384)[1]
    serial, exact = (rmsnorm(hidden, gamma, sum_order=order).astype(np.float32) for order in ("serial", "exact"))
    assert 0.02 < np.mean(serial != exact) < 0.1
    assert np.all(np.abs(serial) >= np.abs(exact))


@pytest.mark.parametrize("static", [False, True])
def test_shards_change_no_byte(static):
    """Tiles do not see each other: 300 shards are one row each."""
    hidden, gamma = gaussian(2 * 150, 24)
    hidden = hidden.reshape(2, 150, 24)
    arguments = {"lower_bound": 2.0}
    if static:
        arguments = {"quant_type": "static", "in_scale": np.linspace(0.01, 0.03, 128, dtype=np.float32)[:, np.newaxis]}
    whole = rmsnorm_quant(hidden, gamma, **arguments)
    assert whole.shape == (2, 150, 24 if static else 28)
    for shards in (2, 3, 8, 300):
        assert np.array_equal(rmsnorm_quant(hidden, gamma, shards=shards, **arguments), whole)
    if static:
        for r in (0, 127, 128, 299):
            scale = int(arguments["in_scale"].view(np.uint32)[r % 128, 0])
            row = codes_of(hidden).reshape(300, 24)[r].tolist()
            assert whole.reshape(300, 24)[r].tobytes() == scalar_bytes(row, codes_of(gamma).tolist(), in_scale=scale)


@pytest.mark.parametrize(("shards", "firsts"), [(1, [0]), (2, [0, 151]), (7, [0, 43, 86, 129, 172, 215, 258])])
def test_static_scales_by_the_row_of_the_shard(shards, firsts):
    """Each shard is quantised as an input of its own; the last one has the remainder too."""
    hidden, gamma = gaussian(303, 24)
    arguments = {"quant_type": "static", "in_scale": np.linspace(0.01, 0.03, 128, dtype=np.float32)[:, np.newaxis]}
    whole = rmsnorm_quant(hidden, gamma, shards=shards, static_scale_row="shard", **arguments)
    ends = [*firsts[1:], 303]
    parts = [rmsnorm_quant(hidden[first:end], gamma, **arguments) for first, end in zip(firsts, ends, strict=True)]
    assert whole.tobytes() == np.concatenate(parts).tobytes()
    assert np.array_equal(whole, rmsnorm_quant(hidden, gamma, **arguments)) == (shards == 1)


def test_two_and_three_dimensions_and_both_shapes_of_gamma():
    hidden, gamma = gaussian(12, 40)
    flat = rmsnorm_quant(hidden, gamma)
    assert np.array_equal(rmsnorm_quant(hidden.reshape(2, 6, 40), gamma), flat.reshape(2, 6, 44))
    assert np.array_equal(rmsnorm_quant(hidden, gamma[np.newaxis]), flat)
    assert np.array_equal(codes_of(rmsnorm(hidden.reshape(1, 12, 40), gamma)[0]), codes_of(rmsnorm(hidden, gamma)))


def test_hidden_of_other_dtypes_is_rounded_to_bfloat16_first():
    rng = np.random.default_rng(3)
    gamma = gaussian(1, 64)[1]
    for dtype in (np.float16, np.float32):
        hidden = rng.standard_normal((3, 64)).astype(dtype)
        assert np.array_equal(rmsnorm_quant(hidden, gamma), rmsnorm_quant(hidden.astype(BF), gamma))


def test_normalised_rows_are_what_is_quantised():
    hidden, gamma = gaussian(5, 100)
    normalised = rmsnorm(hidden, gamma)
    assert (normalised.dtype, normalised.shape) == (BF, (5, 100))
    assert np.array_equal(rmsnorm_quant(normalised, None, quant_only=True), rmsnorm_quant(hidden, gamma))


def test_row_by_hand():
    """Quantisation of [2, -1, 0.5, -0]: 2 becomes 240, the scale is 2 * fp32(1/240)."""
    packed = rmsnorm_quant(np.array([[2, -1, 0.5, -0.0]], BF), None, quant_only=True)
    assert packed[0].tolist() == [0x77, 0xEF, 0x67, 0x80, *np.float32(2 / 240).tobytes()]
    bounded = rmsnorm_quant(np.array([[2, -1, 0.5, -0.0]], BF), None, quant_only=True, lower_bound=1.0)
    assert bounded[0].tolist() == [0x77, 0xF7, 0x6F, 0x80, *np.float32(1 / 240).tobytes()]
    # bfloat16 cannot hold this bound: elements are clamped to the rounded bound, 1.0654 times the smallest scale.
    tiny = rmsnorm_quant(np.array([[2, -1]], BF), None, quant_only=True, lower_bound=1.062e-6)
    assert tiny[0].tolist() == [0x39, 0xB9, *np.float32(1e-6).tobytes()]
    static = rmsnorm_quant(np.array([[2, -1, 0.5, -0.0, 3]], BF), None, quant_only=True, **STATIC)
    assert static[0].tolist() == [0x74, 0xEC, 0x64, 0x00, 0x77]  # 200 is a tie of 192 and 208; 300 is clamped


@pytest.mark.parametrize("placement", ["kernel", "golden"])
def test_zero_rows(placement):
    hidden = np.zeros((2, 16), BF)
    hidden[1] = -0.0
    codes, scales = split(rmsnorm_quant(hidden, gaussian(1, 16)[1], eps_placement=placement))
    assert not np.any(codes & 0x7F)
    assert scales.tolist() == [np.float32(1e-6)] * 2
    # Without eps the factor is infinite, and times zero NaN.
    codes, scales = split(rmsnorm_quant(hidden, gaussian(1, 16)[1], eps=0.0, eps_placement=placement))
    assert set(codes.flat) == {0x7F}
    assert set(scales.view(np.uint32).tolist()) == {NAN}


def test_rows_of_1e_20():
    """Squares are FP32 subnormals, eps is all of the mean, and 1e-17 is below the smallest scale's last code."""
    hidden, gamma = gaussian(4, 64, rms=1e-20)
    codes, scales = split(rmsnorm_quant(hidden, gamma))
    assert not np.any(codes & 0x7F)
    assert set(scales.tolist()) == {float(np.float32(1e-6))}
    ratio = rmsnorm(hidden, np.ones(64, BF)).astype(float) / hidden.astype(float)
    assert np.all(np.abs(ratio - 1000.8) < 4)


def test_nan_and_infinity_rows():
    hidden, gamma = gaussian(5, 16)
    hidden[0, 3], hidden[1, 4], hidden[2, 5], hidden[3, 6] = np.nan, np.inf, -np.inf, 3e38
    codes, scales = split(rmsnorm_quant(hidden, gamma))
    assert np.all(codes[:3] == 0x7F)  # the factor of infinity is 0, and infinity times it NaN
    assert scales[:3].view(np.uint32).tolist() == [NAN] * 3
    assert not np.any(codes[3] & 0x7F)  # squares overflow, so that the factor is 0 too
    assert scales[3] == np.float32(1e-6)
    assert np.all(np.isfinite(values(codes[4])))
    # Without normalisation infinity makes the scale infinite, all else 0 and itself NaN.
    codes, scales = split(rmsnorm_quant(hidden, None, quant_only=True))
    assert np.all(codes[0] == 0x7F)
    assert [codes[1, 4], codes[2, 5]] == [0x7F, 0x7F]
    assert np.count_nonzero(codes[1:3] & 0x7F) == 2
    assert scales[1:3].tolist() == [np.inf] * 2
    # A lower bound clamps infinity but not NaN.
    codes, scales = split(rmsnorm_quant(hidden, None, quant_only=True, lower_bound=1.0))
    assert np.all(codes[0] == 0x7F)
    assert [codes[1, 4], codes[2, 5], codes[3, 6]] == [0x77, 0xF7, 0x77]
    assert scales[1] == np.float32(1 / 240)


def test_negative_zero_of_gamma_is_lost_on_the_way():
    """A matmul by ones adds it to +0; so -1 * -0 gives -0 * 1 = -0 and not +0."""
    ones, minus_zeros = np.full((1, 2), -1, BF), np.array([-0.0, 1], BF)
    assert codes_of(rmsnorm(ones, minus_zeros))[0, 0] == 0x8000


def test_where_eps_is_added():
    """The finding: at a root mean square of 1e-3 the two placements are 41 % apart, at 0 a thousandfold."""
    eps = np.array([[EPS]]).astype(BF)
    assert codes_of(eps)[0, 0] == 0x3586
    for mean, kernel, golden in ((1e-6, 707.4, 999.0), (0.0, 1000.8, 1001624.3), (1.0, 0.9999995, 0.999999)):
        total = np.array([[mean]], np.float32)
        inside = activation(total, "rsqrt", bias=eps)[0, 0]
        added = reciprocal(tensor_scalar(activation(total, "sqrt"), "add", eps))[0, 0]
        assert (inside, added) == pytest.approx((kernel, golden), rel=1e-4)
        assert (inside, added) == pytest.approx(
            (1 / np.sqrt(mean + 9.98377799987793e-07), 1 / (np.sqrt(mean) + 9.98377799987793e-07)), rel=1e-6
        )


def test_what_the_place_of_eps_does_to_bytes():
    """Row mode: the scale takes it all, and codes move by one step where BF16 rounds otherwise. Static mode: the codes do."""
    hidden, gamma = gaussian(16, 256, rms=1e-3)
    runs = [split(rmsnorm_quant(hidden, gamma, eps_placement=each)) for each in ("kernel", "golden")]
    (codes, scales), (added_codes, added_scales) = runs
    assert np.all((scales / added_scales > 0.65) & (scales / added_scales < 0.78))
    assert 0 < np.mean(codes != added_codes) < 0.06
    steps = np.abs((codes & 0x7F).astype(int) - (added_codes & 0x7F).astype(int))
    assert steps.max() == 1
    kernel, golden = (
        values(rmsnorm_quant(hidden, gamma, eps_placement=each, **STATIC)) for each in ("kernel", "golden")
    )
    assert np.mean(kernel != golden) > 0.95
    assert np.abs(kernel - golden).max() / np.abs(golden).max() == pytest.approx(1 / 3, abs=0.01)
    # At unit rms the difference is below 16-bit precision.
    hidden, gamma = gaussian(16, 256)
    assert np.array_equal(
        *(rmsnorm_quant(hidden, gamma, eps_placement=each, **STATIC) for each in ("kernel", "golden"))
    )


def test_arguments_are_not_modified():
    hidden, gamma = gaussian(3, 10)
    scale = np.full((128, 1), 0.5, np.float32)
    before = hidden.tobytes(), gamma.tobytes(), scale.tobytes()
    rmsnorm_quant(hidden, gamma, lower_bound=0.1)
    rmsnorm_quant(hidden, gamma, quant_type="static", in_scale=scale, quant_only=True)
    assert before == (hidden.tobytes(), gamma.tobytes(), scale.tobytes())


def test_a_row_has_an_element_and_as_many_weights():
    for row, says in (
        ([], "hidden must have at least 1 element, not 0"),
        ([0], "gamma must have 1 elements as hidden, not 0"),
    ):
        with pytest.raises(ValueError, match=f"^{says}$"):
            scalar_norm(row, [])
