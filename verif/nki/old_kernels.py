"""Kernels in the style of NKI 0.1, which run with ``neuronxcc.nki`` on golden."""

import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np
from neuronxcc import nki

# Functions of tiles with masks at ragged edges: the last rows are those that are left of 128.


@nki.jit
def softmax(x):
    """Return the softmax of rows by functions of nl."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows, columns = x.shape
    i_f = nl.arange(columns)[None, :]
    for k in nl.affine_range(-(-rows // nl.tile_size.pmax)):
        i_p = k * nl.tile_size.pmax + nl.arange(nl.tile_size.pmax)[:, None]
        inside = i_p < rows
        tile = nl.load(x[i_p, i_f], mask=inside)
        highest = nl.max(tile, axis=[1], mask=inside)
        powers = nl.exp(nl.subtract(tile, highest, mask=inside), mask=inside)
        total = nl.sum(powers, axis=[1], mask=inside)
        nl.store(out[i_p, i_f], value=nl.multiply(powers, nl.reciprocal(total, mask=inside), mask=inside), mask=inside)
    return out


@nki.jit
def masked(x):
    """Return squares where both indices are below the half, else the numbers themselves."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.hbm)
    i_p, i_f = nl.mgrid[0 : x.shape[0], 0 : x.shape[1]]
    tile = nl.load(x)
    half = nl.ndarray(x.shape, dtype=nl.bfloat16, buffer=nl.sbuf)
    half[...] = tile
    half[i_p, i_f] = nl.square(tile, mask=i_p >= x.shape[0])
    half[i_p, i_f] = nl.square(tile, mask=i_p < 32)
    tile[32:64, :] = half[32:64, :]
    tile[i_p, i_f] = nl.square(tile, mask=(i_p < x.shape[0] // 2) & (i_f < x.shape[1] // 2))
    nl.store(out[i_p, i_f], value=tile)
    nl.store(out[i_p, i_f], value=tile, mask=i_p >= x.shape[0])
    return out


@nki.jit
def causal(x):
    """Keep the numbers up to the diagonal, by an affine predicate."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(x.shape[0])[:, None], nl.arange(x.shape[1])[None, :]
    nl.store(out, nisa.affine_select(pred=(i_f <= i_p), on_true_tile=nl.load(x), on_false_value=nl.fp32.min))
    return out


@nki.jit
def composed(x, y):
    """Return functions of several instructions, of the rows that a mask leaves; y has one column."""
    rounded, both = (nl.floor, nl.ceil, nl.trunc, nl.cos, nl.tan), (nl.mod, nl.fmod)
    out = nl.ndarray((len(rounded) + len(both), *x.shape), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(x.shape[1])[None, :]
    inside = i_p < x.shape[0]
    tile, column = nl.load(x[i_p, i_f], mask=inside), nl.load(y[i_p, nl.arange(1)[None, :]], mask=inside)
    for k, function in enumerate((*rounded, *both)):
        made = function(tile, *([column] if function in both else []), mask=inside)
        nl.store(out[k, i_p, i_f], value=made, mask=inside)
    return out


# Products of tiles in a tensor with dimensions before that of the partitions.


@nki.jit
def matmul(a, b):
    """Return a.T @ b, which PSUM adds up over tiles of 128 rows."""
    k, m = a.shape
    n = b.shape[1]
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    i_a, i_b = nl.mgrid[0:128, 0:m], nl.mgrid[0:128, 0:n]
    tiles = nl.ndarray((k // 128, nl.par_dim(128), m), dtype=a.dtype, buffer=nl.sbuf)
    for each in nl.affine_range(k // 128):
        tiles[each, i_a.p, i_a.x] = nl.load(a[each * 128 + i_a.p, i_a.x])
    total = nl.zeros((m, n), dtype=np.float32, buffer=nl.psum)
    for each in nl.affine_range(k // 128):
        total += nl.matmul(tiles[each], nl.load(b[each * 128 + i_b.p, i_b.x]), transpose_x=True)
    nl.store(out, value=nl.copy(total, dtype=out.dtype))
    return out


@nki.jit
def added(a, b, c):
    """Return c + a.T @ b and 1 + a.T @ b; PSUM holds c and 1 before the products."""
    out = nl.ndarray((2, *c.shape), dtype=c.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray(c.shape, dtype=np.float32, buffer=nl.psum)
    total[...] = nl.copy(nl.load(c))
    total += nl.matmul(nl.load(a), nl.load(b), transpose_x=True)
    nl.store(out[0], value=total)
    total = nl.full(c.shape, 1.0, dtype=np.float32, buffer=nl.psum)
    total[...] += nl.matmul(nl.load(a), nl.load(b), transpose_x=True)
    nl.store(out[1], value=total)
    return out


@nki.jit
def product(a, b, out):
    """Write a @ b to an argument; a is transposed on the way."""
    nl.store(out, value=nl.matmul(nl.load(a), nl.load(b)))


@nki.jit
def ragged_matmul(a, b):
    """Return a.T @ b and a.T over tiles of 128 rows, the last of which may have none."""
    k, m = a.shape
    n = b.shape[1]
    out, turned = (nl.ndarray(shape, dtype=a.dtype, buffer=nl.shared_hbm) for shape in ((m, n), (m, k)))
    total = nl.ndarray((m, n), dtype=np.float32, buffer=nl.psum)
    ones = nl.load(nl.shared_constant(np.identity(128), dtype=a.dtype))
    i_p, i_m, i_n = nl.arange(128)[:, None], nl.arange(m)[None, :], nl.arange(n)[None, :]
    for each in nl.affine_range(k // 128 + 1):
        inside = each * 128 + i_p < k
        left, right = nl.zeros((128, m), dtype=a.dtype), nl.zeros((128, n), dtype=b.dtype)
        nisa.dma_copy(src=a[each * 128 + i_p, i_m], dst=left, mask=inside)
        right[i_p, i_n] = nl.load(b[each * 128 + i_p, i_n], mask=inside)
        total += nisa.nc_matmul(left, right, mask=each * 128 < k)
        there = nisa.nc_matmul(left, ones, is_transpose=True, mask=each * 128 < k)
        i_t, i_k = nl.arange(m)[:, None], nl.arange(128)[None, :]
        nl.store(turned[i_t, each * 128 + i_k], value=there, mask=each * 128 + i_k < k)
    nl.store(out, value=total)
    return out, turned


# Instances of a grid, and rows that a tile of indices names.


@nki.jit
def doubled(x):
    """Double a tile of 32 rows and 16 columns in each instance of a grid."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.program_id(0) * 32 + nl.arange(32)[:, None]
    i_f = nl.program_id(1) * 16 + nl.arange(16)[None, :]
    nl.store(out[i_p, i_f], value=2.0 * nl.load(x[i_p, i_f]))
    return out


@nki.jit
def gathered(table, indices):
    """Return the rows of table [T, N] that indices [P, 1] name."""
    out = nl.ndarray((indices.shape[0], table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(indices.shape[0])[:, None], nl.arange(table.shape[1])[None, :]
    rows = nl.load(indices)
    nl.store(out, value=nl.load(table[rows[i_p, 0], i_f]))
    return out


# What the adapter refuses.


@nki.jit
def outside(x, what):
    """Do one thing that is outside of the part of NKI 0.1 that runs here."""
    i_p, i_f = nl.arange(x.shape[0])[:, None], nl.arange(x.shape[1])[None, :]
    tile = nl.load(x)
    if what == "triangle":
        tile[i_p, i_f] = nl.exp(tile, mask=i_p > i_f)
    if what == "square":
        tile[i_p, i_f * i_f % 8] = 0
    if what == "edge":
        nl.store(x[i_p + 1, i_f], value=tile)
    if what == "partitions":
        nl.store(x, value=nl.exp(tile[i_f, i_p]))
    if what == "changed":
        first = nl.exp(tile)
        tile[...] = first
        tile[...] = 0
        nl.store(x, value=first)
    if what == "rmw":
        nl.atomic_rmw(x, tile, np.add)
