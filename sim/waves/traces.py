"""Contents of a viewer's wave: signals in groups, with their number formats, and golden's values beside the outputs."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitpath.rtl.units import find_unit
from bitpath.sim.engine import paths
from bitpath.sim.engine.errors import MissingToolError
from bitpath.sim.engine.numbers.selected import rule_of
from bitpath.sim.engine.numbers.shown import Shown, single
from bitpath.sim.engine.runner import WAVE
from bitpath.sim.engine.tracing import EXPECTED, MISMATCH, NUMBER, plain
from bitpath.sim.waves.groups import formats_of, group_of, groups_of
from bitpath.verif.kit.marks import COMPARED

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
    if outputs and (flag := scopes[min(scopes, key=len)].get("mismatch")):
        next(iter(groups.values())).append(Trace(flag, "mismatch"))
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
