"""One matmul through AIE-ML v2: convert, multiply in golden and on the RTL engine, compare the accumulators."""

from typing import Any

import numpy as np

from bitpath.golden import aie_ml_v2
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.machines import AIE_ML_V2
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.sim.flows.matmul import MatmulRun, resized

FORMATS = ("mx9", "mx6", "mx4", "bf16")
"""Formats that run by default."""
GOLDEN_FORMATS = (BFP16EBS8.name,)
"""Formats of other chips, which the engine lacks."""
ALL_FORMATS = tuple(name for name in AIE_ML_V2.formats if name not in (*AIE_ML_V2.integers, *GOLDEN_FORMATS))
FORMAT_NAMES = one_of(ALL_FORMATS)
SIZES = ("lanes",)
"""Options of `engine_for`."""
SLICES = {"icarus": "8x64x32"}
"""The slice of the layer that a slow simulator runs by default."""

ENGINES = {
    # The machine's 64 lanes, and all of the layer in memory at once.
    "verilator": AieEngineConfig(unit=VectorMacConfig(lanes=64), x_depth=2048, y_depth=4096, result_depth=2048),
    "icarus": AieEngineConfig(),
}
"""The engine that each simulator runs: Icarus is some hundred times slower."""


def formats_of(format_name: str) -> str:
    """Return the format of that name; raise ValueError for others, also integers, since the layer has floats."""
    if format_name in GOLDEN_FORMATS:
        raise ValueError(
            f"format of aie_ml_v2 must be {FORMAT_NAMES}, not {format_name!r}, which only golden multiplies"
        )
    if format_name not in ALL_FORMATS:
        raise ValueError(
            f"format of aie_ml_v2 must be {FORMAT_NAMES}, not {format_name!r}{suggestion(format_name, ALL_FORMATS)}"
        )
    return format_name


def engine_for(simulator: str, *, lanes: int | None = None) -> AieEngineConfig:
    """The engine that the simulator runs, with another number of lanes where one is given."""
    return resized(ENGINES[simulator], "unit", lanes=lanes)


class Run(MatmulRun):
    """A product cut into native ones; made at once, so that mistakes show before any simulation.

    Raises ValueError for an unknown format, and for operands that `aie_ml_v2.matmul_program` refuses.
    """

    machine = "aie_ml_v2"
    bench = "bitpath.verif.runs.tb_aie_ml_v2"

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: AieEngineConfig, simulator: str):
        super().__init__(a, b, format_name, engine, simulator)
        self.program = aie_ml_v2.matmul_program(a, b, format=formats_of(format_name), numerics=engine.unit.numerics)

    @property
    def peak(self) -> float:
        # With 64 lanes this is Table 7's figure.
        mode = self.program.mode
        return aie_ml_v2.macs_per_cycle(mode.name) * min(mode.lanes, self.engine.unit.lanes) / mode.lanes

    def settings(self) -> dict[str, Any]:
        return {"mode": self.program.mode.name}

    def tile(self, m: int, n: int) -> str:
        rows, columns = self.program.tile.m, self.program.tile.n
        return f"lane {m % rows * columns + n % columns} of tile [{m // rows}, {n // columns}]"

    def golden(self, progress: Progress | None = None) -> np.ndarray:
        return aie_ml_v2.result_matrix(self.program, aie_ml_v2.run_program(self.program, progress=progress))

    def matrix(self, output: np.ndarray) -> np.ndarray:
        return self.placed(output.view(np.float32))

    def placed(self, values: np.ndarray) -> np.ndarray:
        tiles = values.reshape(*values.shape[:2], self.program.tile.m, self.program.tile.n)
        return aie_ml_v2.result_matrix(self.program, tiles)
