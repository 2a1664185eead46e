"""A matmul through golden and through RTL, compared: what the flows of all machines share."""

import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from bitpath.rtl.common.config import to_dict
from bitpath.sim.engine.runner import build
from bitpath.sim.flows.accuracy import accuracy
from bitpath.sim.flows.job import Outcome, differences, play


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
    flow: ClassVar[str] = "matmul"

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

    def reference(self) -> np.ndarray:
        """The result in float64 [M, N], from operands that nothing rounded."""
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are operands like others
            return self.a.astype(np.float64) @ self.b.astype(np.float64)

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
        left = play(console, built, self.bench, self.format_name, self.save_plan)
        golden, rtl = (result[: self.a.shape[0], : self.b.shape[1]] for result in (golden, self.matrix(left["output"])))
        cycles = int(left["cycles"])
        macs = self.a.shape[0] * self.a.shape[1] * self.b.shape[1]
        record = {
            "machine": self.machine,
            "flow": self.flow,
            "format": self.format_name,
            "config": to_dict(self.engine) | self.settings() | {"shape": [*self.a.shape, self.b.shape[1]]},
            "digest": built.digest,
            "sim": self.simulator,
            "outputs_compared": rtl.size,
            "mismatches": differences(rtl, golden),
            "macs": macs,
            "cycles": cycles,
            "mac_per_cycle": round(macs / cycles, 1),
            "peak_mac_per_cycle": float(self.peak),
            "wall_seconds": round(time.monotonic() - start, 2),
            "build_seconds": round(built.seconds, 2),
            **accuracy(rtl, self.reference()),
        }
        return Outcome(rtl, golden, record)
