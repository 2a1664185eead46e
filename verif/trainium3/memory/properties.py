"""Offers of the units that address memories stay until they are taken; the scale fetch equals its combinational form."""

from functools import partial

from bitpath.rtl.trainium3.memory.access_walker import AccessWalker, WalkConfig
from bitpath.rtl.trainium3.memory.dge import Dge, DgeConfig
from bitpath.rtl.trainium3.memory.indirect_offsets import IndirectConfig, IndirectOffsets
from bitpath.rtl.trainium3.memory.sbuf import SbufConfig, SbufDma
from bitpath.rtl.trainium3.memory.scale_fetch import ScaleFetch, ScaleFetchConfig
from bitpath.verif.formal.contracts import answer_property, offer_property, pipeline_property, stream_properties
from bitpath.verif.formal.property import Properties, Sabotage

WALK = WalkConfig(address_bits=6, step_bits=4, num_bits=3)
INDIRECT = IndirectConfig(offset_bits=3, count_bits=4)
DGE = DgeConfig(hbm_bits=4, partition_bits=3, step_bits=3, num_bits=2, cut_bits=2)
FETCH = partial(ScaleFetch, ScaleFetchConfig(quadrants=2))

PROPERTIES = Properties(
    "trainium3/memory",
    offer_property(
        "trainium3.access_walker",
        partial(AccessWalker, WALK),
        Sabotage(
            "trainium3/memory/access_walker.py",
            "with m.If(self.o.ready):\n            for level",
            "with m.If(1):\n            for level",
        ),
        whole=False,
    ),
    pipeline_property("trainium3.scale_fetch", FETCH, 1),
    *stream_properties("trainium3.scale_fetch", FETCH),
    offer_property(
        "trainium3.indirect_offsets",
        partial(IndirectOffsets, INDIRECT),
        Sabotage(
            "trainium3/memory/indirect_offsets.py", "taken.eq(self.o.valid & self.o.ready)", "taken.eq(self.o.valid)"
        ),
        whole=False,
    ),
    offer_property(
        "trainium3.dge",
        partial(Dge, DGE),
        Sabotage("trainium3/memory/dge.py", "leaves.eq(free & (", "leaves.eq((free | self.o.p.first) & ("),
        whole=False,
    ),
    answer_property(
        "trainium3.sbuf_dma",
        partial(SbufDma, SbufConfig(partitions=4)),
        "read",
        "data",
        Sabotage(
            "trainium3/memory/sbuf.py",
            "idle & answer.free),\n            answer.asked",
            "idle),\n            answer.asked",
        ),
    ),
)
