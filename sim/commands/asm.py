"""``bitpath asm``: assembles and disassembles instructions of a machine."""

from pathlib import Path

import click

from bitpath.sim.commands._click import Choice, Command, Printer, examples, output_options
from bitpath.sim.engine.options import FILE


@click.command(
    cls=Command,
    extra=None,
    epilog=examples(
        "bitpath asm tensix product.s",
        "bitpath asm tensix product.s --chip blackhole --json",
        "bitpath asm tensix product.words --disassemble",
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
@output_options
def command(machine: str, file: Path, backward: bool, chip: str, printer: Printer) -> None:
    """Assemble the instructions of a file into words.

    FILE has an instruction a line: NAME FIELD=NUMBER, FIELD=NUMBER. A field that is not given is 0, and # starts a comment.
    Prints a hexadecimal word a line, which --disassemble reads back. A line that is no instruction, a value that its field
    does not hold, and a word with bits outside of its instruction's fields are refused, with the number of the line.
    """
    from bitpath.sim.study.kernel_tests import assembled, disassembled

    words, lines = (disassembled if backward else assembled)(file, chip)
    printer.say("\n".join(lines if backward else (f"{word:#010x}" for word in words)))
    printer.result({"machine": machine, "chip": chip, "words": words, "instructions": lines})
