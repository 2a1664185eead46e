"""Bench of BF16 to INT32; `lane_tests` says how each test sends them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import ClassVar

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS
from bitpath.golden.aie_ml_v2.mac.flags import with_lane_flags
from bitpath.golden.formats.catalogue import BF16
from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_FLOOR
from bitpath.verif.aie_ml_v2.floats.lane_bench import Corner, ShiftAsk, lane_bench, lane_tests
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import Integer


@dataclass(frozen=True)
class FloorAsk(ShiftAsk):
    """Power of two by which operands are multiplied."""

    operator: ClassVar = FLOAT_FLOOR
    operand: ClassVar = BF16
    result: ClassVar = Integer(32, signed=True)

    def golden(self, codes: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        return with_lane_flags(aie.bf16_to_int32, codes, self.shift)

    def code(self, source: Random) -> int:
        # Integers have 0 to 31 places: the exponents from below the lowest to beyond the highest one.
        exponent = BF16.bias - self.shift + source.randint(-3, 33)
        fraction = source.choice((0, 1 << source.randrange(BF16.fraction_bits), source.getrandbits(BF16.fraction_bits)))
        number = min(max(exponent, 0), BF16.exponent_mask - 1) << BF16.fraction_bits | fraction
        number |= source.getrandbits(1) << 15
        return source.choice((number, number, number, source.getrandbits(16), source.choice((0, 1, 0x7F80, 0xFF81))))


KINDS = [FloorAsk(shift) for shift in FLOAT_SHIFTS]
SWEPT = (FLOAT_SHIFTS[0], -9, -1, 0, 1, 12, FLOAT_SHIFTS[-1])
SWEEP = [(replace(KINDS[0], shift=shift), range(1 << 16)) for shift in SWEPT]
LARGEST, LOWEST = (1 << 31) - 1, 1 << 31
CORNERS = [
    Corner(f"{code:#06x} by {shift}", FloorAsk(shift), code, result % (1 << 32), flags)
    for code, shift, result, flags in (
        (0x3FC0, 0, 1, ()),
        (0xBFC0, 0, -2, ()),
        (0xBFC0, 4, -24, ()),
        (0x3FC0, 1, 3, ()),
        (0xBFC0, 1, -3, ()),
        (0xBF80, 0, -1, ()),
        (0x3F80, -1, 0, ("zero", "tiny")),
        (0xBF80, -32, -1, ()),
        (0x4EFF, 0, 0x7F800000, ()),
        (0x4F00, 0, LARGEST, ("huge",)),
        (0x3F80, 31, LARGEST, ("huge",)),
        (0xBF80, 31, LOWEST, ()),
        (0xCF00, 0, LOWEST, ()),
        (0xCF01, 0, LOWEST, ("huge",)),
        (0xCF80, -1, LOWEST, ()),
        (0xCF80, 0, LOWEST, ("huge",)),
        (0x7F7F, -32, LARGEST, ("huge",)),
        (0xFF7F, -32, LOWEST, ("huge",)),
        (0x7F80, 0, LARGEST, ("huge",)),
        (0xFF80, -32, LOWEST, ("huge",)),
        (0x7FC0, 0, LARGEST, ("invalid",)),
        (0xFF81, 31, LARGEST, ("invalid",)),
        (0x0000, 31, 0, ("zero",)),
        (0x8000, -32, 0, ("zero",)),
        (0x0001, 31, 0, ("zero", "tiny")),
        (0x807F, 31, -1, ()),
        (0x437F, -8, 0, ("zero", "tiny")),
        (0xC37F, -8, -1, ()),
        (0x437F, -7, 1, ()),
        # Numbers below 1 with a single bit.
        *((1 << place, 0, 0, ("zero", "tiny")) for place in range(14)),
    )
]


BENCH = lane_bench(__name__, FLOAT_FLOOR, KINDS)
random_requests, latency, resets = BENCH.tests()
swept_operands, directed_corners, _ = lane_tests(BENCH, CORNERS, SWEEP)
covers(
    "float_floor.sweep",
    "The range ends at -2**31 but before 2**31",
    "All 65,536 codes with seven shifts; a sample, in the deep test all",
    swept_operands,
)
covers(
    "float_floor.corners",
    "Golden and RTL could share a mistake",
    "Stated results and flags: halves of both signs, both ends of the range with several shifts, infinities, NaN, "
    "zeros, subnormals",
    directed_corners,
)
covers(
    "float_floor.stream",
    "Each request carries its own control through all pipeline stages",
    "All 64 shifts, in any order, full speed, gaps, stalls and both; latency; resets",
    random_requests,
    latency,
    resets,
)
