"""Save files for GTKWave: the wave's own signal names, sorted into the unit's groups."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from vcd.gtkw import GTKWSave

from bitpath.golden.formats.catalogue import CATALOGUE, E4M3FN, E5M2, FloatFormat
from bitpath.sim.engine import paths
from bitpath.sim.engine.errors import MissingToolError
from bitpath.sim.waves.filters import FILE_BITS, write_filter_file, write_filter_process
from bitpath.sim.waves.groups import format_of, group_of, groups_of
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH

_SCOPE = re.compile(r"\$scope \w+ (\S+) \$end")
_VARIABLE = re.compile(r"\$var \w+ (\d+) \S+ (.+?) \$end")
_GENERATED = re.compile(r"\$")
"""Names that Yosys made up; nobody looks for them."""


ZOOM = -14.5
"""In GTKWave's logarithmic unit: a dozen cycles in a window, wide enough to read the numbers."""
LEAD_PS = 100_000
"""What is shown before the first mismatch."""
OPEN = ("clock", "inputs", "outputs", "output", "round")
"""Groups that a user looks at first and finds open."""


def last_wave(unit: str) -> Path:
    """The newest wave of a unit's runs; ValueError says how to make one where there is none."""
    found = [file for pattern in ("*.fst", "*.vcd") for file in paths.runs().glob(f"{unit}-????????/*/{pattern}")]
    if not found:
        raise ValueError(f"no wave of {unit!r}; run make sim UNIT={unit} WAVES=1 first")
    return max(found, key=lambda file: file.stat().st_mtime_ns)


def signals(wave: Path) -> Iterator[tuple[str, int]]:
    """Full names, as GTKWave knows them, and widths of the signals in a wave."""
    scopes: list[str] = []
    for line in _header(wave):
        if scope := _SCOPE.search(line):
            scopes.append(scope[1].lstrip("\\"))
        elif line.startswith("$upscope"):
            scopes.pop()
        elif variable := _VARIABLE.search(line):
            # GTKWave wants the range right behind the name, and the backslash of a name with dots in it.
            yield ".".join([*scopes, variable[2].replace(" ", "")]), int(variable[1])


def _header(wave: Path) -> Iterator[str]:
    """The declarations of a VCD, or of an FST through GTKWave's own converter."""
    if wave.suffix == ".vcd":
        with wave.open(errors="replace") as file:
            yield from _until_values(file)
        return
    if shutil.which("fst2vcd") is None:
        raise MissingToolError("fst2vcd, which comes with GTKWave, not found; run: sudo apt-get install gtkwave")
    with subprocess.Popen(["fst2vcd", str(wave)], stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        yield from _until_values(process.stdout)
        # The values that follow can be gigabytes.
        process.kill()


def _until_values(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("$enddefinitions"):
            return
        yield line


def write_save_file(unit: str, wave: Path) -> Path:
    """Write the save file, and the filters that it names, beside the wave."""
    folder = wave.parent
    filters = {fmt.name: _write_filter(fmt, folder) for fmt in CATALOGUE.values()}
    top = wave.parent.parent.name.replace("-", "_")
    groups: dict[str, list[tuple[str, int, str]]] = {group.title: [] for group in groups_of(unit)}
    for name, width in signals(wave):
        path = _below_top(name, top)
        if path is None or _GENERATED.search(path):
            continue
        bare = re.sub(r"\[\d+:\d+\]$", "", path.replace("\\", ""))
        title = group_of(unit, bare)
        if title is not None:
            groups[title].append((name, width, bare))
    save_path = folder / f"{unit}.gtkw"
    with save_path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(str(wave))
        save.savefile(str(save_path))
        save.size(1600, 900)
        moment = _first_mismatch(folder)
        save.timestart(max(0, moment - LEAD_PS))
        save.zoom_markers(ZOOM, marker=moment if moment else -1)
        for title, members in groups.items():
            if not members:
                continue
            with save.group(title, closed=title not in OPEN):
                for name, width, bare in sorted(members, key=lambda member: member[2]):
                    _trace(save, name, bare, format_of(bare, width), filters)
    return save_path


def _first_mismatch(folder: Path) -> int:
    """Time of the run's first mismatch in ps; 0 where all values agreed."""
    file = folder / FIRST_MISMATCH
    return int(file.read_text()) if file.exists() else 0


def _write_filter(fmt: FloatFormat, folder: Path) -> Path:
    return (write_filter_file if fmt.width <= FILE_BITS else write_filter_process)(fmt, folder)


def _below_top(name: str, top: str) -> str | None:
    """The path below the top module; None for what a simulator put beside it, such as Verilator's copy of the ports."""
    head, found, path = name.partition(f"{top}.")
    return path if found and head in ("", "TOP.") else None


def _trace(save: GTKWSave, name: str, path: str, fmt: FloatFormat | None, filters: dict[str, Path]) -> None:
    # GTKWave would show only what stands behind the last dot.
    alias = path.replace(".", "/")
    if fmt is None:
        save.trace(name, alias=alias)
        return
    filter_path = str(filters[fmt.name])
    if fmt.width <= FILE_BITS:
        save.trace(name, alias=f"{alias} {fmt.name}", translate_filter_file=filter_path)
        if fmt is E4M3FN:
            save.trace(name, alias=f"{alias} {E5M2.name}", translate_filter_file=str(filters[E5M2.name]))
        return
    save.trace(name, alias=f"{alias} {fmt.name}", translate_filter_proc=filter_path)
