"""However a command ends, its child processes end too, and partial results are not used."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitpath.sim.engine import cache, process
from bitpath.verif.kit.testplan import covers

COMMAND = """
import click, os, signal
from functools import partial
from pathlib import Path
from bitpath.sim import __main__
from bitpath.sim.engine import process
from bitpath.sim.engine.cluster import Piece, finished

# A shell starts background commands with SIGINT ignored; restore it in case the tests run in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)

@click.command()
def cli():
    {body}

CALL = {{"command": ["sh", "-c", "sleep 300 & echo $! $$ $PPID; wait"], "env": dict(os.environ), "timeout": 300}}
__main__.cli = cli
__main__.main()
"""
BODIES = {
    "child": 'process.run_logged(**CALL, log=Path("log 0"))',
    "workers": """for each in finished(
        [Piece(k, "work", partial(process.run_logged, **CALL, log=Path(f"log {k}")), ()) for k in range(4)]
    ):
        each.result()""",
}
"""The bitpath command with a child of its own, and a child's child, for the simulator; or workers with one each, and more to
do."""


def pids(log):
    """Return the process ids that the child has logged."""
    deadline = time.monotonic() + 60
    while not (log.is_file() and log.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [int(word) for word in log.read_text().split()]


def running(pid):
    status = Path(f"/proc/{pid}/stat")
    try:
        # An ended process that nobody has waited for is a zombie.
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_ended(children):
    deadline = time.monotonic() + 30
    while any(map(running, children)):
        assert time.monotonic() < deadline, f"{children} run on"
        time.sleep(0.05)


def ended(tmp_path, body, logs, end, **options):
    """Run a command, end it once its children have written these logs; return it, its errors and the children."""
    script = COMMAND.format(body=BODIES[body])
    options |= {"cwd": tmp_path, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **options) as parent:
        try:
            children = [pid for log in logs for pid in pids(log) if pid != parent.pid]
            assert all(map(running, children))
            end(parent.pid)
            _, errors = parent.communicate(timeout=60)
        finally:
            parent.kill()
    return parent.returncode, errors.strip("\n"), children


@covers("robustness.interruption", "An orphaned simulator occupies a core for hours")
@pytest.mark.parametrize(
    ("end", "status", "says"),
    [
        (signal.SIGINT, 130, "bitpath: interrupted"),
        (signal.SIGTERM, 130, "bitpath: interrupted"),
        (signal.SIGHUP, 130, "bitpath: interrupted"),
        # SIGKILL cannot be caught: the children detect it themselves.
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
    ids=["int", "term", "hup", "kill"],
)
@pytest.mark.parametrize("body", ["child", pytest.param("workers", marks=pytest.mark.deep)])
def test_children_end_with_the_command(tmp_path, end, status, says, body):
    """Ctrl-C, SIGTERM, a closed terminal, SIGKILL: no child process survives, and no partial result is used."""
    logs = [tmp_path / f"log {k}" for k in range(1 if body == "child" else 2)]
    got, errors, children = ended(tmp_path, body, logs, lambda parent: os.kill(parent, end))
    assert got == status
    # If the parent of workers is killed, Python reports and removes leaked semaphores.
    assert errors == says or (end == signal.SIGKILL and "leaked semaphore" in errors)
    assert_ended(children)
    # Queued tasks were not started.
    assert len(list(tmp_path.glob("log *"))) == len(logs)


def test_ctrl_c_at_a_terminal_is_the_parent_s(tmp_path):
    """The signal also reaches the workers, busy or starting, and they print nothing."""
    logs = [tmp_path / "log 0"]
    *said, children = ended(
        tmp_path, "workers", logs, lambda parent: os.killpg(parent, signal.SIGINT), start_new_session=True
    )
    assert said == [130, "bitpath: interrupted"]
    assert_ended(children)


@covers("robustness.interruption")
def test_a_time_limit_ends_the_whole_group(tmp_path):
    log = tmp_path / "log"
    with pytest.raises(TimeoutError, match=r"no end after 0\.5 s"):
        process.run_logged(["sh", "-c", "sleep 300 & echo $! $$; wait"], env=os.environ, log=log, timeout=0.5)
    assert_ended(pids(log))


@covers("robustness.interruption")
def test_orphans_end_too(tmp_path):
    log = tmp_path / "log"
    assert process.run_logged(["sh", "-c", "sleep 300 & echo $!"], env=os.environ, log=log, timeout=60) == 0
    assert_ended(pids(log))


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("kill -9 $$", -signal.SIGKILL), ("true", 0)])
def test_the_status_is_the_command_s_own(tmp_path, script, status):
    assert process.run_logged(["sh", "-c", script], env=os.environ, log=tmp_path / "log", timeout=60) == status


@covers("robustness.interruption")
def test_an_interrupted_removal_leaves_no_usable_build(tmp_path, monkeypatch):
    """A new key clears the folder; after an interruption during that, the old key is used again."""
    folder = tmp_path / "made"

    def make(_):
        for name in "abc":
            (folder / name).write_text(name)
        return {}

    def half(path, **_):
        (path / "b").unlink()
        raise KeyboardInterrupt

    cache.ensure(folder, {"key": 1}, make)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", half)
        with pytest.raises(KeyboardInterrupt):
            cache.ensure(folder, {"key": 2}, make)
    assert not (folder / cache.STAMP).exists()
    cache.ensure(folder, {"key": 1}, make)
    assert (folder / "b").read_text() == "b"
