"""Trainium3's TensorE, PSUM, VectorE and DMA engines on scalars, in unbounded integers and fractions."""

from bitpath.golden.trainium3.exact.activate2 import activate2, softmax
from bitpath.golden.trainium3.exact.affine import affine_select, iota
from bitpath.golden.trainium3.exact.cast import cast
from bitpath.golden.trainium3.exact.dma import dma_compute, read_add_write
from bitpath.golden.trainium3.exact.dma_rows import (
    dma_copy,
    dma_gather,
    dma_gather_add,
    dma_gather_transpose,
    dma_scatter,
    dma_scatter_add,
    dma_transpose,
)
from bitpath.golden.trainium3.exact.dma_schedule import dma_schedule
from bitpath.golden.trainium3.exact.exponential import exponential
from bitpath.golden.trainium3.exact.fp32_passes import fp32_halves, split12
from bitpath.golden.trainium3.exact.gathers import local_gather, nc_n_gather, nc_stream_shuffle
from bitpath.golden.trainium3.exact.gpsimd import nonzero_with_count, sequence_bounds, tensor_partition_reduce, topk
from bitpath.golden.trainium3.exact.largest import find_index8_row, match_replace8_row, max8_row
from bitpath.golden.trainium3.exact.memset import memset_element
from bitpath.golden.trainium3.exact.multiply_add import check_formats, multiply_add
from bitpath.golden.trainium3.exact.operators import tensor_tensor
from bitpath.golden.trainium3.exact.power import power
from bitpath.golden.trainium3.exact.psum import psum_write
from bitpath.golden.trainium3.exact.quantize import quantize_block
from bitpath.golden.trainium3.exact.reduction import reduce_row
from bitpath.golden.trainium3.exact.rmsnorm_quant import (
    add_residual,
    load_row,
    quantize_row,
    quantize_row_static,
    reference_row,
    rmsnorm_row,
    row_bytes,
)
from bitpath.golden.trainium3.exact.rng import dropout_element, rng_element, seed_word
from bitpath.golden.trainium3.exact.scan import cumulate_row, scan_row
from bitpath.golden.trainium3.exact.select import copy_row_predicated, select_range, select_row
from bitpath.golden.trainium3.exact.sparse import selected
from bitpath.golden.trainium3.exact.statistics import bn_aggr_row, bn_stats_row
from bitpath.golden.trainium3.exact.xorwow import column_bits, uniform, xorwow_lane, xorwow_step

__all__ = [
    "activate2",
    "add_residual",
    "affine_select",
    "bn_aggr_row",
    "bn_stats_row",
    "cast",
    "check_formats",
    "column_bits",
    "copy_row_predicated",
    "cumulate_row",
    "dma_compute",
    "dma_copy",
    "dma_gather",
    "dma_gather_add",
    "dma_gather_transpose",
    "dma_scatter",
    "dma_scatter_add",
    "dma_schedule",
    "dma_transpose",
    "dropout_element",
    "exponential",
    "find_index8_row",
    "fp32_halves",
    "iota",
    "load_row",
    "local_gather",
    "match_replace8_row",
    "max8_row",
    "memset_element",
    "multiply_add",
    "nc_n_gather",
    "nc_stream_shuffle",
    "nonzero_with_count",
    "power",
    "psum_write",
    "quantize_block",
    "quantize_row",
    "quantize_row_static",
    "read_add_write",
    "reduce_row",
    "reference_row",
    "rmsnorm_row",
    "rng_element",
    "row_bytes",
    "scan_row",
    "seed_word",
    "select_range",
    "select_row",
    "selected",
    "sequence_bounds",
    "softmax",
    "split12",
    "tensor_partition_reduce",
    "tensor_tensor",
    "topk",
    "uniform",
    "xorwow_lane",
    "xorwow_step",
]
