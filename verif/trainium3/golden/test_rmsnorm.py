"""RMSNorm-Quant: both tiers, special rows, options, timeline, and one sentence for each limit."""

import re
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.trainium3 import (
    activation,
    flow_latency,
    flow_timeline,
    reciprocal,
    rmsnorm,
    rmsnorm_quant,
    rmsnorm_quant_reference,
    tensor_scalar,
    tile_latency,
    unpack_rows,
)
from bitpath.golden.trainium3.core.rmsnorm import NUMERICS, DtypeModeName
from bitpath.golden.trainium3.declarations.rates import TRAINIUM2, TRAINIUM3
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT, DtypeMode, EpsPlacement, SumOrder
from bitpath.golden.trainium3.exact import (
    add_residual,
    load_row,
    quantize_row,
    quantize_row_static,
    reference_row,
    rmsnorm_row,
    row_bytes,
)
from bitpath.golden.trainium3.vector.rates import gamma_latency
from bitpath.verif.trainium3.dtype_words import draw

# RMSNorm-Quant: the flow of instructions against the scalar tier, and the stated result of every special row.


PRESET = TRAINIUM3_RMSNORM_QUANT.numerics
BF, NAN = ml_dtypes.bfloat16, 0x7FC00000
EPS = float(PRESET.eps)
STATIC = {"quant_type": "static", "in_scale": np.full((128, 1), 0.01, np.float32)}


def scalar_norm(row, gamma, *, eps=EPS, eps_placement="kernel", sum_order="serial", formats=(BF16, BF16)):
    return rmsnorm_row(
        PRESET, row, gamma, *formats,
        eps=Fraction(eps), eps_placement=EpsPlacement(eps_placement), sum_order=SumOrder(sum_order),
    )  # fmt: skip


def scalar_bytes(row, gamma, *, quant_only=False, lower_bound=0.0, in_scale=None, formats=(BF16, BF16), **options):
    """The bytes of one row by the scalar tier; `in_scale` is an FP32 code."""
    normalised = (
        load_row(PRESET, row, formats[0]) if quant_only else scalar_norm(row, gamma, formats=formats, **options)
    )
    if in_scale is not None:
        return bytes(quantize_row_static(PRESET, normalised, in_scale))
    return row_bytes(*quantize_row(PRESET, normalised, lower_bound=Fraction(lower_bound)))


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


def test_all_major_dimensions_and_both_shapes_of_gamma():
    hidden, gamma = gaussian(12, 40)
    flat = rmsnorm_quant(hidden, gamma)
    for outer in ((2, 6), (3, 4), (2, 3, 2), (3, 2, 1, 2)):
        assert np.array_equal(rmsnorm_quant(hidden.reshape(*outer, 40), gamma), flat.reshape(*outer, 44))
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


# Each limit of RMSNorm-Quant raises an error of one sentence.


HIDDEN, GAMMA, SCALE = (
    np.ones((1, 3, 8), BF),
    np.ones(8, BF),
    np.ones((128, 1), np.float32),
)


def zeros(*shape):
    """A large array that takes no memory."""
    return np.broadcast_to(np.zeros((), BF), shape)


