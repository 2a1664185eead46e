"""Formal property of the cascade link: the count of words in flight."""

from amaranth import Signal

from bitpath.rtl.aie_ml_v2.cascade.cascade import CascadeLink, CascadeLinkConfig
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Engine, Properties
from bitpath.verif.formal.specification import stays

PROPERTIES = Properties("aie_ml_v2/cascade")


@PROPERTIES.of(
    "cascade_link",
    "cascade_link",
    "as many words are under way as came and have not left, four at most; the one offered stays until taken",
    (
        "wiring.connect(m, sender.r_stream, receiver.w_stream)",
        "m.d.comb += [receiver.w_stream.p.eq(sender.r_stream.p), receiver.w_stream.valid.eq(sender.r_stream.valid), sender.r_stream.ready.eq(1)]",
    ),
    engine=Engine.INDUCTION,
    depth=6,
)
def link(claim: Claim) -> None:
    """The FIFO levels equal the words in flight; an offered word stays until it is taken."""
    dut = claim.instantiate("dut", CascadeLink(CascadeLinkConfig()))
    under_way = Signal(4, name="under_way")
    arrives, leaves = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready
    claim.m.d.sync += under_way.eq(under_way + arrives - leaves)
    levels = []
    for name in ("dut.sender", "dut.receiver"):
        level, produce, consume = (claim.inside(name, signal) for signal in ("level", "produce", "consume"))
        claim.ensure(level <= 2, level[0] == (produce ^ consume))
        levels.append(level)
    claim.ensure(under_way == levels[0] + levels[1], dut.i.ready == (levels[0] != 2))
    stays(claim, dut.o)
