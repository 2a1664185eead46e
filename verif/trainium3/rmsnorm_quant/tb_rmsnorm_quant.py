"""Bench of the RMSNorm-Quant row unit: every mode at every pace, every length, stated corners, cycles, reset.

Expected bytes come from golden before anything is driven.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import count
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES, format_of
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, FP16, FP32, FloatFormat, Rounding
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.vector import (
    ROW_TILE,
    SCALE_BYTES,
    TRAINIUM3_RMSNORM_QUANT,
    DtypeMode,
    EpsPlacement,
)
from bitpath.golden.trainium3.operands import fp32 as fast
from bitpath.golden.trainium3.vector.engine import serial_sum
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import RmsNormQuantConfig, command_layout
from bitpath.rtl.trainium3.rmsnorm_quant.rmsnorm_quant import RmsNormQuant
from bitpath.verif.kit.unit_bench import Bench, UnitBench, cases, changed, covers, cross, pauses, resolved
from bitpath.verif.kit.values import SIDES
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant import (
    CORNERS,
    MODES,
    SOURCES,
    Case,
    Mode,
    every_code,
    random_case,
)
from bitpath.verif.trainium3.rmsnorm_quant.rmsnorm_quant_rows import Options, Rows, beats, lower

# Bins of golden results of the RMSNorm-Quant row unit, and cases that hit all of them.


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


# Rows for the RMSNorm-Quant row unit in which one bit decides: of a comparison, or below a rounding.


RANGE = np.float32(NUMERICS.output_range)
STEP = np.float32(1 / NUMERICS.output_range)
PLAIN = Options(quant_only=True)
ONE = BF16.bias << BF16.fraction_bits
NEAREST = 4
"""Commands of rows that come nearest to a tie."""
CANDIDATES = 1 << 16
"""Rows of which those are taken that come nearest to a tie: about one of them is a tie but for a unit in FP32."""
LONE_ELEMENTS = 32
"""Commands of rows of one."""
UNREACHED = 3e38
"""A bound above all rows."""
Codes = Sequence[int]


def cases_of_one_bit(rng: Random, lanes: int, longest: int) -> Iterator[Case]:
    """Yield the cases of all functions below; ``longest``, the longest row, must be 2 or more."""
    for kind, options, rows in (*_largest(rng), *_bounds(rng), *_rounded_bounds(), *_range(), *_floors(), *_casts()):
        # The last command's rows begin again.
        for first in range(0, len(rows), lanes):
            hidden = np.array([rows[(first + k) % len(rows)] for k in range(lanes)], np.uint16).view(DTYPES[BF16])
            in_scale = np.ones((ROW_TILE, 1), np.float32) if options.static else None
            yield Case(Rows(hidden=hidden, gamma=None, in_scale=in_scale, options=options), kind)
    yield from _in_scales(rng, lanes)
    yield from _squares(lanes)
    yield from _nearly_ones(rng, lanes)
    yield from _next_to_ties(rng, lanes, longest)


def _largest(rng: Random) -> Iterator[tuple[str, Options, list[Codes]]]:
    """Two elements that differ in one bit, in both orders, and with the other fraction bits inverted, and a NaN one bit away from infinity."""
    for bit in range(BF16.width - 1):
        code = rng.randrange(ONE, 2 * ONE)
        rows = [(each, each ^ 1 << bit) for each in (code, code ^ BF16.fraction_mask)]
        yield f"largest by bit {bit}", PLAIN, [*rows, *(row[::-1] for row in rows)]
    for bit in range(BF16.fraction_bits):
        rows = [(BF16.infinity_code | 1 << bit, ONE), (ONE, BF16.infinity_code | 1 << bit)]
        for options in (PLAIN, _bounded(np.float32(1))):
            yield f"NaN by bit {bit}", options, rows


def _bounds(rng: Random) -> Iterator[tuple[str, Options, list[Codes]]]:
    """A bound of FP32 and elements that differ from it in one bit, and in none of BF16's."""
    for bit in range(BF16.width - 1):
        code, below = rng.randrange(ONE, ONE + 512), rng.getrandbits(FP32.width - BF16.width)
        bound = np.array(code << 16 | below, np.uint32).view(np.float32)
        rows = [(each | sign, each | sign) for each in (code, code ^ 1 << bit) for sign in (0, BF16.sign_mask)]
        yield f"bound by bit {bit}", _bounded(bound), rows


