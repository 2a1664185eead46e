"""Cycle model of a matmul on unpackers, Matrix unit and packer: loads of tiles, products, and packing, which overlap.

An engine's cycles, unit by unit::

      load      2 address cycles, `unpack_cycles` - 2 words from the L1 port; the bank is readable 3 cycles after the last word
      product   16 cycles a fidelity phase; waits for both banks, and for its Dst tile while that is packed
      pack      1 cycle, then the tile's rows; starts behind the tile's last product and the previous pack

Each side has two banks, which its unpacker fills in turn. A load waits until its bank is free, and both unpackers share the
address cycles. Ref: tt-isa-documentation 3930471, L1, UNPACR_Regular, MVMUL (CLR_DVALID disabled: a bank that is flipped and
not given back). Chosen: which load the port serves first, and which tiles are held.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil

from bitpath.golden.arrays.arguments import check_choice, checked, integer
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, Format
from bitpath.golden.tensix.matmul.cycles import TILE_DATUMS, UNPACKER_START, issue_cycles, unpack_cycles
from bitpath.golden.tensix.matmul.matmul import TILE_ROWS, Program

HAND_OVER = 2
"""Cycles between a tile's last word from L1 and the first in which the Matrix unit reads its bank."""
PACKER_BYTES = 64
"""Bytes of L1 that the packers write in a cycle."""
L1_PORTS = ("in_order", "shared")
"""The port serves the load that is needed first, or both by halves."""
SIDES = 2
"""Left and right."""
DST_TILES = DST16_ROWS // TILE_ROWS
"""16-bit tiles of Dst."""


@dataclass(frozen=True, kw_only=True)
class TileSchedule:
    """Cycles, loads and stalls of a matmul.

    Attributes
    ----------
    cycles : from the first address cycle of a load to the read of the last row that is packed, the first not counted.
    loads : tiles loaded.
    stalls : cycles up to the last product in which the Matrix unit neither multiplies nor clears.
    """

    cycles: int
    loads: int
    stalls: int


@dataclass(frozen=True, kw_only=True)
class TileTimes:
    """Cycles of the works on one tile: data of a load, product, pack, and the clearing of a Dst tile."""

    data: int
    compute: int
    pack: int
    clear: int = 0


@dataclass(frozen=True, kw_only=True)
class TileProduct:
    """A tile product by its operand tiles and its tile of Dst, which the ``first`` one clears and the ``last`` one packs."""

    left: tuple[int, int]
    right: tuple[int, int]
    dst_tile: int
    first: bool
    last: bool


@dataclass(frozen=True, kw_only=True)
class BankMove:
    """Bank steps of a product on one side: load its tile first; release the bank and flip to the other one after."""

    load: bool
    release: bool
    flip: bool


@checked
def schedule(
    plan: Program, *, l1_port: str = "in_order", pack_rows: int = 2, block: tuple[int, int] = (4, 2), clear: int = 0
) -> TileSchedule:
    """Return the cycles of a program whose output tiles are computed in blocks.

    Parameters
    ----------
    l1_port : "in_order" serves the load that is needed first; "shared" gives each of two loads half of the port.
    pack_rows : Dst rows that the packer takes in a cycle, 1 or 2; 32-bit results go one row a cycle.
    block : rows and columns of output tiles that share Dst.
    clear : cycles in which the Matrix unit clears a Dst tile before its first product, beside the packing of others.

    Raises
    ------
    ValueError : another port or number of rows, or a block larger than Dst.
    """
    check_choice("l1_port", l1_port, L1_PORTS)
    pack_rows = integer("pack_rows", pack_rows, range(1, 3))
    times = TileTimes(
        data=unpack_cycles(plan.fmt.stored) - UNPACKER_START,
        compute=issue_cycles(plan.instructions)[-1] + 1,
        pack=tile_pack_cycles(plan, pack_rows),
        clear=clear,
    )
    return schedule_products(tile_products(plan, block), times, shared=l1_port == "shared")


