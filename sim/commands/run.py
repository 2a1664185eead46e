"""``bitpath run``: the main job, real tensors through golden and RTL."""

import sys
from pathlib import Path
from typing import Any

import click

MACHINES = {"trainium3": ("matmul",)}
"""Flows of each machine."""
FORMATS = {"trainium3": ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4")}
SLICES = {"icarus": "8x128x8"}
"""What a slow simulator does of the layer when nothing is said."""

PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--machine", type=click.Choice(list(MACHINES)), default="trainium3", show_default=True)
@click.option("--flow", type=click.Choice(["matmul"]), default="matmul", show_default=True)
@click.option("--format", "format_name", help="One format; all of the machine's when not given.")
@click.option("--sim", "simulator", type=click.Choice(["verilator", "icarus"]), default="verilator", show_default=True)
@click.option("--slice", "slice_", metavar="MxKxN", help="The first M rows, K of the contraction, N columns.")
@click.option("--a", type=PATH, help="Your own left matrix [M, K], float32 or float16 as .npy; with --b.")
@click.option("--b", type=PATH, help="Your own right matrix [K, N].")
@click.option("-o", "--output", type=PATH, help="Write the results as .npz: result and golden, float32.")
@click.option("--rows", type=int, help="PEs down.")
@click.option("--cols", type=int, help="PEs across.")
def command(
    machine: str,
    flow: str,
    format_name: str | None,
    simulator: str,
    slice_: str | None,
    a: Path | None,
    b: Path | None,
    output: Path | None,
    rows: int | None,
    cols: int | None,
) -> None:
    """Run a transformer layer's matmul, or your own with --a and --b, through golden and RTL and compare the bits.

    Prints a table, writes build/reports/run.json, and fails when a bit differs.
    """
    from bitpath.sim import paths
    from bitpath.sim.flows import operands, results, trainium3_matmul
    from bitpath.verif.kit.report import write_records

    formats = FORMATS[machine] if format_name is None else (format_name,)
    unknown = [name for name in formats if name not in FORMATS[machine]]
    if unknown:
        raise ValueError(f"format is {unknown[0]!r}; {machine} has {', '.join(FORMATS[machine])}")
    if output is not None and len(formats) > 1:
        raise ValueError("-o takes the results of one format; name it with --format")
    if output is not None:
        results.check_writable(output)
    left, right = operands.pair(a, b)
    wanted = slice_ or (SLICES.get(simulator) if a is None else None)
    if wanted:
        left, right = operands.cut(left, right, wanted)
    engine = trainium3_matmul.engine_for(simulator, rows=rows, cols=cols)

    # Every format's plan before any simulation, so that what cannot be done is said at once.
    plans = {name: trainium3_matmul.plan(left, right, name, engine) for name in formats}

    console = results.console()
    outcomes = [
        trainium3_matmul.run_matmul(console, left, right, name, instructions, simulator, engine)
        for name, instructions in plans.items()
    ]
    records: list[dict[str, Any]] = [outcome.record for outcome in outcomes]
    write_records(paths.reports() / "run.json", records)
    results.show(console, records)
    if output is not None:
        results.save(output, outcomes[0])
    for outcome in outcomes:
        results.explain_mismatches(console, outcome)
    sys.exit(any(record["mismatches"] for record in records))
