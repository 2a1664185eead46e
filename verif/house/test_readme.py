"""The READMEs' generated parts are what the commands print."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bitpath.golden import trainium3
from bitpath.sim.commands import explain, formal, numerics
from bitpath.sim.flows.machines import RECORDS, TRAINIUM3
from bitpath.sim.study.synth import configurations

README = Path(__file__).parents[2] / "README.md"
VERIFICATION = README.parent / "verif" / "README.md"
STEP = "trainium3 --stationary 38,39,b8,01 --moving 3c,3d,3c,7b --moving-format E5M2 --partial 3f800001"
QUIRK = "tensix --src-a 1 --src-b 1 --dst 0xbf800001 --phase 0"
BLOCKS = "aie_ml_v2 --x 7f/02/64,0,-96 --y 84/01/64,0,3 --acc1 0x41000001"


@pytest.mark.parametrize(
    ("file", "part", "command", "arguments"),
    [
        (README, "numerics", numerics.command, ""),
        (README, "explain", explain.command, STEP),
        (README, "explain tensix", explain.command, QUIRK),
        (README, "explain aie_ml_v2", explain.command, BLOCKS),
        (VERIFICATION, "formal", formal.command, "--list"),
    ],
)
def test_part_is_up_to_date(file, part, command, arguments):
    found = re.search(rf"<!-- {part} -->\n(.*?)\n<!-- /{part} -->", file.read_text(), re.DOTALL)
    assert found, f"{file} has no part {part}"
    printed = CliRunner().invoke(command, arguments.split())
    assert printed.exit_code == 0, printed.output
    assert found[1].strip().strip("`").strip() == printed.output.strip()


@pytest.mark.parametrize("line", [STEP, QUIRK, BLOCKS])
def test_the_commands_are_shown(line):
    assert f"bitpath explain {line}\n" in README.read_text()


def test_the_latency_table_is_the_models():
    found = re.search(r"<!-- latency -->\n(.*?)\n<!-- /latency -->", README.read_text(), re.DOTALL)
    assert found[1] == trainium3.latency_table()


def test_the_table_of_flows_has_every_format_and_no_mismatch():
    found = re.search(r"<!-- flows -->\n(.*?)\n<!-- /flows -->", README.read_text(), re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()[2:]]
    flows = TRAINIUM3.flows
    assert [tuple(row[:2]) for row in rows] == [(name, fmt) for name, flow in flows.items() for fmt in flow.FORMATS]
    assert {row[3] for row in rows} == {"0"}
    elements = 128 * 384
    compared = {"row": elements + 128 * 4, "static": elements} | dict.fromkeys(
        flows["layer"].FORMATS, elements + elements // 32
    )
    assert all(row[2].startswith(f"{compared[row[1]]:,} ") for row in rows)


def test_the_run_table_has_every_format_and_no_mismatch():
    found = re.search(r"<!-- run -->\n(.*?)\n<!-- /run -->", README.read_text(), re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()[2:]]
    formats = [(name, each) for name, record in RECORDS.items() for each in record.matmul.FORMATS]
    assert [tuple(row[:2]) for row in rows] == formats
    # Every output of the layer, [128, 512].
    assert all(row[2:4] == [f"{128 * 512:,}", "0"] for row in rows)


def test_the_synthesis_table_has_what_make_synth_does():
    found = re.search(r"<!-- synth -->\n(.*?)\n<!-- /synth -->", README.read_text(), re.DOTALL)
    names = [re.sub("[`*]", "", line.split("|")[1].strip()) for line in found[1].splitlines()[2:]]
    assert names == [design.name for design in configurations.QUOTED]
