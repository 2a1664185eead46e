# amaranth: UnusedElaboratable=no
"""The corners of each boundary find the RTL's fault there."""

from random import Random

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot, dot_layout
from bitpath.verif.kit.code_mutants import mutated
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tests.check.rounding_faults import FAULTS, QUICK
from bitpath.verif.trainium3.dot.quad_mx_corners import near_boundaries

CONFIG = DotConfig(pipeline=PipelineConfig(stages=0))


class Bare(wiring.Component):
    """The dot product without its handshake."""

    operands: In(width(dot_layout(CONFIG.numerics)))
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dot = dot = QuadMxDot(CONFIG)
        m.d.comb += [dot.i.p.eq(self.operands), self.o.eq(dot.o.p)]
        return m


@covers("quad_mx_dot.boundary")
@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(each, marks=pytest.mark.deep) for each in FAULTS if each != QUICK)]
)
def test_the_corners_of_a_boundary_find_a_lost_sticky_bit(name, evaluate):
    numerics, layout = CONFIG.numerics, dot_layout(CONFIG.numerics)
    cases = [each.case for each in near_boundaries(numerics, Random(1)) if each.bin == f"boundary/{name}"]
    with mutated(*FAULTS[name]):
        got = evaluate(Bare(), [{"operands": pack(layout, case.fields(numerics))} for case in cases])
    assert got != [case.trace(numerics).result for case in cases]
