"""``bitpath nki, numerics, rates, asm`` and ``export-c``: the golden models alone, without RTL."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bitpath.golden.scalar.checked import suggestion
from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import FAILED, FILE, MACHINES
from bitpath.sim.engine.tools import require_extra

if TYPE_CHECKING:
    from bitpath.golden.formats.sources import Rate


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath nki rows.py:softmax --args x.npz -o out.npz",
        "bitpath nki rows.py:softmax --args x.npz --cores 2 --strict",
        "bitpath nki sums.py:total --args parts.npz --ranks 4 -o out.npz",
        "bitpath nki mm.py:matmul --args ab.npz --compare matmul --trace trace.json",
        "bitpath nki mx.py:product --args ab.npz --release 2.27 --target trn3",
        "bitpath nki rows.py:softmax --args x.npz --json",
        "bitpath nki my.rows:softmax --path .. --args x.npz",
    ),
)
@click.argument("kernel", metavar="FILE|MODULE:KERNEL")
@click.option(
    "--path",
    "folders",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    metavar="DIR",
    help="Search DIR for modules before Python's module search path. May be repeated.",
)
@click.option(
    "--args",
    type=FILE,
    help="Arguments as .npz, by the name of the parameter. An array of no dimension is a number or a text, which names a "
    "member where the parameter is an Enum. A key NAME:python holds the text of a Python literal, as (3, 4). A key "
    "NAME:DTYPE, as x:bfloat16, holds words (uint8, uint16 or uint32) of a dtype that .npz cannot name: bfloat16, "
    "float8_e4m3, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, tfloat32, float8_e4m3fn_x4, float8_e5m2_x4 or "
    "float4_e2m1fn_x4. A key that ends with :ranks, as x:ranks or x:bfloat16:ranks, holds a value for each rank along its "
    "first dimension.",
)
@click.option(
    "-o", "--output", type=FILE, help="Write the outputs as .npz: out_0, out_1 and so on, or out_0:DTYPE with words."
)
@click.option("--cores", type=click.IntRange(1, 2), help="Launch grid.  [default: one core without a grid]")
@click.option(
    "--ranks",
    type=click.IntRange(1),
    metavar="N",
    help="Launch the kernel on N ranks, which nki.collectives connects; core k of rank r is core r * cores + k. Outputs have a "
    "first dimension of ranks, and :ranks at the end of their key.",
)
@click.option("--strict", is_flag=True, help="Make warnings errors: unwritten and aliased reads, races and the like.")
@click.option(
    "--release",
    metavar="NUMBER",
    help="Release of the Neuron SDK, 2.27 to 2.33, whose instructions, parameters, limits and rules hold.  [default: 2.33]",
)
@click.option(
    "--scale-rule",
    type=Choice(("ocp", "nki05")),
    help="Rule of quantize_mx's scales: ocp, before NKI 0.5, or nki05, from it on.  [default: the release's]",
)
@click.option(
    "--target",
    type=Choice(("trn3", "trn2")),
    help="Machine whose limits hold.  [default: that of NEURON_PLATFORM_TARGET_OVERRIDE, or trn3]",
)
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
def nki_command(
    kernel: str,
    folders: tuple[Path, ...],
    args: Path | None,
    output: Path | None,
    cores: int | None,
    ranks: int | None,
    strict: bool,
    release: str | None,
    scale_rule: str | None,
    target: str | None,
    trace: Path | None,
    compare: str | None,
    rtl: bool,
    rtl_core: bool,
    printer: Printer,
) -> None:
    """Run an NKI kernel of a file or module bit by bit on Trainium3's golden models.

    The kernel imports nki as the vendor has it. A file of a package is imported by its name in the package, so that it may
    have relative imports; a module is searched in --path, then in the working directory. Prints the instructions and cycles of each engine, serial and overlapped
    time, the largest use of memory, warnings, and the choices that the result depends on with their standing. A
    breakpoint() in the kernel starts the debugger.
    """
    from bitpath.golden.nki import Options
    from bitpath.golden.trainium3.declarations.quad_mx import ScaleRule
    from bitpath.sim.study import nki
    from bitpath.sim.study.nki import launch, split

    if rtl or rtl_core:
        require_extra("sim")
    where, name = split(kernel)
    nki.check_writable("-o", output)
    nki.check_writable("--trace", trace)
    given: dict[str, Any] = {"release": release, "target": target, "scale_rule": scale_rule and ScaleRule(scale_rule)}
    options = Options(strict=strict, **{name: value for name, value in given.items() if value is not None})
    made = launch(
        where,
        name,
        args,
        folders=folders,
        cores=cores,
        ranks=ranks,
        options=options,
        compare=compare,
        silent=printer.silent,
        watched=rtl or rtl_core,
    )
    if output is not None and not made.outputs:
        raise ValueError(f"-o: {name} returns no tensor")
    if output is not None:
        nki.save(output, made.outputs, of_ranks=ranks is not None)
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


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath numerics",
        "bitpath numerics trainium3",
        "bitpath numerics aie_ml_v2 align_rounding",
        "bitpath numerics dot",
        "bitpath numerics --json",
    ),
)
@click.argument("machine", required=False, type=Choice([*MACHINES, "dot"]))
@click.argument("field", required=False)
@output_options
def numerics_command(machine: str | None, field: str | None, printer: Printer) -> None:
    """Print the numerics of a machine, or of all machines, with the source of each rule.

    "dot" stands for the dot products of no particular machine, which bitpath check --numerics describes.

    Prints tables of the presets and of the choices that are fixed, and the documents that their sources name. FIELD is a
    field of the presets, or a text in fixed choices: only their rows are printed.
    """
    from bitpath.sim.study.numerics import DOT, TEXTS, documents, numerics_rows

    named = MACHINES if machine is None else (machine,)
    texts = {**TEXTS, "dot": DOT}
    tables = [(name, *numerics_rows(rows)) for name in named for rows in texts[name].numerics]
    if field is not None:
        fields = {row[1] for _, headings, rows in tables for row in rows if headings[1] == "field"}
        tables = [(name, headings, _matching(field, headings, rows)) for name, headings, rows in tables]
        if not any(rows for _, _, rows in tables):
            close = suggestion(field, fields)
            raise click.UsageError(
                f"FIELD must be a field or a text in a choice of {' or '.join(named)}, not {field!r}{close}"
            )
    for _, headings, rows in tables:
        if rows:
            printer.table(headings, rows)
    printer.table(("document", "title"), documents(row[-1] for _, _, rows in tables for row in rows))
    printer.result(
        [{"machine": name, **dict(zip(headings, row, strict=True))} for name, headings, rows in tables for row in rows]
    )


def _matching(field: str, headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the rows of a field of presets, or those of choices whose statement contains the text, in any case."""
    if headings[1] == "field":
        return [row for row in rows if row[1] == field]
    return [row for row in rows if field.lower() in row[0].lower()]


