"""Model of the mover: random moves, and what golden makes of the registers."""

from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from bitpath.golden.tensix.core.state import DstRegister
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST32,
    SRC,
    SRC_ROWS,
    Format,
    WordLayout,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matrix.moves import SHORT_FORMATS, mova2d, movb2a, movb2d, movd2a, trnspsrcb
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.matrix.mover import BankChange, Move, MoveKind
from bitpath.rtl.tensix.matrix.registers import BANKS, FILL, DstAddress, SrcPointers
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.kit.streams import resolved

TO_DST, FROM_DST = (MoveKind.MOVA2D, MoveKind.MOVB2D), (MoveKind.MOVD2A, MoveKind.MOVD2B)
WIDTHS = ("16 bits", "32 bits", "low half")
MOVED_DST_ROWS = 256
TURNED = slice(16, 32)


def layout_of(fmt: Format, dst32: bool) -> WordLayout:
    """Return the layout of Dst's words of a format."""
    return DST32 if dst32 else DST16_FP16 if fmt in SHORT_FORMATS else DST16_BF16


@dataclass
class Registers:
    """SrcA and SrcB, uint32 [2, 64, 16] each, their pointers (unpacker's bank, Matrix unit's bank), and Dst."""

    sources: list[np.ndarray]
    pointers: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0), (0, 0)])
    dst: DstRegister = field(default_factory=DstRegister)

    @classmethod
    def random(cls, rng: Random) -> "Registers":
        """Return registers of random words; many have the exponent 0; some Dst rows are undefined."""
        source = np.random.default_rng(rng.getrandbits(32))
        words = source.integers(0, 1 << SRC.width, (2, BANKS, SRC_ROWS, COLUMNS), np.uint32)
        words &= np.where(source.random(words.shape) < 0.3, np.uint32(~(0xFF << 10) & 0x7FFFF), np.uint32(0x7FFFF))
        found = cls([words[0], words[1]], [(rng.getrandbits(1), rng.getrandbits(1)) for _ in range(2)])
        found.dst.bits[:] = source.integers(0, 1 << 16, found.dst.bits.shape, np.uint16)
        found.dst.defined[:] = source.random(len(found.dst.defined)) < 0.9
        return found

    def read(self, side: int) -> np.ndarray:
        """Return the Matrix unit's bank of a source."""
        return self.sources[side][self.pointers[side][1]]


def random_move(rng: Random, kind: MoveKind, fmt: Format, width: str) -> dict[str, Any]:
    """Return the fields of a move; those that the kind ignores are random."""
    to_dst, from_dst = kind in TO_DST, kind in FROM_DST
    wide = width == WIDTHS[1] or fmt is Format.TF32
    low_half = width == WIDTHS[2] and fmt is not Format.TF32
    log2 = rng.choice((0, 2, 3) if kind is MoveKind.MOVB2D else (0, 3) if to_dst else (0, 2))
    spread = kind is MoveKind.MOVB2D and log2 == 3
    aligned = ~((1 << log2) - 1)
    control = {
        "dst_format": fmt,
        "own_format": rng.choice([*Format]),
        "masks": kind in (MoveKind.MOVB2D, MoveKind.MOVB2A),
        "keeps": rng.getrandbits(1),
        "wide": to_dst and wide and not low_half,
        "low_half": low_half if to_dst or from_dst else rng.getrandbits(1),
    }
    return {
        "kind": kind,
        "control": control,
        "rows_log2": log2,
        "spread": int(spread),
        "column_0": rng.getrandbits(1) if kind is MoveKind.MOVB2D else 0,
        "dst32": int(wide or low_half) if from_dst else rng.getrandbits(1),
        "src_row": rng.getrandbits(6) & (-1 if spread else aligned),
        "src_a_row": rng.getrandbits(6) & aligned,
        "dst_row": rng.randrange(MOVED_DST_ROWS) & aligned,
        "clears": rng.getrandbits(2),
        "ones": rng.getrandbits(1),
        "matrix_bank": rng.getrandbits(1),
        "both_banks": rng.getrandbits(1),
        "change": {name: rng.getrandbits(2) for name in ("hand_over", "release", "flip")}
        | {"reset": rng.getrandbits(1)},
    }


