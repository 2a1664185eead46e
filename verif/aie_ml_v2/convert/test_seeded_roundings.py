"""Defects at the boundaries of SRS's results, put into the RTL one at a time: accumulators beside the boundaries find each."""

from random import Random

import pytest

from bitpath.rtl.aie_ml_v2.convert.layouts import SrsControl
from bitpath.rtl.aie_ml_v2.convert.srs import SrsLane
from bitpath.verif.aie_ml_v2.convert.srs_boundaries import exact_result, srs_boundaries
from bitpath.verif.kit.code_mutants import mutated
from bitpath.verif.kit.testplan import covers

LANE = "bitpath.rtl.aie_ml_v2.convert.srs:SrsLane.elaborate"
STICKY, GUARD = "decision.sticky.eq(sticky)", "decision.guard.eq(guard)"
DEFECTS = {
    "no sticky bit below zero": (STICKY, "decision.sticky.eq(sticky & ~kept.all())"),
    "no sticky bit at the largest result": (STICKY, "decision.sticky.eq(sticky & (kept != 127))"),
    "no tie below the smallest result": (GUARD, "decision.guard.eq(guard & (kept.as_signed() != -129))"),
    "bit 0 is not sticky": ("self.i).as_signed()", "self.i & -2).as_signed()"),
}
"""The source of a lane as it is and with the defect."""
QUICK = "bit 0 is not sticky"


@covers("srs.boundaries")
@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(each, marks=pytest.mark.deep) for each in DEFECTS if each != QUICK)]
)
def test_the_boundaries_notice_a_defect(name, evaluate):
    """Accumulators of 32 bits to 8 in a lane alone; without the defect it gives the exact results."""
    beside = [each for each in srs_boundaries(Random(1)) if (each.ask.acc_bits, each.ask.out_bits) == (32, 8)]
    vectors = [
        {"i": acc, "control": SrsControl.from_bits(each.ask.control)} for each in beside for acc in each.accs.tolist()
    ]
    exact = [exact_result(each.ask, value) for each in beside for value in each.values]
    exact = [(result % (1 << 8), overflow) for result, overflow in exact]
    assert evaluate(SrsLane(32), vectors, "o", "overflow") == exact
    with mutated(LANE, *DEFECTS[name]):
        assert evaluate(SrsLane(32), vectors, "o", "overflow") != exact
