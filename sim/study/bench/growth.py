"""Growth of a golden matmul's time with each of M, K and N: the same time for each multiply-accumulate means linear."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.arrays.parallel import threads
from bitpath.golden.machines import MACHINES
from bitpath.sim.study.bench.large import LARGE_FORMATS
from bitpath.sim.study.bench.measure import record

FACTORS = (1, 2, 4, 8, 16)
DIMENSIONS = ("M", "K", "N")
ROUNDS = 3
MOST_GROWTH = 1.1
"""Time for a multiply-accumulate to stay below at the largest size, as a multiple of that at the smallest."""


def growth_records(
    machine: str, base: int, told: Callable[[str], None] = lambda text: None
) -> Iterator[dict[str, Any]]:
    """Yield a record for each of M, K and N, which grows from ``base`` to 16 times it while the others stay.

    The value is the factor of the time; the ratio is to the factor of the work. The configuration has all seconds.
    """
    for place, dimension in enumerate(DIMENSIONS):
        shapes = [[base * factor if each == place else base for each in range(3)] for factor in FACTORS]
        seconds = []
        for shape in shapes:
            told(f"{machine} {'x'.join(map(str, shape))}")
            seconds.append(_seconds(machine, *shape))
        factor = seconds[-1] / seconds[0]
        config = {"shape": shapes[-1], "format": LARGE_FORMATS[machine], "sizes": [each[place] for each in shapes]}
        yield record(
            f"{machine} {FACTORS[-1]} times {dimension}",
            machine,
            factor,
            "times",
            config | {"seconds": seconds},
            to=(factor / FACTORS[-1], "work"),
            target=MOST_GROWTH,
            cores=threads(),
        )


def _seconds(machine: str, m: int, k: int, n: int) -> float:
    """Return the best time of a product."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(each, dtype=np.float32) for each in ((m, k), (k, n)))
    own = MACHINES[machine]
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        own.matmul(a, b, **own.formats[LARGE_FORMATS[machine]])
        best = min(best, time.perf_counter() - start)
    return best


def draw_growth(records: Sequence[dict[str, Any]], png: Path) -> None:
    """Draw the seconds of every machine over M, K and N, beside a dotted line of time in proportion."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    for axis, dimension in zip(figure.subplots(1, 3, sharey=True), DIMENSIONS, strict=True):
        for each in (each for each in records if each["name"].endswith(f" {dimension}")):
            sizes, seconds = each["config"]["sizes"], each["config"]["seconds"]
            (line,) = axis.loglog(sizes, seconds, "o-", base=2, label=f"{each['machine']} {each['config']['format']}")
            axis.loglog(sizes, [seconds[0] * size / sizes[0] for size in sizes], ":", base=2, color=line.get_color())
        others = " = ".join(each for each in DIMENSIONS if each != dimension)
        axis.set(xlabel=dimension, title=f"{others} = {sizes[0]}")
    figure.axes[0].set_ylabel("s")
    figure.axes[0].legend()
    png.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(png, dpi=110)
