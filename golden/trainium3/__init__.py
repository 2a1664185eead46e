"""AWS Trainium3 as numpy models, vectorised, bit-identical to `golden.exact`.

TensorE's quad-MX, unscaled and sparse matmuls, its transposes and cycles; the instructions of ScalarE, VectorE and GpSimd; the
flow RMSNorm-Quant; SBUF, PSUM and HBM with their access patterns, indirect access, and the DMA engines that move, cast and add
between them; a core around all of these.
"""

from bitpath.golden.trainium3.core.core import Core, CoreReport
from bitpath.golden.trainium3.core.layer import LayerResult, run_layer
from bitpath.golden.trainium3.core.program import Compute, Operand, Transfer
from bitpath.golden.trainium3.dma.compute import dma_compute, dma_gather_add, dma_scatter_add
from bitpath.golden.trainium3.dma.copy import dma_copy
from bitpath.golden.trainium3.dma.descriptors import Descriptor, descriptors
from bitpath.golden.trainium3.dma.generation import GenerationTime, choose_mode, generation_time
from bitpath.golden.trainium3.dma.read_add_write import read_add_write
from bitpath.golden.trainium3.dma.rows import dma_gather, dma_scatter
from bitpath.golden.trainium3.dma.schedule import Grant, QueueConfig, QueuedDescriptor, TrafficClass, dma_schedule
from bitpath.golden.trainium3.dma.time import descriptor_cycles
from bitpath.golden.trainium3.dma.transfer import DmaTime, transfer_cycles
from bitpath.golden.trainium3.dma.transpose import dma_gather_transpose, dma_transpose, transpose_cycles
from bitpath.golden.trainium3.gpsimd.affine_select import affine_select
from bitpath.golden.trainium3.gpsimd.iota import iota
from bitpath.golden.trainium3.gpsimd.local_gather import local_gather
from bitpath.golden.trainium3.gpsimd.nc_n_gather import nc_n_gather
from bitpath.golden.trainium3.gpsimd.nc_stream_shuffle import nc_stream_shuffle
from bitpath.golden.trainium3.gpsimd.nonzero_with_count import nonzero_with_count
from bitpath.golden.trainium3.gpsimd.sequence_bounds import sequence_bounds
from bitpath.golden.trainium3.gpsimd.tensor_partition_reduce import tensor_partition_reduce
from bitpath.golden.trainium3.gpsimd.topk import topk
from bitpath.golden.trainium3.matmul.matmul import (
    MatmulInstruction,
    Program,
    matmul,
    matmul_program,
    operand_tiles,
    quantize_tile,
    round_to_bfloat16,
    run_program,
    tile_program,
)
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul
from bitpath.golden.trainium3.matmul.nc_matmul_mx import nc_matmul_mx
from bitpath.golden.trainium3.matmul.transpose import nc_transpose
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern
from bitpath.golden.trainium3.memory.copy import copy_elements
from bitpath.golden.trainium3.memory.indirect import gather, indirect_offsets, scatter
from bitpath.golden.trainium3.memory.memory import Hbm, Sbuf
from bitpath.golden.trainium3.memory.psum import Psum
from bitpath.golden.trainium3.memory.scales import fetch_scales
from bitpath.golden.trainium3.operands.cast import cast
from bitpath.golden.trainium3.operands.layout import (
    from_partitions,
    gather_scale,
    pack_x4,
    scatter_scale,
    to_partitions,
    unpack_x4,
)
from bitpath.golden.trainium3.operands.quantize_mx import dequantize, quantize_mx, quantize_offline
from bitpath.golden.trainium3.rmsnorm.rmsnorm import rmsnorm
from bitpath.golden.trainium3.rmsnorm.rmsnorm_quant import rmsnorm_quant
from bitpath.golden.trainium3.rmsnorm.rmsnorm_quant_reference import rmsnorm_quant_reference, unpack_rows
from bitpath.golden.trainium3.tensor.issue import IssueSlot, TensorInstruction, issue, load_cycles, tensor_cycles
from bitpath.golden.trainium3.tensor.modes import mode_program, run_mode_program
from bitpath.golden.trainium3.tensor.nc_matmul_sparse import nc_matmul_sparse
from bitpath.golden.trainium3.tensor.sparse import compress_sparse, expand_sparse, pack_tags, unpack_tags
from bitpath.golden.trainium3.vector.activate2 import activate2
from bitpath.golden.trainium3.vector.activation import activation, activation_reduce
from bitpath.golden.trainium3.vector.cycles import engine_cycles
from bitpath.golden.trainium3.vector.dropout import dropout
from bitpath.golden.trainium3.vector.exponential import exponential
from bitpath.golden.trainium3.vector.latency import flow_latency, latency_rows, latency_table, tile_latency
from bitpath.golden.trainium3.vector.memset import memset
from bitpath.golden.trainium3.vector.range_select import range_select
from bitpath.golden.trainium3.vector.rates import rates_table
from bitpath.golden.trainium3.vector.reciprocal import reciprocal
from bitpath.golden.trainium3.vector.rng import rng, seeded_state
from bitpath.golden.trainium3.vector.rows.bn_stats import bn_aggr, bn_stats
from bitpath.golden.trainium3.vector.rows.max8 import max8, nc_find_index8, nc_match_replace8
from bitpath.golden.trainium3.vector.rows.tensor_scalar_cumulative import tensor_scalar_cumulative
from bitpath.golden.trainium3.vector.rows.tensor_tensor_scan import tensor_tensor_scan
from bitpath.golden.trainium3.vector.scalar_tensor_tensor import scalar_tensor_tensor
from bitpath.golden.trainium3.vector.select_reduce import select_reduce
from bitpath.golden.trainium3.vector.softmax import softmax
from bitpath.golden.trainium3.vector.tensor_copy import tensor_copy
from bitpath.golden.trainium3.vector.tensor_copy_predicated import tensor_copy_predicated
from bitpath.golden.trainium3.vector.tensor_reduce import tensor_reduce
from bitpath.golden.trainium3.vector.tensor_scalar import tensor_scalar, tensor_scalar_reduce
from bitpath.golden.trainium3.vector.tensor_tensor import tensor_tensor
from bitpath.golden.trainium3.vector.timeline import flow_timeline
from bitpath.golden.trainium3.vector.xorwow import Xorwow, psum_random_bits, rand2

