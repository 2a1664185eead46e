"""Files of wave viewers, GTKWave and Surfer: signals in groups, with number formats and golden's values."""

import json
import re
import shlex
import shutil
import stat
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

from vcd.gtkw import GTKWColor, GTKWSave, make_translation_filter

from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, E8M0, FP16, FP32, TF32, FloatFormat
from bitpath.rtl.common.unit import CLOCK, WaveGroup
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.engine import number_filter as process
from bitpath.sim.engine import paths
from bitpath.sim.engine.numbers import Shown, rule_of, single
from bitpath.sim.engine.options import MissingToolError
from bitpath.sim.engine.runner import WAVE
from bitpath.sim.engine.tracing import EXPECTED, MISMATCH, NUMBER, VALUES, plain
from bitpath.verif.kit.marks import COMPARED, UNNAMED
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH
from bitpath.verif.kit.values import Integer

# GTKWave filters that display codes as numbers, beside the wave and without a path of this machine.
#
# Signals of up to :data:`FILE_BITS` bits get a filter file with one line for each value. For wider signals GTKWave asks a
# filter process for each value: a copy of :mod:`bitpath.sim.engine.number_filter`, which needs a Python 3 alone.


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


# Tables of signal groups and number formats for save files; the first match wins.


FORMATS: tuple[tuple[str, int, tuple[FloatFormat | Integer, ...]], ...] = (
    (r".*scale$", 8, (E8M0,)),
    (r".*block\.codes\[\d+\]$", 8, (Integer(8),)),
    (r".*(elements\[\d+\]|codes?(\[\d+\])?)$", 8, (E4M3FN, E5M2)),
    (r".*(partial|partial_(north|south)|payload|value|present|total|data)(\[\d+\])?$", FP32.width, (FP32,)),
    (r".*(narrow\.o|bf16)$", BF16.width, (BF16,)),
    (r".*(payload\.dst|_dst|dst_round\.o)$", FP32.width, (FP32,)),
    (r".*(element|trial)_\d+\.i$", FP32.width, (FP32,)),
    (
        r"lane_\d+\.((squares|statistics|normalize|quantize)\.(\w+\.)?([abio]|square|total|number|scale|element|product|factor)|largest)$",
        FP32.width,
        (FP32,),
    ),
    (r".*(read_[ab]_\d+_\d+\.word|write_[ab]__payload\.values\[\d+\])$", TF32.width, (TF32,)),
)
"""Name, width and formats of number signals. FP8 codes without a signal that selects their format are displayed as E4M3FN and
as E5M2; for the others see `bitpath.sim.engine.numbers`. SrcA and SrcB words are displayed as TF32, which includes BF16.
"""

OTHERS = WaveGroup("others", r".")
"""Last group of a unit: the signals of none of its own groups."""
CHECKED = (CLOCK, WaveGroup("bench", r"(?!dut\.|(given|pin|flat)_\d)"), WaveGroup("design", r"dut\."))
"""Groups of a design that `bitpath check` ran: what the bench drives and compares, then the design."""


def groups_of(unit: str) -> tuple[WaveGroup, ...]:
    """Return the groups of a unit, or of a checked design, in display order."""
    return (*UNITS[unit].waves, OTHERS) if unit in UNITS else CHECKED


def group_of(unit: str, path: str) -> str | None:
    """Return the title of a signal's group."""
    return next((group.title for group in groups_of(unit) if re.match(group.pattern, path)), None)


def formats_of(path: str, width: int) -> tuple[FloatFormat | Integer, ...]:
    """Return the possible number formats of a signal; empty for a signal that is no number."""
    return next((formats for pattern, wide, formats in FORMATS if width == wide and re.match(pattern, path)), ())


# Contents of a viewer's wave: signals in groups, with their number formats, and golden's values beside the outputs.


_SCOPE = re.compile(r"\$scope \w+ (\S+) \$end")
_VARIABLE = re.compile(r"\$var \w+ (\d+) \S+ (.+?) \$end")


@dataclass(frozen=True)
class Signal:
    """A signal of a wave: its scopes, its name without a range, its range, and its width."""

    scopes: tuple[str, ...]
    name: str
    range: str
    width: int

    @property
    def full(self) -> str:
        """The name in GTKWave, which requires the range directly after the name, and the backslash of a name with dots."""
        return ".".join([*self.scopes, self.name + self.range])

    @property
    def bare(self) -> str:
        return self.name.removeprefix("\\")


