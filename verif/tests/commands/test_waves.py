"""Save files name signals of the wave in the unit's groups, with filters that show the right numbers."""

import os
import subprocess
import sys

import pytest

from bitpath.golden.formats.catalogue import BF16, CATALOGUE, E2M1, E4M3FN, E5M2, E8M0, FP32
from bitpath.sim.engine.runner import WAVE
from bitpath.sim.waves.filters import write_filter_file, write_filter_process
from bitpath.sim.waves.groups import format_of, group_of
from bitpath.sim.waves.save import last_wave, signals, write_save_file

VCD = r"""$timescale 1ps $end
$scope module quad_mx_pe_00000000 $end
$var wire 1 ! clk $end
$var wire 32 # partial_north [31:0] $end
$var wire 8 $ \moving_west.elements[0] [7:0] $end
$var wire 8 % \moving_west.scale [7:0] $end
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
    converter = tmp_path / "bin/fst2vcd"
    converter.parent.mkdir()
    converter.write_text('#!/bin/sh\nexec cat "$1"\n')
    converter.chmod(0o755)
    monkeypatch.setenv("PATH", f"{converter.parent}{os.pathsep}{os.environ['PATH']}")
    return folder / WAVE


def test_no_wave_says_how_to_make_one(elsewhere):
    with pytest.raises(ValueError, match="no wave of 'psum'; run make sim UNIT=psum WAVES=1 first"):
        last_wave("psum")


def test_signals_are_named_as_gtkwave_knows_them(wave):
    assert list(signals(wave))[:3] == [
        ("quad_mx_pe_00000000.clk", 1),
        ("quad_mx_pe_00000000.partial_north[31:0]", 32),
        (r"quad_mx_pe_00000000.\moving_west.elements[0][7:0]", 8),
    ]


def test_the_save_file_groups_and_translates(wave):
    assert last_wave("quad_mx_pe") == wave
    text = write_save_file("quad_mx_pe", wave).read_text()
    lines = text.splitlines()
    order = [lines.index(line) for line in ("-clock", "-inputs", "-round")]
    assert order == sorted(order)
    assert r"+{moving_west/elements[0] E4M3FN} quad_mx_pe_00000000.\moving_west.elements[0][7:0]" in lines
    assert "+{partial_north FP32} quad_mx_pe_00000000.partial_north[31:0]" in lines
    assert "$1" not in text
    named = [line.split(" ", 1)[1] for line in lines if line.startswith("^")]
    assert named
    assert all((wave.parent / name).is_file() for name in named)


def test_an_incomplete_wave_is_an_error(wave):
    wave.write_text(VCD.partition("$enddefinitions")[0])
    with pytest.raises(ValueError, match=r"one/dump\.fst is incomplete: the run was killed before the simulator wrote"):
        write_save_file("quad_mx_pe", wave)


def test_the_wave_opens_at_the_first_mismatch(wave):
    (wave.parent / "first_mismatch").write_text("750000\n")
    lines = write_save_file("quad_mx_pe", wave).read_text().splitlines()
    assert "[timestart] 650000" in lines
    assert any(line.startswith("*-14.5") and line.split()[1] == "750000" for line in lines)


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
    lines = write_filter_file(fmt, tmp_path).read_text().splitlines()
    assert len(lines) == 1 << fmt.width
    assert lines[code] == f"{code:0{-(-fmt.width // 4)}x} {number}"


@pytest.mark.parametrize(
    ("fmt", "asked", "answered"),
    [(FP32, "3f800000\n7fc00000\nx\n80000000\n", ["1", "NaN", "x", "-0"]), (BF16, "c0a0\n", ["-5"])],
)
def test_filter_processes_answer_each_line(tmp_path, fmt, asked, answered):
    done = subprocess.run(
        [write_filter_process(fmt, tmp_path)], input=asked, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == answered


def test_without_its_python_a_filter_process_returns_the_codes(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nosuch/python")
    program = write_filter_process(FP32, tmp_path)
    assert (
        subprocess.run([program], input="3f800000\n", capture_output=True, text=True, check=True).stdout == "3f800000\n"
    )


def test_tables_name_formats_and_groups():
    assert group_of("quad_mx_pe", "dot.terms.fixed_0.o") == "align"
    assert group_of("quad_mx_pe", "dot.total.o") == "sum"
    assert group_of("quad_mx_pe", "dot.fine.o") == "normalize"
    assert group_of("quad_mx_pe", "dot.multiply_3.a") == "products"
    assert group_of("quad_mx_pe", "nosuch") is None
    assert group_of("a unit without a table", "o__valid") == "ports and registers"
    assert format_of("dot.i__payload.partial", 32) is CATALOGUE["FP32"]
    assert format_of("partial_south", 16) is None
