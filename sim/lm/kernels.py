"""The operations between a block's matmuls as kernels compute them on Tensix: compositions of steps from L1 to L1.

A step unpacks BF16 tiles, computes in FP32 words of Dst, runs a function of the Vector unit there, and packs BF16::

    norm      x * x;  product with 1 / width in column 0;  + epsilon, rsqrt;  x * column;  * row gamma
    softmax   * scale;  + mask;  row maximum;  - column, exp;  product with 1 in column 0, reciprocal;  * column
    gated     silu;  * up
    rotate    half * -1;  * sine;  x * cosine;  sum

`golden` computes a step for all tiles of an activation at once.

Ref: tt-metal: of ttnn 00af75a layernorm.cpp, 0063e99 softmax.cpp (NUMERIC_STABLE, CAUSAL_MASK) and rotary_embedding.cpp; kernel_lib,
reduce_helpers_common.hpp: sums of rows are products with a column.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, FACE, TILE, Chip, Fidelity, Format, Style
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.golden.tensix.llk.case import Op
from bitpath.golden.tensix.llk.functions.function import Mode
from bitpath.golden.tensix.llk.functions.table import FUNCTIONS

BLOCK_DATUMS = BLOCK_ROWS * FACE
LANES = BLOCK_DATUMS // 4
"""Lanes of a Vector unit."""
FORMATS: dict[str, Any] = {"style": Style.BF16, "dst32": True, "srca_format": Format.BF16, "srcb_format": Format.BF16}
MASK = np.float32(-1e9)
"""Addend for the score of a token that a row must not see, as BF16."""


class Kernels(Protocol):
    """Steps on matrices of BF16 numbers, as float32; others are rounded to nearest even first."""

    def elementwise(self, op: Op, a: np.ndarray, b: np.ndarray | None, function: str | None = None) -> np.ndarray:
        """Return a function of ``a op b``; `b` has the shape of `a`, or one row, one column or both, or is None for a copy of `a`."""
        ...

    def product(self, a: np.ndarray, b: np.ndarray, function: str | None = None) -> np.ndarray:
        """Return a function of ``a @ b`` in BF16 and HiFi4."""
        ...

    def maximum(self, x: np.ndarray) -> np.ndarray:
        """Return the maximum of each row, [..., R, 1]."""
        ...


# Compositions.


def rms_norm(kernels: Kernels, x: np.ndarray, gamma: np.ndarray, epsilon: float) -> np.ndarray:
    """Return ``x * rsqrt(mean(x * x) + epsilon) * gamma`` of rows [T, width]."""
    width = x.shape[-1]
    mean = kernels.product(kernels.elementwise(Op.ELWMUL, x, x), np.full((width, 1), 1 / width, np.float32))
    scale = kernels.elementwise(Op.ELWADD, mean, np.full_like(mean, epsilon), "rsqrt")
    return kernels.elementwise(Op.ELWMUL, kernels.elementwise(Op.ELWMUL, x, scale), gamma[np.newaxis])


def softmax(kernels: Kernels, scores: np.ndarray, scale: float, unseen: np.ndarray) -> np.ndarray:
    """Return the softmax of ``scores * scale`` over the last axis of [heads, T, S]; those where `unseen` [T, S] is true get 0."""
    x = kernels.elementwise(Op.ELWMUL, scores, np.full((1, 1), scale, np.float32))
    x = kernels.elementwise(Op.ELWADD, x, np.where(unseen, MASK, np.float32(0)))
    e = kernels.elementwise(Op.ELWSUB, x, kernels.maximum(x), "exp")
    inverse = kernels.product(e, np.ones((e.shape[-1], 1), np.float32), "reciprocal")
    return kernels.elementwise(Op.ELWMUL, e, inverse)


def gated(kernels: Kernels, gate: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return ``silu(gate) * up``."""
    return kernels.elementwise(Op.ELWMUL, kernels.elementwise(Op.DATACOPY, gate, None, "silu"), up)


