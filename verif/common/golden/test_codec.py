"""Rounding to codes: every edge of every format, both tiers, every mode."""

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, decode_array, encode_array
from bitpath.golden.formats.catalogue import (
    CATALOGUE,
    E2M1,
    E4M3,
    E4M3FN,
    E5M2,
    E8M0,
    FP32,
    FloatFormat,
    Rounding,
    Specials,
)
from bitpath.golden.scalar.codec import Kind, Overflow, Unpacked, decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, round_to_integer, ulp
from bitpath.rtl.common.config import from_dict
from bitpath.verif.common.boundary_codes import codes
from bitpath.verif.kit.boundaries import near_floats

FORMATS = list(CATALOGUE.values())
SIGNED = [fmt for fmt in FORMATS if fmt.signed]
MODES = list(product((Rounding.RNE, Rounding.RTZ), Overflow))


def vector(fmt: FloatFormat, value: float, rounding=Rounding.RNE, overflow=Overflow.SPECIAL) -> int:
    return int(encode_array(fmt, np.array([value], np.float64), rounding=rounding, overflow=overflow)[0])


def scalar(fmt: FloatFormat, value: float, rounding=Rounding.RNE, overflow=Overflow.SPECIAL) -> int:
    return round_to_format(Fraction(value), fmt, rounding, overflow=overflow, zero_sign=int(np.signbit(value)))


every_tier = pytest.mark.parametrize("encode", [scalar, vector])


NEAREST_EDGES = [
    # Ties go to the even significand, downwards and upwards.
    (E4M3FN, 1 + 1 / 16, 0x38),
    (E4M3FN, 1 + 3 / 16, 0x3A),
    (E4M3FN, 1 + 1 / 16 + 2**-40, 0x39),
    (E4M3FN, 1 + 3 / 16 - 2**-40, 0x39),
    (E4M3FN, -(1 + 3 / 16), 0xBA),
    # Rounding up carries into the exponent.
    (E5M2, 1.9, 0x40),
    # Subnormals: the smallest, ties around it, the largest, and the carry into the first normal number.
    (E4M3FN, 2**-9, 0x01),
    (E4M3FN, 2**-10, 0x00),
    (E4M3FN, -(2**-10), 0x80),
    (E4M3FN, 3 * 2**-10, 0x02),
    (E4M3FN, 2**-10 + 2**-40, 0x01),
    (E4M3FN, 7.5 * 2**-9, 0x08),
    (E4M3FN, 7 * 2**-9, 0x07),
    # Around the largest number of a format without infinity: 464 is the tie between 448 and the NaN's place.
    (E4M3FN, 448, 0x7E),
    (E4M3FN, 464, 0x7E),
    (E4M3FN, 464.001, 0x7F),
    (E4M3FN, -464.001, 0x7F),
    # With infinity the tie goes to infinity.
    (E4M3, 247.99, 0x77),
    (E4M3, 248, 0x78),
    (E5M2, 61439, 0x7B),
    (E5M2, 61440, 0x7C),
    (E5M2, -61440, 0xFC),
    (FP32, float(2**128 - 2**103) - 2**75, 0x7F7FFFFF),
    (FP32, float(2**128 - 2**103), 0x7F800000),
    # A zero keeps its sign.
    (E5M2, 0.0, 0x00),
    (E5M2, -0.0, 0x80),
    # ROCm/aiter#974: 0.625 / 0.5 became 1.5 in MXFP4.
    (E2M1, 1.25, 2),
    (E2M1, 0.25, 0),
    (E2M1, 0.75, 2),
    (E2M1, 2.5, 4),
    (E2M1, 3.5, 6),
    (E2M1, 5.0, 6),
    (E8M0, 1.0, 127),
    (E8M0, 3.0, 129),
]
TRUNCATED_EDGES = [
    (E4M3FN, 1.124, 0x38),
    (E4M3FN, -1.124, 0xB8),
    (E4M3FN, 2**-9 * 0.999, 0x00),
    (E4M3FN, -(2**-9) * 0.999, 0x80),
    (E4M3FN, 479, 0x7E),
    (E4M3FN, 480, 0x7F),
    (E5M2, 65535, 0x7B),
    (E5M2, 65536, 0x7C),
]


