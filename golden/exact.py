"""Every operation on scalars, in unbounded integers and fractions: slow, obvious, and the authority.

One name for the exact twins, which lie with their machines. The vectorised operations are held to them bit for bit.
"""

from bitpath.golden.aie_ml_v2 import exact as aie_ml_v2
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.dot import DotTrace, Term, dot_step, trace_dot_product, trace_dot_step
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, round_to_integer, ulp
from bitpath.golden.tensix import exact as tensix
from bitpath.golden.trainium3 import exact as trainium3
from bitpath.golden.trainium3.exact.array import psum_write
from bitpath.golden.trainium3.exact.conversions import quantize_block

__all__ = [
    "DotTrace",
    "Term",
    "aie_ml_v2",
    "dot_step",
    "floor_log2",
    "fp32",
    "psum_write",
    "quantize_block",
    "round_to_format",
    "round_to_integer",
    "tensix",
    "trace_dot_product",
    "trace_dot_step",
    "trainium3",
    "ulp",
]
