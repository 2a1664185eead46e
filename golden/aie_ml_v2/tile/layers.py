"""Layers on the tile: the machine that runs a schedule of bundles, and the schedules for integers and for MX9."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np

from bitpath.golden.aie_ml_v2.convert.mx import to_mx
from bitpath.golden.aie_ml_v2.declarations.codes import MX9, MX_BLOCK, SPARSE_CHUNK_BYTES, RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES, MX9_MODE, TIMINGS, Mode, Shape
from bitpath.golden.aie_ml_v2.declarations.tile import BANK_BYTES, BANK_WORDS, LINE_BYTES, SLOTS, AguForm
from bitpath.golden.aie_ml_v2.mac.sparsity import compress, to_sparse
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks, pack_mx, unpack_mx
from bitpath.golden.aie_ml_v2.tile.addresses import Address, dimensions_from_steps
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory
from bitpath.golden.aie_ml_v2.tile.operation import Operation
from bitpath.golden.aie_ml_v2.tile.tile import Bundle, Tile, TileReport
from bitpath.golden.aie_ml_v2.tile.transfers import Fill, Flush, Load, PointerAdd, Pop, Push, StoreSrs
from bitpath.golden.aie_ml_v2.tile.vectors import Mac, Shuffle
from bitpath.golden.arrays.arguments import (
    check_choice,
    check_instance,
    check_product,
    checked,
    integer,
    signed_range,
)

# A layer for the tile: a schedule, the registers that it starts from, and its operands in memory.


PAIR_BYTES = 2 * BANK_BYTES * BANK_WORDS
"""Bytes of a programmer's bank: a pair of banks."""
A, B, C = (n * PAIR_BYTES for n in range(3))
"""Where operands and result begin, each in a pair of banks of its own."""


