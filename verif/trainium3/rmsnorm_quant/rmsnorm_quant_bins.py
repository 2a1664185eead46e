"""Bins of golden results of the RMSNorm-Quant row unit, and cases that hit all of them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.trainium3.declarations.vector import ROW_TILE, TRAINIUM3_RMSNORM_QUANT
from bitpath.golden.trainium3.vector.reduction import serial_sum
from bitpath.verif.kit.coverage import cross
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import Case
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows

NUMERICS = TRAINIUM3_RMSNORM_QUANT.numerics
FLOOR = np.float32(float(NUMERICS.min_dequant_scale))
LARGE_EPS = 1e-3

PLACEMENTS = ("plain", "kernel", "golden")
OF_ALL = ("zero row", "NaN", "largest code", "subnormal code", "zero of a number")
OF_ROW_SCALES = (
    *("scale at its floor", "scale above its floor"),
    *("bound clamps", "bound above the row", "bound without effect"),
)
OF_STATIC_SCALES = ("clamped", "bound ignored")
OF_MEANS = ("sum overflows", "mean 0", "mean below eps", "mean above eps", "eps 0", "eps large")
BINS = (
    *cross(("row", "static"), PLACEMENTS, OF_ALL),
    *cross(("row",), PLACEMENTS, OF_ROW_SCALES),
    *cross(("static",), PLACEMENTS, OF_STATIC_SCALES),
    *cross(("row", "static"), PLACEMENTS[1:], OF_MEANS),
    *cross(("row", "static"), ("ocp",), OF_ALL),
    "static/ocp/clamped",
)


def bins_of(case: Case) -> list[str]:
    """The bins of a case, those of every row."""
    options, gamma = case.rows.options, case.rows.gamma
    placement = "plain" if gamma is None else options.eps_placement
    given = case.rows.hidden.astype(np.float32)
    with np.errstate(all="ignore"):
        values = given
        if gamma is not None:
            normal = trainium3.rmsnorm(case.rows.hidden, gamma, eps=options.eps, eps_placement=options.eps_placement)
            values = normal.astype(np.float32)
        found = _of_all(case, given, values) | (_of_static if options.static else _of_row)(case, values)
        if gamma is not None:
            found |= _of_means(options, given)
    hit = [name for name, rows in found.items() if np.any(rows)]
    names = [f"{options.quant_type}/{placement}/{name}" for name in hit]
    return names + [f"{options.quant_type}/ocp/{name}" for name in hit if options.ocp and name in (*OF_ALL, "clamped")]


def _of_all(case: Case, given: np.ndarray, values: np.ndarray) -> dict[str, np.ndarray]:
    codes, output = case.expected[:, : given.shape[1]], case.rows.options.numerics.output
    magnitudes = codes & ~np.uint8(output.sign_mask)
    return {
        "zero row": (given == 0).all(axis=1),
        "NaN": codes == output.nan_code,
        "largest code": magnitudes == output.max_code,
        "subnormal code": (magnitudes > 0) & (magnitudes <= output.fraction_mask),
        "zero of a number": (magnitudes == 0) & (values != 0),
    }


def _of_row(case: Case, values: np.ndarray) -> dict[str, np.ndarray]:
    options = case.rows.options
    scales = np.ascontiguousarray(case.expected[:, values.shape[1] :]).view("<f4")
    above = np.abs(values) > np.float32(options.lower_bound)
    return {
        "scale at its floor": scales == FLOOR,
        "scale above its floor": scales > FLOOR,
        "bound clamps": above & options.bounded,
        "bound above the row": ~above.any(axis=1) & options.bounded,
        "bound without effect": options.lower_bound > 0 and not options.bounded,
    }


def _of_static(case: Case, values: np.ndarray) -> dict[str, np.ndarray]:
    scaled = np.abs(values * (np.float32(1) / case.rows.in_scale[: len(values)]))
    limit = np.float32(case.rows.options.numerics.output_range)
    return {"clamped": (scaled > limit) & np.isfinite(scaled), "bound ignored": case.rows.options.bounded}


def _of_means(options: Options, given: np.ndarray) -> dict[str, np.ndarray]:
    total = serial_sum(given * given)
    mean = total / np.float32(given.shape[1])
    return {
        "sum overflows": np.isinf(total) & np.isfinite(given).all(axis=1),
        "mean 0": mean == 0,
        "mean below eps": (mean > 0) & (mean < options.eps),
        "mean above eps": (mean > options.eps) & np.isfinite(mean),
        "eps 0": options.eps == 0,
        "eps large": options.eps >= LARGE_EPS,
    }


def directed_cases(lanes: int, length: int) -> Iterator[Case]:
    """Cases that hit all bins, whatever the lanes and however short the rows."""
    for quant_type in ("row", "static"):
        base = Options(quant_type=quant_type, quant_only=True)
        # Static: in_scale is 1e-6 where the row's own scale stops too, 1/240 for one, and 1 for a thousand.
        yield from _cases(base, None, lanes, length, {0.0: 1, np.nan: 1, 1e-8: 1e-6, 1e-20: 1e-6, 1.0: 1 / 240})
        ocp = replace(base, dtype_mode="ocp")
        yield from _cases(ocp, None, lanes, length, {0.0: 1, np.nan: 1, 1e-8: 1e-6, 1e-20: 1e-6, 1.0: 1 / 448, 1e3: 1})
        for bound in (1e-6, 3e38):
            yield from _cases(replace(base, lower_bound=bound), None, lanes, length, {1.0: 1})
        yield from _cases(replace(base, lower_bound=0.5), None, lanes, length, {1000.0: 1})
        for placement in PLACEMENTS[1:]:
            base = Options(quant_type=quant_type, eps_placement=placement)
            rows = {0.0: 1, np.nan: 1, 2.0**70: 1, 1e-30: 1, 1e-4: 1, 1.0: 1 / 240}
            yield from _cases(base, 1.0, lanes, length, rows)
            yield from _cases(replace(base, lower_bound=1e-6), 1e-8, lanes, length, {1.0: 1e-6})
            yield from _cases(replace(base, lower_bound=3e38, eps=0.0), 1e-20, lanes, length, {1.0: 1e-6})
            yield from _cases(replace(base, lower_bound=0.5, eps=0.1), 1000.0, lanes, length, {1.0: 1})


def _cases(options: Options, gamma: float | None, lanes: int, length: int, rows: dict[float, float]) -> Iterator[Case]:
    """Rows of one magnitude with signs in turn, as many to a command as there are lanes; with each its static scale."""
    signs = np.resize((1.0, -1.0), length)
    for first in range(0, len(rows), lanes):
        numbers = np.resize(list(rows), first + lanes)[first:]
        in_scale = np.resize(list(rows.values()), first + ROW_TILE)[first:].astype(np.float32).reshape(-1, 1)
        hidden = (numbers[:, None] * signs).astype(np.float32).astype(DTYPES[BF16])
        weights = None if gamma is None else np.full(length, gamma, np.float32).astype(DTYPES[BF16])
        given = Rows(hidden=hidden, gamma=weights, in_scale=in_scale if options.static else None, options=options)
        yield Case(given, "directed")
