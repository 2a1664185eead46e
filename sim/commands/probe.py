"""``bitpath probe``: operands and a device script that tell which variant of the numerics a device has."""

from pathlib import Path

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import MACHINES


@click.command(
    cls=Command,
    epilog=examples(
        "bitpath probe tensix",
        "bitpath probe aie_ml_v2 --fields align_rounding --fields align_fraction_bits --out build/align",
        "bitpath probe tensix --preset tensix_wormhole_fixed --json",
    ),
)
@click.argument("machine", type=Choice(MACHINES))
@click.option("--fields", multiple=True, metavar="NAME", help="A field to vary; repeat it for more.  [default: all]")
@click.option("--preset", default="", help="Numerics to vary, by name.  [default: each unit's reference]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Output folder; created if missing.  [default: probe/MACHINE of the folder of generated files]",
)
@output_options
def command(machine: str, fields: tuple[str, ...], preset: str, out: Path | None, printer: Printer) -> None:
    """Write operands that separate the variants of a machine's numerics with a script for the device.

    Variants are the presets, and one of them with one field changed. The dots are the fewest of a pool that separate
    all variants. The folder gets the operands (probe.npz), golden's results of every variant (predictions.json) and the
    script, which nobody has run on a device; it says what you must adapt. With the raw words that it brings back,
    `bitpath identify` names the variants that fit.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.study.probe.make import make, separated_lines, separated_record
    from bitpath.sim.study.probe.probe import write

    probe, separated = make(machine, fields, preset)
    files = write(probe, out or paths.build_root() / "probe" / machine)
    records = [separated_record(each) for each in separated]
    for record in records:
        printer.say("\n".join(separated_lines(record)))
    printer.say("\n".join(paths.shown(file) for file in files))
    printer.result(
        {"machine": machine, "digest": probe.digest, "units": records, "files": [str(file) for file in files]}
    )
