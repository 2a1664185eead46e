"""Surfer's command file of a wave, with mapping files for the number formats.

``surfer --command-file UNIT.sucl``, called in the wave's folder, opens the wave, adds the top module's signals, and moves
the cursor to the first mismatch. Surfer finds the mappings in ``.surfer/mappings`` of its working folder, from version 0.6
on. A command file cannot name a signal whose name has dots: it shows the ports, their fields and golden's values.

Ref: Surfer's documentation, pages Commands and Mapping Translators, and its command parser: a ``#`` ends a line, a ``;`` a
command, a divider's name is one word, and the items of ``item_focus`` are numbered in base 16 with the letters a to p.
"""

import re
import struct
from collections.abc import Iterator
from math import log2
from pathlib import Path

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.sim.engine.numbers.shown import Shown
from bitpath.sim.waves.save import first_mismatch
from bitpath.sim.waves.traces import Signal, Trace, traces_of

MAPPINGS = ".surfer/mappings"
"""Folder of mapping files, in which Surfer looks for them below its working folder."""
MAPPED_BITS = 11
"""Widest signal with a mapping file, of 2,048 lines."""
OWN = {FP32.name: "FP: 32-bit IEEE 754", FP16.name: "FP: 16-bit IEEE 754", BF16.name: "FP: bfloat16"}
"""Surfer's own formats for wider signals; it shows others in hexadecimal."""
WINDOW_PS = 200_000
"""Time that is displayed."""
_DIGITS = "abcdefghijklmnop"
_END_TIME = slice(17, 25)
"""Bytes of an FST file that hold the time of its last change, big-endian."""


def write_command_file(unit: str, wave: Path) -> Path:
    """Write the command file and its mappings beside the wave; all names are relative to the folder."""
    path = wave.with_name(f"{unit}.sucl")
    folder = wave.parent / MAPPINGS
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in _commands(unit, wave, folder)))
    return path


def _commands(unit: str, wave: Path, folder: Path) -> Iterator[str]:
    yield f"# Open with: surfer --command-file {unit}.sucl"
    yield f"load_file {wave.name}"
    shown: list[tuple[Trace, Signal] | None] = []
    for title, members in traces_of(unit, wave).items():
        named = [(trace, signal) for trace in members if (signal := trace.named)]
        if named:
            yield "divider_add " + re.sub(r"\W+", "_", title)
            shown += [None, *named]
        for _, signal in named:
            yield f"variable_add {signal.scopes[0]}.{signal.name}"
    for index, item in enumerate(shown):
        if item is not None:
            trace, signal = item
            yield f"item_focus {_letters(index)}_"
            yield f"item_rename {trace.label}"
            if name := trace.shown and _format(trace.shown, signal.width, folder):
                yield f"item_set_format {name}"
    yield "item_unfocus"
    moment = first_mismatch(wave)
    yield from ["zoom_in"] * max(0, round(log2(max(1, _length(wave)) / WINDOW_PS)))
    if moment is not None:
        yield f"marker_set first_mismatch {moment}"
    yield f"cursor_set {moment or 0}"


def _format(shown: Shown, width: int, folder: Path) -> str | None:
    """Return the name of a signal's format in Surfer, and write its mapping file; None means hexadecimal digits."""
    if width > MAPPED_BITS:
        return OWN.get(shown.name)
    lines = [f"{value} {shown.text(value)}" for value in range(1 << width)]
    (folder / shown.file).write_text("\n".join([f"Name = {shown.file}", f"Bits = {width}", *lines]) + "\n")
    return shown.file


def _letters(index: int) -> str:
    return "".join(_DIGITS[int(digit, 16)] for digit in f"{index:x}")


def _length(wave: Path) -> int:
    """Return the time of a wave's last change in its unit, 1 ps."""
    with wave.open("rb") as file:
        return struct.unpack(">Q", file.read(_END_TIME.stop)[_END_TIME])[0]
