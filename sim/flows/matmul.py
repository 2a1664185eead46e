"""A matmul through golden and through RTL, compared: what the flows of all machines share."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from bitpath.rtl.config import to_dict
from bitpath.sim import paths
from bitpath.sim.errors import SimulationError
from bitpath.sim.flows.accuracy import accuracy
from bitpath.sim.flows.progress import shown_progress
from bitpath.sim.runner import Built, build, run

RUN_SECONDS = 3600

_FILES = {"BITPATH_PLAN": "plan.npz", "BITPATH_RESULT": "result.npz", "BITPATH_PROGRESS": "progress.json"}
"""Files between this process and the simulator's."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both results, float32 [M, N], and the record for the report."""

    rtl: np.ndarray
    golden: np.ndarray
    record: dict[str, Any]


class MatmulJob:
    """One product [M, K] by [K, N] in one format on a machine's engine; a machine's flow says the rest.

    Parameters
    ----------
    a, b : float32 operands.
    format_name : for the report and for messages.
    engine, simulator : what computes it.
    """

    machine: ClassVar[str]
    unit: ClassVar[str]
    """The engine's name among the units."""
    bench: ClassVar[str]
    """The module that plays a plan inside the simulator."""

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: Any, simulator: str):
        self.a, self.b = a, b
        self.format_name = format_name
        self.engine, self.simulator = engine, simulator

    @property
    def peak(self) -> float:
        """Multiply-accumulates a cycle of an engine that never waits."""
        raise NotImplementedError

    def settings(self) -> dict[str, Any]:
        """Whatever the result depends on besides the engine, as plain JSON values."""
        raise NotImplementedError

    def save_plan(self, path: Path) -> None:
        """Write what the bench plays."""
        raise NotImplementedError

    def golden(self) -> np.ndarray:
        """Golden's result, float32, at least [M, N]."""
        raise NotImplementedError

    def matrix(self, output: np.ndarray) -> np.ndarray:
        """The bench's output as float32, at least [M, N]."""
        raise NotImplementedError

    def run(self, console: Console) -> Outcome:
        """Multiply both ways.

        Raises
        ------
        SimulationError : the simulation failed, or the engine did nothing.
        """
        with console.status(f"building the {self.machine} engine for {self.simulator}, once"):
            built = build(self.unit, self.engine, self.simulator)
        start = time.monotonic()
        with console.status("golden"):
            golden = self.golden()
        output, cycles = self._play(console, built)
        if not cycles:
            raise SimulationError(f"{built.top} was never busy: it did not take the instructions")
        golden, rtl = (result[: self.a.shape[0], : self.b.shape[1]] for result in (golden, self.matrix(output)))
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are operands like others
            reference = self.a.astype(np.float64) @ self.b.astype(np.float64)
        macs = self.a.shape[0] * self.a.shape[1] * self.b.shape[1]
        record = {
            "machine": self.machine,
            "flow": "matmul",
            "format": self.format_name,
            "config": to_dict(self.engine) | self.settings() | {"shape": [*self.a.shape, self.b.shape[1]]},
            "digest": built.digest,
            "sim": self.simulator,
            "outputs_compared": rtl.size,
            "mismatches": int((rtl.view(np.uint32) != golden.view(np.uint32)).sum()),
            "macs": macs,
            "cycles": cycles,
            "mac_per_cycle": round(macs / cycles, 1),
            "peak_mac_per_cycle": float(self.peak),
            "wall_seconds": round(time.monotonic() - start, 2),
            "build_seconds": round(built.seconds, 2),
            **accuracy(rtl, reference),
        }
        return Outcome(rtl, golden, record)

    def _play(self, console: Console, built: Built) -> tuple[np.ndarray, int]:
        """What the bench left as its output, and the cycles for which the engine was busy."""
        paths.runs().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=paths.runs(), prefix="plan-") as folder:
            files = {name: Path(folder) / file for name, file in _FILES.items()}
            self.save_plan(files["BITPATH_PLAN"])
            with shown_progress(console, f"{self.format_name} on {built.top}", files["BITPATH_PROGRESS"]):
                run(
                    built,
                    self.bench,
                    seed=0,
                    # What comes out is compared here, with all of golden's results.
                    min_compared=0,
                    env={name: str(path) for name, path in files.items()},
                    timeout=RUN_SECONDS,
                )
            with np.load(files["BITPATH_RESULT"]) as result:
                return result["output"], int(result["cycles"])