# Former names, kept for callers of earlier releases.
plan_matmul, plan_tiles, run_plan = matmul_program, tile_program, run_program

__all__ = [
    "AccessPattern",
    "Compute",
    "Core",
    "CoreReport",
    "Descriptor",
    "DmaTime",
    "GenerationTime",
    "Grant",
    "Hbm",
    "HbmPattern",
    "IssueSlot",
    "LayerResult",
    "MatmulInstruction",
    "Operand",
    "Program",
    "Psum",
    "QueueConfig",
    "QueuedDescriptor",
    "Sbuf",
    "TensorInstruction",
    "TrafficClass",
    "Transfer",
    "Xorwow",
    "activate2",
    "activation",
    "activation_reduce",
    "affine_select",
    "bn_aggr",
    "bn_stats",
    "cast",
    "choose_mode",
    "compress_sparse",
    "copy_elements",
    "dequantize",
    "descriptor_cycles",
    "descriptors",
    "dma_compute",
    "dma_copy",
    "dma_gather",
    "dma_gather_add",
    "dma_gather_transpose",
    "dma_scatter",
    "dma_scatter_add",
    "dma_schedule",
    "dma_transpose",
    "dropout",
    "engine_cycles",
    "expand_sparse",
    "exponential",
    "fetch_scales",
    "flow_latency",
    "flow_timeline",
    "from_partitions",
    "gather",
    "gather_scale",
    "generation_time",
    "indirect_offsets",
    "iota",
    "issue",
    "latency_rows",
    "latency_table",
    "load_cycles",
    "local_gather",
    "matmul",
    "matmul_program",
    "max8",
    "memset",
    "mode_program",
    "nc_find_index8",
    "nc_match_replace8",
    "nc_matmul",
    "nc_matmul_mx",
    "nc_matmul_sparse",
    "nc_n_gather",
    "nc_stream_shuffle",
    "nc_transpose",
    "nonzero_with_count",
    "operand_tiles",
    "pack_tags",
    "pack_x4",
    "plan_matmul",
    "plan_tiles",
    "psum_random_bits",
    "quantize_mx",
    "quantize_offline",
    "quantize_tile",
    "rand2",
    "range_select",
    "rates_table",
    "read_add_write",
    "reciprocal",
    "rmsnorm",
    "rmsnorm_quant",
    "rmsnorm_quant_reference",
    "rng",
    "round_to_bfloat16",
    "run_layer",
    "run_mode_program",
    "run_plan",
    "run_program",
    "scalar_tensor_tensor",
    "scatter",
    "scatter_scale",
    "seeded_state",
    "select_reduce",
    "sequence_bounds",
    "softmax",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_cycles",
    "tensor_partition_reduce",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_cumulative",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tensor_tensor_scan",
    "tile_latency",
    "tile_program",
    "to_partitions",
    "topk",
    "transfer_cycles",
    "transpose_cycles",
    "unpack_rows",
    "unpack_tags",
    "unpack_x4",
]
