"""Commands of the engine, a 32x32x32 tile product each, and the layout of a tile in a memory of 64-byte words::

block formats only:   1 word      the exponents of the 64 rows, 8 bits each
                      n words     64 rows of 16 datums, face by face, packed without gaps
"""

from dataclasses import dataclass, field
from functools import cache

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    BLOCK_ROWS,
    COLUMNS,
    DST16_ROWS,
    EXPONENT5_FORMATS,
    STYLE_FORMATS,
    TILE,
    Format,
    Style,
)
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import Covered, Judge, Unit
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.registers import BANKS
from bitpath.rtl.tensix.pack.l1_round import ACCUMULATING_FORMATS
from bitpath.rtl.tensix.pack.layouts import PackControl, PackerConfig
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS, ConversionConfig, UnpackControl

# Configuration of the Tensix engine.


PACK_ROWS = 2
"""Dst rows that the packer takes in a cycle."""


@dataclass(frozen=True, kw_only=True)
class TensixEngineConfig(UnitConfig, unit="tensix_engine"):
    """Configuration of the engine: a Matrix unit with two unpackers, a packer and its own memories.

    Attributes
    ----------
    unit : configuration of the Matrix unit.
    operand_depth : 64-byte words in each of the two operand memories; a power of two.
    result_depth : 64-byte words in the result memory; a power of two.
    """

    unit: MatrixUnitConfig = field(default_factory=MatrixUnitConfig)
    operand_depth: int = power_of_two(64, 1 << 16, 256)
    result_depth: int = power_of_two(64, 1 << 16, 256)

    @property
    def unpack_conversion(self) -> ConversionConfig:
        """Configuration of the unpackers, which take 64 bytes of L1 a cycle."""
        return ConversionConfig(numerics=self.unit.numerics, rows=BLOCK_ROWS)

    @property
    def pack_conversion(self) -> PackerConfig:
        return PackerConfig(numerics=self.unit.numerics, rows=PACK_ROWS)


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


# Check of a command: the engine refuses a faulty one before its queues.
#
# Ref: tt-isa-documentation 3930471, UNPACR_Regular, MVMUL, Packers/FormatConversion, Packers/ReLU; ttsim v1.10.0.


BANK_STATE = data.StructLayout({"holds": BANKS, "reads": 1, "fills": 1})
"""Banks of a source that hold a tile, the one that the next product reads, and the one that the next load fills."""
INTEGERS = (Format.INT32, Format.INT16, Format.INT8)
SOURCE_FORMATS = {
    **{fmt: (fmt,) for fmt in (Format.TF32, Format.FP16, Format.BF16, Format.INT16, Format.INT8)},
    Format.FP32: (Format.TF32, Format.BF16, Format.FP16),
    Format.FP8: (Format.FP8, Format.FP16),
    **{fmt: (fmt, Format.FP16 if fmt in EXPONENT5_FORMATS else Format.BF16) for fmt in BLOCK_FLOATS},
}
"""Formats of SrcA and SrcB to which an unpacker converts, by the format in L1; those of 32 bits are Dst's alone."""
MIDDLE_FORMATS = {
    (True, False): (Format.FP32, Format.TF32, Format.BF16, Format.BFP8, *INTEGERS),
    (True, True): (Format.FP32, Format.BF16, Format.INT32, Format.INT8),
    (False, False): (Format.BF16, Format.TF32, Format.BFP8, Format.FP16, Format.BFP8A, Format.INT16),
    (False, True): (Format.BF16, Format.FP16, Format.BFP8A, Format.FP8, Format.INT16),
}
"""Intermediate formats of a packer, by whether Dst has 32 bits and whether the conversion is raw."""
FLOAT_OUTPUTS = (Format.FP32, Format.TF32, Format.BF16, Format.FP16, Format.FP8, *BLOCK_FLOATS)
SHORT_OUTPUTS = tuple(fmt for fmt in FLOAT_OUTPUTS if fmt in EXPONENT5_FORMATS)


def after_product(before: data.View, release: Value, flip: Value) -> data.View:
    """Return the state of a source's banks behind a product, which loads a tile if its bank holds none."""
    loads = ~before.holds.bit_select(before.reads, 1)
    own = 1 << before.reads
    after = Cat(
        Mux(release, before.holds & ~own, before.holds | own)[:BANKS], before.reads ^ flip, before.fills ^ loads
    )
    return data.View(BANK_STATE, after)


