"""Trainium3's TensorE, PSUM and VectorE on scalars, in unbounded integers and fractions."""

from bitpath.golden.exact.trainium3.exponential import exponential
from bitpath.golden.exact.trainium3.multiply_add import check_formats, multiply_add
from bitpath.golden.exact.trainium3.psum import psum_write
from bitpath.golden.exact.trainium3.quantize import quantize_block
from bitpath.golden.exact.trainium3.rmsnorm_quant import (
    load_row,
    quantize_row,
    quantize_row_static,
    rmsnorm_row,
    row_bytes,
)
from bitpath.golden.exact.trainium3.xorwow import column_bits, uniform, xorwow_lane, xorwow_step

__all__ = [
    "check_formats",
    "column_bits",
    "exponential",
    "load_row",
    "multiply_add",
    "psum_write",
    "quantize_block",
    "quantize_row",
    "quantize_row_static",
    "rmsnorm_row",
    "row_bytes",
    "uniform",
    "xorwow_lane",
    "xorwow_step",
]
