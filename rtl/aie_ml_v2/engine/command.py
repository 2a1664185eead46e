"""Layouts of the engine: operand memory words, commands, beats without operands, and stores."""

from functools import cache

from amaranth import Mux, Value
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16, INT8
from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, MacControl
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.aie_ml_v2.vector.layouts import X_BITS, X_BLOCKS, Y_BITS, Y_BLOCKS, place_layout

X_WORD = data.StructLayout({"tile": X_BITS, "exponents": X_BLOCKS * BYTE, "shifts": X_BLOCKS * BYTE})
Y_WORD = data.StructLayout({"tile": Y_BITS, "exponents": Y_BLOCKS * BYTE, "shifts": Y_BLOCKS * BYTE})
"""Operand memory words: the part of a tile for one beat; an MX9 tile is two words."""


def result_words(config: AieEngineConfig, mode: Value) -> Value:
    """Return the words of the result memory that a tile of a mode takes."""
    return Mux(mode == MacMode.FLOAT16, max(1, FLOAT16.lanes // config.unit.lanes), config.unit.parts)


def is_last_part(config: AieEngineConfig, mode: Value, part: Value) -> Value:
    """Return 1 if ``part`` is the mode's last group of lanes; FLOAT16 has 32 lanes and so half as many groups."""
    if config.unit.parts == 1:
        return Value.cast(1)
    few = max(1, config.unit.parts * FLOAT16.lanes // INT8.lanes)
    return (part == config.unit.parts - 1) | (mode == MacMode.FLOAT16) & (part == few - 1)


def store_layout(config: AieEngineConfig) -> data.StructLayout:
    """Return the layout of a store: ``last_tile + 1`` accumulators from ``accumulator`` on, to result word ``address``."""
    index = ceil_log2(config.unit.accumulators)
    return data.StructLayout(
        {"mode": MacMode, "accumulator": index, "last_tile": index, "address": ceil_log2(config.result_depth)}
    )


# Cached: Amaranth takes milliseconds to build a layout, and a host uses it for every command.
@cache
def command_layout(config: AieEngineConfig) -> data.StructLayout:
    """Return the layout of a command: ``acc[t] +-= sum over k of X[k] @ Y[k, t]`` for tiles t = 0 to ``store.last_tile``.

    ``acc[t]`` is register ``store.accumulator + t``, modulo the number of registers; step k runs from 0 to ``last_step``.
    Words of X and Y are modulo their memories; what a command stores must end inside of the result memory.
    X tiles are consecutive from word ``x`` on; Y[k, t] is t tiles after word ``y + k * y_stride``. ``negate`` subtracts the
    products, ``clear`` starts from 0 instead of acc, and ``stores`` copies the accumulators to the result memory
    afterwards, tile by tile, in order of their groups of lanes.
    """
    formats = ceil_log2(len(FLOAT8_FORMATS))
    y_address = ceil_log2(config.y_depth)
    return data.StructLayout(
        {
            "x": ceil_log2(config.x_depth),
            "y": y_address,
            "y_stride": y_address,
            # Each step takes at least one word of X.
            "last_step": ceil_log2(config.x_depth),
            "x_format": formats,
            "y_format": formats,
            "x_signed": 1,
            "y_signed": 1,
            "negate": 1,
            "clear": 1,
            "stores": 1,
            "store": store_layout(config),
        }
    )


def beat_step_layout(config: AieEngineConfig) -> data.StructLayout:
    """Return the layout of a beat with the addresses of its operands.

    ``completes`` marks the last beat of a native product, ``stores`` the last one of a command that stores.
    """
    return data.StructLayout(
        {
            "x": ceil_log2(config.x_depth),
            "y": ceil_log2(config.y_depth),
            "control": MacControl,
            "place": place_layout(config.unit),
            "completes": 1,
            "stores": 1,
            "store": store_layout(config),
        }
    )
