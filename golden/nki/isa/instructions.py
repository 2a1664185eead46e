"""``nki.isa``: a function for each instruction, which acts at once on the present core."""

from bitpath.golden.nki.declarations.errors import NkiValidationError
from bitpath.golden.nki.isa.activation import activate2, activation, activation_reduce
from bitpath.golden.nki.isa.copy import memset, tensor_copy
from bitpath.golden.nki.isa.cores import core_barrier, sendrecv
from bitpath.golden.nki.isa.dma import dma_compute, dma_copy, dma_transpose
from bitpath.golden.nki.isa.elementwise import reciprocal, scalar_tensor_tensor, tensor_scalar, tensor_tensor
from bitpath.golden.nki.isa.enums import (
    dge_mode,
    dma_engine,
    engine,
    get_nc_sub_version,
    get_nc_version,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from bitpath.golden.nki.isa.gpsimd import (
    iota,
    local_gather,
    nc_n_gather,
    nc_stream_shuffle,
    nonzero_with_count,
    sequence_bounds,
    topk,
)
from bitpath.golden.nki.isa.matmul import nc_matmul, nc_matmul_mx
from bitpath.golden.nki.isa.quantize import exponential, quantize_mx
from bitpath.golden.nki.isa.random import dropout, rand2, rand_get_state, rand_set_state, rng, set_rng_seed
from bitpath.golden.nki.isa.reductions import tensor_partition_reduce, tensor_reduce, tensor_scalar_reduce
from bitpath.golden.nki.isa.registers import register_alloc, register_load, register_move, register_store
from bitpath.golden.nki.isa.rows import (
    bn_aggr,
    bn_stats,
    max8,
    nc_find_index8,
    nc_match_replace8,
    tensor_scalar_cumulative,
    tensor_tensor_scan,
)
from bitpath.golden.nki.isa.selections import affine_select, range_select, select_reduce, tensor_copy_predicated
from bitpath.golden.nki.isa.transpose import nc_transpose
from bitpath.golden.nki.machine.record import NkiInstruction
from bitpath.golden.nki.memory.registers import VirtualRegister

tensor_engine, vector_engine, scalar_engine = engine.tensor, engine.vector, engine.scalar
gpsimd_engine, sync_engine, unknown_engine = engine.gpsimd, engine.sync, engine.unknown

__all__ = [
    "NkiInstruction",
    "NkiValidationError",
    "VirtualRegister",
    "activate2",
    "activation",
    "activation_reduce",
    "affine_select",
    "bn_aggr",
    "bn_stats",
    "core_barrier",
    "dge_mode",
    "dma_compute",
    "dma_copy",
    "dma_engine",
    "dma_transpose",
    "dropout",
    "engine",
    "exponential",
    "get_nc_sub_version",
    "get_nc_version",
    "gpsimd_engine",
    "iota",
    "local_gather",
    "matmul_perf_mode",
    "max8",
    "memset",
    "nc_find_index8",
    "nc_match_replace8",
    "nc_matmul",
    "nc_matmul_mx",
    "nc_n_gather",
    "nc_stream_shuffle",
    "nc_transpose",
    "nc_version",
    "nonzero_with_count",
    "oob_mode",
    "quantize_mx",
    "rand2",
    "rand_get_state",
    "rand_set_state",
    "range_select",
    "reciprocal",
    "reduce_cmd",
    "register_alloc",
    "register_load",
    "register_move",
    "register_store",
    "rng",
    "scalar_engine",
    "scalar_tensor_tensor",
    "select_reduce",
    "sendrecv",
    "sequence_bounds",
    "set_rng_seed",
    "sync_engine",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_engine",
    "tensor_partition_reduce",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_cumulative",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tensor_tensor_scan",
    "topk",
    "unknown_engine",
    "vector_engine",
]
