"""ScalarE's functions: the scalar tier against mpmath, the arrays against the scalar tier, and limits by hand."""

from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import activate2, activation, activation_reduce
from bitpath.golden.trainium3.declarations.engines import ARGUMENT_RANGES, BYPASS
from bitpath.golden.trainium3.exact.functions import ENCLOSURES, evaluate
from bitpath.golden.trainium3.vector import activation as vectorised
from bitpath.golden.trainium3.vector.activation import FUNCTIONS
from bitpath.verif.trainium3.engines.codes import bits, tile

NAN, INF, ONE, MINUS = 0x7FC00000, 0x7F800000, 0x3F800000, 1 << 31
PRECISE = mpmath.mp.clone()
PRECISE.prec = 1500
M = PRECISE


def sigmoid(x):
    return 1 / (1 + M.exp(-x))


def gelu_tanh(x):
    return x / 2 * (1 + M.tanh(M.sqrt(2 / M.pi) * (x + M.mpf(44715) / 10**6 * x**3)))


def distribution(x):
    return M.erfc(-x / M.sqrt(2)) / 2


def silu_dx(x):
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)))


A = M.mpf(1702) / 1000
WITNESSES = {
    "sigmoid": sigmoid,
    "tanh": M.tanh,
    "silu": lambda x: x * sigmoid(x),
    "silu_dx": silu_dx,
    "gelu": lambda x: x * distribution(x),
    "gelu_dx": lambda x: distribution(x) + x * M.exp(-x * x / 2) / M.sqrt(2 * M.pi),
    "gelu_apprx_tanh": gelu_tanh,
    "gelu_apprx_sigmoid": lambda x: x * sigmoid(A * x),
    "gelu_apprx_sigmoid_dx": lambda x: silu_dx(A * x),
    "erf": M.erf,
    "erf_dx": lambda x: 2 / M.sqrt(M.pi) * M.exp(-x * x),
    "log": M.log,
    "softplus": lambda x: M.log1p(M.exp(x)),
    "mish": lambda x: x * M.tanh(M.log1p(M.exp(x))),
    "sin": M.sin,
    "arctan": M.atan,
}
"""Formulas of their own, in 1500 bits."""
NAMES = tuple(ENCLOSURES)
LARGEST = {"gelu_apprx_tanh": 10, "log": 2**128, "sin": 2**128, "arctan": 2**128}
"""Magnitudes up to which 1500 bits suffice for the witness, where that is not 100; functions vanish or saturate before."""
ROOTS = {"silu_dx": -1.2784645, "gelu_dx": -0.7517916, "gelu_apprx_sigmoid_dx": -0.7511543}
MAGNITUDES = (
    0, 1, 2, 3, 5, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0x00FFFFFF, 0x01000000, 0x01000001, 0x0D800000, 0x20000000,
    0x33800000, 0x34000000, 0x34400000, 0x34C00000, 0x39800000, 0x3F000000, 0x3F7FFFFF, ONE, ONE + 1, 0x40490FDA, 0x40490FDB,
    0x40400000, 0x41200000, 0x4179999A, 0x41800000, 0x42AEAC4F, 0x42CFF1B5, 0x42D00000, 0x43160000, 0x5F000000, 0x60AD78EC,
    0x7F7FFFFE, 0x7F7FFFFF,
)  # fmt: skip
"""Zero, subnormals, numbers next to ties of x / 2 and of 1/2 + x / 4, next to pi, at the ends of what does not vanish, and the
largest."""
FINITE = (*MAGNITUDES, *(each | MINUS for each in MAGNITUDES))
SPECIALS = (INF, INF | MINUS, NAN, NAN | MINUS, INF + 1)
CORNERS = (*FINITE, *SPECIALS)


def samples(name, count, seed):
    """Codes about 1, of any number, and next to the root of a derivative, or to 1."""
    rng = np.random.default_rng([NAMES.index(name), seed])
    usual = (rng.standard_normal(count) * 4).astype(np.float32).view(np.uint32)
    anywhere = rng.integers(0, 1 << 32, count)
    root = int(np.float32(ROOTS.get(name, 1.0)).view(np.uint32))
    drawn = np.concatenate(
        [usual, anywhere, root + rng.integers(-40, 41, count), root ^ rng.integers(0, 1 << 16, count)]
    )
    return [int(code) for code in drawn]


def floats(codes):
    return np.array(codes, np.uint32).view(np.float32)