def tile_pack_cycles(plan: Program, pack_rows: int) -> int:
    """Return the cycles in which an output tile of a program is packed; one row a cycle if it accumulates."""
    return pack_cycles(plan.packing.result, 1 if plan.packing.accumulates else pack_rows)


def pack_cycles(fmt: Format, pack_rows: int) -> int:
    """Return the cycles of a pack: one to begin, then the rows, at most 64 bytes a cycle."""
    bytes_a_row = TILE_DATUMS * L1_BYTES.get(fmt, 1) // TILE_ROWS
    return 1 + TILE_ROWS // min(pack_rows, PACKER_BYTES // bytes_a_row)


def tile_products(plan: Program, block: tuple[int, int]) -> list[TileProduct]:
    """Return the tile products of a program in order: block after block, in a block step after step of K, row by row.

    Blocks take parts of Dst in turn if it has room for more than one.
    """
    rows, depth, columns = plan.tiles
    capacity = DST_TILES >> plan.dst32
    height, width = (integer(f"block[{k}]", size, range(1, capacity + 1)) for k, size in enumerate(block))
    if height * width > capacity:
        raise ValueError(
            f"block must have at most {capacity} tiles with a {32 if plan.dst32 else 16}-bit Dst, not {block}"
        )
    parts = capacity // (height * width)
    products = []
    for index, tiles in enumerate(_blocks(rows, columns, height, width)):
        base = index % parts * height * width
        for k in range(depth):
            products += [
                TileProduct(left=(row, k), right=(k, column), dst_tile=base + place, first=k == 0, last=k == depth - 1)
                for place, (row, column) in enumerate(tiles)
            ]
    return products


def _blocks(rows: int, columns: int, height: int, width: int) -> Iterator[list[tuple[int, int]]]:
    for top in range(0, rows, height):
        for left in range(0, columns, width):
            yield [
                (row, column)
                for row in range(top, min(top + height, rows))
                for column in range(left, min(left + width, columns))
            ]


def bank_moves(tiles: Sequence[tuple[int, int]]) -> list[BankMove]:
    """Return what each of consecutive products does with one side's two banks, which are filled in turn.

    A bank is held while its tile is used again before any load but that of the tile used next.
    """
    moves = []
    held: list[tuple[int, int] | None] = [None] * 2
    bank = fill = 0
    for index, tile in enumerate(tiles):
        load = held[bank] != tile
        if load:
            held[bank] = tile
            fill = 1 - bank
        following = tiles[index + 1] if index + 1 < len(tiles) else None
        if following == tile:
            moves.append(BankMove(load=load, release=False, flip=False))
            continue
        target = 1 - bank if following is not None and held[1 - bank] == following else fill
        holds = target != bank and _returns(tiles, index)
        if not holds:
            held[bank] = None
        moves.append(BankMove(load=load, release=not holds, flip=target != bank))
        bank = target
    return moves


def _returns(tiles: Sequence[tuple[int, int]], index: int) -> bool:
    """Return True if a tile is used again with no tile but one between."""
    tile = tiles[index]
    following = tiles[index + 1] if index + 1 < len(tiles) else None
    for later in tiles[index + 1 :]:
        if later == tile:
            return True
        if later != following:
            return False
    return False


@dataclass(kw_only=True)
class _Side:
    """The loads of one side: the products that need them, the loads that products use and release, and the present one."""

    needs: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    released: dict[int, list[int]] = field(default_factory=dict)
    free: set[int] = field(default_factory=lambda: {0, 1})
    ready: dict[int, int] = field(default_factory=dict)
    present: int = 0
    state: str = "waiting"
    remaining: int = 0

    @classmethod
    def of(cls, tiles: Sequence[tuple[int, int]]) -> "_Side":
        side, banks, bank = cls(), [0, 0], 0
        for index, move in enumerate(bank_moves(tiles)):
            if move.load:
                banks[bank] = len(side.needs)
                side.needs.append(index)
            side.uses.append(banks[bank])
            if move.release:
                # The bank of load k is free for load k + 2.
                side.released.setdefault(index, []).append(banks[bank] + 2)
            bank ^= move.flip
        return side

    @property
    def need(self) -> int:
        """The product that needs the present load."""
        return self.needs[self.present]

    @property
    def busy(self) -> bool:
        return self.present < len(self.needs)


