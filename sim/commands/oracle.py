"""``bitpath oracle``: compares a device's result of a kernel test with golden."""

import sys
from pathlib import Path

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine.options import FILE


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
def command(case_file: Path, device: Path | None, expected_file: Path | None, printer: Printer) -> None:
    """Compare a device's result of a Tensix kernel test with golden, bit for bit.

    CASE.json is an object: the operation, its formats at every stage, and the files of the operands' bytes in L1, relative to it:

    \b
      {"op": "matmul", "fidelity": "HiFi2",
       "in_a": "Bfp4_b", "in_b": "Bfp8_b", "register_format": "Float16_b",
       "mid_format": "Float16_b", "out_format": "Bfp8_b", "l1_a": "a.bin", "l1_b": "b.bin"}

    Further keys are the attributes of tensix.llk.Case: dst32, dimensions_a and _b, broadcast, pool, reduce_dim,
    unpack_transpose_faces and _within_face, relu, relu_threshold, edge_mask, edge_minus_infinity, round_10b, e4m3, chip, and
    l1_accumulate, which needs a further file, l1_before: the result's bytes before.

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
