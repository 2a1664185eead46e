"""Damaged files, and commands that end early: one sentence, and no partial result is used."""

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitpath.golden.formats.records import from_dict, to_dict
from bitpath.rtl.units import UNITS
from bitpath.sim.engine import cache, process
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.flows import operands
from bitpath.verif.kit.testplan import covers

WRONG = (None, True, -1, 3.5, 10**30, "x", "", [], [None], {}, {"a": 1}, float("nan"))
CONFIGS = {unit.config_type: unit.name for unit in UNITS.values()}


def places(value, path=()):
    """Yield the path of every value inside a JSON value."""
    yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from places(inner, (*path, key))


def with_another(value, path, new):
    if not path:
        return new
    whole = inner = copy.deepcopy(value)
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    return whole


@covers("robustness.configurations", "A misread configuration builds the wrong unit, and tests pass on it")
@pytest.mark.parametrize("config_type", CONFIGS, ids=CONFIGS.values())
def test_a_configuration_is_refused_by_a_sentence_or_is_one(config_type):
    """Every value of every unit's configuration replaced by wrong ones; files that are not JSON or have duplicate
    fields."""
    value = to_dict(config_type())
    refused = 0
    for path in places(value):
        for wrong in WRONG:
            given = with_another(value, path, wrong)
            accepted, sentence = None, ""
            try:
                accepted = from_dict(config_type, given)
            except ValueError as error:
                sentence = str(error)
            if accepted is None:
                refused += 1
                assert len(sentence) > 15
                assert "\n" not in sentence
            else:
                # The value keeps its type; an equal value of another type is not accepted.
                assert json.dumps(to_dict(accepted)) == json.dumps(given)
    assert refused >= len(WRONG) - 2


@covers("robustness.configurations")
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not JSON: Expecting value"),
        (b'{"pipeline": ', "is not JSON: Expecting value"),
        (b"\xff\xfe\x00garbage", "is not JSON: "),
        (b"[" * 100_000, "must not be nested more than 64 deep"),
        (b"9" * 5000, "is not JSON: Exceeds the limit"),
        (b'{"numerics": 1, "numerics": 2}', "must have each key of an object once, not numerics twice"),
        (b"[]", "[] is not an object with the fields of ConversionConfig"),
        (b'{"nosuch": 1}', "ConversionConfig has missing or unknown fields: nosuch, numerics, rows"),
    ],
    ids=["empty", "cut", "binary", "deep", "long", "twice", "list", "unknown"],
)
def test_an_invalid_configuration_file_is_refused(bitpath, tmp_path, content, says):
    (tmp_path / "config.json").write_bytes(content)
    status, out, err = bitpath("emit", "unpacker", "--config", "config.json", "--out", "verilog")
    assert (status, out) == (2, "")
    assert err.startswith("bitpath: --config: config.json")
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "verilog").exists()


@covers("robustness.files")
@pytest.mark.parametrize("size", [0, 1000, -100])
def test_the_layer_s_file_is_damaged(bitpath, tmp_path, monkeypatch, size):
    layer = tmp_path / "layer.npz"
    layer.write_bytes(operands.LAYER.read_bytes())
    os.truncate(layer, size if size >= 0 else layer.stat().st_size + size)
    monkeypatch.setattr(operands, "LAYER", layer)
    status, out, err = bitpath("run", "--machine", "trainium3", "--format", "mxfp4")
    assert (status, out) == (2, "")
    assert err == f"bitpath: {layer} is damaged; install bitpath again, or check the file out again\n"


# The runner reads these files in place of a simulator's.

PASSED = '<testsuites><testsuite tests="2"><testcase name="a"/><testcase name="b"/></testsuite></testsuites>'
RECORDS = "".join(json.dumps({"compared": n, "mismatches": 0, "coverage": {}}) + "\n" for n in (3, 4))


@pytest.fixture
def run_with(run_unpacker, monkeypatch):
    def run(*, results=PASSED, records=RECORDS, status=0):
        def run_logged(command, *, env, log, timeout):
            folder = log.parent
            log.write_text("what the simulator said\n")
            if results is not None:
                (folder / "results.xml").write_text(results)
            (folder / "records.jsonl").write_text(records)
            return status

        monkeypatch.setattr(process, "run_logged", run_logged)
        return run_unpacker(min_tests=2)

    return run


def summary(tmp_path):
    (file,) = tmp_path.rglob("run.json")
    return json.loads(file.read_text())


def test_a_complete_run_passes(run_with, tmp_path):
    assert run_with().compared == 7
    assert summary(tmp_path)["values"] == {"a": 3, "b": 4}


