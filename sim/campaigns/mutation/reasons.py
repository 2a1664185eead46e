"""Reasons for surviving mutants without an equivalence proof: survivors.toml beside the tests of each room."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bitpath.golden
import bitpath.rtl
import bitpath.sim
import bitpath.verif
from bitpath.sim.campaigns.mutation.verdicts import Faulty
from bitpath.sim.engine.machines import MACHINES

PACKAGES = {"rtl": bitpath.rtl, "golden": bitpath.golden, "sim": bitpath.sim, "verif": bitpath.verif}
FIELDS = {"target": str, "line": str, "modes": list, "reason": str}
PLACE = {"port": str, "bits": list}
"""Further fields of a mutant of RTL."""


@dataclass(frozen=True)
class Reason:
    """Reason for which mutants of a line survive.

    Attributes
    ----------
    line : stripped text of the line, so that it holds if lines are inserted above.
    modes : its mutants, for example ["const0", "cnot1"]; in Python, ["Lt -> LtE"].
    reason : the reason as a sentence.
    port, bits : port and bits of the mutants, for example "A" and [0, 3]; Python has none.
    """

    line: str
    modes: tuple[str, ...]
    reason: str
    port: str = ""
    bits: tuple[int, ...] = ()

    def holds(self, mutant: Faulty) -> bool:
        """Return True if the reason applies to the mutant."""
        place = (self.line, self.port) == (source_line(mutant.source), mutant.port)
        return place and mutant.mode in self.modes and (mutant.bit is None or mutant.bit in self.bits)


def source_line(source: str) -> str:
    """The text at a place such as "rtl/common/arithmetic/align.py:85", stripped."""
    file, _, number = source.rpartition(":")
    top, _, inside = file.partition("/")
    if top not in PACKAGES:
        raise ValueError(f"no line of this project's: {source!r}")
    path = Path(str(PACKAGES[top].__file__)).parent / inside
    return path.read_text().splitlines()[int(number) - 1].strip()


def read_reasons(target: str) -> list[Reason]:
    """Return the reasons of a target such as "rtl/common/arithmetic/align:Align"; empty if it has no file.

    Raises ValueError if the file says something else.
    """
    path = reasons_file(target)
    if not path.is_file():
        return []
    try:
        entries = tomllib.loads(path.read_text()).get("survivor", [])
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not TOML: {error}") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(f"{path}: survivors are tables, [[survivor]]")
    for entry in entries:
        fields = FIELDS | (PLACE if target.startswith("rtl/") else {})
        if {name: type(value) for name, value in entry.items()} != fields or not entry["reason"].strip():
            raise ValueError(f"{path}: a survivor has the fields {', '.join(fields)}, not {', '.join(entry)}")
    own: list[dict[str, Any]] = [
        {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items() if name != "target"}
        for entry in entries
        if entry["target"] == target
    ]
    return [Reason(**each) for each in own]


def reasons_file(target: str) -> Path:
    """Return the file with the reasons of a target below ``verif``: in its room, in ``golden`` of its machine, or in ``tests``."""
    top, *folders, _ = target.split("/")
    machine = folders[0] if folders and folders[0] in MACHINES else "common"
    room = {"rtl": Path(*folders), "golden": Path(machine, "golden")}.get(top, Path("tests"))
    return Path(bitpath.verif.__file__).parent / room / "survivors.toml"
