# amaranth: UnusedElaboratable=no
"""Bugs reported in the field, tested on the RTL's operators in Amaranth's simulator against literal or golden answers."""

import tomllib
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import pytest
from amaranth import Value
from amaranth.sim import Simulator

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.formats import catalogue as formats
from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, Rounding
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.tensix import phases
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, WORMHOLE_FIXED
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert, MxConvertConfig
from bitpath.rtl.aie_ml_v2.mac.config import DEPTH, MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.mac_lane import FLOAT_LATENCY, MacLane
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32ToBf16
from bitpath.rtl.tensix.dot.dot16 import Dot16
from bitpath.rtl.tensix.dot.layouts import Dot16Config
from bitpath.rtl.tensix.pack.late_conversion import BlockEncode
from bitpath.rtl.tensix.unpack.float_word import FloatWord
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot, dot_layout
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx, QuantizeMxConfig
from bitpath.verif.aie_ml_v2.convert import mx_convert as aie_convert
from bitpath.verif.aie_ml_v2.mac.mac import LaneCase
from bitpath.verif.common.dot.cases import DotCase
from bitpath.verif.kit.code_mutants import VERIF, mutated, named_test
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.traffic import Driven, Manners, Pace
from bitpath.verif.tensix.dot.dot import DotCase as TensixCase
from bitpath.verif.tensix.dot.dot import Mode, Operation
from bitpath.verif.trainium3.vector import quantize_mx
from bitpath.verif.trainium3.vector.quantize_mx import MODES

# Bugs reported in the field: each has tests that name it, and a mutant that reintroduces a bug fails one of its tests.


TABLE = tomllib.loads(Path(__file__).with_name("field_bugs.toml").read_text())["bug"]
MUTANTS = [
    pytest.param(bug, mutant, id=f"{bug['name']}-{index}", marks=[pytest.mark.deep] if "deep" in mutant else [])
    for bug in TABLE
    for index, mutant in enumerate(bug.get("mutant", ()))
]


def run(bug, mutant):
    arguments = dict(mutant.get("arguments", {}))
    for name in mutant.get("formats", ()):
        arguments[name] = getattr(formats, arguments[name])
    named_test(bug["tests"][mutant["test"]])(**arguments)


@covers("field_bugs.mutants", "A test that passes with the bug does not test for it")
@pytest.mark.parametrize(("bug", "mutant"), MUTANTS)
def test_a_mutant_that_brings_the_bug_back_dies(bug, mutant):
    """A one-line change of golden or RTL that reintroduces a bug fails a test that names it."""
    run(bug, mutant)
    with mutated(mutant["target"], mutant["old"], mutant["new"]), pytest.raises(AssertionError):
        run(bug, mutant)


@covers("field_bugs.named", "Each was found in a similar chip or simulator and had passed its tests")
def test_every_bug_has_tests_and_mutants_or_a_reason():
    """Every known bug from the field has tests that name it, and mutants that reintroduce it, or a reason why there are
    none."""
    assert len(TABLE) == 29
    assert len({bug["name"] for bug in TABLE}) == len(TABLE)
    for bug in TABLE:
        assert bool(bug.get("mutant")) != bool(bug.get("none")), bug["name"]
        assert bug["tests"] or bug["none"], bug["name"]


@covers("field_bugs.named")
def test_every_mutated_bug_is_put_into_the_rtl_too_or_says_why_not():
    for bug in TABLE:
        in_rtl = any(mutant["target"].startswith("bitpath.rtl.") for mutant in bug.get("mutant", ()))
        assert in_rtl + bool(bug.get("rtl")) == bool(bug.get("mutant")), bug["name"]


@covers("field_bugs.named")
def test_every_named_test_exists():
    missing = []
    for test in (test for bug in TABLE for test in bug["tests"]):
        file, _, name = test.partition("::")
        (path,) = VERIF.rglob(file if file.endswith(".py") else f"{file}.py")
        if f"def {name}(" not in path.read_text():
            missing.append(test)
    assert not missing


@covers("field_bugs.mutants")
def test_a_mutant_of_other_source_is_refused():
    with (
        pytest.raises(ValueError, match="has 0 times 'nosuch', once is needed"),
        mutated("bitpath.golden.tensix.operands.arguments:phases", "nosuch", ""),
    ):
        pass


BARE = PipelineConfig(stages=0)
EXACT = TRAINIUM3_QUAD_MX.numerics
ONE, MINUS_ONE, TINY = 0x38, 0xB8, 0x01
"""E4M3 codes of 1, -1 and 2**-9."""