def rotate(kernels: Kernels, x: np.ndarray, turn: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return [heads, T, head_dim] with each pair (i, i + head_dim / 2) turned; cosine and sine are [T, head_dim / 2]."""
    cos, sin = (np.concatenate([each, each], axis=-1) for each in turn)
    first, second = np.split(x, 2, axis=-1)
    negated = kernels.elementwise(Op.ELWMUL, second, np.full((1, 1), -1, np.float32))
    other = kernels.elementwise(Op.ELWMUL, np.concatenate([negated, first], axis=-1), sin)
    return kernels.elementwise(Op.ELWADD, kernels.elementwise(Op.ELWMUL, x, cos), other)


# Steps in golden.


@dataclass(frozen=True, kw_only=True)
class Golden:
    """Steps for all tiles at once.

    Attributes
    ----------
    chip : "wormhole" or "blackhole".
    numerics : None is those of the chip's preset.
    """

    chip: Chip = Chip.WORMHOLE
    numerics: TensixNumerics | None = None

    def __post_init__(self) -> None:
        if self.numerics is None:
            object.__setattr__(self, "numerics", CHIP_PRESETS[self.chip].numerics)

    def elementwise(self, op: Op, a: np.ndarray, b: np.ndarray | None, function: str | None = None) -> np.ndarray:
        """As `Kernels`."""
        shape = a.shape
        left = _blocks(self._words(a))
        zeros = np.zeros_like(left)
        right = zeros if b is None else _blocks(np.broadcast_to(self._words(b), shape))
        options = FORMATS | {"numerics": self.numerics}
        if op is Op.ELWMUL:
            dst = zeros
            for phase in tensix.phases(Fidelity.HIFI4):
                dst = tensix.elwmul(dst, right, left, phase=phase, **options)
        else:
            add = tensix.elwsub if op is Op.ELWSUB else tensix.elwadd
            dst = add(zeros, right, left, accumulate=False, **options)
        return self._finished(dst.reshape(-1)[: a.size].reshape(shape), function)

    def product(self, a: np.ndarray, b: np.ndarray, function: str | None = None) -> np.ndarray:
        """As `Kernels`; `a` may have leading axes."""
        flat = np.ascontiguousarray(a.reshape(-1, a.shape[-1]))
        result = tensix.matmul(flat, b, format="bf16", fidelity="HiFi4", dst32=True, numerics=self.numerics)
        return self._finished(result.view(np.uint32), function).reshape(*a.shape[:-1], b.shape[-1])

    def maximum(self, x: np.ndarray) -> np.ndarray:
        """As `Kernels`: GMPOOL of the transposed faces of a row of tiles, the maxima back as a column by way of SrcB."""
        rows, columns = x.size // x.shape[-1], x.shape[-1]
        padded = np.full((rows + -rows % FACE, columns + -columns % TILE), MASK, np.float32)
        padded[:rows, :columns] = x.reshape(rows, columns)
        faces = self._words(padded).reshape(len(padded) // FACE, FACE, -1, FACE).transpose(2, 0, 3, 1)
        scalers = np.zeros((BLOCK_ROWS, FACE), np.uint32)
        scalers[0] = self._words(np.ones(FACE, np.float32))
        options = FORMATS | {"numerics": self.numerics}
        dst = np.full((faces.shape[1], BLOCK_ROWS, FACE), 0xFFFFFFFF, np.uint32)
        for face in faces:
            dst = tensix.gmpool(dst, scalers, face, **options)
        moved = tensix.movd2b(dst[:, :1], srca_format=Format.BF16, dst32=True).reshape(-1)
        blocks = _blocks(moved)
        zeros = np.zeros_like(blocks)
        column = tensix.elwadd(zeros, blocks, zeros, accumulate=False, **options).reshape(-1)[:rows]
        return self._finished(column, None).reshape(*x.shape[:-1], 1)

    def packed(self, results: np.ndarray) -> np.ndarray:
        """Return the results of a product in FP32 as the packer stores them, BF16."""
        return self._finished(np.ascontiguousarray(results).view(np.uint32), None)

    def _words(self, x: np.ndarray) -> np.ndarray:
        """Return numbers as the source words of BF16 datums in L1."""
        l1 = np.ascontiguousarray(x).astype(ml_dtypes.bfloat16).view(np.uint8).reshape(-1)
        words = tensix.unpack(l1, Format.BF16, Format.BF16, count=x.size, numerics=self.numerics)
        return words.reshape(x.shape)

    def _finished(self, dst: np.ndarray, function: str | None) -> np.ndarray:
        """Run a function on FP32 words of Dst, and return what the packer makes of them, as float32."""
        if function is not None:
            dst = self._applied(function, dst)
        l1 = tensix.pack(np.ascontiguousarray(dst), Format.BF16, Format.BF16, dst32=True, numerics=self.numerics)
        return l1.view(ml_dtypes.bfloat16).astype(np.float32).reshape(dst.shape)

    def _applied(self, function: str, dst: np.ndarray) -> np.ndarray:
        """Run one iteration of a function on a Vector unit for each 32 words: even columns of its first four rows."""
        blocks = _blocks(dst)
        tiles = np.zeros((blocks.size // LANES, BLOCK_ROWS, FACE), np.uint32)
        lanes = tiles[:, : BLOCK_ROWS // 2, ::2]
        lanes[:] = blocks.reshape(lanes.shape)
        after = tensix.sfpu.run(
            _iteration(function, self.chip), tiles, fp32=True, chip=self.chip, numerics=self.numerics
        )
        return after[:, : BLOCK_ROWS // 2, ::2].reshape(-1)[: dst.size].reshape(dst.shape)


@cache
def _iteration(function: str, chip: Chip) -> tuple[int, ...]:
    """Return the words of a function for 32 lanes."""
    own, mode = FUNCTIONS[function], Mode(chip=chip, dst32=True)
    return (*own.setup_words(mode), *own.body_words(mode))


def _blocks(words: np.ndarray) -> np.ndarray:
    """Return words in blocks of 8 rows of 16, the last one filled up with zeros."""
    flat = words.reshape(-1)
    return np.pad(flat, (0, -flat.size % BLOCK_DATUMS)).reshape(-1, BLOCK_ROWS, FACE)
