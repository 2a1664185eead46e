"""Arguments of the API: conversion by annotations, and one sentence that names the wrong one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, IntFlag
from fractions import Fraction
from inspect import signature

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.scalar.checked import checked
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.verif.trainium3.golden.samples import MATRIX, SCALE, VECTORISED

# `checked` converts arguments by their annotations, keeps the signature, and names the refused argument.


class Mode(Enum):
    A = "a"


class Bits(IntFlag):
    LOW = 1


@dataclass(frozen=True)
class Record:
    count: int
    flag: bool = False


def plain(
    number: int = 0,
    flag: bool = False,
    exact: Fraction = Fraction(0),
    mode: Mode = Mode.A,
    by_value: Mode | str = Mode.A,
    bits: Bits = Bits.LOW,
    record: Record | None = None,
    numbers: Sequence[int] = (),
    pair: tuple[int, int] = (0, 0),
    mixed: Sequence[tuple[int, Mode]] = (),
    records: tuple[Record, ...] = (),
    progress: Callable[[int], None] | None = None,
    free: int | str = "",
    **rest: bool,
) -> dict:
    return dict(locals())


taken = checked(plain)
ONE, KEPT = np.uint8(1), Record(3)


def test_the_signature_and_the_text_stay():
    assert signature(taken) == signature(plain)
    assert (taken.__doc__, taken.__name__) == (plain.__doc__, plain.__name__)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("number", ONE, 1),
        ("number", Bits.LOW, 1),
        ("flag", np.True_, True),
        ("exact", ONE, Fraction(1)),
        ("mode", "a", Mode.A),
        ("by_value", "a", Mode.A),
        ("bits", ONE, Bits.LOW),
        ("bits", 6, Bits(6)),
        ("record", Record(ONE, np.True_), Record(1, True)),
        ("record", None, None),
        ("numbers", [ONE, 2], (1, 2)),
        ("numbers", np.array([1, 2]), (1, 2)),
        ("pair", (ONE, 2), (1, 2)),
        ("mixed", [(ONE, "a")], ((1, Mode.A),)),
        ("records", (Record(ONE),), (Record(1),)),
        ("free", ONE, ONE),
    ],
)
def test_arguments_are_converted(name, given, expected):
    for result in (
        taken(**{name: given})[name],
        taken(*list(plain().values())[: list(plain()).index(name)], given)[name],
    ):
        assert (repr(result), type(result)) == (repr(expected), type(expected))


@pytest.mark.parametrize(
    ("name", "given"), [("record", KEPT), ("numbers", [1, 2]), ("records", [KEPT]), ("progress", print)]
)
def test_arguments_that_fit_are_handed_on_themselves(name, given):
    assert taken(**{name: given})[name] is given is taken(**{name: given})[name]


@pytest.mark.parametrize(
    ("name", "given", "sentence"),
    [
        ("number", True, "number must be an integer, not True"),
        ("flag", 1, "flag must be True or False, not 1"),
        ("exact", 0.5, "exact must be a fraction or an integer, not 0.5"),
        ("mode", 1, "mode must be 'a', not 1"),
        ("record", 1, "record must be a Record, not 1"),
        ("record", Record(0.5), "record.count must be an integer, not 0.5"),
        ("numbers", 1, "numbers must be a sequence of integers, not 1"),
        ("numbers", "12", "numbers must be a sequence of integers, not '12'"),
        ("numbers", np.array(1), "numbers must be a sequence of integers, not a ndarray"),
        ("numbers", [1, 0.5], "numbers[1] must be an integer, not 0.5"),
        ("pair", None, "pair must be a pair of integers, not None"),
        ("mixed", [3], "mixed[0] must be a pair of values, not 3"),
        ("mixed", [(1, 2)], "mixed[0][1] must be 'a', not 2"),
        ("records", [1], "records[0] must be a Record, not 1"),
        ("progress", 1, "progress must be a function, not 1"),
        ("other", 0, "other must be True or False, not 0"),
    ],
)
def test_other_types_are_refused(name, given, sentence):
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}$"):
        taken(**{name: given})


def test_a_pair_has_two_elements():
    with pytest.raises(ValueError, match=r"^pair must have 2 elements, not 3$"):
        taken(pair=(1, 2, 3))


def test_too_many_arguments_are_pythons_error():
    with pytest.raises(TypeError, match="takes from 0 to 13 positional arguments but 14 were given"):
        taken(*plain().values())


def test_a_former_name_is_an_alias():
    """`fmt` was the name of `format`; given together they are a mistake."""

    @checked
    def named(*, format: str = "bf16") -> str:  # noqa: A002  # a public name
        return format

    assert named(fmt="fp16") == named(format="fp16") == "fp16"
    with pytest.raises(TypeError, match="fmt"):
        named(fmt="fp16", format="bf16")


# Every function of the API rejects an argument of a wrong type with one sentence that names it.


BF16 = ml_dtypes.bfloat16
GOOD = {
    name: arguments
    for name, arguments in VECTORISED.items()
    if "." not in name and not any(callable(each) for each in arguments.values() if not isinstance(each, type))
}
"""The smallest arguments that each function takes."""
OPTIONAL = [
    ("nc_matmul_mx", "dst"),
    ("nc_matmul_mx", "random_bits"),
    ("dma_gather_transpose", "dst"),
    ("linear_w8a8", "gamma"),
]
NUMBERS = [("tensor_copy_predicated", "src")]
"""Arrays that may be missing, and those in whose place a number may stand."""
ARRAYS = [
    (function, name)
    for function, arguments in GOOD.items()
    for name, value in arguments.items()
    if isinstance(value, np.ndarray) and (function, name) not in (*OPTIONAL, *NUMBERS)
]
TILE, STOCHASTIC = {"tile_size": (32, 128), "tile_position": (0, 0)}, {"rounding": "sr", "dst_dtype": BF16}


def refused(function, changes, error, sentence):
    """Call with some arguments changed and compare the whole sentence."""
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        getattr(trainium3, function)(**GOOD[function] | changes)


def test_good_arguments_are_taken(subtests):
    for function, arguments in GOOD.items():
        with subtests.test(function):
            getattr(trainium3, function)(**arguments)


WORDS = [(["1"], "a list"), ("x", "'x'"), (1.5, "1.5"), (3, "3")]


def test_no_array(subtests):
    for function, name, value, shown in [
        *((*array, *word) for array in ARRAYS for word in [*WORDS, (None, "None")]),
        *((*array, *word) for array in OPTIONAL for word in WORDS),
    ]:
        with subtests.test(f"{function} {name} {shown}"):
            others = STOCHASTIC if name == "random_bits" else {}
            refused(function, others | {name: value}, TypeError, f"{name} must be a numpy array, not {shown}")


@pytest.mark.parametrize(("value", "shown"), [WORDS[0], WORDS[1], (None, "None")])
@pytest.mark.parametrize(("function", "name"), NUMBERS)
def test_no_array_and_no_number(function, name, value, shown):
    refused(function, {name: value}, TypeError, f"{name} must be a number, or an array [P, F], not {shown}")


@pytest.mark.parametrize(
    ("value", "shown"), [("garbage", "'garbage'"), (5, "5"), (None, "None"), ("i4,", "[('f0', '<i4')]")]
)
@pytest.mark.parametrize(
    ("function", "name", "allowed"),
    [
        ("quantize_mx", "dtype", "float8_e4m3fn, float8_e5m2 or float4_e2m1fn"),
        ("quantize_offline", "dtype", "float8_e4m3fn, float8_e5m2 or float4_e2m1fn"),
        ("unpack_x4", "dtype", "float8_e4m3fn, float8_e5m2 or float4_e2m1fn"),
        ("nc_matmul_mx", "dst_dtype", "float32 or bfloat16"),
    ],
)
def test_no_dtype(function, name, allowed, value, shown):
    refused(function, {name: value}, TypeError, f"{name} must be {allowed}, not {shown}")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(TRAINIUM3_QUAD_MX, "a Preset"), (TRAINIUM3_QUAD_MX.name, "'trainium3_quad_mx'"), (16, "16"), ({}, "a dict")],
)
@pytest.mark.parametrize("function", ["nc_matmul_mx", "run_program", "matmul"])
def test_no_numerics(function, value, shown):
    sentence = f"numerics must be a DotNumerics (preset.numerics), not {shown}"
    refused(function, {"numerics": value}, TypeError, sentence)


def test_matmul_checks_numerics_first():
    refused(
        "matmul", {"a": MATRIX[0], "numerics": 1}, TypeError, "numerics must be a DotNumerics (preset.numerics), not 1"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [(4.0, "4.0"), (False, "False"), (True, "True"), ("4", "'4'"), (None, "None"), (np.array([0, 4]), "a ndarray")],
)
@pytest.mark.parametrize(
    ("function", "name"),
    [("scatter_scale", "offset"), ("gather_scale", "offset"), ("nc_matmul_mx", "psum_accumulate_flag")],
)
def test_no_integer(function, name, value, shown):
    refused(function, {name: value}, TypeError, f"{name} must be an integer, not {shown}")


def test_numpy_integers_are_integers():
    tile = trainium3.scatter_scale(SCALE, np.int64(4))
    np.testing.assert_array_equal(trainium3.gather_scale(tile, np.uint8(4)), SCALE)


@pytest.mark.parametrize("name", TILE)
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (0, "{} must be a pair of integers, not 0"),
        ("00", "{} must be a pair of integers, not '00'"),
        ({32: 0, 0: 0}, "{} must be a pair of integers, not a dict"),
        ((32.0, 0), "{}[0] must be an integer, not 32.0"),
        ([32, False], "{}[1] must be an integer, not False"),
    ],
)
def test_no_pair(name, value, sentence):
    refused("nc_matmul_mx", TILE | {name: value}, TypeError, sentence.format(name))


@pytest.mark.parametrize(("value", "shown"), [(["ocp"], "a list"), (None, "None"), (np.array(["a", "b"]), "a ndarray")])
@pytest.mark.parametrize(
    ("functions", "name", "allowed"),
    [
        (("quantize_mx", "quantize_offline", "matmul_program", "matmul"), "scale_rule", "'ocp' or 'nki05'"),
        (("matmul_program", "matmul"), "a_format", "'mxfp8_e4m3', 'mxfp8_e5m2' or 'mxfp4'"),
        (("matmul_program", "matmul"), "b_format", "'mxfp8_e4m3', 'mxfp8_e5m2' or 'mxfp4'"),
        (("to_partitions", "from_partitions", "matmul_program", "matmul"), "k_order", "'interleaved' or 'adjacent'"),
        (("nc_matmul_mx",), "rounding", "'rne' or 'sr'"),
    ],
)
def test_no_choice(functions, name, allowed, value, shown):
    for function in functions:
        refused(function, {name: value}, TypeError, f"{name} must be {allowed}, not {shown}")


def test_plans():
    refused("run_program", {"program": []}, ValueError, "program must have at least 1 element, not 0")
    refused("run_program", {"program": None}, TypeError, "program must be a sequence of MatmulInstruction, not None")
