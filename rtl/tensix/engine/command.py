"""The engine's commands: a 32x32x32 tile product each, and how a tile lies in a memory of 64-byte words.

A tile is 64 rows of 16 datums, its faces one below the other, packed without gaps. Before the datums of a block
floating-point tile stands a word with the 64 exponents of its rows.
"""

from functools import cache

from amaranth import Cat, Mux, Value
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, DST16_ROWS, TILE, Format
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS, UnpackControl

TILE_ROWS = TILE * TILE // COLUMNS
"""Register rows of a tile."""
TILE_ROW_BITS = ceil_log2(TILE_ROWS)
DST_TILE_BITS = ceil_log2(DST16_ROWS // TILE_ROWS)
"""Of a tile's number in Dst: 16 of 16 bits, 8 of 32 bits."""
WORD_BITS = ROW_BITS
WORD_BYTES = WORD_BITS // 8

ROWS_PER_WORD_LOG2 = {
    Format.FP32: 0,
    Format.TF32: 0,
    Format.INT32: 0,
    Format.FP16: 1,
    Format.BF16: 1,
    Format.INT16: 1,
    Format.FP8: 2,
    Format.INT8: 2,
    **{fmt: ceil_log2(WORD_BITS // (block.datum_bits * COLUMNS)) for fmt, block in BLOCK_FLOATS.items()},
}
"""How many rows of a tile share a 64-byte word in L1, as a power of two."""
MAX_ROWS_PER_WORD_LOG2 = max(ROWS_PER_WORD_LOG2.values())


def rows_per_word_log2(code: Value) -> Value:
    """``ROWS_PER_WORD_LOG2`` of a format's code."""
    found = Value.cast(0)
    for log in range(1, MAX_ROWS_PER_WORD_LOG2 + 1):
        formats = [fmt for fmt, value in ROWS_PER_WORD_LOG2.items() if value == log]
        found = Mux(Cat(code == int(fmt) for fmt in formats).any(), log, found)
    return found


def has_exponents(code: Value) -> Value:
    """Whether a format's tiles have a word of exponents."""
    return Cat(code == int(fmt) for fmt in BLOCK_FLOATS).any()


def load_layout(config: TensixEngineConfig) -> data.StructLayout:
    """A tile in an operand memory, by its first word."""
    return data.StructLayout({"address": ceil_log2(config.operand_depth), "control": UnpackControl})


def store_layout(config: TensixEngineConfig) -> data.StructLayout:
    """A Dst tile, and where it goes in the result memory; ``fp16`` gives the bit order of 16-bit words."""
    return data.StructLayout(
        {
            "address": ceil_log2(config.result_depth),
            "control": PackControl,
            "dst_tile": DST_TILE_BITS,
            "fp16": 1,
        }
    )


def product_layout(config: TensixEngineConfig) -> data.StructLayout:
    """What the Matrix unit does with two tiles, and with the Dst tile afterwards where ``stores`` is set."""
    return data.StructLayout(
        {
            "style": StyleCode,
            "src_a_format": 4,
            "src_b_format": 4,
            "keep_a": 1,
            "keep_b": 1,
            "last_phase": 2,
            "clear": 1,
            "stores": 1,
            "store": store_layout(config),
        }
    )


# Amaranth takes milliseconds for a layout, and a host asks for it with every command.
@cache
def command_layout(config: TensixEngineConfig) -> data.StructLayout:
    """One command: ``dst_tile += left @ right`` in the fidelity phases 0 to ``last_phase``.

    ``left`` goes to SrcB and ``right`` to SrcA. A tile that is kept is also the next command's, whose own load of that
    side is ignored but for ``register_format``, by which the Matrix unit reads the tile. With ``clear`` the Dst tile starts
    at 0; with ``stores`` it is packed to the result memory afterwards. ``store.control.dst32`` is the width of Dst whether
    or not the tile is stored.
    """
    return data.StructLayout(
        {
            "left": load_layout(config),
            "right": load_layout(config),
            "keep_left": 1,
            "keep_right": 1,
            "style": StyleCode,
            "last_phase": 2,
            "clear": 1,
            "stores": 1,
            "store": store_layout(config),
        }
    )
