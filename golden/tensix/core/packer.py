"""PACR: which rows of Dst the packers read and where their datums go in L1; golden's `pack` converts.

::

    start = (X * X_stride + Y * Y_stride + Z * Z_stride + W * W_stride) / bytes of an intermediate datum, of channel 0, in datums
            of Dst, plus the packer's Dst offset in rows
    Wormhole's packers     X of channel 1 - X of channel 0 + 1 datums from there on
    Blackhole's packer     as many datums of each row (start & ~3) | i for the bits i of the mask

What follows goes on in L1 where the last PACR ended, until one with `last` or `flush`; the rest of its 16 bytes becomes 0.
Wormhole's packers may take the counters of another thread, and an edge mask for each row of a plane: 16 datums are a row, rows
count from 0 where a packer begins in L1, which is chosen. Compression, downsampling, padded rows, strided reading and
contexts are not modelled.

With Gasket_srnd_en the first conversion rounds stochastically, by random numbers that are chosen. Each packer has one for each
column of Dst, seeded as that of the Vector unit's lane of this number; each Dst row that the packer reads steps them all.

Ref: tt-isa-documentation, PACR, Packers/InputAddressGenerator and OutputAddressGenerator: 3930471, of Blackhole f82128b.
"""

from dataclasses import dataclass, replace
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.convert.pack import packed, packing_of, rounds_floats, settled_formats
from bitpath.golden.tensix.core.state import THREADS, Packer, State, UndefinedBehavior, format_of
from bitpath.golden.tensix.core.unpacker import ADDRESS_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST16_ROWS,
    DST32,
    Chip,
    Format,
    WordLayout,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.matrix.moves import SHORT_FORMATS
from bitpath.golden.tensix.operands.counters import Channel, pacr_modifier
from bitpath.golden.tensix.sfpu.prng import step

PACKERS_UNIT = 2
"""The packers' counters among a thread's."""
MASKS = {0: 0b0001, **{mask: mask for mask in (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, 0b1111)}}
"""Packers by the field of Wormhole's PACR; any other mask is undefined."""
INTERFACES = 4
UNMODELLED = ("config_context", "row_pad", "strided", "counter_context", "context_control")
"""Fields of PACR that must be 0."""
RELATIVE = 1 << 31
"""Bit of packer 0's address that adds it to the others'."""
ADDRESS_MASK = 0x1FFFF
"""Bits of an address in units of 16 bytes."""
ALL_COLUMNS = 0xFFFF
PLANE_ROWS = 16
"""Rows of a plane that have edge masks of their own; further ones have them again."""


PACKING = (
    "pack_in_format",
    "pack_out_format",
    "dst_format",
    "pack_uncompressed",
    "read_32b",
    "round_10b",
    "l1_accumulate",
    "packer_x_stride",
    "packer_y_stride",
    "packer_z_stride",
    "packer_w_stride",
    "exponent_section",
    "relu_mode",
    "relu_threshold",
    "edge_mask",
    "edge_masks",
    "edge_minus_infinity",
    "edge_row_set",
    "row_sets",
    "reads_per_plane",
    "read_unsigned",
    "read_raw",
    "pack_e4m3",
    "exponent_threshold_enabled",
    "exponent_threshold",
    "gasket_stochastic",
    "packer_stochastic",
)
"""Fields that `Settings` and a conversion come from."""


@dataclass(frozen=True, kw_only=True)
class Store:
    """The datums that one packer takes of Dst, its conversion, and its address in L1 unless it continues.

    Attributes
    ----------
    layout : how it reads Dst; None reads words of 16 bits in the register's order.
    row, column : first datum of Dst.
    count : datums, on Blackhole of each row.
    data, exponents : byte addresses in L1.
    """

    packer: int
    mid_format: Format
    out_format: Format
    layout: WordLayout | None
    accumulates: bool
    row: int
    column: int
    count: int
    data: int
    exponents: int


def pacr(state: State, thread: int, instruction: Instruction) -> None:
    """Execute PACR; raises as `stores_of`, and ValueError for formats that `pack` does not convert, with L1 and packers as before."""
    stores, packers = stores_of(state, thread, instruction), [replace(each) for each in state.packers]
    written: Written = []
    try:
        for store in stores:
            _store(state, thread, instruction, store, written)
    except ValueError:
        for address, before in reversed(written):
            state.l1[address : address + before.size] = before
        state.packers = packers
        raise
    if word := state.config.of_thread("pack_modifier", thread, instruction["modifier"]):
        for each in {_counters_thread(state, thread, instruction, store.packer) for store in stores}:
            state.adc[each] = state.adc[each].updated(1 << PACKERS_UNIT, lambda adc: _PACR_MODIFIER(adc, word))


