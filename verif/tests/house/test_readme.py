"""The README's generated parts are what the commands print."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bitpath.sim.commands import explain, numerics

README = Path(__file__).parents[3] / "README.md"
STEP = "trainium3 --stationary 38,39,b8,01 --moving 3c,3d,3c,7b --moving-format E5M2 --partial 3f800001"


@pytest.mark.parametrize(
    ("part", "command", "arguments"), [("numerics", numerics.command, ""), ("explain", explain.command, STEP)]
)
def test_part_is_up_to_date(part, command, arguments):
    found = re.search(rf"<!-- {part} -->\n(.*?)\n<!-- /{part} -->", README.read_text(), re.DOTALL)
    assert found, f"README.md has no part {part}"
    printed = CliRunner().invoke(command, arguments.split())
    assert printed.exit_code == 0, printed.output
    assert found[1].strip().strip("`").strip() == printed.output.strip()
