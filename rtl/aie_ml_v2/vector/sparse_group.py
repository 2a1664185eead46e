"""Operands of the two multipliers of a sparse group: 3:1 multiplexers on the dense operand, selected by the group's mask.

    low slot  <- entity 0, 1 or 2          high slot <- entity 1, 2 or 3          no entity: both factors are 0

A mask of three or four bits selects nothing. Ref: FIM43-Redeye/xdna-emu, from AMD's model of AIE2, for the selects; UG1583.
"""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, SPARSE_KEPT
from bitpath.rtl.aie_ml_v2.mac.layouts import WORD_BITS


class SparseGroup(wiring.Component):
    """Route the entities of A that a group's two slots multiply; combinational.

    Members
    -------
    a : In(ArrayLayout(16, 4)), entities of the dense operand
    slots : In(ArrayLayout(16, 2)), the low slot first
    mask : In(4), bit i for entity i
    x, y : Out(ArrayLayout(16, 2)), the factors of either slot
    overfull : Out(1), 1 if the mask has more than two bits
    """

    clocked = False
    apart = True

    def __init__(self):
        pair = data.ArrayLayout(WORD_BITS, SPARSE_KEPT)
        super().__init__(
            {
                "a": In(data.ArrayLayout(WORD_BITS, SPARSE_GROUP)),
                "slots": In(pair),
                "mask": In(SPARSE_GROUP),
                "x": Out(pair),
                "y": Out(pair),
                "overfull": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m0, m1, m2, m3 = self.mask
        m.d.comb += self.overfull.eq((m0 & m1 & (m2 | m3)) | (m2 & m3 & (m0 | m1)))
        # Where at most two bits are set, a set pair leaves the others 0.
        selects = ((m0, ~m0 & m1, m2 & m3), (m0 & m1, m2 & ~m3, m3))
        for slot, select in enumerate(selects):
            enable = Signal(len(select), name=f"enable_{slot}")
            m.d.comb += [
                enable.eq(Cat(select) & (~self.overfull).replicate(len(select))),
                self.x[slot].eq(_one_of(enable, [self.a[slot + k] for k in range(len(select))])),
                self.y[slot].eq(self.slots[slot] & enable.any().replicate(WORD_BITS)),
            ]
        return m


def _one_of(enable: Value, values: list[Value]) -> Value:
    """Return the value whose bit is set, 0 if there is none."""
    chosen = [value & enable[k].replicate(WORD_BITS) for k, value in enumerate(values)]
    return chosen[0] | chosen[1] | chosen[2]
