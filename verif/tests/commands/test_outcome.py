"""The outcome of a run: its record, exit status, report of a difference, recordings and payloads, without a simulation."""

import json
import random
import re
import shlex
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth import signed
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from rich.console import Console

from bitpath.golden.formats.catalogue import E4M3
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.matmul.matmul import PACKED, pack_datums
from bitpath.sim.commands import run as command
from bitpath.sim.engine import paths
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.flows import (
    aie_ml_v2_matmul,
    builds,
    matmul,
    outcome,
    tensix_matmul,
    trainium3_matmul,
    trainium3_rmsnorm_quant,
)
from bitpath.sim.flows.history import kept_runs
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.flows.outcome import COLUMNS, FlowRun, Outcome, compared, mismatch_report, result_map
from bitpath.sim.study import page
from bitpath.verif.kit import looks
from bitpath.verif.kit.exchange import PLAY, plays, read_input, show_share, write_result
from bitpath.verif.kit.mismatches import SHOWN, Shown
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.kit.recording import COMPARED, READ, Recorder
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH, Scoreboard
from bitpath.verif.kit.testplan import covers


@dataclass(frozen=True)
class Engine:
    rows: int = 4


class Run(FlowRun):
    machine, flow, format_name, engine, simulator = "tensix", "matmul", "bf16", Engine(), "icarus"

    def settings(self):
        return {"fidelity": "HiFi2"}

    def values(self, rtl):
        return rtl.view(np.float32)

    def reference(self):
        return np.ones((2, 3))


BUILT = SimpleNamespace(unit="dot16", top="dot16_x", digest="0123", seconds=1.2345)


@pytest.fixture
def new_build(tmp_path, monkeypatch):
    monkeypatch.setenv(paths.VARIABLE, str(tmp_path / "new" / "build"))


@pytest.fixture
def folder():
    made = paths.build_root() / "runs" / "dot16" / "now"
    made.mkdir(parents=True)
    return made


def compared_run(monkeypatch, folder, wrong=(), times=None):
    golden = np.ones((2, 3), np.float32).view(np.uint32)
    rtl = golden.copy()
    for place in wrong:
        rtl[place] ^= 1 << 22
    monkeypatch.setattr(outcome.time, "monotonic", lambda: 17.5061)
    found = outcome.compared(Run(), BUILT, rtl, golden, 10.0, (2, 8, 3), folder, times=times, cycles=7)
    return found, rtl, golden


@pytest.mark.parametrize("wrong", [(), ((0, 0),), ((1, 2),), ((0, 2), (1, 0))])
@pytest.mark.usefixtures("new_build")
def test_the_record_of_a_run(monkeypatch, folder, wrong):
    found, rtl, golden = compared_run(monkeypatch, folder, wrong)
    numbers = rtl.view(np.float32)
    sqnr = round(float(10 * np.log10(6 / np.square(numbers - 1.0).sum())), 2) if wrong else None
    assert found.record == {
        "machine": "tensix",
        "flow": "matmul",
        "format": "bf16",
        "config": {"rows": 4, "fidelity": "HiFi2", "shape": [2, 8, 3]},
        "digest": "0123",
        "sim": "icarus",
        "outputs_compared": 6,
        "mismatches": len(wrong),
        "cycles": 7,
        "wall_seconds": 7.51,
        "build_seconds": 1.23,
        "sqnr_db": sqnr,
        "max_rel_error": 0.5 if wrong else 0.0,
    }
    assert list(found.record)[-4:-2] == ["wall_seconds", "build_seconds"]
    assert found.kept == {"map": result_map(rtl, golden, numbers, np.ones((2, 3))), "folder": "runs/dot16/now"}
    assert found.first == (wrong[0] if wrong else None)
    assert (found.rtl is rtl, found.golden is golden, found.times) == (True, True, None)
    assert not list(folder.iterdir())


