"""Cases of the Vector unit: copy, function or words, pack; and what is refused."""

import re

import numpy as np
import pytest

from bitpath.golden.tensix import isa, llk
from bitpath.golden.tensix.declarations.formats import Chip

BF16 = {"in_a": "Float16_b", "register_format": "BF16", "mid_format": "BF16", "out_format": "BF16"}
FP32 = {"in_a": "Float32", "register_format": "FP32", "mid_format": "FP32", "out_format": "FP32", "dst32": True}


def operands(seed, count=2048):
    """Return two operands of BF16 as bytes, and their codes."""
    codes = np.random.default_rng(seed).integers(0x3C00, 0x4200, (2, count)).astype(np.uint32)
    codes |= np.random.default_rng(seed + 1).integers(0, 2, codes.shape).astype(np.uint32) << 15
    return codes.astype("<u2").view(np.uint8), codes


@pytest.mark.parametrize("chip", Chip)
def test_a_case_is_copy_function_and_pack(chip):
    (left, right), (a, b) = operands(1)
    shape = {"dimensions_a": (32, 64), "chip": chip}
    for name, options in (("exp", {}), ("sigmoid", {"approximate": True}), ("elu", {"parameters": {"alpha": 0.5}})):
        stages = llk.expected(llk.Case(op="sfpu", function=name, **BF16, **shape, **options), left)
        expected = llk.apply(name, a, chip=chip, **options)
        copied, result = stages.dst_after_phase
        assert np.array_equal(copied.reshape(-1), a)
        assert np.array_equal(result.reshape(-1), expected)
        assert np.array_equal(stages.l1.view("<u2"), expected)
    both = llk.Case(op="sfpu", function="div", in_b="Float16_b", **BF16, **shape, dimensions_b=(32, 64))
    assert np.array_equal(llk.expected(both, left, right).l1.view("<u2"), llk.apply("div", [a, b], chip=chip))


def test_operands_of_32_bits_are_unpacked_to_dst():
    _, (a, _) = operands(2, 1024)
    case = llk.Case(op="sfpu", function="gelu", **FP32)
    stages = llk.expected(case, (a << 16).view(np.uint8))
    assert stages.src_a is None
    assert np.array_equal(stages.l1.view("<u4"), llk.apply("gelu", a << 16, dst32=True))
    whole = llk.Case(
        op="sfpu", function="typecast_fp32_to_int32", **FP32 | {"mid_format": "INT32", "out_format": "Int32"}
    )
    integers = llk.expected(whole, (a << 16).view(np.uint8)).l1.view("<i4")
    assert np.array_equal(integers, np.trunc((a << 16).view(np.float32)))


def test_words_of_ones_own():
    left, (a, _) = operands(3, 1024)
    words = isa.assemble("SFPENCC imm=3, mod=10\nSFPLOAD modifier=3, address=8\nSFPSTORE modifier=3")
    stages = llk.expected(llk.Case(op="sfpu", words=words, **BF16), left[0])
    tile = a.reshape(64, 16).copy()
    tile[:4, ::2] = tile[8:12, ::2]
    assert np.array_equal(stages.dst_after_phase[-1][0], tile)


def test_a_case_is_read_from_json_and_compared():
    case = llk.Case.from_json(
        '{"op": "sfpu", "function": "lrelu", "parameters": {"slope": 0.5}, "in_a": "Float16_b", "register_format": "BF16", '
        '"mid_format": "BF16", "out_format": "BF16"}'
    )
    left, (a, _) = operands(4, 1024)
    expected = llk.expected(case, left[0]).l1
    assert np.array_equal(expected.view("<u2"), llk.apply("lrelu", a, parameters={"slope": 0.5}))
    assert llk.compare(case, left[0], None, expected).equal
    assert hash(case) == hash(llk.Case(op="sfpu", function="lrelu", parameters={"slope": 0.5}, **BF16))


def test_departures_of_the_function_are_named():
    left, _ = operands(5, 1024)
    for given, other, cause in (
        ({"function": "sigmoid"}, {"function": "sigmoid", "approximate": True}, "the function's approximate form"),
        ({"function": "sqrt", "approximate": True}, {"function": "sqrt"}, "the function's accurate form"),
        ({"function": "reciprocal"}, {"function": "reciprocal", "chip": "blackhole"}, "the function of blackhole"),
        ({"function": "abs"}, {"op": "datacopy"}, "no function"),
    ):
        case = llk.Case(op="sfpu", **BF16 | FP32 | given)
        words = left[0].view("<u2").astype("<u4") << 16
        device = llk.expected(llk.Case(**{"op": "sfpu", **FP32, **other}), words.view(np.uint8)).l1
        report = llk.compare(case, words.view(np.uint8), None, device)
        assert (report.stage, cause in report.causes) == ("dst", True), report.causes


