"""The floating-point multiply-accumulate: one lane by both tiers over formats and numerics, and corners by hand."""

from dataclasses import replace
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS, Mx4Path
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array
from bitpath.golden.formats.catalogue import BF16, E4M3, E5M2FNUZ, FP16
from bitpath.verif.aie_ml_v2.golden.operands import NEGATIONS, accumulators, negations

BASE = AIE_ML_V2.numerics
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
    got = aie.fused_dot(a, b, acc1, acc2, fmt=fmt, numerics=numerics, **signs).view(np.uint32)
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
    got = aie.fused_dot(a, b, acc1, acc2, fmt=a.fmt.name, numerics=numerics, **signs).view(np.uint32)
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
    got = aie.fused_dot(*lanes, fmt="fp8")
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
        got = aie.fused_dot(*sides, fmt=fmt.name)
        assert np.array_equal(got, np.ldexp(a * b * 1.0, 6 - g - h + 2 - 2 * fmt.magnitude_bits))


def test_shifts_discard_no_bits_of_mx4_products():
    """MX4 codes are padded with zeros, so shifts discard nothing; MX6 codes are not padded."""
    lossy = replace(BASE, mx_lossless_shift=False)
    numbers = np.random.default_rng(3).standard_normal((2, 500, 16)).astype(np.float32)
    for fmt, alike in (("mx4", True), ("mx6", False)):
        x, y = (aie.to_mx(each, fmt) for each in numbers)
        assert np.array_equal(aie.fused_dot(x, y, fmt=fmt), aie.fused_dot(x, y, fmt=fmt, numerics=lossy)) is alike
