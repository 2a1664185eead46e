"""Products a.T @ b on TensorE: over tiles of the contraction, in MX by row tiles, and of FP8 pairs in double row."""

import nki
import nki.isa as nisa
import nki.language as nl

from bitpath.verif.nki.kernels.tiles import psum, sbuf, store_rows

BANK = 2048
"""Bytes of a PSUM bank, where an address in PSUM starts."""


@nki.jit
def tiled(a, b, explicit=False, placed=False):
    """Add the products of 128 rows each of a [K, M] and b [K, N] in PSUM.

    The sum begins by ``accumulate=False`` if explicit, else by the first write; tensors get addresses if placed.
    """
    (rows, m), n = a.shape, b.shape[1]
    made = nl.ndarray((m, n), nl.float32, nl.psum, address=(0, BANK) if placed else None)
    size = 2 * (m + n)
    for k in nl.affine_range(rows // nl.tile_size.pmax):
        places = ((0, k * size), (0, k * size + 2 * m)) if placed else (None, None)
        left, right = (
            nl.ndarray((nl.tile_size.pmax, each.shape[1]), each.dtype, nl.sbuf, address=place)
            for each, place in zip((a, b), places, strict=True)
        )
        for tile, each in ((left, a), (right, b)):
            nisa.dma_copy(dst=tile, src=each[nl.ds(k * nl.tile_size.pmax, nl.tile_size.pmax), :])
        nisa.nc_matmul(dst=made, stationary=left, moving=right, accumulate=(k > 0) if explicit else None)
    result = sbuf(m, n)
    nisa.tensor_copy(dst=result, src=made)
    return store_rows(result, m)


@nki.jit
def mx_row_tiles(a, b, dtype, rows=64):
    """Quantise BF16 a [128, 4 M] and b [128, 4 N] to MX; multiply ``rows`` rows at a time in row tiles of the array."""
    words, scales = [], []
    for each in (a, b):
        loaded = sbuf(*each.shape, dtype=each.dtype)
        nisa.dma_copy(dst=loaded, src=each)
        words.append(sbuf(128, each.shape[1] // 4, dtype=dtype))
        scales.append(sbuf(128, each.shape[1] // 4, dtype=nl.uint8))
        nisa.quantize_mx(dst=words[-1], src=loaded, dst_scale=scales[-1])
    made = psum(words[0].shape[1], words[1].shape[1])
    for first in nl.affine_range(0, 128, rows):
        own = nl.ds(first, rows)
        nisa.nc_matmul_mx(
            dst=made,
            stationary=words[0][own, :],
            moving=words[1][own, :],
            stationary_scale=scales[0][own, :],
            moving_scale=scales[1][own, :],
            tile_position=(first, 0),
            tile_size=(rows, 128),
        )
    result = sbuf(*made.shape)
    nisa.tensor_copy(dst=result, src=made)
    return store_rows(result, made.shape[0])


@nki.jit
def double_row(a, b):
    """Multiply FP8 a [P, 2, M] and b [P, 2, N]: each processing element adds two products."""
    left, right = sbuf(*a.shape, dtype=a.dtype), sbuf(*b.shape, dtype=b.dtype)
    nisa.dma_copy(dst=left, src=a)
    nisa.dma_copy(dst=right, src=b)
    made, result = psum(a.shape[2], b.shape[2]), sbuf(a.shape[2], b.shape[2])
    nisa.nc_matmul(dst=made, stationary=left, moving=right, perf_mode=nisa.matmul_perf_mode.double_row)
    nisa.tensor_copy(dst=result, src=made)
    return store_rows(result, a.shape[2])
