"""``bitpath bench``: how fast golden is, beside yardsticks measured in the same run."""

import click

MACHINES = ("trainium3", "tensix", "aie_ml_v2")
LARGE = 4096


@click.command()
@click.option("--quick", is_flag=True, help="Small sizes, once: shows that it works, not how fast it is.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Of which the best counts.")
@click.option("--large", is_flag=True, help="One whole matmul a machine instead: progress, time and peak memory.")
@click.option("--size", type=click.IntRange(32), help=f"Of --large: N of NxNxN.  [default: {LARGE}]")
@click.option("--machine", type=click.Choice(MACHINES), help="Of --large: one machine.")
def command(quick: bool, rounds: int, large: bool, size: int | None, machine: str | None) -> None:
    """Time golden's hot operations in every tier, numpy's float32 @ and ml_dtypes' casts, in turn.

    Prints a table and writes build/reports/bench.json.
    """
    from bitpath.golden.fast import backend
    from bitpath.sim import paths
    from bitpath.sim.bench import report
    from bitpath.sim.flows.progress import counted_progress
    from bitpath.sim.flows.results import console as make_console

    if not large and (size is not None or machine is not None):
        raise ValueError("--size and --machine go with --large")
    if large and quick:
        raise ValueError("--quick does not go with --large; --size makes it smaller")
    console = make_console()
    if large:
        from bitpath.sim.bench.large import measured

        records = []
        for each in MACHINES if machine is None else (machine,):
            records += measured(console, each, size or LARGE)
    else:
        from bitpath.sim.bench import golden, measure

        if backend.backend() != backend.NUMBA:
            raise ValueError("bench compares golden's backends, and numba is not installed or not allowed here")
        items = golden.items(quick)
        with counted_progress(console, "timing") as progress:
            times = measure.best_times(items, 1 if quick else rounds, progress)
        records = measure.records(items, times)
    path = report.save(records)
    report.show(console, records)
    console.print(f"records: {paths.shown(path)}")
