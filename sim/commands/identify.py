"""``bitpath identify``: names the variants of the numerics that a device's raw words fit."""

import sys
from pathlib import Path

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine.options import FILE


@click.command(
    cls=Command, extra=None, epilog=examples("bitpath identify results.npz", "bitpath identify results.npz --json")
)
@click.argument("results", type=FILE)
@output_options
def command(results: Path, printer: Printer) -> None:
    """Name the variants of a machine's numerics that fit the words of a device.

    RESULTS is the file that the script of `bitpath probe` writes. Golden computes every variant anew. Operations
    without results are not compared. Where no variant of a unit fits, the nearest ones are shown with the dots that
    differ, and the status is 1.
    """
    from bitpath.sim.study.probe.make import fit_lines, fit_record
    from bitpath.sim.study.probe.probe import identify, load, predict

    probe, words = load(results)
    if not words:
        raise ValueError(f"{results} has no results; run the device script, which adds them to the probe")
    records = [fit_record(unit, fits) for unit, fits in identify(words, predict(probe, list(words))).items()]
    for record in records:
        text = "\n".join(fit_lines(record))
        if record["fits"]:
            printer.say(text)
        else:
            printer.fail(text)
    printer.say(f"{probe.machine}: {len(words)} of {len(probe.dots)} operations compared")
    printer.result({"machine": probe.machine, "digest": probe.digest, "units": records})
    sys.exit(not all(record["fits"] for record in records))
