"""Golden models with one line wrong, judged by their tests."""

import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path

import bitpath.golden
from bitpath.sim import cache, process
from bitpath.sim.errors import SimulationError
from bitpath.sim.mutate.golden_faults import Fault, apply, draw_faults, possible_faults
from bitpath.sim.mutate.imports import imported_by, module_file
from bitpath.sim.mutate.verdicts import KILLED, SURVIVED, Judged, Ledger, Progress, scratch, side_by_side

GOLDEN_COUNT = 20
GOLDEN = Path(bitpath.golden.__file__).parent
TESTS = GOLDEN.parent / "verif" / "tests" / "golden"
"""Where the tests stand in a checkout; a wheel has none."""
TEST_SECONDS = 600
"""A mutant may loop for ever: a run that takes longer has failed."""
PASSED, FAILED, BROKEN = 0, 1, 2
"""pytest's statuses: all passed; some failed; a test file could not even be imported."""


@dataclass(frozen=True)
class Sabotage:
    """A fault of golden, as a mutant.

    Attributes
    ----------
    target : the file, "golden/codec.py".
    fault : what is wrong in it.
    """

    target: str
    fault: Fault
    port: str = ""

    @property
    def source(self) -> str:
        return f"{self.target}:{self.fault.line}"

    @property
    def mode(self) -> str:
        return self.fault.what

    @property
    def shown(self) -> str:
        return f"{self.source}: {self.fault.what}"


def golden_targets() -> list[str]:
    """The modules of golden that compute something; not golden.fast, which its tests hold to these bit for bit."""
    files = sorted(file.relative_to(GOLDEN) for file in GOLDEN.rglob("*.py") if file.name != "__init__.py")
    return [
        f"golden/{file}" for file in files if file.parts[0] != "fast" and possible_faults((GOLDEN / file).read_text())
    ]


def find_golden(name: str) -> str:
    """The target of that name; ValueError where there is none."""
    target = f"{name.removesuffix('.py')}.py"
    if target not in golden_targets():
        raise ValueError(f"no golden model {name!r}, known are {', '.join(golden_targets())}")
    return target


def tests_of(module: str) -> list[Path]:
    """The test files that import a module of golden; those first that import the least besides.

    Raises
    ------
    SimulationError : there is none.
    """
    found = {file: modules for file, modules in _tests().items() if module in modules}
    if not found:
        raise SimulationError(f"no file of {TESTS} imports {module}; mutants of golden are judged in a checkout")
    return sorted(found, key=lambda file: (len(found[file]), file))


@once
def _tests() -> dict[Path, frozenset[str]]:
    return {file: imported_by(file) for file in sorted(TESTS.glob("test_*.py"))}


def judge_golden(target: str, count: int, seed: int, progress: Progress) -> Judged:
    """Judge so many mutants of a file, or all there are; what an earlier run found out is taken from the journal.

    Raises
    ------
    SimulationError : the tests fail without a mutant, or cannot run.
    """
    start = time.monotonic()
    module = "bitpath." + target.removesuffix(".py").replace("/", ".")
    source = module_file(module).read_text()
    possible = possible_faults(source)
    mutants = [Sabotage(target, fault) for fault in draw_faults(possible, count, seed)]
    tests = tests_of(module)
    ledger = Ledger(_key(module, tests, mutants), len(mutants))

    def call(number: int) -> str | None:
        return _fails(module, apply(source, mutants[number - 1].fault), tests)

    if missing := ledger.missing:
        try:
            progress("running the tests without a mutant", 0, 1)
            if (failed := _fails(module, source, tests)) is not None:
                raise SimulationError(f"{target}: its tests fail without a mutant: {failed}")
            for number, how in side_by_side("running the tests", missing, call, progress):
                ledger.keep(number, SURVIVED if how is None else KILLED, how or "")
        finally:
            ledger.spend(time.monotonic() - start)
    return Judged(
        target=target,
        unit="golden",
        config={"tests": [file.name for file in tests]},
        digest=ledger.key[:8],
        possible=len(possible),
        mutants=tuple(mutants),
        verdicts=ledger.verdicts,
        confirmed=None,
        seed=seed,
        seconds=round(ledger.seconds, 1),
    )


def _key(module: str, tests: list[Path], mutants: list[Sabotage]) -> str:
    """Of everything that decides a verdict."""
    modules = sorted(frozenset().union(*(_tests()[file] for file in tests)))
    here = Path(__file__)
    scripts = [here.with_name(name) for name in (here.name, "golden_faults.py", "golden_tests.py")]
    files = [*map(module_file, modules), *tests, TESTS / "conftest.py", *scripts]
    parts = [module, cache.hash_files(files), [mutant.shown for mutant in mutants], sys.version]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _fails(module: str, source: str, tests: list[Path]) -> str | None:
    """How the tests fail with this text in the module's place; None where they pass."""
    with scratch() as folder:
        mutated, log = folder / "mutated.py", folder / "tests.log"
        mutated.write_text(source)
        command = [sys.executable, "-P", "-B", "-m", "bitpath.sim.mutate.golden_tests", module, str(mutated)]
        try:
            status = process.run_logged(
                [*command, *map(str, tests)], env=os.environ, log=log, timeout=TEST_SECONDS, folder=TESTS.parents[2]
            )
        except TimeoutError as error:
            return str(error)
        if status == PASSED:
            return None
        if status not in (FAILED, BROKEN):
            raise SimulationError(f"the tests of {module} could not run:\n{process.tail(log)}")
        lines = log.read_text().splitlines()
        return next((line for line in lines if line.startswith(("FAILED", "ERROR"))), lines[-1])
