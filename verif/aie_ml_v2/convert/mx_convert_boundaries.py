"""Elements at and beside the boundaries of a block's codes: zero, the largest code, an even and an odd one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BIAS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.verif.aie_ml_v2.convert.mx_convert import Conversion, Converted, conversions
from bitpath.verif.aie_ml_v2.convert.mx_convert_random import in_blocks
from bitpath.verif.common.boundary_codes import exact_code
from bitpath.verif.kit.boundaries import integer_boundaries, near

Places = Mapping[Fraction, set[str]]
"""The bins of each magnitude, in units of its last place."""


def places_beside(fmt: MxFormat, rounding: RoundingCode, rng: Random) -> Places:
    """Return the magnitudes, each with a sticky bit at every distance that FP32 has."""
    found: dict[Fraction, set[str]] = defaultdict(set)
    boundaries = partial(integer_boundaries, 0, fmt.max_code)
    for each in near(boundaries, rng, range(2, FP32.precision + 2), rounding.mode):
        if each.value >= 0 and exact_code(each.value, FP32) is not None:
            found[each.value].add(each.bin)
    return found


def boundary_blocks(fmt: MxFormat, rounding: RoundingCode, places: Places) -> list[Conversion]:
    """Return blocks of the magnitudes in both signs, and in MX with and without shift."""
    units = [sign * float(each) for each in places for sign in (1, -1)]
    return conversions(in_blocks(fmt, np.array(units)), fmt, rounding)


def hits(numerics: AieNumerics, block: Conversion, result: Converted, places: Places) -> Iterator[str]:
    """Yield the bins of the elements to which golden gives the exact value's code."""
    fmt = block.fmt
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code
    values = [decode(FP32, code).value for code in block.lanes]
    for k, value in enumerate(values):
        pair = values[k & ~1 :][:2]
        shifted = fmt.has_shifts and max(map(abs, pair)) < 1
        names = places.get(abs(value) * power_of_two(fmt.magnitude_bits - 1 + shifted), ())
        exponent = result.exponent - MX_BIAS - (result.shift >> k // 2 & 1)
        rounded = round_to_integer(value * power_of_two(fmt.magnitude_bits - 1 - exponent), block.rounding.mode)
        if names and result.codes[k] == min(max(rounded, lowest), fmt.max_code):
            yield from (f"{fmt.name}/shift {int(shifted)}/{name}" for name in names)


def bins(fmt: MxFormat, places: Places) -> list[str]:
    shifts = range(1 + fmt.has_shifts)
    return sorted(f"{fmt.name}/shift {shift}/{name}" for names in places.values() for name in names for shift in shifts)
