"""Known answers of units as cocotb tests: configuration, archives, frame and sweep of each come from here.

A module holds the tests of many units. A run has those of the unit that ``BITPATH_UNIT`` names; ``BITPATH_KAT_DIR`` is the
folder of the archives.
"""

import os
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import wraps
from typing import Any

import cocotb
import pytest
from amaranth.lib import wiring

from bitpath.rtl.units import UNITS
from bitpath.verif.kit.bench import PATIENCE_CYCLES, Bench, bench, config_from_environment
from bitpath.verif.kit.known_answers import read
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.scoreboard import Scoreboard

LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


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
        record = UNITS[unit]
        if os.environ.get("BITPATH_UNIT") != unit or not when(config_from_environment(record.config_type)):
            return play

        async def test(dut, **given):
            config = config_from_environment(record.config_type)
            files = [read(name) for name in archives]
            async with bench(dut, record.build(config).signature, patience=patience) as frame:
                await play(frame, config, *files, **given)

        test.__name__ = test.__qualname__ = play.__name__
        test.__module__, test.__doc__ = play.__module__, play.__doc__
        return cocotb.test(**LIMIT)(cocotb.parametrize(**parameters)(test))

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