HIDDEN_SHAPE = "hidden must have shape [..., H] of two dimensions or more, not"
GAMMA_SHAPE = "gamma must have shape (8,) or (1, 8), not"
BAD_EPS = "eps must be a finite number of bfloat16's range, at least 0, not"
BOUND = "lower_bound must be a finite number of FP32's range, at least 0, not"
BOTH = [
    *(
        ({"hidden": HIDDEN.astype(dtype)}, TypeError, "hidden must be bfloat16, float16 or float32, not float")
        for dtype in (np.float64, ml_dtypes.float8_e4m3)
    ),
    ({"hidden": np.ones(8, BF)}, ValueError, f"{HIDDEN_SHAPE} (8,)"),
    *(
        ({"hidden": zeros(*shape)}, ValueError, f"hidden must have {limit}")
        for shape, limit in (
            ((3, 32768, 8), "rows from 1 to 65536, not 98304"),
            ((0, 1, 8), "rows from 1 to 65536, not 0"),
            ((2, 2, 1, 32768, 8), "rows from 1 to 65536, not 131072"),
            ((1, 1, 16385), "H from 1 to 16384, not 16385"),
            ((1, 16385), "H from 1 to 16384, not 16385"),
            ((1, 1, 0), "H from 1 to 16384, not 0"),
            ((65537, 8), "rows from 1 to 65536, not 65537"),
            ((0, 8), "rows from 1 to 65536, not 0"),
        )
    ),
    ({"gamma": GAMMA.astype(np.float32)}, TypeError, "gamma must be bfloat16 or float16, not float32"),
    *(({"gamma": np.ones(shape, BF)}, ValueError, f"{GAMMA_SHAPE} {shape}") for shape in ((7,), (8, 1))),
    *(({"eps": each}, TypeError, f"eps must be a number, not {each!r}") for each in ("1e-6", True, None)),
    *(({"eps": each}, ValueError, f"{BAD_EPS} {each}") for each in (-1e-6, np.nan, np.inf, np.int8(-128), 3.4e38)),
    ({"eps": 10**300}, ValueError, f"{BAD_EPS} an"),
    ({"eps": 10**400}, ValueError, "eps must be a number of float64's range, not an integer of 1329 bits"),
    ({"eps_placement": "outside"}, ValueError, "eps_placement must be 'kernel' or 'golden', not 'outside'"),
    ({"eps_placement": None}, TypeError, "eps_placement must be 'kernel' or 'golden', not None"),
    ({"sum_order": "tree"}, ValueError, "sum_order must be 'serial' or 'exact', not 'tree'"),
]
STATIC_ALONE = {"quant_type": "static"}
QUANT = [
    ({"quant_type": "column"}, ValueError, "quant_type must be 'row' or 'static', not 'column'"),
    ({"quant_type": 1}, TypeError, "quant_type must be 'row' or 'static', not 1"),
    (STATIC_ALONE, ValueError, "in_scale must be float32 [128, 1] with quant_type 'static', not None"),
    ({"in_scale": SCALE}, ValueError, "in_scale must be None with quant_type 'row', not a ndarray"),
    (
        STATIC_ALONE | {"in_scale": SCALE.astype(BF)},
        TypeError,
        "in_scale must be float32, not bfloat16",
    ),
    (STATIC_ALONE | {"in_scale": 1.0}, TypeError, "in_scale must be a numpy array, not 1.0"),
    (STATIC_ALONE | {"in_scale": SCALE[:3]}, ValueError, "in_scale must have shape (128, 1), not (3, 1)"),
    (STATIC_ALONE | {"in_scale": SCALE[:, 0]}, ValueError, "in_scale must have shape (128, 1), not (128,)"),
    ({"quant_only": 1}, TypeError, "quant_only must be True or False, not 1"),
    ({"quant_only": True, "gamma": np.ones(7, BF)}, ValueError, f"{GAMMA_SHAPE} (7,)"),
    *(({"lower_bound": each}, ValueError, f"{BOUND} {each}") for each in (-0.1, np.nan, 1e39, np.int8(-128))),
    ({"lower_bound": 10**5000}, ValueError, "lower_bound must be a number of float64's range, not an integer of"),
    (
        {"lower_bound": np.longdouble("1e4000")},
        ValueError,
        "lower_bound must be a number of float64's range, not 1e+4000",
    ),
    ({"lower_bound": None}, TypeError, "lower_bound must be a number, not None"),
    ({"static_scale_row": "tile"}, ValueError, "static_scale_row must be 'input' or 'shard', not 'tile'"),
    ({"static_scale_row": 1}, TypeError, "static_scale_row must be 'input' or 'shard', not 1"),
    *(({"shards": each}, ValueError, f"shards must be 1 to 3 for 3 rows, not {each}") for each in (0, 4)),
    *(({"shards": each}, TypeError, f"shards must be an integer, not {each}") for each in (1.0, True)),
]


def test_refused(subtests):
    for function, changes, error, sentence in [
        *((function, *case) for case in BOTH for function in (rmsnorm, rmsnorm_quant)),
        *((rmsnorm_quant, *case) for case in QUANT),
    ]:
        with subtests.test(sentence), pytest.raises(error, match=f"^{re.escape(sentence)}"):
            function(**({"hidden": HIDDEN, "gamma": GAMMA} | changes))


@pytest.mark.parametrize("shape", [(2, 1, 1), (1, 1, 16384), (65536, 1), (2, 32768, 1)])
def test_limits_themselves_are_allowed(shape):
    got = rmsnorm_quant(np.ones(shape, BF), None, quant_only=True)
    assert got.shape == (*shape[:-1], shape[-1] + 4)
    assert set(got[..., :-4].flat) == {0x77}


INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


@pytest.mark.parametrize("dtype", [*INTEGERS, np.float16, np.float32, np.longdouble])
def test_numpy_numbers_mean_their_value(dtype):
    """Elements of both signs beyond the bound, so that its negative counts; a mean square that eps changes."""
    hidden = np.linspace(-40, 40, 24, dtype=np.float32).reshape(3, 8).astype(BF)
    for options in (
        {"quant_only": True, "lower_bound": 5, "shards": np.int64(2)},
        {"eps": 100, "lower_bound": 1},
        {"eps": 3, "eps_placement": "golden"},
    ):
        given, absent = (
            {name: type_of(each) if name in ("eps", "lower_bound") else each for name, each in options.items()}
            for type_of in (dtype, lambda _: 0.0)
        )
        plain = rmsnorm_quant(hidden, GAMMA, **options)
        assert np.array_equal(rmsnorm_quant(hidden, GAMMA, **given), plain)
        assert not np.array_equal(rmsnorm_quant(hidden, GAMMA, **absent), plain)
    plain, same = (rmsnorm(hidden, GAMMA, eps=eps).view(np.uint16) for eps in (100.0, dtype(100)))
    assert np.array_equal(plain, same)


def test_eps_is_rounded_once():
    """2**100 + 2**92 is a tie of bfloat16, and what float64 does not hold lies above it."""
    eps = (1 << 100) + (1 << 92)
    hidden = np.full((1, 8), 2.0**53, BF)
    up, down = (rmsnorm(hidden, GAMMA, eps=each, eps_placement="golden") for each in (2.0**100 + 2.0**93, 2.0**100))
    assert not np.array_equal(up.view(np.uint16), down.view(np.uint16))
    for value, expected in ((eps + 1, up), (eps, down), (eps - 1, down)):
        got = rmsnorm(hidden, GAMMA, eps=value, eps_placement="golden")
        assert np.array_equal(got.view(np.uint16), expected.view(np.uint16))


# RMSNorm-Quant's residual, pre-norm and OCP format, SPEC's CPU golden, unpacked rows, and the timeline of engines.


FN = ml_dtypes.float8_e4m3fn
PRESET_EPS = TRAINIUM3_RMSNORM_QUANT.numerics.eps


def array(fmt, codes):
    return np.asarray(codes).astype(f"u{fmt.width // 8}").view(DTYPES[fmt])


