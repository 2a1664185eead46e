"""ScalarE: functions, activate2, softmax and the exponential, against mpmath, integers and the scalar tier."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_format, ulp
from bitpath.golden.trainium3 import activate2, activation, activation_reduce, cast, exponential, softmax
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.engines import (
    ACTIVATE2_OPERATIONS,
    ACTIVATE2_REDUCTIONS,
    ARGUMENT_RANGES,
    BYPASS,
    ReduceCommand,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact import activate2 as exact_activate2
from bitpath.golden.trainium3.exact import exponential as scalar_exponential
from bitpath.golden.trainium3.exact import softmax as exact_softmax
from bitpath.golden.trainium3.exact.functions import ENCLOSURES, LN2, SERIES_TERMS, evaluate, ln2, log2e, power_table
from bitpath.golden.trainium3.exact.vector import FUNCTIONS as EXACT_FUNCTIONS
from bitpath.golden.trainium3.vector import activation as vectorised
from bitpath.golden.trainium3.vector.activation import FUNCTIONS
from bitpath.verif.trainium3.dtype_words import bits, destination, draw, tile
from bitpath.verif.trainium3.vector.exponential import NEAREST

# ScalarE's functions: the scalar tier against mpmath, the arrays against the scalar tier, and limits by hand.


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
def test_tiers_agree_of_functions(name, count):
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
    """Zeros, infinities and NaN by hand; the largest numbers give the infinities' results, or themselves."""
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
    values, total = activation_reduce(x, name, scale=0.5, bias=0.25)
    assert bits(values) == bits(expected)
    sums = activate2(x, name, "multiply", "add", 0.5, 0.25, reduce_op="add", reduce_cmd="reset_reduce")[1]
    assert bits(total) == bits(sums[:, np.newaxis])


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


# activate2 and softmax against the scalar tier, and the examples of their rules.


DTYPE_NAMES = tuple(FORMATS)


@pytest.mark.parametrize("op", [*EXACT_FUNCTIONS, "prelu"])
@pytest.mark.parametrize("pair", ACTIVATE2_OPERATIONS, ids="-".join)
def test_activate2(op, pair):
    """A dtype of its own for every pair and function, all reductions and commands; TF32 operands are cast before."""
    seed = [*EXACT_FUNCTIONS, "prelu"].index(op) * len(ACTIVATE2_OPERATIONS) + ACTIVATE2_OPERATIONS.index(pair)
    rng = np.random.default_rng(seed)
    name, result = DTYPE_NAMES[seed % 13], DTYPE_NAMES[seed * 5 % 13]
    data = tile(name, draw(rng, name, (5, 7)))
    data = cast(data, name) if name == "tf32" else data
    codes = bits(data)
    immediates = draw(rng, "fp32", (2, 5, 1))
    parameter, registers = draw(rng, "fp32", (1,)), draw(rng, "fp32", (5,))
    for number, (command, reduce_op) in enumerate(product(ReduceCommand, ACTIVATE2_REDUCTIONS)):
        reverse = [step != BYPASS and bool(number >> place & 1) for place, step in enumerate(pair)]
        got, after = activate2(
            data, op, *pair, *(tile("fp32", each) for each in immediates),
            relu_param=tile("fp32", parameter)[0], reverse0=reverse[0], reverse1=reverse[1], reduce_op=reduce_op,
            reduce_cmd=command.value, registers=tile("fp32", registers), dtype=destination(result),
        )  # fmt: skip
        for p in range(number % 2, 5, 2):
            expected = exact_activate2(
                codes[p], name, op, pair, (int(immediates[0, p, 0]), int(immediates[1, p, 0])),
                reverse=tuple(reverse), relu_param=int(parameter[0]), reduce_op=reduce_op, reduce_cmd=command,
                register=int(registers[p]), destination=result,
            )  # fmt: skip
            assert (bits(got)[p], bits(after)[p]) == expected


ROW = np.array([[2, -3, 3]], np.float32)


