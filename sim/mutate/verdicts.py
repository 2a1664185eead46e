"""What became of mutants, kept as soon as it is known."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from bitpath.golden.fast.backend import threads
from bitpath.sim import journal, paths

KILLED, EQUIVALENT, SURVIVED = "killed", "equivalent", "survived"

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done and all there is."""


class Faulty(Protocol):
    """A mutant, of whatever kind.

    Attributes
    ----------
    source : its line, "rtl/common/align.py:85".
    mode, port : what the fault is, and where in the line's cell.
    shown : for people.
    """

    source: str
    mode: str
    port: str
    shown: str


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant.

    Attributes
    ----------
    verdict : killed, equivalent or survived.
    how : by what: the test, the replayed output, the proof.
    """

    verdict: str
    how: str


@dataclass(frozen=True)
class Judged:
    """A target's mutants and what became of each.

    Attributes
    ----------
    target : of what file.
    unit, config : whose tests judged, and its configuration as plain JSON.
    digest : of all that the verdicts depend on.
    possible : how many mutants there were to draw from.
    mutants, verdicts : those drawn, in order.
    confirmed : kills of the replay that the bench found too; None where there was no replay.
    seed, seconds : of the draw; what was spent, over all runs.
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
        """The mutants with that verdict."""
        return [mutant for mutant, own in zip(self.mutants, self.verdicts, strict=True) if own.verdict == verdict]


def journal_file() -> Path:
    """Every verdict by its key: what a run that was interrupted goes on from."""
    return paths.reports() / "mutation.jsonl"


class Ledger:
    """What the journal knows of one key, the digest of everything that decides a verdict.

    Parameters
    ----------
    key : the digest.
    count : how many mutants there are; they are numbered from 1.
    """

    def __init__(self, key: str, count: int):
        self.key, self.count = key, count
        own = [each for each in journal.read(journal_file()) if each["key"] == key]
        self.entries = {each["mutant"]: each for each in own if each["mutant"]}
        self.seconds = sum(each["seconds"] for each in own if not each["mutant"])

    @property
    def missing(self) -> list[int]:
        """Mutants without a verdict."""
        return [number for number in range(1, self.count + 1) if number not in self.entries]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """All of them, in order; KeyError where one is missing."""
        entries = (self.entries[number] for number in range(1, self.count + 1))
        return tuple(Verdict(each["verdict"], each["how"]) for each in entries)

    def keep(self, number: int, verdict: str, how: str, **more: Any) -> None:
        """At once: what is lost by an interruption is what is being worked out."""
        self.entries[number] = {"key": self.key, "mutant": number, "verdict": verdict, "how": how, **more}
        journal.append(journal_file(), self.entries[number])

    def spend(self, seconds: float) -> None:
        """Add to the time spent."""
        self.seconds += seconds
        journal.append(journal_file(), {"key": self.key, "mutant": 0, "seconds": seconds})


def side_by_side(
    what: str, items: Sequence[Any], call: Callable[[Any], Any], progress: Progress
) -> Iterator[tuple[Any, Any]]:
    """Each item and what the call makes of it, as each becomes known; the work is that of child processes."""
    progress(what, 0, len(items))
    pool = ThreadPoolExecutor(threads())
    try:
        futures = {pool.submit(call, item): item for item in items}
        for done, future in enumerate(as_completed(futures), 1):
            yield futures[future], future.result()
            progress(what, done, len(items))
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder for a while."""
    base = paths.build_root() / "mutate"
    base.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=base, prefix="run-") as name:
        yield Path(name)
