"""GTKWave filters that display codes as numbers, beside the wave and without a path of this machine.

Signals of up to :data:`FILE_BITS` bits get a filter file with one line for each value. For wider signals GTKWave asks a
filter process for each value: a copy of :mod:`bitpath.sim.engine.numbers.filter`, which needs a Python 3 alone.
"""

import json
import shlex
import shutil
import stat
from pathlib import Path

from vcd.gtkw import make_translation_filter

from bitpath.sim.engine.numbers import filter as process
from bitpath.sim.engine.numbers.shown import Shown

FILE_BITS = 11
"""Widest signal with a filter file, of 2,048 lines."""
PROCESS = "filter.py"
"""The program of all filter processes."""


class Filters:
    """Filters in the folder of a wave, each written once."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._written: set[str] = set()

    def file(self, shown: Shown, width: int) -> str:
        """Return the name of the filter file of a narrow signal, which is displayed in hexadecimal."""
        path = self._folder / f"{shown.file}.filter"
        if path.name not in self._written:
            values = [(value, shown.text(value)) for value in range(1 << width)]
            path.write_text(make_translation_filter(values, "hex", width) + "\n")
            self._written.add(path.name)
        return path.name

    def process(self, shown: Shown) -> str:
        """Return the name of the program that GTKWave starts for a wide signal; a save file can hold only a path.

        On a machine without Python 3 the program returns the codes.
        """
        path = self._folder / f"{shown.file}.process"
        if path.name not in self._written:
            shutil.copyfile(process.__file__, self._folder / PROCESS)
            start = f'command -v python3 > /dev/null || exec cat\nexec python3 -E "$(dirname "$0")/{PROCESS}"'
            path.write_text(f"#!/bin/sh\n{start} {shlex.quote(json.dumps(shown.spec()))}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
            self._written.add(path.name)
        return path.name
