"""Exploration of numerics: a sweep of points, each with golden's error and the area of its datapath, and the Pareto front."""

import html
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache as once
from pathlib import Path
from typing import Any, cast

import numpy as np
from rich.console import Console
from rich.table import Column, Table

import bitpath.golden
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.formats.catalogue import TF32, Rounding
from bitpath.golden.formats.records import to_dict
from bitpath.golden.tensix.declarations.formats import FIDELITY_PHASES
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.common.config import PipelineConfig, digest
from bitpath.rtl.tensix.dot.layouts import Dot16Config
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.build import rtl_emitter
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.imports import module_file
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.flows import operands, tensix_matmul
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.study.synth import Design, Flow

# Points of a sweep: each machine's numerics in its formats and fidelities.


ALIGN_BITS = (8, 10, 12, 14, 16, 20, 24)
TENSIX_FORMATS = ("bf16_lofi", "bf16_hifi2", "bf16_hifi4", "bfp8_lofi", "bfp8_hifi2", "tf32_hifi4")
AIE_ML_V2_FORMATS: dict[str, Any] = {
    "mx9": MacMode.MX9,
    "mx6": MacMode.MX6,
    "mx4": MacMode.MX6,
    "bf16": MacMode.FLOAT16,
}
"""Formats and the mode that multiplies each; MX4 runs as MX6."""
AIE_ML_V2_ALIGN_BITS = (20, 23, 26)
AIE_ML_V2_RATES = {"mx9": 8, "mx6": 16, "mx4": 16, "bf16": 4}
"""Multiply-accumulates of a lane and cycle: AM027, Table 7, over 64 lanes."""


@dataclass(frozen=True)
class Point:
    """One choice of numerics in one format.

    Attributes
    ----------
    format_name : format as in ``bitpath run --format``.
    design : datapath whose area counts.
    rate : its multiply-accumulates a cycle in this format.
    label : label in a plot, the difference from the machine's own numerics.
    own : True if the numerics are those of the machine, or of a named preset.
    """

    machine: str
    format_name: str
    design: Design
    rate: float
    label: str
    own: bool = False

    @property
    def numerics(self) -> Any:
        return self.design.config.numerics

    @property
    def config(self) -> dict[str, Any]:
        """Return all properties that distinguish the point."""
        return {"format": self.format_name, **self.design.full_config}

    @property
    def digest(self) -> str:
        return digest(self.machine, (self.format_name, self.design.unit, to_dict(self.design.config)))


def sweep(machine: str) -> list[Point]:
    """Return the machine's points; raise ValueError for an unknown machine."""
    sweeps = {"trainium3": _trainium3, "tensix": _tensix, "aie_ml_v2": _aie_ml_v2}
    return list(sweeps[check_choice("machine", machine, sweeps)]())


def _trainium3() -> Iterator[Point]:
    exact, aligned = TRAINIUM3_QUAD_MX.numerics, TRAINIUM3_QUAD_MX_ALIGNED.numerics
    choices = {"exact": exact, "exact, TF32 accumulator": replace(exact, accumulator=TF32)}
    for rounding in (Rounding.RTZ, Rounding.RNE):
        for bits in ALIGN_BITS:
            choices[f"{bits} bits {rounding.name}"] = replace(
                aligned, align_fraction_bits=bits, align_rounding=rounding, accumulator_rounding=rounding
            )
    for label, numerics in choices.items():
        config = DotConfig(numerics=numerics, pipeline=PipelineConfig(stages=0))
        own = numerics in (exact, aligned)
        yield Point("trainium3", "mxfp8_e4m3", Design(label, "quad_mx_dot", config, 4), 4, label, own)


def _tensix() -> Iterator[Point]:
    base = WORMHOLE.numerics
    choices = {"": base} | {f"{bits} guard bits": replace(base, product_guard_bits=bits) for bits in (2, 4)}
    choices["groups of 16"] = replace(base, group=16)
    ties = ("product_tie", "sum_tie", "dst_tie", "final_tie")
    to_even: dict[str, Any] = dict.fromkeys(ties, Rounding.RNE)
    choices["ties to even"] = replace(base, **to_even)
    for label, numerics in choices.items():
        config = Dot16Config(numerics=numerics, pipeline=PipelineConfig(stages=0))
        for name in TENSIX_FORMATS:
            phases = len(FIDELITY_PHASES[tensix_matmul.formats_of(name)[1]])
            title = f"{name} {label}".strip()
            yield Point("tensix", name, Design(title, "dot16", config, 16), 16 / phases, title, own=not label)


