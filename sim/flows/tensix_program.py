"""A product from instruction words to bytes, on golden's core and on the RTL core of both chips.

A program multiplies 32 rows by 32 columns along all of K. The words are encoded for each chip. Golden's `Core` and the RTL core
run them; the result's bytes and the words that each thread executes must be equal.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.arrays.arguments import one_of, suggestion
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.core.programs import LEFT, RIGHT, CoreProgram
from bitpath.golden.tensix.core.state import THREADS
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import FACE, Chip, Fidelity, Format
from bitpath.golden.tensix.matmul.product_program import Product, tile_program
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.sim.flows import operands as matrices
from bitpath.sim.flows.builds import Part
from bitpath.sim.flows.staged import StagedRun
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.values import Word

UNIT = "tensix_core"
KINDS: Mapping[str, tuple[str, Fidelity, Format, Format]] = {
    **{f"bf16_{each.value.lower()}": ("bf16", each, Format.BF16, Format.FP32) for each in Fidelity},
    "fp8_lofi": ("fp8", Fidelity.LOFI, Format.FP8, Format.FP16),
    "int8": ("int8", Fidelity.HIFI4, Format.INT8, Format.INT32),
}
"""Element format, fidelity, format in L1 and Src, and format of the result."""
FORMATS = tuple(KINDS)
"""Formats that run by default."""
STORED = {Format.FP32: np.float32, Format.FP16: np.float16, Format.INT32: np.uint32}
"""Datums of the results."""
SIZES: tuple[str, ...] = ()
SLICES: Mapping[str, str] = {}
SIDE = 32
INT8_BITS = 8
MVMUL, NOP = (BY_NAME[Chip.WORMHOLE][name].opcode for name in ("MVMUL", "NOP"))


@dataclass(frozen=True, kw_only=True)
class Cores:
    """The core of each chip."""

    wormhole: TensixCoreConfig
    blackhole: TensixCoreConfig


def engine_for(simulator: str, **given: int) -> Cores:
    """The cores that a simulator runs, with the sizes given; those for a slow simulator have fewer dot products."""
    sizes = ({"rows": 8, "cols": 16} if simulator == "verilator" else {}) | given
    return Cores(**{chip.value: TensixCoreConfig(chip=chip, **sizes) for chip in Chip})


def operands() -> tuple[np.ndarray, np.ndarray]:
    """A [32, 32] and B [32, 32]: the corners of the real layer's input and weight."""
    x, weight = matrices.layer()
    return np.ascontiguousarray(x[:SIDE, :SIDE]), np.ascontiguousarray(weight[:SIDE, :SIDE])


