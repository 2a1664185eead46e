"""Ring buffer between a writer and a reader that are skewed in time."""

from amaranth import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


class Ring(wiring.Component):
    """``o`` is the word last written at ``read``, one cycle later; a write in the same cycle is included.

    A word is stored in every cycle. While ``advance`` is 0, the word at ``write`` may be stored again or replaced.

    Parameters
    ----------
    width, depth : bits of a word, and number of words.

    Members
    -------
    advance : In(1), without it ``o`` holds, and ``write`` must hold too
    i : In(width), stored at ``write``
    write, read : In(ceil_log2(depth))
    o : Out(width)
    """

    def __init__(self, width: int, depth: int):
        self.width, self.depth = width, depth
        address = ceil_log2(depth)
        super().__init__({"advance": In(1), "i": In(width), "write": In(address), "read": In(address), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.cells = cells = memory.Memory(shape=self.width, depth=self.depth, init=[])
        write = cells.write_port()
        read = cells.read_port(transparent_for=(write,))
        m.d.comb += [
            write.addr.eq(self.write),
            write.data.eq(self.i),
            write.en.eq(1),
            read.addr.eq(self.read),
            read.en.eq(self.advance),
            self.o.eq(read.data),
        ]
        return m
