"""topk: the largest elements of each GpSimd core's 16 partitions, with their places.

    element i of a core: partition i % 16, column i // 16

Bit-identical to `bitpath.golden.trainium3.exact.topk`.

Ref: ``nki.isa.topk`` reference pages, NKI 0.6 and Neuron 2.33 (AWS Neuron documentation, 2026). Points that they leave open
are in `bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_shape, checked, integer
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.trainium3.declarations.gpsimd import CORE_PARTITIONS, TOPK_MOST, TOPK_SOURCES
from bitpath.golden.trainium3.vector.engine import check_tile

_PLACES = 1 << 16
"""More than the elements of a core, so that a place fits below a rank in one integer."""


@checked
def topk(val_dst: np.ndarray, idx_dst: np.ndarray, src: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return both destinations with the K largest of each core's first n elements, in ascending order.

    Result j of a core lies where element j lies: in its partition ``j % 16``, column ``j // 16``. NaN is above infinity, and
    of equal numbers the one of the smaller place is above.

    Parameters
    ----------
    val_dst : BF16 [P, K], present content; columns from ceil(K / 16) on keep it, and so do the places behind result K - 1.
    idx_dst : uint32 [P, K], likewise: places of the values among the core's elements.
    src : BF16 [P, X], P a multiple of 16 up to 128, X at least ceil(n / 16).
    n : elements of each core, 8 to 65535; K is 1 to n and at most 32767.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number.
    """
    check_tile("src", src, DTYPES[BF16])
    partitions, columns = src.shape
    if partitions % CORE_PARTITIONS:
        raise ValueError(f"src must have a multiple of {CORE_PARTITIONS} partitions, not {partitions}")
    integer("n", n, TOPK_SOURCES)
    if columns < -(-n // CORE_PARTITIONS):
        raise ValueError(f"src must have at least {-(-n // CORE_PARTITIONS)} columns with n {n}, not {columns}")
    check_tile("val_dst", val_dst, DTYPES[BF16])
    check_tile("idx_dst", idx_dst, np.dtype(np.uint32))
    check_shape("val_dst", val_dst, partitions, "K", why=" with src's partitions")
    k = val_dst.shape[1]
    integer("number of columns of val_dst", k, range(1, min(n, TOPK_MOST) + 1), f" with n {n}")
    check_shape("idx_dst", idx_dst, partitions, k, why=", that of val_dst")
    codes = _snake(src)[:, :n]
    keys = _ranks(codes.view(np.uint16)) * _PLACES + (_PLACES - 1 - np.arange(n))
    places = _PLACES - 1 - np.sort(keys, axis=1)[:, n - k :] % _PLACES
    values = np.take_along_axis(codes, places, axis=1)
    return _with_results(val_dst, values), _with_results(idx_dst, places.astype(np.uint32))


def _ranks(codes: np.ndarray) -> np.ndarray:
    """Return int64 numbers in the order of BF16 codes' values: equal for zeros of both signs, and for all NaN the highest."""
    magnitudes = (codes & ~np.uint16(BF16.sign_mask)).astype(np.int64)
    ranks = np.where(codes & np.uint16(BF16.sign_mask), -magnitudes, magnitudes)
    return np.where(magnitudes > BF16.infinity_code, BF16.sign_mask, ranks)


def _snake(tile: np.ndarray) -> np.ndarray:
    """Return a copy of a tile as [cores, elements]."""
    cores = tile.reshape(-1, CORE_PARTITIONS, tile.shape[1])
    return cores.transpose(0, 2, 1).reshape(len(cores), -1)


def _with_results(dst: np.ndarray, results: np.ndarray) -> np.ndarray:
    """Return a destination whose cores begin with results."""
    snake = _snake(dst)
    snake[:, : results.shape[1]] = results
    cores = snake.reshape(len(snake), dst.shape[1], CORE_PARTITIONS)
    return np.ascontiguousarray(cores.transpose(0, 2, 1)).reshape(dst.shape)
