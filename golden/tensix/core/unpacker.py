"""UNPACR: which datums of L1 an unpacker reads and which rows of SrcA, SrcB or Dst it fills; golden's `unpack_tile` converts.

::

    first datum = ((W * Z_dim + Z) * Y_dim + Y) * X_dim + X       of channel 0, after the exponents of block floats
    datums      = X of channel 1 - X of channel 0 + 1
    first row   = (Y * Y_stride + Z * Z_stride + W * W_stride) / bytes of a register datum / 16      of channel 1;
                  unpacker 0 in multi-context mode takes its Dst address instead, and all its rows count from 4

In multi-context mode unpacker 0 has 8 contexts and unpacker 1 has 2. Each has its own address; the low two bits of its number
choose X_dim, Dst address, offset and column shift. Compressed data, row search and upsampling are not modelled.

Ref: tt-isa-documentation, UNPACR_Regular: 3930471, of Blackhole ec91668.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.convert.unpack import DST32_FORMATS, L1_BYTES, UnpackControl, tile_of
from bitpath.golden.tensix.core.state import THREADS, State, UndefinedBehavior, format_of
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST16_ROWS,
    DST32,
    FACE,
    SRC_ROWS,
    Chip,
    Format,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.matrix.moves import SHORT_FORMATS
from bitpath.golden.tensix.operands.counters import add_values

# UNPACR_NOP and SETDVALID: clear a bank of SrcA or SrcB, or hand it over as it is.
#
# Wormhole's field ``what`` is 1 or 5 to clear to 0 or to minus infinity, 7 to hand over, 2 for nothing. Blackhole's ``pop`` is 1 to
# clear (``value`` 0 or 1), 2 for nothing, and ``set_valid`` hands over besides.
#
# Ref: tt-llk 36b092e; ttsim v1.10.0; tt-isa-documentation 3930471, SETDVALID.


MINUS_INFINITY = 0x7FFFF
"""A word of SrcA that is below every other."""


class Action(NamedTuple):
    """Effects of an UNPACR_NOP on its bank.

    Attributes
    ----------
    clears : True if it clears the unpacker's bank.
    word : what it writes there.
    waits_like_unpacr : True if it waits for the unpacker's bank, False for the Matrix unit's.
    hands_over : True if it gives the bank to the Matrix unit.
    """

    clears: bool
    word: int
    waits_like_unpacr: bool
    hands_over: bool


_WORMHOLE = {
    1: Action(True, 0, False, False),
    2: Action(False, 0, False, False),
    5: Action(True, MINUS_INFINITY, False, False),
    7: Action(False, 0, False, True),
}
_CLEARS = {1: True, 2: False}
_VALUES = {0: 0, 1: MINUS_INFINITY}


def action(chip: Chip, instruction: Instruction) -> Action:
    """Return the effects of an UNPACR_NOP.

    Raises
    ------
    ValueError : golden does not model it.
    """
    if chip is Chip.WORMHOLE:
        found = _WORMHOLE.get(instruction["what"])
        if found is None:
            raise ValueError(f"what must be 1, 2, 5 or 7 in UNPACR_NOP, not {instruction['what']}")
    else:
        if instruction["pop"] not in _CLEARS or instruction["value"] not in _VALUES or instruction["bank"]:
            raise ValueError(f"pop must be 1 or 2, value 0 or 1 and bank 0 in UNPACR_NOP, not as in {instruction}")
        word = _VALUES[instruction["value"]]
        found = Action(_CLEARS[instruction["pop"]], word, bool(instruction["stall"]), bool(instruction["set_valid"]))
    if found.clears and found.word and instruction["unpacker"]:
        raise ValueError("unpacker must be 0 in an UNPACR_NOP that clears to minus infinity, not 1")
    return found


def unpacr_nop(state: State, thread: int, instruction: Instruction) -> None:
    """Execute UNPACR_NOP."""
    found, unpacker = action(state.chip, instruction), instruction["unpacker"]
    source = state.source(unpacker)
    if found.clears:
        source.written[:] = found.word
    if found.hands_over:
        source.hand_over(state.config.read("unpack_out_format", thread, unpacker))


def setdvalid(state: State, _: int, instruction: Instruction) -> None:
    """Execute SETDVALID; the bank implies no format, so that reading one is undefined on Blackhole."""
    for unpacker in range(2):
        if instruction["sources"] >> unpacker & 1:
            state.source(unpacker).hand_over(None)


ADDRESS_BYTES = 16
"""Bytes that an address in the configuration counts, which is one less than the address."""
SKIPPED_ROWS = 4
"""Rows before SrcA's and Dst's first one in unpacker 0's addresses."""
STRIDE_STEP = 4
COLUMN_SHIFT = 0xF
SHIFTS_WIDTH = 12
"""Bits of the shift amounts that shift columns; in tilise mode all 12 are the row stride in units of 16 bytes."""


