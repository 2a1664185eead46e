"""Rows for the RMSNorm-Quant row unit with an element at a tie of its byte, or beside one at every distance that rows have.

    byte = round(element * (1 / (largest * (1 / limit))))

Both numbers are BF16, each factor and the product are FP32. All pairs of their significands are looked through, so whatever is
not found has no row: distances of 14 to 19 have none. Overflow has none: no element exceeds the largest, whose byte is the limit, and with a static scale the
product is clamped first, as a BF16 number; the codes of those all pass through the static scale 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.vector import DtypeMode
from bitpath.golden.trainium3.operands import fp32 as fast
from bitpath.verif.kit.boundaries import SIDES
from bitpath.verif.kit.coverage import cross
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import Case
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows

PLACES = (
    "even",
    "odd",
    "subnormal grid, even",
    "subnormal grid, odd",
    "zero",
    "smallest normal",
    "first unit of the normals",
)
PLACES += ("largest",)
"""Where the lower of the two results about a tie is, in the order of later ones before earlier ones."""


DISTANCES = (*range(2, 13), *range(20, 24), 25)
"""Distances from a tie that rows of both dtype modes have."""


def tie_bins(mode: DtypeMode) -> list[str]:
    """Every place with the tie and both sides, and every distance."""
    return [
        *cross((mode.value,), PLACES, (f"{side} tie" for side in SIDES.values())),
        *(_distance_bin(mode, each) for each in DISTANCES),
    ]


def _distance_bin(mode: DtypeMode, distance: int) -> str:
    return f"{mode.value}/2**-{distance} units beside a tie"


@dataclass(frozen=True)
class Tie:
    """A row of two numbers; the element's product is ``side * 2**-distance`` to ``side * 2**(1 - distance)`` units beside a tie.

    Attributes
    ----------
    side, distance : as the search found them; both are 0 at the tie.
    """

    mode: DtypeMode
    largest: float
    element: float
    side: int
    distance: int

    @property
    def bins(self) -> Iterator[str]:
        """The bins of the row, if its exact product confirms side and distance."""
        numerics = Options(dtype_mode=self.mode.value).numerics
        output, limit = numerics.output, numerics.output_range
        largest, element = (round_to_format(Fraction(each), FP32) for each in (self.largest, self.element))
        scale = fp32.multiply(largest, round_to_format(1 / Fraction(limit), FP32))
        value = decode(FP32, fp32.multiply(element, fp32.reciprocal(scale))).value
        unit = max(output.min_normal, Fraction(2) ** floor_log2(value)) / 2**output.fraction_bits
        lower = decode(output, round_to_format(value, output, Rounding.RTZ)).value
        beside = (value - lower) / unit - Fraction(1, 2)
        near = 2**-self.distance <= abs(beside) < 2 ** (1 - self.distance) if self.side else beside == 0
        if near and beside * self.side >= 0:
            yield f"{self.mode.value}/{_place(output, lower, unit)}/{SIDES[self.side]} tie"
            if self.distance in DISTANCES:
                yield _distance_bin(self.mode, self.distance)


def _place(output: FloatFormat, lower: Fraction, unit: Fraction) -> str:
    """Name the lower of the two results about a tie."""
    smallest = output.min_normal / 2**output.fraction_bits
    ends = {Fraction(0): 4, output.min_normal - smallest: 5, output.min_normal: 6, output.max - unit: 7}
    return PLACES[ends.get(lower, int(lower / unit) % 2 + 2 * (lower < output.min_normal))]


def ties(mode: DtypeMode, rng: Random) -> Iterator[Tie]:
    """Yield a row for each place, side and distance, chosen among all that have them."""
    numerics = Options(dtype_mode=mode.value).numerics
    output, limit = numerics.output, np.float32(numerics.output_range)
    numbers = np.arange(1 << BF16.fraction_bits, 2 << BF16.fraction_bits, dtype=np.float32) / (1 << BF16.fraction_bits)
    shifts = np.arange(output.emax - output.emin + output.fraction_bits + 3, dtype=np.int32)
    elements, largest = np.broadcast_arrays(np.ldexp(numbers, -shifts[:, None])[:, None], numbers[:, None])
    elements, largest = elements[elements <= largest], largest[elements <= largest]
    order = np.random.default_rng(rng.getrandbits(32)).permutation(len(elements))
    elements, largest = elements[order], largest[order]
    products = (elements * fast.reciprocal(largest * (np.float32(1) / limit))).astype(float)
    exponents = np.frexp(products)[1] - 1
    last = np.maximum(exponents, output.emin) - output.fraction_bits
    units = np.ldexp(products, -last)
    lower = np.floor(units)
    beside = units - lower - 0.5
    sides = np.sign(beside).astype(int)
    distances = np.where(sides, 1 - np.frexp(beside)[1], 0)
    leading = 1 << output.fraction_bits
    top = last == output.emax - output.fraction_bits
    places = lower.astype(int) % 2 + 2 * (lower < leading)
    places[lower == 0] = PLACES.index("zero")
    places[lower == leading - 1] = PLACES.index("smallest normal")
    places[(lower == leading) & (exponents == output.emin)] = PLACES.index("first unit of the normals")
    places[top & (np.ldexp(lower + 1, last) == float(output.max))] = PLACES.index("largest")
    within = np.flatnonzero((distances != 1) & (np.ldexp(lower, last) < float(output.max)))
    _, chosen = np.unique((distances * len(PLACES) + places)[within] * 3 + sides[within], return_index=True)
    for index in within[chosen]:
        numbers = float(largest[index]), float(elements[index])
        yield Tie(mode, *numbers, int(sides[index]), int(distances[index]))


def case_of(found: list[Tie]) -> Case:
    """The rows of one mode as a case, with the largest number first."""
    hidden = np.array([(each.largest, each.element) for each in found], np.float32).astype(DTYPES[BF16])
    options = Options(quant_only=True, dtype_mode=found[0].mode.value)
    return Case(Rows(hidden=hidden, gamma=None, in_scale=None, options=options), "row plain")