def _aie_ml_v2() -> Iterator[Point]:
    base = AIE_ML_V2.numerics
    choices = {
        "" if bits == base.align_fraction_bits else f"{bits} bits": replace(base, align_fraction_bits=bits)
        for bits in AIE_ML_V2_ALIGN_BITS
    }
    floor = RoundingCode.FLOOR
    choices["floor"] = replace(base, align_rounding=floor, accumulator_align_rounding=floor, result_rounding=floor)
    for name, mode in AIE_ML_V2_FORMATS.items():
        yield _lane(name, name, MacLaneConfig(), own=True)
        for label, numerics in choices.items():
            yield _lane(name, f"{name} alone {label}".strip(), MacLaneConfig(modes=(mode,), numerics=numerics))


def _lane(format_name: str, label: str, config: MacLaneConfig, own: bool = False) -> Point:
    rate = AIE_ML_V2_RATES[format_name]
    return Point("aie_ml_v2", format_name, Design(label, "mac_lane", config, rate), rate, label, own)


# Plots of area against error, as a picture and as a page without server or network.
#
# matplotlib draws both: the page contains its SVG. One dependency gives both, and a page has a few hundred KB; a JavaScript
# plotting library would add megabytes to every page.


OWN, OTHER, FRONT = "#c0392b", "#8395a7", "#2c3e50"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>bitpath: area against error</title>
<style>body {{ font-family: sans-serif; margin: 2em; }} table {{ border-collapse: collapse; }}
td, th {{ border-bottom: 1px solid #ddd; padding: 0.2em 0.8em; text-align: left; }} td.n {{ text-align: right; }}
tr.own {{ color: {own}; }} tr.front td:first-child {{ font-weight: bold; }} svg {{ max-width: 100%; height: auto; }}</style>
</head><body><h1>Area against error</h1>
<p>Area: gate equivalents for each multiply-accumulate in a cycle, {flow}. Red: as the machine is. Line: what no other
beats. Hover over a point for what it is; in the table the front is bold.</p>
{svg}
<table><tr><th>point</th><th>machine</th><th>data</th><th>GE</th><th>error</th><th>configuration</th></tr>
{rows}</table></body></html>
"""


def draw(points: Sequence[Point], records: Sequence[dict[str, Any]], flow: str, png: Path, page: Path) -> None:
    """Write the picture and the page, with a panel for each machine and each kind of data."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: F401  registers the format
    from matplotlib.figure import Figure

    labels = {point.digest: point for point in points}
    machines = list(dict.fromkeys(record["machine"] for record in records))
    data = list(dict.fromkeys(record["data"] for record in records))
    figure = Figure(figsize=(7 * len(data), 5 * len(machines)), layout="constrained")
    axes = figure.subplots(len(machines), len(data), squeeze=False)
    for index, record in enumerate(records):
        axis = axes[machines.index(record["machine"])][data.index(record["data"])]
        point = labels[record["digest"]]
        color = OWN if point.own else OTHER
        axis.plot(record["error"], record["area_ge"], "o", color=color, markersize=6, gid=f"point{index}")
        if point.own:
            place = (record["error"], record["area_ge"])
            axis.annotate(point.label, place, xytext=(5, 4), textcoords="offset points", fontsize=8, color=OWN)
    for row, machine in zip(axes, machines, strict=True):
        for axis, each in zip(row, data, strict=True):
            here = [record for record in records if (record["machine"], record["data"]) == (machine, each)]
            front = sorted((record["error"], record["area_ge"]) for record in here if record["pareto"])
            axis.plot(*zip(*front, strict=True), "-", color=FRONT, linewidth=1, zorder=0)
            axis.set(xscale="log", yscale="log", title=f"{machine}, {each}", ylabel="GE per multiply-accumulate")
            axis.set_xlabel(here[0]["error_metric"])
            axis.margins(x=0.15)  # room for the labels at the sides
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=110)
    text = io.StringIO()
    figure.savefig(text, format="svg")
    page.write_text(
        PAGE.format(
            own=OWN, flow=html.escape(flow), svg=_titled(text.getvalue(), labels, records), rows=_rows(labels, records)
        )
    )


def _titled(svg: str, labels: dict[str, Point], records: Sequence[dict[str, Any]]) -> str:
    """Return the SVG element with a tooltip on each point."""

    def title(match: re.Match[str]) -> str:
        record = records[int(match[1])]
        text = f"{labels[record['digest']].label}: {record['area_ge']:,} GE, error {record['error']:.3g}"
        return f"{match[0]}<title>{html.escape(text)}</title>"

    return re.sub(r'<g id="point(\d+)">', title, svg[svg.index("<svg") :])


def _rows(labels: dict[str, Point], records: Sequence[dict[str, Any]]) -> str:
    lines = []
    for record in sorted(records, key=lambda each: (each["machine"], each["data"], each["error"])):
        point = labels[record["digest"]]
        kinds = " ".join(name for name, is_so in (("own", point.own), ("front", record["pareto"])) if is_so)
        cells = "".join(
            f"<td>{html.escape(str(each))}</td>" for each in (point.label, record["machine"], record["data"])
        )
        numbers = f'<td class="n">{record["area_ge"]:,}</td><td class="n">{record["error"]:.3g}</td>'
        config = html.escape(", ".join(f"{name}={value}" for name, value in record["config"].items()))
        lines.append(
            f'<tr class="{kinds}">{cells}{numbers}<td><details><summary>show</summary>{config}</details></td></tr>'
        )
    return "\n".join(lines)


# Evaluation of one point in Dask's workers: golden's error on some data, and the area of its datapath.


DATA = ("layer", "normal")
"""Kinds of data: a slice of the real layer; independent standard normal numbers of the same shape."""


def matrices(data: str, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Return operands [M, K] and [K, N]; raise ValueError for unknown data."""
    left, right = operands.cut(*operands.layer(), shape)
    if check_choice("data", data, DATA) == "layer":
        return left, right
    rng = np.random.default_rng(6)
    left, right = (rng.standard_normal(each.shape).astype(np.float32) for each in (left, right))
    return left, right


def error_of(point: Point, data: str, shape: str) -> float:
    """Return the error of the point in the metric of its machine."""
    left, right = matrices(data, shape)
    flow = RECORDS[point.machine].matmul
    engine = flow.Run.with_numerics(flow.engine_for("verilator"), point.numerics)
    run = flow.Run(left, right, point.format_name, engine, "verilator")
    golden = run.golden()[: left.shape[0], : right.shape[1]].astype(np.float64)
    reference = run.error_reference()
    return float(np.sqrt(np.mean((golden - reference) ** 2) / np.mean(reference**2)))


def area_of(point: Point, flow: Flow) -> float:
    """Return the gate equivalents of the point's datapath after the area script."""
    return cast(float, flow.synthesize(*point.design.verilog(), modes=("area",)).ge_area)


# Pareto front of pairs of costs.


def pareto(costs: Sequence[tuple[float, float]]) -> list[bool]:
    """Return True for each pair of costs on the Pareto front: no other pair is as low in both and lower in one."""
    order = sorted(range(len(costs)), key=lambda index: costs[index])
    on = [False] * len(costs)
    best, at = float("inf"), None
    for index in order:
        if costs[index][1] < best or costs[index] == at:
            on[index], best, at = True, costs[index][1], costs[index]
    return on


# Runs a sweep on Dask. Every result is stored at once and never computed again.


def results_file() -> Path:
    """Return the file of results by key; an interrupted sweep resumes with them."""
    return paths.reports() / "explore_points.jsonl"


def explore(
    points: Sequence[Point],
    data: Sequence[str],
    *,
    shape: str,
    flow: Flow | None = None,
    cluster: Cluster = HERE,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Return the records of all points on all data.

    Parameters
    ----------
    shape : "MxKxN" of the operands, a slice of the layer.
    flow : synthesis flow of the areas; None omits areas and fronts.
    progress : called with the number of tasks done and of all tasks.

    Raises
    ------
    ValueError : unknown data, or a shape that the layer does not have.
    MissingToolError : Yosys is not installed.
    SimulationError : some points failed (raised at the end), or the scheduler has no worker.
    """
    for each in data:
        matrices(each, shape)
    if flow is not None:
        require_extra("synth")
    sources = sources_digest()
    areas, errors = {}, {}
    for point in points:
        if flow is not None:
            key = cache.hash_json(["area", point.design.full_config, flow.key, sources])
            areas[point.digest] = Piece(key, f"area of {point.label}", area_of, (point, flow))
        for each in data:
            key = cache.hash_json(["error", point.machine, point.config, each, shape, sources])
            errors[point.digest, each] = Piece(key, f"{point.label}, {each}", error_of, (point, each, shape))
    found = _work([*areas.values(), *errors.values()], cluster, progress)
    records = []
    for each in data:
        here = []
        for point in points:
            gates = found[areas[point.digest].key] if areas else None
            here.append(
                {
                    "machine": point.machine,
                    "config": point.config,
                    "digest": point.digest,
                    "area_ge": None if gates is None else round(gates / point.rate, 1),
                    "error": found[errors[point.digest, each].key],
                    "error_metric": RECORDS[point.machine].matmul.Run.error_metric,
                    "data": f"{each} {shape}",
                    "pareto": False,
                }
            )
        for machine in {point.machine for point in points} if areas else ():
            own = [record for record in here if record["machine"] == machine]
            for record, on in zip(own, pareto([(r["area_ge"], r["error"]) for r in own]), strict=True):
                record["pareto"] = on
        records += here
    return records


@once
def sources_digest() -> str:
    """Return a digest of all inputs of a result besides the point: golden, RTL, the sweep and the data of the layer."""
    golden = Path(bitpath.golden.__file__).parent
    flows = Path(operands.__file__).parent
    files = [
        *rtl_emitter().sources,
        golden,
        flows,
        *map(module_file, (__name__, "bitpath.sim.study.synth")),
        operands.LAYER,
    ]
    return cache.hash_files(files)


def _work(pieces: Sequence[Piece], cluster: Cluster, progress: Callable[[int, int], None]) -> dict[str, float]:
    """Return the result of every piece by its key."""
    found = {result["key"]: result["value"] for result in cache.read(results_file())}
    missing = {piece.key: piece for piece in pieces if piece.key not in found}
    total, failures = len({piece.key for piece in pieces}), []
    progress(total - len(missing), total)
    for done, each in enumerate(finished(list(missing.values()), cluster), total - len(missing) + 1):
        try:
            found[each.piece.key] = each.result()
        except Exception as error:
            # Compute and keep the remaining points.
            failures.append(f"{each.piece.name}: {error}")
        else:
            # Store each result at once: an interruption loses only running pieces.
            cache.append(results_file(), {"key": each.piece.key, "value": found[each.piece.key]})
        progress(done, total)
    if failures:
        raise SimulationError(f"{len(failures)} of {total} results could not be worked out:\n" + "\n".join(failures))
    return found


# Table of the points on the front and of the machines' own numerics.


def show_front(console: Console, points: Sequence[Point], records: Sequence[dict[str, Any]]) -> None:
    """Print one row for each record of a machine's own numerics or on a front, by increasing error."""
    labels = {point.digest: point for point in points}
    numbers = (Column(name, justify="right") for name in ("GE/MAC", "error"))
    table = Table("machine", "data", "point", *numbers, "front", "own")
    for record in sorted(records, key=lambda each: (each["machine"], each["data"], each["error"])):
        point = labels[record["digest"]]
        if point.own or record["pareto"]:
            area = "-" if record["area_ge"] is None else f"{record['area_ge']:,.0f}"
            marks = ("yes" if is_so else "" for is_so in (record["pareto"], point.own))
            table.add_row(record["machine"], record["data"], point.label, area, f"{record['error']:.3g}", *marks)
    console.print(table)
