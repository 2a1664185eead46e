"""Layouts of the vector unit's multiply-accumulate: beats, accumulator words and their addresses.

A native instruction multiplies a tile X [m, k] by a tile Y [k, n]; lane ``n * row + column`` is an element of the result.
The shapes are the first ones of ``golden.aie_ml_v2.declarations.modes``. Element 0 of ``x`` and ``y`` is at bit 0:

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

An MX9 instruction is two beats: elements k = 0 to 7 of all blocks, then k = 8 to 15. The host loads MX4 as MX6 (codes times
4) or as MX9 (codes times 32), according to ``AieNumerics.mx4_path``.
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
"""Bits of the widest X tile, 8 x 8 bytes or 4 x 8 elements of 16 bits."""
X_BLOCKS, Y_BLOCKS = MX9_MODE.shapes[0].m, MX9_MODE.shapes[0].n
"""MX blocks of an instruction: the rows of X, and the columns of Y."""
Y_BITS = Y_BLOCKS * MX_BLOCK * MX6.width
"""Bits of the widest Y tile, MX6's: 16 blocks of 16 codes."""


def place_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the address of an accumulator word: the register and the group of lanes (0 bits if there is one group)."""
    return data.StructLayout({"part": ceil_log2(config.parts), "index": ceil_log2(config.accumulators)})


def word_bits(config: VectorMacConfig) -> int:
    """Return the bits of an accumulator word; lane 0 of its group is lowest."""
    return config.lanes * LANE_BITS


def beat_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the layout of a beat: one cycle of an instruction for the lanes of ``part``.

    The two beats of an MX9 instruction differ only in data and shifts. Each block has one exponent byte and one shift byte:
    bit j for elements 2j and 2j + 1 in MX6; the low nibble has the four bits of the half block in an MX9 beat.
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
    """Return the layout of an accumulator word written by the host."""
    return data.StructLayout({"place": place_layout(config), "word": word_bits(config)})


def written_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the layout of the notice that a result is written in this cycle."""
    return data.StructLayout({"valid": 1, "place": place_layout(config)})
