"""Files of wave viewers: groups of every unit, GTKWave's save file and Surfer's command file."""

import json
import re
import shlex
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, E8M0, FP32
from bitpath.rtl.common.unit import DEFAULT_WAVES
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.engine.build import Emitter, emitted_files, rtl_emitter
from bitpath.sim.engine.runner import CASES, WAVE, SimulationError, build, run
from bitpath.sim.engine.tracing import port_fields
from bitpath.sim.study.waves import (
    OTHERS,
    ROWS,
    group_of,
    last_wave,
    opened_of,
    signals,
    traces_of,
    write_command_file,
    write_save_file,
)
from bitpath.verif.kit import marks
from bitpath.verif.kit.marks import COMPARED, UNNAMED, Marks
from bitpath.verif.kit.values import number_text
from bitpath.verif.tests.units.manners import LARGE

# The groups of every unit's save file: each has signals of the unit, and no signal is in none.


MODULE = re.compile(r"^module (\S+?) ?\(.*?^endmodule", re.MULTILINE | re.DOTALL)
SIGNAL = re.compile(r"^  (?:wire|reg) (?:signed )?(?:\[\d+:0\] )?\\?([^\s;]+)", re.MULTILINE)
INSTANCE = re.compile(r"^  \\?(\S+) +\\?(\S+) +\($", re.MULTILINE)


def paths_in(files: list[Path]) -> Iterator[str]:
    """Yield the paths of a design's signals below its top module, without those that Yosys named, as a wave has them."""
    bodies = {found[1].lstrip("\\"): found[0] for file in files for found in MODULE.finditer(file.read_text())}

    def below(module: str, start: str) -> Iterator[str]:
        yield from (start + name for name in SIGNAL.findall(bodies[module]) if "$" not in name)
        for inner, name in INSTANCE.findall(bodies[module]):
            yield from below(inner, f"{start}{name}.")

    return below(files[0].stem, "")


