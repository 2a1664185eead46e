"""``bitpath test-sim``: runs one unit's bench in a simulator, as ``make sim`` does."""

import json
from typing import Any

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine import paths
from bitpath.sim.engine.options import bench_options, unit_options


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath test-sim dot16",
        "bitpath test-sim quad_mx_pe --sim icarus --seed 7 --waves",
        "bitpath test-sim psum --cols 8 --json",
    ),
)
@click.argument("unit")
@bench_options
@click.option("--bench", metavar="MODULE", help="Another bench of the unit, as a failed run names it.")
@unit_options
@output_options
def command(
    unit: str,
    simulator: str,
    seed: int | None,
    bench: str | None,
    tests: str | None,
    waves: bool,
    timeout: float,
    printer: Printer,
    **settings: Any,
) -> None:
    """Run the bench of a unit in a simulator.

    The bench of UNIT compares its outputs with golden. --json prints the record of the run, also of one that
    fails, with its folder and its wave.
    """
    from bitpath.rtl.units import find_unit
    from bitpath.sim.engine.bench_tests import check_filter
    from bitpath.sim.engine.configure import chosen
    from bitpath.sim.engine.runner import WAVE, build, new_folder, run

    config, module = chosen(unit, **settings), bench or find_unit(unit).bench
    check_filter(module, config, tests)
    built = build(unit, config, simulator, waves=waves)
    printer.say(
        f"{built.top} on {simulator}: built in {built.seconds:.1f} s"
        if built.seconds
        else f"{built.top}: build up to date"
    )
    folder = new_folder(built)
    try:
        result = run(built, module, seed=seed, tests=tests, timeout=timeout, folder=folder)
    finally:
        if (folder / "run.json").exists():
            record, wave = json.loads((folder / "run.json").read_text()), folder / WAVE
            printer.result(record | {"folder": str(folder), "wave": str(wave) if wave.exists() else None})
    skipped = f"{len(result.skipped)} skipped, " if result.skipped else ""
    printer.say(
        f"{len(result.tests)} tests passed, {skipped}{result.compared} values compared, seed {result.seed}, {result.seconds:.1f} s"
    )
    printer.say(f"wave: {paths.shown(result.wave)}" if result.wave else f"log: {paths.shown(folder / 'run.log')}")