@dataclass(frozen=True)
class Trace:
    """A line in a viewer.

    Attributes
    ----------
    signal : the signal that is shown.
    path : path of the design's signal below the top module, to which the line belongs.
    kind : "" for the design's signal, "expected" for golden's value of it, "mismatch" for the result of the comparison.
    shown : number formats; None for hexadecimal.
    copy : copy of the signal under a name without dots, if the wave has one.
    """

    signal: Signal
    path: str
    kind: str = ""
    shown: Shown | None = None
    copy: Signal | None = None

    @property
    def named(self) -> Signal | None:
        """The signal, or a copy of it, in the top module under a name without dots; None if neither exists."""
        named = self.copy or self.signal
        return named if len(named.scopes) == 1 and not named.name.startswith("\\") else None

    @property
    def label(self) -> str:
        """The name that a viewer displays; GTKWave would display only the part after the last dot."""
        words = (self.path.replace(".", "/"), "" if self.shown is None else self.shown.name, self.kind)
        return " ".join(word for word in words if word)


def last_wave(name: str) -> Path:
    """Return the newest wave of a unit's runs, or of those of a design that `bitpath check` ran.

    Raises ValueError for another name, and without a wave, with the command that records it.
    """
    checked = (paths.checks() / name).is_dir()
    found = list(
        (paths.checks() / name).glob(f"*/{WAVE}") if checked else paths.runs().glob(f"{name}-????????/*/{WAVE}")
    )
    if not found:
        line = "bitpath check with --waves" if checked else f"make sim UNIT={find_unit(name).name} WAVES=1"
        raise ValueError(f"no wave of {name!r}; run {line} first")
    return max(found, key=lambda file: file.stat().st_mtime_ns)


def signals(wave: Path) -> Iterator[Signal]:
    """Return the signals in a wave.

    Raises MissingToolError without GTKWave's converter, and ValueError if the simulator has not finished the file.
    """
    if shutil.which("fst2vcd") is None:
        raise MissingToolError(
            f"fst2vcd, which comes with GTKWave, not found; run: sudo apt-get install gtkwave; the wave is {paths.shown(wave)}"
        )
    scopes: list[str] = []
    command = ["fst2vcd", str(wave)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if scope := _SCOPE.match(line):
                scopes.append(scope[1].lstrip("\\"))
            elif line.startswith("$upscope"):
                scopes.pop()
            elif variable := _VARIABLE.match(line):
                name, _, span = variable[2].partition(" ")
                yield Signal(tuple(scopes), name, span, int(variable[1]))
            elif line.startswith("$enddefinitions"):
                # Stop here: the values that follow can be gigabytes.
                process.kill()
                return
    raise ValueError(f"the wave {paths.shown(wave)} is incomplete: the run was killed before the simulator wrote it")


def traces_of(unit: str, wave: Path) -> dict[str, list[Trace]]:
    """Return the lines of a viewer by the titles of the unit's groups, in order; groups without signals are left out."""
    config = wave.with_name("config.json")
    settings = json.loads(config.read_text()) if config.exists() else {}
    compared = wave.with_name(COMPARED)
    outputs = compared.read_text().split() if compared.exists() else []
    scopes: dict[tuple[str, ...], dict[str, Signal]] = {}
    for signal in signals(wave):
        # Verilator adds copies of the ports beside the top module.
        if (
            signal.scopes
            and re.fullmatch(rf"{unit}_[0-9a-f]{{8}}|check_\w+", signal.scopes[0])
            and "$" not in signal.full
        ):
            scopes.setdefault(signal.scopes, {})[signal.bare] = signal
    found: list[Trace] = []
    for scope, inside in scopes.items():
        start = "".join(f"{each}." for each in scope[1:])
        words = {name[: found.start()] for name in inside for found in re.finditer(r"[.\[]", name)}
        for name, signal in inside.items():
            if name.startswith((EXPECTED, MISMATCH, NUMBER)) or (not start and name == "mismatch"):
                continue
            lines = [] if name in words else list(_lines(inside, signal, start + name, settings))
            found += lines
            if not start and re.split(r"[.\[]", name)[0] in outputs:
                found += _compared(inside, name, lines)
    groups: dict[str, list[Trace]] = {group.title: [] for group in groups_of(unit)}
    for trace in sorted(found, key=_place):
        title = group_of(unit, trace.path)
        if title is not None:
            groups[title].append(trace)
    top = scopes[min(scopes, key=len)]
    if outputs and (flag := top.get("mismatch")):
        lines = [Trace(flag, "mismatch")]
        if UNNAMED in outputs:
            lines += [Trace(top[name], "compared value", kind) for name, kind in VALUES.items()]
        next(iter(groups.values())).extend(lines)
    return {title: members for title, members in groups.items() if members}


def _place(trace: Trace) -> tuple:
    """Return the sort key of a line: numbers in names by value, an output's comparison after it."""
    kinds = ("", "expected", "mismatch")
    return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", trace.path)], kinds.index(
        trace.kind
    )


