"""Runs a bench in a built simulation and accepts the result only if the bench has checked something.

:mod:`bitpath.sim.engine.build` makes the simulation; ``run`` starts the bench in a new folder, so that results cannot be stale.
It raises :class:`SimulationError` for failed tests, too few tests or comparisons, a bench without a record, a bin of the unit's
list that is no longer hit, and a simulator that did not exit normally.
"""

import json
import random
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cocotb_tools.check_results import get_results

from bitpath.golden.formats.records import to_dict
from bitpath.rtl.common.files import write_whole
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.engine import bins, paths, process, tools
from bitpath.sim.engine.build import Built, Emitter, build
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.results import case_status
from bitpath.verif.kit import mismatches
from bitpath.verif.kit.scoreboard import IMPATIENT

# Why a run failed, in a few lines: its mismatches, the messages of its other failed tests, or the end of its log.


SHOWN = 4
"""Failed tests that are named."""


def failure_text(folder: Path) -> str:
    """Return the report of a failed run: mismatches first; the end of the log if there is neither one nor a message."""
    report, messages = mismatches.report(folder), _messages(folder / "results.xml")
    if report:
        # A test that ended with its mismatches has nothing to add to them.
        messages = [message for message in messages if " mismatches in " not in message]
    lines = [line for line in (report, *messages[:SHOWN]) if line]
    return "\n".join(lines) or process.tail(folder / "run.log")


def first_failed(folder: Path, failed: list[str]) -> str | None:
    """Return the test with the first mismatch, or else the first failed one; None if all passed."""
    return mismatches.first_test(folder) or next(iter(failed), None)


def named(tests: list[str]) -> str:
    """Return the names of failed tests as text, the first ones of many."""
    more = f" and {len(tests) - SHOWN} more" if len(tests) > SHOWN else ""
    return ", ".join(tests[:SHOWN]) + more


def _messages(results: Path) -> list[str]:
    """Return test, type and the message's first line of each failure; empty if the file is missing or damaged."""
    try:
        cases = ElementTree.parse(results).getroot().iter("testcase")
    except (FileNotFoundError, ElementTree.ParseError):
        return []
    return [
        f"{case.get('name')}: {failure.get('type')}: {_first_line(failure.get('message'))}"
        for case in cases
        for failure in (*case.iter("failure"), *case.iter("error"))
    ]


def _first_line(message: str | None) -> str:
    return next(iter((message or "").splitlines()), "")


__all__ = ["Built", "Emitter", "SimResult", "SimulationError", "build", "run", "run_bench"]

RUN_SECONDS = 600
"""Default time limit of a run."""
WAVE = "dump.fst"
"""Wave in the folder of a run, from both simulators; Verilator's own name."""
CASES = "BITPATH_CASES"
"""Number of random cases in a test of a bench."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Settings for numpy in the simulator's process, where further threads would only spin."""
LEAN_START = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COCOTB_REWRITE_ASSERTION_FILES": "tb_*.py"}
"""Settings for cocotb, which uses pytest to explain assertions. By default it loads pytest's plugins and rewrites every module
that a bench imports, golden and numpy too, which is a quarter of a short run.
"""
RAN, FAILED, SKIPPED = ("passed", "failed"), ("failed",), ("skipped",)
"""Statuses of tests that ran, failed or were skipped."""


@dataclass(frozen=True)
class SimResult:
    """Result of a run that passed.

    Attributes
    ----------
    folder : run.json, run.log, the results and, on request, the wave.
    seed : seed that replays the run.
    tests : number of cocotb tests that ran; all passed.
    compared : number of values that scoreboards compared; all agreed.
    records : records of the bench's tests: scoreboards, coverage bins, notes.
    wave : the recorded wave, if requested.
    seconds : wall-clock time of the run.
    skipped : number of cocotb tests that do not apply to this configuration.
    """

    folder: Path
    seed: int
    tests: tuple[str, ...]
    compared: int
    records: tuple[dict[str, Any], ...]
    wave: Path | None
    seconds: float
    skipped: tuple[str, ...] = ()