class CommandCheck(wiring.Component):
    """It is combinational, with latency 0. Fields of a load or a store that a command does not have may hold anything.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    command : In(command_layout)
    left, right : In(BANK_STATE), behind the commands before
    fault : Out(Fault):

        - FORMAT: an unpacker, the style or a packer does not have these formats, or with these controls;
        - RANGE: a tile that passes the end of a memory, or a 32-bit tile of Dst from 8 on;
        - BANK: a release or a flip behind which the next product would wait for ever.
    """

    clocked = False

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "command": In(command_layout(config)),
                "left": In(BANK_STATE),
                "right": In(BANK_STATE),
                "fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self.command
        dst32 = p.store.control.dst32
        formats, ranges, banks = [], [p.stores & self._passes(m, p.store, p.store.control.out_format, "store")], []
        for name, load, state, release, flip in (
            ("left", p.left, self.left, p.release_b, p.flip_b),
            ("right", p.right, self.right, p.release_a, p.flip_a),
        ):
            loads = ~state.holds.bit_select(state.reads, 1)
            after = after_product(state, release, flip)
            formats += [loads & self._no_load(load.control), ~self._of_style(load.control.register_format)]
            ranges.append(loads & self._passes(m, load, load.control.l1_format, name))
            banks.append(~after.holds.bit_select(after.reads, 1) & (after.reads != after.fills))
        m.d.comb += self.fault.eq(
            first_of(
                (Cat(*formats, (p.style == StyleCode.INT8) & ~dst32, p.stores & self._no_store(m)).any(), Fault.FORMAT),
                (Cat(*ranges, dst32 & p.store.dst_tile[-1]).any(), Fault.RANGE),
                (Cat(banks).any(), Fault.BANK),
            )
        )
        return m

    def _passes(self, m: Module, tile: data.View, code: Value, name: str) -> Value:
        """Return whether a tile passes the end of its memory."""
        end = Signal(len(tile.address) + TILE_ROWS.bit_length(), name=f"{name}_end")
        m.d.comb += end.eq(tile.address + has_exponents(code) + (TILE_ROWS >> rows_per_word_log2(code)))
        return end > 1 << len(tile.address)

    def _no_load(self, control: data.View) -> Value:
        """Return whether an unpacker does not convert so to a source."""
        known = Cat(
            (control.l1_format == fmt) & control.register_format.matches(*formats)
            for fmt, formats in SOURCE_FORMATS.items()
        )
        lacks_e4m3 = control.e4m3 & (control.l1_format == Format.FP8) & (not self.config.unit.numerics.fp8_e4m3)
        return ~known.any() | (control.unsigned & (control.l1_format != Format.INT8)) | lacks_e4m3 | control.to_dst

    def _of_style(self, code: Value) -> Value:
        """Return whether the style reads a format."""
        style = self.command.style
        return Cat((style == StyleCode.of(each)) & code.matches(*STYLE_FORMATS[each]) for each in Style).any()

    def _no_store(self, m: Module) -> Value:
        """Return whether the packer does not convert so."""
        numerics, control = self.config.unit.numerics, self.command.store.control
        middle, out, raw, dst32 = control.mid_format, control.out_format, control.raw, control.dst32
        rounds = control.round_10b & ~raw
        narrows = rounds & (middle == Format.FP16) & ~dst32 & numerics.round_10b_fp16
        to_tf32 = (middle == Format.FP32) | ((middle == Format.BF16) & (out == Format.FP16))
        if numerics.round_10b_fp16:
            to_tf32 |= (middle == Format.FP16) & out.matches(*SHORT_OUTPUTS)
        settled = Signal.like(middle)
        m.d.comb += settled.eq(Mux(rounds & ~narrows, Format.TF32, middle))
        known = Cat(
            (dst32 == wide) & (raw == is_raw) & settled.matches(*formats)
            for (wide, is_raw), formats in MIDDLE_FORMATS.items()
        )
        integer = middle.matches(*INTEGERS)
        converts = Mux(integer, out == middle, out.matches(*FLOAT_OUTPUTS))
        short = middle.matches(*EXPONENT5_FORMATS) & ~narrows
        of_fp16 = self.command.style == StyleCode.FP16
        refusals = [
            ~known.any(),
            rounds & ~narrows & ~to_tf32,
            ~converts | ((settled == Format.FP32) & (out == Format.TF32)),
            control.unsigned & (middle != Format.INT8),
            control.e4m3 & (out == Format.FP8) & (not numerics.fp8_e4m3),
            control.accumulate & ~out.matches(*ACCUMULATING_FORMATS),
            control.relu[1] & (integer | control.relu_threshold[-1]),
            integer & (control.edge_minus_infinity | control.exponent_threshold.any()),
            control.descale_shift.any() & (raw | (middle != Format.INT8)),
            # A 16-bit word is read as the product has written it.
            ~dst32 & ((self.command.store.fp16 != short) | (of_fp16 != short)),
        ]
        return Cat(refusals).any()


RECORDS = (
    Unit(
        name="tensix_command_check",
        config_type=TensixEngineConfig,
        build=CommandCheck,
        summary="Tensix: why the engine refuses a command",
        covered=Covered(TensixEngineConfig(), 300),
        judges=(Judge(99, TensixEngineConfig(), 1000),),
    ),
)
