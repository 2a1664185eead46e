"""One matmul through Tensix: unpack, multiply in golden and on the RTL engine in a fidelity, compare Dst."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.machines import TENSIX
from bitpath.golden.tensix.declarations.formats import COLUMNS, FIDELITY_PHASES, TILE, Fidelity
from bitpath.golden.tensix.matmul.matmul import from_tiles, stored_format
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.sim.flows.matmul import MatmulRun, resized
from bitpath.verif.tensix.engine.lowering import holds_all
from bitpath.verif.tensix.engine.pace import scheduled

FORMATS = ("bf16_hifi4", "bf16_lofi", "bfp8_hifi2")
"""Formats that run by default."""

SIZES = ("rows", "cols")
"""Options of `engine_for`."""
ELEMENTS = dict.fromkeys(each["fmt"] for name, each in TENSIX.formats.items() if name not in TENSIX.integers)
FORMAT_NAMES = f"{one_of(ELEMENTS)}, followed by {one_of(f'_{each.value.lower()}' for each in Fidelity)}"
SLICES = {"icarus": "32x64x32"}
"""The slice of the layer that a slow simulator runs by default."""

BLOCK = (4, 2)
"""Output tiles that a run computes side by side in Dst: both right tiles of a step of K are held."""
NARROW = ("fp8", "bfp8", "bfp4", "bfp2")
"""Element formats whose results are stored as BF16: packing FP32 takes longer than their products."""

ENGINES = {
    # The machine's 8x16 dot products, and all of the layer in memory at once.
    "verilator": TensixEngineConfig(unit=MatrixUnitConfig(rows=8, cols=16), operand_depth=8192, result_depth=4096),
    "icarus": TensixEngineConfig(),
}
"""The engine that each simulator runs: Icarus is some hundred times slower."""


def formats_of(format_name: str) -> tuple[str, Fidelity]:
    """Element format and fidelity of a name such as "bf16_hifi4"; ValueError names the known ones."""
    if format_name in TENSIX.integers or format_name not in TENSIX.formats:
        raise ValueError(
            f"format of tensix must be {FORMAT_NAMES}, not {format_name!r}{suggestion(format_name, TENSIX.formats)}"
        )
    return TENSIX.formats[format_name]["fmt"], TENSIX.formats[format_name]["fidelity"]


def engine_for(simulator: str, *, rows: int | None = None, cols: int | None = None) -> TensixEngineConfig:
    """The engine that the simulator runs, with another number of dot products where a size is given."""
    return resized(ENGINES[simulator], "unit", rows=rows, cols=cols)


def result_of(element: str, fidelity: Fidelity) -> str | None:
    """The format to which the packer rounds a run's results; None keeps the words of Dst."""
    return "BF16" if element in NARROW or (element, fidelity) == ("bf16", Fidelity.LOFI) else None


class Run(MatmulRun):
    """A matmul cut into tiles, with a 32-bit Dst; the constructor makes it, so mistakes show before any simulation.

    Raises ValueError for an unknown format, and for operands that `tensix.matmul_program` refuses.
    """

    machine = "tensix"
    bench = "bitpath.verif.tensix.engine.tb_tensix_engine_run"

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: TensixEngineConfig, simulator: str):
        super().__init__(a, b, format_name, engine, simulator)
        self.element, self.fidelity = formats_of(format_name)
        numerics = engine.unit.numerics
        self.program = tensix.matmul_program(
            a,
            b,
            fmt=self.element,
            fidelity=self.fidelity,
            numerics=numerics,
            block=BLOCK,
            result=result_of(self.element, self.fidelity),
        )

    @property
    def peak(self) -> float:
        unit = self.engine.unit
        return unit.rows * unit.cols * COLUMNS / len(FIDELITY_PHASES[self.fidelity])

    def scheduled_cycles(self) -> int | None:
        # The engine waits for the host between segments.
        return scheduled(self.engine, self.program) if holds_all(self.engine, self.program) else None

    def settings(self) -> dict[str, Any]:
        settings = {"element_format": self.element, "fidelity": self.fidelity.value, "dst32": self.program.dst32}
        return settings | {"result": stored_format(self.program).name}

    def tile(self, m: int, n: int) -> str:
        return f"datum [{m % TILE}, {n % TILE}] of tile [{m // TILE}, {n // TILE}]"

    def explain_options(self) -> Sequence[str]:
        return (*super().explain_options(), "--dst32" if self.program.dst32 else "--dst16")

    def golden(self, progress: Progress | None = None) -> np.ndarray:
        numerics = self.engine.unit.numerics
        words = tensix.run_program(self.program, quirk=numerics.minus_one_quirk, numerics=numerics, progress=progress)
        return tensix.result_matrix(self.program, tensix.stored_words(self.program, words))

    def placed(self, values: np.ndarray) -> np.ndarray:
        return from_tiles(values)

    def matrix(self, output: np.ndarray) -> np.ndarray:
        return tensix.result_matrix(self.program, output)
