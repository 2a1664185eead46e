"""Surfer's command file, as its documentation has it, and viewers that are missing."""

import re
import shlex
import struct

import pytest

from bitpath.sim.study.waves import write_command_file

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
