"""Golden model of the Matrix unit: SrcA, SrcB and Dst after every instruction and every write.

Undefined rows are read as 0, in GMPOOL as all ones.
"""

from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import Any

import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST16_ROWS,
    DST32,
    DST32_ROWS,
    SRC_ROWS,
    STYLE_OWN_FORMAT,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.registers import dst32_rows
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.matrix.instruction import Opcode, Zeroed
from bitpath.rtl.tensix.pool.layouts import POOL_ROWS
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.tensix.dot.numbers import NOT_FP16, datum_shown, dst_number

# Model of the banks of SrcA or SrcB: which fill an instruction reads, and which moves leave the next one a bank.


ALL_MOVES = ((False, False), (False, True), (True, False), (True, True))
"""Release and flip of an instruction: stay, hold, give back and wait there, hand over."""


@dataclass
class Banks:
    """Two banks, which the unpacker fills in turn; fill k goes to bank k % 2 when that was released k // 2 times."""

    bank: int = 0
    released: list[int] = field(default_factory=lambda: [0, 0])

    @property
    def fill(self) -> int:
        """Number of the fill that the next instruction reads."""
        return 2 * self.released[self.bank] + self.bank

    def after(self, release: bool, flip: bool) -> "Banks":
        """Return the banks after an instruction."""
        found = Banks(self.bank, list(self.released))
        found.move(release, flip)
        return found

    def allows(self, release: bool, flip: bool) -> bool:
        """Return True if an instruction may move so: the next one's fill must not wait for a later release."""
        after = self.after(release, flip)
        # The fill before goes to the other bank, which must have been released as often as that takes.
        return after.released[1 - after.bank] >= after.released[after.bank] - (1 - after.bank)

    @property
    def waits(self) -> bool:
        """Return True if the unpacker waits to fill a bank again before one that the Matrix unit holds."""
        return self.released[0] - self.released[1] not in (0, 1)

    def move(self, release: bool, flip: bool) -> None:
        self.released[self.bank] += release
        self.bank ^= flip


