"""Commands of the engine, a 32x32x32 tile product each, and the layout of a tile in a memory of 64-byte words::

block formats only:   1 word      the exponents of the 64 rows, 8 bits each
                      n words     64 rows of 16 datums, face by face, packed without gaps
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
"""Register rows of a tile: 64 rows of 16 datums."""
TILE_ROW_BITS = ceil_log2(TILE_ROWS)
DST_TILE_BITS = ceil_log2(DST16_ROWS // TILE_ROWS)
"""Width of a tile's number in Dst: 16 tiles of 16 bits, 8 of 32 bits."""
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
"""Tile rows in one 64-byte word of L1, as a power of two."""
MAX_ROWS_PER_WORD_LOG2 = max(ROWS_PER_WORD_LOG2.values())
ROWS_A_CYCLE_LOG2 = ROWS_PER_WORD_LOG2 | {fmt: ceil_log2(16 // 4) for fmt in (Format.BFP2, Format.BFP2A)}
"""Tile rows that the unpacker takes in a cycle, as a power of two: 64 bytes, but 16 of BFP2, whose rows have 4."""
MAX_ROWS_A_CYCLE_LOG2 = max(ROWS_A_CYCLE_LOG2.values())
STEPS = sorted({(log, ROWS_A_CYCLE_LOG2[fmt]) for fmt, log in ROWS_PER_WORD_LOG2.items()})
"""Pairs of both logarithms."""


def rows_per_word_log2(code: Value) -> Value:
    """Return ``ROWS_PER_WORD_LOG2`` of a format code."""
    return _looked_up(ROWS_PER_WORD_LOG2, code)


def rows_a_cycle_log2(code: Value) -> Value:
    """Return ``ROWS_A_CYCLE_LOG2`` of a format code."""
    return _looked_up(ROWS_A_CYCLE_LOG2, code)


def _looked_up(table: dict[Format, int], code: Value) -> Value:
    found = Value.cast(0)
    for log in range(1, max(table.values()) + 1):
        formats = [fmt for fmt, value in table.items() if value == log]
        found = Mux(Cat(code == int(fmt) for fmt in formats).any(), log, found)
    return found


def has_exponents(code: Value) -> Value:
    """Return 1 if tiles of a format have a word of exponents."""
    return Cat(code == int(fmt) for fmt in BLOCK_FLOATS).any()


def load_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the load of a tile from an operand memory; ``address`` is its first word."""
    return data.StructLayout({"address": ceil_log2(config.operand_depth), "control": UnpackControl})


def store_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the store of a Dst tile to the result memory; ``fp16`` selects the bit order of 16-bit words."""
    return data.StructLayout(
        {
            "address": ceil_log2(config.result_depth),
            "control": PackControl,
            "dst_tile": DST_TILE_BITS,
            "fp16": 1,
        }
    )


def product_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the product of two tiles in the Matrix unit; ``stores`` packs the Dst tile afterwards."""
    return data.StructLayout(
        {
            "style": StyleCode,
            "src_a_format": 4,
            "src_b_format": 4,
            "release_a": 1,
            "release_b": 1,
            "flip_a": 1,
            "flip_b": 1,
            "last_phase": 2,
            "clear": 1,
            "stores": 1,
            "store": store_layout(config),
        }
    )


# Building a layout takes milliseconds, and a host needs it for every command.
@cache
def command_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a command: ``dst_tile += left @ right`` in the fidelity phases 0 to ``last_phase``.

    ``left`` goes to SrcB and ``right`` to SrcA. Afterwards ``release_a`` and ``release_b`` give the bank of a source back to its
    unpacker, and ``flip_a`` and ``flip_b`` go on to its other bank. A command whose bank was not given back multiplies the tile
    in it: its own load is ignored except for ``register_format``, in which the Matrix unit reads the tile. Loads fill the banks
    in turn, so a command that loads must read the bank behind that of the last load. ``clear`` sets the Dst tile to 0
    first; ``stores`` packs it to the result memory afterwards. ``store.control.dst32`` is the width of Dst, also for tiles that
    are not stored.
    """
    return data.StructLayout(
        {
            "left": load_layout(config),
            "right": load_layout(config),
            "release_a": 1,
            "release_b": 1,
            "flip_a": 1,
            "flip_b": 1,
            "style": StyleCode,
            "last_phase": 2,
            "clear": 1,
            "stores": 1,
            "store": store_layout(config),
        }
    )
