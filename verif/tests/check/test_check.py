# amaranth: UnusedElaboratable=no
"""``bitpath check``: the example design passes, a broken one fails with its operands, and emitted Verilog is its own partner."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.emit import emit, emit_flat, verilog_text
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot, dot_layout
from bitpath.rtl.units import UNITS
from bitpath.sim.engine import check as checks
from bitpath.sim.engine.design import Sources, read_design, read_map
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.study.waves import last_wave, traces_of
from bitpath.verif.common.dot.directed_corners import near_boundaries
from bitpath.verif.kit.code_mutants import FAULTS, QUICK, mutated
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.testplan import covers

EXAMPLE = Path(__file__).resolve().parents[3] / "docs/examples/mx_dot4"
SOURCE, MAP = EXAMPLE / "mx_dot4.sv", EXAMPLE / "ports.toml"
TESTS = "random_classes/pace=both|latency|reset"
FREE = """
module free_dot (input clk, input [113:0] in, output [31:0] result);
  mx_dot4 dot (
    .clk_i(clk), .rst_ni(1'b1), .valid_i(1'b1), .ready_o(), .valid_o(), .ready_i(1'b1), .w_i(in[31:0]),
    .w_scale_i(in[39:32]), .w_e5m2_i(in[40]), .x_i(in[72:41]), .x_scale_i(in[80:73]), .x_e5m2_i(in[81]), .acc_i(in[113:82]),
    .result_o(result)
  );
endmodule
"""
FREE_MAP = """
rst = "open"
i_payload = "in"
i_valid = "open"
i_ready = 1
o_payload = "result"
o_ready = "open"
o_valid = "delay 3"
"""


@pytest.fixture
def check(bitpath, monkeypatch):
    """Run ``bitpath check`` with few random cases."""
    monkeypatch.setenv("BITPATH_CASES", "60")
    return lambda *arguments: bitpath("check", *arguments)


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.deep)])
@pytest.mark.simulator
def test_the_example_passes(simulator, check, tmp_path):
    """Latency 3 is checked with all else; the records name the files."""
    options = (
        "--unit",
        "quad_mx_dot",
        "--map",
        MAP,
        "--sim",
        simulator,
        "--latency",
        "3",
        "--filter",
        TESTS,
        "--seed",
        "1",
        *(("--volume", "20000") if simulator == "verilator" else ()),
    )
    status, out, err = check(SOURCE, *options, "--cases", "70", "--json", "--junit", "run.xml")
    assert not status, err
    found = json.loads(out)
    played = found.pop("volume", {"vectors": 0, "mismatches": 0})
    assert (played["vectors"], played["mismatches"]) == (20000 if simulator == "verilator" else 0, 0)
    assert found["skipped"] == []
    assert (found["unit"], found["top"], found["passed"], found["first_mismatch"]) == (
        "quad_mx_dot",
        "mx_dot4",
        True,
        None,
    )
    assert [len(digest) for digest in found["files"].values()] == [64]
    assert found["compared"] - played["vectors"] >= 70 + 20
    root = ElementTree.parse(tmp_path / "run.xml").getroot()
    cases = [case.get("name") for case in root.iter("testcase")]
    assert len(found["tests"]) == 3
    assert {*found["tests"], *(["volume"] if played["vectors"] else [])} <= set(cases)
    assert not list(root.iter("failure"))


DOTS = EXAMPLE.parent / "dots"
"""Designs in the style of what people have: unit, options, what passes over a difference, and the field that names it."""
STYLES = {
    "mx_dot8.sv": ("dot_product", (), "zero-sign", "zero_sign = always plus"),
    "FusedDot.v": ("dot_product", (), None, None),
    "acc_pe.sv": ("dot_accumulator", (), None, None),
}


@pytest.mark.parametrize(
    "file", [*(pytest.param(each, marks=pytest.mark.deep) for each in list(STYLES)[:2]), "acc_pe.sv"]
)
@pytest.mark.simulator
def test_designs_of_other_styles_come_in_by_a_map(file, bitpath):
    """Each passes; its fault is found; a difference can be named and passed over."""
    unit, options, excepted, names = STYLES[file]
    design = DOTS / file
    options = ("--unit", unit, "--map", design.with_suffix(".toml"), *options, "--seed", "1")
    if design.with_suffix(".json").exists():
        options += ("--numerics", design.with_suffix(".json"))
    if excepted:
        status, _, err = bitpath("check", design, *options)
        assert status == 1
        assert re.search(rf"one other field gives all \d+ results: {names}\n", f"{err}\n")
        options += ("--except", excepted)
    status, out, err = bitpath("check", design, *options)
    assert not status, err
    assert (f"differences passed over: {excepted}" in out) == bool(excepted)
    if file == "FusedDot.v":
        status, out, err = bitpath("check", design, *options, "--filter", "corners", "--volume", "60000", "--json")
        assert not status, err
        assert json.loads(out)["volume"]["vectors"] == 60_000
    status, out, err = bitpath("check", design, *options, "-D", "FAULT", "--json", "--mismatches", "0")
    assert status == 1
    found = json.loads(out)
    assert found["mismatches"] >= 5
    assert "-D FAULT" in found["replay"]
    assert "first mismatch: " in err


WEIGHTS = """
module ws_pe (
  input clk, input rst_n, input load_i, input en_i, input [15:0] w_i, input [15:0] a_i, input [31:0] psum_i, output reg [15:0] a_o,
  output reg [31:0] psum_o
);
  reg [15:0] w;
  wire [31:0] sum;
  FusedDot dot (
    .clock(1'b0), .reset(1'b0), .io_a_0(a_i), .io_a_1(16'd0), .io_a_2(16'd0), .io_a_3(16'd0), .io_b_0(w), .io_b_1(16'h8000),
    .io_b_2(16'h8000), .io_b_3(16'h8000), .io_c(psum_i), .io_out(sum)
  );
  always @(posedge clk) if (load_i) w <= w_i;
  always @(posedge clk) if (en_i) {a_o, psum_o} <= {a_i, sum};
endmodule
"""
WEIGHTS_MAP = """
rst = "~rst_n"
i_valid = "load_i"
i_ready = 1
i_stationary_elements = "w_i"
i_moving_elements = {port = "a_i", after = 1}
i_partial = {port = "psum_i", after = 1}
o_valid = "delay 2"
o_ready = "open"
o_payload = "psum_o"
[design]
a_o = "open"
en_i = {from = "i_valid", after = 1}
"""


@pytest.mark.deep
@pytest.mark.simulator
def test_a_weight_stationary_pe_takes_its_operands_a_cycle_after_the_weight(bitpath, tmp_path):
    file, ports, numerics = (tmp_path / name for name in ("ws_pe.v", "ws_pe.toml", "ws_pe.json"))
    file.write_text(WEIGHTS)
    numerics.write_text('{"element_formats": ["FP16"]}')
    options = (
        file,
        DOTS / "FusedDot.v",
        "--unit",
        "multiply_add",
        "--map",
        ports,
        "--numerics",
        numerics,
        "--seed",
        "1",
    )
    ports.write_text(WEIGHTS_MAP)
    status, _, err = bitpath("check", *options)
    assert not status, err
    ports.write_text(WEIGHTS_MAP.replace('"psum_i", after = 1', '"psum_i", after = 2'))
    assert bitpath("check", *options)[0] == 1
    stalls = WEIGHTS_MAP.replace('o_ready = "open"', 'o_ready = "en_i"').replace("en_i = {", "# {")
    ports.write_text(stalls.replace('"delay 2"', "1"))
    status, _, err = bitpath("check", *options)
    assert (status, '"after" needs a clock, and a ready of the results that is "open"' in err) == (2, True)


@pytest.mark.simulator
def test_a_field_that_differs_is_named(bitpath, tmp_path):
    """The accumulating PE truncates; a record that rounds is told so, and an expression over operands excepts the rest."""
    record = json.loads((DOTS / "acc_pe.json").read_text()) | {"accumulator_rounding": "rne"}
    numerics = tmp_path / "rounded.json"
    numerics.write_text(json.dumps(record))
    options = ("--unit", "dot_accumulator", "--map", DOTS / "acc_pe.toml", "--numerics", numerics, "--seed", "1")
    status, _, err = bitpath("check", DOTS / "acc_pe.sv", *options, "--filter", "pace=gaps")
    assert status == 1
    assert re.search(r"one other field gives all \d+ results: accumulator_rounding = rtz", err)
    status, out, err = bitpath(
        "check", DOTS / "acc_pe.sv", *options, "--filter", "pace=gaps", "--except", "i_stationary_elements_0 >= 0"
    )
    assert not status, err
    assert re.search(r"[1-9]\d* differences passed over: i_stationary_elements_0 >= 0", out)
    status, _, err = bitpath("check", DOTS / "acc_pe.sv", *options, "--except", "nothing > 1")
    assert status == 2
    assert (
        "--except must be zero-sign, nan-code, flushed, or an expression over got, expected, distance and operands"
        in err
    )
    numerics.write_text(json.dumps(record | {"roundings": 1}))
    status, _, err = bitpath("check", DOTS / "acc_pe.sv", *options)
    assert (status, "missing or unknown fields: roundings" in err) == (2, True)


@pytest.mark.skipif(shutil.which("fst2vcd") is None, reason="fst2vcd, which comes with GTKWave, is not installed")
@pytest.mark.simulator
def test_the_wave_shows_each_field_of_the_operands(check):
    """Fields are those of golden's operands, and have the values of the design's ports."""
    options = ("--unit", "quad_mx_dot", "--map", MAP, "--filter", "latency", "--sim", "icarus", "--waves")
    status, _, err = check(SOURCE, *options)
    assert not status, err
    wave = last_wave("mx_dot4")
    elements = [f"elements[{index}] E4M3FN/E5M2" for index in range(4)]
    fields = [f"{side}/{field}" for side in ("moving", "stationary") for field in (*elements, "format", "scale E8M0")]
    shown = {trace.label for trace in traces_of("mx_dot4", wave)["bench"] if trace.path.startswith("i__payload")}
    assert shown == {f"i__payload/{field}" for field in (*fields, "partial FP32")}
    text = subprocess.run(["fst2vcd", str(wave)], capture_output=True, text=True, check=True).stdout

    def changes(name):
        code = re.search(rf"^\$var \w+ \d+ (\S+) {re.escape(name)} ", text, re.MULTILINE)[1]
        return re.findall(rf"^(?:b([01x]+) |([01x])){re.escape(code)}$", text, re.MULTILINE)

    for field, port in (("moving.scale", "x_scale_i"), ("stationary.format", "w_e5m2_i"), ("partial", "acc_i")):
        assert len(changes(port)) > 3
        assert changes(rf"\i__payload.{field}") == changes(port)


@pytest.fixture
def broken(tmp_path):
    """The example with a wrong exponent of subnormal elements."""
    text, count = re.subn(r"    if \(field == 0\) field = 1;.*\n", "", SOURCE.read_text())
    assert count == 1
    file = tmp_path / "dot_without_subnormals.sv"
    file.write_text(text.replace("module mx_dot4", "module dot_without_subnormals"))
    return file


@pytest.mark.simulator
def test_a_broken_design_fails_and_its_replay_line_shows_the_same(broken, check, tmp_path):
    options = ("--unit", "quad_mx_dot", "--map", MAP, "--filter", "random_classes/pace=gaps")
    status, out, err = check(broken, *options, "--json", "--junit", "run.xml")
    assert status == 1
    found = json.loads(out)
    assert not found["passed"]
    assert found["mismatches"] > 0
    first = found["first_mismatch"]
    # A long list of numbers has several lines.
    assert re.search(r"stationary +E[45]M[23].* 0x.*\n +moving +E[45]M[23]", first, re.DOTALL)
    assert re.search(r"explain +bitpath explain trainium3 --stationary [0-9a-f,]+ .*--moving ", first)
    assert first in err
    failures = list(ElementTree.parse(tmp_path / "run.xml").getroot().iter("failure"))
    assert failures
    assert all(first in failure.text for failure in failures)
    assert f"replay: {found['replay']}" in err
    words = shlex.split(found["replay"])
    assert words[:2] == ["bitpath", "check"]
    status, _, again = check(*(word for word in words[2:] if word != "--waves"))
    assert status == 1
    assert first in again


@pytest.fixture
def losing(tmp_path):
    """Verilog of the unit that loses the far sticky bits of subnormal results."""
    with mutated(*FAULTS[QUICK]):
        text, _ = verilog_text(UNITS["quad_mx_dot"].build(DotConfig()), "losing_dot")
    file = tmp_path / "losing_dot.v"
    file.write_text(text)
    return file


@covers("quad_mx_dot.boundary")
@pytest.mark.deep
@pytest.mark.simulator
def test_a_lost_sticky_bit_fails_with_default_options(losing, bitpath):
    status, _, err = bitpath("check", losing, "--unit", "quad_mx_dot")
    assert status == 1
    assert "first mismatch: directed_corners" in err


@pytest.mark.deep
@pytest.mark.parametrize("options", [(), ("--volume", "1000000")], ids=["bench", "volume"])
@pytest.mark.simulator
def test_a_lost_sticky_bit_is_found_in_volume(losing, check, tmp_path, options):
    """The random classes of the bench pass; a million vectors do not, and the replay line plays the first that differs."""
    status, out, err = check(
        losing, "--unit", "quad_mx_dot", "--filter", "random", "--seed", "4", *options, "--json", "--junit", "run.xml"
    )
    found = json.loads(out)
    root = ElementTree.parse(tmp_path / "run.xml").getroot()
    failures = list(root.iter("failure"))
    if not options:
        assert not status, err
        assert "volume" not in found
        assert not failures
        return
    assert status == 1
    assert found["tests"] == found["failed"] == ["volume"]
    assert found["compared"] == found["volume"]["vectors"] == 1_000_000
    assert found["mismatches"] == found["volume"]["mismatches"] > 100
    assert re.search(r"stationary +E5M2.*\n +moving +E5M2.*\n.*\n +got .*\n +expected .*\n +distance +1 ulp\n", err)
    assert found["first_mismatch"] in err
    assert [case.get("name") for case in root.iter("testcase")] == ["volume"]
    assert [found["first_mismatch"] in failure.text for failure in failures] == [True]
    words = shlex.split(found["replay"])
    assert words[-6:-4] == ["--vector", "volume-trainium3"]
    got = re.search(r" got +(0x[0-9a-f]+)", err)[1]
    status, _, again = check(*(word for word in words[2:] if word != "--waves"))
    assert status == 1
    assert re.search(rf"got +{got}", again)


@pytest.mark.deep
@pytest.mark.parametrize(("unit", "vectors"), [("dot16", 5001), ("fidelity_multiplier", 5000), ("mac_lane", 5000)])
@pytest.mark.simulator
def test_every_kind_of_interface_is_played(unit, vectors, bitpath, tmp_path):
    """Streams of two tasks, a combinational unit with a sweep, and a lane without handshake."""
    (file,) = emit_flat(unit, UNITS[unit].config_type(), tmp_path / "emitted").files
    options = ("--unit", unit, "--volume", vectors, "--cases", "20", "--filter", "random|bits_outside", "--seed", "1")
    status, out, err = bitpath("check", file, *options, "--json")
    assert not status, err
    assert json.loads(out)["volume"] | {"seconds": 0} == {"vectors": vectors, "mismatches": 0, "seconds": 0}


@pytest.mark.deep
@pytest.mark.simulator
def test_a_design_that_gives_no_results_fails_in_volume(check, tmp_path):
    ports = tmp_path / "ports.toml"
    ports.write_text(MAP.read_text().replace('o_valid = "valid_o"', "o_valid = 0") + '[design]\nvalid_o = "open"\n')
    status, out, err = check(
        SOURCE,
        "--unit",
        "quad_mx_dot",
        "--map",
        ports,
        "--volume",
        "1000",
        "--seed",
        "1",
        "--json",
        "--junit",
        "run.xml",
    )
    assert status == 1
    assert "failed behind answer 0: the model gave no further answer" in err
    assert not json.loads(out)["passed"]
    assert len(list(ElementTree.parse(tmp_path / "run.xml").getroot().iter("failure"))) == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--unit", "quad_mx_pe", "--volume", "10"), r"--volume needs vectors with golden's answers, .*quad_mx_dot, "),
        (("--unit", "quad_mx_dot", "--volume", "10", "--sim", "icarus"), "--volume must run on verilator, not icarus"),
        (("--unit", "quad_mx_dot", "--volume", "10", "--seed", "-1"), "--seed must be 0 or more for the vectors"),
        (("--unit", "quad_mx_dot", "--volume", "10", "--vector", "a", "0", "0", "0"), "go one at a time"),
        (("--unit", "quad_mx_dot", "--volume", "0"), "0 is not in the range x>=1"),
        (("--unit", "quad_mx_dot", "--cases", "0"), "0 is not in the range x>=1"),
        (
            ("--unit", "quad_mx_dot", "--vector", "volume-tensix", "0", "0", "0"),
            "--vector must be 'volume-trainium3', not",
        ),
        (("--unit", "quad_mx_dot", "--vector", "volume-trainium3", "0", "99", "0"), "batch must be 0 to 35 of block 0"),
    ],
)
@pytest.mark.simulator
def test_what_volume_refuses(options, says, check):
    status, _, err = check(SOURCE, "--map", MAP, *options)
    assert status == 2
    assert re.search(says, err)


@pytest.mark.deep
@pytest.mark.simulator
def test_a_design_without_handshake_or_reset(check, tmp_path):
    """A plain datapath: the wrapper delays valid, queues results, and keeps the bench's stalls from the design."""
    file, ports = tmp_path / "free_dot.sv", tmp_path / "free.toml"
    file.write_text(FREE)
    ports.write_text(FREE_MAP)
    status, _, err = check(
        file, SOURCE, "--unit", "quad_mx_dot", "--map", ports, "--filter", "random|latency|reset", "--seed", "2"
    )
    assert not status, err
    ports.write_text(FREE_MAP.replace("delay 3", "delay 2"))
    status, _, err = check(file, SOURCE, "--unit", "quad_mx_dot", "--map", ports, "--filter", "latency", "--seed", "2")
    assert status == 1
    assert "first mismatch: latency" in err


@pytest.mark.simulator
def test_an_emitted_flat_module_needs_no_map(check, tmp_path):
    unit = UNITS["fidelity_multiplier"]
    (file,) = emit_flat(unit.name, unit.config_type(), tmp_path / "emitted").files
    status, out, err = check(file, "--unit", unit.name, "--filter", "bits_outside", "--seed", "1")
    assert not status, err
    assert re.search(r"[1-9]\d* tests passed, .*[1-9]\d+ values compared, seed 1", out)


@pytest.mark.simulator
def test_refusals_have_status_2(check, tmp_path):
    status, _, err = check(SOURCE, "--unit", "quad_mx_dot")
    assert status == 2
    assert err.startswith("bitpath: mx_dot4 has no port i_stationary_elements_0 of quad_mx_dot, an input of 8 bits")
    status, _, err = check(SOURCE, "--unit", "quad_mx_dot", "--map", MAP, "--filter", "(")
    assert (status, "--filter: '(' is not a regular expression" in err) == (2, True)
    status, _, err = check(SOURCE, "--unit", "dot", "--map", MAP)
    assert (status, "unknown unit 'dot'" in err) == (2, True)
    file = tmp_path / "mx_dot4.sv"
    # Verilator takes the struct; Icarus does not.
    file.write_text(SOURCE.read_text().replace("endmodule", "  struct { int a; } s;\nendmodule"))
    status, _, err = check(file, "--unit", "quad_mx_dot", "--map", MAP, "--sim", "icarus")
    assert status == 2
    assert re.match(r"bitpath: icarus rejects mx_dot4: \S*mx_dot4\.sv:\d+: sorry: Unpacked structs", err)


@pytest.mark.simulator
def test_the_same_files_elsewhere_are_another_build(tmp_path, monkeypatch):
    """A copy is not built from files that may be gone, and may be built while the original runs."""
    keys = []

    def stop(unit, *_, emitter, **__):
        keys.append((unit, emitter.key))
        raise SimulationError("stop")

    monkeypatch.setattr(checks, "build", stop)
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path(SOURCE.name).write_text(SOURCE.read_text())
        design = read_design(Sources((Path(SOURCE.name),)), "mx_dot4", {})
        config = DotConfig(pipeline=PipelineConfig(stages=1))
        with pytest.raises(SimulationError, match="stop"):
            checks.build_design("quad_mx_dot", config, design, read_map(MAP), "verilator")
    assert [len(set(each)) for each in zip(*keys, strict=True)] == [2, 2]


@pytest.mark.deep
@pytest.mark.parametrize("flat", [True, False], ids=["flat", "packed"])
@pytest.mark.parametrize(
    "unit",
    [
        "quad_mx_dot",
        "quad_mx_pe",
        "element_map",
        "psum",
        "dot16",
        "unpacker",
        "reciprocal",
        "srs",
        "mac_lane",
        "cascade_link",
    ],
)
@pytest.mark.simulator
def test_emitted_verilog_passes_its_own_bench(unit, flat, bitpath, tmp_path):
    config = UNITS[unit].covered.config
    (file,) = (emit_flat if flat else emit)(unit, config, tmp_path / "emitted").files
    chosen = tmp_path / "emitted/manifest.json"
    settings = tmp_path / "config.json"
    settings.write_text(json.dumps(json.loads(chosen.read_text())["config"]))
    status, _, err = bitpath("check", file, "--unit", unit, "--config", settings, "--seed", "1")
    assert not status, err


# The corners of each boundary find the RTL's fault there.


CONFIG = DotConfig(pipeline=PipelineConfig(stages=0))


class Bare(wiring.Component):
    """The dot product without its handshake."""

    operands: In(width(dot_layout(CONFIG.numerics)))
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dot = dot = QuadMxDot(CONFIG)
        m.d.comb += [dot.i.p.eq(self.operands), self.o.eq(dot.o.p)]
        return m


@covers("quad_mx_dot.boundary")
@pytest.mark.parametrize(
    "name", [QUICK, *(pytest.param(each, marks=pytest.mark.deep) for each in FAULTS if each != QUICK)]
)
def test_the_corners_of_a_boundary_find_a_lost_sticky_bit(name, evaluate):
    numerics, layout = CONFIG.numerics, dot_layout(CONFIG.numerics)
    cases = [each.case for each in near_boundaries(numerics, Random(1)) if each.bin == f"boundary/{name}"]
    with mutated(*FAULTS[name]):
        got = evaluate(Bare(), [{"operands": pack(layout, case.fields(numerics))} for case in cases])
    assert got != [case.trace(numerics).result for case in cases]
