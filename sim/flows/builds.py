"""Stages of a command with their progress, and the builds of its runs, made while earlier runs simulate."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bitpath.rtl.common.config import digest
from bitpath.sim.engine import process
from bitpath.sim.engine.runner import Built, build

# Progress: bars on a terminal, lines elsewhere. One bar follows calls, another the share of finished work in a file.


Found = TypeVar("Found")
POLL_SECONDS = 0.2
FIRST_SECONDS, NEXT_SECONDS = 3, 10
"""Seconds from the begin of a stage to its first line, and from one line to the next, where there is no terminal."""


def _bar(console: Console) -> Progress:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True)


@contextmanager
def counted_progress(console: Console, title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar that follows calls with the work done and the total, as golden's matmuls make them."""
    with _bar(console) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def counted_lines(console: Console, title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show the work done of a total, and the time that the rest will take at the same pace; each call is a piece of it."""
    start, done = time.monotonic(), 0

    def text() -> str:
        left = (time.monotonic() - start) / done * (total - done) if done else 0.0
        return f"{done} of {total}, {f'about {left:.0f} s left, ' if done else ''}"

    def step() -> None:
        nonlocal done
        done += 1
        if console.is_terminal:
            status.update(f"{title}: {text()}{time.monotonic() - start:.0f} s")

    if console.is_terminal:
        with console.status(title) as status:
            yield step
    else:
        with _lines(console, title, text):
            yield step


def counted(console: Console, what: str, found: Iterable[Found], total: int) -> Iterator[Found]:
    """Yield results, and show how many of them have come."""
    with console.status(f"0 of {total} {what}") as status:
        for done, each in enumerate(found, 1):
            yield each
            status.update(f"{done} of {total} {what}")


def stage(console: Console, title: str) -> AbstractContextManager:
    """Show that something runs whose share of finished work is unknown."""
    return console.status(title) if console.is_terminal else _lines(console, title, lambda: "")


def shown_progress(console: Console, title: str, share: Path) -> AbstractContextManager:
    """Show the number from 0 to 1 in the file ``share``, which another process replaces."""
    if console.is_terminal:
        return _shown_bar(console, title, share)
    return _lines(console, title, lambda: f"{json.loads(share.read_text()):.0%}, " if share.exists() else "")


@contextmanager
def _shown_bar(console: Console, title: str, share: Path) -> Iterator[None]:
    with _bar(console) as progress:
        task = progress.add_task(title, total=1.0)

        def update() -> None:
            if share.exists():
                progress.update(task, completed=json.loads(share.read_text()))

        with _repeated(update, repeat(POLL_SECONDS)):
            yield


@contextmanager
def _lines(console: Console, title: str, done: Callable[[], str]) -> Iterator[None]:
    """Print lines with the work done and the seconds."""
    start = time.monotonic()

    def line() -> None:
        console.print(
            f"{title}: {done()}{time.monotonic() - start:.0f} s", markup=False, highlight=False, soft_wrap=True
        )

    with _repeated(line, chain((FIRST_SECONDS,), repeat(NEXT_SECONDS))):
        yield


@contextmanager
def _repeated(call: Callable[[], None], waits: Iterable[float]) -> Iterator[None]:
    """Make a call after each of the waits, in seconds, until the block ends."""
    ended = threading.Event()

    def follow() -> None:
        for seconds in waits:
            if ended.wait(seconds):
                return
            call()

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


# Builds of a command's runs, made by a thread while earlier runs simulate.


Part = tuple[str, Any]
"""A unit that a run simulates, and its configuration."""


class Builds:
    """The simulation of each part of runs, built once and in their order from the first demand on.

    A failed build fails the run that needs it.

    Parameters
    ----------
    runs : runs with ``parts``, ``simulator`` and ``waves``.
    console : shows what a run waits for.
    """

    def __init__(self, runs: Iterable[Any], console: Console):
        self._console = console
        self._parts = {_key(run, part): (run, part) for run in runs for part in run.parts}
        self._futures: dict[tuple, Future[Built]] = {key: Future() for key in self._parts}
        self._over = False
        # A daemon, since an interrupted command does not wait for it.
        self._maker = Thread(target=self._make, daemon=True)

    def _make(self) -> None:
        for key, (run, (unit, config)) in self._parts.items():
            if self._over:
                return
            try:
                self._futures[key].set_result(build(unit, config, run.simulator, waves=run.waves))
            except Exception as error:
                self._futures[key].set_exception(error)

    def of(self, run: Any, part: Part) -> Built:
        """Wait for the build of a run's part; its first user has the seconds that it took, as later ones find it built."""
        key = _key(run, part)
        if self._maker.ident is None:
            self._maker.start()
        with stage(self._console, f"building {part[0]} for {run.simulator}, once"):
            built = self._futures[key].result()
        if built.seconds:
            self._futures[key] = Future()
            self._futures[key].set_result(replace(built, seconds=0.0))
        return built

    def end(self) -> None:
        """Build nothing more, and kill the compiler that runs."""
        self._over = True
        if self._maker.is_alive():
            process.end_running()


def _key(run: Any, part: Part) -> tuple:
    return (part[0], digest(*part), run.simulator, run.waves)


@contextmanager
def built_ahead(runs: Iterable[Any], console: Console) -> Iterator[Builds]:
    """Provide the `Builds` of runs for a block."""
    builds = Builds(runs, console)
    try:
        yield builds
    finally:
        builds.end()