def test_worked_example():
    """2 x - 1, the reverse, and reductions with equal magnitudes."""
    assert activate2(ROW, "copy", "multiply", "subtract", 2, 1)[0].tolist() == [[3, -7, 5]]
    assert activate2(ROW, "copy", "multiply", "subtract", 2, 1, reverse1=True)[0].tolist() == [[-3, 7, -5]]
    for op, values, expected in (("abs_max", (3, -7, 5), -7), ("abs_min", (3, -7, 5), 3), ("abs_max", (3, -3), -3)):
        row = np.array([values], ml_dtypes.bfloat16)
        _, registers = activate2(row, "copy", BYPASS, BYPASS, reduce_op=op, reduce_cmd="reset_reduce")
        assert registers.tolist() == [expected]


def test_bypass_touches_nothing_but_nan():
    row = tile("fp32", [[1 << 31, 1, 0xFFC00001, 0x7F800000]])
    assert bits(activate2(row, "copy", BYPASS, BYPASS)[0]) == [[1 << 31, 1, NAN, 0x7F800000]]
    assert bits(activate2(row, "copy", "add", BYPASS, 0.0)[0]) == [[0, 1, NAN, 0x7F800000]]


def test_registers_are_shared_and_kept():
    """exponential's accumulators go on here; idle leaves them, and a second row goes onto the first."""
    _, sums = exponential(ROW, 0.0, reduce_cmd="reset_reduce")
    _, after = activate2(ROW, "copy", BYPASS, BYPASS, reduce_op="add", reduce_cmd="reduce", registers=sums)
    assert after[0] == np.float32(np.float32(np.float32(sums[0] + 2) - 3) + 3)
    assert activate2(ROW, "copy", BYPASS, BYPASS, registers=sums)[1] is sums
    assert activate2(ROW, "copy", BYPASS, BYPASS)[1] is None
    for op, identity in (("add", 0), ("max", -np.inf), ("min", np.inf), ("abs_max", 0), ("abs_min", np.inf)):
        _, reset = activate2(ROW, "copy", BYPASS, BYPASS, reduce_op=op, reduce_cmd="reset", registers=sums)
        assert reset.tolist() == [identity]


@pytest.mark.parametrize("op", ["relu", "sign"])
def test_activation_has_the_functions_too(op):
    data = tile("fp32", draw(np.random.default_rng(3), "fp32", (4, 30)))
    assert bits(activation(data, op, bias=-0.0)) == bits(activate2(data, op, "multiply", "add", 1.0, -0.0)[0])


@pytest.mark.parametrize(("name", "result"), [("fp32", "fp32"), ("bf16", "bf16"), ("int8", "uint8"), ("e5m2", "tf32")])
def test_softmax(name, result):
    data = draw(np.random.default_rng(len(name)), name, (12, 6))
    got = softmax(tile(name, data), dtype=destination(result))
    for p, row in enumerate(data):
        assert bits(got)[p] == exact_softmax([int(code) for code in row], name, result)
    rows = softmax(np.random.default_rng(0).standard_normal((8, 100)).astype(np.float32)).astype(np.float64)
    assert np.allclose(rows.sum(axis=1), 1, atol=1e-5)


