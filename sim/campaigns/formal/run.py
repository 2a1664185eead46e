"""Decides many properties and their sabotages, side by side, and stores every answer at once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitpath.sim.campaigns.formal.prove import Task, answer, design_key, emitted
from bitpath.sim.engine import journal, paths
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.formal.property import Property

DECIDED = ("proved", "refuted")
"""Statuses that are final: more time does not change them."""


@dataclass(frozen=True)
class Proof:
    """Answers to a property of the design as it is, with their key, and of the sabotaged one."""

    of: Property
    found: dict[str, Any]
    sabotaged: dict[str, Any]
    key: str

    @property
    def caught(self) -> bool:
        """True if the sabotage was refuted."""
        return self.sabotaged["status"] == "refuted"

    @property
    def good(self) -> bool:
        """True if the property is proved and its sabotage caught."""
        return self.found["status"] == "proved" and self.caught

    def record(self) -> dict[str, Any]:
        """Return the row of the report."""
        return _about(self.of) | {
            "digest": self.key[:16],
            "status": self.found["status"],
            "seconds": self.found["seconds"],
            "sabotage_caught": self.caught,
            "sabotage_seconds": self.sabotaged["seconds"],
        }


def failed_record(of: Property) -> dict[str, Any]:
    """For the report, of a property that a tool failed at, or at its sabotage."""
    return _about(of) | {"status": "failed", "seconds": 0.0, "sabotage_caught": False}


def _about(of: Property) -> dict[str, Any]:
    return {"property": of.name, "unit": of.unit, "engine": of.engine.value, "depth": of.depth}


def answers_file() -> Path:
    """Return the answers by key. An interrupted run resumes from them."""
    return paths.reports() / "formal_answers.jsonl"


def prove(
    properties: Sequence[Property],
    limit: float,
    cluster: Cluster = HERE,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[list[Proof], list[str]]:
    """Return the proofs in the order of the properties, without those at which a tool failed, and one line for each failure.

    Parameters
    ----------
    limit : seconds for an answer; a property that timed out with a smaller limit is tried again.
    progress : called with the number of answers and their total.
    """
    known: dict[str, dict[str, dict[str, Any]]] = {}
    for line in journal.read(answers_file()):
        if line.keys() >= {"key", "task", "answer", "limit"} and (
            line["answer"]["status"] in DECIDED or line["limit"] >= limit
        ):
            known.setdefault(line["task"], {})[line["key"]] = line["answer"]
    tasks = [Task(each, sabotaged) for each in properties for sabotaged in (False, True)]
    pieces = [Piece(task, task.name, _decide, (task, limit, known.get(task.name, {}))) for task in tasks]
    found: dict[tuple[str, bool], tuple[str, dict[str, Any]]] = {}
    failures = []
    progress(0, len(pieces))
    for each in finished(pieces, cluster):
        task = each.piece.key
        try:
            key, got = each.result()
        except (SimulationError, OSError) as error:
            failures.append(f"{task.name}: {error}")
        else:
            if key not in known.get(task.name, {}):
                # Written at once, so that an interruption loses only the answers in progress.
                journal.append(answers_file(), {"key": key, "task": task.name, "limit": limit, "answer": got})
            found[task.of.name, task.sabotaged] = key, got
        progress(len(found) + len(failures), len(pieces))
    whole = [of for of in properties if {(of.name, False), (of.name, True)} <= found.keys()]
    proofs = [Proof(of, found[of.name, False][1], found[of.name, True][1], found[of.name, False][0]) for of in whole]
    return proofs, failures


def _decide(task: Task, limit: float, known: Mapping[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return a task's key and its answer, known or new."""
    design = emitted(task)
    key = design_key(task, design)
    return key, known[key] if key in known else answer(task, design, limit)


def select(properties: Sequence[Property], units: Sequence[str]) -> list[Property]:
    """Return the properties of the named units, or all if no unit is named.

    A unit goes by its full name, ``common.align``, or by the part behind the dot.

    Raises ValueError if a unit has no properties.
    """
    for unit in units:
        if not any(unit in _names(each) for each in properties):
            known = ", ".join(sorted({each.unit for each in properties}))
            raise ValueError(f"no property of a unit {unit!r}, known are {known}")
    return [each for each in properties if not units or any(unit in _names(each) for unit in units)]


def _names(each: Property) -> tuple[str, str]:
    return each.unit, each.unit.rpartition(".")[2]
