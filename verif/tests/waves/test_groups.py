"""The groups of every unit's save file: each has signals of the unit, and no signal is in none."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bitpath.rtl.common.unit import DEFAULT_WAVES
from bitpath.rtl.units import UNITS
from bitpath.sim.engine.build import emitted_files
from bitpath.sim.study.waves import OTHERS, group_of
from bitpath.verif.common.large import LARGE

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
    """In the default configuration, or in the one that measures coverage: without pipeline stages a unit has no clock."""
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