ZEROED_ROWS = {Zeroed.ROW: 1, Zeroed.SIXTEEN: 16, Zeroed.HALF: DST16_ROWS // 2, Zeroed.ALL: DST16_ROWS}
"""Number of rows that one ZEROACC makes undefined."""
HALF_BITS = 16
ADDING = (Opcode.ELWADD, Opcode.ELWSUB)
ELEMENT_WISE = (*ADDING, Opcode.ELWMUL)
BROADCASTS = ("broadcast_row", "broadcast_column", "keep_src_b_denormals")
"""How an element-wise operation takes SrcB."""
POOLING = (Opcode.GAPOOL, Opcode.GMPOOL)


@dataclass(frozen=True)
class Place:
    """Address of a row of Dst in one access."""

    row: int
    dst32: bool
    fp16: bool

    def fields(self) -> dict:
        return {"row": self.row, "dst32": self.dst32, "fp16": self.fp16}

    @property
    def rows16(self) -> tuple[int, ...]:
        """Return the 16-bit rows that hold it; 32-bit rows from 512 on are rows from 256 on."""
        return dst32_rows(self.row & 0x1FF | self.row >> 1 & 0x100) if self.dst32 else (self.row,)

    @property
    def block(self) -> tuple["Place", ...]:
        """Return the eight rows of its block."""
        first = self.row - self.row % BLOCK_ROWS
        return tuple(Place(first + k, self.dst32, self.fp16) for k in range(BLOCK_ROWS))


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An instruction; formats default to those of `style`, and a released bank is left for the other one."""

    opcode: Opcode
    style: Style = Style.BF16
    dst32: bool = False
    phase: int = 0
    formats: tuple[Format, Format] | None = None
    src_a_row: int = 0
    src_b_row: int = 0
    dst_row: int = 0
    broadcast_row: bool = False
    broadcast_column: bool = False
    keep_src_b_denormals: bool = False
    accumulate: bool = False
    argmax: bool = False
    zeroed: Zeroed = Zeroed.SIXTEEN
    release_a: bool = False
    release_b: bool = False
    flip_a: bool | None = None
    flip_b: bool | None = None

    def flips(self, side: str) -> bool:
        """Return True if it goes on to the other bank of a side; by default it does when it releases one."""
        flip = getattr(self, f"flip_{side}")
        return getattr(self, f"release_{side}") if flip is None else flip

    def __str__(self) -> str:
        given = {
            each.name: getattr(self, each.name) for each in fields(self) if getattr(self, each.name) != each.default
        }
        names = {name: getattr(value, "name", value) for name, value in given.items() if name != "formats"}
        formats = f", formats {' and '.join(each.name for each in self.formats)}" if self.formats else ""
        return ", ".join(f"{name} {value}" for name, value in names.items()) + formats

    def fields(self, junk: Random) -> dict:
        """Return its payload; fields that the opcode ignores are random."""
        own = STYLE_OWN_FORMAT[self.style]
        fmt_a, fmt_b = self.formats or (own, own)
        fields = {name: junk.getrandbits(1) for name in (*BROADCASTS, "accumulate", "argmax")}
        fields["zeroed"] = self.zeroed if self.opcode is Opcode.ZEROACC else junk.choice(list(Zeroed))
        if self.opcode is Opcode.ZEROACC:
            fields |= {name: junk.getrandbits(1) for name in ("release_a", "release_b", "flip_a", "flip_b")}
            fields |= {"style": junk.choice(list(StyleCode)), "phase": junk.getrandbits(2)}
            fields |= {"src_a_row": junk.getrandbits(6), "src_b_row": junk.getrandbits(6)}
        else:
            fields |= {"style": StyleCode.of(self.style), "phase": self.phase}
            fields |= {"src_a_row": self.src_a_row, "src_b_row": self.src_b_row}
            fields |= {"release_a": self.release_a, "release_b": self.release_b}
            fields |= {"flip_a": self.flips("a"), "flip_b": self.flips("b")}
        if self.opcode is Opcode.MVMUL:
            fields["broadcast_row"] = self.broadcast_row
        if self.opcode in ELEMENT_WISE:
            fields |= {name: getattr(self, name) for name in BROADCASTS}
        if self.opcode in ADDING:
            fields["accumulate"] = self.accumulate
        if self.opcode is Opcode.GMPOOL:
            fields |= {"argmax": self.argmax, "phase": junk.getrandbits(2)}
        return fields | {
            "opcode": self.opcode,
            "dst32": self.dst32,
            "dst_row": self.dst_row,
            "src_a_format": int(fmt_a),
            "src_b_format": int(fmt_b),
        }

    @property
    def place(self) -> Place:
        return Place(self.dst_row, self.dst32, self.style is Style.FP16)

    @property
    def rows16(self) -> frozenset[int]:
        """Return the 16-bit rows of the block that it reads and writes, or makes undefined."""
        if self.opcode is not Opcode.ZEROACC:
            return frozenset(row for place in self.place.block for row in place.rows16)
        rows = ZEROED_ROWS[self.zeroed]
        first = self.dst_row - self.dst_row % rows
        return frozenset(Place(first + k, self.dst32, False).rows16[0] for k in range(rows))


class Machine:
    """The registers, with the full history of Dst: rows can be read as of any number of accepted operations."""

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        self.instructions = self.writes = 0
        self._banks = {side: [np.zeros((SRC_ROWS, COLUMNS), np.uint32)] * 2 for side in "ab"}
        self.sources = {side: Banks() for side in "ab"}
        # Every computing instruction by its number, with both banks and the block before it.
        self._executed: dict[int, tuple[Operation, np.ndarray, np.ndarray, np.ndarray]] = {}
        # Histories of every 16-bit row: number of instructions or of writes, and contents in the register's bit order or flag.
        self._past = [[("instruction", 0, np.zeros(COLUMNS, np.uint32))] for _ in range(DST16_ROWS)]
        self._flags = [[("instruction", 0, False)] for _ in range(DST16_ROWS)]

    def fill(self, side: str, rows: dict[int, np.ndarray]) -> None:
        """Fill the unpacker's next bank; rows that are not written keep their contents from two banks ago."""
        bank = self._banks[side][-2].copy()
        for row, values in rows.items():
            bank[row] = values
        self._banks[side].append(bank)

    def write(self, place: Place, values: np.ndarray) -> None:
        self.writes += 1
        self._store(place, values, "write", self.writes)

    def execute(self, operation: Operation) -> None:
        self.instructions += 1
        if operation.opcode is Opcode.ZEROACC:
            for row in operation.rows16:
                self._flags[row].append(("instruction", self.instructions, False))
            return
        block = operation.place.block
        before = np.stack([self.now(place) for place in block])
        if operation.opcode is Opcode.GMPOOL:
            before[[self.undefined(place) for place in block]] = (1 << 32 if operation.dst32 else 1 << 16) - 1
        self._executed[self.instructions] = operation, self.source_bank("a"), self.source_bank("b"), before
        after = self._compute(operation, before)
        for row in self._written(operation):
            self._store(block[row], after[row], "instruction", self.instructions)
        for side in "ab":
            self.sources[side].move(getattr(operation, f"release_{side}"), operation.flips(side))

    def source_bank(self, side: str) -> np.ndarray:
        """Return the bank that the next instruction reads, uint32 [64, 16]."""
        return self._banks[side][2 + self.sources[side].fill]

    def undefined(self, place: Place) -> bool:
        """Return whether a row is undefined; of a 32-bit row the upper half decides."""
        return not self._flags[place.rows16[0]][-1][2]

    def now(self, place: Place) -> np.ndarray:
        """Return a row after all operations, uint32 [16] of logical words."""
        return self.seen(place, self.instructions, self.writes)

    def seen(self, place: Place, instructions: int, writes: int) -> np.ndarray:
        """Return a row after a given number of instructions and outside writes."""
        accepted = {"instruction": instructions, "write": writes}
        if not _last(self._flags[place.rows16[0]], accepted)[2]:
            return np.zeros(COLUMNS, np.uint32)
        halves = [_last(self._past[row], accepted)[2] for row in place.rows16]
        if place.dst32:
            return tensix.from_physical(halves[0] << HALF_BITS | halves[1], DST32)
        return tensix.from_physical(halves[0], DST16_FP16 if place.fp16 else DST16_BF16)

    def shown(self, place: Place, instructions: int, writes: int, column: str) -> Shown:
        """Return who wrote a column of a row last, as of these numbers of operations, and the operands of an MVMUL."""
        accepted, column = {"instruction": instructions, "write": writes}, int(column or 0)
        row = place.rows16[0]
        kind, count, defined = _last(self._flags[row], accepted)
        if defined:
            kind, count, _ = _last(self._past[row], accepted)
        operation, bank_a, bank_b, before = self._executed.get(count if kind == "instruction" else 0, (None,) * 4)
        style = Style.FP16 if place.fp16 else Style.BF16 if operation is None else operation.style
        numbers = {"": dst_number(style, dst32=place.dst32)}
        where = {"place": f"row {place.row} of Dst{32 if place.dst32 else 16}, column {column}"}
        if operation is None:
            return Shown(operands=where | {"written by": f"{kind} {count}"}, formats=numbers)
        where["written by"] = f"instruction {count}, {operation}"
        row = place.row - operation.place.block[0].row
        own = operation.opcode is Opcode.MVMUL and not operation.broadcast_row and operation.dst32 == place.dst32
        if not own or not 0 <= row < BLOCK_ROWS:
            return Shown(operands=where, formats=numbers)
        mask = ~NOT_FP16 if operation.style is Style.FP16 else -1
        b = bank_b[operation.src_b_row + row].astype(np.int64) & mask
        a = bank_a[operation.src_a_row : operation.src_a_row + 2 * BLOCK_ROWS, column].astype(np.int64) & mask
        formats = operation.formats or (STYLE_OWN_FORMAT[operation.style],) * 2
        words = int(before[row, column]), b.tolist(), a.tolist()
        found = datum_shown(
            self.numerics, operation.style, operation.phase, *words, dst32=operation.dst32, formats=formats
        )
        return replace(found, operands=where | dict(found.operands))

    def _store(self, place: Place, values: np.ndarray, kind: str, count: int) -> None:
        if place.dst32:
            words = tensix.to_physical(values, DST32)
            halves = (words >> HALF_BITS, words & (1 << HALF_BITS) - 1)
        else:
            halves = (tensix.to_physical(values, DST16_FP16 if place.fp16 else DST16_BF16),)
        for row, half in zip(place.rows16, halves, strict=True):
            self._past[row].append((kind, count, half))
        self._flags[place.rows16[0]].append((kind, count, True))

    def _written(self, operation: Operation) -> range:
        """Return the rows of its block that an instruction writes."""
        base = operation.dst_row % BLOCK_ROWS
        if operation.opcode in POOLING:
            return range(base, base + POOL_ROWS)
        if operation.opcode is Opcode.MVMUL and operation.broadcast_row:
            return range(base, base + BLOCK_ROWS - 1, 1 if self.numerics.row_broadcast_writes_all else 2)
        return range(BLOCK_ROWS)

    def _source(self, side: str, row: int, rows: int, style: Style) -> np.ndarray:
        words = self.source_bank(side)[row : row + rows]
        return words & np.uint32(~NOT_FP16 & 0xFFFFFFFF) if style is Style.FP16 else words

    def _compute(self, operation: Operation, dst: np.ndarray) -> np.ndarray:
        """Return the block after an instruction, uint32 [8, 16]."""
        opcode, style = operation.opcode, operation.style
        src_a_rows = BLOCK_ROWS if opcode in ELEMENT_WISE else 2 * BLOCK_ROWS
        a = self._source("a", operation.src_a_row, src_a_rows, style)
        alone = opcode is Opcode.MVMUL and operation.broadcast_row
        in_block = operation.src_b_row % BLOCK_ROWS
        b_row, b_rows = (operation.src_b_row, 1) if alone else (operation.src_b_row - in_block, BLOCK_ROWS)
        b = self._source("b", b_row, b_rows, style)
        common = {"style": style, "dst32": operation.dst32, "numerics": self.numerics}
        phase = {"phase": operation.phase}
        formats = {}
        if operation.formats is not None:
            formats = dict(zip(("srca_format", "srcb_format"), operation.formats, strict=True))
        match opcode:
            case Opcode.MVMUL if operation.broadcast_row:
                # It writes seven rows from its own on; the eighth wraps around in the block.
                base = operation.dst_row % BLOCK_ROWS
                turned = np.roll(dst, -base, axis=0)
                return np.roll(tensix.mvmul_row(turned, b, a, **common, **phase, **formats), base, axis=0)
            case Opcode.MVMUL:
                return tensix.mvmul(dst, b, a, **common, **phase, **formats)
            case Opcode.DOTPV:
                return tensix.dotpv(dst, b, a, **common, **phase, **formats)
            case Opcode.GAPOOL:
                base = operation.dst_row % BLOCK_ROWS
                turned = np.roll(dst, -base, axis=0)
                return np.roll(tensix.gapool(turned, b, a, **common, **phase, **formats), base, axis=0)
            case Opcode.GMPOOL:
                base = operation.dst_row % BLOCK_ROWS
                turned = np.roll(dst, -base, axis=0)
                return np.roll(tensix.gmpool(turned, b, a, argmax=operation.argmax, **common), base, axis=0)
        row = in_block if operation.broadcast_row else None
        b = tensix.broadcast_src_b(b, row=row, column_0=operation.broadcast_column)
        keeps = {"keep_src_b_denormals": operation.keep_src_b_denormals}
        if opcode is Opcode.ELWMUL:
            return tensix.elwmul(dst, b, a, **common, **phase, **formats, **keeps)
        add = tensix.elwadd if opcode is Opcode.ELWADD else tensix.elwsub
        return add(dst, b, a, accumulate=operation.accumulate, **common, **formats, **keeps)


def _last(history: list[tuple[str, int, Any]], accepted: dict[str, int]) -> tuple[str, int, Any]:
    """Return the last entry of a row's history among the accepted operations."""
    return next(each for each in reversed(history) if each[1] <= accepted[each[0]])


def issue_cycles(operations: list[Operation], *, passes: int, latency: int) -> list[int]:
    """Return the issue cycle of each instruction relative to the first, if only hazards of Dst stall it.

    Parameters
    ----------
    passes : cycles for which an instruction occupies the unit; ZEROACC occupies it for one, in which none lands if it has one row.
    latency : cycles from an instruction's last pass to the first in which its block may be read.
    """
    on_way: list[tuple[int, frozenset[int]]] = []
    landings: set[int] = set()
    cycles, after = [], 0
    for each in operations:
        begins = max([after, *(readable for readable, rows in on_way if rows & each.rows16)])
        if each.opcode is Opcode.ZEROACC:
            while each.zeroed is Zeroed.ROW and begins in landings:
                begins += 1
            ends = begins
        else:
            ends = begins + passes - 1
            on_way.append((ends + latency, each.rows16))
            landings |= {cycle + latency - 1 for cycle in range(begins, ends + 1)}
        on_way = [flight for flight in on_way if flight[0] > ends]
        cycles.append(ends)
        after = ends + 1
    return [cycle - cycles[0] for cycle in cycles]


def pair_places(pair: int) -> list[Place]:
    """Return every row of a pair of blocks, as 32 bits and as 16 bits in both orders."""
    return [
        *(Place(pair * BLOCK_ROWS + k, True, False) for k in range(BLOCK_ROWS)),
        *(Place(pair * 2 * BLOCK_ROWS + k, False, fp16) for k in range(2 * BLOCK_ROWS) for fp16 in (False, True)),
    ]


PAIRS = DST32_ROWS // BLOCK_ROWS
"""Number of pairs of 16-bit blocks; each pair is one block of 32 bits."""
