"""Tenstorrent Wormhole's Tensix Matrix unit on scalars, in unbounded integers and fractions."""

from bitpath.golden.exact.tensix.accumulate import Accumulation, accumulate, accumulate_integer, round_tie
from bitpath.golden.exact.tensix.dot import Dot16Trace, add, dot16_integer, multiply_add, trace_dot16
from bitpath.golden.exact.tensix.multiplier import Product, Source, fields, multiply, multiply_integer, read_source

__all__ = [
    "Accumulation",
    "Dot16Trace",
    "Product",
    "Source",
    "accumulate",
    "accumulate_integer",
    "add",
    "dot16_integer",
    "fields",
    "multiply",
    "multiply_add",
    "multiply_integer",
    "read_source",
    "round_tie",
    "trace_dot16",
]