@pytest.mark.parametrize("mode", DtypeModeName.__args__)
@pytest.mark.parametrize("source", [BF16, FP16, FP32], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize(("pre", "residual", "norm"), [(1, 1, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_options_are_the_scalar_tier(mode, source, pre, residual, norm):
    """Row and static quantisation, with and without a lower bound; sums come out as bfloat16."""
    rng = np.random.default_rng([source.width, pre, residual, norm])
    hidden, addend = (draw(rng, source.name.lower(), (3, 9)) for _ in range(2))
    hidden[0] = source.bias << source.fraction_bits
    gammas = [array(BF16, (rng.standard_normal(9) + 1).astype(BF).view(np.uint16)) for _ in range(2)]
    numerics = NUMERICS[DtypeMode(mode)]
    scale = np.full((128, 1), 0.01, np.float32)
    norm_options = {"eps": PRESET_EPS, "eps_placement": EpsPlacement.KERNEL, "sum_order": SumOrder.SERIAL}
    for bound, static in ((0.0, {}), (0.7, {}), (0.0, {"quant_type": "static", "in_scale": scale})):
        got = rmsnorm_quant(
            array(source, hidden), gammas[0] if norm else None, quant_only=not norm, lower_bound=bound,
            dtype_mode=mode, residual=array(source, addend) if residual else None,
            pre_norm_gamma=gammas[1] if pre else None, **static,
        )  # fmt: skip
        packed, sums = got if residual else (got, None)
        for p in range(3):
            row = load_row(numerics, hidden[p].tolist(), source)
            if pre:
                row = rmsnorm_row(numerics, row, codes_of(gammas[1]).tolist(), BF16, BF16, **norm_options)
            if residual:
                row = add_residual(numerics, row, addend[p].tolist(), source)
                assert codes_of(sums)[p].tolist() == row
            if norm:
                row = rmsnorm_row(numerics, row, codes_of(gammas[0]).tolist(), BF16, BF16, **norm_options)
            if static:
                assert packed[p].tolist() == quantize_row_static(numerics, row, int(scale[0].view(np.uint32)[0]))
            else:
                expected = row_bytes(*quantize_row(numerics, row, lower_bound=Fraction(bound)))
                assert packed[p].tobytes() == expected


def test_ocp_reaches_448():
    row = np.array([[1, -2, 4, 3]], BF)
    packed = rmsnorm_quant(row, None, quant_only=True, dtype_mode="ocp")
    data, scale = unpack_rows(packed, dtype=FN)
    assert data.astype(np.float32).tolist() == [[112, -224, 448, 320]]  # 336 is a tie of 320 and 352
    assert scale.item() == np.float32(np.float32(4) * np.float32(1 / 448))


def test_residual_keeps_hiddens_shape():
    hidden, gamma = np.ones((1, 2, 4), np.float16), np.ones(4, BF)
    packed, sums = rmsnorm_quant(hidden, gamma, residual=hidden)
    assert packed.shape == (1, 2, 8)
    assert (sums.dtype, sums.tolist()) == (BF, np.full((1, 2, 4), 2.0).tolist())


def test_unpacked_rows_are_the_packed_ones():
    rng = np.random.default_rng(5)
    packed = rng.integers(0, 256, (2, 3, 11), dtype=np.uint8)
    data, scale = unpack_rows(packed)
    assert (data.shape, scale.shape, data.dtype) == ((2, 3, 7), (2, 3, 1), ml_dtypes.float8_e4m3)
    assert np.concatenate([data.view(np.uint8), scale.view(np.uint8)], axis=-1).tobytes() == packed.tobytes()


usual = st.integers(0x3E000000, 0x41FFFFFF).flatmap(lambda code: st.sampled_from([code, code | 1 << 31]))
any_code = st.one_of(usual, usual, st.sampled_from([0, 1 << 31, 1, 0x007FFFFF, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(any_code, usual), min_size=1, max_size=6),
    st.sampled_from([0.0, 1e-6, 0.25]),
    st.sampled_from(list(SumOrder)),
)
def test_reference_is_the_scalar_tier(pairs, eps, order):
    row, gamma = map(list, zip(*pairs, strict=True))
    arguments = array(FP32, [row]), array(FP32, gamma), eps
    eps_code = int(np.float32(eps).view(np.uint32))
    try:
        data, scale = reference_row(TRAINIUM3_RMSNORM_QUANT.numerics, row, gamma, eps_code, order)
    except ValueError:
        with pytest.raises(
            ValueError, match=r"^hidden must have rows with a finite scale; row 0 is all zeros, too small"
        ):
            rmsnorm_quant_reference(*arguments, sum_order=order.value)
        return
    got = rmsnorm_quant_reference(*arguments, sum_order=order.value)
    assert [codes_of(each)[0].tolist() for each in got] == [data, [scale]]


def test_reference_is_numpys_up_to_the_sum():
    """The steps of SPEC's golden as numpy has them; one element in a row, so that no sum has an order."""
    rng = np.random.default_rng(9)
    hidden, gamma = rng.standard_normal((2, 40, 1)).astype(np.float32), np.array([1.5], np.float32)
    rms = np.sqrt(np.mean(np.square(hidden), axis=-1, keepdims=True))
    norm = hidden * np.reciprocal(rms + np.float32(1e-6)) * gamma
    factor = np.float32(240) / np.abs(norm).max(axis=-1, keepdims=True)
    data, scale = rmsnorm_quant_reference(hidden, gamma)
    assert np.array_equal(data.view(np.uint8), (norm * factor).astype(ml_dtypes.float8_e4m3).view(np.uint8))
    assert np.array_equal(scale, np.reciprocal(factor))


def test_reference_is_near_the_kernel():
    """SPEC compares the kernel with it; the vendor's tolerance of scales is 0.007 of the largest."""
    rng = np.random.default_rng(2)
    hidden, gamma = rng.standard_normal((1, 30, 256)).astype(BF), np.ones(256, BF)
    _, scale = rmsnorm_quant_reference(hidden, gamma)
    _, packed = unpack_rows(rmsnorm_quant(hidden, gamma))
    assert np.abs(scale - packed).max() <= 0.007 * scale.max()


RATES = TRAINIUM2.numerics


@pytest.mark.parametrize("rates", [RATES, TRAINIUM3.numerics])
@pytest.mark.parametrize("tokens", [2, 256, 300, 2048])
def test_one_buffer_is_the_serial_time(rates, tokens):
    steps = flow_timeline(rates, tokens, 512, buffers=1)
    assert max(step.end for step in steps) == pytest.approx(flow_latency(rates, tokens, 512), rel=1e-12)
    ordered = [step for step in steps if step.engine != "tensor"]
    assert all(first.end <= second.start + 1e-12 for first, second in pairwise(ordered))


@pytest.mark.parametrize("buffers", [2, 3, 8])
def test_overlapped_steps_keep_their_order(buffers):
    """Engines do one thing at a time, a tile's steps follow each other, and a buffer is stored before it is loaded again."""
    steps = flow_timeline(RATES, 2048, 8192, buffers=buffers)
    for engines in (("load", "store"), ("scalar",), ("vector",), ("tensor",)):
        busy = sorted((step.start, step.end) for step in steps if step.engine in engines)
        assert all(first[1] <= second[0] + 1e-9 for first, second in pairwise(busy))
    of = {(step.engine, step.tile): step for step in steps}
    assert len(of) == len(steps) == 5 * 8
    for tile in range(8):
        chain = [of[engine, tile] for engine in ("load", "scalar", "vector", "store")]
        assert all(first.end <= second.start + 1e-9 for first, second in pairwise(chain))
        assert of["tensor", tile].start == of["vector", tile].start
        if tile >= buffers:
            assert of["store", tile - buffers].end <= of["load", tile].start + 1e-9


def test_vector_engine_bounds_the_overlapped_flow():
    """VectorE is never idle between the first tile and the last: 8 tiles, gamma, and the ends of one tile with their starts."""
    tile = tile_latency(RATES, 8192)
    steps = flow_timeline(RATES, 2048, 8192)
    ends = gamma_latency(RATES, 8192) + 2 * tile.start + tile.dma + tile.scalar
    assert max(step.end for step in steps) == pytest.approx(ends + 8 * tile.vector)


ROWS, WEIGHTS = np.ones((2, 4), BF), np.ones(4, BF)
BAD = [
    (lambda: rmsnorm_quant(ROWS, WEIGHTS, dtype_mode="fn"), ValueError, "dtype_mode must be 'non_ocp' or 'ocp', not 'fn'"),
    (lambda: rmsnorm_quant(ROWS, WEIGHTS, residual=ROWS[:1]), ValueError, r"residual must have hidden's shape \(2, 4\), not \(1, 4\)"),
    (lambda: rmsnorm_quant(ROWS, WEIGHTS, residual=ROWS.astype(np.float64)), TypeError, "residual must be bfloat16, float16 or float32, not"),
    (lambda: rmsnorm_quant(ROWS, WEIGHTS, pre_norm_gamma=WEIGHTS[:2]), ValueError, r"pre_norm_gamma must have shape \(4,\) or \(1, 4\), not \(2,\)"),
    (lambda: rmsnorm_quant_reference(ROWS * 0, WEIGHTS), ValueError, "hidden must have rows with a finite scale; row 0 is all zeros, too small or not"),
    (lambda: rmsnorm_quant_reference(ROWS, WEIGHTS[:2]), ValueError, r"gamma must have shape \[4\], not \(2,\)"),
    (lambda: rmsnorm_quant_reference(ROWS, WEIGHTS, "x"), TypeError, "eps must be a number, not 'x'"),
    (lambda: unpack_rows(np.ones((2, 4), np.uint8)), ValueError, r"packed must have shape \[..., H \+ 4\] with H of at least 1, not \(2, 4\)"),
    (lambda: unpack_rows(np.ones((2, 8), np.uint8), dtype=BF), TypeError, "dtype must be float8_e4m3 or float8_e4m3fn, not bfloat16"),
    (lambda: unpack_rows(np.ones((2, 8), np.int8)), TypeError, "packed must be uint8, not int8"),
    (lambda: flow_timeline(RATES, 300, 512, buffers=9), ValueError, "buffers must be 1 to 8, not 9"),
    (lambda: flow_timeline(RATES, 1, 512), ValueError, "tokens must be at least 2, one for each core, not 1"),
]  # fmt: skip


def test_arguments(subtests):
    for call, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()


def test_modes_name_the_members():
    assert DtypeModeName.__args__ == tuple(member.value for member in DtypeMode)
    assert fp32.convert(0x7FC00000, FP32, NUMERICS[DtypeMode.OCP].output) == 0x7F
