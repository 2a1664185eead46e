# amaranth: UnusedElaboratable=no
"""The reset bench fails if a result in flight to the memory survives a reset."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from amaranth import Signal

from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieEngine
from bitpath.rtl.tensix.engine.tensix_engine import TensixEngine
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.coverage import SEED
from bitpath.sim.engine.runner import SimulationError, build, run
from bitpath.verif.kit.testplan import covers

pytestmark = [pytest.mark.simulator, pytest.mark.deep]

PROGRAMS = {"tensix_engine": 40, "aie_engine": 60}
STAGES = 4
"""Delay between an engine and its result memory in cycles."""


def late(m, write, *, resets):
    """Return a result memory write delayed by some cycles."""
    for _ in range(STAGES):
        register = Signal(write.shape(), reset_less=not resets)
        m.d.sync += register.eq(write)
        write = register
    return write


class LateAieEngine(AieEngine):
    resets = True

    def _results(self, m, storer):
        super()._results(m, SimpleNamespace(write=late(m, storer.write, resets=self.resets)))


class LateTensixEngine(TensixEngine):
    resets = True

    def _memories(self, m, left, right, storer):
        write = late(m, storer.write, resets=self.resets)
        super()._memories(m, left, right, SimpleNamespace(write=write, old_address=storer.old_address, old=storer.old))


ENGINES = {"tensix_engine": LateTensixEngine, "aie_engine": LateAieEngine}


def late_engine(unit, config, *, resets):
    engine = ENGINES[unit](config)
    engine.resets = resets
    return engine


@covers("resets.sabotage")
@pytest.mark.parametrize("unit", ENGINES)
def test_a_valid_bit_that_reset_leaves_is_found(unit, tmp_path, monkeypatch, emitter_of):
    config, bench = UNITS[unit].covered.config, f"{UNITS[unit].bench}_resets"
    settings = {"seed": SEED, "min_tests": 2, "env": {"BITPATH_CASES": str(PROGRAMS[unit])}, "timeout": 1200}
    # Separate folders, since the build key does not distinguish the two designs.
    for resets in (True, False):
        folder = tmp_path / str(resets)
        folder.mkdir()
        monkeypatch.chdir(folder)
        built = build(unit, config, "verilator", emitter=emitter_of(partial(late_engine, resets=resets)))
        if resets:
            run(built, bench, **settings)
        else:
            with pytest.raises(SimulationError, match="of 2 tests failed: programs_broken_off"):
                run(built, bench, **settings)
    (log,) = Path(".").rglob("run.log")
    assert "read at once behind a reset" in log.read_text()
