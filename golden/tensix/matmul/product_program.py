"""Programs of Tensix instructions for a matrix product: unpack, multiply by replayed MVMULs, pack.

::

    thread 0    configuration; MOP of tiles along K: UNPACR to SrcB, UNPACR to SrcA; partial sums back from L1
    thread 1    address modifiers; REPLAY loads 16 MVMULs, or 32 with several phases; MOP plays them for each phase and K tile
    thread 2    PACR of all four packers, or 16 PACRs of four rows each on Blackhole

Tiles of the result are computed one after the other in the same rows of Dst, each block by block of K. Between two blocks whose
sums go through L1, thread 2 tells thread 0 that they are stored, and thread 1 that Dst is free.

A pass walks the faces by modifiers 0 {B + 8}, 1 {A + 16, B back}, 2 {A back, B + 32}, 3 {A + 32, B + 48}, 4 {clear, next phase}; its last
MVMUL of a tile flips both banks.

Ref: tenstorrent/tt-llk 36b092e, llk_math_matmul.h; ttsim v1.10.0 for addresses; tt-metal 01647ce,
bmm_large_block_zm_fused_bias_activation.cpp, for blocks of K.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from bitpath.golden.arrays.arguments import checked, member
from bitpath.golden.tensix.convert.formats import exponent_stream_bytes
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.core import core as cores
from bitpath.golden.tensix.core.programs import (
    LEFT,
    CoreProgram,
    Line,
    assembled,
    change_lines,
    config_lines,
    own_field,
)
from bitpath.golden.tensix.declarations.encodings import FIELDS, MOP_WORDS
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    BLOCK_ROWS,
    COLUMNS,
    FACE,
    FIDELITY_PHASES,
    TILE,
    Chip,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.isa import encode
from bitpath.golden.tensix.matmul.host import TILE_ROWS, dst_values
from bitpath.golden.tensix.matmul.matmul import from_tiles, matmul_program
from bitpath.golden.tensix.matmul.partials import Partials, block_depth, check_partials

DATUMS = TILE * TILE
FACES = DATUMS // FACE**2
PASS = (0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0)
"""Modifiers of a pass but the last one."""
NEXT_PHASE, LAST = 4, 5
"""Modifiers of a pass's last MVMUL: to the next phase, and of a tile's last pass on Blackhole."""
MODIFIERS = {
    0: {"ab": 0x0800, "dst": 0x0008},
    1: {"ab": 0x4010, "dst": 0x0008},
    2: {"ab": 0x6040, "dst": 0x0008},
    3: {"ab": 0x7060, "dst": 0x0400},
    NEXT_PHASE: {"ab": 0x8080, "dst": 0x2800},
    LAST: {"ab": 0x8080, "dst": 0x8800},
}
"""AB and DST words; the last two clear all rows, and add 1 to the phase or clear it."""
ROUNDS_LOOP = 1
"""Template of MOP that loops."""
MOST_ROUNDS = 127
"""Largest count of a MOP."""
PACKED, FREE, DONE, STORED, LOADED = range(1, 6)
"""Semaphores: a tile is ready to be packed; threads 1 and 2 may begin; Dst is packed; a partial sum is in L1; it is in Dst."""
REGION, WORD_BYTES = 0x10000, 64
"""The right operand and the result begin at multiples of the first number of bytes from `LEFT` on, a partial sum at one of the
second."""
LINE_BYTES = 16
"""Bytes that an address counts, which is one less than the address."""
FIRST_ROW = 4 * FACE
"""Address of row 0 of SrcA and Dst."""
UNPACKERS_IDLE = 0b110
"""Condition bits of both unpackers."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """A product of two matrices in tiles, with its formats and fidelity.

    Attributes
    ----------
    fmt : format of both operands in Src.
    out_format : the packer's intermediate format and the one in L1.
    dst32 : True if Dst words have 32 bits; INT8's always have.
    k_tiles : tiles along K.
    rows, columns : tiles of the result.
    block_tiles : tiles along K of a block; None is all of them.
    partials : where the sums of the blocks before are kept.
    dst_row : first row of the result in Dst, a multiple of 64.
    unpacking : thread that unpacks; the next ones multiply and pack.
    """

    chip: Chip
    fidelity: Fidelity
    fmt: Format
    out_format: Format
    dst32: bool = True
    k_tiles: int = 1
    rows: int = 1
    columns: int = 1
    block_tiles: int | None = None
    partials: Partials = Partials.DST
    dst_row: int = 0
    unpacking: int = 0
    phases: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "phases", len(FIDELITY_PHASES[self.fidelity]))

    @property
    def stored(self) -> Format:
        """Format of the operands in L1."""
        return Format.FP32 if self.fmt is Format.TF32 else self.fmt

    @property
    def group(self) -> int:
        """Tiles along K that a MOP takes; block floats have exponents before each tile, and so an address for each."""
        if self.stored in BLOCK_FLOATS:
            return 1
        block = self.block_tiles or self.k_tiles
        return next(each for each in range(min(block, MOST_ROUNDS), 0, -1) if block % each == 0)

    @property
    def addresses(self) -> tuple[int, int, int, int, int]:
        """Addresses in L1 of the left and the right operand, of the result, of a partial sum, and the end."""
        reload = self.partials.reload
        partial = tile_bytes(reload.stored) if reload else 0
        parts = (
            (self.rows * self.k_tiles * tile_bytes(self.stored), REGION),
            (self.k_tiles * self.columns * tile_bytes(self.stored), REGION),
            (self.rows * self.columns * tile_bytes(self.out_format), WORD_BYTES),
            (partial, WORD_BYTES),
        )
        found = [LEFT]
        for size, multiple in parts:
            found.append(found[-1] + -(-size // multiple) * multiple)
        at_left, at_right, at_result, at_partial, end = found
        return at_left, at_right, at_result, at_partial, end


def tile_bytes(fmt: Format) -> int:
    """Return the bytes of a tile in L1."""
    if fmt in BLOCK_FLOATS:
        return exponent_stream_bytes(DATUMS) + DATUMS * BLOCK_FLOATS[fmt].datum_bits // 8
    return DATUMS * L1_BYTES[fmt]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A block of K of one tile of the result.

    Attributes
    ----------
    row, column : of the tile.
    first, count : tiles along K.
    reloads : True if Dst starts from the partial sum in L1.
    ends : True if the packer stores the result, False if it stores the partial sum.
    accumulates : True if the packer adds to the partial sum before.
    """

    row: int
    column: int
    first: int
    count: int
    reloads: bool
    ends: bool
    accumulates: bool


