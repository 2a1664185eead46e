"""``bitpath export-c``: writes a machine's golden model as C, with a DPI package."""

from pathlib import Path

import click

from bitpath.sim.commands._click import Choice, Command, examples
from bitpath.sim.engine.options import MACHINES


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
@click.option("--shared", is_flag=True, help="Compile a shared library too, with CC, cc, gcc or clang.")
def command(machine: str, out: Path, preset: str | None, shared: bool) -> None:
    """Write the golden model of a machine as C with a DPI package.

    The C has dot products, conversions and matmul of MACHINE; the SystemVerilog package imports them.
    """
    from bitpath.golden.arrays.arguments import check_choice
    from bitpath.golden.c.constants import MACHINES as RECORDS
    from bitpath.golden.c.export import export
    from bitpath.rtl.common.files import write_whole
    from bitpath.sim.engine.process import shared_library

    names = RECORDS[machine].names
    texts = export(machine, check_choice("--preset", preset or names[0], names))
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        write_whole(out / name, text)
        click.echo(out / name)
    if shared:
        click.echo(shared_library(out / f"bitpath_{machine}.c"))