def schedule_products(products: Sequence[TileProduct], times: TileTimes, *, shared: bool = False) -> TileSchedule:
    """Return the cycles of tile products in order; the model of this module, event by event."""
    run = _Run(products, times, shared=shared)
    while run.index < len(products):
        run.step()
    return TileSchedule(
        cycles=max(run.packer, run.now) - 1, loads=sum(len(side.needs) for side in run.sides), stalls=run.stalls
    )


class _Run:
    """The state of an engine at the cycle ``now``; product ``index`` is next or runs until ``ends``."""

    def __init__(self, products: Sequence[TileProduct], times: TileTimes, *, shared: bool):
        self.products, self.times, self.shared = products, times, shared
        self.sides = [_Side.of([each.left for each in products]), _Side.of([each.right for each in products])]
        self.now = self.index = self.stalls = self.packer = 0
        self.packed: dict[int, int] = {}
        self.address: tuple[int, _Side] | None = None
        self._await_product()

    def _await_product(self) -> None:
        self.idle_from = self.now
        self.clears_until: int | None = None
        self.ends: int | None = None

    def step(self) -> None:
        """Do what happens in this cycle, and go on to the next one in which something does."""
        self._loads()
        if self.ends == self.now:
            self._finish()
            if self.index == len(self.products):
                return
        waiting = [s for s in self.sides if s.busy and s.state == "waiting" and s.present in s.free]
        if self.address is None and waiting:
            first = min(waiting, key=lambda s: s.need)
            first.state, self.address = "address", (self.now + UNPACKER_START, first)
        events = [self._product()] if self.ends is None else [self.ends]
        events += [self.address[0]] if self.address else []
        moving = [side for side in self.sides if side.state == "data"]
        served = moving if self.shared else [min(moving, key=lambda s: s.need)] if moving else []
        # Data is counted in halves of a word: a shared port moves one a cycle for each side.
        speed = 2 if len(served) == 1 else 1
        events += [self.now + ceil(side.remaining / speed) for side in served]
        after = min(each for each in events if each is not None and each > self.now)
        for side in served:
            side.remaining -= speed * (after - self.now)
        self.now = after

    def _loads(self) -> None:
        """End address cycles, which gives the port to their load, and loads."""
        if self.address is not None and self.address[0] == self.now:
            self.address[1].state, self.address[1].remaining = "data", 2 * self.times.data
            self.address = None
        for side in self.sides:
            if side.state == "data" and side.remaining <= 0:
                side.ready[side.present] = self.now + HAND_OVER
                side.present, side.state = side.present + 1, "waiting"

    def _finish(self) -> None:
        """End a product: give banks back, and pack its Dst tile."""
        each = self.products[self.index]
        for side in self.sides:
            side.free.update(side.released.get(self.index, []))
        if each.last:
            self.packer = max(self.packer, self.now) + self.times.pack
            self.packed[each.dst_tile] = self.packer
        self.index += 1
        self._await_product()

    def _product(self) -> int | None:
        """Clear and begin the next product where it can; return the cycle of its next event, if it is known."""
        each = self.products[self.index]
        free = max(self.idle_from, self.packed.get(each.dst_tile, 0))
        if self.clears_until is None:
            if free > self.now:
                return free
            self.clears_until = self.now + self.times.clear * each.first
            self.stalls += self.now - self.idle_from
        known = [side.ready[use] for side in self.sides if (use := side.uses[self.index]) in side.ready]
        begins = max(self.clears_until, *known, 0)
        if len(known) == SIDES and begins <= self.now:
            self.ends = self.now + self.times.compute
            self.stalls += self.now - self.clears_until
            return self.ends
        return begins