@every_tier
@pytest.mark.parametrize(
    ("rounding", "fmt", "value", "code"),
    [*((Rounding.RNE, *row) for row in NEAREST_EDGES), *((Rounding.RTZ, *row) for row in TRUNCATED_EDGES)],
)
def test_edges(encode, rounding, fmt, value, code):
    assert encode(fmt, value, rounding) == code


@every_tier
@pytest.mark.parametrize("fmt", SIGNED, ids=lambda fmt: fmt.name)
def test_saturation(encode, fmt):
    beyond = float(2 * fmt.max)
    assert encode(fmt, beyond, overflow=Overflow.SATURATE) == fmt.max_code
    assert encode(fmt, -beyond, overflow=Overflow.SATURATE) == fmt.max_code | fmt.sign_mask
    if fmt.specials is Specials.FINITE:
        with pytest.raises(ValueError, match="E2M1 has neither infinity nor NaN and can only saturate"):
            encode(fmt, beyond)


@every_tier
@pytest.mark.parametrize("value", [0.0, -0.0, -(2.0**-30)])
@pytest.mark.parametrize("name", ["E4M3FNUZ", "E5M2FNUZ"])
def test_a_format_without_a_negative_zero_rounds_to_zero_and_not_to_nan(encode, name, value):
    fmt = CATALOGUE[name]
    assert encode(fmt, value) == 0
    assert encode(fmt, -1e9) == fmt.nan_code


@pytest.mark.parametrize("fmt", SIGNED, ids=lambda fmt: fmt.name)
def test_specials(fmt):
    assert vector(fmt, np.inf, overflow=Overflow.SATURATE) == fmt.max_code
    if fmt.nan_code is None:
        with pytest.raises(ValueError, match="values hold NaN, which E2M1 cannot express"):
            vector(fmt, np.nan)
    else:
        assert vector(fmt, -np.inf) == (fmt.infinity_code | fmt.sign_mask if fmt.infinity_code else fmt.nan_code)
        assert vector(fmt, np.nan) == vector(fmt, -np.nan) == fmt.nan_code


@pytest.mark.parametrize(("rounding", "overflow"), MODES)
@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_tiers_agree_at_every_number_and_midpoint(fmt, rounding, overflow):
    """Each number, the midpoint above it and float64's neighbours of both, of 400 codes; numbers beyond both ends; specials."""
    numbers = [decode(fmt, int(code)) for code in np.unique(np.linspace(0, fmt.max_code, 400).astype(int))]
    values = [float(each.value + part * ulp(fmt, each.value)) for each in numbers for part in (0, Fraction(1, 2))]
    values += [float(fmt.min_subnormal) * part for part in (0.25, 0.5, 0.75, 1.5, 2.5)]
    values += [2.0**-1074, 2.0**200, np.inf, *(float(fmt.max) * factor for factor in (1.0625, 2))]
    values = np.concatenate([values, np.nextafter(values, np.inf), np.nextafter(values, -np.inf)])
    if fmt.specials is Specials.FINITE and overflow is Overflow.SPECIAL:
        values = values[values <= float(fmt.max)]
    # E8M0 has neither a sign nor anything below its smallest number.
    values = values[values >= float(fmt.min_normal)] if fmt is E8M0 else np.concatenate([values, -values])
    if fmt.nan_code is not None:
        values = np.concatenate([values, [np.nan, -np.nan]])
    got = encode_array(fmt, values, rounding=rounding, overflow=overflow)
    assert got.dtype == np.int64
    finite = np.isfinite(values)
    assert got[finite].tolist() == [scalar(fmt, value, rounding, overflow) for value in values[finite].tolist()]


