"""AWS Trainium3 as numpy models, vectorised, bit-identical to `golden.exact`.

TensorE's quad-MX, unscaled and sparse matmuls, its transposes and cycles; the instructions of ScalarE, VectorE and GpSimd; the
flow RMSNorm-Quant; SBUF, PSUM and HBM with their access patterns, indirect access, and the DMA engines that move, cast and add
between them; a core around all of these.
"""

from bitpath.golden.trainium3.core.core import Core, CoreReport
from bitpath.golden.trainium3.core.layer import LayerResult, run_layer
from bitpath.golden.trainium3.core.program import Compute, Operand, Transfer
from bitpath.golden.trainium3.core.rmsnorm import rmsnorm, rmsnorm_quant, rmsnorm_quant_reference, unpack_rows
from bitpath.golden.trainium3.dma.compute import (
    dma_compute,
    dma_gather,
    dma_gather_add,
    dma_scatter,
    dma_scatter_add,
    read_add_write,
)
from bitpath.golden.trainium3.dma.copy import DmaTime, dma_copy, transfer_cycles
from bitpath.golden.trainium3.dma.descriptors import (
    Descriptor,
    GenerationTime,
    choose_mode,
    descriptors,
    generation_time,
)
from bitpath.golden.trainium3.dma.schedule import (
    Grant,
    QueueConfig,
    QueuedDescriptor,
    TrafficClass,
    descriptor_cycles,
    dma_schedule,
)
from bitpath.golden.trainium3.dma.transpose import dma_gather_transpose, dma_transpose, transpose_cycles
from bitpath.golden.trainium3.gpsimd import (
    affine_select,
    iota,
    local_gather,
    nc_n_gather,
    nc_stream_shuffle,
    nonzero_with_count,
    sequence_bounds,
    tensor_partition_reduce,
    topk,
)
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
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul, nc_transpose
from bitpath.golden.trainium3.matmul.nc_matmul_mx import nc_matmul_mx
from bitpath.golden.trainium3.memory.access_pattern import (
    AccessPattern,
    HbmPattern,
    fetch_scales,
    gather,
    indirect_offsets,
    scatter,
)
from bitpath.golden.trainium3.memory.memory import Hbm, Psum, Sbuf, copy_elements
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
from bitpath.golden.trainium3.tensor.issue import IssueSlot, TensorInstruction, issue, load_cycles, tensor_cycles
from bitpath.golden.trainium3.tensor.modes import mode_program, run_mode_program
from bitpath.golden.trainium3.tensor.sparse import (
    compress_sparse,
    expand_sparse,
    nc_matmul_sparse,
    pack_tags,
    unpack_tags,
)
from bitpath.golden.trainium3.vector.activation import activate2, activation, activation_reduce, exponential
from bitpath.golden.trainium3.vector.elementwise import (
    memset,
    reciprocal,
    scalar_tensor_tensor,
    tensor_copy,
    tensor_copy_predicated,
    tensor_scalar,
    tensor_scalar_reduce,
    tensor_tensor,
)
from bitpath.golden.trainium3.vector.random import Xorwow, dropout, psum_random_bits, rand2, rng, seeded_state
from bitpath.golden.trainium3.vector.rates import (
    engine_cycles,
    flow_latency,
    flow_timeline,
    latency_rows,
    latency_table,
    rates_table,
    tile_latency,
)
from bitpath.golden.trainium3.vector.reductions import (
    bn_aggr,
    bn_stats,
    max8,
    nc_find_index8,
    nc_match_replace8,
    range_select,
    select_reduce,
    softmax,
    tensor_reduce,
    tensor_scalar_cumulative,
    tensor_tensor_scan,
)

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
