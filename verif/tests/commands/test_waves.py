"""Viewers' files show a wave's signals in groups, in the formats that the design selects, beside golden's values."""

import json
import os
import re
import shlex
import struct
import subprocess

import pytest

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E2M1, E4M3, E4M3FN, E5M2, E8M0, FP16, FP32
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.common.config import to_dict
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.units import find_unit
from bitpath.sim.engine import tracing
from bitpath.sim.engine.numbers.selected import rule_of
from bitpath.sim.engine.numbers.shown import single
from bitpath.sim.engine.runner import WAVE
from bitpath.sim.waves.filters import Filters
from bitpath.sim.waves.groups import formats_of, group_of
from bitpath.sim.waves.save import write_save_file
from bitpath.sim.waves.surfer import write_command_file
from bitpath.sim.waves.traces import last_wave, signals
from bitpath.verif.kit.marks import COMPARED
from bitpath.verif.kit.values import Integer, number_text

VCD = r"""$timescale 1ps $end
$scope module quad_mx_pe_00000000 $end
$var wire 1 ! clk $end
$var wire 32 # partial_north [31:0] $end
$var wire 8 $ \moving_west.elements[0] [7:0] $end
$var wire 8 % \moving_west.scale [7:0] $end
$var wire 9 ( number__moving_west__elements_0 [8:0] $end
$var wire 1 ) \moving_west.format $end
$var wire 8 * number__moving_west__scale [7:0] $end
$var wire 32 + partial_south [31:0] $end
$var wire 32 , expected__partial_south [31:0] $end
$var wire 1 - mismatch__partial_south $end
$var wire 1 . swap_east $end
$var wire 1 / expected__swap_east $end
$var wire 1 : mismatch $end
$var wire 1 & \$1 $end
$scope module dot $end
$scope module round $end
$var wire 1 ' sign $end
$upscope $end
$upscope $end
$upscope $end
$enddefinitions $end
#0
"""


@pytest.fixture
def wave(tmp_path, elsewhere, monkeypatch):
    """A wave whose converter prints it as it is."""
    folder = tmp_path / "build/runs/quad_mx_pe-00000000/one"
    folder.mkdir(parents=True)
    (folder / WAVE).write_text(VCD)
    (folder / COMPARED).write_text("partial_south\n")
    (folder / "config.json").write_text(json.dumps(to_dict(find_unit("quad_mx_pe").config_type())))
    converter = tmp_path / "bin/fst2vcd"
    converter.parent.mkdir()
    converter.write_text('#!/bin/sh\nexec cat "$1"\n')
    converter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{converter.parent}{os.pathsep}{os.environ['PATH']}")
    return folder / WAVE


def test_no_wave_says_how_to_make_one(elsewhere):
    with pytest.raises(ValueError, match="no wave of 'psum'; run make sim UNIT=psum WAVES=1 first"):
        last_wave("psum")


def test_a_checked_design_has_waves_too(wave, tmp_path):
    folder = tmp_path / "build/check/my_dot/one"
    folder.mkdir(parents=True)
    with pytest.raises(ValueError, match="no wave of 'my_dot'; run bitpath check with --waves first"):
        last_wave("my_dot")
    (folder / WAVE).write_text(VCD.replace("quad_mx_pe_00000000", "check_quad_mx_dot"))
    (folder / COMPARED).write_text("partial_south\n")
    text = write_save_file("my_dot", last_wave("my_dot")).read_text()
    assert "check_quad_mx_dot.expected__partial_south[31:0]" in text
    assert (group_of("my_dot", "o__payload"), group_of("my_dot", "dut.sum"), group_of("my_dot", "design_1")) == (
        "bench",
        "design",
        None,
    )


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


def test_a_configuration_of_one_format_shows_that_one(wave):
    config = json.loads((wave.parent / "config.json").read_text())
    config["numerics"]["element_formats"] = ["E5M2"]
    (wave.parent / "config.json").write_text(json.dumps(config))
    assert "+{moving_west/elements[0] E5M2} " in write_save_file("quad_mx_pe", wave).read_text()
    assert (wave.parent / "E5M2.filter").read_text().splitlines()[0x7B] == "07b 57344"


def test_an_incomplete_wave_is_an_error(wave):
    wave.write_text(VCD.partition("$enddefinitions")[0])
    with pytest.raises(ValueError, match=r"one/dump\.fst is incomplete: the run was killed before the simulator wrote"):
        write_save_file("quad_mx_pe", wave)


