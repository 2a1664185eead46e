"""GTKWave filters that display codes as numbers.

Formats of up to 8 bits get a filter file with one line for each code. Wider formats get a filter process, which GTKWave asks
for each value (``python -m bitpath.sim.waves.filter FP32``).
"""

import shlex
import stat
import sys
from pathlib import Path

from vcd.gtkw import make_translation_filter

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.verif.kit.values import number_text

FILE_BITS = 8
"""Widest format with a filter file; the next one would need 65,536 lines."""


def write_filter_file(fmt: FloatFormat, folder: Path) -> Path:
    """Write the filter file of a narrow format, for signals that are displayed in hexadecimal."""
    lines = make_translation_filter(
        [(code, number_text(fmt, code)) for code in range(1 << fmt.width)], "hex", fmt.width
    )
    path = folder / f"{fmt.name}.filter"
    path.write_text(lines + "\n")
    return path


def write_filter_process(fmt: FloatFormat, folder: Path) -> Path:
    """Write the program that GTKWave starts for a wide format; a save file can hold only a path.

    On a machine without this Python the program returns the codes.
    """
    path = folder / f"{fmt.name}.process"
    python = shlex.quote(sys.executable)
    path.write_text(
        f"#!/bin/sh\n[ -x {python} ] || exec cat\nexec {python} -P -m bitpath.sim.waves.filter {fmt.name}\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