def evaluate(component, script):
    """Return the result of ``script(ask)``; ``ask(**inputs)`` drives a combinational component and returns its output bits."""
    results = []
    stream = "payload" in getattr(getattr(component, "i", None), "signature", component.signature).members

    async def testbench(ctx):
        def ask(payload=None, **inputs):
            if stream:
                ctx.set(Value.cast(component.i.payload), payload)
                ctx.set(component.i.valid, 1)
                return ctx.get(Value.cast(component.o.payload))
            for name, value in inputs.items():
                ctx.set(Value.cast(getattr(component, name)), value)
            return ctx.get(Value.cast(component.o))

        results.append(script(ask))

    simulator = Simulator(component)
    simulator.add_testbench(testbench)
    simulator.run()
    return results[0]


def bf16(value):
    """Return the BF16 code of a number, which must be exact in BF16."""
    code = int(np.float32(value).view(np.uint32))
    assert not code & 0xFFFF
    return code >> 16


def as_source(value):
    """Return a BF16 number as a logical word of SrcA or SrcB."""
    code = bf16(value)
    return (code >> 15) << 18 | (code & 0x7FFF) << 3


def tensix(mode, a, b, dst, numerics, operation=Operation.DOT, phase=0):
    """Return a request with one product."""
    lanes = [(as_source(each), *(0,) * 15) for each in (a, b)]
    return TensixCase(mode, phase, *lanes, dst, operation).payload(numerics)


def dot16(numerics):
    return Dot16(Dot16Config(numerics=numerics, pipeline=BARE))


def multiply(a, b, fidelity):
    """Return ELWMUL's result in BF16 from Dst 0, with ``a`` in SrcA and the phases in order."""
    numerics, mode = WORMHOLE.numerics, Mode(Style.BF16, dst32=False)

    def script(ask):
        dst = 0
        for phase in phases(fidelity):
            dst = ask(tensix(mode, a, b, dst, numerics, Operation.MULTIPLY, phase))
        return dst

    return float(np.uint32(evaluate(dot16(numerics), script) << 16).view(np.float32))


@covers("field_bugs.rtl", "The RTL may have a bug that golden does not have")
@pytest.mark.parametrize(("quirk", "expected"), [(True, 0xC1800000), (False, 0xB4000000)])
def test_tt_metal_38306_minus_one_unit(quirk, expected):
    """The RTL's operators on products, roundings, zeros, codes and scales that were wrong elsewhere."""
    numerics = (WORMHOLE if quirk else WORMHOLE_FIXED).numerics
    request = tensix(Mode(Style.BF16, dst32=True), 1.0, 1.0, 0xBF800001, numerics)
    assert evaluate(dot16(numerics), lambda ask: ask(request)) == expected


@covers("field_bugs.rtl")
@pytest.mark.parametrize(
    ("a", "b", "fidelity", "expected"),
    [
        pytest.param(1.3125, 7.96875, "HiFi2", 10.4375, id="tt-metal#12923-HiFi2"),
        pytest.param(1.3125, 7.96875, "HiFi4", 10.5, id="tt-metal#12923-HiFi4"),
        pytest.param(7.96875, 1.3125, "LoFi", 10.1875, id="tt-metal#12923-turned-LoFi"),
        pytest.param(7.96875, 1.3125, "HiFi2", 10.5, id="tt-metal#12923-turned-HiFi2"),
        *(
            pytest.param(a, b, fidelity, expected, id=f"tt-metal#16448-{a}-{b}-{fidelity}")
            for other, expected in ((0.298828125, -1.09375), (0.30078125, -1.1015625))
            for a, b in ((-3.640625, other), (other, -3.640625))
            for fidelity in ("HiFi3", "HiFi4")
        ),
        pytest.param(508.0, 748.0, "HiFi4", 378880.0, id="tt-metal-PR-35077"),
        pytest.param(748.0, 508.0, "HiFi4", 380928.0, id="tt-metal-PR-35077-turned"),
        pytest.param(1.0 + 2.0**-4, 1.0, "LoFi", 1.0 + 2.0**-4, id="tt-metal#47239-SrcA-kept"),
        pytest.param(1.0 + 2.0**-5, 1.0, "LoFi", 1.0, id="tt-metal#47239-SrcA-dropped"),
        pytest.param(1.0, 1.0 + 2.0**-6, "LoFi", 1.0 + 2.0**-6, id="tt-metal#47239-SrcB-kept"),
        pytest.param(-1.5, 2.5, "HiFi4", -3.75, id="tt-llk#837"),
    ],
)
def test_tensix_products(a, b, fidelity, expected):
    """Products measured on silicon, with the operand order and the fields of each phase."""
    assert multiply(a, b, fidelity) == expected


