"""Speed of the engines' simulation: a layer beside a bare loop, and the growth of its cost with the array."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil, floor, log10
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bitpath.golden.arrays.parallel import THREADS
from bitpath.golden.formats.records import to_dict
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.units import find_unit
from bitpath.sim.engine import paths, process
from bitpath.sim.engine.build import Built, build, model_program, port_table, recorded_words
from bitpath.sim.engine.cluster import Cluster, Piece, finished, tell
from bitpath.sim.engine.options import ENGINES, SimulationError
from bitpath.sim.engine.runner import SimResult, run
from bitpath.sim.engine.stepped import variable
from bitpath.sim.flows import operands, trainium3_matmul
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.flows.outcome import differences
from bitpath.sim.study.bench import record
from bitpath.verif.kit.bench import RECORDING
from bitpath.verif.kit.exchange import write_input

# Speed of an engine's simulation of a whole layer, beside the same model in a loop without Python.


FLOWS = {ENGINES[name]: record.matmul for name, record in RECORDS.items()}
"""Engines to measure, with the flow that runs a layer on each."""
RUN_SECONDS = 3600
LOOP = Path(__file__).with_name("bare_loop.cpp")
RUN, RATIO_TO = "layer through cocotb", "bare C++ loop"
ONE_CORE = {THREADS: "1"}
"""Setting of both, since seconds are processor time."""
LEAST_RATIO = 0.9
"""Speed that the run is to have, as a multiple of the loop's."""


def simulation_records(
    unit: str, *, engine: Any = None, slice_: str | None = None, rounds: int
) -> Iterator[dict[str, Any]]:
    """Return cycles per second of a layer through cocotb, from its first cycle to its last, and of the bare loop.

    Seconds are processor time, on one thread. Values are those of the fastest run. A ratio is the median over
    neighbouring runs, because the clock of the machine may drift.

    Operands are loaded and results read within the cycles; the record "start-up" includes all work before and after them. The loop
    replays the recorded ports of a cocotb run with the same compiled objects, and must give the same outputs.

    Parameters
    ----------
    unit : an engine of :data:`FLOWS`.
    engine : its configuration; by default that of ``bitpath run``.
    slice_ : "MxKxN" of the layer; all of it by default.
    rounds : runs of each kind, alternating; the fastest counts, because other load only adds time.

    Raises
    ------
    ValueError : unknown engine.
    SimulationError : a run failed, or its bits differ.
    """
    if unit not in FLOWS:
        raise ValueError(f"unit {unit!r} has no whole layer to run; those that have are {', '.join(FLOWS)}")
    with _prepared(unit, engine, slice_) as (multiply, built, folder):
        expected = multiply.golden()
        _cocotb(multiply, built, folder, expected, {RECORDING: str(folder / "stimulus.npz")})
        loop = _compile(built, folder)
        runs, whole, bare = [], [], []
        for _ in range(rounds):
            before = process.children_seconds()
            runs.append(_cocotb(multiply, built, folder, expected))
            whole.append(process.children_seconds() - before)
            bare.append(_bare(loop, folder, runs[-1].records[0]["cycles"]))
    cycles = runs[0].records[0]["cycles"]
    times = {
        RUN: [each.records[0]["seconds"] for each in runs],
        f"{RUN} with start-up": whole,
        f"layer in a {RATIO_TO}": bare,
    }
    config = {"shape": [*multiply.a.shape, multiply.b.shape[1]], "format": multiply.format_name, "digest": built.digest}
    config |= to_dict(multiply.engine) | multiply.settings()
    for name, seconds in times.items():
        ratio = round(median(own / each for own, each in zip(bare, seconds, strict=True)), 3), RATIO_TO
        rate = round(cycles / min(seconds))
        to = (None, None) if seconds is bare else ratio
        target = LEAST_RATIO if name == RUN else None
        yield record(f"{unit}, {name}", multiply.machine, rate, "cycles/s", config, to=to, target=target)


def layer_run(unit: str, engine: Any, slice_: str) -> tuple[Built, Any, dict[str, Any]]:
    """Run a slice of the layer on an engine; return the build, the matmul's run, and the bench's record with its cycles."""
    with _prepared(unit, engine, slice_) as (multiply, built, folder):
        return built, multiply, _cocotb(multiply, built, folder, multiply.golden()).records[0]


@contextmanager
def _prepared(unit: str, engine: Any, slice_: str | None) -> Iterator[tuple[Any, Built, Path]]:
    """Provide the matmul's run on an engine, the engine's build, and a folder for both."""
    flow = FLOWS[unit]
    tensors = operands.cut(*operands.layer(), slice_)
    multiply = flow.Run(*tensors, next(iter(flow.FORMATS)), engine or flow.engine_for("verilator"), "verilator")
    paths.runs().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.runs(), prefix="bench-") as name:
        yield multiply, build(unit, multiply.engine, "verilator"), Path(name)


