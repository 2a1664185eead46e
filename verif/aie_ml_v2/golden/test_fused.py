"""The floating-point multiply-accumulate: one lane by both tiers over formats and numerics, and corners by hand."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import permutations, product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX4, MX9, MX_FORMATS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS, Mx4Path
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array
from bitpath.golden.formats.catalogue import BF16, E4M3, E5M2FNUZ, FP16, FP32, Specials
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.verif.aie_ml_v2.golden.operands import NEGATIONS, accumulators, negations

# The floating-point multiply-accumulate by hand: alignment, signs, flushes, specials, shapes.


BASE = AIE_ML_V2.numerics
NO_ZERO_TERMS = replace(BASE, mx_zero_term=False)
EACH_PRODUCT = replace(BASE, mx_post_add_first=False)


dot = partial(aie.fused_dot, format="bf16")


def bf16(*values):
    lane = np.zeros(8, np.float32)
    lane[: len(values)] = values
    return lane.astype(ml_dtypes.bfloat16)


def block(exponent, code):
    """Return an MX9 block of equal codes."""
    return aie.MxBlocks("mx9", np.array([exponent], np.uint8), np.zeros(1, np.uint8), np.full((1, 16), code, np.int8))


def f32(value):
    return np.array(value, np.float32)


def test_alignment_rounds_each_term():
    """2**24 + 1 + 1 as one sum is 2**24 + 2, but each 1 is half a unit of the grid, a tie that goes to even: 0."""
    big, one = bf16(4096.0), bf16(4096.0)
    assert dot(big, one) == 2.0**24
    a, b = bf16(4096.0, 1.0, 1.0), bf16(4096.0, 1.0, 1.0)
    # A product's exponent code comes from its operands: the grid of 2**24 has unit 2.
    assert dot(a, b) == 2.0**24
    a, b = bf16(4096.0, 1.0, 1.0, 1.0), bf16(4096.0, 1.5, 1.5, 1.0)
    assert dot(a, b) == 2.0**24 + 4


def test_the_accumulator_is_inside_the_one_sum():
    """pto-isa#280: added after the products it would lose less. -2**24 in acc1 cancels 2**24, of 1 + 1 nothing is left."""
    a, b = bf16(4096.0, 1.0, 1.0), bf16(4096.0, 1.0, 1.0)
    assert dot(a, b, f32(-(2.0**24))) == 0
    assert dot(bf16(1.0, 1.0), bf16(1.0, 1.0), f32(-(2.0**24))) == -(2.0**24)


@pytest.mark.parametrize("sign", [1, -1])
def test_zero_codes_under_a_large_exponent_erase_an_accumulator(sign):
    """The block pair's exponent is known before its sum is: 180 + 127 + 1 against an accumulator of 1.0."""
    zero, one, acc = block(180, 0), block(127, 64), f32(sign)
    assert aie.fused_dot(zero, one, acc, format="mx9") == 0
    assert aie.fused_dot(zero, one, acc, format="mx9", numerics=NO_ZERO_TERMS) == sign
    # Unless an exponent is 0, as in a block of zeros.
    empty = aie.to_mx(np.zeros(16, np.float32), "mx9")
    assert aie.fused_dot(empty, block(254, 64), acc, format="mx9") == sign
    # Exponents of 1 and 254 count: the sum's code is 256, on whose grid 2**-23 is half a unit.
    acc = f32(sign * 2.0**-23)
    for zeros in permutations((block(1, 0), block(254, 0))):
        assert aie.fused_dot(*zeros, acc, format="mx9") == 0
        assert aie.fused_dot(*zeros, acc, format="mx9", numerics=NO_ZERO_TERMS) == acc


def test_a_product_of_a_zero_erases_no_accumulator():
    """Its code would be 256, on whose grid 2**-23 is half a unit."""
    acc, zero, huge = f32(2.0**-23), bf16(0.0), bf16(2.0**127)
    assert dot(zero, huge, acc) == acc
    assert dot(zero, huge, acc, numerics=replace(BASE, float_zero_term=True)) == 0


