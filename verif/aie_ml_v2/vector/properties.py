"""Formal property of the vector MAC: a read request is answered in the next cycle."""

from functools import partial

from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac
from bitpath.verif.formal.contracts import answer_property
from bitpath.verif.formal.property import Sabotage

PROPERTIES = (
    answer_property(
        "aie_ml_v2.vector_mac",
        partial(VectorMac, VectorMacConfig(lanes=1, accumulators=2)),
        "read",
        "o",
        Sabotage("aie_ml_v2/vector/vector_mac.py", "self.read.ready.eq(free & clear)", "self.read.ready.eq(clear)"),
    ),
)
