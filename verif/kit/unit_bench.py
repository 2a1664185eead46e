"""Bench of a unit, and all names of the kit that its tests use.

A bench is a unit's model, its tables and its tests::

    BENCH = UnitBench(LoadFifo, LoadFifoConfig)

    @BENCH.test("load_fifo.reset", "Nothing of a pop from before a reset may come", depth=range(1, 5))
    async def resets(frame, depth):
        \"\"\"Resets with operations at every depth.\"\"\"
"""

import os
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from typing import Any, TypeVar

import cocotb
from amaranth.lib import wiring

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, PATIENCE_CYCLES, Bench, bench, config_from_environment
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.kit.mismatches import Context, Shown
from bitpath.verif.kit.packing import changed, pack, unpack, width
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
from bitpath.verif.kit.scoreboard import Scoreboard
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers

__all__ = [
    "ENGINE_PATIENCE_CYCLES", "PACES", "Bench", "Context", "Coverage", "Pipeline", "Request", "Scoreboard", "Shown",
    "UnitBench", "bench", "cases", "changed", "config_from_environment", "covers", "cross", "pack", "pauses", "resolved",
    "unpack", "width",
]  # fmt: skip
Test = TypeVar("Test", bound=Callable[..., Coroutine[Any, Any, None]])


def cases(default: int) -> int:
    """Return the size of a random test: ``BITPATH_CASES``, or the default."""
    return int(os.environ.get("BITPATH_CASES", default))


class UnitBench:
    """The bench of a component in the run's configuration.

    Parameters
    ----------
    component, config_type : the component's class or function, and the class of its configuration.
    ms : simulated milliseconds after which a test fails.
    patience : as :func:`bench` has it, or a function of the configuration.
    """

    def __init__(
        self,
        component: Callable[[Any], wiring.Component],
        config_type: type,
        *,
        ms: float = 10,
        patience: int | Callable[[Any], int] | None = PATIENCE_CYCLES,
    ):
        self.config = config_from_environment(config_type)
        self.unit = component(self.config)
        self.signature = self.unit.signature
        self._ms, self._patience = ms, patience(self.config) if callable(patience) else patience

    def test(
        self, item: str, why: str = "", what: str = "", /, *, skip: bool = False, **parameters: Iterable[Any]
    ) -> Callable[[Test], Any]:
        """Return a decorator of a cocotb test, which gets a :class:`Bench` and a value of each parameter.

        Parameters
        ----------
        item, why, what : the testplan's item that the test covers, as `covers` has them.
        skip : True if the test does not apply to the configuration.
        parameters : values of each parameter.
        """

        def decorate(test: Test) -> Any:
            @wraps(test)
            async def run(dut: Any, **values: Any) -> None:
                async with bench(dut, self.signature, patience=self._patience) as frame:
                    await test(frame, **values)

            each = cocotb.parametrize(**{name: list(values) for name, values in parameters.items()})(run)
            return cocotb.test(timeout_time=self._ms, timeout_unit="ms", skip=skip)(each)

        return decorate
