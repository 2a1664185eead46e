"""Cases of the conversions between integers and FP32, with golden's results."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

import numpy as np
from amaranth.lib import data

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS
from bitpath.golden.aie_ml_v2.declarations.scalar import Sr2
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.lanes.config import FixLanesConfig
from bitpath.rtl.aie_ml_v2.lanes.fix_lanes import fix_float, float_fix
from bitpath.rtl.aie_ml_v2.lanes.layouts import ToFixFlags, ToFloatFlags, fix_request, fix_result
from bitpath.verif.aie_ml_v2.lanes.bench import Case, Cases
from bitpath.verif.common.fp32.numbers import edge
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.values import Integer, Number, code_text

INTEGER = Integer(32)
TO_FLOAT = {"zero": Sr2.TO_FLOAT_ZERO, "inexact": Sr2.TO_FLOAT_INEXACT}
TO_FIX = {
    "zero": Sr2.TO_FIX_ZERO,
    "invalid": Sr2.TO_FIX_INVALID,
    "inexact": Sr2.TO_FIX_INEXACT,
    "huge": Sr2.TO_FIX_HUGE,
}
"""Flags of the layouts, by their bits of SR2."""
SHIFT_BINS = tuple(f"shift {shift}" for shift in FLOAT_SHIFTS)


def flag_fields(flags: int, names: dict[str, Sr2]) -> dict[str, int]:
    """Return the fields of a layout of flags for bits of SR2."""
    return {name: int(flags & bit > 0) for name, bit in names.items()}


@dataclass(frozen=True)
class Way:
    """One direction of the conversion.

    Attributes
    ----------
    build, flags : the unit, and the layout of its flags.
    golden : function of codes, uint32, and a shift, to codes and flags.
    names : the flags by their bits.
    given, taken : number formats of operand and result.
    classes : names of the kinds of results, each to be seen.
    """

    build: Callable
    flags: type[data.Struct]
    golden: Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]
    names: dict[str, Sr2]
    given: Number
    taken: Number
    classes: tuple[str, ...]


def _class(flags: int, names: dict[str, Sr2]) -> str:
    """Return the names of the flags that are set, or exact."""
    return " ".join(name for name, bit in names.items() if flags & bit) or "exact"


def _to_fix(codes: np.ndarray, shift: int) -> tuple[np.ndarray, np.ndarray]:
    integers, flags = aie.float_to_fix(codes, shift)
    return integers.view(np.uint32), flags


FIX_FLOAT = Way(
    fix_float,
    ToFloatFlags,
    lambda codes, shift: aie.fix_to_float(codes.view(np.int32), shift),
    TO_FLOAT,
    INTEGER,
    FP32,
    ("exact", "zero", "inexact"),
)
FLOAT_FIX = Way(
    float_fix,
    ToFixFlags,
    _to_fix,
    TO_FIX,
    FP32,
    INTEGER,
    ("exact", "zero", "inexact", "zero inexact", "invalid inexact", "inexact huge"),
)


class FixCases(Cases):
    """Cases of one direction.

    Parameters
    ----------
    way : the direction.
    config : number of lanes.
    codes : makes the codes of the directed cases.
    """

    latency = 1

    def __init__(self, way: Way, config: FixLanesConfig, codes: Callable[[], Iterator[tuple[int, list[int]]]]):
        self.way, self.codes, self.lanes = way, codes, config.lanes
        self.unit = way.build(config)
        self.bins = way.classes
        self.kinds = SHIFT_BINS
        self._request, self._result = fix_request(config.lanes), fix_result(config.lanes, way.flags)

    def cases(self, codes: np.ndarray, shift: int, results: np.ndarray | None = None) -> list[Case]:
        """Return cases of codes with one shift, zeros in the last lanes of the last one; results None are golden's."""
        more = -len(codes) % self.lanes
        rows = np.pad(codes, (0, more))
        golden, flags = self.way.golden(rows, shift)
        taken = golden if results is None else np.concatenate([results, golden[len(codes) :]])
        split = (each.reshape(-1, self.lanes).tolist() for each in (rows, taken, flags))
        return [self._case(*each, shift) for each in zip(*split, strict=True)]

    def _case(self, codes: list[int], results: list[int], flags: list[int], shift: int) -> Case:
        seen = int(np.bitwise_or.reduce(flags))
        return Case(
            pack(self._request, {"lanes": codes, "shift": shift}),
            pack(self._result, {"lanes": results, "flags": flag_fields(seen, self.way.names)}),
            partial(self._shown, codes, shift),
            (f"shift {shift}", *(_class(each, self.way.names) for each in flags)),
        )

    def _shown(self, codes: list[int], shift: int, path: str) -> Shown:
        """Return the operand of the lane that differs, or all of them."""
        lane = path.rpartition(".")[2]
        some = codes[int(lane) :][:1] if path.startswith("lanes") and lane.isdigit() else codes
        operands = {"operand": ", ".join(code_text(self.way.given, each) for each in some), "shift": str(shift)}
        return Shown(operands=operands, formats={"lanes": self.way.taken})

    def directed(self, rng: Random) -> list[Case]:
        return [case for shift, codes in self.codes() for case in self.cases(np.array(codes, np.uint32), shift)]

    def random(self, rng: Random, count: int) -> list[Case]:
        shifts = [*rng.sample(FLOAT_SHIFTS, min(count, len(FLOAT_SHIFTS)))]
        shifts += rng.choices(FLOAT_SHIFTS, k=count - len(shifts))
        return [
            case
            for shift in shifts
            for case in self.cases(np.array([self._code(rng, shift) for _ in range(self.lanes)], np.uint32), shift)
        ]

    def _code(self, rng: Random, shift: int) -> int:
        """Return any code, or one whose leading bit is at any place."""
        code = rng.getrandbits(32)
        if self.way.given is INTEGER:
            number = code >> rng.randrange(32)
            return number * rng.choice((-1, 1)) % (1 << 32)
        return rng.choice((code, edge_code(rng, shift), edge_code(rng, shift), edge(rng)))