def _lines(inside: Mapping[str, Signal], signal: Signal, path: str, config: Any) -> Iterator[Trace]:
    """Return the lines of a signal: one for each of its possible formats, or for each code in a word."""
    rule, _ = rule_of(signal.bare, signal.width, {name: each.width for name, each in inside.items()}) or (None, ())
    shown = rule and rule.shown(config, signal.width)
    number = f"{NUMBER}{plain(signal.bare)}"
    if rule and shown and rule.count > 1:
        codes = (inside.get(f"{number}_{index}") for index in range(rule.count))
        yield from (Trace(code, f"{path}[{index}]", "", shown) for index, code in enumerate(codes) if code)
    elif shown and number in inside:
        yield Trace(inside[number], path, "", shown)
    else:
        for fmt in formats_of(path, signal.width) or (None,):
            yield Trace(signal, path, "", None if fmt is None else single(fmt), inside.get(number))


def _compared(inside: Mapping[str, Signal], name: str, lines: list[Trace]) -> Iterator[Trace]:
    """Return golden's values in the formats of an output's lines, or of a field's, and the result of the comparison."""
    if expected := inside.get(f"{EXPECTED}{plain(name)}"):
        yield from (Trace(expected, line.path, "expected", line.shown) for line in lines)
    if flag := inside.get(f"{MISMATCH}{name}"):
        yield Trace(flag, name, "mismatch")


# GTKWave's save file of a wave.


ZOOM = -14.2
"""Zoom in GTKWave's logarithmic unit: a window of ten cycles, wide enough to read most numbers."""
LEAD_PS = 60_000
"""Time displayed before the first mismatch."""
SIGNALS_WIDTH = 520
"""Width in pixels of names and of the values at the marker."""
WINDOW = (1600, 900)
"""Width and height of the window in pixels."""
ROWS = 33
"""Rows that this window shows."""
COLORS = {"": None, "expected": GTKWColor.yellow, "mismatch": GTKWColor.red}
"""Colors of the lines by their kind."""


def first_mismatch(wave: Path) -> int | None:
    """Return the time of the first mismatch in ps; None if all compared values agreed."""
    file = wave.with_name(FIRST_MISMATCH)
    return int(file.read_text()) if file.exists() else None


def write_save_file(unit: str, wave: Path) -> Path:
    """Write the save file and its filters beside the wave; it opens on the first mismatch, or else on the first cycles.

    Names in it, also those of filters, are relative to it, so that the folder can be moved.
    """
    path = wave.with_name(f"{unit}.gtkw")
    moment = first_mismatch(wave)
    written = Filters(wave.parent)
    with path.open("w") as file:
        save = GTKWSave(file)
        save.dumpfile(wave.name, abspath=False)
        save.savefile(path.name, abspath=False)
        save.size(*WINDOW)
        save.sst_expanded(False)
        save.signals_width(SIGNALS_WIDTH)
        save.timestart(max(0, (moment or 0) - LEAD_PS))
        if moment is None:
            save.zoom_markers(ZOOM)
        else:
            save.zoom_markers(ZOOM, marker=moment, a=moment)  # type: ignore[arg-type]
            file.write("[markername] Afirst mismatch\n")
        groups = traces_of(unit, wave)
        failed = (
            [] if moment is None else [title for title, each in groups.items() if any(trace.kind for trace in each)]
        )
        # The comparisons come first where one failed: the clock, which shows whether any did, and the outputs.
        groups = dict(sorted(groups.items(), key=lambda each: bool(failed) and each[0] not in (CLOCK.title, *failed)))
        opened = opened_of(groups, failed)
        for title, members in groups.items():
            with save.group(title, closed=title not in opened):
                for trace in members:
                    _write(save, trace, written)
    return path


def opened_of(groups: Mapping[str, Sequence[Trace]], needed: Sequence[str] = ()) -> list[str]:
    """Return the titles of the groups that are open initially: each that ends within the window's rows, and the needed ones.

    An open group has a first and a last row besides its lines, a closed one has one row.
    """
    opened, rows = [], 0
    for title, members in groups.items():
        size = len(members) + 2
        if title in needed or rows + size <= ROWS:
            opened.append(title)
            rows += size
        else:
            rows += 1
    return opened


def _write(save: GTKWSave, trace: Trace, filters: Filters) -> None:
    name, label, color, shown = trace.signal.full, trace.label, COLORS[trace.kind], trace.shown
    if shown is None:
        save.trace(name, alias=label, color=color)
    elif trace.signal.width <= FILE_BITS:
        save.trace(name, alias=label, color=color, translate_filter_file=filters.file(shown, trace.signal.width))
    else:
        save.trace(name, alias=label, color=color, translate_filter_proc=filters.process(shown))


# Surfer's command file of a wave, with mapping files for the number formats.
#
# ``surfer --command-file UNIT.sucl``, called in the wave's folder, opens the wave, adds the top module's signals, and moves
# the cursor to the first mismatch. Surfer finds the mappings in ``.surfer/mappings`` of its working folder, from version 0.6
# on. A command file cannot name a signal whose name has dots: it shows the ports, their fields and golden's values.
#
# Ref: Surfer's documentation, pages Commands and Mapping Translators, and its command parser: a ``#`` ends a line, a ``;`` a
# command, a divider's name is one word, and the items of ``item_focus`` are numbered in base 16 with the letters a to p.


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
