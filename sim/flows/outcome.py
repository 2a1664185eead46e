"""The outcome of a run through golden and RTL: errors, maps, mismatches, output and saved files."""

import shlex
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console
from rich.table import Table

from bitpath.golden.comparison import errors
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.records import to_dict
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_RMSNORM_QUANT
from bitpath.rtl.common.files import replaceable, replacing
from bitpath.sim.engine import paths
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.runner import Built, run
from bitpath.sim.flows.builds import Builds, Part, shown_progress
from bitpath.verif.kit import mismatches
from bitpath.verif.kit.bench import PERIOD_NS
from bitpath.verif.kit.exchange import PLAYS, file_of, write_input
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH
from bitpath.verif.kit.values import ulp_distance

# Error measures of a result against the same computation in float64.


def accuracy(result: np.ndarray, reference: np.ndarray) -> dict[str, float | None]:
    """Return the error measures of a report, or None for each if result or reference is not finite everywhere.

    Parameters
    ----------
    result : float32 or float64, of any shape.
    reference : float64 of the same shape, unquantised.

    Returns
    -------
    sqnr_db : signal to quantisation noise, ``10 log10(sum reference**2 / sum error**2)``; None for no error at all.
    max_rel_error : largest absolute error over the largest absolute reference.
    """
    found = errors(result, reference)
    return {
        "sqnr_db": None if found.sqnr_db is None else round(found.sqnr_db, 2),
        "max_rel_error": None if found.max_rel is None else float(f"{found.max_rel:.3g}"),
    }


def rmsnorm_reference(
    hidden: np.ndarray, gamma: np.ndarray, eps: float = float(TRAINIUM3_RMSNORM_QUANT.numerics.eps)
) -> np.ndarray:
    """RMSNorm in float64: hidden [M, H] over the root of its rows' mean square plus eps, times gamma [H]."""
    hidden, gamma = hidden.astype(np.float64), gamma.astype(np.float64)
    mean = np.square(hidden).mean(axis=1, keepdims=True)
    return hidden / np.sqrt(mean + eps) * gamma


# Maps of a result: a matrix reduced to at most 64 x 64 cells, small enough to keep with every run.


CELLS, ERROR_CELLS = 64, 32
"""Most cells along a side of a map of mismatches, and of errors, which has a number in every cell."""


def result_map(rtl: np.ndarray, golden: np.ndarray, numbers: np.ndarray, reference: np.ndarray) -> dict[str, Any]:
    """Return the maps of a result [M, N] as plain JSON values.

    A cell covers a block whose sides are powers of two, so its borders are those of tiles. An empty cell is None.

    Parameters
    ----------
    rtl, golden : results, of one shape and dtype.
    numbers, reference : the result's numbers and the same in float64, of one shape.

    Returns
    -------
    block : rows and columns of a cell.
    mismatches : differing outputs of each cell, if any differs.
    ulp : largest distance of two differing float32 outputs; None for a cell without one. NaN has no distance.
    error : if all bits agree, the largest absolute error of each cell over the root mean square of the reference.
    """
    different = rtl.view(f"u{rtl.itemsize}") != golden.view(f"u{golden.itemsize}")
    if different.any():
        block = _block(different.shape, CELLS)
        found: dict[str, Any] = {"block": block, "mismatches": _cells(np.add, different.astype(int), block).tolist()}
        if rtl.dtype == np.float32:
            pairs = zip(
                golden[different].view(np.uint32).tolist(), rtl[different].view(np.uint32).tolist(), strict=True
            )
            distance = np.full(different.shape, np.nan)
            distance[different] = [np.nan if (steps := ulp_distance(FP32, *each)) is None else steps for each in pairs]
            found["ulp"] = _listed(_cells(np.fmax, distance, block), int)
        return found
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.sqrt(np.square(reference).mean())
        error = np.abs(numbers - reference)
    if not (np.isfinite(scale) and scale > 0):
        return {}
    block = _block(error.shape, ERROR_CELLS)
    return {"block": block, "error": _listed(_cells(np.fmax, error / scale, block), lambda each: float(f"{each:.2g}"))}


