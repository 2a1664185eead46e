"""Formal properties of the vector MAC: a read request is answered in the next cycle; the routes of a sparse group."""

from functools import partial, reduce
from operator import or_

from amaranth import Mux, Value

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, SPARSE_KEPT, SPARSE_PAIRS
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_mac import SparseGroup
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import answer_property
from bitpath.verif.formal.property import Properties, Sabotage

PROPERTIES = Properties(
    "aie_ml_v2/vector",
    answer_property(
        "aie_ml_v2.vector_mac",
        partial(VectorMac, VectorMacConfig(lanes=1, accumulators=2)),
        "read",
        "o",
        Sabotage("aie_ml_v2/vector/vector_mac.py", "self.read.ready.eq(free & clear)", "self.read.ready.eq(clear)"),
    ),
)


@PROPERTIES.of(
    "sparse_group",
    "sparse_group",
    "the factors of both slots are those of UG1583's table for every mask, none for masks of three or four bits",
    ("(~self.overfull).replicate(len(select))", "self.mask.any().replicate(len(select))"),
)
def sparse_group(claim: Claim) -> None:
    dut = claim.instantiate("dut", SparseGroup())
    for slot in range(SPARSE_KEPT):
        places = {mask: pair[slot] for mask, pair in SPARSE_PAIRS.items() if pair[slot] is not None}
        x = [Mux(dut.mask == mask, dut.a[place], 0) for mask, place in places.items()]
        y = [Mux(dut.mask == mask, dut.slots[slot], 0) for mask in places]
        claim.ensure(dut.x[slot] == reduce(or_, x), dut.y[slot] == reduce(or_, y))
    few: Value = sum((dut.mask[k] for k in range(1, SPARSE_GROUP)), dut.mask[0]) <= SPARSE_KEPT
    claim.ensure(dut.overfull == ~few)
