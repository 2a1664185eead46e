"""Progress: bars on a terminal, lines elsewhere. One bar follows calls, another the share of finished work in a file."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

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