@covers("robustness.simulator", "An incomplete run must not pass")
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"results": None}, "the simulator ended without results"),
        ({"results": PASSED[:-20]}, "the simulator ended without results"),
        ({"results": ""}, "the simulator ended without results"),
        ({"records": RECORDS[:-9]}, "the record of what was compared, is damaged"),
        ({"records": "\x00\x01\n"}, "the record of what was compared, is damaged"),
        ({"records": RECORDS.splitlines()[0]}, "2 tests ran and 1 recorded their comparisons"),
        ({"status": 139}, "the simulator's process ended with status 139 after tests that passed"),
        ({"status": -9}, "the simulator's process ended with status -9 after tests that passed"),
    ],
    ids=["none", "cut", "empty", "records cut", "records garbled", "records lost", "crashed", "killed"],
)
def test_an_incomplete_run_fails(run_with, tmp_path, given, says):
    """A simulator that dies, hangs, truncates its results or crashes after passing tests."""
    with pytest.raises(SimulationError, match=f"^unpacker on icarus, seed 1: .*{says}"):
        run_with(**given)
    assert summary(tmp_path)["compared"] == 0


@covers("robustness.files")
@pytest.mark.parametrize("name", ["a", "sub/b"])
@pytest.mark.parametrize(
    "damage",
    [Path.unlink, lambda file: os.truncate(file, 1), lambda file: file.write_text("CONTENT")],
    ids=["lost", "cut", "of the same size"],
)
def test_a_damaged_build_is_rebuilt(tmp_path, name, damage):
    made = []

    def make(folder):
        made.append(1)
        for each in ("a", "sub/b"):
            file = folder / each
            file.parent.mkdir(exist_ok=True)
            file.write_text("content")
        return {}

    for _ in range(2):
        cache.ensure(tmp_path / "made", {}, make)
    assert len(made) == 1
    damage(tmp_path / "made" / name)
    for _ in range(2):
        cache.ensure(tmp_path / "made", {}, make)
    assert len(made) == 2


STAMPS = (b"", b"{", b"[]", b"3", b"\xff\xfe", b'{"made": {}}', b'{"key": {}, "made": {}, "files": 3}', b"null")


@covers("robustness.files")
@pytest.mark.parametrize("stamp", STAMPS)
def test_a_garbled_stamp_is_no_stamp(tmp_path, stamp):
    cache.ensure(tmp_path / "made", {}, lambda folder: {"n": 1})
    (tmp_path / "made" / cache.STAMP).write_bytes(stamp)
    assert cache.ensure(tmp_path / "made", {}, lambda folder: {"n": 2}) == {"n": 2}


@covers("robustness.files")
@covers("robustness.interruption")
@pytest.mark.parametrize("garbage", [b"\xff\xfe\x00", b"[1, 2]", b"3", b'{"value": 2, "a lo', b"null"])
def test_a_garbled_line_loses_only_itself(tmp_path, garbage):
    path = tmp_path / "new" / "file.jsonl"
    assert cache.read(path) == []
    cache.append(path, {"value": 1})
    with path.open("ab") as file:
        file.write(garbage)
    assert cache.read(path) == [{"value": 1}]
    cache.append(path, {"value": [3]})
    assert cache.read(path) == [{"value": 1}, {"value": [3]}]


TWO_AT_ONCE = """
import sys
from pathlib import Path
from bitpath.sim.engine import cache
from bitpath.sim.engine.results import write_records
for index in range(100):
    cache.append(Path("journal.jsonl"), {"who": sys.argv[1], "index": index, "long": "x" * 20_000})
    write_records(Path("report.json"), [{"who": sys.argv[1], "long": "x" * 20_000 * int(sys.argv[1])}])
"""


@covers("robustness.two", "Test workers and a user's command share build/")
def test_two_runs_at_once_lose_nothing(tmp_path):
    """Two concurrent runs: one build of each key, all lines of a journal, a report that is always complete."""
    writers = [subprocess.Popen([sys.executable, "-c", TWO_AT_ONCE, who], cwd=tmp_path) for who in ("1", "2")]
    report = tmp_path / "report.json"
    seen = 0
    while any(writer.poll() is None for writer in writers):
        if report.exists():
            ((record),) = json.loads(report.read_text())
            assert len(record["long"]) == 20_000 * int(record["who"])
            seen += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen
    records = cache.read(tmp_path / "journal.jsonl")
    for who in ("1", "2"):
        assert [record["index"] for record in records if record["who"] == who] == list(range(100))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["journal.jsonl", "report.json"]


# However a command ends, its child processes end too, and partial results are not used.


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
