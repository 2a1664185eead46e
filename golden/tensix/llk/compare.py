"""A device's result against golden: bit for bit, with the departure that explains a difference."""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.tensix.declarations.formats import FACE, TILE
from bitpath.golden.tensix.llk.alternatives import STAGES, alternatives
from bitpath.golden.tensix.llk.case import ROW_MAJOR_RESULTS, Case
from bitpath.golden.tensix.llk.device import chip_of
from bitpath.golden.tensix.llk.expected import Operands, bytes_of, operands_of, result_of
from bitpath.golden.tensix.llk.results import datum_codes, places_in_order


@dataclass(frozen=True)
class Difference:
    """The first datum in L1 whose bits differ.

    Attributes
    ----------
    datum : its number in the order of L1.
    row, column : its place in the result's matrix.
    expected, device : the codes; a block float's has the exponent above the datum's own bits.
    """

    datum: int
    row: int
    column: int
    expected: int
    device: int


@dataclass(frozen=True)
class Report:
    """A comparison of a device's result with golden's.

    Attributes
    ----------
    equal : True if all bytes are equal.
    first_difference : the first datum that differs, None if all are equal.
    stage : the earliest of "src", "phase", "dst", "mid" and "l1" with a departure that gives the device's bytes; None if all are
        equal, or if no known departure does.
    causes : the departures of that stage that give them, as phrases.
    ulp : the largest distance, in units in the last place; a block float's is that of the BF16 or FP16 numbers.
    histogram : datums by distance: those of 0, those of 1, and those up to each further power of two but above the one before.
    """

    equal: bool
    first_difference: Difference | None
    stage: str | None
    causes: tuple[str, ...]
    ulp: int
    histogram: dict[int, int]


@checked
def compare(case: Case, l1_a: Any, l1_b: Any, device_l1: Any, *, l1_before: Any = None) -> Report:
    """Compare a device's result with `expected`; the tolerance is zero.

    Parameters
    ----------
    l1_a, l1_b, l1_before : as in `expected`.
    device_l1 : the device's result in L1, in the same form.

    Raises
    ------
    TypeError, ValueError : as `expected`.
    """
    operands = operands_of(case, l1_a, l1_b, l1_before)
    right = result_of(case, chip_of(case), operands)
    found = bytes_of("device_l1", device_l1, len(right))
    if np.array_equal(found, right):
        return Report(True, None, None, (), 0, {0: prod(case.result_dimensions)})
    places = places_in_order(case, right), places_in_order(case, found)
    distances = np.abs(places[1] - places[0])
    stage, causes = _explained(case, operands, found)
    return Report(
        equal=False,
        first_difference=_first(case, right, found),
        stage=stage,
        causes=causes,
        ulp=int(distances.max()),
        histogram=_histogram(distances),
    )


def _explained(case: Case, operands: Operands, found: np.ndarray) -> tuple[str | None, tuple[str, ...]]:
    """Return the earliest stage with departures that give these bytes, and the departures."""
    known = list(alternatives(case))
    for stage in STAGES:
        causes = tuple(
            each.cause
            for each in known
            if each.stage == stage and np.array_equal(result_of(each.case, each.device, operands), found)
        )
        if causes:
            return stage, causes
    return None, ()


def _first(case: Case, right: np.ndarray, found: np.ndarray) -> Difference:
    codes = datum_codes(case, right), datum_codes(case, found)
    datum, columns = int(np.argmax(codes[0] != codes[1])), case.result_dimensions[1]
    if case.op in ROW_MAJOR_RESULTS:
        row, column = divmod(datum, columns)
    else:
        tile, within = divmod(datum, TILE * TILE)
        face, place = divmod(within, FACE * FACE)
        row = tile // (columns // TILE) * TILE + face // 2 * FACE + place // FACE
        column = tile % (columns // TILE) * TILE + face % 2 * FACE + place % FACE
    return Difference(datum, row, column, int(codes[0][datum]), int(codes[1][datum]))


def _histogram(distances: np.ndarray) -> dict[int, int]:
    steps = np.where(distances > 0, 1 << np.ceil(np.log2(np.maximum(distances, 1))).astype(np.int64), 0)
    values, counts = np.unique(steps, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