def turns(product: Product) -> Iterator[Turn]:
    """Yield the blocks of a product in their order."""
    reload, depth = product.partials.reload, product.k_tiles
    block = depth if reload is None else product.block_tiles or depth
    for place in range(product.rows * product.columns):
        row, column = divmod(place, product.columns)
        for first in range(0, depth, block):
            ends = first + block == depth
            adds = reload is not None and reload.accumulates and not ends
            yield Turn(
                row=row,
                column=column,
                first=first,
                count=block,
                reloads=first > 0 and not adds,
                ends=ends,
                accumulates=first > 0 and adds,
            )


def tile_program(product: Product, left: np.ndarray, right: np.ndarray) -> CoreProgram:
    """Return the program that multiplies tiles in L1.

    Parameters
    ----------
    left, right : bytes of tiles, face by face; the left operand's row by row, the right operand's column by column, so that the
        tiles along K follow one another.
    """
    at_left, at_right, at_result, _, _ = product.addresses
    size = product.rows * product.columns * tile_bytes(product.out_format)
    mops = (_unpack_mop(product), _multiply_mop(product), pack_mop(product))
    program = CoreProgram(
        words=(_unpack_words(product), _multiply_words(product), pack_words(product)),
        mops=mops,
        memory=((at_left, left), (at_right, right), (at_result, np.zeros(size, np.uint8))),
        result=(at_result, size),
    )
    return program.turned(product.unpacking)


