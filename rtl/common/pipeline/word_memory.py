"""Memory of wide words, as equal memories of narrow ones side by side."""

from collections.abc import Mapping
from math import gcd
from typing import Any

from amaranth import Format, Module, Value
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.pipeline.repeat import repeat

# Arrays that are one word in Verilog and in waves if they are long.


NAMED_ELEMENTS = 16
"""Longest array whose elements are separate wires, which a wave shows in their number format."""


class _Unnamed(data.ArrayLayout):
    """An array without named elements in Verilog, where 128 by 128 names would outweigh the logic."""

    def format(self, value: Any, format_spec: str) -> Format:
        return Format("{}", Value.cast(value))


def wide_array(shape: Any, length: int) -> data.ArrayLayout:
    """Return ``ArrayLayout(shape, length)`` whose elements have names in Verilog up to NAMED_ELEMENTS."""
    return (data.ArrayLayout if length <= NAMED_ELEMENTS else _Unnamed)(shape, length)


SLICE_BITS = 64
"""Largest width of one memory. Verilog states the initial value of every bit, which for one wide memory is most of an engine's text and
of the time to emit it."""


def word_memory(m: Module, platform: Any, name: str, values: Mapping[str, Any], depth: int) -> None:
    """Add a memory of ``depth`` words with the members of :class:`MemorySlice` on ``values``, its words as wide as the data.

    An enable of several bits has one for each equal part of a word.
    """
    words = {key: Value.cast(value) for key, value in values.items()}
    bits, enables = len(words["write_data"]), len(words["write_enable"])
    width = gcd(bits, SLICE_BITS)
    spread = ("write_data", "read_data", *(("write_enable",) if enables > 1 else ()))
    parts = max(1, enables * width // bits)
    repeat(m, platform, name, words, MemorySlice, (width, depth, parts), bits // width, spread=spread)


class MemorySlice(wiring.Component):
    """A memory with one write port and one read port; ``read_data`` is the word at ``read_address`` a cycle before.

    Without ``read_enable`` it holds its word. A word that is written in the cycle of its request is read as it was before.

    Parameters
    ----------
    width, depth : bits of a word, and number of words.
    parts : parts of a word with a write enable each.

    Members
    -------
    write_address : In, write_data : In(width), write_enable : In(parts)
    read_address : In, read_enable : In(1), read_data : Out(width)
    """

    def __init__(self, width: int, depth: int, parts: int = 1):
        self.width, self.depth, self.parts = width, depth, parts
        super().__init__(self.ports(width, depth, parts))

    @staticmethod
    def ports(width: int, depth: int, parts: int = 1) -> dict[str, wiring.Member]:
        """Return the members of one memory."""
        address = In(ceil_log2(depth))
        write = {"write_address": address, "write_data": In(width), "write_enable": In(parts)}
        return write | {"read_address": address, "read_enable": In(1), "read_data": Out(width)}

    def elaborate(self, platform):
        m = Module()
        m.submodules.cells = cells = memory.Memory(shape=self.width, depth=self.depth, init=[])
        write, read = cells.write_port(granularity=self.width // self.parts), cells.read_port()
        m.d.comb += [
            write.addr.eq(self.write_address),
            write.data.eq(self.write_data),
            write.en.eq(self.write_enable),
            read.addr.eq(self.read_address),
            read.en.eq(self.read_enable),
            self.read_data.eq(read.data),
        ]
        return m
