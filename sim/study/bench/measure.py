"""Timing of items in turn, round after round; the best time of each counts."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from bitpath.golden.arrays.parallel import THREADS, Progress

RATE, EACH = "M MAC/s", "ns/element"
"""Units: million multiply-accumulates a second, and time for an element."""

FIELDS = ("name", "machine", "value", "unit", "ratio", "ratio_to", "target", "cores", "config")
"""Fields of a record of bench.json."""
Ratio = tuple[float, str] | tuple[None, None]


@dataclass(frozen=True, kw_only=True)
class Item:
    """An operation to time, with its size and yardstick.

    Attributes
    ----------
    name, machine : operation as bench.json names it, and its machine.
    config : shape, formats and other properties, as plain JSON values.
    unit : unit of the value, `RATE` or `EACH`.
    count : number of multiply-accumulates or elements.
    yardstick : name of the item for comparison.
    cores : maximum number of cores.
    target : ratio to reach: at least that of a rate, at most that of a time.
    """

    name: str
    machine: str
    config: Mapping[str, Any]
    unit: str
    count: int
    call: Callable[[], Any]
    yardstick: str
    cores: int = 1
    target: float | None = None

    def value(self, seconds: float) -> float:
        """Return the time as a value in the item's unit."""
        return self.count / seconds / 1e6 if self.unit == RATE else seconds * 1e9 / self.count


def best_times(items: Sequence[Item], rounds: int, progress: Progress | None = None) -> list[float]:
    """Return the best time of every item, in seconds: one warm-up round, then all items in turn in every round.

    ``progress`` is called with the number of calls done and of all calls.
    """
    best = [float("inf")] * len(items)
    for turn in range(rounds + 1):
        for i, item in enumerate(items):
            with patch.dict(os.environ, {THREADS: str(item.cores)}):
                start = time.perf_counter()
                item.call()
                seconds = time.perf_counter() - start
            if turn:
                best[i] = min(best[i], seconds)
            if progress is not None:
                progress(turn * len(items) + i + 1, (rounds + 1) * len(items))
    return best


def record(
    name: str,
    machine: str,
    value: float,
    unit: str,
    config: Mapping[str, Any],
    *,
    to: Ratio = (None, None),
    target: float | None = None,
    cores: int = 1,
) -> dict[str, Any]:
    """Return a record of bench.json; ``to`` is a ratio and its reference, and ``target`` the ratio to reach."""
    return dict(zip(FIELDS, (name, machine, value, unit, *to, target, cores, config), strict=True))


def records(items: Sequence[Item], times: Sequence[float]) -> list[dict[str, Any]]:
    """Return the records of bench.json: values, each with its ratio to its yardstick's value of the same unit.

    A larger ratio is better for rates, a smaller one for times.
    """
    values = {item.name: item.value(seconds) for item, seconds in zip(items, times, strict=True)}
    ratios = {item.name: (values[item.name] / values[item.yardstick], item.yardstick) for item in items}
    return [
        record(
            item.name,
            item.machine,
            values[item.name],
            item.unit,
            item.config,
            to=ratios[item.name],
            target=item.target,
            cores=item.cores,
        )
        for item in items
    ]
