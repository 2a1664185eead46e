"""The tensor engine's instructions: one pass of one tile over the array each.

Ref: "Trainium3 Architecture Guide for NKI", LoadStationary and MultiplyMoving; ``nki.isa.nc_matmul_mx``.
"""

from functools import cache

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from bitpath.rtl.trainium3.array.psum import psum_address
from bitpath.rtl.trainium3.array.psum_column import PsumMode
from bitpath.rtl.trainium3.array.systolic_array import Tiling
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.config import EngineConfig


class Opcode(enum.Enum, shape=1):
    """What an instruction does."""

    LOAD_STATIONARY = 0
    MULTIPLY_MOVING = 1


def count_width(config: EngineConfig) -> int:
    """Bits of a number of moving words, from 0 to all that operand memory holds."""
    return ceil_log2(config.array.operand_depth) + 1


def destination_layout(config: EngineConfig) -> data.StructLayout:
    """Where the ``count`` results of a multiplication go: to PSUM, or with ``chain_out`` to the next pass over the rows."""
    return data.StructLayout(
        {
            "count": count_width(config),
            "address": psum_address(config.psum),
            "mode": PsumMode,
            "chain_out": 1,
        }
    )


# Amaranth takes milliseconds for a layout, and a host asks for it with every instruction.
@cache
def instruction_layout(config: EngineConfig) -> data.StructLayout:
    """One instruction.

    ``group`` is the first row group of its tile. LOAD_STATIONARY reads ``cols`` words from ``operand_address`` on, the
    first for column 0; the operands are held from the next multiplication on. MULTIPLY_MOVING reads
    ``destination.count`` words, at least one, and adds their products to the partial sums that the pass before left,
    where ``chain_in`` is set, else to +0. A chained count is at most ``chain_depth``.
    """
    return data.StructLayout(
        {
            "opcode": Opcode,
            "tiling": Tiling,
            "group": max(1, ceil_log2(config.array.groups)),
            "format": ElementFormat,
            "operand_address": ceil_log2(config.array.operand_depth),
            "chain_in": 1,
            "destination": destination_layout(config),
        }
    )
