"""The report of ``bitpath run`` on a difference: decoded, with lines that run."""

import re
import shlex
from types import SimpleNamespace

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import E4M3
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.matmul.matmul import PACKED, pack_datums
from bitpath.sim.engine import paths
from bitpath.sim.flows import aie_ml_v2_matmul, tensix_matmul, trainium3_matmul, trainium3_rmsnorm_quant
from bitpath.sim.flows.outcome import Outcome, compared, mismatch_report

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
        # The explanation ends in Dst; the packer rounds what it finds there.
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
