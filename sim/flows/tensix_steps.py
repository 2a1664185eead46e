"""The steps of `sim.lm.kernels` as programs of the Tensix core, so that the second half of a block runs on it as words.

::

    norm      4 element-wise programs, and a product with a column
    gate, up  a product for each tile of the result
    gated     2 element-wise programs
    down      a product for each tile of the result
    sum       an element-wise program

An element-wise program has at most 32 tiles. A device runs a program: golden's core, or the RTL core of a flow.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.core.programs import CoreProgram
from bitpath.golden.tensix.declarations.formats import FACE, TILE, Chip, Fidelity, Format
from bitpath.golden.tensix.llk.case import Broadcast, Op
from bitpath.golden.tensix.llk.elementwise_program import MOST_TILES, ElementwiseKernel
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.matmul.product_program import Product, tile_program
from bitpath.sim.lm.kernels import gated, rms_norm
from bitpath.sim.lm.model import Backend

Device = Callable[[CoreProgram], np.ndarray]
"""Runs a program and returns the bytes of its result."""


def golden_device(chip: Chip) -> Device:
    """Return the device that runs each program on a new golden core of a chip."""

    def run(program: CoreProgram) -> np.ndarray:
        core = tensix.Core(chip)
        program.prepare(core)
        program.push(core)
        core.run()
        return program.result_of(core)

    return run


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Steps as programs, on matrices of 32 rows or fewer.

    Attributes
    ----------
    chip : whose words.
    device : runs the programs.
    """

    chip: Chip
    device: Device

    def elementwise(self, op: Op, a: np.ndarray, b: np.ndarray | None, function: str | None = None) -> np.ndarray:
        """As `sim.lm.kernels.Kernels`."""
        kernel = ElementwiseKernel(op=op, broadcast=_broadcast(a, b), function=function, chip=self.chip)
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
        ValueError : a function.
        """
        if function is not None:
            raise ValueError(f"function must be None in a product's program, not {function!r}")
        left = _images(a)
        product = Product(
            chip=self.chip,
            fidelity=Fidelity.HIFI4,
            fmt=Format.BF16,
            out_format=Format.BF16,
            k_tiles=len(left),
        )
        columns = range(0, b.shape[1], TILE)
        parts = [
            self.device(tile_program(product, left.reshape(-1), _images(b[:, first : first + TILE]).reshape(-1)))
            for first in columns
        ]
        return _matrix(np.concatenate(parts), (len(a), b.shape[1]))

    def maximum(self, x: np.ndarray) -> np.ndarray:
        """Raise ValueError: it has no program."""
        raise ValueError(f"the maximum of rows must be golden's, which has no program, not that of shape {x.shape}")


def _parts(count: int) -> Iterator[slice]:
    """Yield the tiles of each program."""
    return (slice(first, first + MOST_TILES) for first in range(0, count, MOST_TILES))


def _broadcast(a: np.ndarray, b: np.ndarray | None) -> Broadcast:
    """Return what of `b` repeats."""
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
    return codes.reshape(-1, 2 * TILE * TILE)


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
