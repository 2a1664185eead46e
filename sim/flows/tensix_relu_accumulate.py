"""A matmul in two halves of K on Tensix: ReLU on each half as it is packed, the second one added to the first in L1."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.tensix.declarations.formats import TILE, Format
from bitpath.golden.tensix.matmul.matmul import Packing
from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.sim.flows import operands as matrices
from bitpath.sim.flows import tensix_matmul
from bitpath.sim.flows.tensix_matmul import SIZES, SLICES, engine_for
from bitpath.verif.tensix.engine.lowering import holds_all

__all__ = ["FORMATS", "SIZES", "SLICES", "Run", "engine_for", "operands"]

RELUS = {"relu1": (1, 0x0000), "relu2": (2, 0x3F00), "relu3": (3, 0x4000)}
"""Modes of ReLU by name, with their thresholds, BF16 codes: 0, 0.5 and 2."""
RESULTS = {"bf16": Format.BF16, "fp32": Format.FP32}
FORMATS = tuple(f"{result}_{relu}" for result in RESULTS for relu in RELUS)
"""Formats of the results and modes; the operands are BF16."""


def operands(wanted: str | None) -> tuple[np.ndarray, np.ndarray]:
    """The real layer's matrices, or a slice of them."""
    return matrices.cut(*matrices.layer(), wanted)


class Run(tensix_matmul.Run):
    """Two programs, whose output tiles lie at the same addresses; the constructor makes them.

    Raises ValueError for an unknown format, for one tile along K, and for results that the engine's memories do not hold.
    """

    flow: ClassVar[str] = "relu_accumulate"

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: TensixEngineConfig, simulator: str):
        if format_name not in FORMATS:
            raise ValueError(
                f"format of relu_accumulate must be {one_of(FORMATS)}, not {format_name!r}{suggestion(format_name, FORMATS)}"
            )
        super().__init__(a, b, "bf16_hifi4", engine, simulator)
        self.format_name = format_name
        self.half = -(-a.shape[1] // (2 * TILE)) * TILE
        if self.half >= a.shape[1]:
            raise ValueError(f"K must be more than {TILE} to have two halves, not {a.shape[1]}")
        result, relu = format_name.split("_")
        mode, threshold = RELUS[relu]
        packing = Packing(result=RESULTS[result], relu=mode, relu_threshold=threshold)
        self.first = self._program(a[:, : self.half], b[: self.half], packing)
        self.program = self._program(a[:, self.half :], b[self.half :], replace(packing, accumulates=True))
        if not all(holds_all(engine, program) for program in self.content):
            raise ValueError("the engine's memories must hold all tiles of both halves; take a smaller --slice")

    @property
    def content(self) -> tuple[tensix.Program, ...]:
        return self.first, self.program

    def scheduled_cycles(self) -> int | None:
        # The host writes the second half's operands between the programs.
        return None

    def reference(self) -> np.ndarray:
        packing = self.program.packing
        threshold = float(np.uint32(packing.relu_threshold << 16).view(np.float32))
        a, b = self.a.astype(np.float64), self.b.astype(np.float64)
        first, second = (a[:, part] @ b[part] for part in (slice(self.half), slice(self.half, None)))
        return _relu(first, packing.relu, threshold) + _relu(second, packing.relu, threshold)

    def explain(self, m: int, n: int) -> str | None:
        # `bitpath explain` knows one sum without ReLU.
        return None


def _relu(sums: np.ndarray, mode: int, threshold: float) -> np.ndarray:
    """Return ReLU in float64: mode 3 clamps to the threshold, the others pass values above it."""
    return np.clip(sums, 0, threshold) if mode == 3 else np.where(sums > threshold, sums, 0)