@pytest.mark.usefixtures("new_build")
def test_the_time_of_the_first_mismatch_is_kept_for_its_wave(monkeypatch, folder):
    times = 1000 * np.arange(6).reshape(2, 3)
    compared_run(monkeypatch, folder, (), times)
    assert not list(folder.iterdir())
    found, _, _ = compared_run(monkeypatch, folder, ((1, 0), (1, 2)), times)
    assert (folder / FIRST_MISMATCH).read_text() == "3000\n"
    assert found.times is times
    (folder / FIRST_MISMATCH).unlink()
    found, _, _ = compared_run(monkeypatch, None, ((1, 0),), times)
    assert list(found.kept) == ["map"]
    assert not list(folder.iterdir())


@pytest.mark.usefixtures("new_build")
def test_bits_are_compared_and_not_numbers():
    zeros = np.zeros(3, np.float16)
    assert outcome.differences(-zeros, zeros) == 3
    assert outcome.differences(zeros * np.nan, zeros * np.nan) == 0
    assert outcome.codes(-zeros).tolist() == [0x8000] * 3
    assert Outcome(-zeros, zeros, {}).first == (0,)
    assert Outcome(zeros, zeros, {}).kept == {}


@pytest.fixture
def played(monkeypatch):
    """Play on a made-up simulation, which leaves these cycles and this wave."""
    calls = []

    def play(*cycles, wave=None):
        def run(built, bench, **settings):
            env = settings.pop("env")
            assert set(env) == {"BITPATH_INPUT", "BITPATH_RESULT", "BITPATH_PROGRESS", "BITPATH_PLAYS"}
            for name, value in env.items():
                monkeypatch.setenv(name, value)
            contents = []
            for number in range(plays()):
                monkeypatch.setenv(PLAY, str(number))
                contents.append(read_input())
                write_result(cycles=cycles[number], words=np.arange(3) + number)
                show_share(0.5)
            calls.append((built, bench, settings, contents, Path(env["BITPATH_INPUT"]).parent))
            records = [{"seconds": 0.25 * each} for each in cycles]
            return SimpleNamespace(wave=wave, folder=Path("there"), records=records)

        monkeypatch.setattr(outcome, "run", run)
        console = Console(file=StringIO(), width=40)
        contents = [{"a": number} for number in range(len(cycles))]
        return outcome.play_all(console, BUILT, "tb_x_run", "bf16", contents), console.file.getvalue()

    return play, calls


@pytest.mark.usefixtures("new_build")
@pytest.mark.parametrize("cycles", [(5,), (5, 9, 2)])
def test_a_bench_plays_its_contents(played, cycles):
    play, calls = played
    left, said = play(*cycles)
    assert [int(each["cycles"]) for each in left] == list(cycles)
    assert [each["words"].tolist() for each in left] == [[n, n + 1, n + 2] for n in range(len(cycles))]
    assert [each["folder"] for each in left] == [Path("there")] * len(cycles)
    assert [each["seconds"] for each in left] == [0.25 * each for each in cycles]
    ((built, bench, settings, contents, folder),) = calls
    assert (built, bench, contents) == (BUILT, "tb_x_run", [{"a": n} for n in range(len(cycles))])
    assert settings == {"seed": 0, "min_tests": len(cycles), "min_compared": 0, "timeout": outcome.RUN_SECONDS}
    assert outcome.RUN_SECONDS == 3600
    assert folder.parent == paths.runs()
    assert folder.name.startswith("play-")
    assert not folder.exists()
    assert "wave" not in said
    # The folder of all runs is there now.
    assert int(play(6)[0][0]["cycles"]) == 6


@pytest.mark.usefixtures("new_build")
def test_one_content_is_the_first_of_a_list(played):
    play, _ = played
    play(5)
    left = outcome.play(Console(file=StringIO()), BUILT, "tb_x_run", "bf16", {"a": 1})
    assert (int(left["cycles"]), left["words"].tolist()) == (5, [0, 1, 2])


