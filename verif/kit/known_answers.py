"""Archives of known answers of any size: an empty one is an error; a test skips visibly if the archive lacks an array
that it needs."""

import json
import os
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amaranth.lib import wiring

from bitpath.rtl.units import UNITS
from bitpath.verif.kit.bench import PATIENCE_CYCLES
from bitpath.verif.kit.unit_bench import Bench, Pipeline, Request, Scoreboard, UnitBench

FOLDER = "BITPATH_KAT_DIR"
"""Environment variable with the path of the folder of known answers."""


class Archive(dict[str, np.ndarray]):
    """Arrays of an archive by name; reading one that is absent skips the test.

    Raises
    ------
    ValueError : the archive has no arrays, or one without elements.
    """

    def __init__(self, name: str, arrays: dict[str, np.ndarray]):
        super().__init__(arrays)
        self.name = name
        empty = [key for key, array in arrays.items() if not array.size]
        if empty or not arrays:
            raise ValueError(f"{name} must hold known answers, not {', '.join(empty) or 'nothing'} without elements")

    def __missing__(self, key: str) -> np.ndarray:
        pytest.skip(f"{self.name} has no array {key}, whose known answers this test compares")

    def part(self, prefix: str) -> "Archive":
        """Return the arrays whose names begin with a prefix, under the rest of their names; without one, skip the test."""
        own = {name.removeprefix(prefix): array for name, array in self.items() if name.startswith(prefix)}
        skip_absent(self.name, {f"{prefix}*": own})
        return Archive(f"{self.name}, {prefix}*", own)

    def parts(self, pattern: str) -> "Iterator[tuple[str, Archive]]":
        """Yield the cases whose names match a pattern, ``CASE_ARRAY``, each with its part of the arrays."""
        for case in dict.fromkeys(name.partition("_")[0] for name in self):
            if re.fullmatch(pattern, case):
                yield case, self.part(f"{case}_")

    def rows(self, *names: str) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the rows of arrays of the same length."""
        return zip(*(self[name] for name in names), strict=True)

    def lists(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of arrays of the same length, as Python's numbers and lists."""
        return zip(*(self[name].tolist() for name in names), strict=True)

    def size(self, pattern: str) -> int:
        """Return the number of elements of all arrays whose names match a pattern."""
        return sum(array.size for name, array in self.items() if re.fullmatch(pattern, name))


def read(name: str) -> Any:
    """Return an archive of the folder, with or without ``.npz`` in its name, or the content of a JSON file."""
    path = Path(os.environ[FOLDER]) / name
    if path.suffix == ".json":
        return json.loads(path.read_text())
    path = path.with_suffix(".npz")
    with np.load(path) as file:
        return Archive(path.name, dict(file))


def skip_absent(archive: str, found: Mapping[object, object]) -> None:
    """Skip the test if the archive lacks one of the names; a test first compares the arrays that are present."""
    absent = [str(name) for name, count in found.items() if not count]
    if absent:
        pytest.skip(f"{archive} has no known answers of {', '.join(absent)}")


def plain(values: Any) -> Any:
    """Return arrays, lists and tuples as lists of Python's numbers."""
    if isinstance(values, list | tuple):
        return [plain(each) for each in values]
    return values.tolist() if isinstance(values, np.ndarray | np.generic) else values


def answers(*archives: str, whole: str = "") -> Callable[[Callable[..., Iterator[tuple]]], Callable[..., None]]:
    """Return a decorator that makes a test of ``found(*archives, **fixtures)``.

    Names of archives may have fixtures in braces. It yields tuples of a known answer and the values that must equal it. With `whole` the answers are as many as the elements of
    the arrays whose names match this regular expression, in the first archive.
    """

    def decorate(found: Callable[..., Iterator[tuple]]) -> Callable[..., None]:
        @wraps(found)
        def test(kat, **fixtures):
            files, compared = [kat(name.format(**fixtures)) for name in archives], 0
            for place, (expected, *values) in enumerate(found(*files, **fixtures)):
                assert values
                for each in values:
                    assert plain(each) == plain(expected), f"answer {place} of {', '.join(archives)}"
                compared += np.size(expected)
            assert compared == files[0].size(whole.format(**fixtures)) > 0 if whole else compared

        own = list(signature(found).parameters.values())[len(archives) :]
        test.__signature__ = Signature([Parameter("kat", Parameter.POSITIONAL_OR_KEYWORD), *own])
        return test

    return decorate


# Known answers of units as cocotb tests: configuration, archives, frame and sweep of each come from here.
#
# A module holds the tests of many units. A run has those of the unit that ``BITPATH_UNIT`` names; ``BITPATH_KAT_DIR`` is the
# folder of the archives.


def played(
    unit: str,
    *archives: str,
    when: Callable[[Any], bool] = lambda config: True,
    patience: int = PATIENCE_CYCLES,
    **parameters: Sequence,
) -> Callable:
    """Return a decorator that makes ``play(frame, config, *archives, **parameters)`` a test of a unit.

    In the runs of another unit, or of a configuration to which `when` does not apply, the function is no test.
    """

    def decorate(play: Callable[..., Coroutine[Any, Any, None]]) -> Any:
        if os.environ.get("BITPATH_UNIT") != unit:
            return play
        own = UnitBench(UNITS[unit].build, UNITS[unit].config_type, ms=100, patience=patience)

        @wraps(play)
        async def test(frame: Bench, **given: Any) -> None:
            await play(frame, own.config, *map(read, archives), **given)

        return own.test(unit, **parameters)(test) if when(own.config) else play

    return decorate


def swept(unit: str, *archives: str, pace: str = "", **options: Any) -> Callable:
    """Return a decorator that makes a test of ``requests(config, *archives, **parameters)``; `options` are those of `played`.

    The requests enter the pipelined unit one a cycle, or at a pace of :data:`bitpath.verif.kit.pipeline.PACES`.
    """

    def decorate(requests: Callable[..., Iterable[Request]]) -> Any:
        @wraps(requests)
        async def play(frame: Bench, config: Any, *files: Any, **given: Any) -> None:
            sent = list(requests(config, *files, **given))
            if not sent:
                pytest.skip(f"{', '.join(archives)}: no known answers of {requests.__name__}")
            pipeline = Pipeline(frame, latency(UNITS[unit].build(config), config))
            await (pipeline.exchange(sent, pace) if pace else pipeline.sweep(sent))

        return played(unit, *archives, **options)(play)

    return decorate


def latency(component: wiring.Component, config: Any) -> int:
    """Return the latency of a pipelined unit in cycles, 0 for a combinational one."""
    for owner, name in ((component, "latency"), (component, "LATENCY"), (getattr(config, "pipeline", None), "stages")):
        if hasattr(owner, name):
            return getattr(owner, name)
    return 0


def compare(board: Scoreboard, expected: Sequence[int], found: Sequence[int], shown: str) -> None:
    """Compare values with known answers in order, and their numbers."""
    assert len(found) == len(expected), f"{shown}: {len(found)} values, not {len(expected)}"
    for place, (right, real) in enumerate(zip(expected, found, strict=True)):
        board.expect(right, f"{shown}, value {place}")
        board.got(real)
