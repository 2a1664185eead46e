# amaranth: UnusedElaboratable=no
"""FP32 operators against golden's exact tier, and the benches of reciprocal and roots on both simulators."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3, E4M3FN, E5M2, FP16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.rtl.common.fp32.fp32_arithmetic import Bf16Clamp, Fp32Add, Fp32Cast, Fp32Multiply, fp32_constant
from bitpath.rtl.common.fp32.fp32_functions import Fp32LanesConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.common.fp32.functions import FORMAT_EDGES
from bitpath.verif.common.fp32.numbers import EDGES, any_code, near_one, near_products, near_sums
from bitpath.verif.kit.testplan import covers

SEED = 20251123
FUNCTIONS = ("reciprocal", "square_root", "reciprocal_square_root")
OPERATORS = {
    "add": (Fp32Add, fp32.add),
    "multiply": (Fp32Multiply, fp32.multiply),
}


def pairs(rng):
    """Every pair of edges; random ones, also near to each other, and with a product or sum at an end of the range."""
    codes = list(product(EDGES, repeat=2))
    for _ in range(150):
        a, exponent = any_code(rng), rng.randrange(1, 254)
        codes += [
            (a, any_code(rng)),
            (near_one(rng), near_one(rng)),
            (a, a ^ FP32.sign_mask ^ rng.getrandbits(3)),
            tuple(
                e << 23 | rng.getrandbits(23) for e in (exponent, max(0, rng.choice((105, 127, 380)) - exponent) % 255)
            ),
        ]
    return codes


@covers("activation2_lane.boundaries")
@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_is_the_exact_tier(evaluate, name):
    component, exact = OPERATORS[name]
    near = near_products(Random(name)) if name == "multiply" else near_sums(FP32, Random(name))
    codes = [*pairs(Random(name)), *((a, b) for _, a, b in near)]
    expected = [exact(a, b) for a, b in codes]
    assert len(set(expected)) > 150
    assert evaluate(component(), [{"a": a, "b": b} for a, b in codes]) == expected


def test_a_clamp_is_two_extrema_of_the_exact_tier(evaluate):
    """Limits are random or near the numbers; a NaN input passes unchanged."""
    rng = Random("clamp")
    numbers, limits = zip(*((a >> 16, b & ~FP32.sign_mask) for a, b in pairs(rng)), strict=True)
    near = [max(0, (a << 16 & ~FP32.sign_mask) + rng.choice((-1, 0, 1, 1 << 15, 1 << 16))) for a in numbers]
    cases = [(a, limit) for a, limit in zip(numbers * 2, (*limits, *near), strict=True) if limit <= FP32.infinity_code]
    expected = [_clamped(number << 16, limit) for number, limit in cases]
    assert len(set(expected)) > 150
    assert evaluate(Bf16Clamp(), [{"i": number, "limit": limit} for number, limit in cases]) == expected


def _clamped(code, limit):
    if code & ~FP32.sign_mask > FP32.infinity_code:
        return code
    return fp32.maximum(fp32.minimum(code, limit), limit | FP32.sign_mask)


@pytest.mark.parametrize("fmt", [E4M3, E4M3FN, E5M2, FP16], ids=lambda fmt: fmt.name)
def test_cast_is_one_rounding(evaluate, fmt):
    """Every exponent with the fractions around each of its places, infinity and NaN."""
    dropped = FP32.fraction_bits - fmt.fraction_bits
    fractions = [0, 1, FP32.fraction_mask] + [
        (kept << dropped) + below & FP32.fraction_mask
        for kept in (0, 1, 2, 3, fmt.fraction_mask)
        for half in (1 << dropped - 1, 1 << dropped - 2)
        for below in (half - 1, half, half + 1)
    ]
    exponents = [0, 1, *range(FP32.bias + fmt.emin - 9 - fmt.fraction_bits, FP32.bias + fmt.emax + 3), 254, 255]
    codes = [s << 31 | e << 23 | f for s, e, f in product((0, 1), exponents, fractions)]
    expected = [fp32.convert(code, FP32, fmt) for code in codes]
    if fmt.infinity_code is None:
        # A number beyond the largest stays a number.
        ends = [(code & FP32.sign_mask and fmt.sign_mask | fmt.max_code) or fmt.max_code for code in codes]
        finite = [code & ~FP32.sign_mask < FP32.infinity_code for code in codes]
        beyond = zip(codes, expected, ends, finite, strict=True)
        expected = [end if own and each == fmt.nan_code else each for _, each, end, own in beyond]
    assert {0, fmt.sign_mask, fmt.max_code, fmt.infinity_code or fmt.max_code, fmt.nan_code, 1} <= set(expected)
    assert evaluate(Fp32Cast(fmt), [{"i": code} for code in codes]) == expected


@pytest.mark.parametrize("fmt", [BF16, E2M1], ids=lambda fmt: fmt.name)
def test_cast_refuses_what_it_cannot_do(fmt):
    with pytest.raises(ValueError, match=f"smaller range than FP32, not be {fmt.name}"):
        Fp32Cast(fmt)


@pytest.mark.parametrize(
    "value", [Fraction(1, 240), Fraction(1, 10**6), Fraction(240), Fraction(1), Fraction((1 << 25) - 1, 1 << 25)]
)
def test_a_constant_is_rounded_once(value):
    assert fp32_constant(value) == round_to_format(value, FP32)


@pytest.mark.parametrize("value", [Fraction(1, 1 << 130), Fraction(1 << 128)])
def test_a_constant_out_of_range_is_refused(value):
    with pytest.raises(ValueError, match="must be a normal FP32 number"):
        fp32_constant(value)


@covers("reciprocal.format")
@covers("reciprocal.volume")
@covers("reciprocal_square_root.format")
@covers("reciprocal_square_root.volume")
@covers("square_root.format")
@covers("square_root.volume")
@pytest.mark.simulator
@pytest.mark.parametrize(
    ("simulator", "lanes", "cases", "volume"),
    [
        ("verilator", 8, 60, 1 << 13),
        pytest.param("verilator", 64, 100, 1 << 20, marks=pytest.mark.deep),
        pytest.param("icarus", 2, 20, 200, marks=pytest.mark.deep),
    ],
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, simulator, lanes, cases, volume):
    """Payloads: boundary cases, random operands (eight thousand, deep a million on 64 lanes), gaps and stalls, latency."""
    compared = -(-(len(FORMAT_EDGES) + 10 * cases) // lanes) + -(-volume // lanes) + 4 * cases + 20
    env = {"BITPATH_VOLUME": str(volume)}
    config, counts = Fp32LanesConfig(lanes=lanes), {"min_tests": 9, "min_compared": compared}
    run_bench(name, config, simulator, cases=cases, seed=SEED, env=env, **counts)