@pytest.mark.parametrize("distance", range(30))
def test_every_alignment_distance(distance):
    """1.0 in the accumulator and one product 2**-distance: kept on the grid, a tie at 24, nothing below."""
    for sign in (1, -1):
        got = dot(bf16(1.0), bf16(2.0**-distance), f32(1.0), negate_products=sign < 0)
        assert got == (1 + sign * 2.0**-distance if distance <= 23 else 1.0)


def test_results_below_the_normal_numbers_are_flushed_after_the_rounding_carry():
    tiny = bf16(2.0**-63)
    assert dot(tiny, tiny) == 2.0**-126
    for sign in (1, -1):
        flushed = dot(tiny, bf16(sign * 2.0**-64))
        assert flushed == 0
        assert np.signbit(flushed) == (sign < 0)
    # 2**-126 less a quarter of FP32's last place there carries up to a normal number.
    almost = dot(bf16(2.0**-63, 2.0**-76), bf16(2.0**-63, -(2.0**-76)))
    assert almost == 2.0**-126
    # A subnormal accumulator takes part in the sum and is flushed at the end.
    subnormal = np.array(0x00400000, np.uint32).view(np.float32)
    assert aie.add_accumulators(subnormal, subnormal) == 2.0**-126
    assert aie.add_accumulators(subnormal, np.zeros_like(subnormal)) == 0


def test_overflow_and_specials():
    inf, nan, huge = np.inf, np.nan, 2.0**127
    one = bf16(1.0)
    assert dot(bf16(huge), bf16(2.0)) == inf
    assert dot(bf16(huge), bf16(-2.0)) == -inf
    # The intermediate sum exceeds the range, the result does not.
    assert dot(bf16(huge, huge), bf16(2.0, -2.0)) == 0
    assert dot(bf16(inf), one, negate_products=True) == -inf
    for a, b, acc in (
        (bf16(nan), one, None),
        (bf16(inf), bf16(0.0), None),
        (bf16(inf, inf), bf16(1.0, -1.0), None),
        (bf16(inf), one, f32(-inf)),
        (one, one, f32(nan)),
    ):
        assert dot(a, b, acc).view(np.uint32) == FP32.nan_code
    assert dot(one, one, f32(nan), zero_acc1=True) == 1


def test_cancellation_is_plus_zero():
    minus_zero = f32(-0.0)
    assert not np.signbit(dot(bf16(1.0), bf16(-1.0), f32(1.0)))
    assert not np.signbit(dot(bf16(-0.0), bf16(1.0), minus_zero, minus_zero))
    assert not np.signbit(aie.add_accumulators(minus_zero, minus_zero))


@pytest.mark.parametrize("fmt", [*FLOAT8_FORMATS, *FLOAT16_FORMATS], ids=lambda fmt: fmt.name)
def test_subnormals_enter_without_a_hidden_bit_at_exponent_1(fmt):
    """The smallest subnormal, added to 1.0 in the accumulator, and the exponent code of its term."""
    lane = np.zeros(8, f"u{fmt.width // 8}")
    lane[0] = 1
    one = np.zeros(8, np.float32)
    one[0] = 1.0
    codes = lane.view(DTYPES[fmt])
    got = aie.fused_dot(codes, one.astype(DTYPES[fmt]), format="fp8" if fmt.width == 8 else "fp16")
    smallest = decode(fmt, 1).value
    assert got == (0 if smallest < FP32.min_normal else float(smallest))
    trace = exact.trace_float_lane(BASE, [(1, fmt)], [(int(codes_of(one.astype(DTYPES[fmt]))[0]), fmt)])
    assert trace.terms[0].exponent == 1 + fmt.bias + 1 + 2 * 127 - 2 * fmt.bias


def test_signs_of_all_operands():
    """+-3 +-1 +-0.5: eight sums; add, subtract and negate of products and accumulators."""
    for p, q, r in product((1, -1), repeat=3):
        signs = {"negate_acc1": q < 0, "negate_acc2": r < 0}
        assert dot(bf16(3.0), bf16(1.0), f32(1.0), f32(0.5), negate_products=p < 0, **signs) == 3 * p + q + 0.5 * r
        assert aie.add_accumulators(f32(1.0), f32(0.5), **signs) == q + 0.5 * r
    assert dot(bf16(3.0), bf16(1.0), f32(1.0), f32(0.5)) == 4.5