def vectorised_codes(name, codes):
    return FUNCTIONS[name](floats(codes)).view(np.uint32).tolist()


def witness(name, code):
    """The code nearest to mpmath's value; a value below 2**-400 rounds as 2**-400 does."""
    x = decode(FP32, code).value
    value = WITNESSES[name](M.mpf(x.numerator) / x.denominator)
    if abs(value) < M.mpf(2) ** -400:
        return int(value < 0) << 31
    scaled = int(M.nint(value * M.mpf(2) ** 500))
    return round_to_format(Fraction(scaled, 1 << 500), FP32)


@pytest.mark.parametrize("count", [15, pytest.param(60, marks=pytest.mark.deep)])
@pytest.mark.parametrize("name", NAMES)
def test_scalar_tier_against_mpmath(name, count):
    for code in (*FINITE, *samples(name, count, 1)):
        x = decode(FP32, code)
        by_hand = x.kind is not Kind.FINITE or x.is_zero or (name == "log" and (x.sign or x.value == 1))
        if not by_hand and abs(x.value) < LARGEST.get(name, 100):
            assert evaluate(name, code) == witness(name, code), hex(code)


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.deep)])
@pytest.mark.parametrize("name", NAMES)
def test_tiers_agree(name, count):
    codes = [*CORNERS, *samples(name, count, 2)]
    assert vectorised_codes(name, codes) == [evaluate(name, code) for code in codes]


@settings(deadline=None)
@given(st.sampled_from(NAMES), st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=8))
def test_tiers_agree_on_any_codes(name, codes):
    assert vectorised_codes(name, codes) == [evaluate(name, code) for code in codes]


@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_tiers_agree_on_every_bf16_number(name):
    codes = [code << 16 for code in range(1 << 16)]
    assert vectorised_codes(name, codes) == [evaluate(name, code) for code in codes]


@pytest.mark.parametrize("count", [30, pytest.param(100, marks=pytest.mark.deep)])
@pytest.mark.parametrize("name", NAMES)
def test_float64_is_well_within_its_bound(name, count):
    """Half of the bound suffices, so that the sum of value and bound may be rounded."""
    codes = [code for code in (*FINITE, *samples(name, count, 3)) if code & 0x7FFFFFFF < INF]
    if name == "log":
        codes = [code for code in codes if 0 < code < INF]
    x = floats(codes).astype(np.float64)
    with np.errstate(all="ignore"):
        values, magnitudes = vectorised.FORMS[name](x)
    checked = 0
    for argument, value, magnitude in zip(x.tolist(), values.tolist(), magnitudes.tolist(), strict=True):
        interval = ENCLOSURES[name](Fraction(argument), 1024)
        ends = [Fraction(end, 1 << 1024) for end in (interval.low, interval.high)]
        if magnitude and max(map(abs, ends)) > Fraction(1, 1 << 151):
            allowed = Fraction(magnitude) * Fraction(vectorised.ERROR) / 2
            assert max(abs(Fraction(value) - end) for end in ends) <= allowed, argument
            checked += 1
    assert checked > 100


AT_LIMITS = {
    # At -infinity, -0, +0 and +infinity.
    "sigmoid": (0, 0x3F000000, 0x3F000000, ONE),
    "tanh": (ONE | MINUS, MINUS, 0, ONE),
    "silu": (MINUS, MINUS, 0, INF),
    "silu_dx": (MINUS, 0x3F000000, 0x3F000000, ONE),
    "gelu": (MINUS, MINUS, 0, INF),
    "gelu_dx": (MINUS, 0x3F000000, 0x3F000000, ONE),
    "gelu_apprx_tanh": (MINUS, MINUS, 0, INF),
    "gelu_apprx_sigmoid": (MINUS, MINUS, 0, INF),
    "gelu_apprx_sigmoid_dx": (MINUS, 0x3F000000, 0x3F000000, ONE),
    "erf": (ONE | MINUS, MINUS, 0, ONE),
    "erf_dx": (0, 0x3F906EBB, 0x3F906EBB, 0),
    "log": (NAN, INF | MINUS, INF | MINUS, INF),
    "softplus": (0, 0x3F317218, 0x3F317218, INF),
    "mish": (MINUS, MINUS, 0, INF),
    "sin": (NAN, MINUS, 0, NAN),
    "arctan": (0xBFC90FDB, MINUS, 0, 0x3FC90FDB),
}


