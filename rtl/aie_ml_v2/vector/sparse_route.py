"""Routing of a sparse operand (cycle 2): the slots of a column of B, and the entities of a row of A that they multiply.

``x[s] = a[position of slot s]``, ``y[s] = slot s``, both 0 for a slot that holds nothing. The mask has a bit for each byte; an
entity of 16 bits is present if either of its bytes is.

Ref: UG1583, Compressed Sparse Load Operations; UG1603, Sparse Matrix Multiplication.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, SPARSE_KEPT
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, WORD_BITS
from bitpath.rtl.aie_ml_v2.vector.config import SparseRouteConfig
from bitpath.rtl.aie_ml_v2.vector.sparse_group import SparseGroup
from bitpath.rtl.common.pipeline.shared_instances import instantiate


def routed_layout(config: SparseRouteConfig) -> data.StructLayout:
    """Return the layout of the factors; ``overfull`` is 1 if a group's mask has more than two bits."""
    bits = SPARSE_KEPT * config.groups * WORD_BITS
    return data.StructLayout({"x": bits, "y": bits, "overfull": 1})


def sparse_layout(config: SparseRouteConfig) -> data.StructLayout:
    """Return the layout of a row of A and a column of B: element 0 lowest, of 16 bits if ``wide``, else of 8.

    ``slots`` holds the low and the high slot of group 0, then of group 1 and so on. ``mask`` has a bit for each byte of ``a``.
    """
    entities = SPARSE_GROUP * config.groups
    return data.StructLayout(
        {
            "wide": 1,
            "a": entities * WORD_BITS,
            "slots": SPARSE_KEPT * config.groups * WORD_BITS,
            "mask": entities * WORD_BITS // BYTE,
        }
    )


class SparseRoute(wiring.Component):
    """Factors of a lane's products with a sparse operand, combinational.

    Parameters
    ----------
    config : SparseRouteConfig, the number of groups.

    Members
    -------
    i : In(stream of sparse_layout)
    o : Out(stream of routed_layout)
    """

    clocked = False

    def __init__(self, config: SparseRouteConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(sparse_layout(config))),
                "o": Out(stream.Signature(routed_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, o = self.i.p, self.o.p
        m.d.comb += [self.o.valid.eq(self.i.valid), self.i.ready.eq(self.o.ready)]
        x, y, overfull = [], [], []
        for g in range(self.config.groups):
            group = instantiate(m, platform, f"group_{g}", SparseGroup)
            for k in range(SPARSE_GROUP):
                entity = SPARSE_GROUP * g + k
                present = i.mask.word_select(entity, WORD_BITS // BYTE).any()
                m.d.comb += [
                    group.a[k].eq(self._entity(i.a, entity)),
                    group.mask[k].eq(Mux(i.wide, present, i.mask[entity])),
                ]
            for k in range(SPARSE_KEPT):
                m.d.comb += group.slots[k].eq(self._entity(i.slots, SPARSE_KEPT * g + k))
                x.append(group.x[k])
                y.append(group.y[k])
            overfull.append(group.overfull)
        m.d.comb += [o.x.eq(self._packed(x)), o.y.eq(self._packed(y)), o.overfull.eq(Cat(overfull).any())]
        return m

    def _entity(self, packed: Value, place: int) -> Value:
        """Return an entity, with zeros above a byte."""
        return Mux(self.i.p.wide, packed.word_select(place, WORD_BITS), packed.word_select(place, BYTE))

    def _packed(self, words: list[Signal]) -> Value:
        return Mux(self.i.p.wide, Cat(words), Cat(word[:BYTE] for word in words))