def test_leading_axes_broadcast():
    """Operands and accumulators broadcast over leading axes; each lane equals its result computed alone."""
    rng = np.random.default_rng(23)
    a = rng.standard_normal((3, 1, 8)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((4, 8)).astype(ml_dtypes.bfloat16)
    acc1, acc2 = rng.standard_normal((4,), dtype=np.float32), f32(0.25)
    got = dot(a, b, acc1, acc2)
    assert got.shape == (3, 4)
    x, y = (aie.to_mx(side.astype(np.float32).repeat(2, axis=-1), "mx6") for side in (a, b))
    blocks = aie.fused_dot(x, y, acc1, acc2, format="mx6")
    lossy = aie.fused_dot(x, y, acc1, acc2, format="mx6", numerics=EACH_PRODUCT)
    for i, j in product(range(3), range(4)):
        assert got[i, j] == dot(a[i, 0], b[j], acc1[j : j + 1], acc2)[0]
        assert blocks[i, j] == aie.fused_dot(x[i, 0], y[j], acc1[j : j + 1], acc2, format="mx6")[0]
        alone = aie.fused_dot(x[i, 0], y[j], acc1[j : j + 1], acc2, format="mx6", numerics=EACH_PRODUCT)
        assert lossy[i, j] == alone[0]
    assert aie.add_accumulators(acc1, acc2).tolist() == (acc1 + acc2).tolist()


def test_element_wise_products_are_lanes_of_one_product():
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((32, 1)).astype(ml_dtypes.bfloat16) for _ in range(2))
    padded = [np.concatenate([each, np.zeros((32, 7), each.dtype)], axis=-1) for each in (a, b)]
    assert np.array_equal(dot(a, b), dot(*padded))


@pytest.mark.parametrize("fmt", MX_FORMATS.values(), ids=lambda fmt: fmt.name)
def test_from_mx_is_a_product_with_an_identity_block(fmt):
    """As the AIE API converts: exponent 127 and code 1.0 pick one element; zeros are +0 either way."""
    rng = np.random.default_rng(33)
    exponent = np.concatenate([np.arange(256), [0, 1, 254, 255]]).astype(np.uint8)[:, np.newaxis]
    codes = rng.integers(fmt.min_code, fmt.max_code + 1, (260, 1, 16)).astype(np.int8)
    codes[-4:] = fmt.min_code
    blocks = aie.MxBlocks(fmt, exponent, rng.integers(0, 256, exponent.shape).astype(np.uint8), codes)
    ones = (np.eye(16) * (1 << fmt.magnitude_bits - 1)).astype(np.int8)[:, np.newaxis]
    whole = np.zeros((16, 1), np.uint8)
    identity = aie.MxBlocks(fmt, whole + np.uint8(127), whole, ones)
    got = aie.fused_dot(blocks[:, np.newaxis], identity[np.newaxis], format=fmt.name).view(np.uint32)
    assert np.array_equal(got, aie.from_mx(blocks).view(np.uint32))


def test_paths_of_mx4_give_equal_values():
    rng = np.random.default_rng(6)
    x = rng.standard_normal((2, 200, 16), dtype=np.float32)
    a, b = (aie.to_mx(each, "mx4") for each in x)
    acc = rng.standard_normal(200, dtype=np.float32)
    results = [
        aie.fused_dot(a, b, acc, format="mx4", numerics=PRESETS[name].numerics)
        for name in ("aie_ml_v2", "aie_ml_v2_documented")
    ]
    assert np.array_equal(*results)
    # The registers of MX6 and of MX9 hold the same numbers.
    for name, factor in (("mx6", 4), ("mx9", 32)):
        wide = [aie.MxBlocks(name, each.exponent, each.shift, (each.codes * factor).astype(np.int8)) for each in (a, b)]
        assert np.array_equal(aie.fused_dot(*wide, acc, format=name), results[0])


