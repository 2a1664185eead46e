"""Instructions of the tensor engine, each a pass of one tile over the array.

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
    """Operation codes of the instructions."""

    LOAD_STATIONARY = 0
    MULTIPLY_MOVING = 1


def count_width(config: EngineConfig) -> int:
    """Bits of a count of moving words, 0 to ``operand_depth``."""
    return ceil_log2(config.array.operand_depth) + 1


def destination_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of a multiplication's destination: ``count`` results to PSUM, or with ``chain_out`` to the next pass."""
    return data.StructLayout(
        {
            "count": count_width(config),
            "address": psum_address(config.psum),
            "mode": PsumMode,
            "chain_out": 1,
        }
    )


# Cached: a host uses the layout with every instruction, and Amaranth takes milliseconds to create it.
@cache
def instruction_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of one instruction and its destination.

    ``group`` is the first row group of its tile. LOAD_STATIONARY reads ``cols`` words from ``operand_address`` on, the
    first for column 0; the next multiplication uses them. MULTIPLY_MOVING reads ``destination.count`` words, 1 or more,
    and adds their products to the oldest partial sums that passes with ``chain_out`` left in its group if ``chain_in`` is
    set, else to +0; the chain holds ``chain_depth`` of them. :class:`InstructionCheck` says which instructions are refused.
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
