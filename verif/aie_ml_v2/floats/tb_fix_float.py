"""Bench of integers to FP32 with a binary point; `lane_tests` says how each test sends them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random
from typing import ClassVar

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS
from bitpath.golden.aie_ml_v2.declarations.mover import Sr2
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import power_of_two
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.rtl.aie_ml_v2.floats.operators import FIX_FLOAT
from bitpath.verif.aie_ml_v2.floats.lane_bench import Beside, Corner, ShiftAsk, beside, lane_bench, lane_tests
from bitpath.verif.common.boundary_codes import breaks
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import Integer

FLAGS = {"zero": Sr2.TO_FLOAT_ZERO, "inexact": Sr2.TO_FLOAT_INEXACT}


@dataclass(frozen=True)
class FixFloatAsk(ShiftAsk):
    """Fraction bits of the integers."""

    operator: ClassVar = FIX_FLOAT
    operand: ClassVar = Integer(32, signed=True)
    result: ClassVar = FP32

    def golden(self, codes: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        results, flags = aie.fix_to_float(codes.view(np.int32), self.shift)
        return results, {name: flags & bit > 0 for name, bit in FLAGS.items()}

    def code(self, source: Random) -> int:
        number = source.getrandbits(32) >> source.randrange(32)
        return number * source.choice((-1, 1)) % (1 << 32)


def _sweep() -> Iterator[tuple[FixFloatAsk, list[int]]]:
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
        yield FixFloatAsk(shift), both if shift in (-32, 0, 31) else both[shift % 7 :: 7]


KEPT = {
    "even": 1 << FP32.fraction_bits,
    "odd": 3 << FP32.fraction_bits - 1 | 1,
    "next binade": (2 << FP32.fraction_bits) - 1,
}
"""Kept bits beside whose upper end a tie stands."""
KINDS = [FixFloatAsk(shift) for shift in FLOAT_SHIFTS]
SWEEP = [*_sweep()]
CORNERS = [
    Corner(f"{code:#010x} by {shift}", FixFloatAsk(shift), code, result, flags)
    for code, shift, result, flags in (
        (0x00000000, 0, 0x00000000, ("zero",)),
        (0x00000000, -32, 0x00000000, ("zero",)),
        (0x00000001, 0, 0x3F800000, ()),
        (0xFFFFFFFF, 0, 0xBF800000, ()),
        (0x00000001, 31, 0x30000000, ()),
        (0x00000001, -32, 0x4F800000, ()),
        (0x00000003, 1, 0x3FC00000, ()),
        (0x80000000, 0, 0xCF000000, ()),
        (0x80000000, 31, 0xBF800000, ()),
        (0x00FFFFFF, 0, 0x4B7FFFFF, ()),
        (0x01000001, 0, 0x4B800000, ("inexact",)),
        (0x01000003, 0, 0x4B800002, ("inexact",)),
        (0xFEFFFFFF, 0, 0xCB800000, ("inexact",)),
        (0x01FFFFFF, 0, 0x4C000000, ("inexact",)),
        (0x7FFFFFBF, 0, 0x4EFFFFFF, ("inexact",)),
        (0x7FFFFFC0, 0, 0x4F000000, ("inexact",)),
        (0x7FFFFFFF, 31, 0x3F800000, ("inexact",)),
    )
]


def boundaries() -> Iterator[Beside]:
    """Integers of 25 to 31 bits between two numbers of FP32: ties, with one bit beside them at every distance."""
    for shift in (FLOAT_SHIFTS[0], 0, FLOAT_SHIFTS[-1]):
        values = []
        for dropped, (name, kept) in product(range(1, 8), KEPT.items()):
            for beside_tie, sign in product(breaks(dropped).values(), (1, -1)):
                number = sign * int((kept + Fraction(1, 2) + beside_tie) * (1 << dropped))
                values.append((name, number % (1 << 32), round_to_format(number * power_of_two(-shift), FP32)))
        yield from beside(FixFloatAsk(shift), values)


BENCH = lane_bench(__name__, FIX_FLOAT, KINDS)
random_requests, latency, resets = BENCH.tests()
swept_operands, directed_corners, range_boundaries = lane_tests(BENCH, CORNERS, SWEEP, [*boundaries()])
covers(
    "fix_float.numbers",
    "The number is shifted to its leading bit, and up to eight bits below the significand decide the rounding",
    "Neighbours of all powers of two, ties of every length and carries into the next power, of both signs, with "
    "every shift; 0 and -2**31",
    swept_operands,
    directed_corners,
)
covers(
    "fix_float.flags",
    "SR2 holds the OR over the lanes",
    "Zero and inexact of each lane, and their OR",
    directed_corners,
    random_requests,
)
covers(
    "fix_float.stream",
    "Each request has a shift of its own",
    "Every shift in any order, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_requests,
    latency,
    resets,
)
covers(
    "fix_float.boundaries",
    "The sticky bit alone decides there, and the ends of the range are rounders of their own",
    "Integers of 25 to 31 bits at a tie of even and odd numbers and of the next binade, and with one bit beside "
    "it at every distance",
    range_boundaries,
)
