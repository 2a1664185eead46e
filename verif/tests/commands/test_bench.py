"""``bitpath self bench``: records, table and errors, and the measurement of an engine's simulation."""

import json
import os

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from bitpath.golden.arrays.parallel import THREADS, threads
from bitpath.sim.commands.measures import bench_command
from bitpath.sim.engine import paths
from bitpath.sim.engine.build import build
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.flows import trainium3_matmul
from bitpath.sim.study import bench, bench_simulation

FIELDS = list(bench.FIELDS)
ONE_AT_A_TIME = "--large, --scaling, --quick and --rounds go one at a time, --unit with the last two"


@pytest.fixture
def reports(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "reports", lambda: tmp_path)
    return tmp_path / "bench.json"


def item(name, count=1, unit=bench.RATE, **fields):
    common = {"machine": "m", "config": {"of": "c"}, "yardstick": "first", "call": lambda: None}
    return bench.Item(name=name, count=count, unit=unit, **common | fields)


@pytest.mark.usefixtures("reports")
def test_values_and_ratios():
    items = [item("first", 4_000_000), item("second", 1_000_000, cores=2)]
    records = bench.records(items, [2.0, 0.25])
    assert [list(record) for record in records] == [FIELDS] * 2
    assert [(each["value"], each["ratio"], each["ratio_to"]) for each in records] == [(2, 1, "first"), (4, 2, "first")]
    assert item("casts", 1000, bench.EACH).value(1e-6) == pytest.approx(1.0)


@pytest.mark.usefixtures("reports")
def test_items_take_turns_with_their_cores(monkeypatch):
    monkeypatch.delenv(THREADS, raising=False)
    seen, shown = [], []
    one, two = (
        item(name, call=lambda name=name: seen.append((name, threads())), cores=cores)
        for name, cores in (("first", 1), ("second", 3))
    )
    times = bench.best_times([one, two], 2, lambda *share: shown.append(share))
    assert seen == [("first", 1), ("second", 3)] * 3
    assert shown == [(each, 6) for each in range(1, 7)]
    assert all(0 < each < 60 for each in times)
    assert THREADS not in os.environ


@pytest.mark.usefixtures("reports")
def test_every_operation_in_both_tiers():
    """The machines' hot operations on all cores and on one, on scalars, and both reference operations."""
    found = {each.name: each for each in bench.items(quick=True)}
    operations = {name.partition(",")[0] for name in found if ", one core" in name}
    assert operations == {
        *(f"nc_matmul_mx {each}" for each in ("e4m3", "e5m2", "fp4")),
        *("quantize_mx e4m3", "quantize_mx e5m2", "rmsnorm_quant", "mvmul bf16"),
        *("matmul mx9", "matmul bf16", "to_mx mx9", "pack bfp8", "unpack bfp8"),
    }
    for each in operations:
        assert found[f"{each}, one core"].cores == 1
        vectorised_alone = ("rmsnorm_quant", "nc_matmul_mx fp4", "pack bfp8", "unpack bfp8")
        assert each in vectorised_alone or f"{each}, scalar" in found
    assert {each for each in bench.TARGETS if f"{each}, {bench.CORES} cores" in found} == set(bench.TARGETS)
    assert {each.yardstick for each in found.values()} == {bench.PRODUCT, bench.CAST}
    assert all(each.unit == found[each.yardstick].unit for each in found.values())


def test_the_command(reports, monkeypatch):
    """Run two of the items."""
    everything = bench.items(quick=True)
    monkeypatch.setattr(bench, "items", lambda quick: everything[:2])
    reports.write_text(json.dumps([{"name": "of another run"}, {"name": bench.CAST, "value": 0}]))
    done = CliRunner().invoke(bench_command, ["--unit", "golden", "--rounds", "1"])
    assert done.exit_code == 0, done.output
    assert "float32 @" in done.output
    records = json.loads(reports.read_text())
    assert [record["name"] for record in records] == ["of another run", bench.PRODUCT, bench.CAST]
    assert all(record["value"] > 0 and record["ratio"] == 1 for record in records[1:])


