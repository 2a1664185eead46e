"""What travels through the engine: words of its operand memories, commands, beats on their way to operands, stores."""

from functools import cache

from amaranth import Value
from amaranth.lib import data
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16, INT8
from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, MacControl
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.aie_ml_v2.vector.layouts import X_BITS, X_BLOCKS, Y_BITS, Y_BLOCKS, place_layout

X_WORD = data.StructLayout({"tile": X_BITS, "exponents": X_BLOCKS * BYTE, "shifts": X_BLOCKS * BYTE})
Y_WORD = data.StructLayout({"tile": Y_BITS, "exponents": Y_BLOCKS * BYTE, "shifts": Y_BLOCKS * BYTE})
"""What a beat of the multiply-accumulate takes of either tile; an MX9 tile is two words."""


def is_last_part(config: AieEngineConfig, mode: Value, part: Value) -> Value:
    """Whether ``part`` is the last group of lanes that a mode has; those with fewer lanes have fewer groups."""
    if config.unit.parts == 1:
        return Value.cast(1)
    few = max(1, config.unit.parts * FLOAT16.lanes // INT8.lanes)
    return (part == config.unit.parts - 1) | (mode == MacMode.FLOAT16) & (part == few - 1)


def store_layout(config: AieEngineConfig) -> data.StructLayout:
    """Accumulators, from ``accumulator`` to the ``last_tile``-th after it, and the result word at which they begin."""
    index = ceil_log2(config.unit.accumulators)
    return data.StructLayout(
        {"mode": MacMode, "accumulator": index, "last_tile": index, "address": ceil_log2(config.result_depth)}
    )


# Amaranth takes milliseconds for a layout, and a host asks for it with every command.
@cache
def command_layout(config: AieEngineConfig) -> data.StructLayout:
    """One command: ``acc[t] +-= sum over k of X[k] @ Y[k, t]`` for tiles t from 0 to ``store.last_tile``.

    ``acc[t]`` is register ``store.accumulator + t``, modulo their number, and step k goes from 0 to ``last_step``. X tiles
    lie one after the other from word ``x`` on, Y[k, t] t tiles after word ``y + k * y_stride``. With ``negate`` the products
    are subtracted. With ``clear`` the first step has no accumulator to read; with ``stores`` the accumulators go to the
    result memory afterwards, tile by tile and each group of lanes by group.
    """
    formats = ceil_log2(len(FLOAT8_FORMATS))
    y_address = ceil_log2(config.y_depth)
    return data.StructLayout(
        {
            "x": ceil_log2(config.x_depth),
            "y": y_address,
            "y_stride": y_address,
            # Each step takes a word of X.
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
    """A beat without its operands: where these lie, and what it ends.

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
