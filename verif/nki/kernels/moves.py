"""Data on the move: rows gathered and scattered by DMA, and a sum over two cores."""

import nki
import nki.isa as nisa
import nki.language as nl

from bitpath.verif.nki.kernels.tiles import load_rows, sbuf, store_rows


@nki.jit
def gathered(table, indices, skip=False):
    """Return the rows of table [T, N] that indices [P, 1] name; with skip zeros for an index beyond the table."""
    rows, columns = indices.shape[0], table.shape[1]
    numbers, tile = load_rows(indices), sbuf(rows, columns, dtype=table.dtype)
    nisa.memset(dst=tile, value=0.0)
    view = table.ap([[columns, rows], [1, columns]], vector_offset=numbers)
    mode = nisa.oob_mode.skip if skip else nisa.oob_mode.error
    nisa.dma_copy(dst=tile, src=view, oob_mode=mode)
    return store_rows(tile, rows)


@nki.jit
def scattered(x, indices, size):
    """Return zeros [size, N] with the rows of x at indices [P, 1]; of equal indices the last row stays."""
    rows, columns = x.shape
    out = nl.zeros((size, columns), x.dtype, nl.shared_hbm)
    nisa.dma_copy(dst=out.ap([[columns, rows], [1, columns]], vector_offset=load_rows(indices)), src=load_rows(x))
    return out


@nki.jit
def all_reduce(x):
    """Return the sum of x [2, P, N] over two cores; each has one part and sends it to the other."""
    core, (_, rows, columns) = nl.program_id(), x.shape
    own, theirs = sbuf(rows, columns, dtype=x.dtype), sbuf(rows, columns, dtype=x.dtype)
    nisa.dma_copy(dst=own, src=x[core])
    nisa.sendrecv(src=own, dst=theirs, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0)
    nisa.tensor_tensor(dst=own, data1=own, data2=theirs, op=nl.add)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out[core], src=own)
    return out
