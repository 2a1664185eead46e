"""Each reason for a surviving mutant quotes an existing source line, in RTL of the component that it names."""

import tomllib
from pathlib import Path

import pytest

from bitpath.sim.campaigns.mutation.hosts import component_of

VERIF = Path(__file__).resolve().parents[1]
FILES = sorted(VERIF.glob("*/survivors.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.parent.relative_to(VERIF)))
def test_every_reason_is_of_a_line_of_its_target(file):
    survivors = tomllib.loads(file.read_text())["survivor"]
    assert survivors
    for each in survivors:
        path = each["target"].partition(":")[0].removesuffix(".py")
        lines = (VERIF.parent / f"{path}.py").read_text().splitlines()
        places = [number for number, line in enumerate(lines, 1) if line.strip() == each["line"]]
        assert places, (each["target"], each["line"])
        if path.startswith("rtl/"):
            assert each["target"] in {component_of(f"{path}.py:{number}") for number in places}