GROUPED = [name for name, unit in UNITS.items() if unit.waves is not DEFAULT_WAVES]
"""Units with groups of their own."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.deep] * (name in LARGE)) for name in GROUPED])
def test_each_group_has_signals(name):
    """In the default configuration, or in that of coverage: without pipeline stages a unit has no clock."""
    unit = UNITS[name]
    empty = {group.title for group in unit.waves}
    for config in (unit.config_type(), unit.covered.config):
        if empty:
            paths = list(paths_in(emitted_files(name, config)))
            found = {group_of(name, path) for path in paths}
            assert paths
            assert None not in found
            empty -= found
    assert not empty, f"no signal is in {', '.join(sorted(empty))}"


def test_a_signal_of_no_group_is_among_the_others():
    assert group_of("dge", "source.chunk") == "source"
    assert group_of("dge", "nothing_like_it") == OTHERS.title


# GTKWave opens waves of a broken design on the first mismatch, with all signals and the right numbers.


UNIT = "quad_mx_pe"
SIMULATORS = ("icarus", "verilator")
MOMENTS_PS = range(400_000, 480_000, 10_000)
"""Times of the displayed values: the bench has left its first reset and drives all inputs."""
SCRIPT = f"""
puts "OPENED marker [gtkwave::getMarker] from [gtkwave::getWindowStartTime] to [gtkwave::getWindowEndTime]"
proc show {{moment}} {{
    for {{set i 0}} {{$i < [gtkwave::getTotalNumTraces]}} {{incr i}} {{
        puts "TRACE $moment [gtkwave::getTraceNameFromIndex $i] = [gtkwave::getTraceValueAtMarkerFromIndex $i]"
    }}
}}
gtkwave::nop
show first
foreach moment {{{" ".join(map(str, MOMENTS_PS))}}} {{
    gtkwave::setMarker $moment
    gtkwave::nop
    show $moment
}}
exit 0
"""
BROKEN = """
  wire [31:0] whole;
  assign partial_south = whole ^ (whole[7:5] == 3'h3);
"""
"""A last place that is wrong in one result of eight."""


def emit_broken(unit, config, folder):
    """Emit the unit with a fault in its result."""
    emitted = rtl_emitter().emit(unit, config, folder)
    (source,) = emitted.files
    verilog = source.read_text()
    faulty = verilog.replace(".o__payload(partial_south)", ".o__payload(whole)")
    faulty = faulty.replace("\n  assign o__payload = partial_south", f"{BROKEN}  assign o__payload = whole", 1)
    assert faulty.count("whole") == 5
    source.write_text(faulty)
    return emitted


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Record a wave on each simulator; return its folder, which was moved, and GTKWave's output there."""
    for name in ("gtkwave", "xvfb-run"):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed: no wave is opened")
    shown = {}
    for simulator in SIMULATORS:
        base = tmp_path_factory.mktemp(simulator)
        script = base / "print.tcl"
        script.write_text(SCRIPT)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(base)
            unit = find_unit(UNIT)
            emitter = Emitter(emit_broken, rtl_emitter().sources)
            built = build(UNIT, unit.config_type(), simulator, waves=True, emitter=emitter)
            with pytest.raises(SimulationError, match="first mismatch"):
                run(built, unit.bench, seed=1, tests="loads_and_swaps_at_random/stall=none", env={CASES: "60"})
            moved = shutil.move(write_save_file(UNIT, last_wave(UNIT)).parent, base / "moved")
        command = ["xvfb-run", "--auto-servernum", "gtkwave", "--script", str(script), str(moved / f"{UNIT}.gtkw")]
        done = subprocess.run(command, cwd=base, capture_output=True, text=True, check=True, timeout=120)
        shown[simulator] = moved, done.stdout
    return shown


def traces(opened, simulator, moment="first"):
    """Return names and values that GTKWave displays at a moment, in order."""
    return re.findall(rf"^TRACE {moment} (.+) = (.*?) ?$", opened[simulator][1], re.MULTILINE)


def recorded(wave, name):
    """Return the values of a port at the moments, as a converter prints them."""
    text = subprocess.run(["fst2vcd", str(wave)], capture_output=True, text=True, check=True).stdout
    code = re.search(rf" (\S+) {name} \[", text)[1]
    changes = re.findall(rf"^#(\d+)$|^b([01]+) {re.escape(code)}$", text, re.MULTILINE)
    found, value = {}, 0
    for time, bits in changes:
        if time:
            found |= {moment: value for moment in MOMENTS_PS if moment not in found and moment < int(time)}
        else:
            value = int(bits, 2)
    return found


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.simulator
def test_gtkwave_finds_all_signals_of_the_save_file(opened, simulator):
    save = (opened[simulator][0] / f"{UNIT}.gtkw").read_text()
    aliases = re.findall(r"^\+\{(.+?)\}|^-(.+)", save, re.MULTILINE)
    assert len(aliases) > 500
    assert [name.strip() for name, _ in traces(opened, simulator)] == [alias or title for alias, title in aliases]


@pytest.mark.simulator
def test_both_simulators_display_the_same(opened):
    for moment in ("first", *MOMENTS_PS):
        first, second = (traces(opened, simulator, moment) for simulator in SIMULATORS)
        assert first == second


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.simulator
def test_it_opens_on_the_first_mismatch(opened, simulator):
    folder, text = opened[simulator]
    moment = int((folder / "first_mismatch").read_text())
    marker, start, end = map(int, re.search(r"^OPENED marker (\d+) from (\d+) to (\d+)", text, re.MULTILINE).groups())
    assert marker == moment
    assert start < moment < end < start + 400_000


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.simulator
def test_the_expected_value_is_beside_the_wrong_one(opened, simulator):
    """The numbers are those of the run's report; outputs that agree show no mismatch."""
    report = (opened[simulator][0] / "mismatches.txt").read_text()
    got, expected = (re.search(rf"{name} +0x(\w+) = (\S+)", report) for name in ("got", "expected"))
    lines = traces(opened, simulator)
    place = [name for name, _ in lines].index("partial_south FP32")
    values = [value for _, value in lines[place : place + 3]]
    assert [name for name, _ in lines[place + 1 : place + 3]] == [
        "partial_south FP32 expected",
        "partial_south mismatch",
    ]
    assert values == [got[2], expected[2], "1"]
    assert number_text(FP32, int(expected[1], 16)) == values[1]
    assert dict(lines)["mismatch"] == "1"
    assert dict(lines)["moving_east mismatch"] == "0"


@pytest.mark.simulator
def test_codes_are_displayed_in_the_format_that_the_operand_has(opened):
    words = recorded(opened["verilator"][0] / "dump.fst", "moving_east")
    assert {word >> 40 for word in words.values()} == {0, 1}
    for moment, word in words.items():
        values = dict(traces(opened, "verilator", moment))
        fmt = E5M2 if word >> 40 else E4M3FN
        for index in range(4):
            number = number_text(fmt, word >> 8 * index & 0xFF)
            assert values[f"moving_east/elements[{index}] E4M3FN/E5M2"] == number
        assert values["moving_east/scale E8M0"] == number_text(E8M0, word >> 32 & 0xFF)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.simulator
def test_the_save_file_names_no_folder(opened, simulator):
    folder, _ = opened[simulator]
    files = [folder / f"{UNIT}.gtkw", *folder.glob("*.filter"), *folder.glob("*.process")]
    assert len(files) > 3
    for file in files:
        text = file.read_text()
        assert str(folder.parent) not in text
        assert "site-packages" not in text
    assert not re.search(r'"/|^\^\S+ /', files[0].read_text(), re.MULTILINE)


# The save file groups the signals of a wave, and shows golden's values beside them, from the first mismatch on.


def test_no_wave_says_how_to_make_one(elsewhere):
    with pytest.raises(ValueError, match="no wave of 'psum'; run make sim UNIT=psum WAVES=1 first"):
        last_wave("psum")


def test_a_checked_design_has_waves_too(wave, tmp_path):
    folder = tmp_path / "build/check/my_dot/one"
    folder.mkdir(parents=True)
    with pytest.raises(ValueError, match="no wave of 'my_dot'; run bitpath check with --waves first"):
        last_wave("my_dot")
    (folder / WAVE).write_text(wave.read_text().replace("quad_mx_pe_00000000", "check_quad_mx_dot"))
    (folder / COMPARED).write_text("partial_south\n")
    text = write_save_file("my_dot", last_wave("my_dot")).read_text()
    assert "check_quad_mx_dot.expected__partial_south[31:0]" in text
    groups = {"o__payload": "bench", "dut.sum": "design", "given_1": None, "pin_12": None, "flat_0": None}
    assert {path: group_of("my_dot", path) for path in groups} == groups


def test_signals_are_named_as_gtkwave_knows_them(wave):
    assert [(signal.full, signal.width) for signal in signals(wave)][:3] == [
        ("quad_mx_pe_00000000.clk", 1),
        ("quad_mx_pe_00000000.partial_north[31:0]", 32),
        (r"quad_mx_pe_00000000.\moving_west.elements[0][7:0]", 8),
    ]


def test_the_save_file_groups_and_translates(wave):
    assert last_wave("quad_mx_pe") == wave
    text = write_save_file("quad_mx_pe", wave).read_text()
    lines = text.splitlines()
    order = [lines.index(line) for line in ("-clock", "-inputs", "-round", "-outputs")]
    assert order == sorted(order)
    number = "+{moving_west/elements[0] E4M3FN/E5M2} quad_mx_pe_00000000.number__moving_west__elements_0[8:0]"
    assert lines[lines.index(number) - 1].endswith(" E4M3FN-E5M2.filter")
    assert r"+{moving_west/scale E8M0} quad_mx_pe_00000000.\moving_west.scale[7:0]" in lines
    assert "+{partial_north FP32} quad_mx_pe_00000000.partial_north[31:0]" in lines
    assert "$1" not in text
    named = [line.split(" ", 1)[1] for line in lines if line.startswith("^")]
    assert named
    assert all((wave.parent / name).is_file() for name in named)


def test_expected_values_follow_the_outputs_that_were_compared(wave):
    lines = write_save_file("quad_mx_pe", wave).read_text().splitlines()
    shown = [line.split("} ")[0].removeprefix("+{") for line in lines if line.startswith("+")]
    place = shown.index("partial_south FP32")
    assert shown[place + 1 : place + 4] == ["partial_south FP32 expected", "partial_south mismatch", "swap_east"]
    assert "swap_east expected" not in shown
    assert shown[1] == "mismatch"


def test_values_that_were_read_from_a_memory_are_beside_the_clock(wave):
    (wave.parent / COMPARED).write_text(f"{UNNAMED}\n")
    clock = traces_of("quad_mx_pe", wave)["clock"]
    assert [trace.label for trace in clock] == ["clk", "mismatch", "compared value", "compared value expected"]
    assert [trace.signal.name for trace in clock[2:]] == ["mismatch__actual", "mismatch__expected"]


def test_the_first_mismatch_of_one_time_stays_in_the_wave(tmp_path, monkeypatch):
    """An engine's bench compares all words of a memory at one time; without a mismatch the wave shows the first one."""

    class Register:
        value = 0

        def __len__(self):
            return 8

    found = []
    monkeypatch.setattr(marks, "get_sim_time", lambda: len(found))
    monkeypatch.setenv("BITPATH_RECORDS", str(tmp_path / "records.jsonl"))
    dut = SimpleNamespace(mismatch=Register(), mismatch__actual=Register(), mismatch__expected=Register())
    show = Marks(dut).of("result memory", 0, 16)
    for values in ([(1, 1), (2, 2)], [(3, 3), (0x104, 5), (6, 7), (8, 8)], [(9, 9)]):
        for actual, expected in values:
            show(actual, expected)
        found.append((dut.mismatch.value, dut.mismatch__actual.value, dut.mismatch__expected.value))
    assert found == [(0, 1, 1), (1, 4, 5), (0, 9, 9)]
    assert (tmp_path / COMPARED).read_text() == f"{UNNAMED}\n"


def test_groups_are_open_as_far_as_the_window_shows_them():
    """The needed ones are open whatever their size."""
    groups = {
        title: [None] * lines for title, lines in (("clock", 3), ("large", ROWS), ("ports", ROWS - 8), ("more", 1))
    }
    assert opened_of(groups) == ["clock", "ports"]
    assert opened_of(groups, ["large"]) == ["clock", "large"]
    assert opened_of({"clock": [None] * 3, "ports": [None] * (ROWS - 7)}) == ["clock", "ports"]
    assert opened_of({"clock": [None] * 3, "ports": [None] * (ROWS - 6)}) == ["clock"]


@pytest.mark.parametrize(
    ("name", "title", "port"),
    [
        ("tensor_engine", "instructions", "instruction__valid"),
        ("core", "program", "program_tensor__valid"),
        ("tensix_engine", "commands", "command__valid"),
        ("tensix_core", "instructions", "words_0__valid"),
        ("aie_engine", "commands", "command__valid"),
        ("aie_tile", "state", "i__valid"),
    ],
)
def test_an_engines_wave_opens_on_its_commands(name, title, port):
    """The ports of the clock's group and of the next one fit the window, with the comparison of a memory's word."""
    config = UNITS[name].config_type()
    signature = UNITS[name].build(config).signature
    fields = port_fields(name, config)
    names = ["__".join(map(str, path)) for path, _, _ in signature.flatten(signature.create())]
    paths = [path for each in names for path in fields.get(each, [each])]
    inside = [path for path in paths if group_of(name, path) == title]
    assert port in inside
    clock = ["clk", "rst", "mismatch", "compared value", "compared value expected"]
    assert opened_of({"clock": clock, title: inside}) == ["clock", title]


def test_a_configuration_of_one_format_shows_that_one(wave):
    config = json.loads((wave.parent / "config.json").read_text())
    config["numerics"]["element_formats"] = ["E5M2"]
    (wave.parent / "config.json").write_text(json.dumps(config))
    assert "+{moving_west/elements[0] E5M2} " in write_save_file("quad_mx_pe", wave).read_text()
    assert (wave.parent / "E5M2.filter").read_text().splitlines()[0x7B] == "07b 57344"


def test_an_incomplete_wave_is_an_error(wave):
    wave.write_text(wave.read_text().partition("$enddefinitions")[0])
    with pytest.raises(ValueError, match=r"one/dump\.fst is incomplete: the run was killed before the simulator wrote"):
        write_save_file("quad_mx_pe", wave)


def test_the_wave_opens_at_the_first_mismatch(wave):
    (wave.parent / "first_mismatch").write_text("750000\n")
    lines = write_save_file("quad_mx_pe", wave).read_text().splitlines()
    assert "[timestart] 690000" in lines
    assert any(line.startswith("*-14.2") and line.split()[1:3] == ["750000", "750000"] for line in lines)
    assert "[markername] Afirst mismatch" in lines
    assert lines.index("-outputs") < lines.index("-inputs")
    assert lines[lines.index("-outputs") - 1] == "@800200"


def test_without_a_mismatch_the_wave_opens_on_its_first_cycles(wave):
    lines = write_save_file("quad_mx_pe", wave).read_text().splitlines()
    assert "[timestart] 0" in lines
    assert any(line.startswith("*-14.2") and line.split()[1] == "-1" for line in lines)


COMMANDS = {
    "load_file": r"[\w.]+",
    "divider_add": r"\w+",
    "variable_add": r"\w+\.\w+",
    "item_focus": r"[a-p]+_",
    "item_rename": r"[^#;]+",
    "item_set_format": r"[^#;]+",
    "item_unfocus": "",
    "zoom_in": "",
    "marker_set": r"\w+ \d+",
    "cursor_set": r"\d+",
}
"""Commands of Surfer that the project writes, with their arguments, after Surfer's documentation and command parser."""


def test_surfers_command_file(wave):
    """Items are numbered in the order in which they are added; formats are mapping files, or Surfer's own."""
    (wave.parent / "first_mismatch").write_text("750000\n")
    # Surfer's zoom depends on the time of the last change, in the header of an FST file.
    wave.write_bytes(wave.read_bytes()[:17] + struct.pack(">Q", 6_400_000) + wave.read_bytes()[17:])
    lines = write_command_file("quad_mx_pe", wave).read_text().splitlines()
    assert lines[0] == "# Open with: surfer --command-file quad_mx_pe.sucl"
    items, formats, focused = [], {}, None
    for line in lines[1:]:
        name, _, argument = line.partition(" ")
        assert re.fullmatch(COMMANDS[name], argument), line
        if name in ("divider_add", "variable_add"):
            items.append(argument)
        elif name == "item_focus":
            focused = items[int("".join(f"{ord(letter) - ord('a'):x}" for letter in argument[:-1]), 16)]
        elif name == "item_set_format":
            formats[focused.partition(".")[2]] = argument
    assert items[:2] == ["clock", "quad_mx_pe_00000000.clk"]
    assert formats == {
        "number__moving_west__elements_0": "E4M3FN-E5M2",
        "number__moving_west__scale": "E8M0",
        "partial_north": "FP: 32-bit IEEE 754",
        "partial_south": "FP: 32-bit IEEE 754",
        "expected__partial_south": "FP: 32-bit IEEE 754",
    }
    assert lines[-3:] == ["zoom_in", "marker_set first_mismatch 750000", "cursor_set 750000"]
    assert lines.count("zoom_in") == 5
    mapping = (wave.parent / ".surfer/mappings/E4M3FN-E5M2").read_text().splitlines()
    assert mapping[:2] == ["Name = E4M3FN-E5M2", "Bits = 9"]
    assert mapping[2 + 0x17B] == f"{0x17B} 57344"
    assert len(mapping) == 2 + 512


@pytest.mark.parametrize(("options", "file"), [("", "quad_mx_pe.gtkw"), ("--viewer surfer", "quad_mx_pe.sucl")])
def test_a_missing_viewer_is_an_error_that_names_the_file(wave, bitpath, monkeypatch, options, file):
    monkeypatch.setattr("bitpath.sim.engine.tools.find", lambda _: None)
    status, _, error = bitpath("waves", "quad_mx_pe", *shlex.split(options))
    assert status == 3
    viewer = "surfer" if options else "gtkwave"
    shown = (wave.parent / file).relative_to(wave.parents[4])
    assert error == f"bitpath: {viewer} not found; open {shown} with it\n"
    assert (wave.parent / file).exists()
