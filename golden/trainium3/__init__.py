"""AWS Trainium3: TensorE's quad-MX matmul and VectorE's quantize_mx, vectorised, bit-identical to `golden.exact`."""

from bitpath.golden.trainium3.layout import (
    from_partitions,
    gather_scale,
    pack_x4,
    scatter_scale,
    to_partitions,
    unpack_x4,
)
from bitpath.golden.trainium3.matmul import (
    MatmulInstruction,
    matmul,
    operand_tiles,
    plan_matmul,
    plan_tiles,
    quantize_tile,
    run_plan,
)
from bitpath.golden.trainium3.nc_matmul_mx import nc_matmul_mx
from bitpath.golden.trainium3.quantize_mx import dequantize, quantize_mx, quantize_offline

__all__ = [
    "MatmulInstruction",
    "dequantize",
    "from_partitions",
    "gather_scale",
    "matmul",
    "nc_matmul_mx",
    "operand_tiles",
    "pack_x4",
    "plan_matmul",
    "plan_tiles",
    "quantize_mx",
    "quantize_offline",
    "quantize_tile",
    "run_plan",
    "scatter_scale",
    "to_partitions",
    "unpack_x4",
]
