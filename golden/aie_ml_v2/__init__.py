"""AMD AIE-ML v2's vector unit, vectorised, bit-identical to `golden.exact.aie_ml_v2`."""

from bitpath.golden.aie_ml_v2.convert.floats import (
    f32_to_bf16,
    f32_to_fp8,
    f32_to_fp16,
    fix_to_float,
    float_to_fix,
)
from bitpath.golden.aie_ml_v2.convert.integers import (
    integer_dot,
    pack,
    srs,
    unpack4,
    ups,
)
from bitpath.golden.aie_ml_v2.convert.mx import (
    from_mx,
    to_mx,
)
from bitpath.golden.aie_ml_v2.declarations.codes import (
    Flags,
    FloatSaturation,
)
from bitpath.golden.aie_ml_v2.mac.cascade import (
    Cascade,
)
from bitpath.golden.aie_ml_v2.mac.elementwise import (
    float_op,
    vector_op,
)
from bitpath.golden.aie_ml_v2.mac.flags import (
    with_flags,
)
from bitpath.golden.aie_ml_v2.mac.fused_dot import (
    add_accumulators,
    fused_dot,
)
from bitpath.golden.aie_ml_v2.mac.nonlinear import (
    exp2,
    exp2_instruction,
    tanh,
)
from bitpath.golden.aie_ml_v2.mac.products import (
    complex_dot,
    convolve,
    elementwise,
    int4_matmul,
    integer_matmul,
    sparse_matmul,
)
from bitpath.golden.aie_ml_v2.mac.sparsity import (
    SparseVector,
    compress,
    decompress,
    select,
    sparse_dot,
    sparse_load,
    to_dense,
    to_sparse,
)
from bitpath.golden.aie_ml_v2.mac.widen import (
    bf16_to_f32,
    bf16_to_int32,
    f32_dot,
    f32_to_int32,
    fp8_to_f32,
    fp16_to_f32,
    split_f32,
)
from bitpath.golden.aie_ml_v2.matmul.cycles import (
    MacInstruction,
    issue_cycles,
    macs_per_cycle,
    mx_mode,
    timing,
    total_cycles,
)
from bitpath.golden.aie_ml_v2.matmul.matmul import (
    PreparedRight,
    Program,
    matmul,
    matmul_program,
    multiply,
    prepare,
    result_matrix,
    run_program,
)
from bitpath.golden.aie_ml_v2.operands.lanes import (
    broadcast,
    extract,
    extract_broadcast,
    insert,
    pack_mask,
    push,
    shuffle,
    shuffle_mx,
    unpack_mask,
    vector_shift,
)
from bitpath.golden.aie_ml_v2.operands.layout import (
    MxBlocks,
    MxRegisters,
    from_registers,
    pack_mx,
    pack_tile,
    to_registers,
    unpack_mx,
    unpack_tile,
)
from bitpath.golden.aie_ml_v2.scalar import (
    divide_step,
    scalar_function,
    scalar_op,
)
from bitpath.golden.aie_ml_v2.tile.addresses import (
    Address,
    Dimensions,
    agu_step,
    agu_stream,
    dimensions_from_steps,
)
from bitpath.golden.aie_ml_v2.tile.layers import Layer, integer_layer, mx9_layer, run_layer
from bitpath.golden.aie_ml_v2.tile.memory import (
    DataMemory,
    LoadFifo,
    StoreFifo,
    StreamPort,
    StreamWord,
    banks,
    conflict_cycles,
    stream_result,
)
from bitpath.golden.aie_ml_v2.tile.operation import (
    Registers,
)
from bitpath.golden.aie_ml_v2.tile.tile import Bundle, HazardError, Tile, TileReport
from bitpath.golden.aie_ml_v2.tile.transfers import Fill, Flush, Load, PointerAdd, Pop, Push, Store, StoreSrs
from bitpath.golden.aie_ml_v2.tile.vectors import Mac, Shuffle

# Former names, kept for callers of earlier releases.
MatmulPlan, plan_matmul, run_plan = Program, matmul_program, run_program

__all__ = [
    "Address",
    "Bundle",
    "Cascade",
    "DataMemory",
    "Dimensions",
    "Fill",
    "Flags",
    "FloatSaturation",
    "Flush",
    "HazardError",
    "Layer",
    "Load",
    "LoadFifo",
    "Mac",
    "MacInstruction",
    "MatmulPlan",
    "MxBlocks",
    "MxRegisters",
    "PointerAdd",
    "Pop",
    "PreparedRight",
    "Program",
    "Push",
    "Registers",
    "Shuffle",
    "SparseVector",
    "Store",
    "StoreFifo",
    "StoreSrs",
    "StreamPort",
    "StreamWord",
    "Tile",
    "TileReport",
    "add_accumulators",
    "agu_step",
    "agu_stream",
    "banks",
    "bf16_to_f32",
    "bf16_to_int32",
    "broadcast",
    "complex_dot",
    "compress",
    "conflict_cycles",
    "convolve",
    "decompress",
    "dimensions_from_steps",
    "divide_step",
    "elementwise",
    "exp2",
    "exp2_instruction",
    "extract",
    "extract_broadcast",
    "f32_dot",
    "f32_to_bf16",
    "f32_to_fp8",
    "f32_to_fp16",
    "f32_to_int32",
    "fix_to_float",
    "float_op",
    "float_to_fix",
    "fp8_to_f32",
    "fp16_to_f32",
    "from_mx",
    "from_registers",
    "fused_dot",
    "insert",
    "int4_matmul",
    "integer_dot",
    "integer_layer",
    "integer_matmul",
    "issue_cycles",
    "macs_per_cycle",
    "matmul",
    "matmul_program",
    "multiply",
    "mx9_layer",
    "mx_mode",
    "pack",
    "pack_mask",
    "pack_mx",
    "pack_tile",
    "plan_matmul",
    "prepare",
    "push",
    "result_matrix",
    "run_layer",
    "run_plan",
    "run_program",
    "scalar_function",
    "scalar_op",
    "select",
    "shuffle",
    "shuffle_mx",
    "sparse_dot",
    "sparse_load",
    "sparse_matmul",
    "split_f32",
    "srs",
    "stream_result",
    "tanh",
    "timing",
    "to_dense",
    "to_mx",
    "to_registers",
    "to_sparse",
    "total_cycles",
    "unpack4",
    "unpack_mask",
    "unpack_mx",
    "unpack_tile",
    "ups",
    "vector_op",
    "vector_shift",
    "with_flags",
]
