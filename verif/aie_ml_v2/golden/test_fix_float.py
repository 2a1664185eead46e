"""Integers to FP32 and back with their flags, PACK and UNPACK, by both tiers and by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS, Saturation
from bitpath.golden.aie_ml_v2.declarations.scalar import Sr2
from bitpath.golden.formats.catalogue import FP32
from bitpath.verif.common.boundary_codes import integer_crossing

TOP = 1 << 31
integers = st.integers(-TOP, TOP - 1) | st.integers(0, 31).flatmap(
    lambda place: st.sampled_from([-(1 << place), (1 << place) - 1, -(1 << place) + 1])
)
shifts = st.sampled_from(FLOAT_SHIFTS)


def pairs(results):
    return list(zip(*(each.tolist() for each in results), strict=True))


def test_ties_and_carries_of_every_length():
    """Around every power of two, half a unit and one beside it; both signs."""
    places = [(1 << place) + step for place in range(31) for step in (-1, 0, 1)]
    halves = [
        (1 << place) + odd * (1 << place - 24) + step
        for place in range(24, 31)
        for odd in (1, 3)
        for step in (-1, 0, 1)
    ]
    numbers = np.array([*places, *halves, TOP - 1], np.int64)
    numbers = np.concatenate([numbers, -numbers, [-TOP]]).astype(np.int32)
    for shift in (-32, -1, 0, 31):
        assert pairs(aie.fix_to_float(numbers, shift)) == [exact.fix_to_float(n, shift) for n in numbers.tolist()]


def test_every_exponent_and_shift():
    """Fractions at its ends and ties of every length."""
    fractions = [0, 1, 0x7FFFFF, 0x7FFFFE, *(1 << place for place in range(23)), *(3 << place for place in range(22))]
    codes = [sign << 31 | e << 23 | f for sign, e, f in product((0, 1), range(256), fractions)]
    for shift in (-32, -7, 0, 8, 31):
        got = pairs(aie.float_to_fix(np.array(codes, np.uint32), shift))
        assert got == [exact.float_to_fix(code, shift) for code in codes]


@pytest.mark.parametrize("shift", FLOAT_SHIFTS)
def test_boundaries(shift):
    """Both ends of the integers and of FP32's normal and subnormal numbers, the ties beside them, their neighbours and zeros."""
    numbers = [
        0,
        1,
        TOP - 1,
        TOP - 2,
        *(bound + step for bound in (1 << 24, TOP - 64, TOP - 128) for step in (-1, 0, 1)),
    ]
    numbers += [-number for number in numbers] + [-TOP]
    got = pairs(aie.fix_to_float(np.array(numbers, np.int32), shift))
    assert got == [exact.fix_to_float(n, shift) for n in numbers]
    codes = integer_crossing(FP32, -TOP, TOP - 1, shift)
    got = pairs(aie.float_to_fix(np.array(codes, np.uint32), shift))
    assert got == [exact.float_to_fix(code, shift) for code in codes]


@settings(deadline=None, max_examples=300)
@given(integers, shifts)
def test_any_integer(n, shift):
    got = aie.fix_to_float(np.array(n, np.int32), shift)
    assert tuple(map(int, got)) == exact.fix_to_float(n, shift)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, (1 << 32) - 1), shifts)
def test_any_code(code, shift):
    got = aie.float_to_fix(np.array(code, np.uint32), shift)
    assert tuple(map(int, got)) == exact.float_to_fix(code, shift)


@pytest.mark.parametrize(
    ("n", "shift", "code", "flags"),
    [
        (128, 8, 0x3F000000, Sr2(0)),
        ((1 << 24) + 3, 0, 0x4B800002, Sr2.TO_FLOAT_INEXACT),
        (0, -32, 0, Sr2.TO_FLOAT_ZERO),
        (-TOP, -32, 0xDF000000, Sr2(0)),
    ],
)
def test_to_float_by_hand(n, shift, code, flags):
    assert exact.fix_to_float(n, shift) == (code, flags)
    assert pairs(aie.fix_to_float(np.array([n], np.int32), shift)) == [(code, flags)]


@pytest.mark.parametrize(
    ("code", "shift", "n", "flags"),
    [
        (0x40200000, 0, 2, Sr2.TO_FIX_INEXACT),
        (0x3E99999A, 8, 77, Sr2.TO_FIX_INEXACT),
        (0xCF000001, 0, -TOP, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0xCF000000, 0, -TOP, Sr2(0)),
        (0x4F000000, 0, TOP - 1, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0x7F800000, -32, TOP - 1, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0xFF800000, -32, -TOP, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT),
        (0xFF800001, 31, TOP - 1, Sr2.TO_FIX_INVALID | Sr2.TO_FIX_INEXACT),
        (0x80000000, 31, 0, Sr2.TO_FIX_ZERO),
        (0x80000001, 31, 0, Sr2.TO_FIX_ZERO | Sr2.TO_FIX_INEXACT),
    ],
)
def test_to_fix_by_hand(code, shift, n, flags):
    assert exact.float_to_fix(code, shift) == (n, flags)
    assert pairs(aie.float_to_fix(np.array([code], np.uint32), shift)) == [(n, flags)]


def test_both_ways_are_the_identity():
    """Integers of 24 bits are exact, whatever the shift."""
    numbers = np.arange(-(1 << 24), (1 << 24) + 1, 1021, np.int32)
    for shift in FLOAT_SHIFTS:
        codes, _ = aie.fix_to_float(numbers, shift)
        assert np.array_equal(aie.float_to_fix(codes, shift)[0], numbers)


@pytest.mark.parametrize(("bits", "saturation", "signed"), list(product((4, 8), Saturation, (False, True))))
def test_every_element_packed(bits, saturation, signed):
    count = 1 << 2 * bits
    numbers = np.arange(count) - (count >> 1) * signed
    expected = [exact.pack(each, bits, saturation, signed) for each in numbers.tolist()]
    assert aie.pack(numbers, bits=bits, saturate=saturation, signed=signed).tolist() == expected


@pytest.mark.parametrize(
    ("x", "saturation", "signed", "packed"),
    [
        (9, 0, True, -7),
        (9, 1, True, 7),
        (-9, 3, True, -7),
        (-9, 1, True, -8),
        (0xF7, 0, False, 7),
        (0xF7, 3, False, 15),
    ],
)
def test_pack_by_hand(x, saturation, signed, packed):
    assert aie.pack(np.array([x]), bits=4, saturate=saturation, signed=signed).tolist() == [packed]


@pytest.mark.parametrize(("signed", "expected"), [(True, [-1, -8]), (False, [15, 8])])
def test_every_byte_unpacked(signed, expected):
    every = np.arange(256, dtype=np.uint8)
    assert aie.unpack4(np.array([0x8F], np.uint8), signed=signed).tolist() == expected
    unpacked = aie.unpack4(every, signed=signed)
    assert unpacked.reshape(256, 2).tolist() == [list(exact.unpack4(byte, signed)) for byte in range(256)]
    assert np.array_equal(aie.pack(unpacked.astype(int), bits=4, signed=signed), unpacked)


def test_a_number_has_no_nibbles_beside_it():
    with pytest.raises(ValueError, match=r"^x must have shape \[\.\.\., N\], not \(\)$"):
        aie.unpack4(np.array(1, np.uint8))
