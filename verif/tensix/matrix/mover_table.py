"""Registers around the mover: they answer its addresses, take what it writes, and are compared with golden's."""

from copy import deepcopy
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST32, SRC, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.matrix.mover import BankChange, Move
from bitpath.rtl.tensix.matrix.registers import FILL, DstAddress, SrcPointers
from bitpath.verif.kit.packing import pack, unpack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.matrix.moving import Registers, apply, layout_of

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
        """Take other registers."""
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
        words = registers.dst.read(address.row & ~(BLOCK_ROWS - 1), BLOCK_ROWS, layout)
        dut.dst.value = row_bits(words, DST32.width)
        await Timer(1, unit="ns")

    def _store(self) -> None:
        """Write what the mover writes in this cycle."""
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