def _block(shape: tuple[int, ...], cells: int) -> list[int]:
    """Return the sides of a cell: the least powers of two that leave at most ``cells`` along each side."""
    return [1 << (-(-length // cells) - 1).bit_length() for length in shape]


def _cells(reduction: np.ufunc, values: np.ndarray, block: list[int]) -> np.ndarray:
    for axis, (length, side) in enumerate(zip(values.shape, block, strict=True)):
        values = reduction.reduceat(values, np.arange(0, length, side), axis=axis)
    return values


def _listed(cells: np.ndarray, number: Any) -> list[list[Any]]:
    return [[number(each) if np.isfinite(each) else None for each in row] for row in cells]


# The outcome of a run through golden and RTL, and the player that all flows share.


RUN_SECONDS = 3600


class FlowRun:
    """One run of a flow in one format on one engine and simulator; each flow has a subclass.

    Attributes
    ----------
    matrices, sizes : options of ``bitpath run`` that gave this run its tensors and its engine.
    scale_rule : how operands get their scales; None on a machine, or in a flow, without scale rules.
    waves : True to record waves of all its simulations.
    """

    flow: ClassVar[str]
    machine: str
    format_name: str
    engine: Any
    simulator: str
    matrices: Sequence[str] = ()
    sizes: Sequence[str] = ()
    scale_rule: str | None = None
    waves = False
    before = "quantised"
    """What a report calls the results before the last one, in a flow that has them."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The units that this run simulates, with their configurations."""
        raise NotImplementedError

    def compare(self, console: Console, builds: Builds) -> "Outcome":
        """Compute in golden and in RTL, and return both results; the console shows progress."""
        raise NotImplementedError

    @property
    def rule_options(self) -> list[str]:
        """The option of the scale rule, if it is not the default."""
        return [] if self.scale_rule in (None, "ocp") else ["--scale-rule", str(self.scale_rule)]

    @property
    def replay(self) -> str:
        """The command that repeats this run with waves."""
        machine = ["--machine", self.machine] if self.flow == "matmul" else []
        words = [self.flow, *machine, "--format", self.format_name, "--sim", self.simulator]
        return shlex.join(["bitpath", "run", *words, *self.rule_options, *self.matrices, *self.sizes, "--waves"])

    def shown(self, *place: int) -> Shown:
        """Return the operands of an output, its number format, and the command that explains it."""
        raise NotImplementedError

    def shown_before(self, *place: int) -> Shown:
        """Return the same for an intermediate result, in a flow that has one."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both results, of one shape and dtype, and the record for the report.

    ``before`` are intermediate results that were compared too, RTL's and golden's. ``kept`` is what only the run's history
    holds of it: its map, and the simulation's folder below build. ``times`` are the simulated times in ps at which the
    bench got the results, of their shape.
    """

    rtl: np.ndarray
    golden: np.ndarray
    record: dict[str, Any]
    before: tuple[np.ndarray, np.ndarray] | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    times: np.ndarray | None = None

    @property
    def first(self) -> tuple[int, ...] | None:
        """The first place that differs; None if all agree."""
        places = np.argwhere(codes(self.rtl) != codes(self.golden))
        return tuple(places[0].tolist()) if len(places) else None


def play(console: Console, built: Built, bench: str, title: str, content: Any) -> dict[str, Any]:
    """Run a bench that plays a program, or other content, on a built unit; `play_all` of one content."""
    return play_all(console, built, bench, title, [content])[0]


def play_all(console: Console, built: Built, bench: str, title: str, contents: Sequence[Any]) -> list[dict[str, Any]]:
    """Run a bench that plays programs, or other contents, on a built unit: one after the other in one process.

    Raises SimulationError if the simulation failed, or the unit did nothing.

    Parameters
    ----------
    bench : module name of the bench.
    title : text of the progress bar, before the unit's name.
    contents : inputs that the bench reads with `exchange.read_input`; a reset comes before each.

    Returns
    -------
    For each content the arrays that the bench wrote, the run's ``folder``, and the ``seconds`` of processor time that the
    simulation took. ``cycles`` is the unit's busy counter if it has one, else the cycles until its last result; ``times`` are
    the simulated times in ps at which the bench got the results.
    """
    paths.runs().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.runs(), prefix="play-") as folder:
        files = write_input(Path(folder), *contents)
        with shown_progress(console, f"{title} on {built.top}", files["BITPATH_PROGRESS"]):
            env = {name: str(path) for name, path in files.items()} | {PLAYS: str(len(contents))}
            # The caller compares the results with golden's.
            done = run(built, bench, seed=0, min_tests=len(contents), min_compared=0, env=env, timeout=RUN_SECONDS)
        if done.wave is not None:
            console.print(f"wave: {paths.shown(done.wave)}; bitpath waves {built.unit} opens it", soft_wrap=True)
        left: list[dict[str, Any]] = []
        for number, record in zip(range(len(contents)), done.records, strict=True):
            with np.load(file_of(files["BITPATH_RESULT"], number)) as result:
                left.append(dict(result) | {"folder": done.folder, "seconds": record["seconds"]})
    if not all(each["cycles"] for each in left):
        raise SimulationError(f"{built.top} was never busy: it did not take the instructions")
    return left


def codes(array: np.ndarray) -> np.ndarray:
    """The bits of an array's elements, as unsigned integers."""
    return array.view(f"u{array.dtype.itemsize}")


def differences(rtl: np.ndarray, golden: np.ndarray) -> int:
    """How many elements differ in their bits."""
    return int((codes(rtl) != codes(golden)).sum())


def compared(
    run: Any,
    built: Built,
    rtl: np.ndarray,
    golden: np.ndarray,
    start: float,
    shape: Sequence[int],
    folder: Path | None,
    *,
    times: np.ndarray | None,
    **figures: Any,
) -> Outcome:
    """Return the outcome of a flow's run that began at ``start``; ``figures`` are its own fields of the record.

    The time of the first mismatch goes into the simulation's folder, for the viewer of its wave.
    """
    numbers, reference = run.values(rtl), run.reference()
    record = {
        "machine": run.machine,
        "flow": run.flow,
        "format": run.format_name,
        "config": to_dict(run.engine) | run.settings() | {"shape": list(shape)},
        "digest": built.digest,
        "sim": run.simulator,
        "outputs_compared": rtl.size,
        "mismatches": differences(rtl, golden),
        **figures,
        "wall_seconds": round(time.monotonic() - start, 2),
        "build_seconds": round(built.seconds, 2),
        **accuracy(numbers, reference),
    }
    kept: dict[str, Any] = {"map": result_map(rtl, golden, numbers, reference)}
    if folder is not None:
        kept["folder"] = folder.relative_to(paths.build_root()).as_posix()
    outcome = Outcome(rtl, golden, record, kept=kept, times=times)
    if outcome.first is not None and folder is not None and times is not None:
        (folder / FIRST_MISMATCH).write_text(f"{times[outcome.first]}\n")
    return outcome


# Prints and saves the results of a run.


COLUMNS = {
    "machine": ("machine", 9),
    "format": ("format", 14),
    "sim": ("simulator", 9),
    "block": ("block", 5),
    "matmul": ("matmul", 9),
    "quantized_compared": ("quantized", 9),
    "staged_compared": ("in stages", 9),
    "outputs_compared": ("compared", 8),
    "mismatches": ("mismatches", 10),
    "sqnr_db": ("SQNR dB", 7),
    "max_rel_error": ("max error", 9),
    "cycles": ("cycles", 7),
    "time_us": ("us", 7),
    "mac_per_cycle": ("MAC/cycle", 9),
    "peak_mac_per_cycle": ("peak", 7),
    "elements_per_cycle": ("elements/cycle", 14),
    "wall_seconds": ("seconds", 7),
}
"""Columns of a run's rows: heading and width by the name in its record. The error is relative to float64."""


TABLES = ("stages", "layers", "engines", "steps", "classes", "chips")
"""Fields of a record that are tables."""
WIDTH = 163
"""Columns of a table that no terminal shows, as in a log."""


def console(*, quiet: bool = False) -> Console:
    """A console that does not squeeze tables where there is no terminal."""
    console = Console(quiet=quiet)
    return console if console.is_terminal else Console(quiet=quiet, width=WIDTH)


def _format(name: str, scale_rule: str | None) -> str:
    """The format's name, and the scale rule if it is not the default."""
    return name if scale_rule in (None, "ocp") else f"{name} {scale_rule}"


def show(console: Console, record: dict[str, Any], *, first: bool) -> None:
    """Print a record as a row, the first one below the headings. Columns have fixed widths: a later row is unknown now."""
    table = Table(
        box=None, pad_edge=False, collapse_padding=True, show_header=first or any(record.get(name) for name in TABLES)
    )
    columns = {name: column for name, column in COLUMNS.items() if name in record}
    for heading, width in columns.values():
        text = heading in ("machine", "format", "simulator")
        table.add_column(heading, width=width, justify="left" if text else "right", overflow="fold")
    shown = record | {"format": _format(record["format"], record.get("config", {}).get("scale_rule"))}
    table.add_row(*("-" if shown[name] is None else str(shown[name]) for name in columns))
    console.print(table)
    for name in TABLES:
        if record.get(name):
            _show_rows(console, name, record[name])


def _show_rows(console: Console, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of a record: rows of one kind, whose fields are its columns."""
    table = Table(box=None, pad_edge=False, title=f"\n{title}", title_justify="left", title_style="bold")
    for column in rows[0]:
        table.add_column(
            column.replace("_", " "), justify="left" if isinstance(rows[0][column], str) else "right", no_wrap=True
        )
    for row in rows:
        table.add_row(*("-" if value is None else str(value) for value in row.values()))
    console.print(table)


def mismatch_report(run: FlowRun, outcome: Outcome) -> str:
    """Return the first place that differs with its operands, and one line for each further place; empty if none does."""
    title = f"{run.machine} {_format(run.format_name, run.scale_rule)} on {run.simulator}"
    parts: list[tuple[Any, ...]] = []
    if outcome.before is not None:
        parts.append((f"{title}, {run.before}", *outcome.before, run.shown_before, None))
    parts.append((title, outcome.rtl, outcome.golden, run.shown, outcome.times))
    found: list[tuple[str, list[mismatches.Difference], mismatches.Shown]] = []
    count = 0
    for name, rtl, golden, shown, times in parts:
        got, expected = codes(rtl), codes(golden)
        places = np.argwhere(got != expected).tolist()
        count += len(places)
        for place in places[: mismatches.SHOWN + 1 - len(found)]:
            at, own = tuple(place), shown(*place)
            differing = mismatches.differences(8 * got.itemsize, own.formats or {}, int(got[at]), int(expected[at]))
            when = "" if times is None else f", read {moment_text(int(times[at]))}"
            found.append((f"{name}, [{', '.join(map(str, place))}]{when}", differing, own))
    if not found:
        return ""
    head, differing, own = found[0]
    first = mismatches.full_text(head, differing, replace(own, replay=run.replay))
    lines = [f"  {mismatches.line_text(head, differing)}" for head, differing, _ in found[1:]]
    return mismatches.report_text(first, lines, count - 1)


def moment_text(time_ps: int) -> str:
    """Return a simulated time as text: at 635 ns, cycle 63."""
    return f"at {time_ps / 1000:.12g} ns, cycle {time_ps // (1000 * PERIOD_NS)}"


def check_writable(path: Path) -> None:
    """Raise OSError unless a file can be written there: said before a long run, not after it."""
    try:
        replaceable(path)
    except OSError as error:
        raise OSError(f"-o: {error}") from None


def save(path: Path, outcome: Outcome) -> None:
    """Write both results to a .npz file, which never is left half written; BF16 as float32, which numpy reads by itself."""
    result, golden = (
        each if each.dtype.isbuiltin == 1 else each.astype(np.float32) for each in (outcome.rtl, outcome.golden)
    )
    with replacing(path) as file:
        np.savez(file, result=result, golden=golden)
