"""The catalogue of formats against ml_dtypes and numpy, over all codes."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, encode_array, format_of
from bitpath.golden.formats.catalogue import (
    BF16,
    CATALOGUE,
    FP16,
    FP32,
    MX_FORMATS,
    MXFP4,
    MXFP8_E4M3,
    MXFP8_E5M2,
    TF32,
)
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_format

SMALL = [fmt for fmt in CATALOGUE.values() if fmt.width <= 16]
WITNESSED = [fmt for fmt in SMALL if fmt in DTYPES]


def all_codes(fmt):
    return np.arange(1 << fmt.width, dtype=np.uint32)


def witness(fmt):
    """All codes' values as ml_dtypes and numpy have them."""
    carrier = DTYPES[fmt]
    with np.errstate(invalid="ignore"):  # signalling NaNs among FP16's codes
        return all_codes(fmt).astype(f"u{carrier.itemsize}").view(carrier).astype(np.float64)


def same(x, y):
    """Return True if two float64 arrays agree in bits, NaNs aside."""
    return np.array_equal(np.isnan(x), np.isnan(y)) and np.array_equal(
        x[~np.isnan(x)].view(np.int64), y[~np.isnan(y)].view(np.int64)
    )


@pytest.mark.parametrize("fmt", WITNESSED, ids=lambda fmt: fmt.name)
def test_all_values(fmt):
    values = decode_array(fmt, all_codes(fmt))
    assert same(values, witness(fmt))
    for code, value in enumerate(values):
        unpacked = decode(fmt, code)
        if unpacked.kind is Kind.NAN:
            assert np.isnan(value)
        elif unpacked.kind is Kind.INFINITY:
            assert value == (-1) ** unpacked.sign * np.inf
        else:
            assert unpacked.value == Fraction(float(value))
            assert unpacked.sign == np.signbit(value)


@pytest.mark.parametrize("fmt", WITNESSED, ids=lambda fmt: fmt.name)
def test_derived_properties(fmt):
    values = witness(fmt)
    finite = values[np.isfinite(values)]
    info = np.finfo(np.float16) if fmt is FP16 else ml_dtypes.finfo(DTYPES[fmt])
    assert fmt.max == Fraction(float(finite.max())) == Fraction(float(info.max))
    assert fmt.min_subnormal == Fraction(float(finite[finite > 0].min()))
    if fmt.has_subnormals:
        assert fmt.min_normal == Fraction(float(info.smallest_normal))
    assert values[fmt.max_code] == finite.max()
    assert fmt.emax == np.floor(np.log2(finite.max()))
    assert Fraction(2) ** fmt.emin == fmt.min_normal
    assert fmt.width == int(all_codes(fmt)[-1]).bit_length()
    assert fmt.precision == fmt.fraction_bits + 1
    infinities = np.flatnonzero(values == np.inf)
    assert list(infinities) == ([] if fmt.infinity_code is None else [fmt.infinity_code])
    if fmt.nan_code is None:
        assert not np.isnan(values).any()
    else:
        assert np.isnan(values[fmt.nan_code])


@pytest.mark.parametrize("fmt", [BF16, FP16, TF32, FP32], ids=lambda fmt: fmt.name)
def test_nan_of_wide_formats_is_quiet_and_nothing_more(fmt):
    assert fmt.nan_code == fmt.infinity_code | 1 << fmt.fraction_bits - 1


@pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
def test_every_code_survives_a_round_trip(fmt):
    """tenstorrent/tt-metal#51971: 132 of 256 E4M3 codes did not."""
    codes = all_codes(fmt)
    values = decode_array(fmt, codes)
    expected = np.where(np.isnan(values), 0 if fmt.nan_code is None else fmt.nan_code, codes)
    assert np.array_equal(encode_array(fmt, values), expected)
    for code in codes[:: max(1, len(codes) // 512)].tolist():
        unpacked = decode(fmt, code)
        if unpacked.kind is Kind.FINITE:
            assert round_to_format(unpacked.value, fmt, zero_sign=unpacked.sign) == code


@pytest.mark.parametrize("fmt", [FP32, TF32], ids=lambda fmt: fmt.name)
def test_wide_codes_survive_a_round_trip(fmt):
    rng = np.random.default_rng(1)
    edges = [0, 1, fmt.fraction_mask, fmt.fraction_mask + 1, fmt.max_code, fmt.infinity_code]
    codes = np.concatenate([edges, rng.integers(0, fmt.infinity_code, 100_000)])
    codes = np.concatenate([codes, codes | fmt.sign_mask])
    values = decode_array(fmt, codes)
    assert np.array_equal(encode_array(fmt, values), codes)
    in_fp32 = (codes << FP32.fraction_bits - fmt.fraction_bits).astype(np.uint32).view(np.float32)
    assert same(values, in_fp32.astype(np.float64))


SPECIFIED = {
    "E4M3FN": {"max": 448, "emax": 8, "max_code": 0x7E, "min_subnormal": Fraction(1, 2**9)},
    "E5M2": {"max": 57344, "emax": 15, "max_code": 0x7B, "infinity_code": 0x7C, "min_subnormal": Fraction(1, 2**16)},
    "E2M1": {"max": 6, "emax": 2, "min_subnormal": Fraction(1, 2)},
    "E4M3": {"max": 240, "emax": 7, "max_code": 0x77, "infinity_code": 0x78},
    "E8M0": {"max": 2**127, "max_code": 0xFE, "min_normal": Fraction(1, 2**127), "sign_mask": 0},
    "E3M4": {"max": Fraction(31, 2), "emax": 3, "max_code": 0x6F, "infinity_code": 0x70, "min_normal": Fraction(1, 4)},
    "E4M3FNUZ": {"max": 240, "emax": 7, "max_code": 0x7F, "infinity_code": None},
    "E5M2FNUZ": {"max": 57344, "emax": 15, "max_code": 0x7F},
    "BF16": {"infinity_code": 0x7F80},
    "FP16": {"infinity_code": 0x7C00},
    "TF32": {"infinity_code": 0x3FC00},
    "FP32": {"infinity_code": 0x7F800000, "max_code": 0x7F7FFFFF, "sign_mask": 0x80000000},
}
"""Values of spec section a and of the OCP texts, by hand."""


@pytest.mark.parametrize("name", SPECIFIED)
def test_table_of_the_specification(name):
    assert {field: getattr(CATALOGUE[name], field) for field in SPECIFIED[name]} == SPECIFIED[name]


def test_numbers_of_e3m4_and_e2m1():
    assert CATALOGUE["E3M4"].min_subnormal == Fraction(1, 64)
    assert [decode(CATALOGUE["E2M1"], code).value * 2 for code in range(8)] == [0, 1, 2, 3, 4, 6, 8, 12]


def test_block_formats():
    assert [fmt.bits for fmt in (MXFP8_E4M3, MXFP8_E5M2, MXFP4)] == [264, 264, 136]
    assert set(MX_FORMATS) == {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4"}


def test_dtypes_and_codes():
    for fmt, dtype in DTYPES.items():
        assert format_of(dtype) is fmt
    assert codes_of(np.array([1.0, -2.0], ml_dtypes.float8_e4m3fn)).tolist() == [0x38, 0xC0]
    with pytest.raises(TypeError, match="dtype must be float8_e4m3fn, float8_e4m3, float8_e5m2, float8_e3m4,"):
        format_of(np.int32)
    wide = np.array([16], np.uint8).view(ml_dtypes.float4_e2m1fn)
    with pytest.raises(ValueError, match="array has float4_e2m1fn bytes above 15"):
        codes_of(wide)
    with pytest.raises(ValueError, match="moving has float4_e2m1fn bytes above 15"):
        codes_of(wide, "moving")
