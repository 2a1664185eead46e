"""Progress bars: one follows calls, the other the share of finished work in a file."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

POLL_SECONDS = 0.2


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
def shown_progress(console: Console, title: str, share: Path) -> Iterator[None]:
    """Show a bar that follows the number from 0 to 1 in the file ``share``, which another process replaces."""
    with _bar(console) as progress:
        task = progress.add_task(title, total=1.0)
        done = threading.Event()

        def follow() -> None:
            while not done.wait(POLL_SECONDS):
                if share.exists():
                    progress.update(task, completed=json.loads(share.read_text()))

        follower = threading.Thread(target=follow)
        follower.start()
        try:
            yield
        finally:
            done.set()
            follower.join()