WIDE_FORMATS = (Format.FP32, Format.INT32)
"""Formats that Dst alone holds; an UNPACR of them to a source may write zeros."""
CONTEXTS, CONTEXTS_1, ADDRESSED = 8, 2, 4
"""Contexts of unpacker 0 and of unpacker 1, and those that have addresses and sizes of their own."""
STEPS = ("ch0_y", "ch0_z", "ch1_y", "ch1_z")
"""Fields of UNPACR that step counters."""
UNPACKING = (
    "uncompressed",
    "uncompressed_0",
    "uncompressed_1",
    "contexts_to_dst",
    "context_x_dims",
    "last_shift_amount",
    "descriptor_uncompressed",
    "l1_format",
    "unpack_out_format",
    "force_exponent",
    "forced_exponent",
    "tilise",
    "shift_amounts",
    "src_a_unsigned",
    "src_b_unsigned",
    "unpack_e4m3",
    "unpack_to_dst",
    "descriptor_to_dst",
    "transpose",
    "context_x_dim",
    "x_dim",
    "y_dim",
    "z_dim",
    "unpack_y_stride",
    "unpack_z_stride",
    "unpack_w_stride",
    "add_dst_address",
    "override_with_address",
)
"""Fields that decide `Settings`."""


@dataclass(frozen=True, kw_only=True)
class Load:
    """The datums that an UNPACR reads, and the rows that it fills.

    Attributes
    ----------
    address : byte address of the tile in L1, of the exponents where there are some.
    first, count : first datum that is read, and how many.
    datums : datums of the whole tile.
    row : first row of SrcA, SrcB or Dst; it wraps there.
    """

    control: UnpackControl
    address: int
    first: int
    count: int
    datums: int
    row: int

    @property
    def rows(self) -> int:
        """Rows that the datums reach."""
        step = FACE * COLUMNS if self.control.transpose else COLUMNS
        return -(-self.count // step) * step // COLUMNS


class Settings(NamedTuple):
    """An unpacker's configuration, but for addresses.

    Attributes
    ----------
    control : conversion and places.
    x_dim, y_dim, z_dim : datums of a tile.
    in_bits : bits of a datum in L1.
    exponents : bytes of the exponents in L1.
    strides : bytes of Y, Z and W of channel 1.
    out_width : bytes of a datum of the register.
    adds_address : True if the strides count with a Dst address of a context.
    overrides : SRCA_SET_SetOvrdWithAddr.
    """

    control: UnpackControl
    x_dim: int
    y_dim: int
    z_dim: int
    in_bits: int
    exponents: int
    strides: tuple[int, int, int]
    out_width: int
    adds_address: bool
    overrides: bool


def unpacr(state: State, thread: int, instruction: Instruction) -> None:
    """Execute UNPACR, whose bank the wait gate has found free; raises as `load_of`."""
    unpacker, context = instruction["unpacker"], context_of(state, thread, instruction)
    load = load_of(state, thread, instruction)
    if load.control.to_dst:
        _fill_dst(state, load)
    elif load.control.out_format in WIDE_FORMATS and not load.control.zero:
        raise UndefinedBehavior(
            f"the unpacker's output format must be one that SrcA and SrcB hold, not {load.control.out_format.name}"
        )
    else:
        _fill(state, load, state.source(unpacker).written, load.row)
    increments = {name: instruction[name] for name in STEPS if instruction[name]}
    if increments:
        for each in {thread, _adc_thread(thread, instruction)}:
            state.adc[each] = state.adc[each].updated(1 << unpacker, lambda adc: add_values(adc, **increments))
    if instruction["multi_context"] and instruction["context_counter"]:
        count = 1 << state.config.read("context_count", thread, unpacker)
        state.contexts[unpacker][thread] = (context + 1) % CONTEXTS if context + 1 < count else 0
    if instruction["flip"]:
        state.source(unpacker).hand_over(int(load.control.out_format))


def context_of(state: State, thread: int, instruction: Instruction) -> int:
    """Return the context of an UNPACR, 0 without multi-context mode; raise UndefinedBehavior for one that unpacker 1 lacks."""
    if not instruction["multi_context"]:
        return 0
    unpacker = instruction["unpacker"]
    number = state.contexts[unpacker][thread] if instruction["context_counter"] else instruction["context"]
    number = (number + state.config.of_thread("context_offset", thread, unpacker)) % CONTEXTS
    if unpacker and number >= CONTEXTS_1:
        raise UndefinedBehavior(f"the context must be 0 to {CONTEXTS_1 - 1} on unpacker 1, not {number}")
    return number


def load_of(state: State, thread: int, instruction: Instruction) -> Load:
    """Return the datums that an UNPACR reads, and the rows that it fills.

    Raises
    ------
    UndefinedBehavior : an address outside of L1 or of the register, formats or modes that do not go together.
    ValueError : a mode that golden does not model.
    """
    _check_modes(instruction)
    unpacker, multi, context = (
        instruction["unpacker"],
        instruction["multi_context"],
        context_of(state, thread, instruction),
    )
    settings = state.configured(UNPACKING, _settings, thread, unpacker, multi, context, instruction["zero"])
    row = _first_row(state, thread, instruction, settings, context)
    load = Load(control=settings.control, row=row, **_tile(state, thread, instruction, settings, context))
    _check_rows(unpacker, load, overrides=settings.overrides)
    return load


def _adc_thread(thread: int, instruction: Instruction) -> int:
    """Return the thread whose counters give X and Y."""
    return instruction["adc"] if instruction["multi_context"] else thread


def _check_modes(instruction: Instruction) -> None:
    if instruction["row_search"]:
        raise ValueError(f"row_search must be 0 in UNPACR: golden does not model it; not {instruction['row_search']}")
    if instruction["multi_context"] and instruction["adc"] >= THREADS:
        raise UndefinedBehavior(f"adc must be 0 to {THREADS - 1} in UNPACR, not {instruction['adc']}")


def _of_context(state: State, thread: int, first: tuple[str, int], others: str, context: int) -> int:
    """Return a field of a context; the field of context 0 has another name, and a unit."""
    return state.config.read(*((others, thread, context - 1) if context else (first[0], thread, first[1])))


def _settings(state: State, thread: int, unpacker: int, multi: int, context: int, zero: int) -> Settings:
    """Return an unpacker's configuration; it reads fields of `UNPACKING` alone and raises as `load_of`."""
    read = state.config.read
    name = "uncompressed" if multi else "descriptor_uncompressed"
    if not _of_context(state, thread, (name, unpacker), f"uncompressed_{unpacker}", context):
        raise ValueError(f"unpacker {unpacker} must be configured for uncompressed data: golden models no other")
    in_format = format_of("the tile descriptor's format", read("l1_format", thread, unpacker))
    out_format = format_of("the unpacker's output format", read("unpack_out_format", thread, unpacker))
    control = _control(state, thread, unpacker, multi, context, zero, in_format, out_format)
    x_dim = read("x_dim", thread, unpacker)
    if multi and not unpacker:
        x_dim = _of_context(state, thread, ("context_x_dim", 0), "context_x_dims", context % ADDRESSED)
    y_dim, z_dim = read("y_dim", thread, unpacker), read("z_dim", thread, unpacker) or 1
    block = BLOCK_FLOATS.get(in_format)
    has_exponents = block is not None and control.forced_exponent is None
    return Settings(
        control=control,
        x_dim=x_dim,
        y_dim=y_dim,
        z_dim=z_dim,
        in_bits=8 * L1_BYTES[in_format] if block is None else block.datum_bits,
        exponents=exponent_stream_bytes(x_dim * y_dim * z_dim) if has_exponents else 0,
        strides=(
            read("unpack_y_stride", thread, unpacker),
            read("unpack_z_stride", thread, unpacker),
            read("unpack_w_stride", thread, unpacker),
        ),
        out_width=4 if out_format in DST32_FORMATS else L1_BYTES.get(out_format, 1),
        adds_address=control.to_dst or bool(read("add_dst_address", thread)),
        overrides=bool(state.config.of_thread("override_with_address", thread)),
    )


def _control(
    state: State, thread: int, unpacker: int, multi: int, context: int, zero: int, in_format: Format, out_format: Format
) -> UnpackControl:
    read = state.config.read
    forced = in_format in BLOCK_FLOATS and read("force_exponent", thread, unpacker)
    tilise = read("tilise", thread, unpacker)
    if tilise and unpacker:
        raise ValueError("tilise mode must be off on unpacker 1: golden models it on unpacker 0 alone")
    shifts = 0 if unpacker else read("shift_amounts", thread) | read("last_shift_amount", thread) << SHIFTS_WIDTH
    selected = "unpack_to_dst" if multi else "descriptor_to_dst"
    control: dict[str, Any] = {
        "in_format": in_format,
        "out_format": out_format,
        "unsigned": in_format is Format.INT8 and bool(read(f"src_{'ab'[unpacker]}_unsigned", thread)),
        "e4m3": bool(read("unpack_e4m3", thread, unpacker)),
        "forced_exponent": read("forced_exponent", thread, unpacker) if forced else None,
        "to_dst": not unpacker and bool(_of_context(state, thread, (selected, 0), "contexts_to_dst", context)),
        "transpose": not unpacker and bool(read("transpose", thread, unpacker)),
        "row_stride": (shifts & (1 << SHIFTS_WIDTH) - 1) << STRIDE_STEP if tilise else None,
        "col_shift": 0 if tilise else shifts >> 4 * (context % ADDRESSED) & COLUMN_SHIFT,
        "zero": bool(zero),
    }
    try:
        return UnpackControl(**control)
    except ValueError as error:
        raise UndefinedBehavior(str(error)) from None


def _tile(state: State, thread: int, instruction: Instruction, settings: Settings, context: int) -> dict[str, int]:
    """Return the fields of a `Load` that say where a tile is in L1 and which of its datums are read."""
    unpacker, x_dim, y_dim, z_dim = instruction["unpacker"], settings.x_dim, settings.y_dim, settings.z_dim
    base = _of_context(state, thread, ("base_address", unpacker), f"base_addresses_{unpacker}", context)
    offset = state.config.read(f"base_offsets_{unpacker}", thread, context % ADDRESSED)
    address = (base + offset + 1) * ADDRESS_BYTES
    own = state.adc[thread].unit(unpacker).channel_0
    of_xy = state.adc[_adc_thread(thread, instruction)].unit(unpacker)
    first = ((own.w * z_dim + own.z) * y_dim + of_xy.channel_0.y) * x_dim + of_xy.channel_0.x
    count = of_xy.channel_1.x - of_xy.channel_0.x + 1
    if count < 1:
        raise ValueError(f"X of channel 1 must not be below X of channel 0 in UNPACR, not {count - 1} from it")
    end = address + settings.exponents + -(-(first + count) * settings.in_bits // 8)
    if end > state.l1.size:
        raise UndefinedBehavior(f"UNPACR must read from L1, {state.l1.size} bytes, not to address {end}")
    return {"address": address, "first": first, "count": count, "datums": x_dim * y_dim * z_dim}


def _first_row(state: State, thread: int, instruction: Instruction, settings: Settings, context: int) -> int:
    """Return the first row of the register; `SKIPPED_ROWS` are taken off for unpacker 0."""
    unpacker, width = instruction["unpacker"], settings.out_width
    channel, (y, z, w) = state.adc[thread].unit(unpacker).channel_1, settings.strides
    address = channel.y * y + channel.z * z + channel.w * w
    if address % width:
        name = settings.control.out_format.name
        raise UndefinedBehavior(f"the output address must be a multiple of {width} bytes with {name}, not {address}")
    address //= width
    if instruction["multi_context"] and not unpacker:
        given = _of_context(state, thread, ("dst_address", 0), "dst_addresses", context % ADDRESSED)
        address = given + (address if settings.adds_address else 0)
    row, column = divmod(address, COLUMNS)
    if column or (row < SKIPPED_ROWS and not unpacker):
        least = 0 if unpacker else SKIPPED_ROWS * COLUMNS
        raise ValueError(f"the output address must be a multiple of {COLUMNS} from {least} on, not {address}")
    return row if unpacker else row - SKIPPED_ROWS


def _check_rows(unpacker: int, load: Load, *, overrides: bool) -> None:
    """Raise for rows that the register does not have; without SRCA_SET_SetOvrdWithAddr unpacker 0 has 16 rows of SrcA."""
    row, count = load.row, load.rows
    if load.control.to_dst:
        if overrides:
            raise ValueError("SRCA_SET_SetOvrdWithAddr must be 0 with Dst: golden does not model it")
        return
    if load.control.transpose and row % FACE:
        raise ValueError(f"the first row must be a multiple of {FACE} with transpose, not {row}")
    if not unpacker and row % SRC_ROWS + count > SRC_ROWS:
        raise UndefinedBehavior(f"UNPACR must end at row {SRC_ROWS - 1} of SrcA, not pass it from row {row % SRC_ROWS}")
    if not unpacker and not overrides and row + count > FACE:
        raise UndefinedBehavior(f"SRCA_SET_SetOvrdWithAddr must be 1 for rows from {FACE} on, not 0")


def _fill(state: State, load: Load, rows: np.ndarray, first: int) -> None:
    """Unpack a tile to rows, which wrap."""
    fill = state.settled(tile_of, load.control)
    tile_datums = max(load.datums, load.first + load.count)
    fill(state.l1[load.address :], load.first, load.count, tile_datums, rows, first)


def _fill_dst(state: State, load: Load) -> None:
    row, count, fmt = load.row % DST16_ROWS, load.rows, load.control.out_format
    layout = DST32 if fmt in DST32_FORMATS else DST16_FP16 if fmt in SHORT_FORMATS else DST16_BF16
    last = state.dst.rows(row + count - 1, 1, dst32=layout is DST32)
    if load.count % COLUMNS and not state.dst.defined[last].all():
        raise UndefinedBehavior("UNPACR must fill an undefined Dst row whole, not some of its columns")
    rows = state.dst.read(row, count, layout)
    _fill(state, load, rows, 0)
    state.dst.write(row, rows, layout)
