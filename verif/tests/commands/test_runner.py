"""The runner rejects runs that checked nothing; tests with a toy adder on both simulators."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bitpath.sim.engine import paths, runner
from bitpath.sim.engine.runner import Emitter, SimulationError, build, run
from bitpath.verif.kit import mismatches
from bitpath.verif.kit.handshakes import Received, Sent
from bitpath.verif.kit.recording import COMPARED, recordings
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
TOY = Path(__file__).parent / "toy"
SIMULATORS = ("icarus", "verilator")
GOOD = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory, worker_id):
    """Use one working folder for the module, so that its tests share builds across pytest workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "runner"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def build_toy(simulator, *, waves=False, width=8):
    import toy_design

    return build(
        "toy", toy_design.ToyConfig(width=width), simulator, waves=waves, emitter=Emitter(toy_design.emit, (TOY,))
    )


def run_toy(built, tests, **options):
    return run(built, "toy_bench", tests=tests, env={"PYTHONPATH": str(TOY)}, **options)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_good_design_passes(simulator):
    result = run_toy(build_toy(simulator), "good", min_tests=GOOD, min_compared=GOOD * 100)
    assert len(result.tests) == GOOD
    assert result.compared == GOOD * 100
    assert result.wave is None
    assert all(count for record in result.records for count in record["coverage"].values())
    # A stream that never pauses has no gap, although it is empty before its first payload and after its last.
    for test, record in zip(result.tests, result.records, strict=True):
        met = record["streams"]
        assert (met["i: gap"] > 0, met["o: stalled"] > 0) == ("gap=0.5" in test, "stall=never" not in test)
        assert met["o: nothing offered"] > 0 if "gap=0.5" in test else met["o: nothing offered"] == 0


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_driver_and_observer_count_the_same(simulator):
    assert run_toy(build_toy(simulator), "onlookers_agree").compared == 200


@pytest.mark.parametrize(
    ("end", "cycles", "events"),
    [
        (Sent, "vr r v v vr vr", {"gap": 1, "taken at once": 2, "taken late": 1}),
        # A withdrawn payload that is offered again counts as after a gap, not as stalled.
        (Sent, "vr v - vr v vr", {"gap": 1, "taken at once": 2, "taken late": 1}),
        (Received, "r v vr vr r v - vr", {"stalled": 2, "nothing offered": 1, "back to back": 1}),
    ],
)
def test_stream_events_are_counted(end, cycles, events):
    """Decode a pattern: ``v`` for a cycle with valid, ``r`` for one with ready."""
    handshakes = end(valid=True, ready=True)
    for cycle in cycles.split():
        handshakes.see("v" in cycle, "r" in cycle)
    assert handshakes.events == events
    assert handshakes.transferred == cycles.count("vr")
    assert list(end(valid=False, ready=False).events) == [list(events)[1 if end is Sent else 2]]


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_waves_on_request(simulator):
    result = run_toy(build_toy(simulator, waves=True), "gap=0.5/stall=bursts")
    assert result.wave.stat().st_size > 100
    assert result.wave.is_relative_to(paths.runs())


@pytest.mark.parametrize(
    ("tests", "says"),
    [
        ("bad_mismatch", "1 of 1 tests failed: bad_mismatch"),
        ("bad_undrained", "1 expected values never came"),
        ("bad_surplus", "nothing more was expected"),
        ("bad_nothing_compared", "0 values compared, at least 1 must be"),
        ("bad_no_scoreboard", "0 values were compared, at least 1 must be"),
        ("bad_unknown_payload", "o__payload is [xX]{9}"),
        ("bad_unknown_ready", "i__ready is [xX]"),
        ("bad_no_record", "1 tests ran and 0 recorded their comparisons"),
        ("bad_coverage", "1 of 1 bins not hit: never hit"),
        ("bad_dead_monitor", "a watcher ended before the test"),
        ("bad_deprecated", "DeprecationWarning"),
        ("matches nothing", "0 tests ran, at least 1 must"),
    ],
)
def test_a_bad_run_fails(tests, says):
    with pytest.raises(SimulationError, match=f"(?s){says}.*replay: make sim UNIT=toy SIM=icarus SEED=7 FILTER="):
        run_toy(build_toy("icarus"), tests, seed=7)


