"""Parts of written-out kernels: tensors in MX, rows of scales, transposed tiles, sums over tiles of the contraction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden import nki, trainium3

# MX tensors as the vendor's kernels take them: x4 words, a scale for each 8 partitions, and their values.


BF16 = ml_dtypes.bfloat16
E2M1, E4M3FN, E5M2 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


@dataclass(frozen=True, eq=False)
class Mx:
    """An MX tensor [P, ...], the four elements of a word last.

    Attributes
    ----------
    words : [P, ...].
    scale : uint8 [P / 8, ...].
    elements, values : [P, ..., 4], as MX elements and as float64 with their scale.
    """

    words: np.ndarray
    scale: np.ndarray
    elements: np.ndarray
    values: np.ndarray

    @property
    def argument(self) -> Any:
        """The words as an argument of a kernel."""
        return nki.host_tensor(self.words, f"{self.elements.dtype.name}_x4")

    def __getitem__(self, key: Any) -> "Mx":
        """Take a part of the free dimensions; ``key`` begins with ``:`` for the partitions."""
        parts = (np.ascontiguousarray(each[key]) for each in (self.words, self.scale, self.elements, self.values))
        return Mx(*parts)


def quantised(x: np.ndarray, shape: tuple[int, ...]) -> Mx:
    """Quantise a tile [P, 4 F] of BF16 to E4M3FN, as the machine does; ``shape`` splits P and F."""
    return _mx(*trainium3.quantize_mx(x, E4M3FN, scale_rule="nki05"), shape)


def random_mx(seed: str, shape: tuple[int, ...], dtype: Any, size: float = 1.0) -> Mx:
    """Return a tensor of normally distributed numbers."""
    rng = np.random.default_rng(list(seed.encode()))
    x = rng.standard_normal((shape[0], 4 * int(np.prod(shape[1:])))) * size
    return _mx(*trainium3.quantize_offline(x, np.dtype(dtype)), shape)


def _mx(data: np.ndarray, scale: np.ndarray, shape: tuple[int, ...]) -> Mx:
    return Mx(
        trainium3.pack_x4(data).reshape(shape),
        scale.reshape(shape[0] // 8, *shape[1:]),
        data.reshape(*shape, 4),
        trainium3.dequantize(data, scale).reshape(*shape, 4),
    )


def chain(stationary: list[Mx], moving: list[Mx]) -> np.ndarray:
    """Multiply pairs of [P, M] and [P, N], and sum them in BF16 PSUM: [M, N]."""
    psum = None
    for left, right in zip(stationary, moving, strict=True):
        psum = trainium3.nc_matmul_mx(
            left.elements,
            right.elements,
            left.scale,
            right.scale,
            dst=psum,
            dst_dtype=BF16,
            psum_accumulate_flag=3 if psum is None else 6,
            multi_bank=True,
        )
    assert psum is not None
    return psum


def combine(left: np.ndarray, right: np.ndarray, op: str) -> np.ndarray:
    """Apply an operator to two BF16 tiles [P, ...]; right is spread to left's shape."""
    right = np.broadcast_to(right, left.shape)
    tiles = (np.ascontiguousarray(each).reshape(len(left), -1) for each in (left, right))
    return trainium3.tensor_tensor(*tiles, op, dtype=BF16).reshape(left.shape)


def relative_error(result: np.ndarray, expected: np.ndarray) -> float:
    """Return the root of the mean squared error, as a share of the expected values'."""
    return float(np.sqrt(((result.astype(np.float64) - expected) ** 2).mean() / (expected**2).mean()))


# Parts of written-out kernels: rows of scales, transposed tiles, sums over tiles of the contraction.


OVERWRITE, ACCUMULATE = 3, 6
"""Flags of a sum's first matmul, and of the later ones."""


