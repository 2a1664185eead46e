"""The steps of `sim.lm.kernels` as programs of the Tensix core, so that the second half of a block runs on it as words.

::

    norm      x * x; product with a column; + epsilon, rsqrt; * column; * gamma
    gate, up  products
    gated     silu; * up
    down      product
    sum       + x

A program has as many tiles of a step as L1 holds. A device runs it: golden's core, or the RTL core of a flow.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.core.core import L1_BYTES
from bitpath.golden.tensix.core.programs import CoreProgram
from bitpath.golden.tensix.declarations.formats import FACE, TILE, Chip, Fidelity, Format
from bitpath.golden.tensix.llk.case import Broadcast, Op
from bitpath.golden.tensix.llk.elementwise_program import MOST_TILES, ElementwiseKernel
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.matmul.product_program import Product, tile_bytes, tile_program
from bitpath.sim.flows.builds import Part
from bitpath.sim.flows.staged import StagedRun
from bitpath.sim.flows.tensix_program import UNIT, Cores, golden_run, without_nops
from bitpath.sim.lm.arithmetic import Options
from bitpath.sim.lm.kernels import gated, rms_norm
from bitpath.sim.lm.model import FLOAT32, OPERATIONS, Backend, Block, feed_forward
from bitpath.sim.lm.on_tensix import OnTensix
from bitpath.sim.lm.plans import parse
from bitpath.verif.kit.mismatches import Shown

TILE_BYTES = tile_bytes(Format.BF16)
FORMAT = "bf16_hifi4"
WORD_BYTES = 64
"""Bytes of a word of the RTL core's L1."""
Device = Callable[[CoreProgram], np.ndarray]
"""Runs a program and returns the bytes of its result."""


def golden_device(chip: Chip) -> Device:
    """Return the device that runs each program on a new golden core of a chip."""

    return lambda program: golden_run(chip, program)[0]


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Steps as programs, on matrices of 32 rows or fewer.

    Attributes
    ----------
    chip : whose words.
    device : runs the programs.
    l1_bytes : size of its L1.
    """

    chip: Chip
    device: Device
    l1_bytes: int = L1_BYTES

    def elementwise(self, op: Op, a: np.ndarray, b: np.ndarray | None, function: str | None = None) -> np.ndarray:
        """As `sim.lm.kernels.Kernels`."""
        options: dict[str, Any] = {"broadcast": _broadcast(a, b), "function": function}
        kernel = ElementwiseKernel(op=op, chip=self.chip, **options)
        left, right = _images(a), None if b is None else _images(b)
        parts = [
            self.device(kernel.program(left[own], right if right is None or len(right) == 1 else right[own]))
            for own in _parts(len(left))
        ]
        return _matrix(np.concatenate(parts), a.shape)

    def product(self, a: np.ndarray, b: np.ndarray, function: str | None = None) -> np.ndarray:
        """As `sim.lm.kernels.Kernels`, without a function.

        Raises
        ------
        ValueError : a function; a row of tiles that L1 does not hold.
        """
        if function is not None:
            raise ValueError(f"function must be None in a product's program, not {function!r}")
        left, right = _images(a), _images(b).reshape(-(-len(b) // TILE), -1, TILE_BYTES).swapaxes(0, 1)
        most = self.columns(a.shape[1], len(right))
        cuts = [right[first : first + most] for first in range(0, len(right), most)]
        programs = [tile_program(self._product(len(left), len(own)), left.reshape(-1), own.reshape(-1)) for own in cuts]
        parts = [self.device(each) for each in programs]
        return _matrix(np.concatenate(parts), (len(a), b.shape[1]))

    def columns(self, depth: int, count: int) -> int:
        """Return the number of columns of tiles, at most `count`, that a product's program has with a K of `depth`.

        Raises
        ------
        ValueError : a row of tiles that L1 does not hold.
        """
        tiles = -(-depth // TILE)
        fitting = (each for each in range(count, 0, -1) if self._product(tiles, each).addresses[-1] <= self.l1_bytes)
        most = next(fitting, None)
        if most is None:
            raise ValueError(f"K must fit in an L1 of {self.l1_bytes} bytes with a column of tiles, not be {depth}")
        return most

    def _product(self, k_tiles: int, columns: int) -> Product:
        return Product(
            chip=self.chip,
            fidelity=Fidelity.HIFI4,
            fmt=Format.BF16,
            out_format=Format.BF16,
            k_tiles=k_tiles,
            columns=columns,
        )

    def maximum(self, x: np.ndarray) -> np.ndarray:
        """Raise ValueError: no program computes it."""
        raise ValueError(f"the maximum of rows must be golden's, which has no program, not that of shape {x.shape}")


def _parts(count: int) -> Iterator[slice]:
    """Yield the tiles of each program."""
    return (slice(first, first + MOST_TILES) for first in range(0, count, MOST_TILES))


def _broadcast(a: np.ndarray, b: np.ndarray | None) -> Broadcast:
    """Return how `b` repeats."""
    if b is None or b.shape == a.shape:
        return Broadcast.NONE
    return {
        (True, False): Broadcast.ROW,
        (False, True): Broadcast.COL,
        (True, True): Broadcast.SCALAR,
    }[len(b) == 1, b.shape[1] == 1]


def _images(matrix: np.ndarray) -> np.ndarray:
    """Return the bytes of a matrix's tiles as BF16 in L1, row by row, uint8 [n, 2048]."""
    codes = tensix.tilize(matrix).astype(ml_dtypes.bfloat16).view(np.uint8)
    return codes.reshape(-1, TILE_BYTES)


