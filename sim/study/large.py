"""Whole golden matmuls in processes of their own: time, peak memory, and growth with each of M, K and N."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bitpath.golden.arrays.parallel import threads
from bitpath.golden.machines import MACHINES
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.flows.builds import shown_progress
from bitpath.sim.study.bench import RATE, record
from bitpath.verif.kit.exchange import write_share

# Time and peak memory of a whole golden matmul in a separate process.
#
# The process is ``python -m bitpath.sim.study.large MACHINE SIZE SHARE RESULT``, with a file for the completed share of the
# work, and one for the result.


LARGE_FORMATS = {"trainium3": "mxfp8_e4m3", "tensix": "bf16_lofi", "aie_ml_v2": "mx9"}
"""Format in which each machine multiplies."""
SECONDS = 3600
"""Time limit of one product."""
MOST_MEMORY = 1.5
"""Memory to stay below, as a multiple of operands and result."""


def measured(console: Console, machine: str, size: int) -> list[dict[str, Any]]:
    """Multiply [4 * size, size] @ [size, size] on a machine's golden model; return bench.json's records of time and memory.

    Raises SimulationError if the process failed, or took more than an hour.
    """
    format_name = LARGE_FORMATS[machine]
    m, k, n = shape = _shape(size)
    config = {"shape": shape, "format": format_name, "with": "conversion"}
    with tempfile.TemporaryDirectory() as folder:
        share, result = Path(folder) / "share.json", Path(folder) / "result.json"
        command = [sys.executable, "-m", __name__, machine, str(size), str(share), str(result)]
        with shown_progress(console, f"{machine} {format_name}, {m}x{k}x{n}", share):
            try:
                subprocess.run(command, check=True, timeout=SECONDS)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                raise SimulationError(f"the matmul of {m}x{k}x{n} on {machine} failed: {error}") from None
        seconds, peak = json.loads(result.read_text())
    name, cores = f"{machine} {m}x{k}x{n}", threads()
    to_operands = peak / (4 * (m * k + k * n + m * n)), "operands and result in float32"
    return [
        record(f"{name}, rate", machine, m * k * n / seconds / 1e6, RATE, config, cores=cores),
        record(
            f"{name}, memory", machine, peak / (1 << 20), "MiB", config, to=to_operands, target=MOST_MEMORY, cores=cores
        ),
    ]


def _shape(size: int) -> tuple[int, int, int]:

    return 4 * size, size, size


def main(machine: str, size: int, share: Path, result: Path) -> None:
    """Multiply; write seconds and the peak of resident memory in bytes."""
    import numpy as np

    rng = np.random.default_rng(0)
    m, k, n = _shape(size)
    a, b = (rng.standard_normal(each, dtype=np.float32) for each in ((m, k), (k, n)))
    own = MACHINES[machine]

    def show(done: int, total: int) -> None:
        write_share(share, done / total)

    start = time.perf_counter()
    own.matmul(a, b, **own.formats[LARGE_FORMATS[machine]], progress=show)
    seconds = time.perf_counter() - start
    # Linux reports peak memory in KiB.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    result.write_text(json.dumps([seconds, peak]))


# Growth of a golden matmul's time with each of M, K and N: the same time for each multiply-accumulate means linear.


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


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
