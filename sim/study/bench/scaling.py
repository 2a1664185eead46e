"""Growth of simulation cost with the array: emission, build, run, Verilog, cycles and multiply-accumulates."""

import time
from collections.abc import Callable, Iterator, Sequence
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from bitpath.rtl.common.config import to_dict
from bitpath.rtl.emit import verilog_text
from bitpath.rtl.units import find_unit
from bitpath.sim.engine.cluster import Cluster, Piece, finished, tell
from bitpath.sim.flows import trainium3_matmul
from bitpath.sim.study.bench.measure import record
from bitpath.sim.study.bench.simulation import layer_run

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
