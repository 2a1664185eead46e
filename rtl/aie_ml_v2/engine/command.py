"""Layouts of the engine: operand memory words, commands, beats without operands, and stores."""

from dataclasses import dataclass, field
from functools import cache

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT8_FORMATS, FLOAT16, INT8
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mac.config import BYTE, MacControl, MacMode
from bitpath.rtl.aie_ml_v2.vector.config import X_BITS, X_BLOCKS, Y_BITS, Y_BLOCKS, VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.vector_mac import place_layout
from bitpath.rtl.common.config import require_power_of_two
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import Covered, Judge, Unit

# Configuration of the matrix engine.


@dataclass(frozen=True, kw_only=True)
class AieEngineConfig:
    """Configuration of the engine; the depth of each memory must be a power of two.

    Attributes
    ----------
    unit : the multiply-accumulate.
    x_depth : words of the X memory; a word is an X tile, or half of one in MX9.
    y_depth : words of the Y memory; a word is a Y tile, or half of one in MX9.
    result_depth : words of the result memory; a word is a group of ``unit.lanes`` lanes.
    """

    unit: VectorMacConfig = field(default_factory=VectorMacConfig)
    x_depth: int = 64
    y_depth: int = 128
    result_depth: int = 128

    def __post_init__(self) -> None:
        for name in ("x_depth", "y_depth", "result_depth"):
            # The results hold one output tile, the operands one step of K with a tile for each accumulator.
            least = self.unit.parts if name == "result_depth" else 2 * self.unit.accumulators
            require_power_of_two("aie_engine", name, getattr(self, name), max(16, least), 1 << 16)


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


# Check of a command: the engine refuses a faulty one before its queue.


FORMATS = {MacMode.of(mode): len(mode.formats) for mode in (FLOAT16, FLOAT8)}
"""Formats of the modes that have several."""


class CommandCheck(wiring.Component):
    """It is combinational, with latency 0. Fields that a mode or a command without a store does not read may hold
    anything.

    Parameters
    ----------
    config : AieEngineConfig, the sizes of the memories and of the multiply-accumulate.

    Members
    -------
    command : In(command_layout)
    fault : Out(Fault): OPERATION is a code without a mode, FORMAT a format that the mode has not, RANGE a store that passes the
        end of the result memory
    """

    clocked = False

    def __init__(self, config: AieEngineConfig):
        self.config = config
        super().__init__({"command": In(command_layout(config)), "fault": Out(Fault)})

    def elaborate(self, platform):
        m = Module()
        p = self.command
        store, mode = p.store, Value.cast(p.store.mode)
        unknown = Cat(
            (mode == each.value) & ((p.x_format >= n) | (p.y_format >= n)) for each, n in FORMATS.items()
        ).any()
        words, end = Signal(range(2 * self.config.result_depth)), Signal(range(4 * self.config.result_depth))
        m.d.comb += [
            words.eq((store.last_tile + 1) * result_words(self.config, mode)),
            end.eq(store.address + words),
            self.fault.eq(
                first_of(
                    (~mode.matches(*(each.value for each in MacMode)), Fault.OPERATION),
                    (unknown, Fault.FORMAT),
                    (p.stores & (end > self.config.result_depth), Fault.RANGE),
                )
            ),
        ]
        return m


RECORDS = (
    Unit(
        name="aie_command_check",
        config_type=AieEngineConfig,
        build=CommandCheck,
        summary="AIE-ML v2: why the engine refuses a command",
        covered=Covered(AieEngineConfig(), 300),
        judges=(Judge(99, AieEngineConfig(), 300),),
    ),
)