# The configuration: what threads share at the beginning, and what each of them changes between two turns.


Fields = dict[str, list[int]]
"""Values of fields, of each unit."""


def configuration(product: Product) -> Fields:
    """Return the configuration that threads share: the value of each unit."""
    integer, packers = product.fmt is Format.INT8, len(FIELDS[product.chip]["pack_address"])
    return {
        "src_a_format": [product.fmt],
        "src_b_format": [product.fmt],
        "fp32_enabled": [int(product.dst32 and not integer)],
        "int8_math": [int(integer)],
        "read_32b": [int(product.dst32 or integer)],
        "edge_mask": [0xFFFF],
        "l1_format": [product.stored] * 2,
        "descriptor_uncompressed": [1] * 2,
        "x_dim": [DATUMS] * 2,
        "y_dim": [1] * 2,
        "z_dim": [product.group] * 2,
        "pack_uncompressed": [1] * packers,
        "unpack_out_format": [product.fmt] * 2,
        "throttle": [2] * 2,
        "uncompressed": [1] * 2,
        "base_address": _loads_from(product, 0, 0, 0),
        "dst_address": [FIRST_ROW],
        "context_x_dim": [DATUMS],
        "packer_dst_offset": [product.dst_row + packer * FACE for packer in range(packers)],
        **_packing(product, next(turns(product))),
    }