@pytest.mark.usefixtures("new_build")
def test_a_wave_is_named_with_its_viewer_on_one_line(played):
    wave = paths.build_root() / "runs" / "dot16" / "wave.fst"
    _, said = played[0](5, wave=wave)
    assert f"wave: {paths.shown(wave)}; bitpath waves dot16 opens it\n" in said


@pytest.mark.usefixtures("new_build")
def test_a_unit_that_was_never_busy_is_an_error(played):
    with pytest.raises(SimulationError, match="dot16_x was never busy: it did not take the instructions"):
        played[0](3, 0)


@pytest.mark.parametrize(("rule", "given"), [(None, ""), ("ocp", ""), ("floor", " --scale-rule floor")])
@pytest.mark.usefixtures("new_build")
def test_the_line_that_repeats_a_run(rule, given):
    run = Run()
    run.scale_rule, run.matrices, run.sizes = rule, ("--a", "x y"), ("--rows", "4")
    assert run.replay == (
        f"bitpath run matmul --machine tensix --format bf16 --sim icarus{given} --a 'x y' --rows 4 --waves"
    )
    assert (run.waves, run.before, FlowRun.scale_rule, FlowRun.matrices, FlowRun.sizes) == (
        False, "quantised", None, (), (),
    )  # fmt: skip
    for missing in (lambda: run.parts, lambda: run.compare(None, None), run.shown, run.shown_before):
        with pytest.raises(NotImplementedError):
            missing()


# The exit status of ``bitpath run``, its output and its files, for runs that nobody simulated.


SIZE = 512
FIELDS = {"flow": "matmul", "sim": "icarus", "config": {}}


class Ready(FlowRun):
    """A run whose result is known: its first outputs differ."""

    machine, flow, simulator, parts = "tensix", "matmul", "icarus", ()

    def __init__(self, wrong):
        self.wrong, self.format_name = wrong, f"format{wrong}"

    def compare(self, console, builds):
        if self.wrong is None:
            raise SimulationError("no result came")
        assert console.stderr  # progress is no result
        golden = np.zeros(SIZE, np.uint32)
        rtl = golden.copy()
        rtl[: self.wrong] = 1
        own = {"machine": self.machine, "format": self.format_name, "outputs_compared": SIZE, "mismatches": self.wrong}
        return Outcome(rtl, golden, dict.fromkeys(COLUMNS, 0) | FIELDS | own, kept={"map": {}})

    def shown(self, *place):
        return Shown()


@pytest.fixture
def run(bitpath, monkeypatch):
    """Run formats with these numbers of wrong outputs; a format of None fails. Return status, stdout and stderr."""

    def call(*wrong, options=()):
        monkeypatch.setattr(command, "_runs", lambda name, **_: [Ready(each) for each in wrong])
        return bitpath("run", *options)

    return call


@pytest.mark.parametrize("wrong", [(0,), (1,), (256,), (0, 0), (0, 1), (1, 0), (128, 128), (0, 512, 0)])
def test_one_wrong_bit_of_any_format_fails(run, wrong, tmp_path):
    status, out, err = run(*wrong, options=["--json"])
    assert status == any(wrong)
    records = json.loads(out)
    assert [each["mismatches"] for each in records] == list(wrong)
    assert json.loads((tmp_path / "build" / "reports" / "run.json").read_text()) == records
    assert err.count("first mismatch: ") == sum(each > 0 for each in wrong)
    (kept,) = kept_runs([])
    assert (kept.mismatches, kept.compared, kept.formats) == (sum(wrong), SIZE * len(wrong), len(wrong))
    assert [bool(each["report"]) for each in kept.records] == [each > 0 for each in wrong]
    assert [each["map"] for each in kept.records] == [{}] * len(wrong)


def test_the_headings_stand_above_the_first_row(run):
    _, out, _ = run(0, 0)
    words = out.split()
    assert (words.count("machine"), words.count("tensix")) == (1, 2)
    assert words.index("machine") < words.index("tensix")


