"""Casts between the 13 dtypes on arrays, against the exact twin and numpy's own conversions."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3 import cast
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.exact import cast as exact_cast
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, from_fp32, to_fp32
from bitpath.golden.trainium3.vector.elementwise import tensor_scalar
from bitpath.verif.trainium3.dtype_words import array_of, boundary_words, cast_words

PAIRS = list(product(FORMATS, repeat=2))


def test_there_are_13_dtypes():
    assert len(FORMATS) == 13
    assert {CAST_DTYPES[name].itemsize * 8 for name in CAST_DTYPES} == {8, 16, 32}
    assert all(CAST_DTYPES[name].itemsize * 8 == container_bits(name) for name in CAST_DTYPES)


@pytest.mark.parametrize("source", FORMATS)
def test_corners_are_the_exact_twin(source):
    for destination in FORMATS:
        codes = boundary_words(source, destination)
        got = cast_words(np.array(codes), source, destination)
        assert got.tolist() == [exact_cast(code, source, destination) for code in codes], destination


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PAIRS), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_words_are_the_exact_twin(pair, words):
    codes = np.array(words) % (1 << container_bits(pair[0]))
    got = cast_words(codes, *pair)
    assert got.tolist() == [exact_cast(code, *pair) for code in codes.tolist()]


@pytest.mark.parametrize("source", [name for name in FORMATS if container_bits(name) == 8])
@pytest.mark.parametrize("destination", FORMATS)
def test_every_byte_is_the_exact_twin(source, destination):
    codes = np.arange(256)
    assert cast_words(codes, source, destination).tolist() == [exact_cast(c, source, destination) for c in range(256)]


@pytest.mark.parametrize("name", CAST_DTYPES)
def test_fp32_holds_floats_and_narrow_integers(name):
    codes = np.arange(1 << min(container_bits(name), 16))
    values = array_of(codes, name)
    read = to_fp32(values)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(read, values.astype(np.float64).astype(np.float32), equal_nan=True)
    back = cast(read, CAST_DTYPES[name])
    number = ~np.isnan(read)
    assert np.array_equal(back.view(f"u{back.itemsize}")[number], codes[number])
    assert set(read[~number].view(np.uint32).tolist()) <= {FP32.nan_code}


def test_documented_examples():
    over = np.array([16777217], np.int32)
    assert cast(over, np.uint32).tolist() == [16777216]
    assert cast(over, np.int32).tolist() == [16777217]
    numbers = np.array([2.5, 3.5, 300, -1.5], np.float32)
    assert cast(numbers, np.int8).tolist() == [2, 4, 127, -2]
    assert cast(numbers, np.uint8).tolist() == [2, 4, 255, 0]


def test_equal_dtypes_move_bits():
    for name in FORMATS:
        codes = np.array(boundary_words(name, name))
        assert np.array_equal(cast_words(codes, name, name), codes)
    values = np.zeros(3, np.float32)
    assert not np.shares_memory(cast(values, np.float32), values)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3])
def test_the_engines_write_by_the_same_rule(dtype):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 1 << 32, (4, 50), np.uint32).view(np.float32)
    tile = tensor_scalar(values, "multiply", 1.0, dtype=dtype)
    word = f"u{np.dtype(dtype).itemsize}"
    assert np.array_equal(tile.view(word), from_fp32(values, dtype).view(word))


def test_tf32_is_rounded_when_it_is_read():
    words = np.array([0x3F800FFF, 0x3F801000, 0x3F803000, 0x7F800001], np.uint32).view(np.float32)
    read = cast(words, np.float32, source="tf32").view(np.uint32)
    assert read.tolist() == [0x3F800000, 0x3F800000, 0x3F804000, 0x7FC00000]
    assert np.array_equal(cast(words, "tf32").view(np.uint32), read)


@pytest.mark.parametrize(
    ("values", "dtype", "source", "error", "says"),
    [
        (np.zeros(2), np.float32, None, TypeError, "values must be float32, .* or uint32, not float64"),
        (["1"], np.float32, None, TypeError, "values must be a numpy array, not a list"),
        (np.zeros(2, np.float32), "fp4", None, TypeError, "dtype must be float32, .*, not a?.*'fp4'"),
        (np.zeros(2, np.float32), ml_dtypes.float4_e2m1fn, None, TypeError, "dtype must be .*, not float4_e2m1fn"),
        (np.zeros(2, ml_dtypes.float8_e3m4), np.float32, None, TypeError, "values must be .*, not float8_e3m4"),
        (np.zeros(2, np.float32), np.int8, "bf16", ValueError, "source must be 'tf32', not 'bf16'"),
        (
            np.zeros(2, np.int32),
            np.int8,
            "tf32",
            ValueError,
            "values must be float32 where source is 'tf32', not int32",
        ),
    ],
)
def test_refuses(values, dtype, source, error, says):
    with pytest.raises(error, match=f"^{says}$"):
        cast(values, dtype, source=source)


def test_both_halves_of_a_cast_refuse():
    with pytest.raises(TypeError, match=r"^values must be float32, .* or uint32, not float64$"):
        to_fp32(np.zeros(2))
    with pytest.raises(TypeError, match=r"^values must be float32, not float64$"):
        from_fp32(np.zeros(2), np.int8)


def test_the_exact_twin_refuses():
    with pytest.raises(ValueError, match=r"^destination must be 'fp32', .*, not 'fp4'$"):
        exact_cast(0, "fp32", "fp4")
    with pytest.raises(ValueError, match=r"^code must be 0 to 255, not 256$"):
        exact_cast(256, "int8", "fp32")
