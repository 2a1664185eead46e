"""PACR: which rows of Dst the packers read and where their datums go in L1; golden's `pack` converts.

::

    start = (X * X_stride + Y * Y_stride + Z * Z_stride + W * W_stride) / bytes of an intermediate datum, of channel 0, in datums
            of Dst, plus the packer's Dst offset in rows
    Wormhole's packers     X of channel 1 - X of channel 0 + 1 datums from there on
    Blackhole's packer     as many datums of each row (start & ~3) | i for the bits i of the mask

A PACR continues in L1 where the last one ended, up to a PACR with `last` or `flush`, which fills its last 16 bytes with zeros.
Wormhole's packers may take the counters of another thread. They may have an edge mask for each row, 16 datums, of a plane; the
pages leave open where row 0 is, which here is where a packer begins in L1. Compression, downsampling, padded rows, strided
reading and contexts are not modelled.

With Gasket_srnd_en the first conversion rounds stochastically. The source of its random numbers is not public, so this one is
chosen: each packer has a generator for each column of Dst, with the seed of the Vector unit's lane of the same number. Each Dst
row that the packer reads steps them all.

Ref: tt-isa-documentation, PACR, Packers/InputAddressGenerator and OutputAddressGenerator: 3930471, of Blackhole f82128b.
"""

from collections.abc import Iterator
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
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.matrix.moves import SHORT_FORMATS
from bitpath.golden.tensix.operands.counters import Channel, pacr_modifier
from bitpath.golden.tensix.sfpu.prng import step

PACKERS_UNIT = 2
"""The packers' counters among a thread's."""
MASKS = {0: 0b0001, **{mask: mask for mask in (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, 0b1111)}}
"""Packers by the field of Wormhole's PACR; any other mask is undefined."""
PACKERS = {field: tuple(packer for packer in range(4) if mask >> packer & 1) for field, mask in MASKS.items()}
INTERFACES = 4
UNMODELLED = ("config_context", "row_pad", "strided", "counter_context", "context_control")
"""Fields of PACR that must be 0."""
RELATIVE = 1 << 31
"""Bit of packer 0's address that adds it to the others'."""
ADDRESS_MASK = 0x1FFFF
"""Bits of an address in units of 16 bytes."""
ALL_COLUMNS = 0xFFFF
PLANE_ROWS = 16
"""Rows of a plane with edge masks of their own; the masks repeat for further rows."""


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
"""Fields that decide `Settings` and the conversion."""


class Store(NamedTuple):
    """The datums that one packer takes of Dst, its configuration, and its address in L1 unless it continues.

    Attributes
    ----------
    row, column : first datum of Dst.
    datums : how many, on Blackhole of each row.
    data, exponents : byte addresses in L1.
    """

    packer: int
    settings: "Settings"
    row: int
    column: int
    datums: int
    data: int
    exponents: int

    @property
    def mid_format(self) -> Format:
        return self.settings.mid_format

    @property
    def out_format(self) -> Format:
        return self.settings.out_format

    @property
    def layout(self) -> WordLayout | None:
        return self.settings.layout

    @property
    def accumulates(self) -> bool:
        return self.settings.accumulates


def pacr(state: State, thread: int, instruction: Instruction) -> None:
    """Execute PACR; an error leaves L1 and the packers as they were.

    Raises
    ------
    UndefinedBehavior, ValueError : as `stores_of`; formats that `pack` does not convert.
    """
    stores = stores_of(state, thread, instruction)
    places = [state.packers[store.packer] for store in stores]
    before = [(place.data, place.exponents, place.taken, place.random) for place in places]
    written: Written = []
    try:
        for together in _together(stores):
            _store(state, instruction, together, written)
    except ValueError:
        for address, old in reversed(written):
            state.l1[address : address + old.size] = old
        for place, old_place in zip(places, before, strict=True):
            place.data, place.exponents, place.taken, place.random = old_place
        raise
    if word := state.config.of_thread("pack_modifier", thread, instruction["modifier"]):
        for each in {_counters_thread(state, thread, instruction, store.packer) for store in stores}:
            state.adc[each] = state.adc[each].updated(1 << PACKERS_UNIT, lambda adc: _PACR_MODIFIER(adc, word))