def apply(registers: Registers, move: dict[str, Any], numerics: TensixNumerics) -> None:
    """Change the registers as golden does."""
    kind, control, count = move["kind"], move["control"], 1 << move["rows_log2"]
    fmt, own, keeps = control["dst_format"], control["own_format"], bool(control["keeps"])
    source, dst = move["src_row"], move["dst_row"]
    if kind is MoveKind.BANKS:
        _clear(registers, move)
    elif kind is MoveKind.TRNSPSRCB:
        rows = registers.read(1)[TURNED]
        rows[:] = trnspsrcb(rows)
    elif kind is MoveKind.MOVB2A:
        taken = registers.read(1)[source : source + count]
        first = move["src_a_row"]
        registers.read(0)[first : first + count] = movb2a(
            taken, srcb_format=own, keep_denormals=keeps, numerics=numerics
        )
    elif kind in FROM_DST:
        dst32, low_half = bool(move["dst32"]), bool(control["low_half"])
        words = registers.dst.read(dst, count, layout_of(fmt, dst32))
        side = FROM_DST.index(kind)
        registers.read(side)[source : source + count] = movd2a(words, srca_format=fmt, dst32=dst32, low_half=low_half)
    else:
        _to_dst(registers, move, numerics)


def _to_dst(registers: Registers, move: dict[str, Any], numerics: TensixNumerics) -> None:
    control, count, source = move["control"], 1 << move["rows_log2"], move["src_row"]
    fmt, low_half = control["dst_format"], bool(control["low_half"])
    # The move's field tells whether words have 32 bits, so that Fp32_enabled may follow from it.
    layout = layout_of(fmt, bool(control["wide"] or low_half))
    stale = low_half and numerics.low_half_shows_stale
    old = registers.dst.read(move["dst_row"], count, layout, stale=stale)
    options = {"fp32_enabled": bool(control["wide"]), "low_half": low_half, "keep_denormals": bool(control["keeps"])}
    if move["kind"] is MoveKind.MOVA2D:
        taken = registers.read(0)[source : source + count]
        new = mova2d(old, taken, srca_format=fmt, numerics=numerics, **options)
    else:
        taken = registers.read(1)[source : source + (1 if move["spread"] else count)]
        own = control["own_format"]
        column_0 = bool(move["column_0"])
        new = movb2d(old, taken, srca_format=fmt, srcb_format=own, column_0=column_0, numerics=numerics, **options)
    registers.dst.write(move["dst_row"], new, layout)


def _clear(registers: Registers, move: dict[str, Any]) -> None:
    for side, (written, read) in enumerate(registers.pointers):
        if move["clears"] >> side & 1:
            banks = range(BANKS) if move["both_banks"] else [read if move["matrix_bank"] else written]
            for bank in banks:
                registers.sources[side][bank] = 0x7FFFF if move["ones"] and side == 0 else 0


# Registers around the mover: they answer its addresses, take its writes, and are compared with golden's.


SIDES = ("a", "b")


def row_bits(words: np.ndarray, width: int) -> int:
    """Return words, the first in the lowest bits."""
    return sum(int(word) << width * place for place, word in enumerate(words.reshape(-1)))