def _cocotb(
    multiply: Any, built: Built, folder: Path, expected: np.ndarray, env: dict[str, str] | None = None
) -> SimResult:
    """Simulate the matmul once and compare its bits with golden's."""
    files = write_input(folder, multiply.content)
    env = {name: str(path) for name, path in files.items()} | (env or {}) | ONE_CORE
    done = run(built, multiply.bench, seed=0, min_compared=0, env=env, timeout=RUN_SECONDS)
    with np.load(files["BITPATH_RESULT"]) as left:
        output = multiply.matrix(left["output"])
    rows, columns = multiply.a.shape[0], multiply.b.shape[1]
    if wrong := differences(output[:rows, :columns], expected[:rows, :columns]):
        raise SimulationError(f"{built.top}: {wrong} outputs differ from golden's")
    return done


def _compile(built: Built, folder: Path) -> Path:
    """Compile the loop with the objects of cocotb's model and of Verilator's library; write its stimulus beside it."""
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
    """Return seconds of the loop over all cycles."""
    command = [str(program), str(folder / "changes.bin"), str(folder / "answers.bin"), str(cycles)]
    log = folder / "bare_loop.log"
    try:
        status = process.run_logged(command, env=os.environ | ONE_CORE, log=log, timeout=RUN_SECONDS)
    except TimeoutError as error:
        raise SimulationError(f"the bare loop: {error}") from None
    said = log.read_text(errors="replace")
    counts = {} if status else json.loads(said)
    if not counts.get("compared"):
        raise SimulationError(f"the bare loop gave other answers than the run that was recorded: {said}")
    return counts["seconds"]


# Growth of simulation cost with the array: emission, build, run, Verilog, cycles and multiply-accumulates.


UNIT = "tensor_engine"
SLICES = {
    (4, 4): "64x384x64",
    (8, 8): "64x384x128",
    (16, 16): "128x384x128",
    (32, 32): "128x384x256",
    (64, 32): "128x384x512",
    (128, 128): "128x384x512",
}
"""Slice of the layer by array size; larger arrays multiply more, so that every run takes seconds."""
MEASURED = {
    "emission": "s",
    "verilog": "bytes",
    "build": "s",
    "memory": "MiB",
    "run": "s",
    "rate": "cycles/s",
    "evaluations": "PE/s",
    "macs": "MAC/s",
}
"""Measurements of each array and their units. Emission and run are processor time, build is wall-clock time, and memory is the
peak of the largest process of this build and of those before it in the same worker."""
ONE = Cluster(workers=1)
"""One array after the other, so that none slows another."""


def scaling_records(
    shapes: Sequence[tuple[int, int]] = tuple(SLICES),
    cluster: Cluster = ONE,
    told: Callable[[str], None] = lambda text: None,
) -> Iterator[dict[str, Any]]:
    """Yield a record for each array and measurement, array by array as they are measured."""
    pieces = [Piece(shape, f"{UNIT} {shape[0]}x{shape[1]}", _measured, shape) for shape in shapes]
    for each in finished(pieces, cluster, told):
        yield from each.result()


def _measured(rows: int, cols: int) -> list[dict[str, Any]]:
    """Measure one array in a worker."""
    name = f"{UNIT} {rows}x{cols}"
    tell(f"{name} ...")
    engine = trainium3_matmul.engine_for("verilator", rows=rows, cols=cols)
    start = time.process_time()
    verilog_text(find_unit(UNIT).build(engine), UNIT)
    emission = time.process_time() - start
    built, multiply, run = layer_run(UNIT, engine, SLICES[rows, cols])
    macs = multiply.a.shape[0] * multiply.a.shape[1] * multiply.b.shape[1]
    values = {
        "emission": round(emission, 2),
        "verilog": sum(file.stat().st_size for file in built.verilog),
        "build": round(built.compile_seconds, 1),
        "memory": round(built.compile_peak / (1 << 20)),
        "run": round(run["seconds"], 2),
        "rate": round(run["cycles"] / run["seconds"]),
        "evaluations": round(rows * cols * run["cycles"] / run["seconds"]),
        "macs": round(macs / run["seconds"]),
    }
    config = to_dict(engine) | {"shape": [*multiply.a.shape, multiply.b.shape[1]]}
    return [record(f"{name} {what}", multiply.machine, value, MEASURED[what], config) for what, value in values.items()]


def draw_scaling(records: Sequence[dict[str, Any]], png: Path) -> None:
    """Draw a panel for each measurement over the number of PEs, on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(17, 7), layout="constrained")
    for axis, (what, unit) in zip(figure.subplots(2, 4).flat, MEASURED.items(), strict=True):
        own = sorted((each for each in records if each["name"].endswith(f" {what}")), key=_pes)
        arrays, values = [each["config"]["array"] for each in own], [each["value"] for each in own]
        places = [_pes(each) for each in own]
        axis.loglog(places, values, "o-", color="#2c3e50")
        axis.set(title=what, xlabel="PEs", ylabel=unit)
        axis.set_xticks(places, [f"{array['rows']}x{array['cols']}" for array in arrays])
        # Limits at whole decades, so that the axis has labels.
        axis.set_ylim(10 ** floor(log10(min(values))), 10 ** ceil(log10(max(values))))
        axis.minorticks_off()
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=110)


def _pes(found: dict[str, Any]) -> int:
    """Return the number of PEs of a record's array."""
    return found["config"]["array"]["rows"] * found["config"]["array"]["cols"]
