"""AWS Trainium3 as numpy models, vectorised, bit-identical to `golden.exact`.

TensorE's quad-MX and unscaled matmuls, VectorE's quantize_mx, exponential and XORWOW, the ScalarE and VectorE
instructions of RMSNorm-Quant, and that flow.
"""

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
from bitpath.golden.trainium3.vector.activate2 import activate2
from bitpath.golden.trainium3.vector.activation import activation, activation_reduce
from bitpath.golden.trainium3.vector.cycles import engine_cycles
from bitpath.golden.trainium3.vector.exponential import exponential
from bitpath.golden.trainium3.vector.latency import flow_latency, latency_rows, latency_table, tile_latency
from bitpath.golden.trainium3.vector.rates import rates_table
from bitpath.golden.trainium3.vector.reciprocal import reciprocal
from bitpath.golden.trainium3.vector.scalar_tensor_tensor import scalar_tensor_tensor
from bitpath.golden.trainium3.vector.softmax import softmax
from bitpath.golden.trainium3.vector.tensor_copy import tensor_copy
from bitpath.golden.trainium3.vector.tensor_reduce import tensor_reduce
from bitpath.golden.trainium3.vector.tensor_scalar import tensor_scalar, tensor_scalar_reduce
from bitpath.golden.trainium3.vector.tensor_tensor import tensor_tensor
from bitpath.golden.trainium3.vector.timeline import flow_timeline
from bitpath.golden.trainium3.vector.xorwow import Xorwow, psum_random_bits, rand2

# Former names, kept for callers of earlier releases.
plan_matmul, plan_tiles, run_plan = matmul_program, tile_program, run_program

__all__ = [
    "MatmulInstruction",
    "Program",
    "Xorwow",
    "activate2",
    "activation",
    "activation_reduce",
    "cast",
    "dequantize",
    "engine_cycles",
    "exponential",
    "flow_latency",
    "flow_timeline",
    "from_partitions",
    "gather_scale",
    "latency_rows",
    "latency_table",
    "matmul",
    "matmul_program",
    "nc_matmul",
    "nc_matmul_mx",
    "operand_tiles",
    "pack_x4",
    "plan_matmul",
    "plan_tiles",
    "psum_random_bits",
    "quantize_mx",
    "quantize_offline",
    "quantize_tile",
    "rand2",
    "rates_table",
    "reciprocal",
    "rmsnorm",
    "rmsnorm_quant",
    "rmsnorm_quant_reference",
    "round_to_bfloat16",
    "run_plan",
    "run_program",
    "scalar_tensor_tensor",
    "scatter_scale",
    "softmax",
    "tensor_copy",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tile_latency",
    "tile_program",
    "to_partitions",
    "unpack_rows",
    "unpack_x4",
]