def _rounded_bounds() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Bounds but a bit from half-way between two BF16 numbers, which the smallest scale gives different codes."""
    lowest, highest = (int(np.float32(number).view(np.uint32)) >> 16 for number in (2 * FLOOR, FLOOR * RANGE / 2))
    numbers = np.arange(lowest, highest, dtype=np.uint16)
    codes = (numbers.view(DTYPES[BF16]).astype(np.float32) / FLOOR).astype(DTYPES[NUMERICS.output]).view(np.uint8)
    (apart,) = np.nonzero(codes[:-1] != codes[1:])
    half = 1 << FP32.width - BF16.width - 1
    for below in range(FP32.width - BF16.width):
        for odd in (0, 1):
            number = next(int(each) for each in numbers[apart[below:]] if each & 1 == odd)
            for low in {half, half ^ 1 << below, half - (1 << below)}:
                bound = np.array(number << 16 | low, np.uint32).view(np.float32)
                yield f"bound to BF16 by bit {below}", _bounded(bound), [(ONE, ONE | BF16.sign_mask)]


def _range() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Elements that differ in one bit from the largest number of the output, and NaN by one bit, by a static scale of 1."""
    most = int(RANGE.astype(DTYPES[BF16]).view(np.uint16))
    codes = [most, *(most ^ 1 << bit for bit in range(BF16.width - 1))]
    codes += [BF16.infinity_code, *(BF16.infinity_code | 1 << bit for bit in range(BF16.fraction_bits))]
    yield "range", replace(PLAIN, quant_type="static"), [(code, code | BF16.sign_mask) for code in codes]


