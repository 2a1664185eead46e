"""``bitpath oracle, probe, identify`` and ``ledger``: golden beside results of real devices."""

import sys
from pathlib import Path

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import FILE, MACHINES


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath oracle case.json --device dump.bin",
        "bitpath oracle case.json --device dump.bin --json",
        "bitpath oracle case.json --write-expected expected.bin",
    ),
)
@click.argument("case_file", metavar="CASE.json", type=FILE)
@click.option("--device", type=FILE, help="The device's result: the bytes in L1.")
@click.option("--write-expected", "expected_file", type=FILE, help="Write golden's result: the bytes in L1.")
@output_options
def oracle_command(case_file: Path, device: Path | None, expected_file: Path | None, printer: Printer) -> None:
    """Compare a device's result of a Tensix kernel test with golden, bit for bit.

    CASE.json is an object: the operation, its formats at every stage, and the files of the operands' bytes in L1, relative to it:

    \b
      {"op": "matmul", "fidelity": "HiFi2",
       "in_a": "Bfp4_b", "in_b": "Bfp8_b", "register_format": "Float16_b",
       "mid_format": "Float16_b", "out_format": "Bfp8_b", "l1_a": "a.bin", "l1_b": "b.bin"}

    Further keys are the attributes of tensix.llk.Case: register_b, dst32, dimensions_a and _b, tile, broadcast, dest_reuse, pool,
    reduce_dim, pack_rows, unpack_transpose_faces and _within_face, relu, relu_threshold, edge_mask, edge_minus_infinity, round_10b,
    e4m3, unsigned, chip, and two that need a further file: l1_accumulate l1_before, the result's bytes before, and
    stochastic_rounding pack_bits, a 32-bit word for each datum of the result.

    Prints the first difference, the earliest stage with a known departure that gives the device's bits, such as phases that mask
    operands twice, and the number of datums by distance. The exit code is 1 if a bit differs.
    """
    from bitpath.sim.study.kernel_tests import read_bytes, read_case, record_of, report_text

    if device is None and expected_file is None:
        raise ValueError("--device or --write-expected must be given")
    case = read_case(case_file)
    if expected_file is not None:
        expected_file.write_bytes(case.expected())
    if device is None:
        return
    report = case.compare(read_bytes(device, "--device"))
    text = report_text(report)
    if report.equal:
        printer.say(text)
    else:
        printer.fail(text)
    printer.result(record_of(report))
    sys.exit(not report.equal)


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
def probe_command(machine: str, fields: tuple[str, ...], preset: str, out: Path | None, printer: Printer) -> None:
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


@click.command(
    cls=Command, extra=None, epilog=examples("bitpath identify results.npz", "bitpath identify results.npz --json")
)
@click.argument("results", type=FILE)
@output_options
def identify_command(results: Path, printer: Printer) -> None:
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


@click.command(cls=Command, epilog=examples("bitpath ledger", "bitpath ledger T2 A14", "bitpath ledger A21 --json"))
@click.argument("row", nargs=-1)
@output_options
def ledger_command(row: tuple[str, ...], printer: Printer) -> None:
    """Compare golden with public statements about the real machines.

    Each row of the ledger is a public measurement or a vendor's statement. Golden computes it anew, and the verdict says
    reproduced, refuted, undecided or not expressible. A row shows its sources, and for an open question the experiments
    that would decide it with golden's predictions. BITPATH_KAT_DIR names the folder of published answers; rows that
    need it say so without it. Writes build/reports/ledger.json; a verdict that is not the acknowledged one ends with 1.
    """
    from bitpath.sim.engine import paths
    from bitpath.sim.engine.options import FAILED
    from bitpath.sim.engine.results import merge
    from bitpath.sim.flows import outcome
    from bitpath.sim.flows.builds import counted
    from bitpath.sim.study.ledger.row import Evidence
    from bitpath.sim.study.ledger.run import changes, chosen, computed, show_row, show_table, summary

    wanted = chosen(row)
    console = outcome.console(quiet=printer.silent)
    records = list(counted(console, "rows", computed(wanted, Evidence.here()), len(wanted)))
    merge(records, paths.reports() / "ledger.json", key="id")
    if row:
        for each in records:
            show_row(console, each)
    else:
        show_table(console, records)
    printer.say(summary(records))
    printer.result(records)
    failures = changes(records)
    for sentence in failures:
        printer.fail(sentence)
    if failures:
        raise SystemExit(FAILED)