REGISTERS = np.zeros(1, np.float32)
BAD = [
    ({"op": "swish"}, ValueError, "op must be 'copy', 'square', 'sqrt', 'rsqrt', 'reciprocal', 'exp', 'abs', 'relu', 'sign', 'sigmoid',"),
    ({"op0": "add", "op1": "add"}, ValueError, r"op0 and op1 must be one of multiply and add, multiply and subtract,.*; not 'add' and 'add'$"),
    ({"op1": "max"}, ValueError, "op1 must be 'multiply', 'add', 'subtract' or 'bypass', not 'max'"),
    ({"op1": "bypass", "reverse1": True}, ValueError, "reverse1 must be False with op1 'bypass', not True"),
    ({"imm0": REGISTERS[:, None], "imm1": np.ones((1, 1), ml_dtypes.bfloat16)}, ValueError, "imm1 must have imm0's dtype float32, not bfloat16"),
    ({"imm0": np.zeros((2, 1), np.float32)}, ValueError, r"imm0 must have shape \(1, 1\) or a number, not \(2, 1\)"),
    ({"relu_param": "1"}, TypeError, "relu_param must be a number, not '1'"),
    ({"reduce_cmd": "load_reduce"}, ValueError, "reduce_cmd must be 'idle', 'reset', 'reduce' or 'reset_reduce', not 'load_reduce'"),
    ({"reduce_cmd": "reset"}, TypeError, "reduce_op must be 'add', 'max', 'min', 'abs_max' or 'abs_min', not None"),
    ({"reduce_op": "mean"}, ValueError, "reduce_op must be 'add', 'max', 'min', 'abs_max' or 'abs_min', not 'mean'"),
    ({"reduce_cmd": "reduce", "reduce_op": "add"}, ValueError, "registers must be given with reduce_cmd 'reduce', not None"),
    ({"registers": np.zeros(2, np.float32)}, ValueError, r"registers must have shape \(1,\), not \(2,\)"),
    ({"registers": np.zeros(1)}, TypeError, "registers must be float32, not float64"),
    ({"dtype": "tf33"}, TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3,"),
    ({"data": np.ones((1, 1))}, TypeError, "data must be float32, bfloat16, float16,"),
]  # fmt: skip


def test_arguments_of_activate2(subtests):
    for changes, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            activate2(**{"data": ROW, "op": "copy", "op0": "multiply", "op1": "add"} | changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"op": "swish"}, "op must be 'copy',"),
        ({"operations": ("add", "add")}, "operations must be one of"),
        ({"row": []}, "row must"),
    ],
)
def test_arguments_of_the_scalar_tier(changes, sentence):
    good = {"row": [1], "source": "bf16", "op": "copy", "operations": (BYPASS, BYPASS), "immediates": (0, 0)}
    with pytest.raises(ValueError, match=f"^{sentence}"):
        exact_activate2(**good | changes)


# The exponential: its tables, both tiers, its accuracy against e**t in integers, monotony, and the running sum.


NUMERICS = TRAINIUM3_EXPONENTIAL.numerics
SMALLER = replace(NUMERICS, fraction_bits=24, table_bits=9, log2e_bits=30, power_bits=40)
CORNERS_EXPONENTIAL = (
    0,
    1 << 31,
    1,
    0x80000001,
    INF,
    INF | 1 << 31,
    NAN,
    0xFFC00001,
    0x7F7FFFFF,
    0xFF7FFFFF,
)
GRID = 160


def true_exponential(t):
    """e**t to 2**-100 of itself: e**r of t = k ln 2 + r, as a series of integers."""
    k = floor(t / LN2)
    term = total = 1 << GRID
    r = floor((t - k * LN2) * (1 << GRID))
    n = 1
    while term:
        term = (term * r >> GRID) // n
        total += term
        n += 1
    return Fraction(total, 1 << GRID) * Fraction(2) ** k


def one(code, max_code=0, **options):
    x, most = (np.array([[each]], np.uint32).view(np.float32) for each in (code, max_code))
    return int(exponential(x, most, **options)[0].view(np.uint32)[0, 0])


def test_constants_are_to_nearest():
    low, high = LN2, LN2 + Fraction(2, 1 << SERIES_TERMS)
    for numerics in (NUMERICS, SMALLER):
        assert (
            round(low * (1 << numerics.fraction_bits)) == round(high * (1 << numerics.fraction_bits)) == ln2(numerics)
        )
        assert round((1 << numerics.log2e_bits) / low) == round((1 << numerics.log2e_bits) / high) == log2e(numerics)
        table, entries = power_table(numerics), 1 << numerics.table_bits
        assert (table[0], len(table)) == (1 << numerics.fraction_bits, entries)
        for i, entry in enumerate(table):
            power = 1 << i + (numerics.fraction_bits + 1) * entries  # (2 * entry's exact value) ** entries
            assert (2 * entry - 1) ** entries < power < (2 * entry + 1) ** entries
    assert abs(ln2(NUMERICS) / 2**32 - np.log(2)) < 2**-32


