"""Reports of mismatches: the first of a run with its operands in full, then one line for each further one.

::

    first mismatch: random_classes/pace=both, o, value 17, at 635 ns, cycle 63 of the test
      stationary   0x38 = 1, 0x39 = 1.125, 0xb8 = -1, 0x01 = 0.001953125
      got          0x42e4d001 = 114.406258
      expected     0x42e4d000 = 114.40625
      distance     1 ulp
      explain      bitpath explain trainium3 --stationary 38,39,b8,01 ...
    further mismatches:
      random_classes/pace=both, o, value 18, at 645 ns: got 0x3f800001 = 1.00000012, expected 0x3f800000 = 1, 1 ulp
      and 57 more
"""

import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bitpath.verif.kit.batches import places
from bitpath.verif.kit.values import Number, Word, code_text, distance_text

FILE = "mismatches.txt"
"""File in the run's folder with the report of all its mismatches."""
FIRST = "first mismatch: "
FURTHER = "further mismatches:"
SHOWN = 10
"""Lines of further mismatches that a failed run prints; the file has all of them."""
WIDTH = 120
LABEL = 13


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Parts of a result that the report of a mismatch shows beside its codes.

    Attributes
    ----------
    operands : decoded operands by name.
    explain : command that explains the expected result; None if no command does.
    replay : command that repeats the run with a wave, for a run whose failure does not end with it.
    formats : number formats of the result's fields, where they depend on the operands.
    fields : codes of the operands by the names of the flat module's ports.
    """

    operands: Mapping[str, str] = field(default_factory=dict)
    explain: str | None = None
    replay: str | None = None
    formats: Mapping[Any, Number] | None = None
    fields: Mapping[str, int] = field(default_factory=dict)


Context = str | Callable[[str], Shown] | None
"""What a scoreboard knows of a result: text; or a function of the path of the differing field, which is called on a mismatch
alone, first with an empty path for the formats."""


def shown_at(context: Context, path: str = "") -> Shown:
    """Return the parts that a report shows of a result whose field ``path`` differs."""
    if callable(context):
        return context(path)
    return Shown(operands={} if context is None else {"inputs": context})


def explain_line(
    machine: str,
    presets: Mapping[str, Any],
    numerics: Any,
    *,
    file: str | None = None,
    **options: str | Sequence[str] | None,
) -> str | None:
    """Return the ``bitpath explain`` command with these options; None if the numerics are neither a preset's nor in a file.

    An option of None is left out, one of several values is repeated, and the value of a switch is empty.
    """
    preset = next((name for name, each in presets.items() if each.numerics == numerics), None)
    if preset is None and file is None:
        return None
    words = [f"bitpath explain {machine}"]
    own = {"numerics": file} if preset is None else {"preset": preset}
    for name, given in (options | own).items():
        for value in (given,) if isinstance(given, str) else given or ():
            words += [f"--{name.replace('_', '-')}", *([shlex.quote(value)] if value else [])]
    return " ".join(words)


@dataclass(frozen=True)
class Difference:
    """A field in which two results differ; ``field`` is its path, and empty for a result without fields."""

    field: str
    got: int
    expected: int
    fmt: Number

    @property
    def codes(self) -> tuple[str, str]:
        """Got and expected as codes, with their numbers."""
        return code_text(self.fmt, self.got), code_text(self.fmt, self.expected)

    @property
    def distance(self) -> str:
        """Distance of both numbers as text; empty for words."""
        return distance_text(self.fmt, self.got, self.expected)


def differences(shape: Any, formats: Mapping[Any, Number], got: int, expected: int) -> list[Difference]:
    """Return the fields in which two payloads of an Amaranth shape differ.

    A field has the format of the longest path that contains it, and no number without one; the path "" contains all fields. A
    field wider than its format holds several codes, the first lowest, which have paths of their own.
    """
    found = []
    for path, (lowest, width) in places(shape).items():
        values = [value >> lowest & (1 << width) - 1 for value in (got, expected)]
        if values[0] != values[1]:
            found += _codes(path, width, format_at(formats, path) or Word(width), *values)
    return found or [Difference("", got, expected, Word(max(got, expected).bit_length()))]


def format_at(formats: Mapping[Any, Number], path: str) -> Number | None:
    """Return the format of the longest path that contains ``path``."""
    around = {str(each): fmt for each, fmt in formats.items() if f"{path}.".startswith(f"{each}.") or each == ""}
    return around[max(around, key=len)] if around else None


def _codes(path: str, width: int, fmt: Number, got: int, expected: int) -> list[Difference]:
    """Return the differing codes of a field; zeros above a single code are not further ones."""
    if fmt.width > width:
        return [Difference(path, got, expected, Word(width))]
    if not (got | expected) >> fmt.width:
        return [Difference(path, got, expected, fmt)]
    found = []
    for index in range(-(-width // fmt.width)):
        a, b = (value >> index * fmt.width & (1 << fmt.width) - 1 for value in (got, expected))
        if a != b:
            found.append(Difference(f"{path}.{index}" if path else str(index), a, b, fmt))
    return found


def full_text(head: str, found: list[Difference], shown: Shown) -> str:
    """Return the report of a first mismatch from its differing fields."""
    first = found[0]
    got, expected = first.codes
    rows = dict(shown.operands)
    if first.field:
        others = [each.field for each in found[1:]]
        more = f", and {', '.join(others[:8])}{' ...' if len(others) > 8 else ''}" if others else ""
        rows["field"] = first.field + more
    rows |= {"got": got, "expected": expected}
    rows |= {"distance": first.distance} if first.distance else {}
    lines = [f"{FIRST}{head}"]
    for name, text in rows.items():
        start = f"  {name:<{LABEL}}"
        # A code and its number stay together.
        wrapped = textwrap.wrap(
            text.replace(" = ", "\xa0=\xa0"),
            WIDTH,
            initial_indent=start,
            subsequent_indent=" " * len(start),
            break_on_hyphens=False,
            break_long_words=False,
        )
        lines += [line.replace("\xa0", " ") for line in wrapped]
    # A command stays on one line, which can be copied.
    commands = {"explain": shown.explain, "replay": shown.replay}
    lines += [f"  {name:<{LABEL}}{line}" for name, line in commands.items() if line]
    return "\n".join(lines)


def line_text(head: str, found: list[Difference]) -> str:
    """Return the line of a further mismatch from its differing fields."""
    first = found[0]
    got, expected = first.codes
    where = f"{head}, field {first.field}" if first.field else head
    return f"{where}: got {got}, expected {expected}{first.distance and f', {first.distance}'}"


def note(folder: Path, full: str, line: str) -> str:
    """Append a mismatch to the report of a run, the first with its full text; return the text that was written."""
    file = folder / FILE
    first = not file.exists()
    with file.open("a") as report:
        if first:
            report.write(f"{full}\n{FURTHER}\n")
            return full
        report.write(f"  {line}\n")
        return line


def whole(folder: Path) -> tuple[str, list[str]]:
    """Return the first mismatch of a run in full and the lines of all further ones; both empty if there was none."""
    file = folder / FILE
    first, _, further = (file.read_text() if file.exists() else "").partition(f"\n{FURTHER}\n")
    return first, further.splitlines()


def report(folder: Path) -> str:
    """Return the report of a run, with at most `SHOWN` further mismatches; empty if there was none."""
    first, lines = whole(folder)
    return report_text(first, lines[:SHOWN], len(lines)) if first else ""


def first_test(folder: Path) -> str | None:
    """Return the name of the test with the first mismatch of a run; None if there was no mismatch."""
    file = folder / FILE
    return file.read_text().removeprefix(FIRST).partition(", ")[0] if file.exists() else None


def report_text(first: str, lines: Sequence[str], count: int) -> str:
    """Return a report of a first mismatch and of ``count`` further ones; it shows ``lines``."""
    more = [f"  and {count - len(lines)} more"] if count > len(lines) else []
    return "\n".join([first, *([FURTHER] if count else []), *lines, *more])
