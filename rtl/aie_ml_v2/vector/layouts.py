"""What travels to, inside and from the vector unit's multiply-accumulate.

A native instruction multiplies a tile X [m, k] by a tile Y [k, n]; lane ``n * row + column`` is an element of the result,
and the shapes are the first ones of ``golden.spec.aie_ml_v2_modes``. Elements lie in ``x`` and ``y`` from bit 0 up:

========= ================= =========================== ============================
mode      element           ``x``                       ``y``
========= ================= =========================== ============================
INT8      8 bits            row by row, [8, 8]          row by row, [8, 8]
INT16     16 bits           row by row, [8, 2]          row by row, [2, 8]
FLOAT16   16 bits           row by row, [4, 8]          row by row, [8, 8]
FLOAT8    8 bits            row by row, [8, 8]          row by row, [8, 8]
MX6       5 bits            4 blocks of 16              16 blocks of 16, by columns
MX9       8 bits            4 half blocks of 8          16 half blocks of 8
========= ================= =========================== ============================

An MX9 instruction is two beats: the elements k 0 to 7 of all blocks, then k 8 to 15. MX4 is MX6 with its codes times four,
or MX9 with its codes times 32, as ``AieNumerics.mx4_path`` says; whoever loads it pads it.
"""

from amaranth import unsigned
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX_BLOCK, VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.modes import MX9_MODE
from bitpath.rtl.aie_ml_v2.mac.layouts import (
    BYTE,
    LANE_BITS,
    MacControl,
)
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig

X_BITS = VECTOR_BITS
"""Of the X tile at its widest, 8 x 8 bytes or 4 x 8 words of 16 bits."""
X_BLOCKS, Y_BLOCKS = MX9_MODE.shapes[0].m, MX9_MODE.shapes[0].n
"""Blocks of an MX instruction: rows of X, columns of Y."""
Y_BITS = Y_BLOCKS * MX_BLOCK * MX6.width
"""Of the Y tile at its widest, which is MX6's."""


def place_layout(config: VectorMacConfig) -> data.StructLayout:
    """Where a word of accumulators is: the register, and which group of lanes of it (no bits where there is one)."""
    return data.StructLayout({"part": ceil_log2(config.parts), "index": ceil_log2(config.accumulators)})


def word_bits(config: VectorMacConfig) -> int:
    """Bits of a word of accumulators: lane 0 of its group lowest."""
    return config.lanes * LANE_BITS


def beat_layout(config: VectorMacConfig) -> data.StructLayout:
    """One cycle of an instruction for the lanes of ``part``.

    Both beats of an MX9 instruction have the same fields but for data and shifts. The exponents are one byte a block. The
    shift bytes are MX6's shift bits, bit j for elements 2j and 2j + 1; an MX9 beat's have in their low nibbles the four
    bits of the half blocks.
    """
    index = unsigned(ceil_log2(config.accumulators))
    return data.StructLayout(
        {
            "control": MacControl,
            "acc1": index,
            "acc2": index,
            "dst": index,
            "part": ceil_log2(config.parts),
            "x": X_BITS,
            "x_exponents": X_BLOCKS * BYTE,
            "x_shifts": X_BLOCKS * BYTE,
            "y": Y_BITS,
            "y_exponents": Y_BLOCKS * BYTE,
            "y_shifts": Y_BLOCKS * BYTE,
        }
    )


def write_layout(config: VectorMacConfig) -> data.StructLayout:
    """A word of accumulators from outside."""
    return data.StructLayout({"place": place_layout(config), "word": word_bits(config)})


def written_layout(config: VectorMacConfig) -> data.StructLayout:
    """Which result is written in this cycle."""
    return data.StructLayout({"valid": 1, "place": place_layout(config)})
