"""Causal attention of one head: softmax(q @ k.T * scale) @ v, for up to 128 tokens."""

import nki
import nki.isa as nisa
import nki.language as nl

from bitpath.verif.nki.kernels.softmax import LOWEST
from bitpath.verif.nki.kernels.tiles import load_rows, psum, sbuf, store_rows


@nki.jit
def attention(q, k, v, scale):
    """Return the head's output [S, D] in BF16, of q, k and v [S, D] in BF16."""
    tokens, size = q.shape
    query, key = sbuf(size, tokens, dtype=q.dtype), sbuf(size, tokens, dtype=k.dtype)
    nisa.dma_transpose(dst=query, src=q)
    nisa.dma_transpose(dst=key, src=k)
    products, scores = psum(tokens, tokens), sbuf(tokens, tokens)
    nisa.nc_matmul(dst=products, stationary=query, moving=key)
    nisa.tensor_scalar(dst=scores, data=products, op0=nl.multiply, operand0=scale)
    nisa.affine_select(
        dst=scores,
        pattern=[[-1, tokens]],
        channel_multiplier=1,
        on_true_tile=scores,
        on_false_value=LOWEST,
        cmp_op=nl.greater_equal,
    )
    highest, total, share = sbuf(tokens, 1), sbuf(tokens, 1), sbuf(tokens, 1)
    nisa.tensor_reduce(dst=highest, op=nl.maximum, data=scores, axis=1)
    powers = sbuf(tokens, tokens, dtype=nl.bfloat16)
    reset = nisa.reduce_cmd.reset_reduce
    nisa.exponential(dst=powers, src=scores, max_value=highest, reduce_res=total, reduce_cmd=reset)
    nisa.reciprocal(dst=share, data=total)
    turned, weights = psum(tokens, tokens, dtype=nl.bfloat16), sbuf(tokens, tokens, dtype=nl.bfloat16)
    nisa.nc_transpose(dst=turned, data=powers)
    nisa.tensor_copy(dst=weights, src=turned)
    sums, made = psum(tokens, size), sbuf(tokens, size, dtype=nl.bfloat16)
    nisa.nc_matmul(dst=sums, stationary=weights, moving=load_rows(v))
    nisa.tensor_scalar(dst=made, data=sums, op0=nl.multiply, operand0=share)
    return store_rows(made, tokens)
