"""A ring of words between a writer and a reader that see time shifted."""

from amaranth import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


class Ring(wiring.Component):
    """``o`` is, a cycle later, the word last written at ``read``, one written in the same cycle included.

    A word is stored in every cycle: what is at ``write`` while nothing advances is stored again, or replaced, when it does.

    Parameters
    ----------
    width, depth : of the words, and their number.

    Members
    -------
    advance : In(1), without it ``o`` holds, and ``write`` must
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