@pytest.mark.parametrize(("rounding", "overflow"), MODES, ids=lambda each: each.name)
@pytest.mark.parametrize("fmt", SIGNED, ids=lambda fmt: fmt.name)
def test_boundaries(fmt, rounding, overflow):
    """The ends of normal and subnormal numbers, ties and numbers with a bit beside them at every distance, both zeros."""
    if fmt.specials is Specials.FINITE and overflow is Overflow.SPECIAL:
        return
    numbers = [decode(fmt, code) for code in codes(fmt)]
    values = {float(each.value) for each in numbers if each.kind is Kind.FINITE} | {0.0}
    values |= {float(each.value) for each in near_floats(fmt, Random(fmt.name), range(2, 30), rounding)}
    for value in sorted(values):
        for signed in (value, -value):
            assert vector(fmt, signed, rounding, overflow) == scalar(fmt, signed, rounding, overflow), signed


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(SIGNED),
    st.sampled_from([Rounding.RNE, Rounding.RTZ]),
)
def test_tiers_agree_on_any_float64(value, fmt, rounding):
    assert vector(fmt, value, rounding, Overflow.SATURATE) == scalar(fmt, value, rounding, Overflow.SATURATE)


@pytest.mark.parametrize("fmt", [fmt for fmt in SIGNED if fmt in DTYPES], ids=lambda fmt: fmt.name)
def test_rne_against_casts(fmt):
    """ml_dtypes and numpy as witnesses, within the finite range."""
    rng = np.random.default_rng(2)
    bits = rng.integers(0, FP32.max_code, 50_000).astype(np.uint32)
    values = bits.view(np.float32)
    values = values[values < float(fmt.max)]
    small = rng.uniform(-1, 1, 50_000).astype(np.float32) * np.float32(min(16 * fmt.min_normal, 1))
    values = np.concatenate([values, -values, small])
    expected = values.astype(DTYPES[fmt]).view(f"u{DTYPES[fmt].itemsize}")
    assert np.array_equal(encode_array(fmt, values.astype(np.float64)), expected)


def test_helpers():
    assert [floor_log2(Fraction(n, 8)) for n in (1, 3, 4, 7, 8, 9, -9)] == [-3, -2, -1, -1, 0, 0, 0]
    assert [round_to_integer(Fraction(n, 2), Rounding.RNE) for n in (1, 3, 5, -1, -3)] == [0, 2, 2, 0, -2]
    assert [round_to_integer(Fraction(n, 2), Rounding.RTZ) for n in (1, 3, 5, -1, -3)] == [0, 1, 2, 0, -1]
    assert ulp(E4M3FN, Fraction(0)) == Fraction(1, 2**9)


def test_errors():
    for code in (256, -1):
        with pytest.raises(ValueError, match=f"code is {code}; E4M3FN codes are 0 to 255"):
            decode(E4M3FN, code)
    with pytest.raises(ValueError, match="codes reach from 0 to 16; E2M1 codes are 4 bits"):
        decode_array(E2M1, np.array([0, 16], np.uint8))
    with pytest.raises(TypeError, match="values must be float64 or float32, not float16"):
        encode_array(E4M3FN, np.zeros(1, np.float16))
    for encode, must in ((vector, "be RNE or RTZ, not"), (scalar, "(be RNE or RTZ, not|not be)")):
        with pytest.raises(ValueError, match=f"rounding must {must} SR"):
            encode(E4M3FN, 1.0, Rounding.SR)
    for value, encode in product((0.0, -1.0, 2.0**-128), (scalar, vector)):
        with pytest.raises(ValueError, match="smallest number of E8M0"):
            encode(E8M0, value)
    with pytest.raises(ValueError, match="infinity has no exact value"):
        _ = decode(E5M2, 0x7C).value
    assert isinstance(decode(E5M2, 0), Unpacked)


def test_the_name_even_is_still_read():
    assert Rounding("even") is Rounding.RNE
    assert from_dict(Rounding, "even") is Rounding.RNE
    with pytest.raises(ValueError, match="is no Rounding"):
        from_dict(Rounding, "odd")