def _floors() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Bounds whose scale differs from the smallest one first in one bit."""
    near = _around(FLOOR * RANGE, 1 << FP32.fraction_bits)
    apart = (near * STEP).view(np.uint32) ^ FLOOR.view(np.uint32)
    for bit in range(FP32.fraction_bits):
        bound = near[(apart >> np.uint32(bit)) == 1]
        for each in {bound[0], bound[-1]}:
            yield f"floor by bit {bit}", _bounded(each), [(ONE, ONE)]


def _casts() -> Iterator[tuple[str, Options, list[Codes]]]:
    """Products that are half-way between two codes but for one bit: those of 1 by the reciprocal of the scale."""
    dropped = FP32.fraction_bits - NUMERICS.output.fraction_bits
    for bit in range(dropped - 1):
        odd = np.uint32(FP32.bias << FP32.fraction_bits | 1 << dropped - 1 | 1 << bit)
        bound = _around(RANGE / odd.view(np.float32), 64)
        (found,) = np.nonzero((np.float32(1) / (bound * STEP)).view(np.uint32) == odd)
        large = ONE + (8 << BF16.fraction_bits)
        yield f"cast by bit {bit}", _bounded(bound[found[0]]), [(large, ONE), (large, ONE | BF16.sign_mask)]


def _in_scales(rng: Random, lanes: int) -> Iterator[Case]:
    """Two neighbours as scales by which an element becomes different codes, for all bits between the one and the other."""
    # Above it BF16 has a number whose code is 1.125, up to it one whose code is 1.
    limit = np.float32(1 + 2.0**-4 + 2.0**-8)
    for _ in range(FP32.fraction_bits):
        element = rng.randrange(ONE, ONE + (1 << BF16.fraction_bits))
        number = np.array(element, np.uint16).view(DTYPES[BF16]).astype(np.float32)
        scales = _around(number / limit, 64)
        (beyond,) = np.nonzero(number * (np.float32(1) / scales) > limit)
        in_scale = np.resize(scales[beyond[-1] : beyond[-1] + 2], (ROW_TILE, 1))
        hidden = np.array([(element, element | BF16.sign_mask)] * lanes, np.uint16).view(DTYPES[BF16])
        options = replace(PLAIN, quant_type="static")
        yield Case(Rows(hidden=hidden, gamma=None, in_scale=in_scale, options=options), "scale by a bit")


def _squares(lanes: int) -> Iterator[Case]:
    """Squares of one bit, most of them subnormal, alone in their sum, which the scale shows; with eps they would be nothing."""
    roots = [np.float32(2.0 ** (bit / 2)) for bit in range(FP32.emin - FP32.fraction_bits, FP32.emin + 2)]
    for placement in EpsPlacement:
        options = Options(eps=0.0, eps_placement=placement.value)
        for zeros in (0, 1):
            for first in range(0, len(roots), lanes):
                rows = [[0] * zeros + [roots[(first + k) % len(roots)]] for k in range(lanes)]
                hidden = np.array(rows, np.float32).astype(DTYPES[BF16])
                gamma = np.ones(1 + zeros, DTYPES[BF16])
                yield Case(Rows(hidden=hidden, gamma=gamma, in_scale=None, options=options), "squares of one bit")


def _nearly_ones(rng: Random, lanes: int) -> Iterator[Case]:
    """Rows of one element, which without eps becomes 1 but for a unit or so, by a gamma half-way between two numbers of BF16."""
    half = 1 << FP16.fraction_bits - BF16.fraction_bits - 1
    for _ in range(LONE_ELEMENTS):
        above_one = rng.randrange(1 << BF16.fraction_bits) << FP16.fraction_bits - BF16.fraction_bits
        gamma = np.array([FP16.bias << FP16.fraction_bits | above_one | half], np.uint16).view(DTYPES[FP16])
        hidden = np.array([[rng.randrange(ONE, ONE + 512)] for _ in range(lanes)], np.uint16).view(DTYPES[BF16])
        yield Case(Rows(hidden=hidden, gamma=gamma, in_scale=None, options=Options(eps=0.0)), "nearly one")


def _next_to_ties(rng: Random, lanes: int, longest: int) -> Iterator[Case]:
    """Rows whose largest element in FP32 is nearest of many to half-way between two numbers of BF16, or above it by one bit; their
    scales show it."""
    draw = np.random.default_rng(rng.getrandbits(64))
    for mode in MODES:
        if mode.gamma is None or mode.bounded or mode.options.static:
            continue
        for length in (2, 3, 5, 7, 19):
            shape = CANDIDATES, min(length, longest)
            hidden = draw.normal(size=shape).astype(DTYPES[BF16])
            gamma = draw.normal(1, 0.3, shape[1]).astype(mode.gamma)
            weighted = _weighted(hidden.astype(np.float32), gamma.astype(np.float32), mode.options)
            apart = (abs(weighted).max(axis=1).view(np.uint32) & 0xFFFF).astype(int) - 0x8000
            nearest = np.argsort(abs(apart), kind="stable")[: NEAREST * lanes]
            (one_bit_above,) = np.nonzero((apart > 0) & (apart & apart - 1 == 0))
            chosen = np.concatenate([nearest, one_bit_above])
            chosen = np.resize(chosen, (-(-len(chosen) // lanes), lanes))
            # A bound that no element reaches changes nothing.
            for number, rows in enumerate(chosen):
                options = replace(mode.options, lower_bound=UNREACHED) if number & 1 else mode.options
                given = Rows(hidden=hidden[rows], gamma=gamma, in_scale=None, options=options)
                yield Case(given, f"next to a tie, {length} elements")


def _weighted(x: np.ndarray, gamma: np.ndarray, options: Options) -> np.ndarray:
    """Normalised elements before their rounding, as nearly as numpy has them: rows are chosen by it, not judged."""
    total = np.zeros(len(x), np.float32)
    for column in x.T:
        total = total + column * column
    mean, eps = total * np.float32(1 / x.shape[1]), np.float32(options.eps)
    root = np.sqrt(mean.astype(float)) + eps if options.eps_after_root else np.sqrt((mean + eps).astype(float))
    return x * (1 / root).astype(np.float32)[:, None] * gamma


def _bounded(bound: np.float32) -> Options:
    return replace(PLAIN, lower_bound=float(bound))


def _around(number: np.float32, steps: int) -> np.ndarray:
    """FP32 numbers up to ``steps`` units in the last place from a positive one."""
    return (np.float32(number).view(np.uint32) + np.arange(-steps, steps + 1)).astype(np.uint32).view(np.float32)


# Rows for the RMSNorm-Quant row unit with an element at a tie of its byte, or beside one at every distance that rows have.
#
#     byte = round(element * (1 / (largest * (1 / limit))))
#
# Both numbers are BF16, each factor and the product are FP32. All pairs of their significands are looked through, so whatever is
# not found has no row: distances of 14 to 19 have none. Overflow has none: no element exceeds the largest, whose byte is the limit, and with a static scale the
# product is clamped first, as a BF16 number; the codes of those all pass through the static scale 1.


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


BENCH = UnitBench(RmsNormQuant, RmsNormQuantConfig, ms=100)
CONFIG = BENCH.config
LANES, LONGEST = CONFIG.lanes, CONFIG.max_row_length
COMMAND = command_layout(CONFIG)
CASES = cases(50)

INPUTS = ("command", "hidden", "gamma")
GAPS = {
    "full_speed": (pauses.never, pauses.never),
    "gaps": (lambda: pauses.bursts(6, pauses.rng("inputs")), pauses.never),
    "stalls": (pauses.never, lambda: pauses.bursts(6, pauses.rng("o"))),
    "both": (lambda: pauses.scattered(0.4, pauses.rng("inputs")), lambda: pauses.scattered(0.4, pauses.rng("o"))),
}
"""How the inputs pause, which share their pauses' source, and the output."""
BETWEEN = {
    "row kernel": 74,
    "row golden": 102,
    "row plain": 39,
    "static kernel": 68,
    "static golden": 96,
    "static plain": 33,
}
"""Cycles of a command besides those of its passes over the row."""
QUIET_CYCLES = 40
"""Watched after the last byte, that no other comes: more than any phase takes whose end could bring one."""


