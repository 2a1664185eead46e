"""The steps of `sim.lm.kernels` as programs of the Tensix core, so that the second half of a block runs on it as words.

::

    norm      x * x; product with a column; + epsilon, rsqrt; * column; * gamma
    gate, up  products
    gated     silu; * up
    down      product
    sum       + x

A program has as many tiles of a step as L1 holds. A device runs it: golden's core, or the RTL core of a flow.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

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
from bitpath.sim.lm.kernels import gated, rms_norm
from bitpath.sim.lm.model import Backend

TILE_BYTES = tile_bytes(Format.BF16)
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
        fitting = (
            each for each in range(len(right), 0, -1) if self._product(len(left), each).addresses[-1] <= self.l1_bytes
        )
        most = next(fitting, None)
        if most is None:
            raise ValueError(
                f"K must fit in an L1 of {self.l1_bytes} bytes with a column of tiles, not be {a.shape[1]}"
            )
        cuts = [right[first : first + most] for first in range(0, len(right), most)]
        programs = [tile_program(self._product(len(left), len(own)), left.reshape(-1), own.reshape(-1)) for own in cuts]
        parts = [self.device(each) for each in programs]
        return _matrix(np.concatenate(parts), (len(a), b.shape[1]))

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
