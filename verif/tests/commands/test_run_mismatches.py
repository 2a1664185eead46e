"""The report of ``bitpath run`` on a difference: decoded, with lines that run."""

import re
import shlex

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import E4M3
from bitpath.sim.flows import aie_ml_v2_matmul, tensix_matmul, trainium3_matmul, trainium3_rmsnorm_quant
from bitpath.sim.flows.outcome import Outcome
from bitpath.sim.flows.results import mismatch_report

FLOWS = {"mxfp4": trainium3_matmul, "bfp8_hifi2": tensix_matmul, "bf16": aie_ml_v2_matmul, "mx6": aie_ml_v2_matmul}


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
    assert re.findall(r"^(?:result|PSUM) +(0x\w+)", text, re.M)[-1] == code


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


@pytest.mark.simulator
def test_the_replay_line_records_a_wave(bitpath, monkeypatch):
    """A wrong bit of the RTL's result fails the run; its replay line repeats it with a wave."""
    honest = trainium3_matmul.Run.matrix

    def flipped(self, output):
        output[1, 0] ^= 1
        return honest(self, output)

    monkeypatch.setattr(trainium3_matmul.Run, "matrix", flipped)
    status, out, _ = bitpath("run", "--sim", "icarus", "--slice", "2x128x2", "--format", "mxfp8_e4m3")
    assert status == 1
    replay = rows(out)["replay"]
    assert "--sim icarus --slice 2x128x2" in replay
    assert "bitpath explain trainium3 --output 1,0 --format mxfp8_e4m3 --slice 2x128x2" in out
    status, again, _ = bitpath(*shlex.split(replay)[1:])
    assert status == 1
    assert "wave: build/runs/tensor_engine-" in again
    assert rows(again)["got"] == rows(out)["got"]