@covers("field_bugs.rtl")
def test_tt_metal_46101_16_bit_dst_rounds_twice():
    """Double rounding: 1 + 2**-8 - 2**-12 first rounds up to BF16's tie."""
    numerics = WORMHOLE.numerics
    request = tensix(Mode(Style.BF16, dst32=False), 2.0**-8 - 2.0**-12, 1.0, bf16(1.0), numerics)
    assert evaluate(dot16(numerics), lambda ask: ask(request)) == bf16(1.0 + 2.0**-7)


@covers("field_bugs.rtl")
def test_tt_metal_56553_underflow_of_the_exponent_sum():
    """In FP16 1.625 * 2**-6 times 1.25 * 2**-9 has the exponents 9 + 6 - 15 = 0 and is 0, though 2.03 * 2**-15 is normal."""
    a, b = 9 << 10 | 0x280, 6 << 10 | 0x100
    numerics, mode = WORMHOLE.numerics, Mode(Style.FP16, dst32=False)
    one_more = b + (1 << 10)
    requests = [
        TensixCase(mode, 0, (a, *(0,) * 15), (each, *(0,) * 15), 0, Operation.MULTIPLY).payload(numerics)
        for each in (b, one_more)
    ]
    got = evaluate(dot16(numerics), lambda ask: [ask(each) for each in requests])
    assert got == [0, 2 << 10 | 0x10]


@covers("field_bugs.rtl")
def test_tt_metal_57410_block_floats_are_truncated():
    """3.875 beside 8: the significand 0xF8 is shifted by 3 and rounded to 31, and truncated to 1 of BFP4's 3 bits."""
    word = pack(FloatWord, {"sign": 0, "exponent": 128, "fraction": 0x78 << 16})
    inputs = {"i": word, "shared": 130, "out_format": Format.BFP4}
    assert evaluate(BlockEncode(WORMHOLE.numerics.final_tie), lambda ask: ask(**inputs)) == 1


def quad(cases, numerics=EXACT):
    """Return the FP32 codes of quad-MX dot steps."""
    unit = QuadMxDot(DotConfig(numerics=numerics, pipeline=BARE))
    layout = dot_layout(numerics)
    return evaluate(unit, lambda ask: [ask(pack(layout, case.fields(numerics))) for case in cases])


def step(x, y, partial):
    """Return a request with E4M3 products in the first lanes."""
    return DotCase((*x, *(0,) * (4 - len(x))), E4M3FN, (*y, *(0,) * (4 - len(y))), E4M3FN, partial=partial)


@covers("field_bugs.rtl")
def test_gem5_2478_the_sum_is_fused():
    """2**24 + 1 is a tie that another 2**-18 breaks; a separately rounded product would lose it."""
    cases = [step([ONE], [ONE], 0x4B800000), step([ONE, TINY], [ONE, TINY], 0x4B800000)]
    assert quad(cases) == [0x4B800000, 0x4B800001]


@covers("field_bugs.rtl")
def test_gemmini_199_golden_and_rtl_follow_the_numerics():
    """2**20 + 1, which an alignment to 16 bits truncates, and 2**24 + 1 + 2**-18, which a single rounding rounds up."""
    cases = [step([ONE], [ONE], 0x49800000), step([ONE, TINY], [ONE, TINY], 0x4B800000)]
    for numerics, expected in (
        (EXACT, [0x49800008, 0x4B800001]),
        (replace(EXACT, accumulator_rounding=Rounding.RTZ), [0x49800008, 0x4B800000]),
        (TRAINIUM3_QUAD_MX_ALIGNED.numerics, [0x49800000, 0x4B800000]),
    ):
        assert [case.trace(numerics).result for case in cases] == expected
        assert quad(cases, numerics) == expected


def lane(x, y, acc1):
    """Return a lane's result for BF16 products and an accumulator, which are held until the result appears."""
    unit = MacLane(MacLaneConfig(modes=(MacMode.FLOAT16,)))
    code = int(np.float32(acc1).view(np.uint32))
    x, y = ((*map(bf16, side), *(0,) * (DEPTH - len(side))) for side in (x, y))
    (beat,) = LaneCase(mode=MacMode.FLOAT16, x=x, y=y, formats=(BF16, BF16), acc1=code).beats()
    results = []

    async def testbench(ctx):
        ctx.set(Value.cast(unit.operands), beat)
        ctx.set(unit.acc1, code)
        ctx.set(unit.valid, 1)
        await ctx.tick().repeat(FLOAT_LATENCY)
        results.append(ctx.get(unit.o))

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(testbench)
    simulator.run()
    return float(np.uint32(results[0]).view(np.float32))