@pytest.mark.parametrize("name", NAMES)
def test_limits(name):
    """Zeros, infinities and NaN by hand; the largest numbers give what the infinities give, or themselves."""
    codes = [INF | MINUS, MINUS, 0, INF]
    for tier in (vectorised_codes, lambda name, codes: [evaluate(name, code) for code in codes]):
        assert tuple(tier(name, codes)) == AT_LIMITS[name]
        assert tier(name, [NAN, NAN | MINUS, INF + 1]) == [NAN] * 3
        below, above = tier(name, [0xFF7FFFFF, 0x7F7FFFFF])
        if name != "sin":
            assert below == AT_LIMITS[name][0]
            grows = {"log": 0x42B17218}.get(name, 0x7F7FFFFF)
            assert above == (grows if AT_LIMITS[name][3] == INF else AT_LIMITS[name][3])


def test_ties_and_exact_values():
    """x / 2 of odd subnormals and 1/2 + x / 4 of odd multiples of 2**-23 are ties but for the next term of the series."""
    for name in ("silu", "gelu", "gelu_apprx_tanh", "gelu_apprx_sigmoid"):
        assert vectorised_codes(name, [1, 1 | MINUS, 3, 3 | MINUS, 2]) == [1, MINUS, 2, 1 | MINUS, 1]
    assert vectorised_codes("sigmoid", [0x34000000, 0x34C00000]) == [0x3F000000, 0x3F000001]  # 2**-23 and 3 * 2**-23
    assert vectorised_codes("log", [ONE, ONE | MINUS, 1 | MINUS]) == [0, NAN, NAN]
    assert FUNCTIONS["sin"](np.array([9.0], np.float32))[0] == np.float32(0.4121184852417566)


def test_only_what_is_undecided_goes_to_the_scalar_tier(monkeypatch):
    """Each code once, and a few of 65536 usual numbers."""
    asked = []

    def counted(name, code):
        asked.append(code)
        return evaluate(name, code)

    monkeypatch.setattr(vectorised.exact, "evaluate", counted)
    FUNCTIONS["silu_dx"](floats([0x34400000] * 1000).reshape(10, 100))  # 1/2 + 3 * 2**-25
    assert asked == [0x34400000]
    asked.clear()
    usual = np.random.default_rng(5).standard_normal((128, 512)).astype(np.float32)
    for name in NAMES:
        FUNCTIONS[name](np.abs(usual) if name == "log" else usual)
    assert len(asked) < 16 * len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_instructions_take_them(name):
    """In any dtype, of scaled and biased data, with a reduction."""
    x = (np.random.default_rng(6).standard_normal((5, 9)) + 3).astype(ml_dtypes.bfloat16)
    got = activation(x, name, scale=0.5, bias=0.25, dtype=ml_dtypes.bfloat16)
    halves = x.astype(np.float32) * np.float32(0.5) + np.float32(0.25)
    expected = FUNCTIONS[name](halves)
    assert bits(got) == bits(expected.astype(ml_dtypes.bfloat16))
    assert bits(activate2(x, name, "multiply", "add", 0.5, 0.25)[0]) == bits(expected)
    values, total = activation_reduce(x, name, scale=0.5, bias=0.25, reduce_op="max")
    assert bits(values) == bits(expected)
    assert total[:, 0].tolist() == expected.max(axis=1).tolist()


def test_no_bias_adds_nothing():
    row = tile("fp32", [[MINUS, 1, 0xFFC00001, INF]])
    assert bits(activation(row, "copy", bias=None)) == [[MINUS, 1, NAN, INF]]
    assert bits(activation(row, "tanh", bias=None)) == [[MINUS, 1, NAN, ONE]]
    assert bits(activation(row, "tanh")) == [[0, 1, NAN, ONE]]
    assert bits(activation_reduce(row[:, :1], "sin", bias=None)[1]) == [[MINUS]]
    assert bits(activation(row, "sqrt", bias=None)) == bits(activate2(row, "sqrt", "multiply", BYPASS, 1.0)[0])


def test_argument_ranges():
    assert set(ARGUMENT_RANGES) == {*FUNCTIONS, "prelu"}
    for name, each in ARGUMENT_RANGES.items():
        assert each.low < each.high
        assert each.of_magnitude is (name == "reciprocal")
        assert all(np.float32(end) == end for end in (each.low, each.high))
    assert ARGUMENT_RANGES["sin"].high == np.float32(np.pi)
    assert ARGUMENT_RANGES["arctan"].low == -np.float32(np.pi / 2)