def test_quiet_prints_mismatches_alone(run):
    assert run(0, 0, options=["--quiet"]) == (0, "", "")
    status, out, _ = run(0, 2, options=["--quiet"])
    assert status == 1
    assert out.startswith("first mismatch: tensix format2 on icarus, [0]\n")


def test_results_of_earlier_formats_stay(run):
    status, out, err = run(1, None, 0, options=["--json"])
    assert status == 1
    assert err.endswith("bitpath: no result came\n")
    assert [each["mismatches"] for each in json.loads(out)] == [1]
    (kept,) = kept_runs([])
    assert (kept.mismatches, len(kept.records), kept.formats) == (1, 1, 3)


@pytest.mark.parametrize("wrong", [0, 3])
def test_the_results_of_one_format_are_saved(run, wrong, tmp_path):
    assert run(wrong, options=["-o", "out.npz"])[0] == (wrong > 0)
    with np.load(tmp_path / "out.npz") as saved:
        assert saved["result"].sum() == wrong
        assert not saved["golden"].any()


def test_the_results_of_two_formats_are_not(run, tmp_path):
    status, out, err = run(0, 0, options=["-o", "out.npz"])
    assert (status, out) == (2, "")
    assert err == "bitpath: -o takes the results of one format; name it with --format\n"
    assert not list(tmp_path.iterdir())


def test_every_flow_of_a_machine_is_a_command():
    flows = [name for each in RECORDS.values() for name in each.flows]
    assert sorted(command.run_command.commands) == sorted(["lm", "matmul", *flows])


def test_the_words_of_options():
    """A switch is a word alone; a missing option gives no word."""
    given = {"a": None, "quant_only": True, "in_scale": 0.5, "slice": "2x4"}
    assert command._options(given) == ["--quant-only", "--in-scale", "0.5", "--slice", "2x4"]


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_the_slow_simulator_takes_a_slice_of_the_layer(simulator):
    (run,) = command._runs(
        "matmul", machine="aie_ml_v2", format_name="mx9", simulator=simulator, waves=False, slice_=None
    )
    wanted = aie_ml_v2_matmul.SLICES.get(simulator)
    assert run.matrices == ([] if wanted is None else ["--slice", wanted])
    assert (simulator == "icarus") is (wanted is not None)


# The report of ``bitpath run`` on a difference: decoded, with lines that run.


FLOWS = {"mxfp4": trainium3_matmul, "bfp8_hifi2": tensix_matmul, "bf16": aie_ml_v2_matmul, "mx6": aie_ml_v2_matmul}


OUTPUTS = {
    trainium3_matmul: lambda run: (run.a.shape[0], run.b.shape[1]),
    tensix_matmul: lambda run: (1, run.program.tiles[0], run.program.tiles[2], 64, 16),
    aie_ml_v2_matmul: lambda run: (run.program.tiles[0], run.program.tiles[2], run.program.mode.lanes),
}
"""Shapes of the outputs of the run benches."""


def rows(report):
    """Return the lines of the first mismatch by their names."""
    return dict(re.findall(r"^  (\w+) +(.+)$", report.partition("further")[0], re.M))


