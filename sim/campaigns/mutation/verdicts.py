"""Verdicts on mutants, written to a journal at once."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from bitpath.golden.arrays.parallel import threads
from bitpath.sim.engine import journal, paths
from bitpath.sim.engine.errors import SimulationError

STALE_SECONDS = 86_400
KILLED, EQUIVALENT, SURVIVED, BROKEN = "killed", "equivalent", "survived", "broken"
"""Verdicts on a mutant; a broken one cannot be run and counts as a survivor."""
GOLDEN, COMPARISON = "golden", "comparison"
"""Units of the mutants in Python, whose tests no bench confirms: of golden, and of what compares and reports results."""
TIMED_OUT = "out of time"
"""First words of ``how`` if a faster or less busy machine might give another verdict."""

Progress = Callable[[str, int, int], None]
"""Called with the name of the step, the number done and the total."""


class Faulty(Protocol):
    """A mutant of RTL or Python.

    Attributes
    ----------
    source : its line, "rtl/common/arithmetic/align.py:85".
    mode, port, bit : kind of fault, and its port and bit in the line's cell; Python has no bit.
    shown : text for reports.
    """

    @property
    def source(self) -> str: ...

    @property
    def mode(self) -> str: ...

    @property
    def port(self) -> str: ...

    @property
    def bit(self) -> int | None: ...

    @property
    def shown(self) -> str: ...


@dataclass(frozen=True)
class Verdict:
    """Verdict on one mutant, and the test, replayed output or proof that decided."""

    verdict: str
    how: str


@dataclass(frozen=True)
class Judged:
    """A target's mutants and their verdicts.

    Attributes
    ----------
    unit, config : unit that judged, and its configuration as plain JSON.
    digest : digest of everything that the verdicts depend on.
    possible : number of mutants to draw from.
    mutants, verdicts : drawn mutants and their verdicts, in order.
    confirmed : kills by replay that the bench confirmed; None without replay.
    seed, seconds : seed of the draw, and time spent in all runs.
    """

    target: str
    unit: str
    config: Any
    digest: str
    possible: int
    mutants: tuple[Faulty, ...]
    verdicts: tuple[Verdict, ...]
    confirmed: int | None
    seed: int
    seconds: float

    def those(self, verdict: str) -> list[Faulty]:
        return [mutant for mutant, own in zip(self.mutants, self.verdicts, strict=True) if own.verdict == verdict]


def journal_file() -> Path:
    """Return every verdict by its key. An interrupted run resumes from them."""
    return paths.reports() / "mutation.jsonl"


class Ledger:
    """Verdicts in the journal under one key, the digest of everything that decides a verdict.

    Parameters
    ----------
    target : component or file of the mutants.
    key : the digest.
    count : number of mutants; they are numbered from 1.
    now : returns the present digest: sources may change while mutants are judged.
    again : judge mutants again that survived or were broken because time ran out.

    Attributes
    ----------
    entries : the verdicts.
    steps : other known results: the replay's findings, and that the bench passes.
    seconds : time spent.
    """

    def __init__(self, target: str, key: str, count: int, now: Callable[[], str], *, again: bool = False):
        self.target, self.key, self.count, self._now = target, key, count, now
        self.entries: dict[int, dict[str, Any]] = {}
        self.steps: dict[int, dict[str, Any]] = {number: {} for number in range(1, count + 1)}
        self.seconds = 0.0
        for each in journal.read(journal_file()):
            if each.get("key") != key:
                continue
            if not each["mutant"]:
                self.seconds += each["seconds"]
            elif "verdict" in each:
                self.entries[each["mutant"]] = each
            else:
                self.steps[each["mutant"]] |= each["step"]
        for number, each in list(self.entries.items()):
            if not again or not (each["verdict"] == BROKEN or TIMED_OUT in each["how"]):
                continue
            del self.entries[number]
            if TIMED_OUT in str(self.steps[number].get("replay")):
                del self.steps[number]["replay"]

    @property
    def missing(self) -> list[int]:
        """Return the mutants without a verdict."""
        return [number for number in range(1, self.count + 1) if number not in self.entries]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All verdicts in order; raises KeyError if one is missing."""
        entries = (self.entries[number] for number in range(1, self.count + 1))
        return tuple(Verdict(each["verdict"], each["how"]) for each in entries)

    def keep(self, number: int, verdict: str, how: str, **more: Any) -> None:
        """Written at once, so that an interruption loses only the verdicts in progress."""
        self._append(number, verdict=verdict, how=how, **more)
        self.entries[number] = {"verdict": verdict, "how": how, **more}

    def note(self, number: int, **step: Any) -> None:
        """Something on the way to a verdict, at once too."""
        self._append(number, step=step)
        self.steps[number] |= step

    def spend(self, seconds: float) -> None:
        """Add to the time spent, in the journal too."""
        self.seconds += seconds
        self._write(0, seconds=seconds)

    def _append(self, number: int, **entry: Any) -> None:
        if self._now() != self.key:
            raise SimulationError("sources or settings changed while mutants were judged; run it again")
        self._write(number, **entry)

    def _write(self, number: int, **entry: Any) -> None:
        journal.append(journal_file(), {"target": self.target, "key": self.key, "mutant": number, **entry})


def judged(
    start: float,
    key: Callable[[], str],
    mutants: Sequence[Faulty],
    work: Callable[[Ledger], None],
    *,
    again: bool,
    **about: Any,
) -> Judged:
    """Return the verdicts on mutants: those of earlier runs from the journal, those that are missing by ``work``.

    Parameters
    ----------
    start : when this run began, in monotonic seconds.
    key, again : as `Ledger` takes them.
    about : other fields of the result.
    """
    ledger = Ledger(about["target"], key(), len(mutants), key, again=again)
    if ledger.missing:
        try:
            work(ledger)
        finally:
            ledger.spend(time.monotonic() - start)
    own: dict[str, Any] = {"digest": ledger.key[:8], "verdicts": ledger.verdicts, "seconds": round(ledger.seconds, 1)}
    confirmed = (
        sum("confirmed" in each for each in ledger.entries.values())
        if about["unit"] not in (GOLDEN, COMPARISON)
        else None
    )
    return Judged(mutants=tuple(mutants), confirmed=confirmed, **own, **about)


def side_by_side(
    what: str, items: Sequence[Any], call: Callable[[Any], Any], progress: Progress
) -> Iterator[tuple[Any, Any]]:
    """Yield each item and the call's result as soon as it is known; child processes do the work.

    What has been worked out is handed on before the first failure is raised.
    """
    progress(what, 0, len(items))
    with ThreadPoolExecutor(threads()) as pool:
        futures = {pool.submit(call, item): item for item in items}
        failed = None
        for done, future in enumerate(as_completed(futures), 1):
            if future.cancelled():
                continue
            if (error := future.exception()) is not None:
                failed = failed or error
                # Let the running calls end, and start no others.
                pool.shutdown(wait=False, cancel_futures=True)
                continue
            yield futures[future], future.result()
            progress(what, done, len(items))
        if failed is not None:
            raise failed


@contextmanager
def scratch() -> Iterator[Path]:
    """Provide an empty folder for the duration of a block."""
    base = paths.build_root() / "mutate"
    base.mkdir(parents=True, exist_ok=True)
    # Remove the files of killed runs; no call takes a day.
    for left in base.glob("run-*"):
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < time.time() - STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with TemporaryDirectory(dir=base, prefix="run-") as name:
        yield Path(name)
