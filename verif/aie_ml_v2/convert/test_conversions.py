"""AIE-ML v2's conversions: the decision of ten rounding codes, the benches of MX, SRS and UPS on both simulators with the
counts to reach, and known answers."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AIE_ML_V2_BUMP
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.rtl.aie_ml_v2.convert.layouts import SrsControl
from bitpath.rtl.aie_ml_v2.convert.mx_convert import BFP16EBS8_CONVERT, MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig, SrsLane
from bitpath.rtl.common.arithmetic.round import RoundIncrement
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.aie_ml_v2.convert.tb_srs import exact_result, srs_boundaries
from bitpath.verif.kit.code_mutants import mutated
from bitpath.verif.kit.known_answers import skip_absent
from bitpath.verif.kit.testplan import covers

# Defects at the boundaries of SRS's results, put into the RTL one at a time: accumulators beside the boundaries find each.


LANE = "bitpath.rtl.aie_ml_v2.convert.srs:SrsLane.elaborate"
STICKY, GUARD = "decision.sticky.eq(sticky)", "decision.guard.eq(guard)"
DEFECTS = {
    "no sticky bit below zero": (STICKY, "decision.sticky.eq(sticky & ~kept.all())"),
    "no sticky bit at the largest result": (STICKY, "decision.sticky.eq(sticky & (kept != 127))"),
    "no tie below the smallest result": (GUARD, "decision.guard.eq(guard & (kept.as_signed() != -129))"),
    "bit 0 is not sticky": ("self.i).as_signed()", "self.i & -2).as_signed()"),
}
"""The source of a lane as it is and with the defect."""
QUICK = "bit 0 is not sticky"


@covers("srs.boundaries")
@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(each, marks=pytest.mark.deep) for each in DEFECTS if each != QUICK)]
)
def test_the_boundaries_notice_a_defect(name, evaluate):
    """Accumulators of 32 bits to 8 in a lane alone; without the defect it gives the exact results."""
    beside = [each for each in srs_boundaries(Random(1)) if (each.ask.acc_bits, each.ask.vector_bits) == (32, 8)]
    vectors = [
        {"i": acc, "control": SrsControl.from_bits(each.ask.control)} for each in beside for acc in each.accs.tolist()
    ]
    exact = [exact_result(each.ask, value) for each in beside for value in each.values]
    exact = [(result % (1 << 8), overflow) for result, overflow in exact]
    assert evaluate(SrsLane(32), vectors, "o", "overflow") == exact
    with mutated(LANE, *DEFECTS[name]):
        assert evaluate(SrsLane(32), vectors, "o", "overflow") != exact


SEED = 20251122
BASE = AIE_ML_V2.numerics
NUMERICS = {
    "bump": AIE_ML_V2_BUMP.numerics,
    "min_code": replace(BASE, mx_min_code=True),
    "no_flush": replace(BASE, mx_flush=False),
    "255_is_a_number": replace(BASE, mx_nan_block=False, mx_bump=True),
}
MX_CORNERS, BFP16EBS8_CORNERS = 2559, 342
PLACES = 10 * (275 + 35 + 9) + 2700
"""Blocks with every last place of MX9, MX6 and MX4, without shift bits and with them, in ten rounding codes; then those with
sticky bits beside the boundaries of the codes."""
BFP16EBS8_PLACES = 10 * 192 + 500
SRS_KINDS, UPS_KINDS = 4 * 10 * 3 * 2, 4 * 3 * 2
SRS_BOUNDARIES = 20_000
"""Accumulators beside the boundaries of SRS's results, at least."""
ALL = 65_536


def bench(unit, config, simulator, *, shifts="4 9", **checks):
    run_bench(unit, config, simulator, seed=SEED, env={"BITPATH_SHIFTS": shifts}, **checks)


def inputs(code, negative, odd, guard, rest):
    return {"mode": code.value, "negative": int(negative), "odd": odd, "guard": guard, "sticky": int(rest > 0)}


