"""AMD AIE-ML v2's vector unit, vectorised, bit-identical to `golden.exact.aie_ml_v2`."""

from bitpath.golden.aie_ml_v2.cascade import Cascade
from bitpath.golden.aie_ml_v2.cycles import (
    MacInstruction,
    issue_cycles,
    macs_per_cycle,
    mx_mode,
    timing,
    total_cycles,
)
from bitpath.golden.aie_ml_v2.elementwise import float_op, vector_op
from bitpath.golden.aie_ml_v2.emulated_f32 import f32_dot, split_f32
from bitpath.golden.aie_ml_v2.from_mx import from_mx
from bitpath.golden.aie_ml_v2.fused_dot import add_accumulators, fused_dot
from bitpath.golden.aie_ml_v2.integers import integer_dot, srs, ups
from bitpath.golden.aie_ml_v2.layout import MxRegisters, from_registers, pack_mx, to_registers, unpack_mx
from bitpath.golden.aie_ml_v2.matmul import MatmulPlan, matmul, plan_matmul, result_matrix, run_plan
from bitpath.golden.aie_ml_v2.mx_blocks import MxBlocks
from bitpath.golden.aie_ml_v2.narrow import f32_to_bf16, f32_to_fp8, f32_to_fp16
from bitpath.golden.aie_ml_v2.nonlinear import exp2, exp2_instruction, tanh
from bitpath.golden.aie_ml_v2.permute import push, shuffle, shuffle_mx, vector_shift
from bitpath.golden.aie_ml_v2.sparsity import (
    SparseVector,
    compress,
    decompress,
    select,
    sparse_dot,
    sparse_load,
    to_dense,
    to_sparse,
)
from bitpath.golden.aie_ml_v2.to_mx import to_mx
from bitpath.golden.aie_ml_v2.widen import bf16_to_f32, bf16_to_int32, fp8_to_f32, fp16_to_f32

__all__ = [
    "Cascade",
    "MacInstruction",
    "MatmulPlan",
    "MxBlocks",
    "MxRegisters",
    "SparseVector",
    "add_accumulators",
    "bf16_to_f32",
    "bf16_to_int32",
    "compress",
    "decompress",
    "exp2",
    "exp2_instruction",
    "f32_dot",
    "f32_to_bf16",
    "f32_to_fp8",
    "f32_to_fp16",
    "float_op",
    "fp8_to_f32",
    "fp16_to_f32",
    "from_mx",
    "from_registers",
    "fused_dot",
    "integer_dot",
    "issue_cycles",
    "macs_per_cycle",
    "matmul",
    "mx_mode",
    "pack_mx",
    "plan_matmul",
    "push",
    "result_matrix",
    "run_plan",
    "select",
    "shuffle",
    "shuffle_mx",
    "sparse_dot",
    "sparse_load",
    "split_f32",
    "srs",
    "tanh",
    "timing",
    "to_dense",
    "to_mx",
    "to_registers",
    "to_sparse",
    "total_cycles",
    "unpack_mx",
    "ups",
    "vector_op",
    "vector_shift",
]
