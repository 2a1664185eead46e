"""Time and peak memory of a whole golden matmul in a separate process.

The process is ``python -m bitpath.sim.study.bench.large MACHINE SIZE SHARE RESULT``, with a file for the completed share of the
work, and one for the result.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from bitpath.golden.arrays.parallel import threads
from bitpath.golden.machines import MACHINES
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.flows.progress import shown_progress
from bitpath.sim.study.bench.measure import RATE, record
from bitpath.verif.kit.exchange import write_share

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


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
