"""Instructions of an NKI kernel on Trainium3's RTL units: each is computed anew, and its values are compared with golden's.

A product is compared before it is added to PSUM, and the sum behind it where PSUM keeps FP32. Instructions that no unit of the
core takes are counted, with the reason.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.console import Console

from bitpath.golden.nki.machine.record import Executed
from bitpath.sim.engine.runner import build
from bitpath.sim.flows.nki.steps import OnUnits
from bitpath.sim.flows.nki.units import pairs_of
from bitpath.sim.flows.outcome import differences, play
from bitpath.sim.flows.trainium3_staged import BENCHES, CoreUnits
from bitpath.verif.trainium3.core import stages
from bitpath.verif.trainium3.core.core_stages import JoinedCore
from bitpath.verif.trainium3.core.programs.hosted import LeftOutError

UNITS = CoreUnits()


@dataclass(frozen=True)
class Compared:
    """What instructions of one kind gave on their unit.

    Attributes
    ----------
    opcode, unit : what ran where.
    count, values, mismatches : instructions, values compared, and those that differ.
    cycles : the unit's.
    """

    opcode: str
    unit: str
    count: int
    values: int
    mismatches: int
    cycles: int


Reasons = Counter[tuple[str, str]]
"""Instructions that no unit takes, by opcode and reason."""


def compare(
    executed: Iterable[Executed], simulator: str, console: Console, *, joined: bool = False
) -> tuple[list[Compared], Reasons]:
    """Compute instructions on RTL units; return what each kind gave, and the instructions that no unit takes.

    With ``joined`` they run on the joined `core`, a program each.

    Raises SimulationError if a build or a simulation failed, or a unit did nothing.
    """
    left_out = Reasons()
    found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for each in executed:
        opcode, used = each.instruction.opcode, Counter[str]()
        play_unit = partial(_play, simulator, console, used)
        try:
            pairs = pairs_of(each, JoinedCore(play_unit, UNITS.core) if joined else OnUnits(play_unit, UNITS))
        except LeftOutError as reason:
            left_out[opcode, str(reason)] += 1
            continue
        values, wrong = sum(ours.size for ours, _ in pairs), sum(differences(*pair) for pair in pairs)
        found.setdefault((opcode, " + ".join(used)), []).append((values, wrong, sum(used.values())))
    rows = [Compared(*kind, len(own), *map(sum, zip(*own, strict=True))) for kind, own in found.items()]
    return rows, left_out


def text(rows: Iterable[Compared], left_out: Reasons) -> str:
    """Return what RTL gave as text."""
    lines = [
        f"RTL {each.opcode} on {each.unit}: {each.count}, {each.values:,} values, {each.mismatches} mismatches,"
        f" {each.cycles:,} cycles"
        for each in rows
    ]
    lines += [f"not on RTL: {opcode}, {count}: {reason}" for (opcode, reason), count in sorted(left_out.items())]
    return "\n".join(lines if left_out else [*lines, "not on RTL: nothing"])


def _play(simulator: str, console: Console, used: Counter[str], unit: str, content: Any) -> dict[str, Any]:
    built = build(unit, getattr(UNITS, unit), simulator)
    left = play(console, built, BENCHES.get(unit, stages.WORDS_BENCH), "nki", content)
    used[unit] += int(left["cycles"])
    return left
