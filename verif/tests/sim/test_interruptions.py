"""Whatever ends a command, all that it started ends too, and what was half made is not taken for whole."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitpath.sim import cache, process

COMMAND = """
import click, os, signal
from pathlib import Path
from bitpath.sim import __main__, process

# A command that a shell has put into the background ignores it, and so do these tests when they run there.
signal.signal(signal.SIGINT, signal.default_int_handler)

@click.command()
def cli():
    process.run_logged(["sh", "-c", "sleep 300 & echo $! $$; wait"], env=os.environ, log=Path("log"), timeout=300)

__main__.cli = cli
__main__.main()
"""
"""The bitpath command with a child of its own, and a child's child, for the simulator."""


def pids(log):
    """Those that the child has written to its log."""
    deadline = time.monotonic() + 60
    while not (log.is_file() and log.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [int(word) for word in log.read_text().split()]


def running(pid):
    status = Path(f"/proc/{pid}/stat")
    try:
        # What has ended and nobody has waited for is a zombie.
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def assert_ended(children):
    deadline = time.monotonic() + 30
    while any(map(running, children)):
        assert time.monotonic() < deadline, f"{children} run on"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("end", "status", "says"),
    [
        (signal.SIGINT, 130, "bitpath: interrupted\n"),
        (signal.SIGTERM, 130, "bitpath: interrupted\n"),
        (signal.SIGHUP, 130, "bitpath: interrupted\n"),
        # Nobody can catch this one: the children notice by themselves.
        (signal.SIGKILL, -signal.SIGKILL, ""),
    ],
    ids=["int", "term", "hup", "kill"],
)
def test_children_end_with_the_command(tmp_path, end, status, says):
    with subprocess.Popen([sys.executable, "-c", COMMAND], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as parent:
        try:
            children = pids(tmp_path / "log")
            assert all(map(running, children))
            parent.send_signal(end)
            _, errors = parent.communicate(timeout=60)
        finally:
            parent.kill()
    assert (parent.returncode, errors.strip("\n")) == (status, says.strip("\n"))
    assert_ended(children)


def test_a_time_limit_ends_the_whole_group(tmp_path):
    log = tmp_path / "log"
    with pytest.raises(TimeoutError, match=r"no end after 0\.5 s"):
        process.run_logged(["sh", "-c", "sleep 300 & echo $! $$; wait"], env=os.environ, log=log, timeout=0.5)
    assert_ended(pids(log))


def test_what_outlives_its_parent_ends_too(tmp_path):
    log = tmp_path / "log"
    assert process.run_logged(["sh", "-c", "sleep 300 & echo $!"], env=os.environ, log=log, timeout=60) == 0
    assert_ended(pids(log))


@pytest.mark.parametrize(("script", "status"), [("exit 3", 3), ("kill -9 $$", -signal.SIGKILL), ("true", 0)])
def test_the_status_is_the_command_s_own(tmp_path, script, status):
    assert process.run_logged(["sh", "-c", script], env=os.environ, log=tmp_path / "log", timeout=60) == status


def test_an_interrupted_removal_leaves_nothing_that_is_taken(tmp_path, monkeypatch):
    """With another key the folder is emptied; the old key comes back after an interruption in the middle of that."""
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