def decision_vectors(twos_complement):
    """Return every rounding code with every discarded number of eighths, and the expected increment of the kept integer."""
    vectors, expected = [], []
    for code, eighths in product(RoundingCode, range(-32, 33)):
        magnitude = eighths if twos_complement else abs(eighths)
        kept = magnitude >> 3
        rounded = round_to_integer(Fraction(eighths, 8), code.mode)
        vectors.append(inputs(code, eighths < 0, kept & 1, magnitude >> 2 & 1, magnitude & 3))
        expected.append((rounded if twos_complement else abs(rounded)) - kept)
    return vectors, expected


class Decision(RoundIncrement):
    """With its output under the name that `evaluate` reads."""

    @property
    def o(self):
        return self.up


@covers("mx_convert.ties")
@pytest.mark.parametrize("twos_complement", [False, True])
def test_the_ten_codes_decide_as_the_exact_tier_rounds(evaluate, twos_complement):
    vectors, expected = decision_vectors(twos_complement)
    assert set(expected) == {0, 1}
    assert evaluate(Decision(RoundingCode, twos_complement), vectors) == expected


@covers("mx_convert.known_answers")
@pytest.mark.parametrize("code", RoundingCode)
def test_the_ten_codes_decide_as_silicon_rounds(kat, evaluate, code):
    """FP32 to BF16 of first-generation AIE2: an FP32 code's magnitude rounded at its upper half."""
    archive = kat("aie_silicon.npz")
    bits, expected = archive["f32_bits"].astype(np.int64), archive[f"bf16_bits_rnd{code.value}"]
    number = bits & ~FP32.sign_mask <= FP32.infinity_code
    skip_absent("aie_silicon.npz", {"numbers beside NaN": number.any()})
    bits, expected = bits[number].tolist(), expected[number].tolist()
    vectors = [inputs(code, each >> 31, each >> 16 & 1, each >> 15 & 1, each & 0x7FFF) for each in bits]
    ups = evaluate(Decision(RoundingCode, False), vectors)
    assert [(each >> 16) + up for each, up in zip(bits, ups, strict=True)] == expected


@pytest.mark.simulator
def test_mx_on_verilator():
    """Every last place in every code, corners, random blocks at every pace, latency."""
    compared = PLACES + MX_CORNERS + 4 * 500 + 3 * 400 + 20
    bench("mx_convert", MxConvertConfig(), "verilator", cases=500, min_tests=39, min_compared=compared)


@pytest.mark.deep
@pytest.mark.simulator
def test_mx_on_icarus():
    """`make test` has the other numerics below on Icarus, and test_agreement these."""
    tests = "directed_corners|random_blocks|latency"
    compared = MX_CORNERS + 4 * 60 + 20
    bench("mx_convert", MxConvertConfig(), "icarus", cases=60, tests=tests, min_tests=6, min_compared=compared)


@covers("mx_convert.exponents")
@covers("mx_convert.carries")
@pytest.mark.simulator
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "255_is_a_number" else [pytest.mark.deep]) for name in NUMERICS]
)
def test_other_numerics_of_mx_on_icarus(name):
    """The non-default choices for a rounding carry, subnormals and exponent 255."""
    tests = "directed_corners|pace=both|latency"
    config = MxConvertConfig(numerics=NUMERICS[name])
    bench("mx_convert", config, "icarus", cases=60, tests=tests, min_tests=3, min_compared=MX_CORNERS + 60 + 20)


@covers("mx_convert.bfp16ebs8")
@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize(("simulator", "cases"), [("verilator", 500), ("icarus", 60)])
def test_bfp16ebs8(simulator, cases):
    """XDNA2's blocks of eight: every last place in every code, corners, random blocks at every pace, latency, resets."""
    compared = BFP16EBS8_PLACES + BFP16EBS8_CORNERS + 4 * cases + 400 + 20
    bench("mx_convert", BFP16EBS8_CONVERT, simulator, cases=cases, min_tests=18, min_compared=compared)


