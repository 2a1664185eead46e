"""Verilator's part of a wave: FST without Debian packages, without the signals that Yosys named."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

HEADERS = tuple(Path(__file__).parent / "fst" / name for name in ("lz4.h", "zlib.h"))
"""The functions of LZ4 and zlib that Verilator's FST writer calls; their own headers are Debian packages."""
SOURCES = (Path(__file__), *HEADERS)
"""Files that belong to the key of every build."""
LIBRARIES = ("liblz4.a", "libz.a")
"""Libraries that Verilator's makefile links for FST. They are empty, because the headers define the functions inline."""
EMPTY_ARCHIVE = b"!<arch>\n"
OPTIONS = ("--trace-fst", "-LDFLAGS", "-L.")
_GENERATED = re.compile(r"\s*(?:reg|wire) .*\\\$")
"""Declaration of a signal that Yosys named."""


def write_fst_files(folder: Path) -> None:
    """Write headers and libraries of the FST writer into the build's folder, where compiler and linker look first."""
    for header in HEADERS:
        shutil.copy(header, folder)
    for name in LIBRARIES:
        (folder / name).write_bytes(EMPTY_ARCHIVE)


def left_out(sources: list[str]) -> Iterator[str]:
    """Return control lines that leave the signals named by Yosys out of the wave.

    They are half of the signals, and no group of a save file displays them.
    """
    for source in sources:
        for number, line in enumerate(Path(source).read_text().splitlines(), 1):
            if _GENERATED.match(line):
                yield f'tracing_off -file "{source}" -lines {number}'
