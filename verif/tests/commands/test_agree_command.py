"""``bitpath agree``: its records, and its failure on a difference; ``make agree`` compares the engines themselves."""

import json
import time

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import agreement
from bitpath.sim.engine import paths
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.results import write_records
from bitpath.verif.kit.testplan import covers


@pytest.fixture
def asked(monkeypatch, in_process):
    """Replace the engines: psum differs, all others agree; return the requests."""
    asked = []

    def answer(unit, config, *, engines, steps, seed):
        asked.append((unit, type(config).__name__, engines, steps, seed))
        if unit == "psum":
            raise SimulationError("psum: verilator does not give the bits of Amaranth's simulator\nlog: [a]")
        return agreement.Agreement(unit, "0" * 8, (agreement.REFERENCE, *engines), 30, 60, 7)

    monkeypatch.setattr(agreement, "agree", answer)
    return asked


@covers("agreement.resumed", "A run of an hour may be interrupted, and a stale result must not count")
def test_an_agreement_is_not_repeated(bitpath, asked):
    """A unit that agreed is skipped if sources, tools, steps and seed are unchanged; a unit that failed always runs
    again."""
    for _ in range(2):
        assert bitpath("agree", "ups", "psum", "--no-netlist")[0] == 1
        assert [record["status"] for record in recorded().values()] == ["agrees", "failed"]
    assert [unit for unit, *_ in asked] == ["ups", "psum", "psum"]
    bitpath("agree", "ups", "--no-netlist", "--seed", "8")
    bitpath("agree", "ups", "--no-netlist", "--steps", "31")
    assert [(unit, steps, seed) for unit, _, _, steps, seed in asked[3:]] == [("ups", 30, 8), ("ups", 31, 0)]


@covers("agreement.resumed")
def test_an_agreement_is_repeated_with_other_sources(bitpath, asked, monkeypatch):
    bitpath("agree", "ups", "--no-netlist")
    monkeypatch.setattr(agreement, "_sources", lambda unit: {"sources": "others"})
    bitpath("agree", "ups", "--no-netlist")
    assert len(asked) == 2


def test_an_agreement_is_repeated_if_sources_changed_meanwhile(bitpath, asked, monkeypatch):
    monkeypatch.setattr(agreement, "_sources", lambda unit: {"sources": "before"})
    monkeypatch.setattr(agreement, "_sources_now", lambda unit: {"sources": "after"})
    for _ in range(2):
        assert bitpath("agree", "ups", "--no-netlist")[0] == 0
    assert len(asked) == 2


def test_a_unit_too_large_for_a_netlist_is_refused_by_name_and_left_out_of_all(bitpath, asked, monkeypatch):
    # Sources of all units take seconds to hash.
    for name in ("_sources", "_sources_now"):
        monkeypatch.setattr(agreement, name, lambda unit: {"sources": unit})
    status, _, err = bitpath("agree", "dot16", "tensix_core", "--no-netlist")
    assert status == 2
    assert "tensix_core is not compared: its programs need an L1 of 256 KiB" in " ".join(err.split())
    assert asked == []
    bitpath("agree", "--no-netlist")
    assert {unit for unit, *_ in asked} == UNITS.keys() - {"tensix_core"}


def test_agreement_is_recorded(bitpath, asked):
    status, out, err = bitpath("agree", "ups", "srs", "--no-netlist", "--seed", "7", "--steps", "9")
    assert (status, err) == (0, "")
    simulators = ("icarus", "verilator")
    assert asked == [(unit, "IntegerLanesConfig", simulators, 9, 7) for unit in ("ups", "srs")]
    assert list(recorded()) == ["ups", "srs"]
    assert recorded()["ups"]["engines"] == ["amaranth", *simulators]
    assert "ups: 60 values in 30 steps agree" in out


def recorded():
    return {record["unit"]: record for record in json.loads((paths.reports() / "agreement.json").read_text())}


def test_a_difference_fails_and_the_others_are_kept(bitpath, asked):
    write_records(paths.reports() / "agreement.json", [{"unit": "psum", "status": "agrees", "began": time.time() + 60}])
    status, out, err = bitpath("agree", "psum", "ups", "--no-netlist")
    assert status == 1
    assert err == "bitpath: psum: verilator does not give the bits of Amaranth's simulator\nlog: [a]\n"
    assert "psum: verilator does not give the bits of Amaranth's simulator\n" in out
    assert {unit: record["status"] for unit, record in recorded().items()} == {"psum": "failed", "ups": "agrees"}


@covers("robustness.stale")
def test_records_of_other_units_stay_unless_they_are_older_than_the_sources(bitpath, asked):
    old, new = {"unit": "xorwow", "began": 1.0}, {"unit": "srs", "began": time.time() + 60}
    write_records(paths.reports() / "agreement.json", [old, new])
    assert bitpath("agree", "ups", "--no-netlist")[0] == 0
    assert list(recorded()) == ["srs", "ups"]


def test_a_mistake_is_a_sentence(bitpath, asked):
    status, out, err = bitpath("agree", "nosuch")
    assert (status, out, asked) == (2, "", [])
    assert err.startswith("bitpath: unknown unit 'nosuch', known are quad_mx_dot")
    assert bitpath("agree", "ups", "--steps", "0")[0] == 2