def test_the_wave_opens_at_the_first_mismatch(wave):
    (wave.parent / "first_mismatch").write_text("750000\n")
    lines = write_save_file("quad_mx_pe", wave).read_text().splitlines()
    assert "[timestart] 690000" in lines
    assert any(line.startswith("*-14.2") and line.split()[1:3] == ["750000", "750000"] for line in lines)
    assert "[markername] Afirst mismatch" in lines
    assert lines.index("-outputs") < lines.index("-inputs")


def test_without_a_mismatch_the_wave_opens_on_its_first_cycles(wave):
    lines = write_save_file("quad_mx_pe", wave).read_text().splitlines()
    assert "[timestart] 0" in lines
    assert any(line.startswith("*-14.2") and line.split()[1] == "-1" for line in lines)


@pytest.mark.parametrize(
    ("fmt", "code", "number"),
    [
        (E4M3FN, 0x7E, "448"),
        (E4M3FN, 0x7F, "NaN"),
        (E5M2, 0xFC, "-inf"),
        (E2M1, 0x9, "-0.5"),
        (E8M0, 0x00, "2^-127"),
        (E8M0, 0xFE, "2^127"),
    ],
)
def test_filter_files_say_the_number(tmp_path, fmt, code, number):
    lines = (tmp_path / Filters(tmp_path).file(single(fmt), fmt.width)).read_text().splitlines()
    assert len(lines) == 1 << fmt.width
    assert lines[code] == f"{code:0{-(-fmt.width // 4)}x} {number}"


@pytest.mark.parametrize("fmt", [fmt for fmt in CATALOGUE.values() if fmt.width <= 16], ids=lambda fmt: fmt.name)
def test_the_filter_says_what_reports_say(fmt):
    shown = single(fmt)
    codes = range(1 << fmt.width) if fmt.width <= 8 else range(0, 1 << fmt.width, 7)
    assert [shown.text(code) for code in codes] == [number_text(fmt, code) for code in codes]