class Schedule:
    """Operations by cycle and slot."""

    def __init__(self) -> None:
        self._placed: dict[int, dict[str, Operation]] = {}

    def put(self, cycle: int, slot: str, operation: Operation) -> None:
        """Place an operation; raise ValueError where the slot is taken, or before cycle 0."""
        taken = self._placed.setdefault(cycle, {})
        if cycle < 0 or slot not in SLOTS or slot in taken:
            raise ValueError(f"slot {slot} of cycle {cycle} must be free")
        taken[slot] = operation

    def bundles(self) -> tuple[Bundle, ...]:
        """Return a bundle for each cycle up to the last that has an operation."""
        return tuple(Bundle(**self._placed.get(cycle, {})) for cycle in range(max(self._placed, default=-1) + 1))


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A product of matrices on the tile.

    Attributes
    ----------
    bundles : its schedule, which may read registers that an earlier bundle has not yet written: `Tile(exposed=True)`.
    registers : values before the first bundle.
    images : bytes in memory, by their address.
    result : address and bytes of the result.
    decode : the result's bytes as a matrix, int64 or MxBlocks.
    macs : multiply-accumulates, those with a sparse operand's zeros included.
    """

    bundles: tuple[Bundle, ...]
    registers: Mapping[str, int]
    images: Mapping[int, np.ndarray] = field(repr=False)
    result: tuple[int, int]
    decode: Callable[[np.ndarray], np.ndarray | MxBlocks] = field(repr=False)
    macs: int


@checked
def run_layer(layer: Layer, *, conflicts: str = "raise") -> tuple[np.ndarray | MxBlocks, TileReport]:
    """Run a layer on a tile of its own; return its result, int64 [M, N] or MxBlocks [M, N / 16], and its report.

    Parameters
    ----------
    conflicts : as `Tile` takes it.

    Raises
    ------
    HazardError : requests that meet at a bank, unless `conflicts` is "stall".
    TypeError, ValueError : no Layer; as `Tile`.
    """
    tile = Tile(conflicts=conflicts, exposed=True)
    for name, value in layer.registers.items():
        tile.registers.write(name, value)
    for address, image in layer.images.items():
        write_bytes(tile.memory, address, image)
    report = tile.run(layer.bundles)
    return layer.decode(read_bytes(tile.memory, *layer.result)), report


def write_bytes(memory: DataMemory, address: int, data: np.ndarray) -> None:
    """Store bytes from a line on; those above them in their last line become 0."""
    lines = np.pad(data, (0, -len(data) % LINE_BYTES)).reshape(-1, LINE_BYTES)
    for i, line in enumerate(lines):
        memory.store(address + LINE_BYTES * i, line)


def read_bytes(memory: DataMemory, address: int, size: int) -> np.ndarray:
    """Load bytes from a line on."""
    lines = [memory.load(address + at, LINE_BYTES) for at in range(0, size, LINE_BYTES)]
    return np.concatenate(lines)[:size]


# Integer layers on the tile: blocks of two by two output tiles, a native product a cycle.
#
# ::
#
#     cycle of a step   0         1         2         3
#     vec               (0, 0)    (0, 1)    (1, 0)    (1, 1)     row tile, column tile
#     lda               A tiles of a later step
#     ldb               B tiles of a later step; of sparse B a fill and two pops
#     st                after the last step of K: SRS of one tile each
#
# A and C lie tile by tile along K and N, so that C is the A of a layer behind it.


STEP = 4
"""Cycles of a step along K: products of a block."""
LEAD = 9
"""Cycles from the first bundle to the first product."""
TILES = 2
"""Row tiles and column tiles of a block."""
VECTOR_BYTES = 64
LAYER_MODES = ("int8", "int16_64")
_POINTERS = (0, 3)
"""Pointers of A, a block each in turn: the other one is led to the next block meanwhile."""
_B_POINTER, _C_POINTER = 1, 2
_A_DIMS, _B_DIMS, _C_DIMS = range(3)
_A_KINDS = {32: "wl", 64: "x", 128: "y"}
"""Registers of an A tile by its bytes; a Y is loaded as two X."""


@checked
def integer_layer(
    a: np.ndarray,
    b: np.ndarray,
    *,
    mode: str,
    shift: int,
    sparse: bool = False,
    saturate: Saturation = Saturation.SATURATE,
    rounding: RoundingCode = RoundingCode.CONV_EVEN,
    b_at: int = B,
) -> Layer:
    """Return the layer ``srs(a @ b, shift)`` in the integers of `a`.

    Parameters
    ----------
    a, b : integers [M, K] and [K, N], which fit the mode, in whole blocks, two or more along K: of 16 x 8 and 8 x 16 in
        "int8" (K of 16 if sparse), of 8 x 4 and 4 x 16 in "int16_64" (K of 8 if sparse).
    mode : "int8" or "int16_64".
    shift : 0 to 59.
    sparse : True if of four neighbours of B along K at most two are not 0.
    b_at : where B begins; in the pair of banks of A every step's loads meet.

    Raises
    ------
    TypeError, ValueError : another mode, dtype or shape; integers out of range; a matrix beyond a pair of banks; a dense B
        with `sparse`.
    """
    check_choice("mode", mode, LAYER_MODES)
    row = INTEGER_MODES[mode]
    tile = row.sparse_shapes[0] if sparse else row.shapes[0]
    check_product(a, b, (signed_range(row.a_bits), signed_range(row.b_bits)))
    for name, size, step in (("M", len(a), TILES * tile.m), ("K", len(b), tile.k), ("N", b.shape[1], TILES * tile.n)):
        if not size or size % step:
            raise ValueError(f"{name} must be a multiple of {step} in mode {mode}, not {size}")
    if len(b) == tile.k:  # stores would take every cycle
        raise ValueError(f"K must be at least {2 * tile.k} in mode {mode}, not {tile.k}")
    b_tiles = _b_image(b, tile, row, sparse)
    images = {A: _a_image(a, tile, row), b_at: np.concatenate(b_tiles)}
    for name, at in (("a", A), ("b", b_at)):
        if len(images[at]) > PAIR_BYTES:
            raise ValueError(f"{name} must have at most {PAIR_BYTES} bytes in memory, not {len(images[at])}")
    tiles = (len(a) // tile.m, len(b) // tile.k, b.shape[1] // tile.n)
    options = {"saturate": saturate, "rounding": rounding}
    builder = _Builder(row, tile, tiles, sparse, b_at, len(images[b_at]) - len(b_tiles[-1]), options)
    return Layer(
        bundles=builder.bundles(),
        registers=builder.registers | {"s0": integer("shift", shift, range(60))},
        images=images,
        result=(C, a.shape[0] * b.shape[1] * row.a_bits // 8),
        decode=partial(_decoded, row.shapes[0], row, b.shape[1]),
        macs=a.shape[0] * b.shape[0] * b.shape[1],
    )


def _a_image(a: np.ndarray, tile: Shape, mode: Mode) -> np.ndarray:
    """Return A's bytes: tiles along K, then along M."""
    tiles = a.reshape(len(a) // tile.m, tile.m, -1, tile.k).swapaxes(1, 2)
    return tiles.astype(f"<i{mode.a_bits // 8}").view(np.uint8).ravel()


def _b_image(b: np.ndarray, tile: Shape, mode: Mode, sparse: bool) -> list[np.ndarray]:
    """Return the bytes of B's tiles in the order of the loads: of two columns of tiles, along K, then along N."""
    tiles = b.reshape(-1, tile.k, b.shape[1] // tile.n, tile.n).transpose(2, 0, 1, 3).astype(f"<i{mode.b_bits // 8}")
    if not sparse:
        return list(np.ascontiguousarray(tiles).view(np.uint8).reshape(len(tiles) * tiles.shape[1], -1))
    pairs = tiles.reshape(-1, TILES, *tiles.shape[1:]).swapaxes(1, 2).reshape(-1, tile.k, tile.n).swapaxes(1, 2)
    to_sparse(pairs)  # raises where a group has more than two
    chunks = np.ascontiguousarray(pairs).view(np.uint8).reshape(len(pairs), -1, SPARSE_CHUNK_BYTES)
    return [np.concatenate([compress(chunk) for chunk in each]) for each in chunks]


def _decoded(tile: Shape, mode: Mode, columns: int, data: np.ndarray) -> np.ndarray:
    """Return the matrix of C's bytes: tiles along N, then along M."""
    tiles = data.view(f"<i{mode.a_bits // 8}").reshape(-1, columns // tile.n, tile.m, tile.n)
    return tiles.swapaxes(1, 2).reshape(-1, columns).astype(np.int64)


class _Builder:
    """Schedule of a layer of M, K and N tiles."""

    def __init__(
        self,
        mode: Mode,
        tile: Shape,
        tiles: tuple[int, int, int],
        sparse: bool,
        b_at: int,
        last_b: int,
        options: dict,
    ):
        self.mode, self.tile, self.sparse, self.options = mode, tile, sparse, options
        self.rows, self.steps, self.columns = tiles
        self.schedule = Schedule()
        self.a_bytes = tile.m * tile.k * mode.a_bits // 8
        b_bytes = tile.k * tile.n * mode.b_bits // 8
        width = min(self.a_bytes, VECTOR_BYTES)
        self.a_loads = self.a_bytes // width
        self.moves: dict[int, int] = {}
        """Registers m by their value."""
        along_k = self.a_bytes * self.steps
        dims = {
            _A_DIMS: ((self.a_loads, TILES), (width, along_k, self.a_bytes)),
            _C_DIMS: ((TILES, TILES), (VECTOR_BYTES, VECTOR_BYTES * self.columns, TILES * VECTOR_BYTES)),
        }
        if not sparse:
            b_along_k = b_bytes * self.steps
            dims[_B_DIMS] = ((TILES, self.steps), (b_along_k, b_bytes, TILES * b_along_k))
        self.b_row = last_b if sparse else b_bytes * self.steps * self.columns
        self.registers = {f"p{_B_POINTER}": b_at, f"p{_C_POINTER}": C, f"p{_POINTERS[0]}": A, f"p{_POINTERS[1]}": A}
        for n, (sizes, steps) in dims.items():
            values = dimensions_from_steps(sizes, steps)
            inner = {f"{name}{n}": getattr(values, name) for name in ("m", "dn", "dj", "dc")}
            outer = {f"{name}{n + 4}": getattr(values, f"{name}2") for name in ("dn", "dj", "dc")}
            self.registers |= {name: int(value) for name, value in (inner | outer).items()}

    def bundles(self) -> tuple:
        """Place every operation and return the bundles; `registers` is complete then."""
        blocks = list(product(range(0, self.rows, TILES), range(0, self.columns, TILES)))
        starts = [self.a_bytes * self.steps * row for row, _ in blocks]
        if len(blocks) > 1:
            self.registers[f"p{_POINTERS[1]}"] = A + starts[1]
        for number, (_, column) in enumerate(blocks):
            first = LEAD + STEP * self.steps * number
            ends_row = column + TILES == self.columns
            for step in range(self.steps):
                base = first + STEP * step
                last = step + 1 == self.steps
                self._load(base, _POINTERS[number % 2], ends_row and last)
                self._multiply(base, clears=step == 0)
            if 0 < number < len(blocks) - 1:
                # The pointer of the block before stands behind it.
                gone = starts[number - 1] + self.a_bytes * self.steps
                self._move(
                    first - (6 if self.sparse else 4), "ldb", _POINTERS[(number + 1) % 2], starts[number + 1] - gone
                )
            if ends_row and not self.sparse:
                self._move(base - 5, "ldb", _B_POINTER, -self.b_row)
            self._store(base)
            if ends_row:
                self._move(base + STEP + 6, "st", _C_POINTER, VECTOR_BYTES * self.columns)
        return self.schedule.bundles()

    def _names(self, base: int) -> tuple[list[str], list[str]]:
        """Operand registers of a step; every second step has the same."""
        first = TILES * ((base - LEAD) // STEP % 2)
        of_a, of_b = _A_KINDS[self.a_bytes], "ex" if self.sparse else "x"
        return [f"{of_a}{first + i}" for i in range(TILES)], [f"{of_b}{8 + first + i}" for i in range(TILES)]

    def _load(self, base: int, pointer: int, ends_row: bool) -> None:
        a, b = self._names(base)
        targets = a if self.a_loads == 1 else [f"x{2 * int(name[1:]) + i}" for name in a for i in range(2)]
        for i, name in enumerate(targets):
            address = Address(pointer=pointer, form=AguForm.THREE_D, register=_A_DIMS)
            self.schedule.put(base - (8 if self.a_loads == 2 else 7) + i, "lda", Load(to=name, address=address))
        if not self.sparse:
            for i, name in enumerate(b):
                address = Address(pointer=_B_POINTER, form=AguForm.THREE_D, register=_B_DIMS)
                self.schedule.put(base - 7 + i, "ldb", Load(to=name, address=address))
            return
        self.schedule.put(base - 9, "ldb", Fill(fifo=1))
        for i, name in enumerate(b):
            jump = Address(pointer=1, register=self._m(-self.b_row)) if ends_row and i else None
            fmt = f"sparse{self.mode.b_bits}"
            self.schedule.put(base - 8 + i, "ldb", Pop(to=name, fifo=1, fmt=fmt, jump=jump))

    def _multiply(self, base: int, *, clears: bool) -> None:
        a, b = self._names(base)
        for n, (x, y) in enumerate(product(range(TILES), repeat=2)):
            mac = Mac(
                mode=self.mode.name,
                shape=self.tile.name,
                to=f"dm{n}",
                a=a[x],
                b=b[y],
                accumulates=not clears,
            )
            self.schedule.put(base + n, "vec", mac)

    def _store(self, base: int) -> None:
        """Store each tile in the cycle after its last product is written."""
        for n in range(TILES * TILES):
            address = Address(pointer=_C_POINTER, form=AguForm.THREE_D, register=_C_DIMS)
            store = StoreSrs(
                source=f"dm{n}",
                address=address,
                acc_bits=self.mode.lane_bits,
                out_bits=self.mode.a_bits,
                **self.options,
            )
            self.schedule.put(base + n + TIMINGS[self.mode.datapath].write, "st", store)

    def _move(self, cycle: int, slot: str, pointer: int, distance: int) -> None:
        self.schedule.put(cycle, slot, PointerAdd(address=Address(pointer=pointer, register=self._m(distance))))

    def _m(self, distance: int) -> int:
        """Return the register m that holds a distance; those of the dimensions come first."""
        n = self.moves.setdefault(distance, 3 + len(self.moves))
        self.registers[f"m{n}"] = distance % (1 << 20)
        return n


# MX9 layers on the tile: blocks of four output tiles, a native product in two cycles.
#
# ::
#
#     cycle of a step   0     1     2     3     4     5     6     7
#     vec               A0          A1          A2          A3           products with one tile of B
#     mv                lo    hi    A2    A3    lo    hi    A0    A1     shuffles: B's halves of k, and A's in place
#     lda, ldb          four pops of A, four of B, and a fill of each FIFO
#     st                after the last step of K: a push of each tile
#
# An EX of 72 bytes is an A tile, or four columns of a B tile. A lies in blocks of four tiles along K, B tile by tile, C as
# A: a row of an output tile is one block along the next layer's K.


MX9_STEP = 8
MX9_LEAD = 18
MX9_TILES = 4
"""Row tiles of a block."""
POP_BYTES = MX9.store_bits // 8
STEP_BYTES = MX9_TILES * POP_BYTES
"""Bytes of A, and of B, that a step takes."""
HALVES = "T64_4x2"
COLUMN_HALVES = ("T64_8x2_lo", "T64_8x2_hi")
_SPARE = "ex8"
_A_REGISTERS = ("ex9", "ex10", "ex11")
_B_RESTART, _A_RESTART = 1, 0
"""Registers m that lead a stream back."""


@checked
def mx9_layer(a: np.ndarray | MxBlocks, b: np.ndarray, *, rounding: RoundingCode = RoundingCode.CONV_EVEN) -> Layer:
    """Return the layer ``to_mx(a @ b)``, its operands converted to MX9 along K.

    Parameters
    ----------
    a : float32 [M, K], or its blocks [M, K / 16].
    b : float32 [K, N].
    rounding : of all conversions.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; M, K or N no multiple of 16; a matrix beyond a pair of banks.
    """
    left = a if isinstance(a, MxBlocks) else to_mx(a, MX9, rounding=rounding)
    right = to_mx(np.ascontiguousarray(b.T), MX9, rounding=rounding)
    check_instance("a", left, MxBlocks)
    if left.fmt is not MX9 or left.exponent.ndim != 2 or left.shape[1] != right.shape[1]:
        raise ValueError(f"a must be MX9 with {right.shape[1]} blocks a row, not {left.fmt.name} of {left.shape}")
    for name, size in (("M", left.shape[0]), ("N", right.shape[0])):
        if not size or size % MX_BLOCK:
            raise ValueError(f"{name} must be a multiple of {MX_BLOCK}, not {size}")
    images = {A: _image(left), B: _image(right)}
    for name, at in (("a", A), ("b", B)):
        if len(images[at]) > PAIR_BYTES:
            raise ValueError(f"{name} must have at most {PAIR_BYTES} bytes in memory, not {len(images[at])}")
    groups, steps, columns = left.shape[0] // MX_BLOCK, left.shape[1], right.shape[0] // MX_BLOCK
    registers = {
        "p0": A,
        "p1": B,
        "p2": C,
        f"m{_A_RESTART}": POP_BYTES - steps * STEP_BYTES,
        f"m{_B_RESTART}": POP_BYTES - steps * columns * STEP_BYTES,
    }
    return Layer(
        bundles=_bundles(groups, steps, columns, rounding),
        registers={name: value % (1 << 20) for name, value in registers.items()},
        images=images,
        result=(C, groups * columns * STEP_BYTES),
        decode=partial(_decoded_blocks, columns),
        macs=groups * steps * columns * MX_BLOCK**3,
    )


def _decoded_blocks(columns: int, data: np.ndarray) -> MxBlocks:
    """Return the blocks of C's bytes: 16 rows, along N, then the next 16."""
    blocks = data.reshape(-1, columns, MX_BLOCK, MX9.block_bytes).swapaxes(1, 2)
    return unpack_mx(blocks.reshape(-1, columns, MX9.block_bytes), MX9)


def _image(blocks: MxBlocks) -> np.ndarray:
    """Return the bytes of rows of blocks: 16 rows, along K, then the next 16."""
    rows, steps = blocks.shape
    return pack_mx(blocks).reshape(rows // MX_BLOCK, MX_BLOCK, steps, -1).swapaxes(1, 2).ravel()


def _bundles(groups: int, steps: int, columns: int, rounding: RoundingCode) -> tuple:
    schedule = Schedule()
    for number in range(groups * columns * steps):
        base = MX9_LEAD + MX9_STEP * number
        block, step = divmod(number, steps)
        last, ends_row = step + 1 == steps, (block + 1) % columns == 0
        _load_b(schedule, base, restarts=last and ends_row)
        _load_a(schedule, base, number, restarts=last and not ends_row)
        for i in range(MX9_TILES):
            accumulator = f"dm{MX9_TILES * (block % 2) + i}"
            mac = Mac(
                mode="mx9",
                to=accumulator,
                a=_a_register(number, i),
                b=f"ey{_b_pair(base)}",
                b_high=f"ey{_b_pair(base) + 1}",
                accumulates=step > 0,
            )
            schedule.put(base + 2 * i, "vec", mac)
            if last:
                written = base + 2 * i + TIMINGS[MX9_MODE.datapath].write
                schedule.put(written, "st", Push(source=accumulator, rounding=rounding))
        if last:
            schedule.put(written + 1, "st", Flush())
    return schedule.bundles()


def _a_register(number: int, tile: int) -> str:
    return _A_REGISTERS[(MX9_TILES * number + tile) % len(_A_REGISTERS)]


def _b_pair(base: int) -> int:
    """Return the first EY of a step's B; every second step has the same."""
    return 2 * ((base - MX9_LEAD) // MX9_STEP % 2)


def _load_a(schedule: Schedule, base: int, number: int, *, restarts: bool) -> None:
    """Fill, and pop and shuffle the four tiles, each in the register of the third tile before it."""
    schedule.put(base - 12, "lda", Fill(fifo=0))
    for i, (pop, shuffle) in enumerate(((-11, -2), (-10, -1), (-7, 2), (-6, 3))):
        name = _a_register(number, i)
        jump = Address(pointer=0, register=_A_RESTART) if restarts and i == MX9_TILES - 1 else None
        schedule.put(base + pop, "lda", Pop(to=name, fifo=0, fmt="mx9", jump=jump))
        schedule.put(base + shuffle, "mv", Shuffle(to=name, low=name, mode=HALVES))


def _load_b(schedule: Schedule, base: int, *, restarts: bool) -> None:
    """Fill, pop 4 x 4 columns, and bring the halves of 8 columns each together: low ones in one EY, high ones in the next."""
    schedule.put(base - 18, "ldb", Fill(fifo=1))
    pair = _b_pair(base)
    for i, (first, shuffle) in enumerate(((-17, -8), (-13, -4))):
        low, high = f"ex{2 * pair + i}", f"ex{2 * pair + 2 + i}"
        jump = Address(pointer=1, register=_B_RESTART) if restarts and i else None
        schedule.put(base + first, "ldb", Pop(to=_SPARE, fifo=1, fmt="mx9"))
        schedule.put(base + first + 1, "ldb", Pop(to=high, fifo=1, fmt="mx9", jump=jump))
        for at, (to, mode) in enumerate(zip((low, high), COLUMN_HALVES, strict=True)):
            schedule.put(base + shuffle + at, "mv", Shuffle(to=to, low=_SPARE, high=high, mode=mode))
