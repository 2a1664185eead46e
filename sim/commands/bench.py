"""``bitpath bench``: what things cost, with yardsticks in the same run."""

import click

ENGINES = ("tensor_engine", "tensix_engine", "aie_engine")


@click.command()
@click.option(
    "--unit",
    "units",
    multiple=True,
    type=click.Choice(ENGINES),
    help="One engine's simulation; all three when not given.",
)
@click.option(
    "--slice", "slice_", metavar="MxKxN", help="The first M rows, K of the contraction, N columns of the layer."
)
@click.option(
    "--scaling", is_flag=True, help="Instead, how cost grows with the size of Trainium3's array: minutes of builds."
)
@click.option("--largest", type=int, default=64, show_default=True, help="With --scaling: rows of the largest array.")
def command(units: tuple[str, ...], slice_: str | None, scaling: bool, largest: int) -> None:
    """Measure the simulation speed of engines on the real layer; write build/reports/bench.json."""
    from bitpath.sim import paths
    from bitpath.sim.bench.simulation import simulation_records
    from bitpath.sim.bench.table import show_bench
    from bitpath.sim.flows import results
    from bitpath.verif.kit.report import write_records

    console = results.console()
    records = []
    if scaling:
        from bitpath.sim.bench.scaling import SLICES, draw_scaling, scaling_records

        shapes = [shape for shape in SLICES if shape[0] <= largest]
        for record in scaling_records(shapes, lambda name: console.print(f"{name} ...")):
            records.append(record)
            write_records(paths.reports() / "bench_scaling.json", records)
        draw_scaling(records, paths.reports() / "bench_scaling.png")
        show_bench(console, records)
        return
    for unit in units or ENGINES:
        with console.status(f"{unit}: cocotb and a bare loop in turn"):
            records += simulation_records(unit, slice_=slice_)
        write_records(paths.reports() / "bench.json", records)
    show_bench(console, records)
