"""The save file groups the signals of a wave, and shows golden's values beside them, from the first mismatch on."""

import json

import pytest

from bitpath.sim.engine.runner import WAVE
from bitpath.sim.study.waves import group_of, last_wave, signals, write_save_file
from bitpath.verif.kit.marks import COMPARED


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


def test_without_a_mismatch_the_wave_opens_on_its_first_cycles(wave):
    lines = write_save_file("quad_mx_pe", wave).read_text().splitlines()
    assert "[timestart] 0" in lines
    assert any(line.startswith("*-14.2") and line.split()[1] == "-1" for line in lines)
