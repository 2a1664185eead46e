"""Defects at the boundaries of a lane's rounding, put into the RTL one at a time: the directed corners must notice each."""

import pytest

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode

pytestmark = [pytest.mark.simulator, pytest.mark.deep]
NORMALIZE = "bitpath.rtl.aie_ml_v2.mac.normalize:NormalizeFp32.elaborate"
STICKY, CARRY = "decide.sticky.eq(normal.sticky)", "field.eq(normal.exponent + rounded[-1])"
SIGNIFICAND = "rounded.eq(normal.significand + decide.up)"
DEFECTS = {
    "no sticky bit of a positive sum": (STICKY, "decide.sticky.eq(normal.sticky & normal.sign)"),
    "flushed before it is rounded": ("m.Elif(field <= 0)", "m.Elif(normal.exponent <= 0)"),
    "the largest number never rounds up": (
        SIGNIFICAND,
        "rounded.eq(normal.significand + (decide.up & ~(normal.significand.all() & (normal.exponent == 254))))",
    ),
    "a carry does not overflow": (CARRY, "field.eq(normal.exponent + (rounded[-1] & (normal.exponent != 254)))"),
}
"""The source of a rounder as it is and with the defect."""


@pytest.mark.parametrize("name", DEFECTS)
def test_the_corners_notice_a_defect(name, bench_fails):
    config = MacLaneConfig(modes=(MacMode.FLOAT16,))
    bench_fails("mac_lane", config, (NORMALIZE, *DEFECTS[name]), seed=20261127, tests="directed_corners")