@pytest.mark.parametrize("numerics", [NUMERICS, SMALLER], ids=["preset", "smaller"])
def test_tiers_agree_of_exponential(numerics):
    """Corners, codes of any kind, the range and small numbers in each row; maxima of 0, corners and numbers."""
    rng = np.random.default_rng(11)
    small = rng.standard_normal((40, 20)) * 2.0 ** rng.integers(-40, 2, (40, 20))
    usual = np.hstack([rng.uniform(-105, 90, (40, 50)), small]).astype(np.float32).view(np.uint32)
    x = np.hstack([np.tile(CORNERS_EXPONENTIAL, (40, 1)), rng.integers(0, 1 << 32, (40, 10)), usual]).astype(np.uint32)
    most = np.concatenate([np.zeros(20), CORNERS_EXPONENTIAL, usual[:10, 0]]).astype(np.uint32)[:, np.newaxis]
    got = exponential(x.view(np.float32), most.view(np.float32), numerics=numerics)[0].view(np.uint32)
    expected = [
        [scalar_exponential(numerics, code, int(largest)) for code in row]
        for row, largest in zip(x.tolist(), most[:, 0], strict=True)
    ]
    assert got.tolist() == expected


def test_within_six_tenths_of_a_unit():
    rng = np.random.default_rng(12)
    t = np.concatenate([rng.uniform(-103.9, 88.7, 3000), rng.uniform(-1, 1, 1000), np.arange(-256, 256) / 256])
    got = exponential(t.astype(np.float32)[np.newaxis], 0.0)[0].view(np.uint32)[0]
    worst = Fraction(0)
    for argument, code in zip(t.astype(np.float32).tolist(), got.tolist(), strict=True):
        exact = true_exponential(Fraction(argument))
        worst = max(worst, abs(decode(FP32, code).value - exact) / ulp(FP32, exact))
    assert Fraction(1, 2) < worst < Fraction(6, 10)


@pytest.mark.parametrize(
    "start",
    [-0x3F800000, 0x3F800000, 0x3B000000, 0x33000000, 0x42B00000, -0x42CFFFFF, -0x42B20000, 0x3F317000, -0x40000000],
)
def test_monotone(start):
    """Neighbouring arguments, over ends of table entries, of binades and of the range; negative starts are negative numbers."""
    codes = np.arange(abs(start), abs(start) + (1 << 15)) | (start < 0) << 31
    values = exponential(codes.astype(np.uint32).view(np.float32)[np.newaxis], 0.0)[0][0]
    steps = np.diff(values[np.isfinite(values)])
    assert np.all(steps <= 0 if start < 0 else steps >= 0)


def test_values_by_hand():
    assert [one(code) for code in (0, 1 << 31, 1, INF, INF | 1 << 31, NAN)] == [0x3F800000] * 3 + [INF, 0, NAN]
    assert one(0x3F800000) == 0x402DF854  # e
    assert one(0xC2AEAC50) == 0x007FFFE6  # a subnormal result is not flushed
    assert one(0x42B17218) == INF  # 88.72284, the first that overflows
    assert one(0x42B17217) == 0x7F7FFF84
    assert one(0xC2CFF1B4) == 1
    assert one(0xC2CFF1B5) == 0
    assert (
        one(INF, INF),
        one(INF | 1 << 31, INF | 1 << 31),
        one(NAN, 0),
    ) == (NAN, NAN, NAN)


def softmax_tile(seed, fmt=BF16):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((6, 33)) * 4).astype(ml_dtypes.bfloat16 if fmt is BF16 else np.float16)
    return x, x.astype(np.float32).max(axis=1, keepdims=True)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("command", ["reset_reduce", "reduce", "load_reduce"])
