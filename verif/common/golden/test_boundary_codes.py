"""Codes at the boundaries of formats: none is missing, and each stands where its name says."""

from fractions import Fraction
from random import Random

import pytest

from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E4M3FNUZ, E5M2, FP16, FP32, TF32
from bitpath.golden.scalar.codec import decode, power_of_two
from bitpath.verif.common.boundary_codes import (
    break_of,
    breaks,
    codes,
    codes_about,
    crossing,
    exact_code,
    integer_crossing,
    rounded_boundaries,
)

NARROW = (BF16, FP16, TF32, E5M2, E4M3FN, E4M3FNUZ, E2M1)
by_name = {"ids": lambda fmt: fmt.name}


def test_codes_by_hand():
    assert codes(E2M1) == [0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 14, 15]
    ends = {0x0000, 0x0001, 0x03FF, 0x0400, 0x0401, 0x7BFE, 0x7BFF, 0x7C00, 0x7C01, 0x7E00}
    assert ends | {each | 0x8000 for each in ends} <= set(codes(FP16))


@pytest.mark.parametrize("fmt", NARROW, **by_name)
def test_each_boundary_has_its_tie_and_a_bit_on_both_sides(fmt):
    found = [*codes_about(fmt, Random(1))]
    sides = {(each.boundary.name, each.side) for each, _ in found}
    names = {each.name for each in rounded_boundaries(fmt, Random(1))}
    assert sides == {(name, side) for name in names for side in (-1, 0, 1)}
    # The farthest bit is the last that FP32 holds beside a tie.
    assert max(each.distance for each, _ in found) >= FP32.precision - fmt.precision
    for each, code in found:
        assert decode(FP32, code).value == each.value


@pytest.mark.parametrize("shift", [-3, 0, 5])
@pytest.mark.parametrize("fmt", NARROW, **by_name)
def test_crossing_has_the_ends_ties_and_neighbours(fmt, shift):
    found = set(crossing(FP32, fmt, shift))
    last = power_of_two(fmt.emax - fmt.fraction_bits)
    for value in (fmt.min_normal, fmt.min_subnormal, fmt.min_subnormal / 2, fmt.max, fmt.max + last / 2):
        code = exact_code(value / power_of_two(shift), FP32)
        if code is not None:
            near = {min(code + step, FP32.max_code) for step in (-1, 0, 1)}
            assert near | {each | FP32.sign_mask for each in near} <= found


def test_integers_by_hand():
    found = set(integer_crossing(FP32, -(1 << 31), (1 << 31) - 1))
    assert {0x4EFFFFFF, 0x4F000000, 0x4F000001, 0xCF000000, 0x3F000000, 0x3EFFFFFF, 0x3F000001, 0x3FC00000} <= found


def test_the_name_of_a_break_is_the_break():
    for name, beside in breaks(30).items():
        assert break_of(Fraction(11, 2) + beside) == name
    assert break_of(Fraction(7)) is None
    assert break_of(Fraction(1, 2) + Fraction(3, 16)) is None
