"""x [P, F] transposed bit for bit by each engine that can."""

import nki
import nki.isa as nisa
import nki.language as nl

from bitpath.verif.nki.kernels.tiles import load_rows, psum, sbuf, store_rows

BLOCK = 32
"""Partitions and columns that VectorE transposes at once."""


@nki.jit
def by_tensor(x):
    """Take up to 128 x 128 through PSUM."""
    there, back = psum(*x.shape[::-1], dtype=x.dtype), sbuf(*x.shape[::-1], dtype=x.dtype)
    nisa.nc_transpose(dst=there, data=load_rows(x))
    nisa.tensor_copy(dst=back, src=there)
    return store_rows(back, x.shape[1])


@nki.jit
def by_vector(x):
    """Take blocks of 32 x 32 inside SBUF."""
    tile, turned = load_rows(x), sbuf(*x.shape[::-1], dtype=x.dtype)
    for p in nl.affine_range(x.shape[0] // BLOCK):
        for f in nl.affine_range(x.shape[1] // BLOCK):
            rows, columns = nl.ds(p * BLOCK, BLOCK), nl.ds(f * BLOCK, BLOCK)
            nisa.nc_transpose(dst=turned[columns, rows], data=tile[rows, columns], engine=nisa.vector_engine)
    return store_rows(turned, x.shape[1])


@nki.jit
def by_dma(x):
    """Let the DMA engines permute on the way in."""
    turned = sbuf(*x.shape[::-1], dtype=x.dtype)
    nisa.dma_transpose(dst=turned, src=x)
    return store_rows(turned, x.shape[1])