@covers("mx_convert.bfp16ebs8")
@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("field", ["mx_bump", "mx_min_code", "mx_flush", "mx_nan_block"])
def test_other_numerics_of_bfp16ebs8_on_icarus(field):
    """The other choice in each field of the conversion."""
    numerics = BFP16EBS8_CONVERT.numerics
    config = replace(BFP16EBS8_CONVERT, numerics=replace(numerics, **{field: not getattr(numerics, field)}))
    compared = BFP16EBS8_CORNERS + 60 + 20
    tests = "directed_corners|pace=both|latency"
    bench("mx_convert", config, "icarus", cases=60, tests=tests, min_tests=3, min_compared=compared)


@pytest.mark.simulator
@pytest.mark.parametrize("unit", ["srs", "ups"])
def test_eight_lanes_on_verilator(unit):
    """Corners, random registers at every pace, latency; the deep tests have every 16-bit number on 64 lanes."""
    tests = "directed_corners|range_boundaries|random_(registers|vectors)|sticky_flag|latency"
    ran, corners = {"srs": (8, 956 + SRS_BOUNDARIES // 8), "ups": (7, 346)}[unit]
    config = IntegerLanesConfig(lanes=8)
    bench(unit, config, "verilator", cases=100, tests=tests, min_tests=ran, min_compared=corners + 4 * 100 + 20)


@pytest.mark.deep
@pytest.mark.simulator
def test_srs_on_verilator():
    """All 16-bit numbers to 8 bits in every code and saturation at two shifts, 64 a cycle; corners; every combination."""
    compared = 10 * 2 * 3 * (ALL // 64) + 956 + SRS_BOUNDARIES // 64 + 4 * 1024 + 20
    bench("srs", IntegerLanesConfig(lanes=64), "verilator", cases=1024, min_tests=18, min_compared=compared)


@pytest.mark.deep
@pytest.mark.simulator
def test_srs_on_icarus():
    tests = "directed_corners|random_registers|sticky_flag|latency"
    compared = 956 + SRS_KINDS + 4 * 40 + 20
    bench("srs", IntegerLanesConfig(), "icarus", cases=100, tests=tests, min_tests=7, min_compared=compared)


@pytest.mark.deep
@pytest.mark.simulator
def test_ups_on_verilator():
    """All 8-bit numbers by every shift, all 16-bit ones by shifts at the ends of what fits; corners; every combination."""
    compared = 6 * 64 * 4 + 6 * (2 * ALL // 64 + ALL // 32) + 346 + 4 * 512 + 20
    bench("ups", IntegerLanesConfig(lanes=64), "verilator", cases=512, min_tests=25, min_compared=compared)


@pytest.mark.deep
@pytest.mark.simulator
def test_ups_on_icarus():
    tests = "directed_corners|random_vectors|sticky_flag|latency"
    bench("ups", IntegerLanesConfig(), "icarus", cases=100, tests=tests, min_tests=7, min_compared=346 + 4 * 100 + 20)


@covers("srs.numbers")
@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("shift", range(-4, 18))
def test_srs_of_every_16_bit_number(shift):
    """In every rounding code and saturation at every shift that leaves something of a 16-bit number, and one more."""
    config, tests = IntegerLanesConfig(lanes=64), "every_16_bit_number"
    compared = 10 * 3 * (ALL // 64)
    bench("srs", config, "verilator", cases=1024, tests=tests, shifts=str(shift), min_tests=10, min_compared=compared)


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("name", ["default", *NUMERICS])
def test_mx_volume(name):
    config = MxConvertConfig(numerics=NUMERICS.get(name, BASE))
    bench("mx_convert", config, "verilator", cases=20_000, min_tests=39, min_compared=80_000)


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("unit", ["srs", "ups"])
@pytest.mark.parametrize("lanes", [2, 16])
def test_lanes_volume(unit, lanes):
    config = IntegerLanesConfig(lanes=lanes)
    bench(unit, config, "verilator", cases=10_000, tests="random|corners", min_tests=5, min_compared=40_000)