def _matrix(l1: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a row of BF16 tiles in L1 as a matrix, float32."""
    tiles = l1.view(ml_dtypes.bfloat16).reshape(1, -1, TILE_ROWS, FACE)
    return np.ascontiguousarray(tensix.untilize(tiles)[: shape[0], : shape[1]].astype(np.float32))


class OnCore(Backend):
    """A backend whose operations in the second half of a block are programs, and whose products are BF16 in HiFi4."""

    def __init__(self, programs: Programs):
        self.programs = programs

    def norm(self, block: int, place: str, x: np.ndarray, gamma: np.ndarray, epsilon: float) -> Any:
        """Return the norm of rows."""
        return rms_norm(self.programs, x, gamma, epsilon)

    def product(self, kind: str, block: int, a: Any, b: np.ndarray) -> np.ndarray:
        """Return ``a @ b``."""
        return self.programs.product(a, b)

    def gated(self, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
        """Return ``silu(gate) * up``."""
        return gated(self.programs, gate, up)

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the sum of rows and a residual, or a bias."""
        return self.programs.elementwise(Op.ELWADD, x, y)


class Run(StagedRun):
    """The second half of a block on the core of each chip, program by program; the chips' rows lie one below the other.

    Parameters
    ----------
    x : rows before it, [T, hidden], at most 32.
    block, epsilon : its weights, and the epsilon of its norm.

    Raises
    ------
    ValueError : a row of tiles that L1 does not hold.
    """

    machine, flow = "tensix", "lm"
    units = tuple(chip.value for chip in Chip)
    benches: ClassVar[Mapping[str, str]] = dict.fromkeys(units, "bitpath.verif.runs.tb_tensix")

    def __init__(self, x: np.ndarray, block: Block, epsilon: float, engine: Cores, simulator: str):
        super().__init__(FORMAT, engine, simulator)
        self.x, self.block, self.epsilon = x, block, epsilon
        for chip, weights in product(Chip, (block.gate, block.down)):
            self._programs(chip, golden_device(chip)).columns(len(weights), 1)

    def part(self, name: str) -> Part:
        return UNIT, getattr(self.engine, name)

    def reference(self) -> np.ndarray:
        return np.concatenate([feed_forward(FLOAT32, 0, self.block, self.x, self.epsilon)] * len(Chip))

    def values(self, rtl: np.ndarray) -> np.ndarray:
        return rtl

    def shown(self, *place: int) -> Shown:
        number, row = divmod(place[0], len(self.x))
        where = f"row {row}, column {place[1]} of {[*Chip][number].value}'s rows"
        return replace(super().shown(*place), operands={"place": where})

    def compute(self, play: Any) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        results, rows = [], []
        for chip in Chip:
            runs: list[dict[str, int]] = []
            backends = OnCore(self._programs(chip, self._device(play, chip, runs))), self._golden(chip)
            results.append([feed_forward(each, 0, self.block, self.x, self.epsilon) for each in backends])
            sums = {name: sum(each[name] for each in runs) for name in runs[0]}
            rows.append({"chip": chip.value, "programs": len(runs), **sums})
        rtl, golden = (np.concatenate(each) for each in zip(*results, strict=True))
        return rtl, golden, {"chips": rows, "cycles": sum(row["cycles"] for row in rows)}

    def _programs(self, chip: Chip, device: Device) -> Programs:
        return Programs(chip=chip, device=device, l1_bytes=WORD_BYTES * getattr(self.engine, chip.value).l1_words)

    def _device(self, play: Any, chip: Chip, runs: list[dict[str, int]]) -> Device:
        """Return the device that runs a program in RTL and in golden, and appends its figures."""

        def device(program: CoreProgram) -> np.ndarray:
            left = play(chip.value, program)
            expected, words = golden_run(chip, program)
            self.stage(f"{chip.value} {len(runs)}", [*without_nops(left), left["output"]], [*words, expected], None)
            sizes = {"words": sum(each.size for each in words), "bytes": expected.size}
            runs.append({**sizes, "cycles": int(left["cycles"])})
            return left["output"]

        return device

    def _golden(self, chip: Chip) -> OnTensix:
        plan = replace(parse(FORMAT), vector=OPERATIONS)
        return OnTensix(plan, options=Options(others={"chip": chip.value}))
