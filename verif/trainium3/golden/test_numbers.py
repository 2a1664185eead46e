"""Numbers as arguments of ScalarE's and VectorE's instructions: of any type they mean their value, rounded once."""

from fractions import Fraction

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.vector.engine import single

SIGNED, UNSIGNED = (np.int8, np.int16, np.int32, np.int64), (np.uint8, np.uint16, np.uint32, np.uint64)
NUMBERS = (
    *(dtype(value) for dtype in SIGNED for value in (5, np.iinfo(dtype).min, np.iinfo(dtype).max)),
    *(dtype(value) for dtype in UNSIGNED for value in (5, np.iinfo(dtype).max)),
    *(np.float16(-0.3), np.float32(0.1), np.float64(0.1), np.longdouble("0.1")),
)
TIE = (1 << 100) + (1 << 76)
"""Half-way between two float32; float64 does not hold its neighbours."""
LIMIT = (1 << 128) - (1 << 103)
"""The least integer that rounds to infinity."""


def value(number):
    return Fraction(*number.as_integer_ratio()) if isinstance(number, np.floating) else Fraction(int(number))


def code(number):
    return int(single("x", number).view(np.uint32))


def scalar_uses(number):
    """Return float32 results of the functions that take this number as a scale, a bias or another scalar argument."""
    tile = np.linspace(-3, 3, 8, dtype=np.float32).reshape(2, 4)
    # Above every magnitude here, and of their order, so that rand2's results show the number.
    limit = 2.0 * float(np.max(np.abs(np.asarray(number, np.float64)))) + 1
    source = np.random.default_rng(9).integers(0, 1 << 32, (2, 4, 6), dtype=np.uint32)
    return [
        trainium3.activation(tile, "copy", scale=number),
        trainium3.activation(tile, "copy", bias=number),
        trainium3.activation_reduce(tile, "copy", scale=number, bias=number)[1],
        trainium3.tensor_scalar(tile, "subtract", number, "multiply", number),
        trainium3.tensor_scalar(tile, "subtract", number, reverse0=True),
        trainium3.tensor_scalar_reduce(tile, "multiply", number, reduce_op="add")[1],
        trainium3.scalar_tensor_tensor(tile, "multiply", number, "add", tile),
        trainium3.exponential(tile, number)[0],
        trainium3.exponential(tile, 0.0, reduce_cmd="load_reduce", reduce_init=number)[1],
        trainium3.rand2(trainium3.Xorwow(source), 5, number, limit),
        trainium3.rand2(trainium3.Xorwow(source), 5, -limit, number),
    ]


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_numbers_of_numpy_mean_their_value(number):
    """A number gives the same results as an array [P, 1] of its value, rounded by the scalar tier."""
    column = np.full((2, 1), round_to_format(value(number), FP32), np.uint32).view(np.float32)
    for got, expected in zip(scalar_uses(number), scalar_uses(column), strict=True):
        assert got.view(np.uint32).tolist() == expected.view(np.uint32).tolist()


@pytest.mark.parametrize(
    "magnitude", [0, (1 << 24) + 1, (1 << 53) + 1, TIE, TIE + (3 << 46), TIE + (1 << 77), LIMIT, 1 << 1023]
)
def test_integers_are_rounded_once(magnitude):
    for number in (magnitude - 1, magnitude, magnitude + 1):
        for signed in (number, -number):
            assert code(signed) == round_to_format(Fraction(signed), FP32)


def test_long_doubles_are_rounded_once():
    """float64 rounds the first to a tie of FP32, the second to one of its subnormals, the third to 0."""
    one = np.longdouble(1)
    near_ties = (1 + np.ldexp(one, -24) + np.ldexp(one, -60), np.ldexp(one, -150) * (1 + np.ldexp(one, -60)))
    for number in (*near_ties, *(-each for each in near_ties), np.ldexp(one, -1080), -np.ldexp(one, -1080)):
        exact = value(number)
        assert exact != float(number) or np.finfo(np.longdouble).nmant == 52  # where it is no more than float64
        assert code(number) == round_to_format(exact, FP32)


def test_numbers_without_a_value():
    assert [code(zero) for zero in (0, 0.0, -0.0, np.float16(-0.0))] == [0, 0, 1 << 31, 1 << 31]
    for kind in (float, np.float16, np.longdouble):
        assert [code(kind(each)) for each in (np.inf, -np.inf)] == [0x7F800000, 0xFF800000]
        assert np.isnan(single("x", kind(np.nan)))
    assert code(1e300) == code(10**300) == 0x7F800000
