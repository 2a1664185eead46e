"""Tenstorrent Wormhole's Tensix Matrix unit on scalars, in unbounded integers and fractions."""

from bitpath.golden.tensix.exact.accumulate import Accumulation, accumulate, accumulate_integer
from bitpath.golden.tensix.exact.conversions import (
    early_float,
    early_int8,
    early_int16,
    edge_mask,
    exponent_threshold,
    late_float,
    pack_block,
    relu,
    unpack_block,
    unpack_datum,
)
from bitpath.golden.tensix.exact.dot import (
    Dot16Trace,
    IntegerDot16Trace,
    add,
    dot16_integer,
    multiply_add,
    trace_dot16,
    trace_dot16_integer,
)
from bitpath.golden.tensix.exact.l1 import add_to_l1
from bitpath.golden.tensix.exact.moves import dst_word, moved_source, source_word
from bitpath.golden.tensix.exact.multiplier import (
    IntegerProduct,
    Product,
    Source,
    fields,
    multiply,
    multiply_integer,
    read_source,
)
from bitpath.golden.tensix.exact.mx import mx_element, mx_scale, mx_source
from bitpath.golden.tensix.exact.pooling import maximum
from bitpath.golden.tensix.exact.riscv import riscv_stored
from bitpath.golden.tensix.exact.sfpload import loaded
from bitpath.golden.tensix.exact.sfpstore import stored
from bitpath.golden.tensix.exact.stochastic import rounds_up, stochastic_round

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
    "dst_word",
    "early_float",
    "early_int8",
    "early_int16",
    "edge_mask",
    "exponent_threshold",
    "fields",
    "late_float",
    "loaded",
    "maximum",
    "moved_source",
    "multiply",
    "multiply_add",
    "multiply_integer",
    "mx_element",
    "mx_scale",
    "mx_source",
    "pack_block",
    "read_source",
    "relu",
    "riscv_stored",
    "rounds_up",
    "source_word",
    "stochastic_round",
    "stored",
    "trace_dot16",
    "trace_dot16_integer",
    "unpack_block",
    "unpack_datum",
]
