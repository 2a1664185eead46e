"""Runs of the flows: a unit plays a flow's requests, and the flow compares the results.

A module holds the runs of a machine's units. A simulation has the one of the unit that ``BITPATH_UNIT`` names. It plays one input
after the other, each in a test of its own that begins with a reset: the start and the load of golden count once.
"""

import os
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import cocotb

from bitpath.rtl.units import find_unit
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import begin_play, plays, read_input, write_result


def of_each_input(play: Callable[[Any, Any], Coroutine[Any, Any, dict[str, Any]]]) -> Any:
    """Make ``play(dut, content)`` a test of each play; it returns the arrays of the result by name."""

    async def test(dut, number):
        begin_play(number)
        write_result(**await play(dut, read_input()))

    test.__name__ = test.__qualname__ = play.__name__
    test.__module__, test.__doc__ = play.__module__, play.__doc__
    return cocotb.test()(cocotb.parametrize(number=range(plays()))(test))


def run_of(unit: str, *, drain: bool = False, **options: Any) -> Callable:
    """Return a decorator that makes ``play(frame, config, content)`` the run of a unit; options are those of `bench`.

    ``play`` returns the arrays of the result by name. ``cycles`` is the unit's busy counter if it has one, else the cycles until
    its last result.
    """

    def decorate(play: Callable[..., Coroutine[Any, Any, dict[str, Any]]]) -> Any:
        if os.environ.get("BITPATH_UNIT") != unit:
            return play
        record = find_unit(unit)
        config = config_from_environment(record.config_type)

        @wraps(play)
        async def play_on(dut, content):
            async with bench(dut, record.build(config).signature, drain=drain, **options) as frame:
                return await play(frame, config, content)

        return of_each_input(play_on)

    return decorate
