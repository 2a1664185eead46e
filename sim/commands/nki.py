"""``bitpath nki``: runs an NKI kernel of a file on Trainium3's golden models."""

from dataclasses import asdict
from pathlib import Path

import click

from bitpath.sim.commands._click import Command, Printer, examples, output_options
from bitpath.sim.engine.errors import FAILED
from bitpath.sim.engine.options import FILE
from bitpath.sim.engine.tools import require_extra


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath nki rows.py:softmax --args x.npz -o out.npz",
        "bitpath nki rows.py:softmax --args x.npz --cores 2 --strict",
        "bitpath nki mm.py:matmul --args ab.npz --compare matmul --trace trace.json",
        "bitpath nki rows.py:softmax --args x.npz --json",
    ),
)
@click.argument("kernel", metavar="FILE:KERNEL")
@click.option(
    "--args",
    type=FILE,
    help="Arguments as .npz, by the name of the parameter. An array of no dimension is a number or a text. A key "
    "NAME:DTYPE, as x:bfloat16, holds words (uint8, uint16 or uint32) of a dtype that .npz cannot name: bfloat16, "
    "float8_e4m3, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, tfloat32, float8_e4m3fn_x4, float8_e5m2_x4 or "
    "float4_e2m1fn_x4.",
)
@click.option(
    "-o", "--output", type=FILE, help="Write the outputs as .npz: out_0, out_1 and so on, or out_0:DTYPE with words."
)
@click.option("--cores", type=click.IntRange(1, 2), help="Launch grid.  [default: one core without a grid]")
@click.option("--strict", is_flag=True, help="Make warnings errors: unwritten and aliased reads, races and the like.")
@click.option("--trace", type=FILE, help="Write the schedule as JSON trace events for Perfetto or chrome://tracing.")
@click.option(
    "--compare",
    metavar="NAME",
    help="A function of the file, or of numpy, that gets the arguments in their order, floats as float64: print the "
    "largest and the mean error in units in the last place of the output.",
)
@click.option(
    "--rtl",
    is_flag=True,
    help="Compute on RTL units what they take of the instructions, and compare: QuantizeMX, products and their "
    "sums in PSUM, exponential, operators, reciprocal, roots, transposes, DMA's copies. Units are built once.",
)
@click.option(
    "--rtl-core",
    is_flag=True,
    help="The same on the joined core in RTL, which has 32 partitions: each instruction is a program with its DMA, and "
    "instructions that it has no room for are named. Its build takes minutes, once.",
)
@output_options
def command(
    kernel: str,
    args: Path | None,
    output: Path | None,
    cores: int | None,
    strict: bool,
    trace: Path | None,
    compare: str | None,
    rtl: bool,
    rtl_core: bool,
    printer: Printer,
) -> None:
    """Run an NKI kernel of a file bit by bit on Trainium3's golden models.

    The file imports nki as the vendor has it. Prints the instructions and cycles of each engine, serial and overlapped
    time, the largest use of memory, warnings, and the choices that the result depends on with their standing. A
    breakpoint() in the kernel starts the debugger.
    """
    from bitpath.golden.nki import Options
    from bitpath.sim.study import nki
    from bitpath.sim.study.nki import launch, split

    if rtl or rtl_core:
        require_extra("sim")
    file, name = split(kernel)
    nki.check_writable("-o", output)
    nki.check_writable("--trace", trace)
    options = Options(strict=strict)
    made = launch(
        file, name, args, cores=cores, options=options, compare=compare, silent=printer.silent, watched=rtl or rtl_core
    )
    if output is not None and not made.outputs:
        raise ValueError(f"-o: {name} returns no tensor")
    if output is not None:
        nki.save(output, made.outputs)
    if trace is not None:
        nki.write(trace, made.run)
    found = nki.record(kernel, made.run, options, made.outputs, made.errors)
    printer.say(nki.text(found, made.errors))
    wrong = 0
    if rtl or rtl_core:
        from rich.console import Console

        from bitpath.sim.flows.nki import compare as compare_rtl
        from bitpath.sim.flows.nki import text

        console = Console(stderr=True, quiet=printer.silent)
        rows, left_out = compare_rtl(made.executed, "verilator", console, joined=rtl_core)
        printer.say(text(rows, left_out))
        others = [{"opcode": opcode, "reason": why, "count": count} for (opcode, why), count in left_out.items()]
        found["rtl"] = {"compared": [asdict(each) for each in rows], "left_out": others}
        if wrong := sum(each.mismatches for each in rows):
            printer.fail(f"{wrong} values of RTL differ from golden's")
    printer.result(found)
    if wrong:
        raise SystemExit(FAILED)