class Play:
    """Commands with their rows, and the bytes that must come."""

    def __init__(self, frame: Bench, pace: str = "full_speed"):
        gaps, stalls = GAPS[pace]
        self.frame = frame
        self.drivers = {name: frame.driver(name, gaps()) for name in INPUTS}
        self.board = frame.scoreboard("o", frame.payload_shape("o"))
        self.monitor = frame.monitor("o", self.board.got, stalls())

    def send(self, rows: Rows, expected: np.ndarray) -> None:
        """One command of up to as many rows as there are lanes; surplus lanes work on zeros, with their own bytes."""
        (batch,) = lower(CONFIG, rows)
        self.drivers["command"].send_bits(batch.command)
        for name in ("hidden", "gamma"):
            for bits in getattr(batch, name):
                self.drivers[name].send_bits(bits)
        for index, payload in enumerate(beats(CONFIG, expected)):
            self.board.expect(payload, partial(rows.shown, index))

    async def settle(self) -> None:
        """Wait for all bytes, and for no more; the bench gives up once nothing moves."""
        while self.board.pending:
            await RisingEdge(self.frame.dut.clk)
        # A surplus byte fails in the scoreboard.
        await ClockCycles(self.frame.dut.clk, QUIET_CYCLES)

    def send_case(self, case: Case) -> None:
        """A case of as many rows as there are lanes."""
        self.send(case.rows, case.expected)


def lengths() -> Iterator[int]:
    """Random lengths, short ones and the longest more often than others."""
    rng = pauses.rng("lengths")
    while True:
        yield min(LONGEST, rng.choice((1, 2, 3, LONGEST, rng.randint(1, LONGEST))))


@covers(
    "rmsnorm_quant.modes",
    "Each command carries its own mode, and every mode skips other steps",
    "Row and static scale, normalised with eps inside the root and added to it, or not at all, hidden in BF16, "
    "FP16 and FP32, gamma in BF16 and FP16, with and without a lower bound, in any order; rows of deviation 1, "
    "1e4, 1e-3, 1e-20, 120 binades wide, any bits, with a NaN or infinity, of zeros; gamma with zeros of both "
    "signs and any bits; static scales at FP32's edges; six eps; six bounds with an effect and three without",
)
@covers(
    "rmsnorm_quant.results",
    "Bins of stimulus do not show that a result occurred",
    "For each scale and each kind of normalisation, at every pace: a zero row, NaN, the largest and subnormal "
    "codes, numbers that become zero; scales at their floor and above, elements clamped by the bound, bounds "
    "above the row and without effect; elements clamped to 240; sums that overflow, means of 0, below eps and "
    "above it, eps 0 and large: bins of golden's results, hit by directed rows",
)
@covers(
    "rmsnorm_quant.surplus",
    "One byte too many in a row would show only in the next row",
    "No byte follows the last expected one within forty cycles",
)
@BENCH.test(
    "rmsnorm_quant.paces",
    "The row memory is read ahead of the output, and gamma behind its element",
    "Full speed, gaps in all inputs, stalls of the output, both",
    pace=list(GAPS),
)
async def every_mode(frame, pace):
    """Modes in any order, any class of rows, any length; behind rows that hit all bins of results."""
    rng = pauses.rng("cases")
    order = [*MODES, *rng.choices(MODES, k=max(0, CASES - len(MODES)))]
    rng.shuffle(order)
    cases = [
        random_case(mode, rng, LANES, length, SOURCES[index % len(SOURCES)])
        for index, (mode, length) in enumerate(zip(order, lengths(), strict=False))
    ]
    modes, results = frame.coverage(mode.name for mode in MODES), frame.coverage(BINS)
    sources = frame.coverage(fmt.name for fmt in SOURCES)
    play = Play(frame, pace)
    for case in cases:
        modes.hit(case.mode)
        sources.hit(format_of(case.rows.hidden.dtype).name)
    for case in (*directed_cases(LANES, min(LONGEST, 3)), *cases):
        for name in bins_of(case):
            results.hit(name)
        play.send_case(case)
    await play.settle()