@covers("field_bugs.rtl")
def test_pto_isa_280_the_accumulator_is_inside_the_one_sum():
    """The accumulator is part of the fused sum, as in golden's test; added after the products it would leave 1 + 1."""
    assert lane([4096.0, 1.0, 1.0], [4096.0, 1.0, 1.0], -(2.0**24)) == 0
    assert lane([1.0, 1.0], [1.0, 1.0], -(2.0**24)) == -(2.0**24)


@covers("field_bugs.rtl")
def test_cvfpu_94_signs_of_zero_and_underflow():
    """-0 results only if all terms are -0; cancellation gives +0; subnormal results keep their sign."""
    minus_zero = [0x80] * 4
    cases = [
        step(minus_zero, [ONE] * 4, 0x80000000),
        step(minus_zero, [ONE] * 4, 0x00000000),
        step([ONE], [ONE], 0xBF800000),
        step([0x80], [ONE], 0x80000001),
    ]
    assert quad(cases) == [0x80000000, 0, 0, 0x80000001]


@covers("field_bugs.rtl")
def test_tt_metal_51971_every_code_is_read_right():
    """All 256 codes of E4M3 and E5M2 against the codec, class and value (also saturn-vectors#101)."""
    unit = Decode((E4M3FN, E5M2))
    offset = unit.bias + unit.fraction_bits

    def script(ask):
        return [ask(code=code, format=index) for index in range(2) for code in range(256)]

    got = [unit.o.shape().from_bits(bits) for bits in evaluate(unit, script)]
    expected = [decode(fmt, code) for fmt in (E4M3FN, E5M2) for code in range(256)]
    for number, right in zip(got, expected, strict=True):
        assert (number.nan, number.inf) == (right.kind is Kind.NAN, right.kind is Kind.INFINITY)
        if right.kind is Kind.FINITE:
            assert number.significand * 2.0 ** (number.exponent - offset) == abs(right.value)
            assert number.sign == right.sign


def blocks(*rows):
    """Return BF16 blocks of 32, padded with zeros."""
    return np.array([[bf16(value) for value in row] + [0] * (32 - len(row)) for row in rows], np.uint16)


@covers("field_bugs.rtl")
def test_quantiser_rounds_once_and_divides_by_the_stored_scale():
    """Ties and values above the maximum (pytorch/ao#436, ROCm/aiter#974, #3212); a scale clamped at 0 (transformers#46763)."""
    ties = [1.75, 1.8125, 1.8203125, 1.984375], [1.9921875, 1.9375, 1.8125, 1.03125, 1.09375]
    tiny = [2.0**-126, 2.0**-125 * 1.5], [2.0**-121, 2.0**-126]
    sent = [each for mode in MODES.values() for each in quantize_mx.with_golden(blocks(*ties, *tiny), mode)]
    unit = QuantizeMx(QuantizeMxConfig(pipeline=BARE))
    answers = evaluate(unit, lambda ask: [ask(each.payload) for each in sent])
    assert answers == [each.expected for each in sent]


@covers("field_bugs.rtl")
def test_mlir_air_1440_rounding_codes():
    """Ties and other numbers in each of the ten rounding codes; floor and even differ (also mlir-aie#2987)."""
    lanes = np.zeros((1, 16), np.float32)
    halves = np.array([0.5, -0.5, 1.5, -1.5, 0.25, -0.25, 0.75, -0.75], np.float32)
    lanes[0, ::2], lanes[0, 1::2] = halves / 64 + np.sign(halves), 1.5
    requests = [each for code in RoundingCode for each in aie_convert.conversions(lanes, MX9, code)]
    numerics = AIE_ML_V2.numerics
    sent = aie_convert.with_golden(requests, numerics)
    assert len({each.expected for each in sent}) == len(RoundingCode)
    offers = Manners(
        inputs={"i": lambda source: chain([each.payload for each in sent], repeat(0))}, cycles=2 * len(sent)
    )
    trace = Driven(MxConvert(MxConvertConfig(numerics=numerics)), offers).transferred("", Pace())
    answers = [shown["o given"] for shown in trace if "o given" in shown]
    assert answers[: len(sent)] == [each.expected for each in sent]


@covers("field_bugs.rtl")
def test_transformer_engine_3281_stochastic_rounding():
    """With 256 evenly spread random numbers, the share that rounds up equals the discarded fraction."""
    for dropped in (0x0000, 0x1200, 0x8000, 0xFF00):
        code = 0x3F800000 | dropped
        spread = range(0, 1 << 16, 256)
        inputs = [{"i": code, "stochastic": 1, "random": bits} for bits in spread]
        got = evaluate(Fp32ToBf16(), lambda ask, inputs=inputs: [ask(**each) for each in inputs])
        assert set(got) <= {0x3F800000, 0x3F810000}
        assert got.count(0x3F810000) == dropped >> 8
