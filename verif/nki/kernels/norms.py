"""RMSNorm, and each row of its result quantised to FP8 with the row's own scale."""

import nki
import nki.isa as nisa
import nki.language as nl

from bitpath.verif.nki.kernels.tiles import first_row, load_rows, psum, sbuf

LARGEST = 240.0
"""The largest number of float8_e4m3."""
SMALLEST_SCALE = 1e-6


@nki.jit
def rmsnorm_quant(x, gamma, eps=1e-6):
    """Quantise x / sqrt(mean of squares + eps) * gamma [1, N] by rows.

    Return uint8 [R, N + 4]: codes of float8_e4m3, and the row's scale in FP32.
    """
    tile, weights = load_rows(x), sbuf(*gamma.shape, dtype=nl.bfloat16)
    rows, columns = tile.shape
    nisa.dma_copy(dst=weights, src=gamma)
    total, factor, small = sbuf(rows, 1), sbuf(rows, 1), sbuf(rows, 1, dtype=nl.bfloat16)
    squares = sbuf(rows, columns)
    nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)
    nisa.memset(dst=small, value=eps)
    nisa.activation(dst=factor, op=nl.rsqrt, data=total, scale=1.0 / columns, bias=small)
    ones, spread = sbuf(1, rows, dtype=nl.bfloat16), psum(rows, columns)
    nisa.memset(dst=ones, value=1.0)
    nisa.nc_matmul(dst=spread, stationary=ones, moving=weights)
    normed = sbuf(rows, columns, dtype=nl.bfloat16)
    nisa.scalar_tensor_tensor(dst=normed, data=tile, op0=nl.multiply, operand0=factor, op1=nl.multiply, operand1=spread)
    return _quantised(normed, x.shape[0])


def _quantised(normed, all_rows):
    rows, columns = normed.shape
    magnitudes, scale, inverse = sbuf(rows, columns), sbuf(rows, 1), sbuf(rows, 1)
    nisa.tensor_scalar_reduce(
        dst=magnitudes, data=normed, op0=nl.abs, operand0=None, reduce_op=nl.maximum, reduce_res=scale
    )
    nisa.activation(dst=scale, op=nl.copy, data=scale, scale=1.0 / LARGEST)
    nisa.tensor_scalar(dst=scale, data=scale, op0=nl.maximum, operand0=SMALLEST_SCALE)
    nisa.reciprocal(dst=inverse, data=scale)
    codes = sbuf(rows, columns, dtype=nl.float8_e4m3)
    nisa.tensor_scalar(dst=codes, data=normed, op0=nl.multiply, operand0=inverse)
    out = nl.ndarray((all_rows, columns + 4), dtype=nl.uint8, buffer=nl.shared_hbm)
    own = nl.ds(first_row(all_rows), rows)
    nisa.dma_copy(dst=out[own, nl.ds(0, columns)], src=codes.view(nl.uint8))
    nisa.dma_copy(dst=out[own, nl.ds(columns, 4)], src=scale.view(nl.uint8))
    return out
