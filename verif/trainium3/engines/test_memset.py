"""memset against the scalar tier, in all dtypes."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import memset
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import memset_element
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

INTEGERS = [name for name in FORMATS if "int" in name]
FLOATS = [name for name in FORMATS if name not in INTEGERS]
NUMBERS = (
    0, 0.0, -0.0, 1, -1, 0.1, -2.5, 1e-46, -1e-45, 2.0**-149, 3.4e38, 1e39, -1e300, np.inf, -np.inf, np.nan,
    (1 << 24) + 1,
    1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-24 + 2.0**-52, 10**30 + 1, 240, 247.9, 448, 464, 465, 57344, 61440, 65504, 65520,
    np.float32(0.3), np.int64(-7), np.float64(1 / 3),
)  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    """One rounding from the number itself: the midpoint of two numbers plus a little rounds up."""
    for value in NUMBERS:
        got = memset((2, 3), value, dtype=destination(name))
        number = value.item() if isinstance(value, np.generic) else value
        assert bits(got) == [[memset_element(number, name)] * 3] * 2
    codes = draw(np.random.default_rng(FLOATS.index(name)), "fp32", (60,))
    for value in tile("fp32", codes):
        assert bits(memset((1, 1), value, dtype=destination(name))) == [[memset_element(float(value), name)]]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    limits = np.iinfo(destination(name))
    for value in (0, 1, int(limits.min), int(limits.max), np.int8(5)):
        got = memset((1, 2), value, dtype=destination(name))
        assert got.tolist() == [[value] * 2]
        assert bits(got) == [[memset_element(int(value), name)] * 2]


def test_one_conversion():
    """1 + 2**-8 + 2**-40 is above BF16's midpoint; FP32 between them would lose that."""
    above = 1 + 2.0**-8 + 2.0**-40
    assert memset((1, 1), above, dtype=ml_dtypes.bfloat16)[0, 0] == 1 + 2.0**-7
    assert np.float32(above).astype(ml_dtypes.bfloat16) == 1
    assert memset_element(Fraction(1, 3), "fp32") == 0x3EAAAAAB
    assert memset((128, 512), 3, dtype=ml_dtypes.float8_e3m4).astype(float).sum() == 3 * 128 * 512


BAD = [
    (lambda: memset((1, 1), 2.0, dtype=np.int32), TypeError, "value must be an integer, not 2.0"),
    (lambda: memset((1, 1), 128, dtype=np.int8), ValueError, "value must be -128 to 127 for int8, not 128"),
    (lambda: memset((1, 1), -1, dtype=np.uint8), ValueError, "value must be 0 to 255 for uint8, not -1"),
    (lambda: memset((1, 1), None), TypeError, "value must be a number, not None"),
    (lambda: memset((1, 1), True), TypeError, "value must be a number, not True"),
    (lambda: memset((1, 1), 10**400), ValueError, "value must be a number of float64's range, not"),
    (lambda: memset((129, 1), 1), ValueError, "shape must be P from 1 to 128 and F of at least 1, not 129 and 1"),
    (lambda: memset((1, 0), 1), ValueError, "shape must be P from 1 to 128 and F of at least 1, not 1 and 0"),
    (lambda: memset((1,), 1), ValueError, "shape must have 2 elements, not 1"),
    (lambda: memset((1, 1), 1, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: memset_element(2.0, "int8"), TypeError, "value must be an integer, not 2.0"),
    (lambda: memset_element("1", "bf16"), TypeError, "value must be a number, not '1'"),
    (lambda: memset_element(128, "int8"), ValueError, "value must be -128 to 127, not 128"),
    (lambda: memset_element(1, "int64"), ValueError, "dtype must be 'fp32',"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
