"""How fast an engine's simulation runs a whole layer, beside the same model in a loop without Python."""

import json
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

from bitpath.rtl.common.config import to_dict
from bitpath.sim.engine import paths, process
from bitpath.sim.engine.build import Built, build
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.model_program import model_program, port_table, recorded_words, variable
from bitpath.sim.engine.runner import SimResult, run
from bitpath.sim.flows import operands
from bitpath.sim.flows.job import differences
from bitpath.sim.flows.matmuls import MATMULS
from bitpath.verif.kit.bench import RECORDING

FLOWS = {flow.Matmul.unit: flow for flow in MATMULS.values()}
"""The engines that can be measured, and the flow that runs a layer on each."""
RUN_SECONDS = 3600
LOOP = Path(__file__).with_name("bare_loop.cpp")
RATIO_TO = "bare C++ loop"


def simulation_records(
    unit: str, *, engine: Any = None, slice_: str | None = None, rounds: int
) -> Iterator[dict[str, Any]]:
    """Cycles per second of a layer through cocotb, from its first cycle to its last, and of the bare loop.

    Seconds are of processor time; a simulation has one thread. Values are those of the fastest run; a ratio is the median of
    those of neighbouring runs, for the machine's clock may waver from one minute to the next.

    Operands are loaded and results read within the cycles; the record with "start-up" also has what comes before and
    after them. The loop plays what a cocotb run recorded at the model's ports, with the same objects of the compiler, and
    must give the same answers.

    Parameters
    ----------
    unit : an engine: one of :data:`FLOWS`.
    engine : its configuration; the one that ``bitpath run`` uses when not given.
    slice_ : "MxKxN" of the layer; all of it when not given.
    rounds : runs of each kind, in turn; the fastest counts, for what else the machine does only ever adds.

    Raises
    ------
    ValueError : no engine of that name.
    SimulationError : a run failed, or its bits differ.
    """
    if unit not in FLOWS:
        raise ValueError(f"unit {unit!r} has no whole layer to run; those that have are {', '.join(FLOWS)}")
    job = _job(FLOWS[unit], engine, slice_)
    built = build(unit, job.engine, "verilator")
    paths.runs().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.runs(), prefix="bench-") as name:
        folder = Path(name)
        job.save_plan(folder / "plan.npz")
        expected = job.golden()
        _cocotb(job, built, folder, expected, {RECORDING: str(folder / "stimulus.npz")})
        loop = _compile(built, folder)
        runs, whole, bare = [], [], []
        for _ in range(rounds):
            before = _children_seconds()
            runs.append(_cocotb(job, built, folder, expected))
            whole.append(_children_seconds() - before)
            bare.append(_bare(loop, folder, runs[-1].records[0]["cycles"]))
    cycles = runs[0].records[0]["cycles"]
    times = {
        f"{unit}, layer through cocotb": [each.records[0]["seconds"] for each in runs],
        f"{unit}, layer through cocotb with start-up": whole,
    }
    config = {"shape": [*job.a.shape, job.b.shape[1]], "format": job.format_name, "digest": built.digest}
    config |= to_dict(job.engine) | job.settings()
    common = {"machine": job.machine, "unit": "cycles/s", "cores": 1, "config": config}
    for name, seconds in times.items():
        yield {
            "name": name,
            "value": round(cycles / min(seconds)),
            "ratio": round(median(own / each for own, each in zip(bare, seconds, strict=True)), 3),
            "ratio_to": RATIO_TO,
        } | common
    yield {
        "name": f"{unit}, layer in a {RATIO_TO}",
        "value": round(cycles / min(bare)),
        "ratio": None,
        "ratio_to": None,
    } | common


def layer_run(unit: str, engine: Any, slice_: str) -> tuple[Built, Any, dict[str, Any]]:
    """One run of a slice of the layer on an engine: what was built, the job, and the bench's record with its cycles."""
    job = _job(FLOWS[unit], engine, slice_)
    built = build(unit, job.engine, "verilator")
    paths.runs().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.runs(), prefix="bench-") as name:
        job.save_plan(Path(name) / "plan.npz")
        return built, job, _cocotb(job, built, Path(name), job.golden()).records[0]


def _children_seconds() -> float:
    """Processor time of the processes that this one has started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _job(flow: ModuleType, engine: Any, slice_: str | None) -> Any:
    left, right = operands.layer()
    if slice_ is not None:
        left, right = operands.cut(left, right, slice_)
    return flow.Matmul(left, right, next(iter(flow.FORMATS)), engine or flow.engine_for("verilator"), "verilator")


def _cocotb(job: Any, built: Built, folder: Path, expected: np.ndarray, env: dict[str, str] | None = None) -> SimResult:
    """One run of the job, its bits compared with golden's."""
    result = folder / "result.npz"
    files = {
        "BITPATH_PLAN": folder / "plan.npz",
        "BITPATH_RESULT": result,
        "BITPATH_PROGRESS": folder / "progress.json",
    }
    env = {name: str(path) for name, path in files.items()} | (env or {})
    done = run(built, job.bench, seed=0, min_compared=0, env=env, timeout=RUN_SECONDS)
    with np.load(result) as left:
        output = job.matrix(left["output"])
    rows, columns = job.a.shape[0], job.b.shape[1]
    if wrong := differences(output[:rows, :columns], expected[:rows, :columns]):
        raise SimulationError(f"{built.top}: {wrong} outputs differ from golden's")
    return done


def _compile(built: Built, folder: Path) -> Path:
    """The loop, with the objects of the model that cocotb runs and of Verilator's library; its stimulus beside it."""
    with np.load(folder / "stimulus.npz") as file:
        meta = json.loads(str(file["meta"]))
        for name in ("changes", "answers"):
            file[name].tofile(folder / f"{name}.bin")
    return model_program(built, LOOP, folder, _port_table(meta))


def _port_table(meta: dict[str, Any]) -> str:
    data = variable("data__payload")
    lines = [
        port_table("PORTS", recorded_words(meta["ports"])),
        f"constexpr std::size_t ANSWER_WORDS = {-(-meta['answer_bits'] // 32)}, ANSWER_BYTES = sizeof {data};",
        f"const void* const ANSWER_AT = &{data};",
        f"const auto &ANSWER_VALID = {variable('data__valid')}, &ANSWER_READY = {variable('data__ready')};",
    ]
    return "\n".join(lines) + "\n"


def _bare(program: Path, folder: Path, cycles: int) -> float:
    """Seconds of the loop over all cycles."""
    command = [str(program), str(folder / "changes.bin"), str(folder / "answers.bin"), str(cycles)]
    log = folder / "bare_loop.log"
    try:
        status = process.run_logged(command, env=os.environ, log=log, timeout=RUN_SECONDS)
    except TimeoutError as error:
        raise SimulationError(f"the bare loop: {error}") from None
    said = log.read_text(errors="replace")
    counts = {} if status else json.loads(said)
    if not counts.get("compared"):
        raise SimulationError(f"the bare loop gave other answers than the run that was recorded: {said}")
    return counts["seconds"]