@covers("rmsnorm_quant.surplus")
@BENCH.test("rmsnorm_quant.lengths", "The last element ends each pass while earlier ones are in flight")
async def every_length(frame):
    """Rows of 1 element to the row memory's size, odd ones too; 4608 with the known answers, 16,384 in the deep tests."""
    rng = pauses.rng("cases")
    chosen = np.unique(np.linspace(1, LONGEST, min(CASES, LONGEST)).astype(int)).tolist()
    cases = [random_case(rng.choice(MODES), rng, LANES, length) for length in chosen]
    play = Play(frame)
    for case in cases:
        play.send_case(case)
    await play.settle()


@covers(
    "rmsnorm_quant.corners",
    "Golden and RTL could share a mistake",
    "52 rows with their bytes stated: zeros, 1e-20, rms 1e-3 in both eps placements, eps alone, NaN and "
    "infinities in rows, gamma and scales, squares that overflow or underflow, -0 of gamma and of elements, the "
    "largest element, ties, subnormal codes, clamping, scales of 0, infinity and below 0, bounds between BF16's "
    "numbers and at the threshold",
)
@BENCH.test(
    "rmsnorm_quant.eps",
    "The vendor's kernel and its goldens differ there",
    "rms 1e-3 gives 0x33 with eps inside the root and 0x38 with eps added to it; a mean of 0 gives 0x38 and the clamp",
)
async def stated_corners(frame):
    """Each row in another lane, between others."""
    coverage = frame.coverage(corner.name for corner in CORNERS)
    play = Play(frame)
    for index, corner in enumerate(CORNERS):
        if corner.agrees:
            coverage.hit(corner.name)
        others = np.ones((LANES, len(corner.row))).astype(corner.rows.hidden.dtype)
        others[index % LANES] = corner.rows.hidden[0]
        case = Case(replace_hidden(corner.rows, others), corner.name)
        assert np.array_equal(case.expected[index % LANES], corner.expected[0])
        play.send_case(case)
    await play.settle()


def replace_hidden(rows: Rows, hidden: np.ndarray) -> Rows:
    """The same with other rows."""
    return Rows(hidden=hidden, gamma=rows.gamma, in_scale=rows.in_scale, options=rows.options)


@BENCH.test("rmsnorm_quant.one_bit", "8-bit results hide most errors in lower bits", skip=LONGEST < 2)
async def one_bit(frame):
    """One bit decides the larger of two elements, the bound, the range and the smallest scale, NaN, and, in every
    place, a tie of FP8. Largest elements of rows are within a unit or so of FP32 from half-way between two numbers of
    BF16, or one bit above. Bounds are next to half-way, static scales are neighbours, squares have one bit."""
    play = Play(frame, "gaps")
    for case in cases_of_one_bit(pauses.rng("cases"), LANES, LONGEST):
        play.send_case(case)
    await play.settle()


@BENCH.test(
    "rmsnorm_quant.ties",
    "The byte is rounded once from FP32, whose lower bits a random row rarely needs",
    skip=LONGEST < 2,
    mode=[mode.value for mode in DtypeMode],
)
async def ties_of_bytes(frame, mode):
    """Elements whose products lie at a tie of their byte or beside it: about zero, the subnormal grid, the smallest
    normal and the largest number, in both dtype modes, at every distance that two BF16 numbers give."""
    found = list(ties(DtypeMode(mode), pauses.rng("ties")))
    coverage = frame.coverage(tie_bins(DtypeMode(mode)))
    for each in found:
        for name in each.bins:
            coverage.hit(name)
    play = Play(frame)
    for first in range(0, len(found), LANES):
        play.send_case(case_of([*found[first : first + LANES], *found][:LANES]))
    await play.settle()


