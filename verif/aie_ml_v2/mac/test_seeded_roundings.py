"""Defects at the boundaries of a lane's rounding, put into the RTL one at a time: its bench and the post-adder's notice each."""

from dataclasses import replace

import pytest

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.post_add import PostAddConfig
from bitpath.verif.kit.testplan import covers

pytestmark = [pytest.mark.simulator, pytest.mark.deep]
NORMALIZE = "bitpath.rtl.aie_ml_v2.mac.mac_lane:NormalizeFp32.elaborate"
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


@covers("mac_lane.boundaries")
@pytest.mark.parametrize("name", DEFECTS)
def test_the_corners_notice_a_defect(name, bench_fails):
    config = MacLaneConfig(modes=(MacMode.FLOAT16,))
    bench_fails("mac_lane", config, (NORMALIZE, *DEFECTS[name]), seed=20261127, tests="directed_corners")


SHIFTED = "bitpath.rtl.aie_ml_v2.mac.post_add:PostAdd._shifted"
POST_ADD = {
    "two shift bits lose the last bit": (True, "extended >> 2,", "extended >> 2 & -2,"),
    "the floor keeps a bit": (False, "Const(-1 << SHIFTS))", "Const(-1 << SHIFTS - 1))"),
    "the floor of MX6 keeps a bit": (False, "Const(-1 << SHIFTS + 2 * MX6_IN_MX9)", "Const(-2 << 2 * MX6_IN_MX9)"),
}
"""Whether products keep the bits that shifts move below them, and the source of the shift as it is and with the defect."""


@covers("post_add.pairs")
@pytest.mark.parametrize("name", POST_ADD)
def test_the_pairs_of_codes_notice_a_defect(name, bench_fails):
    lossless, *defect = POST_ADD[name]
    config = PostAddConfig(numerics=replace(AIE_ML_V2.numerics, mx_lossless_shift=lossless))
    bench_fails("post_add", config, (SHIFTED, *defect), seed=20261127, tests="every_pair_of_codes.*mx6")