_PACR_MODIFIER = unwrap(pacr_modifier)
Written = list[tuple[int, np.ndarray]]
"""Addresses of L1 that an instruction has written, with the bytes before."""


def _store(state: State, thread: int, instruction: Instruction, store: Store, written: Written) -> None:
    """Write what one packer takes of Dst."""
    words = _read(state, instruction, store)
    place = state.packers[store.packer]
    if place.data is None:
        place.data, place.exponents = store.data, store.exponents
    if words.size:
        _write(state, thread, instruction, store, words, written)
    if instruction["last"] or instruction["flush"]:
        _end(state, store, written)


def stores_of(state: State, thread: int, instruction: Instruction) -> list[Store]:
    """Return what each packer of a PACR does.

    Raises
    ------
    UndefinedBehavior : packers that do not go together, formats that differ.
    ValueError : a mode that golden does not model.
    """
    for field in UNMODELLED:
        if instruction.fields.get(field):
            raise ValueError(f"{field} must be 0 in PACR: golden does not model it; not {instruction[field]}")
    if instruction["override_thread"] and state.chip is Chip.BLACKHOLE:
        raise ValueError("override_thread must be 0 in PACR of blackhole: golden does not model it; not 1")
    return [_store_of(state, thread, instruction, packer) for packer in _packers(state, instruction)]


def _counters_thread(state: State, thread: int, instruction: Instruction, packer: int) -> int:
    """Return the thread whose counters a packer takes; 3 means thread 0."""
    if not instruction["override_thread"]:
        return thread
    return state.config.read("pack_counters_thread", thread, packer) % THREADS


def _packers(state: State, instruction: Instruction) -> list[int]:
    if state.chip is Chip.BLACKHOLE:
        return [0]
    mask = MASKS.get(instruction["packers"])
    if mask is None:
        raise UndefinedBehavior(f"packers must be 0, 1, 2, 4, 8, 3, 12 or 15 in PACR, not {instruction['packers']}")
    return [packer for packer in range(len(state.packers)) if mask >> packer & 1]