def integers() -> Iterator[tuple[int, list[int]]]:
    """Neighbours of powers of two and of ties of every length, of both signs, with each shift; few of them with most."""
    powers = [(1 << place) + step for place in range(32) for step in (-1, 0, 1)]
    ties = [
        (1 << place) + odd * (1 << place - 24) + step
        for place in range(24, 31)
        for odd in (1, 3)
        for step in (-1, 0, 1)
    ]
    carries = [(1 << place) - (1 << place - 25) + step for place in range(25, 32) for step in (-1, 0, 1)]
    numbers = sorted({each for each in (*powers, *ties, *carries) if each < 1 << 31} | {1 << 31})
    both = [sign * number % (1 << 32) for number in numbers for sign in (1, -1)]
    for shift in FLOAT_SHIFTS:
        yield shift, both if shift in (-32, 0, 31) else both[shift % 7 :: 7]


def edge_code(rng: Random, shift: int) -> int:
    """Return a code whose number times ``2**shift`` is around 1 to 2**32, often a tie or beside one."""
    exponent = min(max(FP32.bias - shift + rng.randint(-2, 32), 0), FP32.exponent_mask)
    fraction = rng.choice((0, rng.getrandbits(23), rng.getrandbits(23) << rng.randrange(23) & FP32.fraction_mask))
    return rng.getrandbits(1) << 31 | exponent << FP32.fraction_bits | fraction


def floats() -> Iterator[tuple[int, list[int]]]:
    """Every exponent with fractions at its ends; of those near the integers every tie and its neighbours."""
    ends = (0, 1, FP32.fraction_mask)
    for shift in (-32, -5, 0, 31):
        yield shift, [s << 31 | e << 23 | f for s, e, f in product((0, 1), range(256), ends)]
    for shift in (-17, 0, 9):
        near = range(FP32.bias - shift - 2, FP32.bias - shift + 33)
        ties = [
            (kept << place) + step & FP32.fraction_mask for place in range(23) for kept in (1, 3) for step in (-1, 0, 1)
        ]
        yield shift, [s << 31 | e << 23 | f for s, e, f in product((0, 1), near, ties)]