_PACR_MODIFIER = unwrap(pacr_modifier)
Written = list[tuple[int, np.ndarray]]
"""Addresses of L1 that an instruction has written, with the bytes before."""


def _together(stores: list[Store]) -> Iterator[list[Store]]:
    """Yield the stores in their order, grouping neighbours that convert the same number of whole rows by the same settings.

    A store that adds to L1 stands alone, since it may read bytes that the one before has written; so does one with edge masks.
    """
    found = stores[:1]
    for store in stores[1:]:
        own, first = store.settings, found[0].settings
        alike = own.packing is first.packing and own.masks is None and not own.accumulates
        if not alike or store.datums != found[0].datums or store.datums % BLOCK or not store.datums:
            yield found
            found = []
        found.append(store)
    yield found


def _store(state: State, instruction: Instruction, stores: list[Store], written: Written) -> None:
    """Convert and write the datums of packers with the same settings."""
    words, ends = _read(state, instruction, stores), instruction["last"] or instruction["flush"]
    for store in stores:
        place = state.packers[store.packer]
        if place.data is None:
            place.data, place.exponents = store.data, store.exponents
    pieces = _converted(state, instruction, stores, words) if words.size else []
    for number, store in enumerate(stores):
        place = state.packers[store.packer]
        if pieces:
            exponents, data = pieces[number]
            place.taken += 0 if instruction["zero"] else words.shape[1]
            if exponents.size:
                place.exponents = _put(state, place.exponents, exponents, written)
            place.data = _put(state, place.data, data, written)
        if ends:
            _end(state, store, written)


def stores_of(state: State, thread: int, instruction: Instruction) -> list[Store]:
    """Return what each packer of a PACR does.

    Raises
    ------
    UndefinedBehavior : packers that do not go together, formats that differ.
    ValueError : a mode that golden does not model.
    """
    given = instruction.fields
    if any(map(given.get, UNMODELLED)):
        field = next(filter(given.get, UNMODELLED))
        raise ValueError(f"{field} must be 0 in PACR: golden does not model it; not {given[field]}")
    if instruction["override_thread"] and state.chip is Chip.BLACKHOLE:
        raise ValueError("override_thread must be 0 in PACR of blackhole: golden does not model it; not 1")
    packers = _packers(state, instruction)
    adcs = [state.adc[_counters_thread(state, thread, instruction, packer)].packers for packer in packers]
    counts = [0 if instruction["flush"] else adc.channel_1.x - adc.channel_0.x + 1 for adc in adcs]
    for count in counts:
        if count < 0:
            raise ValueError(f"X of channel 1 must not be below X of channel 0 in PACR, not {count - 1} from it")
    settings = state.configured(PACKING, _settings, thread, *packers)
    return [
        _store_of(state, thread, packer, adc.channel_0, count, own)
        for packer, adc, count, own in zip(packers, adcs, counts, settings, strict=True)
    ]


def _counters_thread(state: State, thread: int, instruction: Instruction, packer: int) -> int:
    """Return the thread whose counters a packer takes; 3 means thread 0."""
    if not instruction["override_thread"]:
        return thread
    return state.config.read("pack_counters_thread", thread, packer) % THREADS


def _packers(state: State, instruction: Instruction) -> tuple[int, ...]:
    if state.chip is Chip.BLACKHOLE:
        return (0,)
    packers = PACKERS.get(instruction["packers"])
    if packers is None:
        raise UndefinedBehavior(f"packers must be 0, 1, 2, 4, 8, 3, 12 or 15 in PACR, not {instruction['packers']}")
    return packers