class EdgeMasks(NamedTuple):
    """Masks by the row of a plane, uint16 [16], and the rows of a plane."""

    of_rows: np.ndarray
    rows: int

    def of(self, taken: int, store: Store, datums: int) -> np.ndarray:
        """Return the masks of each 16 datums, the first of which a packer takes after `taken` others."""
        count = np.arange(datums - datums % COLUMNS)
        masks = self.of_rows[(taken + count) // COLUMNS % self.rows % PLANE_ROWS]
        kept = masks >> (store.column + count % store.count) % COLUMNS & 1
        return (kept.reshape(-1, COLUMNS) << np.arange(COLUMNS)).sum(axis=1)


def _edge_masks(state: State, thread: int, packer: int) -> EdgeMasks | None:
    """Return a packer's edge masks, of fields of `PACKING` alone; None if they keep all datums."""
    read = state.config.read
    masks = [read("edge_mask", thread)]
    if state.chip is Chip.WORMHOLE:
        masks += [read("edge_masks", thread, number) for number in range(3)]
    rows = read("row_sets", thread, read("edge_row_set", thread, packer))
    of_rows = [masks[rows >> 2 * row & 3] for row in range(PLANE_ROWS)]
    if all(mask == ALL_COLUMNS for mask in of_rows):
        return None
    # A count of 0 is never reached by its 8 bits.
    return EdgeMasks(np.array(of_rows), read("reads_per_plane", thread, packer) or 1 << 8)


class Settings(NamedTuple):
    """A packer's configuration, but for addresses.

    Attributes
    ----------
    layout : how it reads Dst; None reads words of 16 bits in the register's order.
    strides : bytes of Y, Z and W of channel 0.
    x_stride, width : bytes of X, and of an intermediate datum.
    section : units of 16 bytes before the datums, for exponents.
    """

    mid_format: Format
    out_format: Format
    layout: WordLayout | None
    accumulates: bool
    x_stride: int
    strides: tuple[int, int, int]
    width: int
    section: int


def _settings(state: State, thread: int, packer: int) -> Settings:
    """Return a packer's configuration, of fields of `PACKING` alone; raises as `stores_of`."""
    read = state.config.read
    mid_format = format_of("the packer's input format", read("pack_in_format", thread, packer))
    out_format = format_of("the packer's output format", read("pack_out_format", thread, packer))
    if read("dst_format", thread) != mid_format:
        raise UndefinedBehavior(
            f"Dst's format must be the packer's, {mid_format.name}, not {read('dst_format', thread)}"
        )
    if not read("pack_uncompressed", thread, packer):
        raise ValueError(f"packer {packer} must be configured without compression: golden models no other")
    layout: WordLayout | None = DST16_FP16 if mid_format in SHORT_FORMATS else DST16_BF16
    if read("read_32b", thread):
        layout = DST32
    elif mid_format is Format.INT16:
        layout = None
    elif mid_format is Format.FP16 and read("round_10b", thread) and state.numerics.round_10b_fp16:
        layout = DST16_BF16
    return Settings(
        mid_format=mid_format,
        out_format=out_format,
        layout=layout,
        accumulates=bool(read("l1_accumulate", thread, packer)),
        x_stride=read("packer_x_stride", thread) & 0xF,
        strides=(
            read("packer_y_stride", thread),
            read("packer_z_stride", thread),
            read("packer_w_stride", thread),
        ),
        width={0: 4, 1: 2}.get(mid_format & 3, 1),
        # Formats of 8 bits and less have a section of exponents first.
        section=read("exponent_section", thread, packer) if out_format & 2 else 0,
    )


def _store_of(state: State, thread: int, instruction: Instruction, packer: int) -> Store:
    adc = state.adc[_counters_thread(state, thread, instruction, packer)].packers
    count = 0 if instruction["flush"] else adc.channel_1.x - adc.channel_0.x + 1
    if count < 0:
        raise ValueError(f"X of channel 1 must not be below X of channel 0 in PACR, not {count - 1} from it")
    settings = state.configured(PACKING, _settings, thread, packer)
    row, column = divmod(_start(state, thread, packer, settings, adc.channel_0), COLUMNS)
    data, exponents = _begin(state, thread, packer, settings.section)
    return Store(
        packer=packer,
        mid_format=settings.mid_format,
        out_format=settings.out_format,
        layout=settings.layout,
        accumulates=settings.accumulates,
        row=row,
        column=column,
        count=count,
        data=data,
        exponents=exponents,
    )


def _start(state: State, thread: int, packer: int, settings: Settings, channel: Channel) -> int:
    """Return the first datum, of Dst's 16 times 1024."""
    y, z, w = settings.strides
    address = channel.x * settings.x_stride + channel.y * y + channel.z * z + channel.w * w
    columns = COLUMNS // settings.width - 1
    datum = (address // settings.width & ~columns) + (channel.x & columns)
    return (datum + state.config.read("packer_dst_offset", thread, packer) * COLUMNS) % (DST16_ROWS * COLUMNS)


def _begin(state: State, thread: int, packer: int, section: int) -> tuple[int, int]:
    """Return the byte addresses of the first datum and of the first exponent that a packer writes."""
    first = state.config.read("pack_address", thread, 0) + 1
    address = state.config.read("pack_address", thread, packer) + 1
    if packer and first & RELATIVE:
        address += first
    return (address + section & ADDRESS_MASK) * ADDRESS_BYTES, (address & ADDRESS_MASK) * ADDRESS_BYTES


def _read(state: State, instruction: Instruction, store: Store) -> np.ndarray:
    """Return the words of Dst that a packer takes, in order; zeros with `zero`, none with `flush`."""
    column, end = store.column, store.column + store.count
    if state.chip is Chip.BLACKHOLE:
        words = _interfaces(state, instruction, store)[:, column:end]
        if end > COLUMNS:
            raise ValueError(f"PACR must take datums of one row from column {column} on, not {store.count}")
    else:
        words = state.dst.read(store.row, -(-end // COLUMNS), store.layout).reshape(-1)[column:end]
    return np.zeros(words.size, np.uint32) if instruction["zero"] else words.reshape(-1)


def _interfaces(state: State, instruction: Instruction, store: Store) -> np.ndarray:
    """Return the rows that Blackhole's read interfaces take."""
    mask, row = instruction["packers"] or (1 << INTERFACES) - 1, store.row
    if mask << row % INTERFACES >= 1 << INTERFACES:
        raise UndefinedBehavior(f"packers must stay within four Dst rows from row {row} on, not be {mask:#06b}")
    rows = state.dst.read(row & ~(INTERFACES - 1), INTERFACES, store.layout)
    return rows[[bit for bit in range(INTERFACES) if mask >> bit & 1]]


def _conversion(
    state: State, thread: int, packer: int, mid: Format, out: Format, dst32: bool, accumulates: bool
) -> tuple[Any, EdgeMasks | None, bool]:
    """Return a conversion's settings, the edge masks, and whether it takes random numbers, of fields of `PACKING` alone.

    Raises
    ------
    UndefinedBehavior, ValueError : as `pacr`.
    """
    read = state.config.read
    relu, threshold = read("relu_mode", thread), read("relu_threshold", thread)
    masks = _edge_masks(state, thread, packer)
    if relu > 1 and threshold >> 15:
        raise UndefinedBehavior(f"the ReLU threshold must not be negative, not {threshold:#06x}")
    if read("packer_stochastic", thread) and out in BLOCK_FLOATS:
        raise ValueError(f"Packer_srnd_en must be 0 in PACR to {out.name}: golden does not model it")
    random, raw, round_10b = (bool(read(name, thread)) for name in ("gasket_stochastic", "read_raw", "round_10b"))
    settled, narrows = settled_formats(state.numerics, mid, out, dst32=dst32, raw=raw, round_10b=round_10b)
    packing = packing_of(
        state.numerics,
        mid,
        out,
        dst32=dst32,
        relu=relu,
        relu_threshold=threshold if relu > 1 else 0,
        unsigned=mid is Format.INT8 and bool(read("read_unsigned", thread)),
        raw=raw,
        masked=masks is not None,
        edge_minus_infinity=masks is not None and bool(read("edge_minus_infinity", thread)),
        exponent_threshold=(
            read("exponent_threshold", thread, packer) if read("exponent_threshold_enabled", thread, packer) else 0
        ),
        round_10b=round_10b,
        e4m3=bool(read("pack_e4m3", thread)),
        accumulates=accumulates,
        stochastic=random and rounds_floats(settled, raw=raw, narrows=narrows),
    )
    return packing, masks, random


def _write(
    state: State, thread: int, instruction: Instruction, store: Store, words: np.ndarray, written: Written
) -> None:
    """Convert words and append them, of block floats the exponents apart."""
    settings = store.packer, store.mid_format, store.out_format, store.layout is DST32, store.accumulates
    packing, masks, random = state.configured(PACKING, _conversion, thread, *settings)
    place = state.packers[store.packer]
    old = state.l1[place.data :] if store.accumulates else None
    edge = None
    if masks is not None:
        edge = (
            np.full(len(words) // COLUMNS, ALL_COLUMNS)
            if instruction["zero"]
            else masks.of(place.taken, store, len(words))
        )
    bits = _random_bits(place, store, len(words)) if random else None
    data = packed(packing, words, edge, old, bits)
    place.taken += 0 if instruction["zero"] else len(words)
    if store.out_format in BLOCK_FLOATS:
        place.exponents = _put(state, place.exponents, data[: words.size // BLOCK], written)
        data = data[exponent_stream_bytes(words.size) :]
    place.data = _put(state, place.data, data, written)


def _random_bits(place: Packer, store: Store, datums: int) -> np.ndarray:
    """Return the random numbers of a packer's datums, uint32, and step them once for each row of Dst that it reads."""
    runs, end = datums // store.count, store.column + store.count
    rows = []
    for _ in range(runs * -(-end // COLUMNS)):
        rows.append(place.random)
        place.random = step(place.random)
    return np.array(rows).reshape(runs, -1)[:, store.column : end].reshape(-1)


def _end(state: State, store: Store, written: Written) -> None:
    """Fill the last 16 bytes with zeros; the next PACR begins at the configured address."""
    place = state.packers[store.packer]
    for address in (place.data, place.exponents if store.out_format in BLOCK_FLOATS else 0):
        if rest := -address % ADDRESS_BYTES:
            _put(state, address, np.zeros(rest, np.uint8), written)
    place.data = place.exponents = None
    place.taken = 0


def _put(state: State, address: int, data: np.ndarray, written: Written) -> int:
    """Write bytes to L1 and return the address behind them."""
    end = address + data.size
    if end > state.l1.size:
        raise UndefinedBehavior(f"PACR must write to L1, {state.l1.size} bytes, not to address {end}")
    written.append((address, state.l1[address:end].copy()))
    state.l1[address:end] = data
    return end