@click.command(
    cls=Command, extra=None, epilog=examples("bitpath rates", "bitpath rates tensix", "bitpath rates trainium3 --json")
)
@click.argument("machine", required=False, type=Choice(MACHINES))
@output_options
def rates_command(machine: str | None, printer: Printer) -> None:
    """Print the rates of a machine, or of all machines, with their sources.

    Prints a table for each machine, declared numbers and rates computed from them beside published figures, and the
    documents that the sources name.
    """
    from dataclasses import asdict

    from bitpath.golden.machines import MACHINES as KNOWN
    from bitpath.sim.study.numerics import documents

    tables = {name: KNOWN[name].rates() for name in (MACHINES if machine is None else (machine,))}
    headings = ("quantity", "value", "unit", "computed from", "published", "standing", "source")
    for name, rows in tables.items():
        printer.table(headings, map(_cells, rows), name)
    sources = (row.source.where for rows in tables.values() for row in rows if row.source)
    printer.table(("document", "title"), documents(sources))
    printer.result([{"machine": name, **asdict(row)} for name, rows in tables.items() for row in rows])


def _cells(rate: "Rate") -> tuple[str, ...]:
    standing = (rate.source.kind, rate.source.where) if rate.source else ("", "")
    return rate.quantity, f"{rate.value:.8g}", rate.unit, rate.formula or "declared", rate.published, *standing


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath asm tensix product.s",
        "bitpath asm tensix product.s --chip blackhole --json",
        "bitpath asm tensix ckernel.S --chip blackhole --function calculate_abs",
        "bitpath asm tensix product.words --disassemble --style gnu",
    ),
)
@click.argument("machine", type=Choice(("tensix",)))
@click.argument("file", type=FILE)
@click.option("--disassemble", "backward", is_flag=True, help="Read words and print instructions.")
@click.option(
    "--chip",
    type=Choice(("wormhole", "blackhole")),
    default="wormhole",
    show_default=True,
    help="Chip whose encodings are used.",
)
@click.option("--function", metavar="NAME", help="Function of the file.  [default: all, one after the other]")
@click.option(
    "--style",
    type=Choice(("fields", "gnu")),
    default="fields",
    show_default=True,
    help="Form of printed instructions: NAME FIELD=NUMBER, or operands as the published compiler writes them.",
)
@output_options
def asm_command(
    machine: str, file: Path, backward: bool, chip: str, function: str | None, style: str, printer: Printer
) -> None:
    """Assemble the instructions of a file into words.

    FILE has an instruction a line: NAME FIELD=NUMBER, FIELD=NUMBER, or a line of compiled assembly such as SFPMAD L1, L0, L13,
    L14, 0. A field that is not given is 0; #, // and /* */ are comments; labels begin functions; directives are skipped.
    Prints a hexadecimal word a line, which --disassemble reads back. A line that is no Tensix instruction, a value that its
    field does not hold, and a word with bits outside of its instruction's fields are refused, with the number of the line.
    """
    from bitpath.sim.study.kernel_tests import assembled, disassembled

    if backward and function is not None:
        raise click.UsageError("--function names a function of a text; leave out --disassemble")
    words, lines = disassembled(file, chip, style) if backward else assembled(file, chip, style, function)
    for line in lines if backward else (f"{word:#010x}" for word in words):
        printer.say(line)
    printer.result({"machine": machine, "chip": chip, "words": words, "instructions": lines})


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath export-c trainium3 -o build/c --shared",
        "bitpath export-c tensix -o build/c --preset tensix_wormhole",
    ),
)
@click.argument("machine", type=Choice(MACHINES))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Output folder; created if missing.",
)
@click.option("--preset", help="Numerics by name.  [default: the machine's reference]")
@click.option(
    "--numerics",
    "--config",
    "numerics",
    type=FILE,
    help="JSON file with fields of numerics, in place of those of its preset, or a unit's configuration with all of them.",
)
@click.option("--shared", is_flag=True, help="Compile a shared library too, with CC, cc, gcc or clang.")
def export_c_command(machine: str, out: Path, preset: str | None, numerics: Path | None, shared: bool) -> None:
    """Write the golden model of a machine as C with a DPI package.

    The C has dot products, conversions and matmul of MACHINE; the SystemVerilog package imports them.
    """
    from bitpath.golden.arrays.arguments import check_choice
    from bitpath.golden.c.constants import MACHINES as RECORDS
    from bitpath.golden.c.export import export
    from bitpath.golden.matmul import read_numerics
    from bitpath.rtl.common.files import write_whole
    from bitpath.sim.engine.process import shared_library

    names = RECORDS[machine].names
    if preset and numerics:
        raise click.UsageError("--numerics names its preset in the file; leave out --preset")
    groups = (RECORDS[machine].presets, *RECORDS[machine].others.values())
    presets = {name: each for group in groups for name, each in group.items()}
    record = read_numerics(numerics, presets, option="--numerics") if numerics else None
    texts = export(machine, check_choice("--preset", preset or names[0], names), record)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_whole(out / name, text)
        click.echo(out / name)
    if shared:
        click.echo(shared_library(out / f"bitpath_{machine}.c"))
