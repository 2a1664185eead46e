"""AMD AIE-ML v2's vector unit on scalars, in unbounded integers and fractions."""

from bitpath.golden.aie_ml_v2.exact.addresses import (
    Level,
    agu_step,
    nest_levels,
)
from bitpath.golden.aie_ml_v2.exact.blocks import (
    Block,
    BlockTrace,
    from_mx,
    pack_block,
    pack_tile,
    register_bytes,
    to_mx,
    trace_to_mx,
    unpack_block,
    unpack_tile,
)
from bitpath.golden.aie_ml_v2.exact.conversions import (
    bf16_to_int32,
    f32_to_int32,
    narrow,
    piece_pairs,
    split_f32,
    widen,
)
from bitpath.golden.aie_ml_v2.exact.elementwise import (
    float_op,
    integer_op,
)
from bitpath.golden.aie_ml_v2.exact.fifos import (
    Popped,
    load_fifo,
    store_fifo,
)
from bitpath.golden.aie_ml_v2.exact.fix_float import (
    fix_to_float,
    float_to_fix,
)
from bitpath.golden.aie_ml_v2.exact.flags import (
    dot_flags,
    int32_flags,
    mx_flags,
    narrow_flags,
    srs_flags,
    status_word,
    ups_flags,
)
from bitpath.golden.aie_ml_v2.exact.fused import (
    LaneTrace,
    Term,
    trace_float_lane,
    trace_mx_lane,
)
from bitpath.golden.aie_ml_v2.exact.integers import (
    IntegerLaneTrace,
    integer_lane,
    saturate,
    srs,
    trace_integer_lane,
    ups,
    wrap,
)
from bitpath.golden.aie_ml_v2.exact.lanes import (
    broadcast,
    extract,
    extract_broadcast,
    insert,
    pack_mask,
    push,
    unpack_mask,
)
from bitpath.golden.aie_ml_v2.exact.memory import (
    banks,
    conflict_cycles,
)
from bitpath.golden.aie_ml_v2.exact.nonlinear import (
    exp2,
    exp2_instruction,
    tanh,
)
from bitpath.golden.aie_ml_v2.exact.pack import (
    pack,
    unpack4,
)
from bitpath.golden.aie_ml_v2.exact.permute import (
    shuffle,
    vector_shift,
)
from bitpath.golden.aie_ml_v2.exact.products import (
    complex_lane,
    convolution_pairs,
    elementwise_pairs,
    matrix_pairs,
)
from bitpath.golden.aie_ml_v2.exact.scalar_functions import (
    scalar_function,
)
from bitpath.golden.aie_ml_v2.exact.scalar_operations import (
    divide_step,
    scalar_op,
)
from bitpath.golden.aie_ml_v2.exact.sparsity import (
    compress,
    load_group,
    pairs,
    positions,
    route_group,
)

__all__ = [
    "Block",
    "BlockTrace",
    "IntegerLaneTrace",
    "LaneTrace",
    "Level",
    "Popped",
    "Term",
    "agu_step",
    "banks",
    "bf16_to_int32",
    "broadcast",
    "complex_lane",
    "compress",
    "conflict_cycles",
    "convolution_pairs",
    "divide_step",
    "dot_flags",
    "elementwise_pairs",
    "exp2",
    "exp2_instruction",
    "extract",
    "extract_broadcast",
    "f32_to_int32",
    "fix_to_float",
    "float_op",
    "float_to_fix",
    "from_mx",
    "insert",
    "int32_flags",
    "integer_lane",
    "integer_op",
    "load_fifo",
    "load_group",
    "matrix_pairs",
    "mx_flags",
    "narrow",
    "narrow_flags",
    "nest_levels",
    "pack",
    "pack_block",
    "pack_mask",
    "pack_tile",
    "pairs",
    "piece_pairs",
    "positions",
    "push",
    "register_bytes",
    "route_group",
    "saturate",
    "scalar_function",
    "scalar_op",
    "shuffle",
    "split_f32",
    "srs",
    "srs_flags",
    "status_word",
    "store_fifo",
    "tanh",
    "to_mx",
    "trace_float_lane",
    "trace_integer_lane",
    "trace_mx_lane",
    "trace_to_mx",
    "unpack4",
    "unpack_block",
    "unpack_mask",
    "unpack_tile",
    "ups",
    "ups_flags",
    "vector_shift",
    "widen",
    "wrap",
]