@pytest.mark.parametrize("fmt", MX_FORMATS.values(), ids=lambda fmt: fmt.name)
def test_halves_of_mx9_are_rounded_separately(fmt):
    """Each half sums to a quarter, on a grid of 0.5: together they are one unit; rounded separately, each is a tie to 0.

    MX4 has halves where it takes MX9's path.
    """
    codes = np.zeros((1, 16), np.int8)
    codes[0, [0, 8]] = 1 << fmt.magnitude_bits - 2
    half = aie.MxBlocks(fmt, np.array([127], np.uint8), np.zeros(1, np.uint8), codes)
    for path in Mx4Path:
        numerics = replace(BASE, mx9_split_round=True, mx4_path=path)
        apart = fmt is MX9 or (fmt is MX4 and path is Mx4Path.MX9)
        got = aie.fused_dot(half, half, f32(2.0**22), format=fmt.name, numerics=numerics)
        assert got == 2.0**22 + (0 if apart else 0.5)


def test_traces_explain_themselves():
    trace = exact.trace_float_lane(BASE, [(0x3F80, BF16)], [(0x4000, BF16)], 0x3F800000)
    assert (trace.exponent, trace.total, trace.result) == (127 + 128 + 1, 3 << 22, 0x40400000)
    assert [term.kind for term in trace.terms] == [Kind.FINITE] * 2
    assert [term.aligned for term in trace.terms] == [1 << 23, 1 << 22]
    assert trace.exact == 3


@pytest.mark.parametrize("exponent", [0, 127, 255])
@pytest.mark.parametrize("code", [-1, 0, 1])
def test_terms_of_blocks_are_numbers_or_nan(exponent, code):
    block, ones = (exact.Block(MX9, each, 0, (value,) * 16) for each, value in ((exponent, code), (127, 1)))
    trace = exact.trace_mx_lane(BASE, block, ones)
    term = trace.terms[0]
    if exponent == 255:
        assert (term.kind, term.sign, term.value, term.exponent) == (Kind.NAN, 0, 0, None)
        assert (trace.total, trace.exact) == (None, None)
    else:
        value = Fraction(16 * code, 1 << 12) * Fraction(2) ** (exponent - 127)
        counts = exponent + 128 if code or exponent else None
        assert (term.kind, term.sign, term.value, term.exponent) == (Kind.FINITE, int(code < 0), value, counts)
        assert trace.exact == value
        assert (trace.total == 0) is (code == 0)


def test_fnuz_is_among_the_8_bit_floats():
    assert sum(fmt.specials is Specials.UNSIGNED_ZERO for fmt in FLOAT8_FORMATS) == 2


# The floating-point multiply-accumulate: one lane by both tiers over formats and numerics, and corners by hand.


FIELDS = ("align_rounding", "accumulator_align_rounding", "result_rounding")
NUMERICS = {name: preset.numerics for name, preset in PRESETS.items()} | {
    "zero_terms": replace(BASE, float_zero_term=True),
    "no_zero_terms": replace(BASE, mx_zero_term=False),
    "positive_flush": replace(BASE, flushed_zero_keeps_sign=False),
    "each_product": replace(BASE, mx_post_add_first=False),
    "lossy_shift": replace(BASE, mx_lossless_shift=False),
    "lossy_split": replace(BASE, mx_lossless_shift=False, mx9_split_round=True, mx4_path=Mx4Path.MX9),
    "no_nan_block": replace(BASE, mx_nan_block=False),
    "fraction_20": replace(BASE, align_fraction_bits=20),
    "fraction_26": replace(BASE, align_fraction_bits=26),
    **{
        f"{field}_{code.name.lower()}": replace(BASE, **{field: code})
        for field, code in product(FIELDS, RoundingCode)
        if code is not RoundingCode.CONV_EVEN
    },
}
FLOATS = [*product(FLOAT16_FORMATS, repeat=2), *product(FLOAT8_FORMATS, repeat=2)]
KINDS = ("any", "finite", "near", "cancel", "edges")
N = 24


