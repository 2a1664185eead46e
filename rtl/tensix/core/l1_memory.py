"""L1 of a core: memories of 16 bytes side by side, so that 64 bytes from any multiple of 16 on are read or written in a cycle.

::

    address     4 n       4 n + 1   4 n + 2   4 n + 3        in units of 16 bytes
    memory      0         1         2         3

Ref: tt-isa-documentation 3930471, L1.
"""

from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.pipeline.word_memory import word_memory
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS

LINE_BITS = 128
"""Bits of the 16 bytes that an address counts."""
LINE_BYTES = LINE_BITS // 8
LINES = ROW_BITS // LINE_BITS


def line_address_bits(words: int) -> int:
    """Return the bits of an address in units of 16 bytes, in an L1 of `words` 64-byte words."""
    return ceil_log2(words) + ceil_log2(LINES)


class L1Memory(wiring.Component):
    """Three read ports and a write port of 64 bytes; a read word is there a cycle after its address.

    A read returns the word from before a write of the same cycle. An access that passes the end goes on at address 0.

    Parameters
    ----------
    words : 64-byte words; a power of two.

    Members
    -------
    unpack_address, exponent_address, other_address : In, addresses in units of 16 bytes
    unpack_data, exponent_data, other_data : Out(512)
    write_address : In, write_data : In(512), write_bytes : In(64), an enable for each byte
    """

    def __init__(self, words: int):
        self.words = words
        address = In(line_address_bits(words))
        super().__init__(
            {
                "unpack_address": address,
                "unpack_data": Out(ROW_BITS),
                "exponent_address": address,
                "exponent_data": Out(ROW_BITS),
                "other_address": address,
                "other_data": Out(ROW_BITS),
                "write_address": address,
                "write_data": In(ROW_BITS),
                "write_bytes": In(ROW_BITS // 8),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for name, asked, found in (
            ("unpack", self.unpack_address, self.unpack_data),
            ("exponent", self.exponent_address, self.exponent_data),
            ("other", self.other_address, self.other_data),
        ):
            self._copy(m, platform, name, asked, found)
        return m

    def _copy(self, m: Module, platform: Any, name: str, asked: Value, found: Value) -> None:
        """Add a copy of the memory for one read port."""
        written = self.write_address
        enables, lines = self.write_bytes, self.write_data
        read = []
        for number in range(LINES):
            # The line of an access that is in this memory, and its row there.
            lane = Signal(range(LINES), name=f"{name}_lane_{number}")
            values = {
                "write_address": Signal(ceil_log2(self.words), name=f"{name}_write_address_{number}"),
                "write_data": Signal(LINE_BITS, name=f"{name}_write_data_{number}"),
                "write_enable": Signal(LINE_BYTES, name=f"{name}_write_enable_{number}"),
                "read_address": Signal(ceil_log2(self.words), name=f"{name}_read_address_{number}"),
                "read_enable": 1,
                "read_data": Signal(LINE_BITS, name=f"{name}_read_data_{number}"),
            }
            m.d.comb += [
                lane.eq(number - written[:2]),
                values["write_address"].eq((written + lane)[2:]),
                values["write_data"].eq(lines.word_select(lane, LINE_BITS)),
                values["write_enable"].eq(enables.word_select(lane, LINE_BYTES)),
                values["read_address"].eq((asked + (LINES - 1 - number))[2:]),
            ]
            word_memory(m, platform, f"{name}_{number}", values, self.words)
            read.append(values["read_data"])
        turned = Signal(range(LINES), name=f"{name}_turned")
        m.d.sync += turned.eq(asked[:2])
        all_read = data.View(data.ArrayLayout(LINE_BITS, LINES), Cat(read))
        m.d.comb += found.eq(Cat(all_read[(turned + lane)[:2]] for lane in range(LINES)))
