"""The port of L1 that both unpackers share: 64 bytes a cycle, to the load whose product comes first.

Ref: tt-isa-documentation 3930471, L1 and UNPACR_Regular. The order is chosen: the documents state shares of the port, which
depend on both unpackers.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

NEED_BITS = 6
"""Width of a product's number, by which loads are ordered; at most 31 products are in the queues."""

LoadPort = wiring.Signature(
    {
        "need": Out(NEED_BITS),
        "waits": Out(1),
        "begins": In(1),
        "addresses": Out(1),
        "asks": Out(1),
        "granted": In(1),
    }
)
"""A loader's side of the port.

- ``need`` is the number of the product that needs the load.
- A load that ``waits`` has its first address cycle when it ``begins``, and ``addresses`` in its second one.
- Then it ``asks`` for a word in every cycle in which it can take one, and gets it when it is ``granted``.
"""


class L1Port(wiring.Component):
    """Grants one word of 64 bytes a cycle, and one load's two address cycles at a time; combinational: latency 0.

    Of two loads the one with the smaller ``need`` comes first, the left one if they are equal. Its words interrupt the other's,
    and the other's address cycles pass beside them.

    Members
    -------
    left, right : In(LoadPort)
    """

    clocked = False
    left: In(LoadPort)
    right: In(LoadPort)

    def elaborate(self, platform):
        m = Module()
        left, right = self.left, self.right
        distance = Signal(NEED_BITS)
        right_first = Signal()
        addressed = left.addresses | right.addresses
        m.d.comb += [
            distance.eq(right.need - left.need),
            right_first.eq(distance[-1]),
            left.begins.eq(left.waits & ~addressed & ~(right.waits & right_first)),
            right.begins.eq(right.waits & ~addressed & ~(left.waits & ~right_first)),
            left.granted.eq(left.asks & ~(right.asks & right_first)),
            right.granted.eq(right.asks & ~(left.asks & ~right_first)),
        ]
        return m
