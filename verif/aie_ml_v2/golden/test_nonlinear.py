"""Both tiers of exp2 and tanh on every table entry and around every tie."""

from fractions import Fraction
from math import atanh

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.mover import BF20
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.verif.common.boundary_codes import codes

BASE = AIE_ML_V2.numerics
FORMATS = {"bf16": BF16, "fp16": FP16, "fp32": BF20}
SPECIALS = [0, 1 << 31, 1, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0xFF7FFFFF, 0x445FC010]


def f32(bits):
    return np.array(bits, np.uint32).view(np.float32)


def codes_of(result):
    """Codes of exp2's result; those of FP32 are BF20 with zeros below."""
    if result.dtype != np.float32:
        return result.view(np.uint16).tolist()
    bits = result.view(np.uint32)
    assert not np.any(bits & 0xFFF)
    return (bits >> 12).tolist()


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_entry_of_the_exponential(fmt):
    """The 2048 arguments of one binade, one FP32 step below some, and the ends of the range."""
    entries = (895 + np.arange(2048) / 2048).astype(np.float32)
    t = np.concatenate([entries, np.nextafter(entries[::64], np.float32(0))])
    ends = [768, 768.0005, 769, 879, 880, 881, 910, 911, 1022, 1022.9995, 1023, 1023.9995, 1024, 0, -1, 1e30, -1e30]
    t = np.concatenate([t, np.array(ends, np.float32), f32(SPECIALS)])
    got = codes_of(aie.exp2_instruction(t, fmt=fmt))
    assert got == [exact.exp2_instruction(each, FORMATS[fmt]) for each in t.view(np.uint32).tolist()]


@pytest.mark.parametrize("fmt", FORMATS)
def test_boundaries(fmt):
    """FP32's boundaries and their neighbours, arguments next to those of the results', and both zeros."""
    of_result = FORMATS[fmt]
    ends = [of_result.emin, of_result.emin - of_result.fraction_bits, of_result.emax, of_result.emax + 1]
    arguments = np.array([0.5, 1, 2, 4, *ends], np.float32).view(np.uint32).astype(np.int64)
    bits = sorted({*codes(FP32), *(arguments + np.arange(-1, 2)[:, np.newaxis]).ravel().tolist()})
    assert codes_of(aie.exp2(f32(bits), fmt=fmt)) == [exact.exp2(BASE, each, FORMATS[fmt]) for each in bits]
    assert aie.tanh(f32(bits)).view(np.uint16).tolist() == [exact.tanh(each) for each in bits]


@settings(deadline=None)
@given(st.integers(0, (1 << 32) - 1), st.sampled_from(sorted(FORMATS)))
def test_exponential_of_any_code(bits, fmt):
    assert codes_of(aie.exp2(f32([bits]), fmt=fmt)) == [exact.exp2(BASE, bits, FORMATS[fmt])]


def test_exponential_by_hand():
    x = np.array([0, 1, -1, 10, -126, -127, 127, 128, np.inf, -np.inf, np.nan], np.float32)
    got = aie.exp2(x).astype(np.float32)
    assert got[:5].tolist() == [1, 2, 0.5, 1024, 2.0**-126]
    largest = float(BF16.max)
    assert got[5:10].tolist() == [0, 2.0**127, largest, largest, 0]
    assert np.isnan(got[10])
    ends = aie.exp2(np.array([0, 128, np.nan], np.float32), fmt="fp32")
    assert ends.view(np.uint32).tolist() == [0x3F801000, 0x7F7FF000, 0x7FC00000]
    # The header's constant is 0.001 above 895; the rest is the result's own rounding to 8 bits.
    x = np.random.default_rng(13).uniform(-100, 100, 5000).astype(np.float32)
    error = aie.exp2(x).astype(float) / np.exp2(x.astype(float)) - 1
    assert np.abs(error).max() < np.log(2) * (0.001 + 2.0**-14) + 2.0**-8


def ties():
    """FP32 codes around every number whose tanh is a tie between two BF16 numbers."""
    numbers = decode_array(BF16, np.arange(0x3880, 0x3F81))
    midpoints = (numbers[:-1] + numbers[1:]) / 2
    bits = np.array([atanh(each) for each in midpoints]).astype(np.float32).view(np.uint32)
    return np.concatenate([bits - 1, bits, bits + 1])


def test_tanh_next_to_every_tie():
    bits = ties()
    got = aie.tanh(bits.view(np.float32)).view(np.uint16)
    assert got.tolist() == [exact.tanh(each) for each in bits.tolist()]
    assert np.array_equal(aie.tanh(-bits.view(np.float32)).view(np.uint16), got | 0x8000)


def test_convergents_lie_by_turns_below_and_above():
    """The convergents of tanh(1) are x, x / (1 + x**2 / 3), x / (1 + x**2 / (3 + x**2 / 5)), ..."""
    first = [exact.nonlinear.convergent(Fraction(1), depth) for depth in (1, 2, 3)]
    assert first == [1, Fraction(3, 4), Fraction(16, 21)]
    for x in (Fraction(1, 4), Fraction(1), Fraction(3)):
        above, below = ([exact.nonlinear.convergent(x, depth) for depth in range(start, 9, 2)] for start in (1, 2))
        ordered = [*below, *reversed(above)]
        assert ordered == sorted(set(ordered))


def test_small_arguments_and_specials():
    rng = np.random.default_rng(14)
    bits = np.concatenate([SPECIALS, rng.integers(0, 0x39000000, 200), 0x38FFFFF0 + np.arange(32)])
    tie = rng.integers(1, 0x3900, 50) << 16 | 0x8000
    bits = np.concatenate([bits, tie, tie | 1 << 31, rng.integers(0, 1 << 32, 200)]).astype(np.uint32)
    got = aie.tanh(bits.view(np.float32)).view(np.uint16)
    assert got.tolist() == [exact.tanh(each) for each in bits.tolist()]


def test_tanh_by_hand():
    x = np.array([0.0, -0.0, 0.5, -0.5, 1.0, 3.0, 4.0, 100.0, np.inf, -np.inf], np.float32)
    expected = np.tanh(x.astype(float)).astype(ml_dtypes.bfloat16)
    assert np.array_equal(aie.tanh(x).view(np.uint16), expected.view(np.uint16))
    assert np.isnan(aie.tanh(np.float32([np.nan])).astype(np.float32))[0]
    assert decode(FP32, 0x40800000).value == exact.nonlinear.TANH_IS_ONE
