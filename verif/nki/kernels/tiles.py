"""Steps that the kernels share: the rows of a core, in and out."""

import nki.isa as nisa
import nki.language as nl


def sbuf(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def psum(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum)


def first_row(rows):
    """Return this core's first row; cores share the rows evenly."""
    return nl.program_id() * (rows // nl.num_programs())


def load_rows(x):
    """Return a tile of this core's rows of x [R, N]."""
    rows = x.shape[0] // nl.num_programs()
    tile = sbuf(rows, x.shape[1], dtype=x.dtype)
    nisa.dma_copy(dst=tile, src=x[nl.ds(first_row(x.shape[0]), rows), :])
    return tile


def store_rows(tile, rows, dtype=None):
    """Return an output [rows, N] that holds this core's tile, cast to a dtype."""
    out = nl.ndarray((rows, tile.shape[1]), dtype=dtype or tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out[nl.ds(first_row(rows), tile.shape[0]), :], src=tile)
    return out
