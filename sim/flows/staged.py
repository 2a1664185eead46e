"""Runs of several steps on RTL units, one after the other, each result compared with golden's."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from bitpath.golden.arrays.codec import format_of
from bitpath.sim.flows.builds import Builds, Part
from bitpath.sim.flows.outcome import FlowRun, Outcome, codes, compared, differences, play
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word

WORDS_BENCH = "bitpath.verif.kit.tb_words_run"


@dataclass(frozen=True, kw_only=True, eq=False)
class Stage:
    """Results of an instruction in RTL and in golden, arrays of the same shapes and dtypes, and the cycles of both.

    ``golden_cycles`` are None for what golden's rules count elsewhere. ``is_output`` marks the run's output, which counts there.
    """

    name: str
    unit: str
    rtl: Sequence[np.ndarray]
    golden: Sequence[np.ndarray]
    rtl_cycles: int
    golden_cycles: int | None
    is_output: bool

    @property
    def compared(self) -> int:
        """Number of elements of its results."""
        return sum(each.size for each in self.golden)

    @property
    def mismatches(self) -> int:
        """Number of elements that differ."""
        return sum(differences(*pair) for pair in zip(self.rtl, self.golden, strict=True))


def kind_of(name: str) -> str:
    """Return an instruction's name without its number."""
    return name.rstrip("0123456789 ")


class StagedRun(FlowRun):
    """A chain of instructions, each on its unit; a flow has a subclass.

    Attributes
    ----------
    units : names of the units that it plays.
    benches : benches of the units, by their names; others are played by `tb_words_run`.
    stages : its instructions so far, in the order of their results.
    title : text of the progress bar, before the unit's name.
    """

    before = "in stages"
    units: ClassVar[Sequence[str]]
    benches: ClassVar[Mapping[str, str]]

    def __init__(self, format_name: str, engine: Any, simulator: str):
        self.format_name, self.engine, self.simulator = format_name, engine, simulator
        self.title = format_name
        self.stages: list[Stage] = []
        self._played: dict[str, int] = {}
        self._digests: dict[str, str] = {}
        self._waited = self._build_seconds = 0.0

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(self.part(each.name) for each in fields(self.engine) if each.name in self.units)

    def part(self, name: str) -> Part:
        """Return the unit of a name, and its configuration."""
        return name, getattr(self.engine, name)

    def settings(self) -> dict[str, Any]:
        """Whatever the result depends on besides the units, as plain JSON values."""
        return {}

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Return the flow's result of RTL and of golden, and its own figures; `play` simulates a unit on an input."""
        raise NotImplementedError

    def stage(
        self,
        name: str,
        rtl: Sequence[np.ndarray],
        golden: Sequence[np.ndarray],
        golden_cycles: int | None,
        *,
        unit: str = "",
        is_output: bool = False,
    ) -> None:
        """Keep an instruction's results; its units are those played since the one before, or the one named."""
        units, cycles = unit or " + ".join(self._played), sum(self._played.values())
        self._played.clear()
        self.stages.append(
            Stage(
                name=name,
                unit=units,
                rtl=rtl,
                golden=golden,
                rtl_cycles=cycles,
                golden_cycles=golden_cycles,
                is_output=is_output,
            )
        )

    def compare(self, console: Console, builds: Builds) -> Outcome:
        """Run each instruction in golden and in RTL, and return both results.

        Raises SimulationError if a build or a simulation failed, or a unit did nothing.
        """
        start = time.monotonic()
        rtl, golden, figures = self.compute(partial(self._play, console, builds))
        built = builds.of(self, self.parts[-1])
        inner = [each for each in self.stages if not each.is_output]
        pair = (all_bytes([each.rtl for each in inner]), all_bytes([each.golden for each in inner]))
        self._dtype = golden.dtype
        outcome = compared(self, built, rtl, golden, start, rtl.shape, None, times=None, **figures)
        record = outcome.record
        record.update(
            stages=self._table(),
            staged_compared=sum(each.compared for each in inner),
            mismatches=record["mismatches"] + sum(each.mismatches for each in inner),
            digests=self._digests,
            wall_seconds=round(record["wall_seconds"] - self._waited, 2),
            build_seconds=round(self._build_seconds, 2),
        )
        return replace(outcome, before=pair)

    def shown(self, *place: int) -> Shown:
        return Shown(operands={"place": f"row {place[0]}, column {place[1]}"}, formats={"": format_of(self._dtype)})

    def shown_before(self, *place: int) -> Shown:
        (byte,) = place
        for each in (stage for stage in self.stages if not stage.is_output):
            for result in each.golden:
                if byte < result.nbytes:
                    where = f"{each.name}, byte {byte % result.itemsize} of element {byte // result.itemsize}"
                    return Shown(operands={"place": where, "unit": each.unit}, formats={"": Word(8)})
                byte -= result.nbytes
        raise IndexError(f"no result has byte {place[0]}")

    def _play(self, console: Console, builds: Builds, unit: str, content: Any) -> dict[str, Any]:
        start = time.monotonic()
        built = builds.of(self, self.part(unit))
        self._waited += time.monotonic() - start
        self._build_seconds += built.seconds
        self._digests[unit] = built.digest
        left = play(console, built, self.benches.get(unit, WORDS_BENCH), self.title, content)
        self._played[unit] = self._played.get(unit, 0) + int(left["cycles"])
        return left

    def _table(self) -> list[dict[str, Any]]:
        """Return a row for the instructions of each kind."""
        kinds: dict[str, list[Stage]] = {}
        for each in self.stages:
            kinds.setdefault(kind_of(each.name), []).append(each)
        return [
            {
                "instruction": kind,
                "unit": own[0].unit,
                "count": len(own),
                "compared": sum(each.compared for each in own),
                "mismatches": sum(each.mismatches for each in own),
                "golden_cycles": _sum(each.golden_cycles for each in own),
                "rtl_cycles": sum(each.rtl_cycles for each in own),
            }
            for kind, own in kinds.items()
        ]


def _sum(cycles: Iterable[int | None]) -> int | None:
    known = [each for each in cycles if each is not None]
    return sum(known) if known else None


def all_bytes(results: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Return the bytes of all results, one after the other."""
    return np.concatenate([codes(each).view(np.uint8).ravel() for arrays in results for each in arrays])