@pytest.mark.parametrize("format_name", FLOWS)
def test_the_explain_line_ends_in_the_expected_code(bitpath, matrices, format_name):
    """One unit in the last place of an output, on every machine; nothing is simulated."""
    flow = FLOWS[format_name]
    run = flow.Run(*matrices, format_name, flow.engine_for("icarus"), "icarus")
    run.matrices = ["--a", "a.npy", "--b", "b.npy"]
    golden = np.ascontiguousarray(run.golden()[:5, :3])
    rtl = golden.copy()
    rtl.view(np.uint32)[3, 1:] += 1
    report = mismatch_report(run, Outcome(rtl, golden, {}))
    assert f"{run.machine} {format_name} on icarus, [3, 1]\n" in report
    found = rows(report)
    assert found["place"].startswith("row 3, column 1, ")
    code, number = found["expected"].split(" = ")
    assert (code, number) == (f"0x{golden.view(np.uint32)[3, 1]:08x}", f"{golden[3, 1]:.9g}")
    assert found["distance"] == "1 ulp"
    assert re.search(r"\[3, 2\]: got 0x\w{8} = \S+, expected 0x\w{8} = \S+, 1 ulp$", report)
    status, text, _ = bitpath(*shlex.split(found["explain"])[1:])
    assert status == 0
    word = int(re.findall(r"^(?:result|PSUM) +(0x\w+)", text, re.M)[-1], 16)
    if flow is tensix_matmul and run.program.packing.result is Format.BF16:
        # The explanation ends in Dst; the packer rounds the datums there.
        dst = np.full(1, word, np.uint32)
        word = int(pack_datums(run.program.packing, dst, None, dst32=True, numerics=run.program.numerics)[0]) << 16
    assert f"0x{word:08x}" == code


def test_report_explanation_and_replay_name_the_scale_rule(bitpath, matrices):
    """E4M3 under both rules gives other bits here, so that an explanation under the wrong one ends in another code."""
    engine = trainium3_matmul.engine_for("icarus")
    runs = [
        trainium3_matmul.Run(*matrices, "mxfp8_e4m3", engine, "icarus", rule) for rule in trainium3_matmul.SCALE_RULES
    ]
    ocp, golden = (np.ascontiguousarray(run.golden()[:5, :3]) for run in runs)
    run = runs[1]
    assert not np.array_equal(ocp, golden)
    run.matrices = ["--a", "a.npy", "--b", "b.npy"]
    rtl = golden.copy()
    rtl.view(np.uint32)[3, 1] += 1
    report = mismatch_report(run, Outcome(rtl, golden, {}))
    assert "trainium3 mxfp8_e4m3 nki05 on icarus, [3, 1]\n" in report
    assert "--scale-rule nki05" in run.replay
    status, text, _ = bitpath(*shlex.split(rows(report)["explain"])[1:])
    assert status == 0
    assert re.findall(r"^PSUM +(0x\w+)", text, re.M)[-1] == f"0x{golden.view(np.uint32)[3, 1]:08x}"
    assert run.settings()["scale_rule"] == "nki05"


def test_the_first_mismatch_has_its_time_in_report_and_folder(elsewhere, matrices):
    """Each result was read in another cycle; the viewer of a wave opens at the first wrong one."""
    run = trainium3_matmul.Run(*matrices, "mxfp4", trainium3_matmul.engine_for("icarus"), "icarus")
    golden = np.ascontiguousarray(run.golden()[:5, :3])
    rtl = golden.copy()
    rtl.view(np.uint32)[3, 1:] += 1
    times = 1_000_000 + 10_000 * np.arange(golden.size, dtype=np.uint64).reshape(golden.shape)
    built = SimpleNamespace(digest="0" * 8, seconds=0)
    run.a, run.b = run.a[:5], run.b[:, :3]
    folder = paths.runs() / "one"
    folder.mkdir(parents=True)
    outcome = compared(run, built, rtl, golden, 0, golden.shape, folder, times=times)
    report = mismatch_report(run, outcome)
    assert "mxfp4 on icarus, [3, 1], read at 1100 ns, cycle 110\n" in report
    assert ", [3, 2], read at 1110 ns, cycle 111: got " in report
    assert (folder / "first_mismatch").read_text() == "1100000\n"