def run(
    built: Built,
    bench: str,
    *,
    seed: int | None = None,
    tests: str | None = None,
    min_tests: int = 1,
    min_compared: int = 1,
    env: Mapping[str, str] | None = None,
    timeout: float = RUN_SECONDS,
    folder: Path | None = None,
    first_failure: bool = False,
    check_bins: bool = True,
    replay: Callable[[int, str | None], str] | None = None,
) -> SimResult:
    """Run the cocotb tests of a bench; check that they passed and compared something.

    Parameters
    ----------
    bench : module of cocotb tests, for example "bitpath.verif.trainium3.array.tb_psum".
    seed : seed of all random choices in the bench; None draws a new one, which a failure prints.
    tests : regular expression for the names of the tests to run; None runs all.
    min_tests, min_compared : minimum numbers of tests run and values compared. With ``min_compared`` 0 the bench need not
        write a record.
    env : further environment variables for the bench.
    timeout : seconds after which the simulator is killed and the run fails.
    folder : empty folder for the results; by default a new one below build/runs, where reports find it.
    first_failure : True if the first mismatch ends a test, and the first failed test ends the run.
    check_bins : True if the run must hit the bins of the unit's list, provided that it has at least the cases and the
        environment of the list.
    replay : makes the line that replays a failed run from its seed and test; None names ``make sim``.
    """
    seed = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    folder = new_folder(built) if folder is None else folder
    if any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty: files of an earlier run would be taken for results of this run")
    (folder / "config.json").write_text(json.dumps(to_dict(built.config), indent=2) + "\n")
    arguments = {
        "hdl_toplevel": built.top,
        "test_module": bench,
        "build_dir": str(built.folder),
        "test_dir": str(folder),
        "results_xml": str(folder / "results.xml"),
        "seed": seed,
        "test_filter": tests,
        "waves": built.waves,
        "plusargs": [f"+dumpfile_path={folder / WAVE}"] if built.waves and built.simulator == "icarus" else [],
    }
    job = {"action": "test", "simulator": built.simulator, "arguments": arguments}
    (folder / "job.json").write_text(json.dumps(job, indent=2))
    variables = {
        "BITPATH_UNIT": built.unit,
        "BITPATH_CONFIG": json.dumps(to_dict(built.config)),
        "BITPATH_RECORDS": str(folder / "records.jsonl"),
        "PYTHONWARNINGS": "error::DeprecationWarning",
        # Settings of the caller's shell must not reach cocotb.
        "WAVES": str(int(built.waves)),
        "GUI": "0",
    }
    log = folder / "run.log"
    own = tools.environment(variables | ONE_THREAD | dict(env or {}))
    # Variables of the shell would configure cocotb and pytest.
    own = {name: value for name, value in own.items() if not name.startswith(("COCOTB_", "PYTEST_"))} | LEAN_START
    if first_failure:
        own |= {"COCOTB_MAX_FAILURES": "1", IMPATIENT: "1"}
    start = time.monotonic()
    try:
        status = process.run_logged(
            [sys.executable, "-P", "-m", "bitpath.sim.engine.launch", str(folder / "job.json")],
            env=own,
            log=log,
            timeout=timeout,
        )
        result = _judge(built, folder, seed, min_tests, min_compared, time.monotonic() - start)
        if status:
            raise SimulationError(f"the simulator's process ended with status {status} after tests that passed")
        if check_bins and min_compared and built.unit in UNITS and bench == UNITS[built.unit].bench:
            _check_bins(built, tests, result, own)
    except (TimeoutError, SimulationError) as error:
        process.check_room(log)
        _write_summary(built, bench, folder, seed, records=(), seconds=time.monotonic() - start)
        test = tests or first_failed(folder, _names(folder / "results.xml", FAILED))
        line = replay(seed, test) if replay else _replay_line(built, bench, folder, seed, test, env or {})
        raise SimulationError(
            f"{built.unit} on {built.simulator}, seed {seed}: {error}\n{failure_text(folder)}\n"
            f"log: {paths.shown(log)}\nreplay: {line}"
        ) from None
    _write_summary(built, bench, folder, seed, records=result.records, seconds=result.seconds)
    return result


def run_bench(
    unit: str, config: Any, simulator: str, *, cases: int, env: Mapping[str, str] | None = None, **checks: Any
) -> SimResult:
    """Build a unit and run the bench of the same name with ``cases`` random cases; ``checks`` are arguments of `run`."""
    variables = {CASES: str(cases), **(env or {})}
    return run(build(unit, config, simulator), find_unit(unit).bench, env=variables, **checks)


def new_folder(built: Built) -> Path:
    base = paths.runs() / f"{built.unit}-{built.digest}"
    base.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return Path(tempfile.mkdtemp(prefix=f"{stamp}-{built.simulator}-", dir=base))


