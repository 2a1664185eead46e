"""VectorE along the rows of x [R, N]: a recurrence, the eight largest, LayerNorm, and dropout."""

import nki
import nki.isa as nisa
import nki.language as nl

from bitpath.verif.nki.kernels.tiles import load_rows, sbuf, store_rows


@nki.jit
def recurrence(a, b, initial=0.0):
    """Return the states ``s = a[i] * s + b[i]`` of each row."""
    tile, addend = load_rows(a), load_rows(b)
    states = sbuf(*tile.shape)
    nisa.tensor_tensor_scan(dst=states, data0=tile, data1=addend, initial=initial, op0=nl.multiply, op1=nl.add)
    return store_rows(states, a.shape[0])


@nki.jit
def top8(x):
    """Return the eight largest of each row in descending order, and their columns."""
    tile = load_rows(x)
    largest, places = sbuf(tile.shape[0], 8), sbuf(tile.shape[0], 8, dtype=nl.uint32)
    nisa.max8(dst=largest, src=tile)
    nisa.nc_find_index8(dst=places, data=tile, vals=largest)
    return store_rows(largest, x.shape[0]), store_rows(places, x.shape[0])


@nki.jit
def layer_norm(x, gamma, beta, eps=1e-5, part=256):
    """Return (x - mean) / sqrt(variance + eps) * gamma + beta, with gamma and beta [1, N].

    Statistics are those of ``part`` columns, combined.
    """
    tile = load_rows(x)
    rows, columns = tile.shape
    parts = columns // part
    stats, whole, factor = sbuf(rows, 6 * parts), sbuf(rows, 2), sbuf(rows, 1)
    for k in nl.affine_range(parts):
        nisa.bn_stats(dst=stats[:, nl.ds(6 * k, 6)], data=tile[:, nl.ds(part * k, part)])
    nisa.bn_aggr(dst=whole, data=stats)
    nisa.activation(dst=factor, op=nl.rsqrt, data=whole[:, 1:2], bias=eps)
    made = sbuf(rows, columns)
    nisa.tensor_scalar(dst=made, data=tile, op0=nl.subtract, operand0=whole[:, 0:1], op1=nl.multiply, operand1=factor)
    for row, operator in ((gamma, nl.multiply), (beta, nl.add)):
        spread = sbuf(rows, columns)
        nisa.dma_copy(dst=spread, src=row.ap([[0, rows], [1, columns]]))
        nisa.tensor_tensor(dst=made, data1=made, data2=spread, op=operator)
    return store_rows(made, x.shape[0])


@nki.jit
def dropped(x, seed, probability):
    """Replace elements by 0 with a probability."""
    tile, word = load_rows(x), sbuf(1, 1, dtype=nl.int32)
    nisa.memset(dst=word, value=seed)
    nisa.set_rng_seed(word)
    nisa.dropout(dst=tile, data=tile, prob=probability)
    return store_rows(tile, x.shape[0])
