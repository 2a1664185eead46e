"""AMD AIE-ML v2's vector unit on scalars, in unbounded integers and fractions."""

from bitpath.golden.exact.aie_ml_v2.blocks import (
    Block,
    BlockTrace,
    from_mx,
    pack_block,
    register_bytes,
    to_mx,
    trace_to_mx,
    unpack_block,
)
from bitpath.golden.exact.aie_ml_v2.conversions import bf16_to_int32, narrow, piece_pairs, split_f32, widen
from bitpath.golden.exact.aie_ml_v2.elementwise import float_op, integer_op
from bitpath.golden.exact.aie_ml_v2.fused import LaneTrace, Term, trace_float_lane, trace_mx_lane
from bitpath.golden.exact.aie_ml_v2.integers import (
    IntegerLaneTrace,
    integer_lane,
    saturate,
    srs,
    trace_integer_lane,
    ups,
    wrap,
)
from bitpath.golden.exact.aie_ml_v2.nonlinear import exp2, exp2_instruction, tanh
from bitpath.golden.exact.aie_ml_v2.permute import push, shuffle, vector_shift
from bitpath.golden.exact.aie_ml_v2.rounding import round_float, round_value
from bitpath.golden.exact.aie_ml_v2.sparsity import compress, load_group, pairs, route_group

__all__ = [
    "Block",
    "BlockTrace",
    "IntegerLaneTrace",
    "LaneTrace",
    "Term",
    "bf16_to_int32",
    "compress",
    "exp2",
    "exp2_instruction",
    "float_op",
    "from_mx",
    "integer_lane",
    "integer_op",
    "load_group",
    "narrow",
    "pack_block",
    "pairs",
    "piece_pairs",
    "push",
    "register_bytes",
    "round_float",
    "round_value",
    "route_group",
    "saturate",
    "shuffle",
    "split_f32",
    "srs",
    "tanh",
    "to_mx",
    "trace_float_lane",
    "trace_integer_lane",
    "trace_mx_lane",
    "trace_to_mx",
    "unpack_block",
    "ups",
    "vector_shift",
    "widen",
    "wrap",
]
