"""The moving element that a PE of a sparse matmul reads, by its tag.

    tag  3        2 1        0
        +----------+----------+
        | partition|   slot   |    legal: partition < kept, slot < ratio
        +----------+----------+

Ref: "Trainium2 Architecture Guide for NKI", structured sparsity (four-bit tags; a row of PEs reads 4, 2 or 1 partitions). The
code of a tag is chosen, see the declarations.
"""

from amaranth import Cat, Module, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.tensor import SparseNumerics

TAG = 4
"""Bits of a tag."""
SLOTS = 4
"""Largest number of partitions in a group, and of slots on one."""
PATTERN = data.StructLayout({"last_partition": range(SLOTS), "last_slot": range(SLOTS)})
"""A pattern kept:group as ``kept - 1`` and ``group / kept - 1``."""


def is_known(pattern: data.View, numerics: SparseNumerics) -> Value:
    """Return 1 for a pattern that the array takes."""
    places = [(kept - 1, group // kept - 1) for kept, group in numerics.patterns]
    return Cat((pattern.last_partition == place[0]) & (pattern.last_slot == place[1]) for place in places).any()


class TagSelect(wiring.Component):
    """Combinational; an illegal tag gives +0, whose layout is all zeros, and a flag.

    Parameters
    ----------
    element : layout of a moving element.

    Members
    -------
    slots : In(ArrayLayout(element, 16)), the group's slot r on partition q at ``4 * q + r``
    tag : In(4)
    pattern : In(PATTERN)
    o : Out(element), illegal : Out(1)
    """

    clocked = False

    def __init__(self, element: data.StructLayout):
        super().__init__(
            {
                "slots": In(data.ArrayLayout(element, SLOTS * SLOTS)),
                "tag": In(TAG),
                "pattern": In(PATTERN),
                "o": Out(element),
                "illegal": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        partition, slot = self.tag[2:], self.tag[:2]
        m.d.comb += [
            self.illegal.eq((partition > self.pattern.last_partition) | (slot > self.pattern.last_slot)),
            self.o.eq(Mux(self.illegal, 0, self.slots[self.tag].as_value())),
        ]
        return m