@BENCH.test(
    "rmsnorm_quant.cast",
    "Every tie of FP8, -0, subnormal codes, the clamp, infinities, NaN; hidden is rounded to BF16 before anything else",
    source=[fmt.name for fmt in SOURCES],
)
async def hidden_codes(frame, source):
    """All 65,536 BF16 and FP16 codes through the static scale 1, and as many of FP32, most of them next to a tie of
    BF16."""
    play = Play(frame)
    for case in every_code(CATALOGUE[source], LANES, LONGEST, CASES, pauses.rng("codes")):
        play.send_case(case)
    await play.settle()


def refused_fields() -> Iterator[tuple[Fault, dict[str, Any]]]:
    """Yield faults with fields of a command that have them: of the source, the row length, the lower bound and eps."""
    yield Fault.DTYPE, {"options": {"source": 3}}
    yield Fault.COUNT, {"row_length": 0}
    for length in range(LONGEST + 1, 1 << LONGEST.bit_length()):
        yield Fault.RANGE, {"row_length": length}
    for bound in (0, FP32.sign_mask, FP32.sign_mask | 1, FP32.infinity_code, FP32.nan_code, 0xBF800000, 0xFFFFFFFF):
        yield Fault.RANGE, {"options": {"static": 0, "has_lower_bound": 1, "lower_bound": bound}}
    for eps in (BF16.sign_mask | 1, BF16.infinity_code, BF16.nan_code, 0xBF80, 0xFFFF):
        yield Fault.RANGE, {"options": {"quant_only": 0, "eps": eps}}
    yield Fault.DTYPE, {"row_length": 0, "options": {"source": 3}}
    yield Fault.COUNT, {"row_length": 0, "options": {"quant_only": 0, "eps": 0xFFFF}}


@BENCH.test("rmsnorm_quant.refused", "A row without an element loaded for ever")
async def refused_commands(frame):
    """The source that there is not, row lengths of 0 and beyond the row memory, lower bounds that are not positive and
    finite, eps that is negative or not finite, each between commands."""
    rng = pauses.rng("cases")
    dut = frame.dut
    coverage = frame.coverage(["DTYPE", "COUNT", "RANGE"])
    play = Play(frame)
    number = count(1)
    for fault, fields in refused_fields():
        case = random_case(rng.choice(MODES), rng, LANES, rng.randint(1, min(LONGEST, 4)))
        (batch,) = lower(CONFIG, case.rows)
        for _ in range(rng.randint(1, 2)):
            play.drivers["command"].send_bits(changed(COMMAND, batch.command, fields))
        play.send_case(case)
        await play.settle()
        await FallingEdge(dut.clk)
        assert resolved(dut.fault) == fault.value, fields
        assert not resolved(dut.busy)
        assert resolved(dut.retired) == next(number)
        coverage.hit(fault.name)
        dut.clear.value = 1
        await RisingEdge(dut.clk)
        dut.clear.value = 0
        await FallingEdge(dut.clk)
        assert resolved(dut.fault) == Fault.NONE.value
        await RisingEdge(dut.clk)


def kind_of(mode: Mode) -> str:
    return f"{mode.options.quant_type} {'plain' if mode.gamma is None else mode.options.eps_placement}"


MODES_OF = {kind: [mode for mode in MODES if kind_of(mode) == kind] for kind in BETWEEN}


def cycles_of(mode: Mode, length: int) -> int:
    """A command's cycles at full speed."""
    return (2 if mode.gamma is None else 3) * length + BETWEEN[kind_of(mode)]


@covers("rmsnorm_quant.surplus")
@BENCH.test("rmsnorm_quant.cycles", "The cycles of a row are part of the contract")
async def cycles_of_a_command(frame):
    """Every mode takes exactly its cycles, at one element and at the longest row; busy, and commands counted."""
    rng = pauses.rng("cases")
    dut = frame.dut
    play = Play(frame)
    number = count(1)
    for mode in MODES:
        kind = kind_of(mode)
        for length in (1, LONGEST):
            before = resolved(dut.busy_cycles)
            play.send_case(random_case(mode, rng, LANES, length))
            await play.settle()
            await FallingEdge(dut.clk)
            assert not resolved(dut.busy)
            assert resolved(dut.retired) == next(number)
            assert resolved(dut.busy_cycles) - before == cycles_of(mode, length), (kind, length)


