"""Tier 1: every operation on scalars, in unbounded integers and fractions. Slow, obvious, and the authority.

The vectorised models are held to these functions bit for bit.
"""

from bitpath.golden.exact.dot import DotTrace, Term, dot_step, trace_dot_product, trace_dot_step
from bitpath.golden.exact.rounding import floor_log2, round_to_format, round_to_integer, ulp
from bitpath.golden.exact.trainium3 import psum_write, quantize_block

__all__ = [
    "DotTrace",
    "Term",
    "dot_step",
    "floor_log2",
    "psum_write",
    "quantize_block",
    "round_to_format",
    "round_to_integer",
    "trace_dot_product",
    "trace_dot_step",
    "ulp",
]
