"""Benches of the Tensix fidelity multiplier and dot product on both simulators."""

from dataclasses import replace
from functools import partial

import pytest

from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.dot.layouts import Dot16Config, MultiplierConfig
from bitpath.sim.engine.runner import build, run, run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20251121

REFERENCE = WORMHOLE.numerics
GUARDED = replace(REFERENCE, minus_one_quirk=False, group=16, product_guard_bits=3)
TURNED = replace(
    REFERENCE,
    group=4,
    product_tie=Rounding.RNE,
    sum_tie=Rounding.RNA,
    dst_tie=Rounding.RNU,
    final_tie=Rounding.RNE,
    pre_round=False,
    empty_terms_in_maximum=False,
    zero_terms_keep_bias=False,
    zero_flag_disabled=True,
)
"""Numerics with every switch inverted."""
EVEN = replace(REFERENCE, product_tie=Rounding.RNU, sum_tie=Rounding.RNE, dst_tie=Rounding.RNE, final_tie=Rounding.RNU)
"""Round to nearest even, with ties in the second rounding of a 16-bit Dst too."""


def dot(numerics, stages):
    return Dot16Config(numerics=numerics, pipeline=PipelineConfig(stages=stages))


bench = partial(run_bench, "dot16", seed=SEED)


@covers("dot16.numerics", "Golden and RTL share one dataclass; a switch that never changes is never checked")
@pytest.mark.deep
def test_on_verilator():
    """The reference and three variants: no bug, groups of 16 and guard bits; groups of 4, other ties and every switch
    inverted; ties to even and up."""
    bench(dot(REFERENCE, 3), "verilator", cases=500, min_tests=15, min_compared=4 * 500 + 10_000)


@covers("dot16.numerics")
@pytest.mark.parametrize("stages", [4, *(pytest.param(stages, marks=pytest.mark.deep) for stages in (0, 1, 2))])
def test_on_icarus(stages):
    compared = 4 * 60 + 20
    tests = "random_classes|latency"
    bench(dot(REFERENCE, stages), "icarus", cases=60, tests=tests, min_tests=5, min_compared=compared)


@covers("dot16.numerics")
@pytest.mark.deep
@pytest.mark.parametrize(
    ("numerics", "stages"), [(GUARDED, 2), (TURNED, 1), (EVEN, 3)], ids=["guarded", "turned", "even"]
)
def test_other_numerics(numerics, stages):
    """Corners of every style, and additions, which guard bits must not change; Icarus takes minutes for them."""
    tests = "directed_corners|single_lanes|integers"
    bench(dot(numerics, stages), "verilator", cases=1, tests=tests, min_tests=9, min_compared=6000)


@pytest.mark.deep
@pytest.mark.parametrize("stages", range(5))
@pytest.mark.parametrize("numerics", [REFERENCE, GUARDED, TURNED, EVEN], ids=["reference", "guarded", "turned", "even"])
def test_volume(numerics, stages):
    bench(dot(numerics, stages), "verilator", cases=10_000, min_tests=15, min_compared=100_000)


@pytest.mark.parametrize("simulator", [pytest.param("icarus", marks=pytest.mark.deep), "verilator"])
def test_multiplier(simulator):
    """2**12 pairs of fields in two of four phases for floats, 2**9 in the others, fewer for integers."""
    compared = 2 * 4096 + 2 * 512
    built = build("fidelity_multiplier", MultiplierConfig(), simulator)
    run(built, "bitpath.verif.tensix.dot.tb_fidelity_multiplier", seed=SEED, min_tests=16, min_compared=compared)


STICKY, FLUSH, STEP = "sticky = Mux(", "~(normal.zero | exponent[-1]", "number) + step)"
DEFECTS = {
    "no sticky bit below the smallest normal number": (
        *(TURNED, "_step", STICKY),
        "sticky = (self.normal.exponent != 0) & Mux(",
    ),
    "no sticky bit two places below the guard bit": (
        *(TURNED, "_step", "self.normal.value[: last - 1]"),
        "self.normal.value[last - 2 : last - 1]",
    ),
    "flushed before it is rounded": (
        *(REFERENCE, "elaborate", FLUSH),
        "~(normal.zero | (normal.exponent <= 0)",
    ),
    "the largest number never rounds up": (
        *(REFERENCE, "elaborate", STEP),
        "number) + Mux(is_bf16 & (number[BF16_UNUSED:] == BF16.max_code), 0, step))",
    ),
}
"""Numerics, method of `DstRound`, its text as it is and with the defect."""


@covers("dot16.boundaries")
@pytest.mark.deep
@pytest.mark.parametrize("name", DEFECTS)
def test_the_corners_notice_a_defect(name, bench_fails):
    """A defect at a boundary of the last rounding, put into the RTL."""
    numerics, method, *texts = DEFECTS[name]
    mutant = (f"bitpath.rtl.tensix.dot.dot16:DstRound.{method}", *texts)
    bench_fails("dot16", dot(numerics, 3), mutant, seed=SEED, tests="directed_corners.*BF16_into_16")