@pytest.mark.parametrize("format_name", FLOWS)
def test_times_have_the_places_of_their_results(matrices, format_name):
    flow = FLOWS[format_name]
    run = flow.Run(*matrices, format_name, flow.engine_for("icarus"), "icarus")
    words = np.zeros(OUTPUTS[flow](run), PACKED[run.program.packing.result] if flow is tensix_matmul else np.uint32)
    for place in (tuple(size // 3 for size in words.shape), tuple(size // 2 for size in words.shape)):
        words[...] = 0
        # A power of two in FP32, and in the 16 bits of a narrow Dst.
        words[place] = 0x40004000 >> (8 * (4 - words.itemsize))
        assert (np.argwhere(run.matrix(words)) == np.argwhere(run.placed(words.astype(np.uint64)))).all()
        assert run.matrix(words).any() or any(each >= 5 for each in place)


def test_bytes_of_rmsnorm_quant_are_decoded():
    run = trainium3_rmsnorm_quant.Run(
        *trainium3_rmsnorm_quant.operands("2x8"), "row", trainium3_rmsnorm_quant.engine_for("icarus"), "icarus"
    )
    golden = np.full((2, 12), 0x38, np.uint8)
    report = mismatch_report(run, Outcome(golden + np.uint8(1), golden, {}))
    assert rows(report)["hidden"].startswith("0x")
    assert rows(report)["expected"] == "0x38 = 1"
    assert report.endswith("  and 13 more")
    # The bytes behind the elements are those of a scale.
    assert run.shown(0, 8).formats[""].width == 8
    assert run.shown(0, 7).formats[""] is E4M3


@pytest.mark.deep
@pytest.mark.simulator
def test_the_replay_line_records_a_wave(bitpath, monkeypatch):
    """A wrong bit of the RTL's result fails the run; its replay line repeats it with a wave."""
    honest = trainium3_matmul.Run.matrix

    def flipped(self, output):
        output[1, 0] ^= 1
        return honest(self, output)

    monkeypatch.setattr(trainium3_matmul.Run, "matrix", flipped)
    status, out, _ = bitpath("run", "--sim", "icarus", "--slice", "2x32x2", "--format", "mxfp8_e4m3")
    assert status == 1
    replay = rows(out)["replay"]
    assert "--sim icarus --slice 2x32x2" in replay
    assert "bitpath explain trainium3 --output 1,0 --format mxfp8_e4m3 --slice 2x32x2" in out
    status, again, err = bitpath(*shlex.split(replay)[1:])
    assert status == 1
    assert "wave: build/runs/tensor_engine-" in err
    assert rows(again)["got"] == rows(out)["got"]


# ``bitpath run`` with many wrong outputs: exit status, JSON, text, the kept run and its page have their number.


SIDE = 32
WRONG = (0, 1, 12, 255, 256, 257, 512, 768, 1024)
"""Wrong outputs of 1024; a count of 8 bits has none in some of them."""


@pytest.fixture
def run_of_many(bitpath, monkeypatch, tmp_path):
    """Run formats whose first outputs in RTL are wrong, without a simulation; return status, stdout and stderr."""

    def call(formats, *options):
        def played(self, _):
            golden = np.ascontiguousarray(self.golden()[:SIDE, :SIDE])
            golden.view(np.uint32).ravel()[: formats[self.format_name]] ^= 1
            return golden

        times = np.arange(SIDE * SIDE, dtype=np.uint64).reshape(SIDE, SIDE)
        # No folder: no simulation ran.
        left = {"output": None, "times": times, "cycles": 7}
        monkeypatch.setattr(matmul, "play", lambda *_: left)
        monkeypatch.setattr(aie_ml_v2_matmul.Run, "matrix", played)
        monkeypatch.setattr(aie_ml_v2_matmul.Run, "placed", lambda _, values: values)
        monkeypatch.setattr(builds.Builds, "of", lambda *_: SimpleNamespace(digest="0" * 8, seconds=0))
        monkeypatch.setattr(aie_ml_v2_matmul, "FORMATS", tuple(formats))
        rng = np.random.default_rng(1)
        for name in "ab":
            np.save(tmp_path / f"{name}.npy", rng.standard_normal((SIDE, SIDE)).astype(np.float32))
        return bitpath("run", "--machine", "aie_ml_v2", "--a", "a.npy", "--b", "b.npy", *options)

    return call


@covers("mutation.comparisons")
@pytest.mark.parametrize("wrong", WRONG)
def test_every_number_of_wrong_outputs_fails_with_its_count(run_of_many, wrong):
    status, out, err = run_of_many({"bf16": wrong}, "--json")
    assert status == (wrong > 0)
    (record,) = json.loads(out)
    assert (record["outputs_compared"], record["mismatches"]) == (SIDE * SIDE, wrong)
    lines = err.splitlines()
    assert (f"  and {wrong - 1 - SHOWN} more" in lines) is (wrong > 1 + SHOWN)
    assert sum(": got 0x" in line for line in lines) == max(0, min(wrong - 1, SHOWN))
    first = f"first mismatch: aie_ml_v2 bf16 on verilator, [0, 0], read {outcome.moment_text(0)}"
    assert (first in lines) is (wrong > 0)
    (kept,) = kept_runs([])
    assert kept.mismatches == wrong
    cells = kept.records[0]["map"].get("mismatches", [])
    assert sum(map(sum, cells)) == wrong
    expected = (
        f"differ in {wrong:,} of 1,024 values, in 1 of 1 format: aie_ml_v2 bf16." if wrong else "agree in all bits"
    )
    assert expected in page.verdict(kept)


@covers("mutation.comparisons")
def test_formats_whose_mismatches_sum_to_256(run_of_many):
    status, out, _ = run_of_many({"bf16": 128, "fp16": 128})
    assert status == 1
    assert out.count("first mismatch: ") == 2
    (kept,) = kept_runs([])
    assert (kept.mismatches, kept.compared) == (256, 2048)
    assert "differ in 256 of 2,048 values, in 2 of 2 formats: aie_ml_v2 bf16, aie_ml_v2 fp16." in page.verdict(kept)


# Assignment of a bench's reads of outputs to the cycles of a recording.


SIGNATURE = wiring.Signature({"i": In(8), "o": Out(8), "flag": Out(1)})
PERIOD = 10


@pytest.fixture
def after():
    yield
    looks.noted = None


class Recording:
    """A recorder with given cycles: the values of the outputs, and the reads since the previous cycle."""

    def __init__(self, tmp_path, *, clocked=True):
        dut = {"i": object(), "o": object(), "flag": object()} | ({"clk": object(), "rst": object()} if clocked else {})
        self.recorder = Recorder(SimpleNamespace(**dut), SIGNATURE, tmp_path / "traffic.npz")

    def cycle(self, shown, reads=(), compared=()):
        recorder = self.recorder
        looks.noted = looks.Looks(list(reads), list(compared))
        recorder._before, recorder._shown = recorder._shown, dict(enumerate(shown))
        recorder._look(recorder.cycles * PERIOD if recorder.clocked else None)
        recorder.cycles += 1


@pytest.mark.usefixtures("after")
def test_a_comparison_at_the_falling_edge_counts_in_its_cycle(tmp_path):
    recording = Recording(tmp_path)
    recording.cycle(("101", "0"))
    recording.cycle(("110", "1"), [(10, "o"), (11, "flag")], [(10, "o", 6, 3), (11, "flag", 0, 1)])
    # A scoreboard with another value has not compared this output.
    assert recording.recorder.looks == {(1, 0): COMPARED, (1, 1): READ}


@pytest.mark.usefixtures("after")
def test_a_read_between_two_edges_counts_in_both_cycles(tmp_path):
    """A read between two edges, say after the rising edge at 5, counts for both cycles; a comparison counts for neither."""
    recording = Recording(tmp_path)
    recording.cycle(("101", "0"), [(0, "flag")])
    recording.cycle(("110", "1"), [(7, "o")], [(7, "o", 5, 3), (7, "flag", 0, 1)])
    assert recording.recorder.looks == {(0, 0): READ, (1, 0): READ, (0, 1): COMPARED}


@covers("mutation.honest")
@pytest.mark.usefixtures("after")
def test_a_comparison_without_a_read_does_not_count(tmp_path):
    recording = Recording(tmp_path)
    recording.cycle(("101", "0"), [(0, "o")])
    recording.cycle(("101", "0"), (), [(10, "o", 5, 3)])
    recording.cycle(("XXX", "0"), [(20, "o")], [(20, "o", 5, 3)])
    recording.cycle(("101", "0"), [(30, "i")], [(30, "i", 5, 3), (30, "lane 0", 5, 3)])
    # The lowest bits alone are not the whole value.
    recording.cycle(("001", "0"), [(40, "o")], [(40, "o", 1, 1)])
    assert recording.recorder.looks == {(0, 0): READ, (2, 0): READ, (4, 0): READ}


@pytest.mark.usefixtures("after")
def test_a_scoreboard_of_another_name_notes_its_output(monkeypatch):
    monkeypatch.setattr(looks, "get_sim_time", lambda: 10)
    looks.noted = looks.Looks()
    board = Scoreboard("value", 3, output="o")
    board.expect(5, "any")
    board.got(5)
    assert looks.noted.compared == [(10, "o", 5, 3)]


@pytest.mark.usefixtures("after")
def test_without_a_clock_looks_come_after_their_moment(tmp_path):
    recording = Recording(tmp_path, clocked=False)
    recording.cycle(("101", "0"))
    recording.cycle(("110", "0"), [(10, "o")], [(10, "o", 5, 3)])
    assert recording.recorder.looks == {(0, 0): COMPARED}


# Packing of payloads agrees with Amaranth's constants, and values that do not fit are refused.


class Kind(enum.Enum, shape=2):
    ONE = 1
    TWO = 2


class Pair(data.Struct):
    small: 3
    number: signed(5)


LAYOUT = data.StructLayout({"kind": Kind, "pairs": data.ArrayLayout(Pair, 3), "nothing": 0, "wide": 40})


def draw(rng):
    pairs = [{"small": rng.randrange(8), "number": rng.randrange(-16, 16)} for _ in range(3)]
    return {"kind": rng.choice(list(Kind)), "pairs": pairs, "nothing": 0, "wide": rng.getrandbits(40)}


def test_as_amaranth_lays_fields_out():
    rng = random.Random(1)
    for _ in range(200):
        fields = draw(rng)
        bits = pack(LAYOUT, fields)
        assert bits == LAYOUT.const(fields).as_bits()
        assert unpack(LAYOUT, bits).wide == fields["wide"]
        assert pack(LAYOUT, unpack(LAYOUT, bits)) == bits


def test_packed_fields_are_accepted():
    pairs = [{"small": 1, "number": -1}, pack(Pair, {"small": 2, "number": 3})]
    assert pack(LAYOUT, {"pairs": pairs}) == pack(LAYOUT, {"pairs": [pairs[0], {"small": 2, "number": 3}]})
    with pytest.raises(ValueError, match=r"^payload is 256, allowed are 0 to 255$"):
        pack(Pair, 256)


def test_missing_fields_are_zero():
    assert pack(LAYOUT, {}) == 0
    assert pack(Pair, {"number": -1}) == 0b11111_000
    assert pack(data.ArrayLayout(4, 3), [1, 2]) == 0x21


@pytest.mark.parametrize(
    ("shape", "fields", "message"),
    [
        (Pair, {"small": 8}, "payload is 8, allowed are 0 to 7"),
        (Pair, {"small": -1}, "payload is -1, allowed are 0 to 7"),
        (Pair, {"number": 16}, "payload is 16, allowed are -16 to 15"),
        (12, 4096, "payload is 4096, allowed are 0 to 4095"),
        (Pair, {"large": 0}, "payload has a field 'large', known are small, number"),
        (data.ArrayLayout(4, 1), [1, 2], "payload has a field 1, known are 0"),
    ],
)
def test_values_that_do_not_fit_are_refused(shape, fields, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        pack(shape, fields)
