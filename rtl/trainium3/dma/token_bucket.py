"""Tokens of one traffic class of a DMA engine."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from bitpath.golden.trainium3.declarations.dma import MAX_BURST, MAX_DESCRIPTOR_BYTES, MAX_RATE, TOKENS_PER_BYTE

LENGTH_BITS = exact_log2(MAX_DESCRIPTOR_BYTES)
"""Bits of a descriptor's length, in which 0 stands for the largest."""
TOKEN_BITS = exact_log2(TOKENS_PER_BYTE)


class ClassSettings(data.Struct):
    """Limits of a class: without ``limited`` the others are ignored; rate in 1/256 byte a cycle, burst in bytes."""

    limited: 1
    rate: bits_for(MAX_RATE)
    burst: bits_for(MAX_BURST)


class TokenBucket(wiring.Component):
    """A bucket that holds ``burst * 256`` tokens at most, gains ``rate`` in every cycle and pays 256 for a byte::

        tokens = min(tokens - 256 * length + rate, 256 * burst)        open = tokens > 0

    The register holds the tokens that are missing, so that a reset fills the bucket. A descriptor may take more than there
    are; an unlimited class is full.

    Members
    -------
    settings : In(ClassSettings)
    take : In(1), a descriptor of the class is granted
    length : In(16), its bytes, 0 for 65,536
    open : Out(1), queues of the class may be served
    """

    settings: In(ClassSettings)
    take: In(1)
    length: In(LENGTH_BITS)
    open: Out(1)

    def elaborate(self, platform):
        m = Module()
        most = (MAX_BURST + MAX_DESCRIPTOR_BYTES) * TOKENS_PER_BYTE
        missing = Signal(range(most + 1))
        after = Signal(range(most + 1))
        price = Cat(Const(0, TOKEN_BITS), self.length, ~self.length.any())
        m.d.comb += [
            after.eq(missing + Mux(self.take, price, 0)),
            self.open.eq(~self.settings.limited | (missing < Cat(Const(0, TOKEN_BITS), self.settings.burst))),
        ]
        with m.If(self.settings.limited & (after > self.settings.rate)):
            m.d.sync += missing.eq(after - self.settings.rate)
        with m.Else():
            m.d.sync += missing.eq(0)
        return m