def test_running_sum(command, before):
    """The sum is serial, of powers before or after the cast to BF16, from the start value of the command."""
    x, most = softmax_tile(13)
    start = np.linspace(0.5, 3, 6, dtype=np.float32)
    given = {"reduce": {"accumulators": start}, "load_reduce": {"reduce_init": start[:, np.newaxis]}}.get(command, {})
    numerics = replace(NUMERICS, sum_before_cast=before)
    got, sums = exponential(x, most, dtype=ml_dtypes.bfloat16, reduce_cmd=command, numerics=numerics, **given)
    assert (sums.dtype, sums.shape) == (np.float32, (6,))
    for p in range(6):
        total = 0 if command == "reset_reduce" else int(start.view(np.uint32)[p])
        for f in range(33):
            source = fp32.convert(int(codes_of(x)[p, f]), BF16, FP32)
            power = scalar_exponential(NUMERICS, source, int(most.view(np.uint32)[p, 0]))
            stored = fp32.convert(power, FP32, BF16)
            assert codes_of(got)[p, f] == stored
            total = fp32.add(total, power if before else fp32.convert(stored, BF16, FP32))
        assert sums.view(np.uint32)[p] == total


def test_sum_over_two_tiles_is_the_sum_over_one():
    x, most = softmax_tile(14, FP16)
    whole, total = exponential(x, most, reduce_cmd="reset_reduce")
    left, sums = exponential(x[:, :20], most, reduce_cmd="reset_reduce")
    right, sums = exponential(x[:, 20:], most, reduce_cmd="reduce", accumulators=sums)
    assert np.array_equal(np.hstack([left, right]), whole)
    assert np.array_equal(sums, total)
    assert exponential(x, most)[1] is None
    number = exponential(x, most, reduce_cmd="load_reduce", reduce_init=0.0)[1]
    assert np.array_equal(number, total)


