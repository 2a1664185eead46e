"""Verdicts on mutants: their journal, the reasons of survivors, and their records and table."""

import shutil
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from rich.console import Console
from rich.table import Column, Table

import bitpath.golden
import bitpath.rtl
import bitpath.sim
import bitpath.verif
from bitpath.golden.arrays.parallel import threads
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.options import MACHINES, SimulationError

# Verdicts on mutants, written to a journal at once.


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
        for each in cache.read(journal_file()):
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
        cache.append(journal_file(), {"target": self.target, "key": self.key, "mutant": number, **entry})


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


# Reasons for surviving mutants without an equivalence proof: survivors.toml of each machine below ``verif``.


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
        fields = FIELDS | (PLACE if str(entry.get("target")).startswith("rtl/") else {})
        if {name: type(value) for name, value in entry.items()} != fields or not entry["reason"].strip():
            raise ValueError(f"{path}: a survivor has the fields {', '.join(fields)}, not {', '.join(entry)}")
    own: list[dict[str, Any]] = [
        {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items() if name != "target"}
        for entry in entries
        if entry["target"] == target
    ]
    return [Reason(**each) for each in own]


def reasons_file(target: str) -> Path:
    """Return the file with the reasons of a target below ``verif``: of its machine, of what machines share, or of ``tests``."""
    top, *folders, _ = target.split("/")
    machine = folders[0] if folders and folders[0] in MACHINES else "common"
    return Path(bitpath.verif.__file__).parent / (machine if top in ("rtl", "golden") else "tests") / "survivors.toml"


# Records of the mutants' verdicts, their table, and the list of survivors.


NEEDED_PERCENT = 95.0
"""Percentage of a component's mutants, those proved equivalent excluded, that must be killed. Equivalence is not proved for
mutants of Python, so only the rule that every survivor needs a reason applies to them."""
VERDICTS = (KILLED, EQUIVALENT, SURVIVED, BROKEN)
COLUMNS = ("unit", "target", "mutants", "possible", *VERDICTS, "score %", "confirmed", "seconds")


def record_of(judged: Judged) -> dict[str, Any]:
    """Return the record of mutation.json; ``survivors`` lists surviving and broken mutants with their reason or None."""
    reasons = read_reasons(judged.target)
    survivors = [
        {
            "mutant": mutant.shown,
            "reason": next((reason.reason for reason in reasons if reason.holds(mutant)), None),
        }
        for mutant in (*judged.those(SURVIVED), *judged.those(BROKEN))
    ]
    # On a slower machine a proof may run out of time; its mutant then needs a reason.
    living = [*judged.those(SURVIVED), *judged.those(BROKEN), *judged.those(EQUIVALENT)]
    idle = [f"{reason.line}: {reason.reason}" for reason in reasons if not any(map(reason.holds, living))]
    late = sum(each.verdict == KILLED and each.how.startswith(TIMED_OUT) for each in judged.verdicts)
    return {
        "unit": judged.unit,
        "mutants": len(judged.mutants),
        **{verdict: len(judged.those(verdict)) for verdict in VERDICTS},
        "target": judged.target,
        "config": judged.config,
        "digest": judged.digest,
        "possible": judged.possible,
        "confirmed": judged.confirmed,
        "seed": judged.seed,
        "seconds": judged.seconds,
        "killed_by_time": late,
        "survivors": survivors,
        "idle_reasons": idle,
    }


def score(record: dict[str, Any]) -> float:
    """Return the percentage of killed mutants among those not proved equivalent, or 100 without such mutants."""
    real = record["mutants"] - record[EQUIVALENT]
    return 100 * record[KILLED] / real if real else 100.0


def complaints(records: Sequence[dict[str, Any]]) -> list[str]:
    """Return the failures: no mutant, too low a score, a survivor without a reason, a reason whose mutants all die."""
    found = []
    for record in records:
        if not record["mutants"]:
            found.append(f"{record['target']}: there is nothing in its cells to be faulty")
        found += [f"{record['target']}: a reason of nothing that lives: {each}" for each in record["idle_reasons"]]
        if (percent := score(record)) < NEEDED_PERCENT and record["target"].startswith("rtl/"):
            found.append(f"{record['target']}: {percent:.1f} % die, at least {NEEDED_PERCENT:g} % must")
        if without := sum(each["reason"] is None for each in record["survivors"]):
            found.append(f"{record['target']}: {without} survivors have no reason")
    return found


def show_mutation(console: Console, records: Sequence[dict[str, Any]]) -> None:
    """One row for each target, and below the table each survivor."""
    table = Table(*COLUMNS[:2], *(Column(name, justify="right") for name in COLUMNS[2:]))
    for record in records:
        named = {**record, "score %": f"{score(record):.1f}"}
        table.add_row(*("-" if named[name] is None else str(named[name]) for name in COLUMNS))
    console.print(table)
    for record in records:
        for each in record["survivors"]:
            console.print(f"{each['mutant']}: {each['reason'] or 'no reason'}", soft_wrap=True, highlight=False)