def _loads_from(product: Product, row: int, column: int, k: int) -> list[int]:
    """Return the unpackers' addresses, those of the right operand's and of the left operand's tile."""
    at_left, at_right, *_ = product.addresses
    size = tile_bytes(product.stored)
    places = at_right + (column * product.k_tiles + k) * size, at_left + (row * product.k_tiles + k) * size
    return [place // LINE_BYTES - 1 for place in places]


def _packing(product: Product, turn: Turn) -> Fields:
    """Return the packers' formats and addresses of a turn."""
    reload, packers = product.partials.reload, len(FIELDS[product.chip]["pack_address"])
    _, _, at_result, at_partial, _ = product.addresses
    if turn.ends or reload is None:
        fmt = product.out_format
        address = at_result + (turn.row * product.columns + turn.column) * tile_bytes(fmt)
    else:
        fmt, address = reload.stored, at_partial
    face_lines = FACE * FACE * L1_BYTES[fmt] // LINE_BYTES
    return {
        "dst_format": [fmt],
        "packer_y_stride": [FACE * L1_BYTES[fmt]],
        "pack_address": [address // LINE_BYTES - 1 + packer * face_lines for packer in range(packers)],
        "pack_out_format": [fmt] * packers,
        "pack_in_format": [fmt] * packers,
    }


class Changes:
    """The configuration of a thread, which writes those bits alone that change."""

    def __init__(self, chip: Chip, fields: Fields):
        self.chip, self._now = chip, dict(fields)

    def lines(self, fields: Fields, wait: Line) -> list[Line]:
        """Return the instructions behind one that waits; none where nothing changes."""
        changed = change_lines(self.chip, self._now, fields)
        self._now |= fields
        return [wait, *changed] if changed else []


def wait_lines(semaphore: int) -> list[Line]:
    """Wait until a semaphore is above 0, with every instruction, and take it."""
    return [
        ("SEMWAIT", {"block": cores.EVERY, "semaphores": 1 << semaphore, "while_zero": 1}),
        ("SEMGET", {"semaphores": 1 << semaphore}),
    ]


def begin_lines() -> list[Line]:
    """Wait until the configuration is written."""
    return [
        ("SEMWAIT", {"block": cores.TDMA, "semaphores": 1 << FREE, "while_zero": 1}),
        ("SEMGET", {"semaphores": 1 << FREE}),
    ]


# Thread 0: operands, and partial sums back from L1.


def start_lines(product: Product) -> list[Line]:
    """Let the other threads begin as soon as the configuration is written, and reset the unpackers' counters."""
    several = len(list(turns(product))) > 1
    return [
        ("SETC16", own_field(product.chip, "override_with_address", 1)),
        ("SEMINIT", {"maximum": 1, "semaphores": 1 << PACKED}),
        ("SEMINIT", {"maximum": 2, "semaphores": 1 << FREE}),
        *([("SEMINIT", {"maximum": 1, "semaphores": 1 << DONE | 1 << STORED | 1 << LOADED})] if several else []),
        ("STALLWAIT", {"block": cores.SYNC, "conditions": 1}),
        ("SEMPOST", {"semaphores": 1 << FREE}),
        ("SEMPOST", {"semaphores": 1 << FREE}),
        ("SETADCXX", {"units": 3, "end": DATUMS - 1}),
        ("SETADCXY", {"units": 3, "which": 0b1010}),
    ]


def _unpack_words(product: Product) -> tuple[int, ...]:
    chip, fields, every = product.chip, configuration(product), list(turns(product))
    lines = [*config_lines(chip, fields), *start_lines(product)]
    changes = Changes(chip, fields | {"unpack_to_dst": [0]})
    for turn in every:
        if turn.reloads:
            lines += _reload_lines(product, changes)
        for k in range(turn.first, turn.first + turn.count, product.group):
            lines += changes.lines({"base_address": _loads_from(product, turn.row, turn.column, k)}, UNPACKERS_REST)
            lines += [("SETADCZW", {"units": 3, "which": 0b1111}), ("MOP", {"count_minus_1": product.group - 1})]
    return assembled(chip, *lines)


UNPACKERS_REST: Line = ("STALLWAIT", {"block": cores.CONFIG, "conditions": UNPACKERS_IDLE})
"""The configuration waits until both unpackers are idle."""


def _reload_lines(product: Product, changes: Changes) -> list[Line]:
    """Unpack the partial sum to SrcA, beside zeros in SrcB, or to Dst, as soon as it is stored."""
    reload, chip = product.partials.reload, product.chip
    _, _, _, at_partial, _ = product.addresses
    before: Fields = {
        "l1_format": [product.stored] * 2,
        "unpack_out_format": [product.fmt] * 2,
        "unpack_to_dst": [0],
        "dst_address": [FIRST_ROW],
    }
    fields: Fields = {
        "l1_format": [reload.stored, product.stored],
        "unpack_out_format": [reload.register] * 2,
        "unpack_to_dst": [int(reload.to_dst)],
        "dst_address": [FIRST_ROW + (product.dst_row * COLUMNS if reload.to_dst else 0)],
    }
    address = at_partial // LINE_BYTES - 1
    lines = wait_lines(STORED)
    lines += changes.lines(fields | {"base_address": [address] * 2}, UNPACKERS_REST)
    unpacr = {"multi_context": 1, "adc": product.unpacking, "flip": int(not reload.to_dst), "last": 1}
    lines += [("SETADCZW", {"units": 3, "which": 0b1111})]
    if reload.to_dst:
        lines += [
            ("SETC16", own_field(chip, "override_with_address", 0)),
            ("UNPACR", unpacr),
            ("STALLWAIT", {"block": cores.SYNC | cores.CONFIG, "conditions": UNPACKERS_IDLE}),
            ("SEMPOST", {"semaphores": 1 << LOADED}),
            ("SETC16", own_field(chip, "override_with_address", 1)),
        ]
    else:
        lines += [("UNPACR", unpacr), *zeros(chip)]
    return lines + changes.lines(before, UNPACKERS_REST)


def zeros(chip: Chip) -> list[Line]:
    """Clear a bank of SrcB and hand it over."""
    if chip is Chip.WORMHOLE:
        return [("UNPACR_NOP", {"unpacker": 1, "what": 1}), ("UNPACR_NOP", {"unpacker": 1, "what": 7})]
    return [("UNPACR_NOP", {"unpacker": 1, "pop": 1, "set_valid": 1})]


def _unpack_mop(product: Product) -> tuple[int, ...]:
    fields = {"ch0_z": 1, "multi_context": 1, "adc": product.unpacking, "flip": 1, "last": 1}
    nop, right, left = assembled(product.chip, ("NOP",), ("UNPACR", fields), ("UNPACR", fields | {"unpacker": 1}))
    return (0, 1, right, left, nop, nop, nop, nop, nop)


# Thread 1: products, and partial sums from SrcA to Dst.


def _multiply_words(product: Product) -> tuple[int, ...]:
    chip, phases = product.chip, product.phases
    wormhole, (first, *others) = chip is Chip.WORMHOLE, turns(product)
    lines = begin_lines()
    modifiers = dict(MODIFIERS)
    if wormhole:
        # Two bits of index: 3 and the last one change to the other half of the modifiers, whose 4 to 6 repeat 0 to 2.
        last = {"ab": 0x8080, "dst": 0x0800 if phases == 1 else 0x2800, "bias": 1}
        modifiers = {0: MODIFIERS[0], 1: MODIFIERS[1], 2: MODIFIERS[2], 3: MODIFIERS[3] | {"bias": 1}}
        modifiers |= {4 + number: MODIFIERS[number] for number in range(3)} | {7: last}
    for number, words in modifiers.items():
        lines += [("SETC16", own_field(chip, f"{name}_modifier", value, number)) for name, value in words.items()]
    lines.append(("SETC16", own_field(chip, "math_offset", product.dst_row)))
    lines += CLEARED
    for place in range(1 if phases == 1 else 2):
        final = place or phases == 1
        end = 3 if wormhole else LAST if final else NEXT_PHASE
        lines.append(("REPLAY", {"start": 16 * place, "count": 16, "load": 1}))
        lines += [("MVMUL", {"modifier": number}) for number in PASS]
        lines.append(("MVMUL", {"modifier": end, "flip": 3 if final else 0}))
    lines += _rounds(product, first)
    changes = Changes(chip, configuration(product))
    for turn in others:
        lines += wait_lines(DONE)
        lines += _partial_lines(product, changes) if turn.reloads else CLEARED
        lines += _rounds(product, turn)
    return assembled(chip, *lines)


CLEARED: list[Line] = [("ZEROACC", {"mode": 3}), ("SETRWC", {"which": 0b1111})]


def matrix_idle(chip: Chip) -> int:
    """Return the condition bit of an idle Matrix unit."""
    return 1 << (7 if chip is Chip.WORMHOLE else 4)


def _rounds(product: Product, turn: Turn) -> list[Line]:
    """Multiply all tiles of a turn, and tell the packer."""
    return [
        *[("MOP", {"template": ROUNDS_LOOP})] * (turn.count // product.group),
        ("STALLWAIT", {"block": cores.MATH | cores.SYNC, "conditions": matrix_idle(product.chip)}),
        ("SEMPOST", {"semaphores": 1 << PACKED}),
    ]


def _partial_lines(product: Product, changes: Changes) -> list[Line]:
    """Copy the partial sum from SrcA to Dst, to 32-bit words by adding zeros; or wait until it is there."""
    reload = product.partials.reload
    if reload.to_dst:
        return [*wait_lines(LOADED), ("SETRWC", {"which": 0b1111})]
    rests = ("STALLWAIT", {"block": cores.CONFIG, "conditions": matrix_idle(product.chip)})
    names = "src_a_format", "src_b_format"
    lines = changes.lines({name: [reload.register] for name in names}, rests)
    lines.append(("SETRWC", {"which": 0b1111}))
    for block in range(TILE_ROWS // BLOCK_ROWS):
        # Modifier 0 steps the rows of Dst and SrcB.
        if product.dst32:
            lines += [("ELWADD", {}), ("INCRWC", {"src_a": BLOCK_ROWS})]
        else:
            lines.append(("MOVA2D", {"mode": 2, "src_row": block * BLOCK_ROWS}))
    lines.append(("SETRWC", {"which": 0b1111, "flip": 3}))
    return lines + changes.lines({name: [product.fmt] for name in names}, rests)


def _multiply_mop(product: Product) -> tuple[int, ...]:
    """A round for each K tile; the last phase's pass, from 16 on, flips the banks."""
    chip, phases = product.chip, product.phases
    nop, first = assembled(chip, ("NOP",), ("REPLAY", {"count": 16}))
    last = encode("REPLAY", chip=chip, start=16 if phases > 1 else 0, count=16)
    # Four phases bring Wormhole's phase back to 0, others must clear it.
    clears = chip is Chip.WORMHOLE and phases in (2, 3)
    end = encode("SETRWC", chip=chip, which=0b1000) if clears else nop
    return (product.group, phases, nop, end, nop, first, nop, last, last)


# Thread 2: the packer.


def pack_words(product: Product) -> tuple[int, ...]:
    """Return thread 2's words: the Dst tile goes to L1 as soon as it is ready."""
    chip, wormhole = product.chip, product.chip is Chip.WORMHOLE
    lines = begin_lines()
    if wormhole:
        lines.append(("SETC16", own_field(chip, "pack_modifier", 1 << 5, 1)))
    else:
        lines += [
            ("SETC16", own_field(chip, "pack_modifier", value, number)) for number, value in enumerate((4, 1 << 5))
        ]
    lines += [
        ("SETADCXX", {"units": 4, "end": FACE * FACE - 1 if wormhole else FACE - 1}),
        ("SETADCXY", {"units": 4, "which": 0b1010}),
        ("SETADCZW", {"units": 4, "which": 0b1111}),
    ]
    every = list(turns(product))
    packers = len(FIELDS[chip]["pack_address"])
    changes = Changes(chip, configuration(product) | {"l1_accumulate": [0] * packers})
    for number, turn in enumerate(every):
        following = every[number + 1 : number + 2]
        ready = {"block": cores.EVERY if number else cores.TDMA, "semaphores": 1 << PACKED, "while_zero": 1}
        lines += changes.lines(
            _packing(product, turn) | {"l1_accumulate": [int(turn.accumulates)] * packers}, PACKERS_REST[chip]
        )
        lines.append(("SEMWAIT", ready))
        if wormhole:
            lines += [
                ("PACR", {"modifier": 1, "packers": 0b1111, "last": 1}),
                ("STALLWAIT", {"block": cores.PACK | cores.SYNC, "conditions": 0b1111000}),
                ("SEMGET", {"semaphores": 1 << PACKED}),
            ]
        else:
            lines.append(("MOP", {"template": ROUNDS_LOOP}))
        if following:
            stored = 1 << STORED if following[0].reloads else 0
            lines.append(("SEMPOST", {"semaphores": 1 << DONE | stored}))
    return assembled(chip, *lines)


PACKERS_REST: dict[Chip, Line] = {
    Chip.WORMHOLE: ("STALLWAIT", {"block": cores.CONFIG, "conditions": 0b1111000}),
    Chip.BLACKHOLE: ("STALLWAIT", {"block": cores.CONFIG, "conditions": 1 << 3}),
}
"""The configuration waits until all packers are idle."""


def pack_mop(product: Product) -> tuple[int, ...]:
    """Blackhole's 16 PACRs, and the words after them."""
    chip = product.chip
    if chip is Chip.WORMHOLE:
        return (0,) * MOP_WORDS
    nop, stall, take, pack, last = assembled(
        chip,
        ("NOP",),
        ("STALLWAIT", {"block": cores.PACK | cores.SYNC, "conditions": 1 << 3}),
        ("SEMGET", {"semaphores": 1 << PACKED}),
        ("PACR",),
        ("PACR", {"modifier": 1, "last": 1}),
    )
    return (1, FACES * FACE // 4, nop, stall, take, pack, nop, last, nop)


# A user's function: matrices to a program, and a core's L1 to the matrix.


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductProgram(CoreProgram):
    """The program of a matrix product.

    Attributes
    ----------
    product : its tiles, formats and blocks.
    shape : rows and columns of the result.
    words, mops, memory, result : as `CoreProgram`.
    """

    product: Product
    shape: tuple[int, int]

    def run(self, core: "cores.Core | None" = None) -> np.ndarray:
        """Run the program on a core, a new one of the chip for None; return float32 [M, N], int32 for INT8.

        Raises
        ------
        ValueError : a core of another chip.
        """
        core = cores.Core(self.product.chip) if core is None else core
        if core.chip is not self.product.chip:
            raise ValueError(f"core must be of chip {self.product.chip.value!r}, not {core.chip.value!r}")
        self.prepare(core)
        self.push(core)
        core.run()
        return self.matrix(self.result_of(core))

    def matrix(self, l1: np.ndarray) -> np.ndarray:
        """Return the result's bytes as a matrix, float32 [M, N], int32 for INT8."""
        fmt, (rows, columns) = self.product.out_format, self.shape
        words = l1.view(f"<u{L1_BYTES[fmt]}").astype(np.uint32)
        tiles = words.reshape(self.product.rows, self.product.columns, TILE_ROWS, FACE)
        style = Style.INT8 if fmt is Format.INT32 else Style.FP16 if fmt is Format.FP16 else Style.BF16
        values = dst_values(from_tiles(tiles), style, fmt is Format.FP32)
        return np.ascontiguousarray(values[:rows, :columns])


@checked
def product_program(
    a: np.ndarray,
    b: np.ndarray,
    *,
    format: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    block_k: int | None = None,
    partials: Partials | str = Partials.DST,
    chip: Chip | str = Chip.WORMHOLE,
) -> ProductProgram:
    """Return the program of three threads that multiplies [M, K] @ [K, N] on `Core`, with the bits of `matmul`.

    Parameters
    ----------
    a, b, format, fidelity, dst32, block_k, partials : as `matmul`.
    chip : the chip of the core; its preset gives the numerics.

    Returns
    -------
    A `ProductProgram`, whose result in L1 has Dst's words: FP32, BF16, FP16 or INT32.

    Raises
    ------
    TypeError, ValueError : as `matmul`; matrices that L1 does not hold.
    """
    chip, partials = member("chip", chip, Chip), member("partials", partials, Partials)
    tiled = matmul_program(a, b, format=format, fidelity=fidelity, dst32=dst32, chip=chip)
    check_partials(partials, tiled.fmt.style, dst32=dst32)
    rows, depth, columns = tiled.tiles
    product = Product(
        chip=chip,
        fidelity=member("fidelity", fidelity, Fidelity),
        fmt=tiled.fmt.register,
        out_format=tiled.packing.result,
        dst32=dst32,
        k_tiles=depth,
        rows=rows,
        columns=columns,
        block_tiles=block_depth(block_k, a.shape[1]) // TILE,
        partials=partials,
    )
    if product.addresses[-1] > cores.L1_BYTES:
        raise ValueError(f"a and b must fit in L1, {cores.L1_BYTES} bytes, not reach {product.addresses[-1]}")
    program = tile_program(product, tiled.left.reshape(-1), tiled.right.swapaxes(0, 1).reshape(-1))
    return ProductProgram(**vars(program), product=product, shape=tiled.shape)