class MoverTable:
    """Registers around the mover, which it writes, and golden's beside them."""

    def __init__(self, frame, registers: Registers, numerics: TensixNumerics):
        self.dut = frame.dut
        self.registers, self._numerics = registers, numerics
        self._rows = frame.scoreboard("rows", DstRow, output="dst_values")
        self._changes = frame.scoreboard("change", BankChange, output="change")

    def renew(self, registers: Registers) -> None:
        self.registers = registers

    async def play(
        self,
        move: dict[str, Any],
        rng: Random,
        free: float = 1.0,
        cycles: int | None = None,
        expected: Registers | None = None,
    ) -> int:
        """Play a move, or some of its cycles; compare all registers after it, and return its cycles.

        ``free`` is the probability that a register may be written in a cycle; ``expected`` are golden's registers unless given.
        """
        dut = self.dut
        if expected is None:
            expected = deepcopy(self.registers)
            apply(expected, move, self._numerics)
        dut.move__payload.value, dut.move__valid.value = pack(Move, move), 1
        for side, (written, read) in zip(SIDES, self.registers.pointers, strict=True):
            getattr(dut, f"pointers_{side}").value = pack(SrcPointers, {"written": written, "read": read})
        taken, count = False, 0
        while not taken and count != cycles:
            settled = rng.random() < free
            dut.settled.value, dut.dst_ready.value = settled, settled and rng.random() < free
            for side in SIDES:
                getattr(dut, f"fill_{side}__ready").value = rng.random() < free
            await FallingEdge(dut.clk)
            await self._show()
            self._store()
            taken, count = bool(resolved(dut.move__ready)), count + 1
            change = resolved(dut.change)
            self._changes.expect(pack(BankChange, move["change"]) if taken else 0, str(move))
            self._changes.got(change)
            await RisingEdge(dut.clk)
        dut.move__valid.value = 0
        if taken:
            self._compare(expected, move)
        return count

    async def _show(self) -> None:
        """Answer the addresses of this cycle."""
        dut, registers = self.dut, self.registers
        block_a, block_b = resolved(dut.block_a), resolved(dut.block_b)
        dut.src_a.value = row_bits(registers.read(0)[BLOCK_ROWS * block_a :][: 2 * BLOCK_ROWS], SRC.width)
        dut.src_b.value = row_bits(registers.read(1)[BLOCK_ROWS * block_b :][:BLOCK_ROWS], SRC.width)
        address = unpack(DstAddress, resolved(dut.address))
        layout = layout_of(Format.FP16 if address.fp16 else Format.BF16, bool(address.dst32))
        stale = bool(resolved(dut.stale))
        words = registers.dst.read(address.row & ~(BLOCK_ROWS - 1), BLOCK_ROWS, layout, stale=stale)
        dut.dst.value = row_bits(words, DST32.width)
        await Timer(1, unit="ns")

    def _store(self) -> None:
        """Apply the mover's writes of this cycle."""
        dut, registers = self.dut, self.registers
        enables = resolved(dut.dst_rows)
        if enables:
            address = unpack(DstAddress, resolved(dut.address))
            layout = layout_of(Format.FP16 if address.fp16 else Format.BF16, bool(address.dst32))
            values = resolved(dut.dst_values)
            for row in range(BLOCK_ROWS):
                if enables >> row & 1:
                    bits = values >> row * DstRow.size
                    words = np.array([[bits >> DST32.width * k & 0xFFFFFFFF for k in range(COLUMNS)]], np.uint32)
                    registers.dst.write((address.row & ~(BLOCK_ROWS - 1)) + row, words, layout)
        for side, own in enumerate(SIDES):
            if resolved(getattr(dut, f"fill_{own}__valid")) and resolved(getattr(dut, f"fill_{own}__ready")):
                fill = unpack(FILL, resolved(getattr(dut, f"fill_{own}__payload")))
                bank = registers.sources[side][fill.bank]
                for row in range(BLOCK_ROWS):
                    if fill.rows >> row & 1:
                        bank[BLOCK_ROWS * fill.block + row] = [fill.values[row][k] for k in range(COLUMNS)]

    def _compare(self, expected: Registers, move) -> None:
        """Compare the rows that golden changed, and that no other was."""
        mine = [*self.registers.sources, self.registers.dst.bits, self.registers.dst.defined[:, np.newaxis]]
        right = [*expected.sources, expected.dst.bits, expected.dst.defined[:, np.newaxis]]
        for number, (got, want) in enumerate(zip(mine, right, strict=True)):
            differing = (got != want).any(axis=-1)
            for place in zip(*np.nonzero(differing), strict=True):
                self._rows.expect(row_bits(want[place], 32), f"register {number}, row {place}, {move}")
                self._rows.got(row_bits(got[place], 32))
        row = move["dst_row"]
        self._rows.expect(row_bits(expected.dst.bits[row], 32))
        self._rows.got(row_bits(self.registers.dst.bits[row], 32))
        self.registers = expected
