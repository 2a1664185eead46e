"""Tenstorrent Wormhole's Tensix Matrix unit on scalars, in unbounded integers and fractions."""

from bitpath.golden.exact.tensix.accumulate import Accumulation, accumulate, accumulate_integer, round_tie
from bitpath.golden.exact.tensix.conversions import (
    early_float,
    early_int8,
    edge_mask,
    exponent_threshold,
    late_float,
    pack_block,
    relu,
    unpack_block,
    unpack_datum,
)
from bitpath.golden.exact.tensix.dot import (
    Dot16Trace,
    IntegerDot16Trace,
    add,
    dot16_integer,
    multiply_add,
    trace_dot16,
    trace_dot16_integer,
)
from bitpath.golden.exact.tensix.l1 import add_to_l1
from bitpath.golden.exact.tensix.multiplier import (
    IntegerProduct,
    Product,
    Source,
    fields,
    multiply,
    multiply_integer,
    read_source,
)
from bitpath.golden.exact.tensix.pooling import maximum

__all__ = [
    "Accumulation",
    "Dot16Trace",
    "IntegerDot16Trace",
    "IntegerProduct",
    "Product",
    "Source",
    "accumulate",
    "accumulate_integer",
    "add",
    "add_to_l1",
    "dot16_integer",
    "early_float",
    "early_int8",
    "edge_mask",
    "exponent_threshold",
    "fields",
    "late_float",
    "maximum",
    "multiply",
    "multiply_add",
    "multiply_integer",
    "pack_block",
    "read_source",
    "relu",
    "round_tie",
    "trace_dot16",
    "trace_dot16_integer",
    "unpack_block",
    "unpack_datum",
]
