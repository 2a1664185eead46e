"""``bitpath self synth`` and ``explore``: library, trend, Pareto fronts, and a resumed sweep; deep tests run Yosys."""

import gzip
import importlib.util
import json
import re

import pytest

from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.options import MACHINES, MissingToolError, SimulationError
from bitpath.sim.study import explore, synth
from bitpath.sim.study.explore import draw, error_of, pareto, sweep
from bitpath.sim.study.synth import CELLS, SIZES, TAU_NS, Flow, YardstickConfig, liberty
from bitpath.verif.kit.testplan import covers


def test_the_generic_library_has_every_cell_in_every_size():
    text = liberty()
    assert text.count("{") == text.count("}")
    assert len(re.findall(r"^  cell\(", text, re.MULTILINE)) == len(CELLS) * len(SIZES) + 1
    assert re.search(r"cell\(nand2_x1\) \{\n    area : 1;", text)
    assert Flow.of(None).name == "bitpath generic_cells"


@pytest.mark.parametrize("suffix", [".lib", ".lib.gz"])
def test_a_library_of_the_users(tmp_path, suffix):
    text = 'library ("mine") { cell(a) { area : 2; } }'
    file = tmp_path / f"cells{suffix}"
    file.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    assert Flow.of(file) == Flow(text)
    assert Flow.of(file).name == "bitpath mine"


@covers("robustness.files")
@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("v.lib", b"module t(); endmodule", "is not a Liberty file, it has no library"),
        ("cut.lib.gz", gzip.compress(b"library(l) {}", mtime=0)[:-9], "must be a whole text file"),
        ("plain.lib.gz", b"library(l) {}", "must be a whole text file"),
        ("binary.lib", b"\xff\xfe\xfa", "must be a whole text file"),
    ],
)
def test_an_invalid_library_is_an_error(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Flow.of(tmp_path / name)
    with pytest.raises(ValueError, match=r"--liberty: .*none.lib cannot be read: No such file"):
        Flow.of(tmp_path / "none.lib")


def test_configurations_that_are_quoted_differ_and_have_their_yardsticks():
    digests = [design.digest for design in synth.QUOTED]
    assert len(set(digests)) == len(digests)
    assert all(design.yardstick is None or design.yardstick.digest in digests for design in synth.QUOTED)
    assert {design.machine for design in synth.QUOTED} == {"yardstick", "trainium3", "tensix", "aie_ml_v2"}
    assert all(json.loads(json.dumps(design.full_config)) == design.full_config for design in synth.QUOTED)


def test_the_trend_gets_new_results(tmp_path):
    trend = tmp_path / "trend.jsonl"
    record = {"digest": "d", "flow": "f", "ge_area": 1.0, "ge_fast": 2.0, "ns_fast": 3.0, "flip_flops": 4}
    for area in (1.0, 1.0, 5.0):
        synth.append_trend(trend, record | {"ge_area": area}, synth.last_results(trend).get(("d", "f")))
    assert [each["ge_area"] for each in cache.read(trend)] == [1.0, 5.0]
    assert synth.last_results(trend)["d", "f"]["ge_area"] == 5.0


def test_without_yosys_the_line_that_installs_it_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingToolError, match=r"Yosys is not in this .* run: pip install 'bitpath\[synth\]'"):
        Flow.of(None).synthesize("module t(); endmodule", "t")


@pytest.mark.deep
def test_two_multipliers_are_twice_one_and_kept(monkeypatch, in_process, elsewhere):
    designs = [
        synth.Design(f"{count}", "yardstick", YardstickConfig(count=count, a_bits=4, b_bits=4), count)
        for count in (1, 2)
    ]
    found = dict(synth.synth_records(designs, Flow.of(None)))
    one, two = found[0], found[1]
    assert list(one) == ["name", "machine", "config", "digest", "flow", *synth.MEASURED, "macs"]
    assert 80 < one["ge_area"] < 160
    assert two["ge_area"] == pytest.approx(2 * one["ge_area"], rel=0.05)
    assert 0.2 < one["ns_fast"] < 1.5
    assert one["flip_flops"] == 0
    assert one["flow"] == "bitpath generic_cells"
    folders = sorted((paths.build_root() / "synth").glob("*/stamp.json"))
    stamps = [folder.stat().st_mtime_ns for folder in folders]
    assert dict(synth.synth_records(designs, Flow.of(None))) == found
    assert [folder.stat().st_mtime_ns for folder in folders] == stamps
    # A changed script invalidates the result.
    monkeypatch.setitem(synth.SCRIPTS, "area", ("strash", "&get -n", "&nf", "&put"))
    assert dict(synth.synth_records(designs[:1], Flow.of(None)))[0]["ge_area"] != one["ge_area"]


@pytest.mark.deep
def test_flip_flops_are_counted_and_cut_paths(elsewhere):
    ports = "input clk, input [3:0] a, b, output reg [7:0] p"
    body = "reg [7:0] q; always @(posedge clk) begin q <= a * b; p <= q; end"
    found = Flow.of(None).synthesize(f"module t({ports}); {body} endmodule", "t")
    bare = Flow.of(None).synthesize("module u(input [3:0] a, b, output [7:0] p); assign p = a * b; endmodule", "u")
    assert found.flip_flops == 16
    assert found.ge_area == pytest.approx(bare.ge_area + 16 * 5.5, rel=0.05)
    assert found.ns_fast == pytest.approx(bare.ns_fast, rel=0.2)


