"""A child process with a time limit that really ends it and everything it started, and that outlives nobody."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_GUARDED = 'exec 3<&0 </dev/null; (read -r _ <&3; kill -s KILL 0) & exec "$@" 3<&-'
"""For the shell, which becomes the command: beside it one waits for the end of a pipe that nobody writes to. It comes when
whoever asked for the command has died, however he did; then the whole group goes."""

_running: set[int] = set()
"""Process groups that :func:`logged` waits for, of all threads."""


@contextlib.contextmanager
def logged(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, folder: Path | None = None
) -> Iterator[subprocess.Popen]:
    """A process that runs meanwhile, in ``folder`` if one is named, with its output in ``log``.

    At the end of the block, whatever ends it, the process and all its descendants are killed.
    """
    alive, held = os.pipe()
    with log.open("w") as output, os.fdopen(alive), os.fdopen(held, "w"):
        # A session of its own, so that the whole group can be signalled: the simulator is a grandchild.
        process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARDED, "sh", *command],
            env=dict(env),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=alive,
            cwd=folder,
            start_new_session=True,
        )
        _running.add(process.pid)
        try:
            yield process
        finally:
            # Also after Ctrl-C, and where a child outlived its parent.
            _kill(process.pid)
            process.wait()
            _running.discard(process.pid)


def end_running() -> None:
    """End what other threads wait for: Ctrl-C is the main one's alone."""
    for group in tuple(_running):
        _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def run_logged(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, timeout: float, folder: Path | None = None
) -> int:
    """Run to the end as :func:`logged` does, and return the exit status.

    Raises
    ------
    TimeoutError : the limit passed; the process and all its descendants have been killed.
    """
    with logged(command, env=env, log=log, folder=folder) as process:
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"no end after {timeout:g} s") from None


def tail(log: Path, lines: int = 25) -> str:
    """The end of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