class EdgeMasks(NamedTuple):
    """Masks by the row of a plane, uint16 [16], and the rows of a plane."""

    of_rows: np.ndarray
    rows: int

    def of(self, taken: int, store: Store, datums: int) -> np.ndarray:
        """Return the mask of each 16 datums; `taken` datums came before the first of them."""
        count = np.arange(datums - datums % COLUMNS)
        masks = self.of_rows[(taken + count) // COLUMNS % self.rows % PLANE_ROWS]
        kept = masks >> (store.column + count % store.datums) % COLUMNS & 1
        return (kept.reshape(-1, COLUMNS) << np.arange(COLUMNS)).sum(axis=1)


def _edge_masks(state: State, thread: int, packer: int) -> EdgeMasks | None:
    """Return a packer's edge masks, or None if they keep all datums; it reads fields of `PACKING` alone."""
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
    is_block : True for block floats in L1.
    packing : settings of the conversion, a `pack_loop.Packing`, one object for the same layout and settings; or the error that a
        conversion raises.
    masks : edge masks, or None if all datums stay.
    random : True if datums take random numbers.
    strides : bytes of Y, Z and W of channel 0.
    x_stride, width : bytes of X, and of an intermediate datum.
    section : units of 16 bytes before the datums, for exponents.
    """

    mid_format: Format
    out_format: Format
    layout: WordLayout | None
    is_block: bool
    accumulates: bool
    packing: Any
    masks: "EdgeMasks | None"
    random: bool
    x_stride: int
    strides: tuple[int, int, int]
    width: int
    section: int


def _settings(state: State, thread: int, *packers: int) -> list[Settings]:
    """Return the packers' configurations; it reads fields of `PACKING` alone and raises as `stores_of`."""
    return [_settings_of(state, thread, packer) for packer in packers]


def _settings_of(state: State, thread: int, packer: int) -> Settings:
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
    accumulates, masks = bool(read("l1_accumulate", thread, packer)), _edge_masks(state, thread, packer)
    packing: Any
    try:
        packing = _packing_of(state, thread, packer, mid_format, out_format, layout, accumulates, masks is not None)
    except ValueError as error:
        # A flush converts nothing.
        packing = error
    return Settings(
        mid_format=mid_format,
        out_format=out_format,
        layout=layout,
        is_block=out_format in BLOCK_FLOATS,
        accumulates=accumulates,
        packing=packing,
        masks=masks,
        random=bool(read("gasket_stochastic", thread)),
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


def _store_of(state: State, thread: int, packer: int, channel: Channel, count: int, settings: Settings) -> Store:
    row, column = divmod(_start(state, thread, packer, settings, channel), COLUMNS)
    return Store(packer, settings, row, column, count, *_begin(state, thread, packer, settings.section))


def _start(state: State, thread: int, packer: int, settings: Settings, channel: Channel) -> int:
    """Return the first datum, of Dst's 16 times 1024."""
    y, z, w = settings.strides
    address = channel.x * settings.x_stride + channel.y * y + channel.z * z + channel.w * w
    columns = COLUMNS // settings.width - 1
    datum = (address // settings.width & ~columns) + (channel.x & columns)
    return (datum + state.config.read("packer_dst_offset", thread, packer) * COLUMNS) % (DST16_ROWS * COLUMNS)


def _begin(state: State, thread: int, packer: int, section: int) -> tuple[int, int]:
    """Return the byte addresses of the first datum and of the first exponent that a packer writes."""
    address = first = state.config.read("pack_address", thread, 0) + 1
    if packer:
        own = state.config.read("pack_address", thread, packer) + 1
        address = own + first if first & RELATIVE else own
    return (address + section & ADDRESS_MASK) * ADDRESS_BYTES, (address & ADDRESS_MASK) * ADDRESS_BYTES


def _read(state: State, instruction: Instruction, stores: list[Store]) -> np.ndarray:
    """Return the words of Dst that each packer takes, in order, [packers, datums]; zeros with `zero`, none with `flush`."""
    first, starts = stores[0], [store.row * COLUMNS + store.column for store in stores]
    if state.chip is Chip.BLACKHOLE:
        starts = [row * COLUMNS + first.column for row in _interfaces(instruction, first)]
        if first.column + first.datums > COLUMNS:
            raise ValueError(f"PACR must take datums of one row from column {first.column} on, not {first.datums}")
    if instruction["zero"]:
        words = np.zeros((len(starts), first.datums), np.uint32)
    else:
        words = state.dst.runs(starts, first.datums, first.layout)
    return words if len(words) == len(stores) else words.reshape(1, -1)


def _interfaces(instruction: Instruction, store: Store) -> list[int]:
    """Return the rows that Blackhole's read interfaces take."""
    mask, row = instruction["packers"] or (1 << INTERFACES) - 1, store.row
    if mask << row % INTERFACES >= 1 << INTERFACES:
        raise UndefinedBehavior(f"packers must stay within four Dst rows from row {row} on, not be {mask:#06b}")
    return [row & ~(INTERFACES - 1) | bit for bit in range(INTERFACES) if mask >> bit & 1]


def _packing_of(
    state: State,
    thread: int,
    packer: int,
    mid: Format,
    out: Format,
    layout: WordLayout | None,
    accumulates: bool,
    masked: bool,
) -> Any:
    """Return a conversion's settings; it reads fields of `PACKING` alone.

    Raises
    ------
    UndefinedBehavior, ValueError : as `pacr`.
    """
    read = state.config.read
    relu, threshold = read("relu_mode", thread), read("relu_threshold", thread)
    if relu > 1 and threshold >> 15:
        raise UndefinedBehavior(f"the ReLU threshold must not be negative, not {threshold:#06x}")
    if read("packer_stochastic", thread) and out in BLOCK_FLOATS:
        raise ValueError(f"Packer_srnd_en must be 0 in PACR to {out.name}: golden does not model it")
    return state.settled(
        _packing,
        mid,
        out,
        layout,
        relu,
        threshold if relu > 1 else 0,
        mid is Format.INT8 and bool(read("read_unsigned", thread)),
        bool(read("read_raw", thread)),
        masked,
        masked and bool(read("edge_minus_infinity", thread)),
        read("exponent_threshold", thread, packer) if read("exponent_threshold_enabled", thread, packer) else 0,
        bool(read("round_10b", thread)),
        bool(read("pack_e4m3", thread)),
        accumulates,
        bool(read("gasket_stochastic", thread)),
    )


def _packing(
    numerics: TensixNumerics,
    mid: Format,
    out: Format,
    layout: WordLayout | None,
    relu: int,
    relu_threshold: int,
    unsigned: bool,
    raw: bool,
    masked: bool,
    edge_minus_infinity: bool,
    exponent_threshold: int,
    round_10b: bool,
    e4m3: bool,
    accumulates: bool,
    random: bool,
) -> Any:
    dst32 = layout is DST32
    settled, narrows = settled_formats(numerics, mid, out, dst32=dst32, raw=raw, round_10b=round_10b)
    return packing_of(
        numerics,
        mid,
        out,
        dst32=dst32,
        relu=relu,
        relu_threshold=relu_threshold,
        unsigned=unsigned,
        raw=raw,
        masked=masked,
        edge_minus_infinity=edge_minus_infinity,
        exponent_threshold=exponent_threshold,
        round_10b=round_10b,
        e4m3=e4m3,
        accumulates=accumulates,
        stochastic=random and rounds_floats(settled, raw=raw, narrows=narrows),
    )


def _converted(
    state: State, instruction: Instruction, stores: list[Store], words: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Convert for all packers at once; return the bytes of exponents, empty but for block floats, and of datums for each."""
    first, datums = stores[0], words.shape[1]
    packing, masks, place = first.settings.packing, first.settings.masks, state.packers[first.packer]
    if isinstance(packing, ValueError):
        raise packing.with_traceback(None)
    edge = bits = None
    if masks is not None:
        edge = np.full(datums // COLUMNS, ALL_COLUMNS) if instruction["zero"] else masks.of(place.taken, first, datums)
    if first.settings.random:
        bits = np.concatenate([_random_bits(state.packers[store.packer], store, datums) for store in stores])
    data = packed(packing, words.reshape(-1), edge, state.l1[place.data :] if first.accumulates else None, bits)
    stream, blocks = (exponent_stream_bytes(words.size), datums // BLOCK) if first.settings.is_block else (0, 0)
    size = (data.size - stream) // len(stores)
    return [
        (data[number * blocks : (number + 1) * blocks], data[stream + number * size : stream + (number + 1) * size])
        for number in range(len(stores))
    ]


def _random_bits(place: Packer, store: Store, datums: int) -> np.ndarray:
    """Return the random numbers of a packer's datums, uint32, and step them once for each row of Dst that it reads."""
    runs, end = datums // store.datums, store.column + store.datums
    rows = []
    for _ in range(runs * -(-end // COLUMNS)):
        rows.append(place.random)
        place.random = step(place.random)
    return np.array(rows).reshape(runs, -1)[:, store.column : end].reshape(-1)


def _end(state: State, store: Store, written: Written) -> None:
    """Fill the last 16 bytes with zeros; the next PACR begins at the configured address."""
    place = state.packers[store.packer]
    for address in (place.data, place.exponents if store.settings.is_block else 0):
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