def _replay_line(built: Built, bench: str, folder: Path, seed: int, test: str | None, env: Mapping[str, str]) -> str:
    """Return the command that repeats a failed run with a wave: those tests that were asked for, or one that failed."""
    words = [f"{name}={shlex.quote(value)}" for name, value in env.items() if name.startswith("BITPATH_")]
    words += [f"make sim UNIT={built.unit} SIM={built.simulator} SEED={seed}"]
    words += [] if built.unit not in UNITS or bench == UNITS[built.unit].bench else [f"BENCH={bench}"]
    words += [f"FILTER={_for_make(test)}"] if test else []
    words += [f"CONFIG={_for_make(paths.shown(folder / 'config.json'))}", "WAVES=1"]
    return " ".join(words)


def _for_make(text: str) -> str:
    """Return a value as a shell takes it for a variable that make puts between double quotes into a line of a shell."""
    return shlex.quote(re.sub(r'([\\"`$])', r"\\\1", text).replace("$", "$$"))


def _judge(built: Built, folder: Path, seed: int, min_tests: int, min_compared: int, seconds: float) -> SimResult:
    results = folder / "results.xml"
    try:
        _, failed = get_results(results)
    except (RuntimeError, ElementTree.ParseError):
        raise SimulationError("the simulator ended without results") from None
    names = _names(results)
    ran = len(names)
    if failed:
        raise SimulationError(f"{failed} of {ran} tests failed: {named(_names(results, FAILED))}")
    if ran < min_tests:
        raise SimulationError(f"{ran} tests ran, at least {min_tests} must; does the filter match a test?")
    records = _read_records(folder / "records.jsonl")
    compared = sum(record["compared"] for record in records)
    if min_compared and len(records) != ran:
        raise SimulationError(
            f"{ran} tests ran and {len(records)} recorded their comparisons; each must record them once"
        )
    if compared < min_compared:
        raise SimulationError(f"{compared} values were compared, at least {min_compared} must be")
    mismatches = sum(record["mismatches"] for record in records)
    if mismatches:
        raise SimulationError(f"{mismatches} mismatches were recorded by tests that passed")
    wave, skipped = folder / WAVE if built.waves else None, tuple(_names(results, SKIPPED))
    if wave is not None and not wave.exists():
        raise SimulationError("a wave was requested and none was written")
    return SimResult(folder, seed, tuple(names), compared, tuple(records), wave, seconds, skipped)


def _check_bins(built: Built, tests: str | None, result: SimResult, env: Mapping[str, str]) -> None:
    """Raise if the unit's list has a bin that this run did not hit, although it ran at least the same cases."""
    unit = UNITS.get(built.unit)
    if unit is None:
        return
    measured = unit.covered
    if int(env.get(CASES, 0)) < measured.cases or not measured.env.items() <= env.items():
        return
    try:
        lost = bins.lost(built.unit, built.digest, tests, bins.gathered(result.tests, result.records))
    except ValueError as error:
        raise SimulationError(str(error)) from None
    if lost:
        raise SimulationError(
            f"{len(lost)} functional bins of the unit's list were not declared or not hit: {'; '.join(lost[:10])}"
        )


def _names(results: Path, states: tuple[str, ...] = RAN) -> list[str]:
    """Return the tests of a results file with this outcome; empty if the file is missing or damaged."""
    try:
        cases = ElementTree.parse(results).getroot().iter("testcase")
    except (FileNotFoundError, ElementTree.ParseError):
        return []
    return [str(case.get("name")) for case in cases if case_status(case) in states]


def _read_records(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    except ValueError:
        raise SimulationError(f"{paths.shown(path)}, the record of what was compared, is damaged") from None


def _write_summary(
    built: Built, bench: str, folder: Path, seed: int, *, records: tuple[dict[str, Any], ...], seconds: float
) -> None:
    """Write the flat record of a run, failed or not, for reports; ``records`` are those of all its tests in order, or None."""
    results = folder / "results.xml"
    names = _names(results)
    compared = [record["compared"] for record in records]
    record = {
        "unit": built.unit,
        "config": to_dict(built.config),
        "digest": built.digest,
        "sim": built.simulator,
        "bench": bench.rpartition(".")[2],
        "seed": seed,
        "tests": names,
        "failed": _names(results, FAILED),
        "skipped": _names(results, SKIPPED),
        "compared": sum(compared),
        # A run may omit records; then its tests have no details.
        "values": dict(zip(names, compared, strict=True)) if len(compared) == len(names) else {},
        "wall_seconds": round(seconds, 2),
    }
    write_whole(folder / "run.json", json.dumps(record, indent=2) + "\n")