def scale_rows(partitions: int) -> list[int]:
    """Return the partitions that hold the scales of a tile, in the order of its blocks of 8 partitions."""
    return [32 * (block // 4) + block % 4 for block in range(partitions // 8)]


def spread(scale: np.ndarray) -> np.ndarray:
    """Return scales [P / 8, F] in the partitions where a matmul reads them, [P, F]."""
    made = np.zeros((8 * len(scale), scale.shape[1]), np.uint8)
    made[scale_rows(8 * len(scale))] = scale
    return made


def transposed(tile: np.ndarray) -> np.ndarray:
    """Return a tile transposed, bit for bit."""
    return np.ascontiguousarray(tile.T)


def matmul(stationary: Sequence[np.ndarray], moving: Sequence[np.ndarray]) -> np.ndarray:
    """Return the FP32 sum of the products of tiles, one after the other."""
    total = None
    for left, right in zip(stationary, moving, strict=True):
        flag = OVERWRITE if total is None else ACCUMULATE
        total = trainium3.nc_matmul(left, right, dst=total, psum_accumulate_flag=flag)
    assert total is not None
    return total


def deviation(made: np.ndarray, exact: np.ndarray) -> float:
    """Return the root mean square of the error, as a part of that of the exact values."""
    error = made.astype(np.float64).reshape(exact.shape) - exact
    return float(np.sqrt((error**2).mean() / (exact**2).mean()))


# The vendor's tutorials, written out.


def same(result: np.ndarray, expected: np.ndarray) -> bool:
    """Return whether two arrays have one dtype and the same bits."""
    return result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


def normal(seed: str, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    """Return normally distributed numbers."""
    return np.random.default_rng(list(seed.encode())).standard_normal(shape).astype(dtype)


MATMULS = [
    ("nki_matmul_basic_", (128, 64, 512), (), 1),
    ("nki_matmul_tiled_", (256, 128, 512), (), 1),
    ("nki_matmul_hoist_load_", (256, 128, 512), (), 1),
    ("nki_matmul_block_free_dimension_", (128, 256, 1024), (), 1),
    ("nki_matmul_fully_optimized_", (256, 128, 512), (1, 1, 1), 2),
]
"""The matmuls of the tutorial, old and new: name, K x M x N, further arguments, blocks of K."""


def product(lhs: np.ndarray, rhs: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Write a product [K, M] by [K, N] out: rows of 128 summed in PSUM, blocks of K added in the operands' dtype."""
    total = np.zeros((lhs.shape[1], rhs.shape[1]), lhs.dtype) if blocks > 1 else None
    for block in np.split(np.arange(len(lhs)), blocks):
        tiles = []
        for rows in np.split(lhs[block], lhs.shape[1] // 128 or 1, axis=1):
            parts = []
            for columns in np.split(rhs[block], rhs.shape[1] // 512, axis=1):
                psum = None
                for first in range(0, len(block), 128):
                    psum = trainium3.nc_matmul(
                        np.ascontiguousarray(rows[first : first + 128]),
                        np.ascontiguousarray(columns[first : first + 128]),
                        dst=psum,
                        dst_dtype=np.float32,
                        psum_accumulate_flag=3 if psum is None else 6,
                    )
                parts.append(psum)
            tiles.append(np.concatenate(parts, axis=1))
        psum = np.concatenate(tiles)
        if total is not None:
            total = np.concatenate(
                [
                    trainium3.tensor_tensor(np.ascontiguousarray(a), np.ascontiguousarray(b), "add", dtype=lhs.dtype)
                    for a, b in zip(np.split(total, len(total) // 128), np.split(psum, len(psum) // 128), strict=True)
                ]
            )
    return psum.astype(lhs.dtype) if total is None else total


def mamba(delta: np.ndarray, u: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Write the instructions of mamba_v1 out, for one batch and 128 channels."""
    total = np.zeros_like(delta)
    for state in range(a.shape[1]):
        row_b, row_c = (np.repeat(each[state : state + 1], len(delta), axis=0) for each in (b, c))
        decay = trainium3.activation(delta, "exp", scale=np.ascontiguousarray(a[:, state : state + 1]), bias=None)
        fed = trainium3.tensor_tensor(trainium3.tensor_tensor(delta, u, "multiply"), row_b, "multiply")
        states = trainium3.tensor_tensor_scan(decay, fed, 0.0, "multiply", "add")
        total = trainium3.tensor_tensor(total, trainium3.tensor_tensor(states, row_c, "multiply"), "add")
    return total


def average_pool(x: np.ndarray) -> np.ndarray:
    """Write the means of windows of 2 x 2 out, of FP16 [P, H, W]."""
    partitions, height, width = x.shape[0], x.shape[1] // 2, x.shape[2] // 2
    windows = x.reshape(partitions, height, 2, width, 2).transpose(0, 1, 3, 2, 4).reshape(partitions, -1, 4)
    sums = [
        trainium3.tensor_reduce(np.ascontiguousarray(windows[:, k]), "add", dtype=np.float16)
        for k in range(height * width)
    ]
    means = trainium3.tensor_scalar(np.concatenate(sums, axis=1), "multiply", 0.25, dtype=np.float16)
    return means.reshape(partitions, height, width)