def moments(mode: Mode) -> dict[str, tuple[str, int]]:
    """Points at which a command of the longest rows is reset: a counter, and the count that triggers it."""
    output = LONGEST if mode.options.static else LONGEST + SCALE_BYTES
    found = {"loading": ("hidden", LONGEST), "computing": ("after hidden", BETWEEN["static plain"] - 10)}
    if mode.gamma is not None:
        found |= {"normalising": ("gamma", LONGEST), "scaling": ("after gamma", BETWEEN["static plain"] - 10)}
    return found | {"byte waits": ("waits", 5), "bytes taken": ("o", output - 1)}


@BENCH.test(
    "rmsnorm_quant.reset",
    "A sum, a largest value, an element on its way to the memory or a byte on its way out that outlives a reset "
    "spoils the next row",
    "Commands of real rows of each of six kinds, row and static, with eps inside the root, added to it, and "
    "plain, broken off in each pass, between passes, while the first byte waits and after some have been taken; "
    "nothing is busy or offered then, and the next command of any mode brings golden's bytes in as many cycles as "
    "ever",
)
async def reset_in_the_middle(frame):
    """After a reset at any point of a command of any kind, of all where the cases suffice, nothing is left of it: the next
    command's bytes are golden's, and it takes its cycles."""
    rng = pauses.rng("cases")
    plans = [
        (kind, name, counter, most)
        for kind in BETWEEN
        for name, (counter, most) in moments(rng.choice(MODES_OF[kind])).items()
        if most
    ]
    plans = rng.sample(plans, min(len(plans), CASES))
    dut = frame.dut
    coverage = frame.coverage(f"{kind}/{name}" for kind, name, _, _ in plans)
    play = Play(frame)
    for kind, name, counter, most in plans:
        play.monitor.hold()
        case = random_case(rng.choice(MODES_OF[kind]), rng, LANES, LONGEST)
        await break_off(frame, case, counter, rng.randint(1, most), rng)
        coverage.hit(kind, name)
        await FallingEdge(dut.clk)
        assert not resolved(dut.busy), (kind, name)
        assert not resolved(dut.o__valid), (kind, name)
        assert not resolved(dut.retired)
        play.monitor.release()
        mode, length = rng.choice(MODES), rng.randint(1, LONGEST)
        play.send_case(random_case(mode, rng, LANES, length))
        await play.settle()
        assert resolved(dut.retired) == 1
        assert resolved(dut.busy_cycles) == cycles_of(mode, length), (kind, name)


async def break_off(frame: Bench, case: Case, counter: str, times: int, rng: Random) -> None:
    """Run a command until ``counter`` reaches ``times``, then reset; an output byte that must wait is never taken."""
    dut = frame.dut
    (batch,) = lower(CONFIG, case.rows)
    payloads = {"command": [batch.command], "hidden": batch.hidden, "gamma": batch.gamma}
    stalls = pauses.scattered(rng.choice((0.0, 0.5)), rng)
    counts = Counter()
    await ClockCycles(dut.clk, 2)  # by then the monitor has let go of ready
    while counts[counter] < times:
        for name, bits in payloads.items():
            offered = counts[name] < len(bits)
            getattr(dut, f"{name}__valid").value = int(offered)
            getattr(dut, f"{name}__payload").value = bits[counts[name]] if offered else 0
        dut.o__ready.value = int(counter != "waits" and not next(stalls))
        await FallingEdge(dut.clk)
        # The command is taken, and its valid is low again.
        assert not counts["command"] or resolved(dut.busy), "an idle unit in the middle of a command"
        counts.update(f"after {name}" for name, bits in payloads.items() if counts[name] == len(bits))
        counts["waits"] += resolved(dut.o__valid) and not resolved(dut.o__ready)
        counts.update(
            name
            for name in (*payloads, "o")
            if resolved(getattr(dut, f"{name}__valid")) and resolved(getattr(dut, f"{name}__ready"))
        )
        await RisingEdge(dut.clk)
    await frame.reset()
