"""Runs a matmul in golden and in RTL and compares both; shared by the machines' matmul flows.

A matmul's journey, the same on all machines:

- **matmul**: the problem, two float32 operands [M, K] and [K, N] and a format.
- **program**: the converted operands cut into tiles or instructions, made once by golden's `matmul_program`. Golden executes
  it (`run_program`); the run bench reads the same object and lowers it for its engine.
- **instruction**: one nc_matmul_mx, MVMUL or vector multiply-accumulate of a program.
- **tile**: the part of an operand or result that one instruction, or one list of them, takes.
- **segment**: the part of a program that an engine's memories hold at once: memory writes, then engine commands.
- **command**: a word that the engine takes, as its own layout has it; the tensor engine calls it an instruction.
- **player** (`verif.kit.player`): plays segments on an engine in the simulator and reads its results.
- **run** (`MatmulRun`): one matmul in one format on one engine and simulator; its **outcome** has both results.

The engines' benches also play random programs, sequences of commands. Their **session** queues commands on a player and on a
model of the engine, and compares all results.
"""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, ClassVar

import numpy as np
from rich.console import Console

from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.formats.catalogue import FP32
from bitpath.sim.engine.options import ENGINES
from bitpath.sim.flows.builds import Builds, Part, stage
from bitpath.sim.flows.outcome import FlowRun, Outcome, compared, play
from bitpath.verif.kit.mismatches import Shown

OPERANDS_SHOWN = 6
"""Numbers of a row or column that a mismatch shows; the explanation has all of them."""


def _first_numbers(numbers: np.ndarray) -> str:
    """The first numbers of a row or column as text."""
    more = f" ... of {len(numbers)}" if len(numbers) > OPERANDS_SHOWN else ""
    return ", ".join(f"{number:.9g}" for number in numbers[:OPERANDS_SHOWN]) + more


def resized(engine: Any, part: str, **sizes: int | None) -> Any:
    """Return an engine's configuration with other sizes of a part where they are given."""
    given = {name: size for name, size in sizes.items() if size is not None}
    return replace(engine, **{part: replace(getattr(engine, part), **given)})


class MatmulRun(FlowRun):
    """One matmul in one format on a machine's engine; each machine's flow has a subclass.

    Parameters
    ----------
    a, b : float32 operands.
    format_name : name of the format in report and messages.
    engine, simulator : the RTL engine's configuration and its simulator.
    """

    bench: ClassVar[str]
    """The module that plays the program inside the simulator."""
    flow: ClassVar[str] = "matmul"
    error_metric: ClassVar[str] = "relative RMS against float64 of the operands"
    """The error that ``bitpath self explore`` measures, against `error_reference`."""
    number: Any = FP32
    """The number format of the result."""
    program: Any

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: Any, simulator: str):
        self.a, self.b = a, b
        self.format_name = format_name
        self.engine, self.simulator = engine, simulator

    @property
    def unit(self) -> str:
        """The engine's name among the units."""
        return ENGINES[self.machine]

    @property
    def parts(self) -> tuple[Part, ...]:
        return ((self.unit, self.engine),)

    @staticmethod
    def with_numerics(engine: Any, numerics: Any) -> Any:
        """Return the engine's configuration with other numerics."""
        return replace(engine, unit=replace(engine.unit, numerics=numerics))

    @staticmethod
    def numerics_of(engine: Any) -> Any:
        """Return the numerics of an engine's configuration."""
        return engine.unit.numerics

    @property
    def content(self) -> Any:
        """The content that the bench plays."""
        return self.program

    @property
    def peak(self) -> float:
        """Multiply-accumulates a cycle of an engine that never waits."""
        raise NotImplementedError

    def scheduled_cycles(self) -> int | None:
        """Cycles of golden's schedule of the whole run; None if golden has none."""
        return None

    def settings(self) -> dict[str, Any]:
        """Whatever the result depends on besides the engine, as plain JSON values."""
        raise NotImplementedError

    def golden(self, progress: Progress | None = None) -> np.ndarray:
        """Golden's result, float32 or int32, at least [M, N]."""
        raise NotImplementedError

    def reference(self) -> np.ndarray:
        """The result in float64 [M, N], from operands that nothing rounded."""
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are operands like others
            return self.a.astype(np.float64) @ self.b.astype(np.float64)

    def error_reference(self) -> np.ndarray:
        """The result in float64 [M, N] without the error of the numerics."""
        return self.reference()

    def matrix(self, output: np.ndarray) -> np.ndarray:
        """The bench's output as golden's result has it, at least [M, N]."""
        raise NotImplementedError

    def placed(self, values: np.ndarray) -> np.ndarray:
        """Values in the order of the bench's output, in their places of the result, at least [M, N]."""
        return values

    def compare(self, console: Console, builds: Builds) -> Outcome:
        """Multiply in golden and in RTL, and return both results.

        Raises SimulationError if a build or the simulation failed, or the engine did nothing.
        """
        built = builds.of(self, (self.unit, self.engine))
        start = time.monotonic()
        with stage(console, f"{self.format_name} in golden"):
            golden = self.golden()
        left = play(console, built, self.bench, self.format_name, self.content)
        rtl, times = self.results(left)
        golden = golden[: self.a.shape[0], : self.b.shape[1]]
        shape, cycles = (*self.a.shape, self.b.shape[1]), int(left["cycles"])
        figures = {"macs": prod(shape), "cycles": cycles, "mac_per_cycle": round(prod(shape) / cycles, 1)}
        figures["peak_mac_per_cycle"] = float(self.peak)
        if (scheduled := self.scheduled_cycles()) is not None:
            figures["schedule_cycles"] = scheduled
        return compared(self, built, rtl, golden, start, shape, left.get("folder"), times=times, **figures)

    def results(self, left: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the result [M, N] that a play left, and the times in ps at which its elements came."""
        rows, columns = self.a.shape[0], self.b.shape[1]
        rtl, times = self.matrix(left["output"]), self.placed(left["times"])
        return rtl[:rows, :columns], times[:rows, :columns]

    def shown(self, *place: int) -> Shown:
        m, n = place
        operands = {
            "place": f"row {m}, column {n}, {self.tile(m, n)}",
            f"A, row {m}": _first_numbers(self.a[m]),
            f"B, column {n}": _first_numbers(self.b[:, n]),
        }
        return Shown(operands=operands, explain=self.explain(m, n), formats={"": self.number})

    def tile(self, m: int, n: int) -> str:
        """The tile or instruction that an output belongs to, as text."""
        raise NotImplementedError

    def explain_options(self) -> Sequence[str]:
        """The options of ``bitpath explain`` that say how this run multiplies."""
        return ("--format", self.format_name)

    def explain(self, m: int, n: int) -> str | None:
        """The command that explains an output; None if no command takes the flow's operands."""
        words = [self.machine, "--output", f"{m},{n}", *self.explain_options(), *self.matrices]
        return shlex.join(["bitpath", "explain", *words])

    def values(self, rtl: np.ndarray) -> np.ndarray:
        """The numbers of the result, whose error counts."""
        return rtl