UINT16 = {"in_a": "UInt16", "register_format": "INT16", "mid_format": "INT16", "out_format": "UInt16"}


@pytest.mark.parametrize("chip", Chip)
def test_three_operands_random_numbers_integers_and_registers_that_carry(chip):
    (left, right), (a, b) = operands(6)
    shape, below = {"dimensions_a": (32, 64), "chip": chip}, {"in_b": "BF16", "dimensions_b": (64, 64)}
    for name in ("where", "addcmul"):
        case = llk.Case(op="sfpu", function=name, **BF16, **shape, **below)
        device = llk.expected(case, left, np.concatenate([right, left])).l1
        assert np.array_equal(device.view("<u2"), llk.apply(name, [a, b, a], chip=chip))
    for name, options in (("dropout", {"seed": 7, "parameters": {"probability": 0.25}}), ("cumsum", {})):
        case = llk.Case(op="sfpu", function=name, **BF16, **shape, **options)
        assert np.array_equal(llk.expected(case, left).l1.view("<u2"), llk.apply(name, a, chip=chip, **options))
    product = llk.Case(op="sfpu", function="mul_uint16", in_b="UInt16", **UINT16, **shape, dimensions_b=(32, 64))
    assert np.array_equal(llk.expected(product, left, right).l1.view("<u2"), a * b & 0xFFFF)
    numbers = np.arange(2048, dtype="<u2") % 1000
    wide = llk.Case(
        op="sfpu",
        function="typecast_uint16_to_fp16b",
        **UINT16 | {"mid_format": "BF16", "out_format": "BF16"},
        **shape,
    )
    floats = llk.expected(wide, numbers.view(np.uint8)).l1
    assert np.array_equal(floats.view("<u2"), llk.apply(wide.function, numbers.astype(np.uint32), chip=chip))
    narrow = llk.Case(
        op="sfpu",
        function="typecast_fp32_to_uint16",
        **BF16 | {"mid_format": "INT16", "out_format": "UInt16"},
        **shape,
    )
    back = llk.expected(narrow, floats).l1.view("<u2")
    assert np.array_equal(back[numbers < 256], numbers[numbers < 256])
    half = llk.Case(
        op="sfpu", function="cast_fp32_to_fp16a", **BF16 | {"mid_format": "FP16", "out_format": "FP16"}, **shape
    )
    exact = (a << 16).view(np.float32).astype(np.float16)
    assert np.array_equal(llk.expected(half, left).l1.view("<f2"), exact)


REFUSED = (
    ({}, "function or words must be given with sfpu, one of them, not neither"),
    ({"function": "exp", "words": (1,)}, "function or words must be given with sfpu, one of them, not both"),
    ({"function": "where"}, "in_b must be a format with where, not None"),
    ({"function": "where", "in_b": "BF16"}, "dimensions_b must be (64, 32) for 2 operands, not (32, 32)"),
    ({"function": "ema"}, "function must be one with its result in the first operand's place in a case, not ema"),
    (
        {"function": "reshuffle_rows"},
        "function must be one of tensix.llk.FUNCTIONS, not reshuffle_rows, which moves rows",
    ),
    ({"function": "mul_uint16", "in_b": "BF16"}, "register_format must be INT16 with mul_uint16, not BF16"),
    ({"function": "exp", **UINT16}, "register_format must be another format with exp, not INT16"),
    ({"op": "datacopy", "seed": 1}, "seed must be left out with datacopy, not 1"),
    ({"function": "exp", "in_b": "BF16"}, "in_b must be None with exp, not BF16"),
    ({"function": "max"}, "in_b must be a format with max, not None"),
    ({"function": "exp", "approximate": True}, "approximate must be False with exp, not True"),
    ({"function": "elu", "parameters": {"slope": 1}}, "a parameter of elu must be 'alpha', not 'slope'"),
    ({"function": "add_int32", "in_b": "BF16"}, "dst32 must be True with add_int32, not False"),
    ({"function": "max", "in_b": "BF16", "dimensions_b": (32, 64)}, "dimensions_b must be (32, 32) as dimensions_a"),
    ({"op": "datacopy", "function": "exp"}, "function must be left out with datacopy, not 'exp'"),
    ({"op": "datacopy", "words": (1,)}, "words must be left out with datacopy, not a tuple"),
)


def test_what_is_refused(subtests):
    for given, says in REFUSED:
        with subtests.test(says), pytest.raises(ValueError, match=re.escape(says)):
            llk.Case(**{"op": "sfpu", **BF16, **given})
