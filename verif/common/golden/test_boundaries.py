"""Values beside boundaries decide every rounding, at every distance."""

from fractions import Fraction
from random import Random

import pytest

from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, FP16, FP32, Rounding
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer
from bitpath.verif.kit.boundaries import integer_boundaries, near, near_floats

DISTANCES = (2, 3, 25, 79)
MODES = [mode for mode in Rounding if mode is not Rounding.SR]


@pytest.mark.parametrize("mode", [Rounding.RNE, Rounding.RNA, Rounding.RTZ, Rounding.RTU], ids=lambda mode: mode.name)
@pytest.mark.parametrize("fmt", [FP32, FP16, BF16, E5M2, E4M3FN, E2M1], ids=lambda fmt: fmt.name)
def test_the_sides_of_a_boundary_round_to_neighbours(fmt, mode):
    lower = {}
    for each in near_floats(fmt, Random(1), DISTANCES, mode):
        if not each.side or each.middle == 0:
            continue
        code = round_to_format(each.value, fmt, mode, overflow=Overflow.SATURATE)
        if each.side < 0:
            lower[each.boundary.name] = code
        else:
            assert code == min(lower[each.boundary.name] + 1, fmt.max_code), each


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_the_sides_of_an_integer_boundary_round_to_neighbours(mode):
    lower = None
    for each in near(lambda rng: integer_boundaries(-128, 127, rng), Random(1), DISTANCES, mode):
        if each.side < 0:
            lower = round_to_integer(each.value, mode)
        elif each.side > 0 and each.middle:
            assert round_to_integer(each.value, mode) == lower + 1
    assert lower is not None


def test_a_value_is_its_boundary_and_its_sticky_bit():
    for each in near_floats(FP32, Random(1), DISTANCES, Rounding.SR):
        assert each.value == each.middle + each.sticky
        assert abs(each.sticky) in (0, each.boundary.unit * Fraction(1, 1 << each.distance))
