"""``bitpath tensix run``: kernels of a Tensix tile, as ELF files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from bitpath.sim.commands._click import Choice, Command, Group, Printer, examples, output_options
from bitpath.sim.engine.options import FILE, SimulationError

LINE = 16
"""Bytes of a line of a dump."""
EXAMPLE = "bitpath tensix run unpack.elf math.elf pack.elf --l1 tile.bin@0x20000 --dump 0x30000:2048"


class _Pair(click.ParamType):
    """A value, a separator and a number, which is decimal or hexadecimal with 0x."""

    def __init__(self, name: str, separator: str, first: Callable[[str], Any]):
        self.name, self._separator, self._first = name, separator, first

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Any, int]:
        first, _, number = value.rpartition(self._separator)
        try:
            if first:
                return self._first(first), int(number, 0)
        except ValueError:
            pass
        return self.fail(f"must be {self.name}, not {value!r}", param, ctx)


@click.group(cls=Group, epilog=examples(EXAMPLE))
def tensix_command() -> None:
    """Run kernels of a Tensix tile."""


@tensix_command.command("run", cls=Command, extra=None, epilog=examples(EXAMPLE, "bitpath tensix run math.elf --json"))
@click.argument("kernels", metavar="ELF [ELF [ELF]]", nargs=-1, required=True, type=FILE)
@click.option("--chip", type=Choice(("wormhole", "blackhole")), default="wormhole", show_default=True, help="Chip.")
@click.option(
    "--l1",
    "loads",
    type=_Pair("FILE@ADDRESS", "@", Path),
    metavar="FILE@ADDRESS",
    multiple=True,
    help="Write the bytes of a file to an address of L1 before the run.",
)
@click.option(
    "--dump",
    "dumps",
    type=_Pair("ADDRESS:BYTES", ":", lambda text: int(text, 0)),
    metavar="ADDRESS:BYTES",
    multiple=True,
    help="Print bytes of L1 after the run.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=100_000_000,
    show_default=True,
    help="RISC-V instructions after which a run that has not ended fails.",
)
@output_options
def run_command(
    kernels: tuple[Path, ...],
    chip: str,
    loads: tuple[tuple[Path, int], ...],
    dumps: tuple[tuple[int, int], ...],
    limit: int,
    printer: Printer,
) -> None:
    """Run linked ELF files of RV32IM on cores T0, T1 and T2 with golden's Tensix core.

    The first file runs on T0, the second on T1, the third on T2. A kernel pushes Tensix instructions with .ttinsn words or
    stores. It ends with ecall, a jump to itself, or the return from its entry. Prints the executed instructions of each
    core and its thread. An instruction or an address that is not modelled is refused.
    """
    from bitpath.golden.arrays.files import read_bytes
    from bitpath.golden.tensix import DeadlockError
    from bitpath.golden.tensix.riscv import Tile, read_elf

    tile = Tile(chip)
    if len(kernels) > len(tile.harts):
        raise click.UsageError(f"ELF files must be 1 to {len(tile.harts)}, not {len(kernels)}")
    for thread, file in enumerate(kernels):
        tile.load(thread, read_elf(file))
    for name, address in loads:
        data = np.frombuffer(read_bytes(name, "--l1"), np.uint8)
        _part(tile.core.l1, "--l1", address, data.size)[:] = data
    shown = [(address, _part(tile.core.l1, "--dump", address, count)) for address, count in dumps]
    try:
        trace = tile.run(limit=limit)
    except DeadlockError as error:
        raise SimulationError(str(error)) from None
    pushed = [len(trace.tensix.words(thread)) for thread in range(len(tile.harts))]
    rows = [(f"T{each}", str(trace.harts[each]), str(count)) for each, count in enumerate(pushed)]
    printer.table(("core", "RISC-V instructions", "Tensix instructions"), rows)
    for address, part in shown:
        for at in range(0, part.size, LINE):
            printer.say(f"{address + at:#010x}: {part[at : at + LINE].tobytes().hex(' ')}")
    found = [{"address": address, "bytes": part.tobytes().hex()} for address, part in shown]
    printer.result({"chip": chip, "riscv": trace.harts, "tensix": pushed, "dumps": found})


def _part(l1: np.ndarray, option: str, address: int, count: int) -> np.ndarray:
    """Return bytes of L1."""
    if not 0 <= address <= address + count <= l1.size:
        raise ValueError(f"{option}: {count} bytes at {address:#x} must be within L1, 0 to {l1.size - 1:#x}")
    return l1[address : address + count]
