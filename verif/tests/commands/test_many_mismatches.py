"""``bitpath run`` with many wrong outputs: exit status, JSON, text, the kept run and its page have their number."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from bitpath.sim.flows import aie_ml_v2_matmul, builds, matmul, outcome
from bitpath.sim.flows.history import kept_runs
from bitpath.sim.study import page
from bitpath.verif.kit.mismatches import SHOWN
from bitpath.verif.kit.testplan import covers

SIZE = 32
WRONG = (0, 1, 12, 255, 256, 257, 512, 768, 1024)
"""Wrong outputs of 1024; a count of 8 bits has none in some of them."""


@pytest.fixture
def run(bitpath, monkeypatch, tmp_path):
    """Run formats of which RTL's first outputs are wrong, without a simulation; return status, stdout and stderr."""

    def call(formats, *options):
        def played(self, _):
            golden = np.ascontiguousarray(self.golden()[:SIZE, :SIZE])
            golden.view(np.uint32).ravel()[: formats[self.format_name]] ^= 1
            return golden

        times = np.arange(SIZE * SIZE, dtype=np.uint64).reshape(SIZE, SIZE)
        # No folder: no simulation ran.
        left = {"output": None, "times": times, "cycles": 7}
        monkeypatch.setattr(matmul, "play", lambda *_: left)
        monkeypatch.setattr(aie_ml_v2_matmul.Run, "matrix", played)
        monkeypatch.setattr(aie_ml_v2_matmul.Run, "placed", lambda _, values: values)
        monkeypatch.setattr(builds.Builds, "of", lambda *_: SimpleNamespace(digest="0" * 8, seconds=0))
        monkeypatch.setattr(aie_ml_v2_matmul, "FORMATS", tuple(formats))
        rng = np.random.default_rng(1)
        for name in "ab":
            np.save(tmp_path / f"{name}.npy", rng.standard_normal((SIZE, SIZE)).astype(np.float32))
        return bitpath("run", "--machine", "aie_ml_v2", "--a", "a.npy", "--b", "b.npy", *options)

    return call


@covers("mutation.comparisons")
@pytest.mark.parametrize("wrong", WRONG)
def test_every_number_of_wrong_outputs_fails_with_its_count(run, wrong):
    status, out, err = run({"bf16": wrong}, "--json")
    assert status == (wrong > 0)
    (record,) = json.loads(out)
    assert (record["outputs_compared"], record["mismatches"]) == (SIZE * SIZE, wrong)
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
def test_formats_whose_mismatches_sum_to_256(run):
    status, out, _ = run({"bf16": 128, "fp16": 128})
    assert status == 1
    assert out.count("first mismatch: ") == 2
    (kept,) = kept_runs([])
    assert (kept.mismatches, kept.compared) == (256, 2048)
    assert "differ in 256 of 2,048 values, in 2 of 2 formats: aie_ml_v2 bf16, aie_ml_v2 fp16." in page.verdict(kept)