@pytest.mark.parametrize(
    ("fmt", "asked", "answered"),
    [(FP32, "3f800000\n7fc00000\nx\n80000000\n", ["1", "NaN", "x", "-0"]), (BF16, "c0a0\n", ["-5"])],
)
def test_filter_processes_answer_each_line_without_bitpath(tmp_path, fmt, asked, answered):
    program = tmp_path / Filters(tmp_path).process(single(fmt))
    moved = (tmp_path / "elsewhere").absolute()
    moved.mkdir()
    for file in (program, program.with_name("filter.py")):
        file.rename(moved / file.name)
    done = subprocess.run(
        [moved / program.name],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() in (answered, asked.split())
    done = subprocess.run([moved / program.name], input=asked, capture_output=True, text=True, check=True)
    assert done.stdout.split() == answered


def test_without_python_a_filter_process_returns_the_codes(tmp_path):
    program = tmp_path / Filters(tmp_path).process(single(FP32))
    done = subprocess.run(
        [program],
        env={"PATH": str(_only(tmp_path, "cat"))},
        input="3f800000\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "3f800000\n"


def _only(folder, name):
    """Return a folder with one program."""
    (folder / "bin").mkdir()
    (folder / "bin" / name).symlink_to(f"/bin/{name}")
    return folder / "bin"


def test_tables_name_formats_and_groups():
    assert group_of("quad_mx_pe", "dot.terms.fixed_0.o") == "align"
    assert group_of("quad_mx_pe", "dot.total.o") == "sum"
    assert group_of("quad_mx_pe", "dot.fine.o") == "normalize"
    assert group_of("quad_mx_pe", "dot.multiply_3.a") == "products"
    assert group_of("quad_mx_pe", "nosuch") is None
    assert group_of("element_map", "o__valid") == "ports and registers"
    assert formats_of("dot.i__payload.partial", 32) == (FP32,)
    assert formats_of("o__payload.codes[3]", 8) == (E4M3FN, E5M2)
    assert formats_of("o__payload.block.codes[3]", 8) == (Integer(8),)
    assert formats_of("partial_south", 16) == ()


def chosen(name, width, *selectors):
    """Return the display of a signal beside its selecting signals."""
    rule, found = rule_of(name, width, dict.fromkeys(selectors))
    assert found == selectors
    return rule.shown({"numerics": {"element_formats": ["E4M3FN", "E5M2"]}}, width)


def test_selected_formats_of_all_machines():
    """The highest bits of a value select the format of the code below, wherever it is in the word."""
    operand = chosen("moving.elements[2]", 8, "moving.format")
    assert [operand.text(choice << 8 | 0x7B) for choice in (0, 1)] == [number_text(fmt, 0x7B) for fmt in (E4M3FN, E5M2)]
    block = chosen("i__payload.elements[31]", 16, "i__payload.control.source")
    assert [block.text(choice << 16 | 0x3E00) for choice in (0, 1)] == [
        number_text(fmt, 0x3E00) for fmt in (BF16, FP16)
    ]
    mapped = chosen("word.elements", 32, "format")
    assert mapped.text(2 << 12 | 0x5 << 8 | 0x38) == number_text(E2M1, 5)
    assert mapped.text(0 << 12 | 0x5 << 8 | 0x38) == "1"
    assert mapped.text(3 << 12 | 0x538) == "538"
    lane = chosen("multiply__i.x", 128, "multiply__i.control.mode", "multiply__i.control.x_format")
    value = 0xC0A0 << 8 | 0x7B
    for index, fmt in enumerate(FLOAT8_FORMATS):
        assert lane.text((MacMode.FLOAT8.value << 3 | index) << 24 | value) == number_text(fmt, 0x7B)
    for index, fmt in enumerate(FLOAT16_FORMATS):
        assert lane.text((MacMode.FLOAT16.value << 3 | index) << 24 | value) == number_text(fmt, 0xC0A0)
    assert lane.text(MacMode.INT16.value << 27 | value) == str(0xC0A0 - 0x10000)
    decode = chosen("multiply__code", 16, "multiply__is_fp8", "multiply__format")
    assert decode.text(1 << 19 | 0x7B) == number_text(E4M3, 0x7B)
    assert decode.text(1 << 16 | 0xC0A0) == number_text(BF16, 0xC0A0)
    datum = chosen("i__payload.datums", 512, "i__payload.control.l1_format")
    word = 0x3F800000 << 30 | 0xC0A0 << 14 | 0x85 << 6 | 0xB << 2 | 0x3
    numbers = {"FP32": "1", "BF16": "-5", "INT8": "-5", "BFP4": "-3", "BFP2": "-1"}
    assert {name: datum.text(Format[name].value << 62 | word) for name in numbers} == numbers
    source = chosen("i__payload.src_a[15]", 20, "i__payload.control.style")
    for style, number in ((Style.BF16, "-1.5"), (Style.TF32, "-1.5"), (Style.INT8, "-1536")):
        code = 1 << 19 | (0 if style is Style.INT8 else 127) << 11 | 0x600
        assert source.text(StyleCode.of(style).value << 20 | code) == number
    assert source.text(StyleCode.FP16.value << 20 | 15 << 11 | 0x400) == "1"
    dst = chosen("i__payload.dst", 32, "i__payload.control.style", "i__payload.control.dst32")
    assert dst.text(StyleCode.BF16.value << 33 | 1 << 32 | 0x3F800000) == "1"
    assert dst.text(StyleCode.BF16.value << 33 | 0xC0A0) == "-5"


def test_a_code_of_another_width_has_no_selected_format():
    """The decoder of a partial sum has ports of the same names as that of an element."""
    assert chosen("code", 32, "format") is None


TOP = """module decode(format, code);
  input format;
  wire format;
  input [7:0] code;
  wire [7:0] code;
endmodule
module top_00000000(a, o, o__valid);
  input [8:0] a;
  wire [8:0] a;
  output [40:0] o;
  wire [40:0] o;
  output o__valid;
  wire o__valid;
  wire \\$1 ;
endmodule
"""


def test_a_wave_has_wires_for_numbers_and_expected_values():
    fields = {"o": {"o.elements[0]": (0, 8), "o.format": (40, 1)}, "a": {"a.code": (0, 8), "a.format": (8, 1)}}
    decode, top = tracing.with_wave_wires(TOP, "top_00000000", fields).split("module top")
    assert "  wire [8:0] number__code = { format, code };\n" in decode
    assert re.findall(r"^  (?:reg|wire .*=).*", top, re.M) == [
        "  reg mismatch = 0;",
        "  wire [8:0] number__a__code = { a[8:8], a[7:0] };",
        "  wire number__a__format = { a[8:8] };",
        "  wire [8:0] number__o__elements_0 = { o[40:40], o[7:0] };",
        "  wire number__o__format = { o[40:40] };",
        "  reg [40:0] expected__o = 0;",
        "  reg mismatch__o = 0;",
        "  wire [8:0] expected__o__elements_0 = { expected__o[40:40], expected__o[7:0] };",
        "  wire expected__o__format = { expected__o[40:40] };",
    ]


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
