"""A whole golden matmul in a process of its own: how long it takes, and the most memory it holds.

As a module it is that process: ``python -m bitpath.sim.study.bench.large MACHINE SIZE SHARE RESULT``, with a file for the share
of work done, and one for the result.
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

from bitpath.golden.arrays import backend
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.flows.progress import shown_progress
from bitpath.sim.study.bench.measure import RATE, in_order

FORMATS = {"trainium3": "mxfp8_e4m3", "tensix": "bf16_lofi", "aie_ml_v2": "mx9"}
"""What each machine multiplies in."""
SECONDS = 3600
"""After which a product is given up."""


def measured(console: Console, machine: str, size: int) -> list[dict[str, Any]]:
    """Multiply two matrices [size, size] on a machine's golden model; return bench.json's records of time and memory.

    Raises
    ------
    SimulationError : the process failed, or took more than an hour.
    """
    config = {"shape": [size] * 3, "format": FORMATS[machine], "with": "conversion", "backend": backend.backend()}
    with tempfile.TemporaryDirectory() as folder:
        share, result = Path(folder) / "share.json", Path(folder) / "result.json"
        command = [sys.executable, "-m", __name__, machine, str(size), str(share), str(result)]
        with shown_progress(console, f"{machine} {FORMATS[machine]}, {size}x{size}x{size}", share):
            try:
                subprocess.run(command, check=True, timeout=SECONDS)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                raise SimulationError(f"the matmul of {size}x{size}x{size} on {machine} failed: {error}") from None
        seconds, peak = json.loads(result.read_text())
    operands = 3 * 4 * size * size
    rate = {"name": f"{machine} {size}x{size}x{size}, rate", "value": size**3 / seconds / 1e6, "unit": RATE}
    memory = {"name": f"{machine} {size}x{size}x{size}, memory", "value": peak / (1 << 20), "unit": "MiB"}
    common = {"machine": machine, "cores": backend.threads(), "config": config}
    return [
        in_order(rate | {"ratio": None, "ratio_to": None} | common),
        in_order(memory | {"ratio": peak / operands, "ratio_to": "operands and result in float32"} | common),
    ]


def main(machine: str, size: int, share: Path, result: Path) -> None:
    """Multiply; leave seconds and the peak of resident memory in bytes."""
    import numpy as np

    from bitpath.golden import aie_ml_v2, tensix, trainium3

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, size), dtype=np.float32) for _ in range(2))
    products = {
        "trainium3": lambda progress: trainium3.matmul(a, b, progress=progress),
        "tensix": lambda progress: tensix.matmul(a, b, fidelity="LoFi", progress=progress),
        "aie_ml_v2": lambda progress: aie_ml_v2.matmul(a, b, fmt="mx9", progress=progress),
    }

    def show(done: int, total: int) -> None:
        partial = share.with_suffix(".partial")
        partial.write_text(json.dumps(done / total))
        partial.replace(share)

    start = time.perf_counter()
    products[machine](show)
    seconds = time.perf_counter() - start
    # Linux counts in KiB.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    result.write_text(json.dumps([seconds, peak]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]))
