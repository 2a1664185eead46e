"""Bench of FP32 to integers with a binary point; `lane_tests` says how each test sends them."""

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
from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_FIX
from bitpath.verif.aie_ml_v2.floats.lane_bench import Beside, Corner, ShiftAsk, beside, lane_bench, lane_tests
from bitpath.verif.common.boundary_codes import breaks, exact_code
from bitpath.verif.common.fp32.numbers import edge
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import Integer

FLAGS = {
    "zero": Sr2.TO_FIX_ZERO,
    "invalid": Sr2.TO_FIX_INVALID,
    "inexact": Sr2.TO_FIX_INEXACT,
    "huge": Sr2.TO_FIX_HUGE,
}
LARGEST, LOWEST = (1 << 31) - 1, 1 << 31


@dataclass(frozen=True)
class FloatFixAsk(ShiftAsk):
    """Fraction bits of the integers."""

    operator: ClassVar = FLOAT_FIX
    operand: ClassVar = FP32
    result: ClassVar = Integer(32, signed=True)

    def golden(self, codes: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        results, flags = aie.float_to_fix(codes, self.shift)
        return results, {name: flags & bit > 0 for name, bit in FLAGS.items()}

    def code(self, source: Random) -> int:
        return source.choice((source.getrandbits(32), self._near(source), self._near(source), edge(source)))

    def _near(self, source: Random) -> int:
        """Return a code whose number times ``2**shift`` is around 1 to 2**32, often a tie or beside one."""
        exponent = min(max(FP32.bias - self.shift + source.randint(-2, 32), 0), FP32.exponent_mask)
        some = source.getrandbits(23)
        fraction = source.choice((0, some, some << source.randrange(23) & FP32.fraction_mask))
        return source.getrandbits(1) << 31 | exponent << FP32.fraction_bits | fraction


def _sweep() -> Iterator[tuple[FloatFixAsk, list[int]]]:
    """Every exponent with fractions at its ends; of those near the integers every tie and its neighbours."""
    ends = (0, 1, FP32.fraction_mask)
    for shift in (-32, -5, 0, 31):
        yield FloatFixAsk(shift), [s << 31 | e << 23 | f for s, e, f in product((0, 1), range(256), ends)]
    for shift in (-17, 0, 9):
        near = range(FP32.bias - shift - 2, FP32.bias - shift + 33)
        ties = [
            (kept << place) + step & FP32.fraction_mask for place in range(23) for kept in (1, 3) for step in (-1, 0, 1)
        ]
        yield FloatFixAsk(shift), [s << 31 | e << 23 | f for s, e, f in product((0, 1), near, ties)]


KINDS = [FloatFixAsk(shift) for shift in FLOAT_SHIFTS]
SWEEP = [*_sweep()]
CORNERS = [
    Corner(f"{code:#010x} by {shift}", FloatFixAsk(shift), code, result % (1 << 32), flags)
    for code, shift, result, flags in (
        (0x3F800000, 0, 1, ()),
        (0x3FC00000, 1, 3, ()),
        (0x4F000000, -1, 1 << 30, ()),
        (0x4EFFFFFF, 0, 0x7FFFFF80, ()),
        (0x3EFFFFFF, 0, 0, ("zero", "inexact")),
        (0x3F000000, 0, 0, ("zero", "inexact")),
        (0x3F000001, 0, 1, ("inexact",)),
        (0x3FC00000, 0, 2, ("inexact",)),
        (0x40200000, 0, 2, ("inexact",)),
        (0xBFC00000, 0, -2, ("inexact",)),
        (0xC0200000, 0, -2, ("inexact",)),
        (0x3F800000, -32, 0, ("zero", "inexact")),
        (0x00000000, 31, 0, ("zero",)),
        (0x80000000, 0, 0, ("zero",)),
        (0x00000001, 31, 0, ("zero", "inexact")),
        (0xBF800000, 31, LOWEST, ()),
        (0xCF000000, 0, LOWEST, ()),
        (0x3F800000, 31, LARGEST, ("inexact", "huge")),
        (0x4F000000, 0, LARGEST, ("inexact", "huge")),
        (0xCF000001, 0, LOWEST, ("inexact", "huge")),
        (0x7F800000, -32, LARGEST, ("inexact", "huge")),
        (0xFF800000, 0, LOWEST, ("inexact", "huge")),
        (0x7FC00000, 0, LARGEST, ("invalid", "inexact")),
        (0xFF800001, 31, LARGEST, ("invalid", "inexact")),
    )
]


def boundaries() -> Iterator[Beside]:
    """Numbers between two integers: ties, with one bit beside them at every distance."""
    source = Random(0)
    for shift in (FLOAT_SHIFTS[0], 0, FLOAT_SHIFTS[-1]):
        values = []
        for odd, beside_tie, sign in product((0, 1), breaks(FP32.precision).values(), (1, -1)):
            # As many kept bits as leave the precision for the bit beside the tie.
            bits = FP32.precision + 1 - beside_tie.denominator.bit_length() - (not beside_tie)
            kept = (source.getrandbits(bits) & ~1 | odd) % (1 << bits)
            exact = sign * (kept + Fraction(1, 2) + beside_tie)
            code = exact_code(exact * power_of_two(-shift), FP32)
            values.append((f"{'odd' if odd else 'even'}", code, round(exact) % (1 << 32)))
        yield from beside(FloatFixAsk(shift), values)


BENCH = lane_bench(__name__, FLOAT_FIX, KINDS)
random_requests, latency, resets = BENCH.tests()
swept_operands, directed_corners, range_boundaries = lane_tests(BENCH, CORNERS, SWEEP, [*boundaries()])
covers(
    "float_fix.numbers",
    "Guard and sticky bit decide the rounding, and a carry may leave 32 bits",
    "Every exponent with fractions at its ends and four shifts; near the integers every tie and its neighbours "
    "with three shifts; both signs",
    swept_operands,
    directed_corners,
)
covers(
    "float_fix.limits",
    "Of magnitude 2**31 only the negative integer fits",
    "-2**31 is exact, 2**31 saturates, infinities by their sign, NaN to the largest integer; subnormals round to 0",
    swept_operands,
    directed_corners,
)
covers(
    "float_fix.flags",
    "A kernel reads the flags of the whole instruction",
    "Zero, invalid, inexact and huge in every combination that occurs, and their OR over the lanes",
    directed_corners,
    random_requests,
)
covers(
    "float_fix.stream",
    "Each request has a shift of its own",
    "Every shift in any order, full speed, gaps, stalls and both; latency of one cycle; resets",
    random_requests,
    latency,
    resets,
)
covers(
    "float_fix.boundaries",
    "The sticky bit alone decides there, and the ends of the range are rounders of their own",
    "Numbers at a tie between two integers, and with one bit beside it at every distance that FP32 has",
    range_boundaries,
)
