"""Defects that an engine of this kind may have, put into its RTL one at a time: the bench must notice each."""

import pytest

from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.verif.kit.testplan import covers

pytestmark = [pytest.mark.simulator, pytest.mark.deep]
CONFIG = TensixEngineConfig(unit=MatrixUnitConfig(rows=2, cols=4))
LOADER = "bitpath.rtl.tensix.engine.tensix_engine:TileLoader"
DEFECTS = {
    "release on flip": (
        "bitpath.rtl.tensix.matrix.registers:SrcRegister.elaborate",
        "with m.If(self.released):",
        "with m.If(self.released | self.flipped):",
        "held_tiles",
    ),
    "exponent of the neighbouring block": (
        f"{LOADER}.elaborate",
        "exponents.word_select(held.row[at_once:], bits)",
        "exponents.word_select(held.row[at_once:] ^ 1, bits)",
        "operand_formats",
    ),
    "a burst that wraps": (
        f"{LOADER}._write",
        "self.o.p.row.eq(written.row)",
        "self.o.p.row.eq(written.row[:-1])",
        "operand_formats",
    ),
}
"""Function, its text as it is and with the defect, and the tests of the bench that must fail."""


@covers(
    "tensix_engine.seeded_defects",
    "Loads and held tiles overlap at the documented rate; a bench that passes with one of these bugs checks too little",
)
@pytest.mark.parametrize("name", DEFECTS)
def test_the_bench_notices_a_defect(name, bench_fails):
    """A flip that releases its bank, the exponent of the neighbouring block and a burst of rows that wraps: each fails
    the bench."""
    *mutant, tests = DEFECTS[name]
    bench_fails("tensix_engine", CONFIG, mutant, seed=1, tests=tests, env={"BITPATH_CASES": "0"}, first_failure=True)
