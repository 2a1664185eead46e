"""Defects that an engine of this kind may have, put into its RTL one at a time: the bench must notice each."""

from dataclasses import replace

import pytest

from bitpath.rtl.emit import emit
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.engine.build import rtl_emitter
from bitpath.sim.engine.runner import SimulationError, build, run
from bitpath.verif.kit.code_mutants import mutated

pytestmark = [pytest.mark.simulator, pytest.mark.deep]
CONFIG = TensixEngineConfig(unit=MatrixUnitConfig(rows=2, cols=4))
LOADER = "bitpath.rtl.tensix.engine.tile_loader:TileLoader"
DEFECTS = {
    "release on flip": (
        "bitpath.rtl.tensix.matrix.src_register:SrcRegister.elaborate",
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


@pytest.mark.parametrize("name", DEFECTS)
def test_the_bench_notices_a_defect(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target, old, new, tests = DEFECTS[name]

    def emit_defect(*arguments):
        with mutated(target, old, new):
            return emit(*arguments)

    # A separate folder and key, since the sources do not show the defect.
    built = build("tensix_engine", CONFIG, "verilator", emitter=replace(rtl_emitter(), emit=emit_defect, key=name))
    with pytest.raises(SimulationError, match=r"\d+ of \d+ tests failed"):
        run(built, UNITS["tensix_engine"].bench, seed=1, tests=tests, env={"BITPATH_CASES": "0"}, first_failure=True)
