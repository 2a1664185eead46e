"""Known answers of units as cocotb tests: configuration, archives, frame and sweep of each come from here.

A module holds the tests of many units. A run has those of the unit that ``BITPATH_UNIT`` names; ``BITPATH_KAT_DIR`` is the
folder of the archives.
"""

import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest
from amaranth.lib import wiring

from bitpath.rtl.units import UNITS
from bitpath.verif.kit.bench import PATIENCE_CYCLES
from bitpath.verif.kit.known_answers import read
from bitpath.verif.kit.unit_bench import Bench, Pipeline, Request, Scoreboard, UnitBench


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
