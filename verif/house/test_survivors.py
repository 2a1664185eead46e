"""Each reason for a surviving mutant quotes an existing source line."""

import tomllib
from pathlib import Path

import pytest

VERIF = Path(__file__).resolve().parents[1]
FILES = sorted(VERIF.rglob("survivors.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.parent.relative_to(VERIF)))
def test_every_reason_is_of_a_line_of_its_file(file):
    survivors = tomllib.loads(file.read_text())["survivor"]
    assert survivors
    for each in survivors:
        source = VERIF.parent / each["file"]
        lines = source.with_name(source.name.removesuffix(".py") + ".py").read_text().splitlines()
        assert each["line"] in map(str.strip, lines), (each["file"], each["line"])