class Run(StagedRun):
    """The same product on each chip, a program for each tile of the result; the chips' matrices lie one below the other.

    Raises ValueError for an unknown format, sides that are no multiples of 32, and a K whose tiles L1 does not hold.
    """

    machine, flow = "tensix", "program"
    units = tuple(chip.value for chip in Chip)
    benches: ClassVar[Mapping[str, str]] = dict.fromkeys(units, "bitpath.verif.runs.tb_tensix")

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: Cores, simulator: str):
        super().__init__(format_name, engine, simulator)
        if format_name not in KINDS:
            known = f"{one_of(KINDS)}, not {format_name!r}{suggestion(format_name, KINDS)}"
            raise ValueError(f"format of program must be {known}")
        self.element, self.fidelity, self.fmt, self.out_format = KINDS[format_name]
        (rows, depth), columns = a.shape, b.shape[1]
        for name, size in (("M", rows), ("K", depth), ("N", columns)):
            if size % SIDE:
                raise ValueError(f"{name} must be a multiple of {SIDE}, not {size}")
        if depth > (most := (RIGHT - LEFT) // (SIDE * L1_BYTES[self.fmt])):
            raise ValueError(f"K must be at most {most} in {self.fmt.name}, not {depth}")
        self.tensors = self.converted = a, b
        self.k_tiles = depth // SIDE
        self.places = list(product(range(rows // SIDE), range(columns // SIDE)))
        self.scale = 1.0
        if self.element == "int8":
            (left, left_scale), (right, right_scale) = (matrices.quantised(each, INT8_BITS) for each in (a, b))
            self.converted, self.scale = (left, right), left_scale * right_scale

    def part(self, name: str) -> Part:
        return UNIT, getattr(self.engine, name)

    def settings(self) -> dict[str, Any]:
        return {"element_format": self.element, "fidelity": self.fidelity.value, "result": self.out_format.name}

    def reference(self) -> np.ndarray:
        a, b = (each.astype(np.float64) for each in self.tensors)
        return np.concatenate([a @ b] * len(Chip))

    def values(self, rtl: np.ndarray) -> np.ndarray:
        if self.out_format is not Format.INT32:
            return rtl.astype(np.float64)
        magnitudes = (rtl & 0x7FFFFFFF).astype(np.float64)
        return np.where(rtl >> 31, -magnitudes, magnitudes) * self.scale

    def shown(self, *place: int) -> Shown:
        number, row = divmod(place[0], len(self.tensors[0]))
        where = f"row {row}, column {place[1]} of {[*Chip][number].value}'s matrix"
        return Shown(operands={"place": where}, formats={"": Word(8 * np.dtype(STORED[self.out_format]).itemsize)})

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        results, rows = [], []
        for chip in Chip:
            own = [self._run(play, chip, *place) for place in self.places]
            results.append([self._matrix([contents[side] for contents, _ in own]) for side in range(2)])
            names = ("pushed", "expanded", "mvmuls", "first_to_last", "cycles")
            row: dict[str, Any] = {name: sum(figures[name] for _, figures in own) for name in names}
            rate = round((row["mvmuls"] - len(own)) / row["first_to_last"], 3)
            rows.append({"chip": chip.value, **row, "mvmuls_per_cycle": rate})
        rtl, golden = (np.concatenate(each) for each in zip(*results, strict=True))
        return rtl, golden, {"chips": rows, "cycles": sum(row["cycles"] for row in rows)}

    def _run(
        self, play: Any, chip: Chip, row: int, column: int
    ) -> tuple[tuple[np.ndarray, np.ndarray], dict[str, int]]:
        """Return the bytes of a tile of the result, in RTL and in golden, and the program's figures."""
        program = tile_program(self._product(chip), *self._images(chip, row, column))
        left = play(chip.value, program)
        expected, words = golden_run(chip, program)
        self.stage(chip.value, without_nops(left), words, None)
        times = left["word_cycles"][left["words"] >> 24 == MVMUL]
        figures = {
            "pushed": sum(map(len, program.words)),
            "expanded": sum(each.size for each in words),
            "mvmuls": times.size,
            "first_to_last": int(times[-1] - times[0]),
            "cycles": int(left["cycles"]),
        }
        return (left["output"], expected), figures

    def _product(self, chip: Chip) -> Product:
        return Product(
            chip=chip,
            fidelity=self.fidelity,
            fmt=self.fmt,
            out_format=self.out_format,
            dst32=self.element != "fp8",
            k_tiles=self.k_tiles,
        )

    def _images(self, chip: Chip, row: int, column: int) -> list[np.ndarray]:
        """Return the tiles of both operands in L1, one after the other along K."""
        left, right = (tensix.tilize(each) for each in self.converted)
        return [
            np.concatenate([tensix.tile_image(tile, self.element, chip=chip) for tile in tiles])
            for tiles in (left[row], right[:, column])
        ]

    def _matrix(self, contents: list[np.ndarray]) -> np.ndarray:
        """Return the bytes of the tiles as the matrix of their datums, INT32 as words of sign and magnitude."""
        tiles = np.stack([each.view(STORED[self.out_format]).reshape(-1, FACE) for each in contents])
        rows, columns = (1 + max(each) for each in zip(*self.places, strict=True))
        return tensix.untilize(tiles.reshape(rows, columns, *tiles.shape[1:]))


def golden_run(chip: Chip, program: CoreProgram) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the result's bytes that golden's core leaves, and the words that each thread executes, uint32."""
    core = tensix.Core(chip)
    program.prepare(core)
    program.push(core)
    trace = core.run()
    words = [np.array(trace.words(thread), np.uint32) for thread in range(THREADS)]
    return program.result_of(core), words


def without_nops(left: Mapping[str, Any]) -> list[np.ndarray]:
    """Return the words that each thread of the RTL core executed, uint32."""
    threads = np.split(left["words"], np.cumsum(left["counts"])[:-1])
    return [words[words >> 24 != NOP] for words in threads]