def recorded(tmp_path, env, **options):
    """Return the recordings of two tests, each with its metadata."""
    first = tmp_path / "traffic.npz"
    env = {"PYTHONPATH": str(TOY), "BITPATH_STIMULUS": str(first)} | env
    result = run(build_toy("verilator"), "toy_bench", tests="stall=scattered", env=env, **options)
    files = recordings(first)
    assert len(files) == len(result.tests) == 2
    for file in files:
        with np.load(file) as content:
            yield json.loads(str(content["meta"])), content


def test_inputs_and_outputs_are_recorded(tmp_path):
    """Each test has its own recording; the transferred sums are those of the transferred operands."""
    for meta, content in recorded(tmp_path, {}):
        ports = {
            **by_cycle(meta["ports"], content["changes"]),
            **by_cycle(meta["output_ports"], content["outputs"]),
        }
        looks = content["looks"].reshape(-1, 3).tolist()
        assert set(ports) == {"rst", "i__payload", "i__valid", "i__ready", "o__payload", "o__valid", "o__ready"}
        handed_over = {
            end: [
                cycle
                for cycle in range(meta["cycles"])
                if value(ports[f"{end}__valid"], cycle) and value(ports[f"{end}__ready"], cycle)
            ]
            for end in "io"
        }
        taken, given = ([value(ports[f"{end}__payload"], cycle) for cycle in handed_over[end]] for end in "io")
        assert len(given) == 100
        assert given == [(operands & 0xFF) + (operands >> 8) for operands in taken[:100]]
        # The scoreboard compares exactly the transferred values.
        assert [(cycle, meta["output_ports"][port]["name"]) for cycle, port, how in looks if how == COMPARED] == [
            (cycle, "o__payload") for cycle in handed_over["o"]
        ]


def test_a_test_ends_when_enough_of_it_is_recorded(tmp_path):
    """The test ends a number of cycles after the first payload; later comparisons do not count."""
    for meta, content in recorded(tmp_path, {"BITPATH_STIMULUS_CYCLES": "7"}, min_compared=0):
        valid = by_cycle(meta["output_ports"], content["outputs"])["o__valid"]
        reset = by_cycle(meta["ports"], content["changes"])["rst"]
        offers = [cycle for cycle in range(meta["cycles"]) if value(valid, cycle) and not value(reset, cycle)]
        assert meta["offers"] == {"o": offers[0]}
        assert meta["cycles"] == meta["offers"]["o"] + 7


def test_a_skipped_test_has_not_run(tmp_path):
    """Skipped tests are not counted as run, so they cannot count as passed."""
    file = tmp_path / "results.xml"
    cases = {"good": "", "bad": "<failure/>", "broken": "<error/>", "left_out": "<skipped/>"}
    inside = "".join(f'<testcase name="{name}">{child}</testcase>' for name, child in cases.items())
    file.write_text(f"<testsuites><testsuite>{inside}</testsuite></testsuites>")
    assert runner._names(file) == ["good", "bad", "broken"]
    assert runner._names(file, runner.FAILED) == ["bad", "broken"]
    assert runner._names(file, runner.SKIPPED) == ["left_out"]


def by_cycle(ports, words):
    """Return the changes of each port of at most 32 bits in order: cycle and value."""
    found = {port["name"]: [] for port in ports}
    for cycle, index, bits in words.reshape(-1, 3).tolist():
        found[ports[index]["name"]].append((cycle, bits))
    return found


def value(changes, cycle):
    """Return a port's value in a cycle."""
    return [bits for at, bits in changes if at <= cycle][-1]


@pytest.mark.parametrize(
    ("tests", "least", "says"),
    [
        ("good", {"min_tests": GOOD + 1}, f"{GOOD} tests ran, at least {GOOD + 1} must"),
        ("gap=0.0/stall=never", {"min_compared": 101}, "100 values were compared, at least 101 must be"),
    ],
)
def test_too_little_fails(tests, least, says):
    with pytest.raises(SimulationError, match=says):
        run_toy(build_toy("icarus"), tests, **least)


