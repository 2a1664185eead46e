"""``bitpath bench``: run time of golden and of the engines' simulations, with yardsticks in the same run."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import click

from bitpath.sim.commands._click import Choice, Command, cluster_options, examples
from bitpath.sim.engine.options import ENGINES, MACHINES

GOLDEN = "golden"
ROUNDS = 5
LARGE = 4096
LARGEST = 128
QUICK_SLICE = "4x128x32"


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath bench --quick",
        "bitpath bench --unit golden --rounds 3",
        "bitpath bench --large --machine tensix --size 1024",
        "bitpath bench --scaling --largest 16",
    ),
)
@click.option(
    "--unit",
    "units",
    multiple=True,
    type=Choice((GOLDEN, *ENGINES.values())),
    help="Golden alone, or one engine's simulation of the layer; all four when not given.",
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
def command(
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
        from bitpath.sim.study.large import measured

        machines = MACHINES if machine is None else (machine,)
        sides = size or LARGE
        groups = [
            ("whole matmuls", (record for each in machines for record in measured(console, each, sides))),
            ("growth", _growth(console, machines, max(sides // 8, 1))),
        ]
    else:
        turns = 1 if quick else rounds or ROUNDS
        groups = [
            (unit, _golden(console, quick, turns) if unit == GOLDEN else _simulation(console, unit, quick, turns))
            for unit in units or (GOLDEN, *ENGINES.values())
        ]
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
    from bitpath.sim.study.large import draw_growth, growth_records

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
