"""One matmul through Tensix: unpack, multiply in golden and on the RTL engine in a fidelity, pack, compare the bytes in
L1."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.machines import TENSIX
from bitpath.golden.tensix.declarations.formats import COLUMNS, FIDELITY_PHASES, TILE, Chip, Fidelity, Format
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.matmul.matmul import Packing, from_tiles
from bitpath.rtl.tensix.engine.command import TensixEngineConfig
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.sim.flows.matmul import MatmulRun, resized
from bitpath.sim.flows.operands import quantised
from bitpath.verif.kit.values import Integer
from bitpath.verif.tensix.engine.lowering import holds_all, scheduled

FORMATS = ("bf16_hifi4", "bf16_lofi", "bfp8_hifi2")
"""Formats that run by default."""

SIZES = ("rows", "cols", "chip")
"""Options of `engine_for`."""
ELEMENTS = dict.fromkeys(each["format"] for each in TENSIX.formats.values())
WHOLE_INT8 = ("int8", "int8_descaled")
"""INT8 in all four phases, whose sums are exact; results in INT32, or in INT8 after a shift."""
INT8_BITS = 8
FORMAT_NAMES = (
    f"{one_of(ELEMENTS)}, followed by {one_of(f'_{each.value.lower()}' for each in Fidelity)}; or {one_of(WHOLE_INT8)}"
)
SLICES = {"icarus": "32x64x32"}
"""The slice of the layer that a slow simulator runs by default."""

BLOCK = (4, 2)
"""Output tiles that a run computes side by side in Dst: both right tiles of a step of K are held."""
NARROW = ("fp8", "bfp8", "bfp4", "bfp2")
"""Element formats whose results are stored as BF16: packing FP32 takes longer than their products."""

NUMBERS = {Format.INT32: Integer(32), Format.INT8: Integer(32)}
"""Number formats of results as the matrix has them, where they are not FP32."""

ENGINES = {
    # The machine's 8x16 dot products, and all of the layer in memory at once.
    "verilator": TensixEngineConfig(unit=MatrixUnitConfig(rows=8, cols=16), operand_depth=8192, result_depth=4096),
    "icarus": TensixEngineConfig(),
}
"""The engine that each simulator runs: Icarus is some hundred times slower."""


def formats_of(format_name: str) -> tuple[str, Fidelity]:
    """Element format and fidelity of a name such as "bf16_hifi4"; ValueError names the known ones."""
    if format_name in WHOLE_INT8:
        return "int8", Fidelity.HIFI4
    if format_name not in TENSIX.formats:
        raise ValueError(
            f"format of tensix must be {FORMAT_NAMES}, not {format_name!r}{suggestion(format_name, TENSIX.formats)}"
        )
    return TENSIX.formats[format_name]["format"], TENSIX.formats[format_name]["fidelity"]


def engine_for(
    simulator: str, *, rows: int | None = None, cols: int | None = None, chip: str | None = None
) -> TensixEngineConfig:
    """The engine that the simulator runs, with another number of dot products, or of another chip, where they are given."""
    engine = resized(ENGINES[simulator], "unit", rows=rows, cols=cols)
    return engine if chip is None else MatmulRun.with_numerics(engine, CHIP_PRESETS[Chip(chip)].numerics)


def packing_of(element: str, fidelity: Fidelity) -> Packing | None:
    """The packing of a run's results; None keeps the words of Dst."""
    rounds = element in NARROW or (element, fidelity) == ("bf16", Fidelity.LOFI)
    return Packing(result=Format.BF16) if rounds else None


def descaling(a: np.ndarray, b: np.ndarray) -> Packing:
    """The packing to INT8 of a product of integers, by the least shift that keeps its largest sum."""
    largest = int(np.abs(a.astype(np.int64) @ b).max())
    return Packing(result=Format.INT8, descale_shift=max(0, largest.bit_length() - (INT8_BITS - 1)))


class Run(MatmulRun):
    """A matmul cut into tiles, with a 32-bit Dst; the constructor makes it, so mistakes show before any simulation.

    INT8 takes each matrix as integers of -127 to 127, of one scale. Raises ValueError for an unknown format, and for operands
    that `tensix.matmul_program` refuses.
    """

    machine = "tensix"
    bench = "bitpath.verif.runs.tb_tensix"

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: TensixEngineConfig, simulator: str):
        super().__init__(a, b, format_name, engine, simulator)
        self.element, self.fidelity = formats_of(format_name)
        self.scale, packing = 1.0, packing_of(self.element, self.fidelity)
        if self.element == "int8":
            (a, left), (b, right) = quantised(a, INT8_BITS), quantised(b, INT8_BITS)
            packing = descaling(a, b) if format_name == "int8_descaled" else None
            self.scale = left * right * 2.0 ** (packing.descale_shift if packing else 0)
        self.program = self._program(a, b, packing)
        self.number = NUMBERS.get(self.program.packing.result, FP32)

    def _program(self, a: np.ndarray, b: np.ndarray, packing: Packing | None) -> tensix.Program:
        return tensix.matmul_program(
            a,
            b,
            format=self.element,
            fidelity=self.fidelity,
            numerics=self.engine.unit.numerics,
            block=BLOCK,
            packing=packing,
        )

    @property
    def content(self) -> tuple[tensix.Program, ...]:
        """The programs that the engine runs, one after the other."""
        return (self.program,)

    @property
    def peak(self) -> float:
        unit = self.engine.unit
        return unit.rows * unit.cols * COLUMNS / len(FIDELITY_PHASES[self.fidelity])

    def scheduled_cycles(self) -> int | None:
        # The engine waits for the host between segments.
        return scheduled(self.engine, self.program) if holds_all(self.engine, self.program) else None

    def settings(self) -> dict[str, Any]:
        settings = {"element_format": self.element, "fidelity": self.fidelity.value, "dst32": self.program.dst32}
        return settings | {"result": self.program.packing.result.name}

    def tile(self, m: int, n: int) -> str:
        return f"datum [{m % TILE}, {n % TILE}] of tile [{m // TILE}, {n // TILE}]"

    def explain(self, m: int, n: int) -> str | None:
        # `bitpath explain` takes integers, and these were made from floats.
        return None if self.element == "int8" else super().explain(m, n)

    def explain_options(self) -> Sequence[str]:
        return (*super().explain_options(), "--dst32" if self.program.dst32 else "--dst16")

    def golden(self, progress: Progress | None = None) -> np.ndarray:
        numerics = self.engine.unit.numerics
        tiles: np.ndarray | None = None
        for program in self.content:
            words = tensix.run_program(program, quirk=numerics.minus_one_quirk, numerics=numerics, progress=progress)
            tiles = tensix.packed_tiles(program, words, tiles)
        assert tiles is not None
        return tensix.packed_matrix(self.program, tiles)

    def placed(self, values: np.ndarray) -> np.ndarray:
        return from_tiles(values[-1])

    def matrix(self, output: np.ndarray) -> np.ndarray:
        return tensix.packed_matrix(self.program, output[-1])

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return rtl * self.scale