X = np.zeros((4, 3), np.float32)
BAD_EXPONENTIAL = [
    ((X[0], 0.0), {}, ValueError, r"src must have shape \[P, F\] with P from 1 to 128 and F of"),
    ((X.astype(np.float64), 0.0), {}, TypeError, "src must be float32, bfloat16, float16, float8_e4m3,"),
    ((X, None), {}, TypeError, r"max_value must be a number, or an array \[P, 1\], not None"),
    ((X, X), {}, ValueError, r"max_value must have shape \(4, 1\) or a number, not \(4, 3\)"),
    ((X, 0.0), {"dtype": int}, TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3,"),
    ((X, 0.0), {"reduce_cmd": "add"}, ValueError, "reduce_cmd must be 'idle', 'reset_reduce', 'reduce' or 'load_reduce',"),
    ((X, 0.0), {"reduce_cmd": "reduce"}, ValueError, "accumulators must be given with reduce_cmd 'reduce', not None"),
    ((X, 0.0), {"reduce_cmd": "load_reduce"}, ValueError, "reduce_init must be given with reduce_cmd 'load_reduce', not None"),
    ((X, 0.0), {"accumulators": X[:, 0]}, ValueError, "accumulators must be None with reduce_cmd 'idle', not a ndarray"),
    ((X, 0.0), {"reduce_cmd": "reset_reduce", "reduce_init": 1.0}, ValueError, "reduce_init must be None with reduce_cmd 'reset_reduce', not 1.0"),
    ((X, 0.0), {"reduce_cmd": "reduce", "accumulators": X}, ValueError, r"accumulators must have shape \(4,\) or \(4, 1\), not \(4, 3\)"),
    ((X, 0.0), {"reduce_cmd": "reduce", "accumulators": X[:, 0].astype(int)}, TypeError, "accumulators must be float32, not int64"),
    ((X, 0.0), {"numerics": 1}, TypeError, r"numerics must be an ExponentialNumerics \(preset.numerics\), not 1"),
    ((X, 0.0), {"numerics": replace(NUMERICS, fraction_bits=33)}, ValueError, "numerics must have result FP32, table_bits from 8, fraction_bits up"),
    ((X, 0.0), {"numerics": replace(NUMERICS, result=BF16)}, ValueError, "numerics must have result FP32, table_bits from 8,"),
]  # fmt: skip


def test_arguments_of_exponential(subtests):
    for operands, options, error, sentence in BAD_EXPONENTIAL:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            exponential(*operands, **options)


# The bits that the exponential discards from a power change no result: all arguments checked in integer arithmetic.


BITS = NUMERICS.fraction_bits
WHOLE = replace(NUMERICS, power_bits=2 * BITS)
EXPONENTS = range(-BITS - 2, 7)
"""Exponents of the arguments whose powers are neither 1, infinite nor 0."""
LOWEST = -148
"""Lowest exponent of a power that the 64-bit integers can hold."""
CHUNK = 1 << 20


def nearest_to_half_way(negative, exponent, first):
    """Return the smallest nonzero distance from a tie over the powers of CHUNK arguments, in units of ``2**-64``."""
    significand = np.arange(first, first + CHUNK, dtype=np.uint64)
    u = significand * np.uint64(log2e(NUMERICS)) >> np.uint64(
        min(63, NUMERICS.log2e_bits - BITS + FP32.fraction_bits - exponent)
    )
    u = ~u if negative else u
    rest = u & np.uint64((1 << BITS - NUMERICS.table_bits) - 1)
    entry = np.array(power_table(NUMERICS), np.uint64)[u >> np.uint64(BITS - NUMERICS.table_bits) & np.uint64(255)]
    v = rest * np.uint64(ln2(NUMERICS)) >> np.uint64(BITS)
    product = entry * (v + (v * v >> np.uint64(BITS + 1)))
    from_two = entry + (product >> np.uint64(BITS)) >= 1 << BITS + 1
    y = (entry << np.uint64(BITS)) + product  # modulo 2**64: the upper bits are lost
    n = (u.view(np.int64) >> BITS) + from_two
    half = 2 * BITS - FP32.precision + from_two + np.maximum(0, FP32.emin - n)
    kept = (n >= LOWEST) & (n <= FP32.emax)
    # The lowest ``half + 1`` bits of y are the remainder; its distance from the middle of a unit is measured.
    lost = (63 - half[kept]).astype(np.uint64)
    apart = (y[kept] << lost) - np.uint64(1 << 63)
    apart = np.minimum(apart, -apart) >> lost
    return int(apart[apart > 0].min(initial=1 << 63))


@pytest.mark.deep
@pytest.mark.parametrize("negative", [False, True], ids=["positive", "negative"])
def test_no_power_but_a_tie_is_near_half_way(negative):
    """No power lies so near a tie that the discarded bits matter; with one more discarded bit some do."""
    leading = 1 << FP32.fraction_bits
    found = min(
        nearest_to_half_way(negative, exponent, first)
        for exponent in EXPONENTS
        for first in range(leading, 2 * leading, CHUNK)
    )
    dropped = 2 * BITS - NUMERICS.power_bits
    assert found >= 1 << dropped
    assert negative or found < 1 << dropped + 1


def test_the_nearest_have_the_results_of_the_whole_product():
    for argument in NEAREST:
        assert scalar_exponential(NUMERICS, argument, 0) == scalar_exponential(WHOLE, argument, 0)
    fewer = replace(NUMERICS, power_bits=NUMERICS.power_bits - 1)
    assert any(scalar_exponential(fewer, argument, 0) != scalar_exponential(WHOLE, argument, 0) for argument in NEAREST)


@pytest.mark.deep
def test_the_smallest_powers_have_the_results_of_the_whole_product():
    """Results below LOWEST do not fit the integers, so both exponentials are compared directly."""
    first, last = (int(np.float32(each).view(np.uint32)) for each in (-102.5, -104.8))
    for argument in range(first, last):
        assert scalar_exponential(NUMERICS, argument, 0) == scalar_exponential(WHOLE, argument, 0)