def float_codes(rng, fmt, kind, count=N):
    shape = (count, 8)
    codes = rng.integers(0, 1 << fmt.width, shape)
    middle = fmt.bias + rng.integers(-2, 3, shape) << fmt.fraction_bits
    if kind in ("near", "cancel"):
        codes = codes & (fmt.sign_mask | fmt.fraction_mask) | middle
    if kind == "edges":
        edges = [0, 1, fmt.fraction_mask, fmt.fraction_mask + 1, fmt.max_code]
        edges += [] if fmt.infinity_code is None else [fmt.infinity_code]
        codes = rng.choice(edges, shape) | codes & fmt.sign_mask
    if kind != "any":
        nan = np.isnan(decode_array(fmt, codes))
        codes = np.where(nan, 0, codes)
    if kind == "cancel":
        codes[:, 4:] = codes[:, :4]
    return codes.astype(f"u{fmt.width // 8}").view(DTYPES[fmt])


def check_floats(numerics, a, b, acc1, acc2, **signs):
    fmt = "fp8" if a.dtype.itemsize == 1 else "bf16"
    got = aie.fused_dot(a, b, acc1, acc2, format=fmt, numerics=numerics, **signs).view(np.uint32)
    x_format, y_format = (next(f for f in DTYPES if DTYPES[f] == each.dtype) for each in (a, b))
    for i in range(len(a)):
        x = [(code, x_format) for code in codes_of(a[i]).tolist()]
        y = [(code, y_format) for code in codes_of(b[i]).tolist()]
        accs = [None if acc is None else int(acc[i].view(np.uint32)) for acc in (acc1, acc2)]
        trace = exact.trace_float_lane(numerics, x, y, *accs, **signs)
        assert got[i] == trace.result, trace


CASES = [(x, y, "aie_ml_v2") for x, y in FLOATS]
CASES += [(x, y, name) for name in NUMERICS for x, y in ((BF16, FP16), (E4M3, E5M2FNUZ)) if name not in PRESETS]