@pytest.mark.deep
def test_a_nand2_by_hand(elsewhere):
    """The cell's area is the unit of area; without a load and with an ideal input edge its delay is the parasitic delay of 2."""
    found = Flow.of(None).synthesize("module t(input a, b, output y); assign y = ~(a & b); endmodule", "t")
    assert (found.ge_area, found.ge_fast) == (1.0, 1.0)
    assert found.ns_fast == pytest.approx(2 * TAU_NS, abs=0.02)
    wires = Flow.of(None).synthesize("module w(input a, output y); assign y = a; endmodule", "w")
    assert (wires.ge_area, wires.ns_fast) == (0.0, 0.0)


@pytest.mark.deep
def test_an_incomplete_library_is_an_error(elsewhere):
    no_flip_flop = Flow(re.sub(r"  cell\(dff\).*?^  }\n", "", liberty(), flags=re.DOTALL | re.MULTILINE))
    design = "module t(input clk, d, output reg q); always @(posedge clk) q <= d; endmodule"
    with pytest.raises(SimulationError, match="D flip-flops are not supported"):
        no_flip_flop.synthesize(design, "t")


@pytest.mark.deep
def test_complete_results_are_kept_if_another_fails(monkeypatch, in_process, elsewhere):
    broken, good = (
        synth.Design(name, "yardstick", YardstickConfig(count=1, a_bits=bits, b_bits=2))
        for name, bits in (("broken", 3), ("good", 2))
    )
    verilog = synth.Design.verilog
    monkeypatch.setattr(
        synth.Design,
        "verilog",
        lambda self: ("module", "x") if self.name == "broken" else verilog(self),
    )
    found = synth.synth_records([broken, good], Flow.of(None))
    index, record = next(found)
    assert (index, record["name"]) == (1, "good")
    with pytest.raises(SimulationError, match="broken: synthesis failed"):
        next(found)


# Explorer: Pareto fronts, errors of known numerics, and a resumed sweep.


SHAPE = "4x128x4"


@pytest.mark.parametrize(
    ("costs", "on"),
    [
        ([], []),
        ([(1, 1)], [True]),
        ([(1, 2), (2, 1), (2, 2)], [True, True, False]),
        ([(1, 1), (1, 1)], [True, True]),
        ([(1, 2), (1, 1)], [False, True]),
        ([(2, 1), (1, 1)], [False, True]),
        ([(3, 1), (2, 2), (1, 3), (2.5, 2)], [True, True, True, False]),
    ],
)
def test_the_front_has_only_undominated_points(costs, on):
    assert pareto(costs) == on


@pytest.mark.parametrize("machine", MACHINES)
def test_a_sweep_has_the_machines_own_points_and_no_point_twice(machine):
    points = sweep(machine)
    assert len({point.digest for point in points}) == len(points)
    assert any(point.own for point in points)
    assert not all(point.own for point in points)
    assert all(point.machine == machine == point.design.machine for point in points)


def test_fewer_bits_are_a_larger_error():
    points = {point.label: point for point in sweep("trainium3")}
    labels = ("exact", "24 bits RTZ", "16 bits RTZ", "8 bits RTZ")
    errors = [error_of(points[label], "layer", SHAPE) for label in labels]
    assert errors[0] < 1e-6
    assert errors == sorted(errors)
    assert errors[3] > 1e-3


def test_a_sweep_that_stopped_goes_on_where_it_was(in_process, tmp_path, monkeypatch, elsewhere):
    points = sweep("trainium3")[:2]
    # Log to a file: Dask copies functions and their closures.
    log = tmp_path / "asked"

    def failing(point, data, shape):
        with log.open("a") as file:
            file.write(f"{point.label}\n")
        if len(log.read_text().splitlines()) == 2:
            raise RuntimeError("stopped")
        return error_of(point, data, shape)

    def asked():
        return log.read_text().splitlines()

    monkeypatch.setattr(explore, "error_of", failing)
    with pytest.raises(
        SimulationError, match=r"1 of 2 results could not be worked out:\nexact, TF32 accumulator, layer: stopped"
    ):
        explore.explore(points, ["layer"], shape=SHAPE)
    assert len(explore.results_file().read_text().splitlines()) == 1
    # A partial line, as left by a sweep killed while writing.
    with explore.results_file().open("a") as file:
        file.write('{"key": "half')
    seen = []
    records = explore.explore(points, ["layer"], shape=SHAPE, progress=lambda *each: seen.append(each))
    assert seen[0] == (1, 2)
    assert seen[-1] == (2, 2)
    assert len(asked()) == 3
    assert [record["digest"] for record in records] == [point.digest for point in points]
    assert list(records[0]) == ["machine", "config", "digest", "area_ge", "error", "error_metric", "data", "pareto"]
    assert records[0]["error"] == error_of(points[0], "layer", SHAPE)
    # The third run has nothing to do, although the partial line is still there.
    assert explore.explore(points, ["layer"], shape=SHAPE) == records
    assert len(asked()) == 3


@pytest.mark.deep
@pytest.mark.filterwarnings("ignore")
def test_the_page_needs_nothing_from_outside(tmp_path):
    points = sweep("trainium3")[:3]
    records = [
        {
            "machine": "trainium3",
            "config": point.config,
            "digest": point.digest,
            "area_ge": 100.0 - index,
            "error": 10.0 ** (index - 5),
            "error_metric": "metric",
            "data": "layer",
            "pareto": True,
        }
        for index, point in enumerate(points)
    ]
    draw(points, records, "a flow", tmp_path / "x.png", tmp_path / "x.html")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "x.html").read_text()
    assert not [each for each in ("<script", "src=", "<link") if each in page]
    assert page.count("<title>exact: 100.0 GE, error 1e-05</title>") == 1