def test_a_mismatch_shows_inputs_numbers_and_distance():
    with pytest.raises(SimulationError) as caught:
        run_toy(build_toy("icarus", width=7), "bad_mismatch", seed=3)
    newest = max(paths.runs().glob("toy-*/*/first_mismatch"), key=lambda file: file.stat().st_mtime_ns)
    moment = int(newest.read_text()) / 1000
    lines = str(caught.value).splitlines()
    assert lines[:2] == [
        "toy on icarus, seed 3: 1 of 1 tests failed: bad_mismatch",
        f"first mismatch: bad_mismatch, o, value 0, at {moment:g} ns, cycle {moment // 10:.0f}",
    ]
    rows = {row[0]: row[1:] for row in map(str.split, lines[2:7])}
    assert list(rows) == ["inputs", "field", "got", "expected", "distance"]
    a, plus, b = rows["inputs"]
    assert (plus, rows["got"][0]) == ("+", f"0x{int(a) + int(b):02x}")
    assert rows["expected"][0] == f"0x{int(a) + int(b) + 1:02x}"
    # One line for each further mismatch, up to a limit; the log has all of them.
    assert lines[7] == mismatches.FURTHER
    assert all(": got 0x" in line for line in lines[8 : 8 + mismatches.SHOWN])
    assert lines[8 + mismatches.SHOWN] == f"  and {19 - mismatches.SHOWN} more"
    assert (newest.parent / "run.log").read_text().count(": got 0x") == 19
    assert lines[-1].startswith("replay: make sim UNIT=toy SIM=icarus SEED=3 FILTER=bad_mismatch CONFIG=")


@covers("robustness.simulator")
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_hanging_simulator_is_killed(simulator):
    start = time.monotonic()
    with pytest.raises(SimulationError, match=r"(?s)no end after 3 s.*replay: make sim"):
        run_toy(build_toy(simulator), "bad_hang", timeout=3)
    assert time.monotonic() - start < 30


@covers("robustness.simulator")
@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_killed_simulator_has_failed(simulator):
    with pytest.raises(SimulationError, match=r"(?s)the simulator ended without results.*replay: make sim"):
        run_toy(build_toy(simulator), "bad_killed")


def test_one_seed_gives_one_stimulus():
    built = build_toy("icarus", waves=True)
    first, second, other = (run_toy(built, "gap=0.5/stall=scattered", seed=seed).records for seed in (1, 1, 2))
    for record in (*first, *second, *other):
        # Processor times are not part of the stimulus and differ in each run.
        assert record.pop("seconds") > 0
    assert first == second
    assert first != other


def test_settings_of_the_shell_do_not_reach_the_run(monkeypatch):
    monkeypatch.setenv("COCOTB_TEST_FILTER", "matches nothing")
    monkeypatch.setenv("WAVES", "1")
    assert run_toy(build_toy("icarus"), "gap=0.0/stall=never").wave is None


def test_a_build_does_not_compile_verilators_library():
    """Verilator's runtime takes longer to compile than a small design, so the environment holds it compiled."""
    objects = {file.name for file in build_toy("verilator").folder.rglob("*.o")}
    assert any(name.startswith("Vtop") for name in objects)
    assert not any(name.startswith("verilated") for name in objects)


@covers("robustness.two")
def test_concurrent_builds_of_one_key_are_made_once():
    """The process that waits for the Verilog may compile it itself."""
    import toy_design

    emissions = []

    def emit(*args):
        emissions.append(args)
        return toy_design.emit(*args)

    def build_wide(_):
        return build("toy", toy_design.ToyConfig(width=9), "icarus", emitter=Emitter(emit, (TOY,)))

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(build_wide, range(2))
    assert len(emissions) == 1
    # No two compilations take exactly the same time.
    assert first.compile_seconds == second.compile_seconds > 0