def test_a_large_product_in_its_own_process(reports):
    done = CliRunner().invoke(bench_command, ["--large", "--size", "64", "--machine", "aie_ml_v2"])
    assert done.exit_code == 0, done.output
    rate, memory, *growth = records = json.loads(reports.read_text())
    assert [list(record) for record in records] == [[*FIELDS, "began"]] * 5
    assert (rate["unit"], memory["unit"], memory["ratio_to"]) == ("M MAC/s", "MiB", "operands and result in float32")
    assert rate["value"] > 0
    assert memory["value"] > 10
    assert [each["name"] for each in growth] == [f"aie_ml_v2 16 times {each}" for each in "MKN"]
    assert [each["config"]["shape"] for each in growth] == [[128, 8, 8], [8, 128, 8], [8, 8, 128]]
    assert all(each["ratio"] == each["value"] / 16 for each in growth)
    assert (reports.parent / "bench_growth.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--size", "64"], "--size and --machine go with --large"),
        (["--machine", "tensix"], "--size and --machine go with --large"),
        (["--largest", "8"], "--largest goes with --scaling"),
        (["--large", "--quick"], ONE_AT_A_TIME),
        (["--quick", "--rounds", "3"], ONE_AT_A_TIME),
        (["--scaling", "--unit", "golden"], ONE_AT_A_TIME),
    ],
)
@pytest.mark.usefixtures("reports")
def test_options_that_do_not_go_together(arguments, sentence):
    done = CliRunner().invoke(bench_command, arguments)
    assert isinstance(done.exception, ValueError)
    assert str(done.exception) == sentence


@pytest.mark.usefixtures("reports")
def test_the_table_shows_items_without_a_ratio():
    console = Console(record=True, width=200)
    config = {"shape": [2, 3], "format": "mx9", "array": {"rows": 4}, "digest": "abc"}
    record = dict(zip(FIELDS, ("large m, rate", "m", 1234.5, "M MAC/s", None, None, None, 2, config), strict=True))
    bench.show(console, "of m", [record])
    text = console.export_text()
    assert "1,234" in text
    assert "2x3, mx9 " in text
    assert "None" not in text


# Measurement of an engine's simulation speed: the bare loop does the same work, and nothing is built twice.


SMALL = trainium3_matmul.engine_for("verilator", rows=4, cols=4)
"""Configuration that shares a build with verif/trainium3/engine/test_tensor_engine.py."""
RECORD = {"name": str, "machine": str, "value": int, "unit": str, "cores": int, "config": dict}


@pytest.mark.simulator
def test_the_bare_loop_gives_the_answers_of_the_recorded_run(monkeypatch):
    folders = []
    compiled = bench_simulation._compile
    monkeypatch.setattr(
        bench_simulation, "_compile", lambda built, folder: folders.append(folder) or compiled(built, folder)
    )
    records = list(bench_simulation.simulation_records("tensor_engine", engine=SMALL, slice_="2x128x8", rounds=1))
    assert len(records) == 3
    for record in records:
        assert {name: type(record[name]) for name in RECORD} == RECORD
        assert record["value"] > 0
        assert set(record) == {*RECORD, "ratio", "ratio_to", "target"}
    cocotb, whole, bare = records
    assert cocotb["ratio"] == pytest.approx(cocotb["value"] / bare["value"], abs=0.01)
    assert whole["value"] < cocotb["value"]
    assert bare["ratio"] is None
    # The next run reuses the build.
    assert build("tensor_engine", SMALL, "verilator").seconds == 0.0
    assert not folders[0].exists()


@pytest.mark.deep
@pytest.mark.simulator
def test_another_answer_is_noticed(monkeypatch):
    """A changed answer in the recording must be detected by the loop."""
    compiled = bench_simulation._compile

    def spoil(built, folder):
        with np.load(folder / "stimulus.npz") as file:
            content = dict(file)
        content["answers"] = content["answers"] ^ np.uint32(1)
        np.savez(folder / "stimulus.npz", **content)
        return compiled(built, folder)

    monkeypatch.setattr(bench_simulation, "_compile", spoil)
    with pytest.raises(SimulationError, match=r'other answers than the run that was recorded: \{"seconds"'):
        list(bench_simulation.simulation_records("tensor_engine", engine=SMALL, slice_="2x128x2", rounds=1))


def test_only_engines_run_layers():
    with pytest.raises(
        ValueError, match=r"'psum' has no whole layer to run; those that have are tensor_engine, tensix_"
    ):
        next(bench_simulation.simulation_records("psum", rounds=1))


def test_the_table_of_ports_names_verilators_variables():
    meta = {"ports": [{"name": "rst", "bits": 1}, {"name": "write__payload", "bits": 65}], "answer_bits": 33}
    table = bench_simulation._port_table(json.loads(json.dumps(meta)))
    assert "{&top->rst, sizeof top->rst, 1}," in table
    assert "{&top->write___05Fpayload, sizeof top->write___05Fpayload, 3}," in table
    assert "ANSWER_WORDS = 2," in table