@pytest.mark.parametrize(("x", "y", "name"), CASES, ids=lambda each: getattr(each, "name", each))
def test_float_lanes(x, y, name):
    rng = np.random.default_rng(3)
    for kind in KINDS:
        count = N if name in PRESETS else N // 2
        a, b = float_codes(rng, x, kind, count), float_codes(rng, y, kind, count)
        if kind == "cancel":
            b[:, 4:] = (-b[:, :4].astype(np.float32)).astype(b.dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            sums = (decode_array(x, codes_of(a)) * decode_array(y, codes_of(b))).sum(axis=-1)
        acc1, acc2 = accumulators(rng, kind, sums), accumulators(rng, kind, sums)
        signs = negations(NEGATIONS[int(rng.integers(8))])
        for given_accs in ((None, None), (acc1, None), (acc1, acc2)):
            check_floats(NUMERICS[name], a, b, *given_accs, **signs)


def mx_blocks(rng, fmt, kind, count=N):
    exponent = {
        "any": rng.integers(0, 256, (count, 1)),
        "near": rng.integers(120, 134, (count, 1)),
        "low": rng.choice([0, 0, 1, 2, 127], (count, 1)),
        "high": rng.choice([127, 190, 253, 254, 255], (count, 1)),
    }[kind]
    codes = rng.integers(fmt.min_code, fmt.max_code + 1, (count, 1, 16))
    codes[: count // 6] = fmt.min_code
    codes[count // 6 : count // 3] *= rng.random((count // 3 - count // 6, 1, 16)) < 0.1
    shift = rng.choice([0, 255, *range(256)], (count, 1))
    return aie.MxBlocks(fmt, exponent.astype(np.uint8), shift.astype(np.uint8), codes.astype(np.int8))


def check_mx(numerics, a, b, acc1, acc2, **signs):
    got = aie.fused_dot(a, b, acc1, acc2, format=a.fmt.name, numerics=numerics, **signs).view(np.uint32)
    for i in range(len(a.exponent)):
        x, y = (
            exact.Block(each.fmt, int(each.exponent[i, 0]), int(each.shift[i, 0]), tuple(each.codes[i, 0].tolist()))
            for each in (a, b)
        )
        accs = [None if acc is None else int(acc[i].view(np.uint32)) for acc in (acc1, acc2)]
        trace = exact.trace_mx_lane(numerics, x, y, *accs, **signs)
        assert got[i] == trace.result, trace


@pytest.mark.parametrize("name", NUMERICS)
@pytest.mark.parametrize("fmt", MX_FORMATS.values(), ids=lambda fmt: fmt.name)
def test_mx_lanes(fmt, name):
    rng = np.random.default_rng(4)
    for kind in ("any", "near", "low", "high"):
        a, b = mx_blocks(rng, fmt, kind), mx_blocks(rng, fmt, kind)
        with np.errstate(invalid="ignore", over="ignore"):
            sums = (aie.from_mx(a).astype(float) * aie.from_mx(b)).sum(axis=-1)
        acc1, acc2 = accumulators(rng, kind, sums), accumulators(rng, kind, sums)
        for given_accs in ((None, None), (acc1, None), (acc1, acc2)):
            check_mx(NUMERICS[name], a, b, *given_accs, **negations(NEGATIONS[int(rng.integers(8))]))


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_any_bf16_lane(data):
    words = st.lists(st.integers(0, (1 << 16) - 1), min_size=8, max_size=8)
    a, b = (np.array([data.draw(words)], np.uint16).view(ml_dtypes.bfloat16) for _ in range(2))
    accs = [np.array([data.draw(st.integers(0, (1 << 32) - 1))], np.uint32).view(np.float32) for _ in range(2)]
    name = data.draw(st.sampled_from(sorted(NUMERICS)))
    check_floats(NUMERICS[name], a, b, *accs, **negations(data.draw(st.sampled_from(NEGATIONS))))


@pytest.mark.parametrize(("x", "y"), list(product(FLOAT8_FORMATS, repeat=2)), ids=lambda fmt: fmt.name)
def test_every_pair_of_8_bit_floats(x, y):
    """See ucb-bar/saturn-vectors#101: a single product has at most 8 significand bits, so it is exact in FP32."""
    a, b = np.meshgrid(*(np.arange(256, dtype=np.uint8),) * 2, indexing="ij")
    lanes = []
    for codes, fmt in ((a, x), (b, y)):
        lane = np.zeros((256, 256, 8), np.uint8)
        lane[..., 3] = codes
        lanes.append(lane.view(DTYPES[fmt]))
    got = aie.fused_dot(*lanes, format="fp8")
    with np.errstate(invalid="ignore"):
        expected = decode_array(x, a) * decode_array(y, b)
    expected = np.where(expected == 0, 0.0, expected)
    assert np.array_equal(got, expected.astype(np.float32), equal_nan=True)
    assert not np.signbit(got[got == 0]).any()
    assert np.isnan(got).sum() == np.isnan(expected).sum()


@pytest.mark.parametrize("fmt", MX_FORMATS.values(), ids=lambda fmt: fmt.name)
def test_every_pair_of_mx_codes_under_every_pair_of_shifts(fmt):
    codes = np.arange(fmt.min_code, fmt.max_code + 1)
    a, b = (each.reshape(-1) for each in np.meshgrid(codes, codes, indexing="ij"))
    for g, h in product((0, 1), repeat=2):
        sides = []
        for side, shift in ((a, g), (b, h)):
            padded = np.zeros((len(side), 1, 16), np.int8)
            padded[:, 0, 5] = side
            whole = np.full((len(side), 1), shift << 2, np.uint8)
            sides.append(aie.MxBlocks(fmt, np.full_like(whole, 130), whole, padded))
        got = aie.fused_dot(*sides, format=fmt.name)
        assert np.array_equal(got, np.ldexp(a * b * 1.0, 6 - g - h + 2 - 2 * fmt.magnitude_bits))


def test_shifts_discard_no_bits_of_mx4_products():
    """MX4 codes are padded with zeros, so shifts discard nothing; MX6 codes are not padded."""
    lossy = replace(BASE, mx_lossless_shift=False)
    numbers = np.random.default_rng(3).standard_normal((2, 500, 16)).astype(np.float32)
    for fmt, alike in (("mx4", True), ("mx6", False)):
        x, y = (aie.to_mx(each, fmt) for each in numbers)
        assert np.array_equal(aie.fused_dot(x, y, format=fmt), aie.fused_dot(x, y, format=fmt, numerics=lossy)) is alike
