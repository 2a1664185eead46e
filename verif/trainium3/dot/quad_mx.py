"""Cases of Trainium3's array: columns of steps, and the formats that an x4 word may have."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.verif.common.dot.cases import DotCase
from bitpath.verif.kit.mismatches import Shown


def chain_shown(numerics: DotNumerics, rows: Sequence[DotCase], operands: dict[str, str]) -> Shown:
    """Show the last step of a column of PEs, of whose cases the first alone has its partial sum; ``operands`` come first."""
    partial = rows[0].partial
    for row in rows[:-1]:
        partial = replace(row, partial=partial).trace(numerics).result
    last = replace(rows[-1], partial=partial).shown(numerics)
    return replace(last, operands=operands | {"last row": f"{len(rows) - 1}, whose step is"} | dict(last.operands))


def column_cases(
    stationary: tuple[np.ndarray, FloatFormat, np.ndarray], moving: tuple[np.ndarray, FloatFormat, np.ndarray]
) -> list[DotCase]:
    """The cases of a column of PEs from the codes [rows, 4], format and scales [rows] of both sides."""
    (x, x_format, x_scale), (y, y_format, y_scale) = stationary, moving
    rows = zip(x.tolist(), y.tolist(), x_scale.tolist(), y_scale.tolist(), strict=True)
    return [DotCase(tuple(a), x_format, tuple(b), y_format, *scales) for a, b, *scales in rows]


def case_columns(cases: Sequence[DotCase]) -> Iterator[tuple[FloatFormat, FloatFormat, list[int], list[np.ndarray]]]:
    """Yield each pair of formats, the indices of its cases, and their codes [n, 4] and scales [n] of both sides and partial sums [n]."""
    indices: dict[tuple[FloatFormat, FloatFormat], list[int]] = {}
    for index, case in enumerate(cases):
        indices.setdefault((case.stationary_format, case.moving_format), []).append(index)
    for (x, y), chosen in indices.items():
        fields = ("stationary", "stationary_scale", "moving", "moving_scale")
        arrays = [np.array([getattr(cases[index], name) for index in chosen], np.uint8) for name in fields]
        yield x, y, chosen, [*arrays, np.array([cases[index].partial for index in chosen], np.uint32)]


def word_formats(numerics: DotNumerics) -> tuple[ElementFormat, ...]:
    """The formats that an x4 word for PEs of these numerics may have: theirs, and E2M1, which is mapped to one of them."""
    own = {fmt.name for fmt in numerics.element_formats}
    return tuple(fmt for fmt in ElementFormat if fmt is ElementFormat.E2M1 or fmt.name in own)
