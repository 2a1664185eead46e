"""Softmax of the rows of x [R, N] of up to 128 rows a core: by VectorE or ScalarE, plain or causal."""

import nki
import nki.isa as nisa
import nki.language as nl

from bitpath.verif.nki.kernels.tiles import first_row, load_rows, sbuf, store_rows

LOWEST = -3.4028234663852886e38
"""FP32's minimum, which range_select writes."""


@nki.jit
def by_activation(x):
    """Take powers on ScalarE, whose registers add them up."""
    tile = load_rows(x)
    rows, columns = tile.shape
    lowest, total, share = sbuf(rows, 1), sbuf(rows, 1), sbuf(rows, 1)
    nisa.tensor_reduce(dst=lowest, op=nl.maximum, data=tile, axis=1, negate=True)
    powers = sbuf(rows, columns)
    nisa.activation_reduce(dst=powers, op=nl.exp, data=tile, reduce_op=nl.add, reduce_res=total, bias=lowest)
    nisa.reciprocal(dst=share, data=total)
    nisa.tensor_scalar(dst=powers, data=powers, op0=nl.multiply, operand0=share)
    return store_rows(powers, x.shape[0], x.dtype)


@nki.jit
def by_exponential(x):
    """Take powers on VectorE, which subtracts the maximum itself."""
    tile = load_rows(x)
    highest = sbuf(tile.shape[0], 1)
    nisa.tensor_reduce(dst=highest, op=nl.maximum, data=tile, axis=1)
    return store_rows(_divided(tile, highest), x.shape[0], x.dtype)


@nki.jit
def causal_by_affine_select(x):
    """Keep columns up to the row's number: where ``row - column >= 0``."""
    tile = load_rows(x)
    rows, columns = tile.shape
    nisa.affine_select(
        dst=tile,
        pattern=[[-1, columns]],
        channel_multiplier=1,
        on_true_tile=tile,
        on_false_value=LOWEST,
        cmp_op=nl.greater_equal,
        offset=first_row(x.shape[0]),
    )
    highest = sbuf(rows, 1)
    nisa.tensor_reduce(dst=highest, op=nl.maximum, data=tile, axis=1)
    return store_rows(_divided(tile, highest), x.shape[0], x.dtype)


@nki.jit
def causal_by_range_select(x):
    """Keep columns between two bounds of each row, 0 and its number; the same instruction finds the maximum."""
    tile = load_rows(x)
    rows = tile.shape[0]
    low, high, highest = sbuf(rows, 1), sbuf(rows, 1), sbuf(rows, 1)
    nisa.memset(dst=low, value=0.0)
    nisa.iota(dst=high, pattern=[[0, 1]], offset=first_row(x.shape[0]), channel_multiplier=1)
    nisa.range_select(
        dst=tile,
        on_true_tile=tile,
        comp_op0=nl.greater_equal,
        comp_op1=nl.less_equal,
        bound0=low,
        bound1=high,
        reduce_cmd=nisa.reduce_cmd.reset_reduce,
        reduce_res=highest,
        reduce_op=nl.maximum,
        on_false_value=LOWEST,
    )
    return store_rows(_divided(tile, highest), x.shape[0], x.dtype)


def _divided(tile, highest):
    """Return exp(tile - highest) over its sum along each row."""
    rows, columns = tile.shape
    powers, total, share = sbuf(rows, columns), sbuf(rows, 1), sbuf(rows, 1)
    reset = nisa.reduce_cmd.reset_reduce
    nisa.exponential(dst=powers, src=tile, max_value=highest, reduce_res=total, reduce_cmd=reset)
    nisa.reciprocal(dst=share, data=total)
    nisa.tensor_scalar(dst=powers, data=powers, op0=nl.multiply, operand0=share)
    return powers
