"""The second step of the Tensix dot product: a group's products on its exponent's grid, and their sum.

Ref: ttsim v1.10.0.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.add_tree import AddTree
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.nearest import rounds_up
from bitpath.rtl.common.pipeline.shared_instances import place
from bitpath.rtl.tensix.dot.fidelity_multiplier import PRODUCT_BITS
from bitpath.rtl.tensix.dot.products import product_layout


class GroupSum(wiring.Component):
    """``o = sum(round(product / 2**shift))``, with the guard bits that the numerics name. Combinational.

    Parameters
    ----------
    numerics : what is computed.

    Members
    -------
    products : In(ArrayLayout(product_layout, group))
    add : In(1), the products are addends of ELWADD, which are rounded without guard bits
    o : Out(signed), in units of 2**-(10 + guard bits) at the group's exponent
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        self.product = product_layout(numerics)
        # What is rounded has been shifted by a place at least, and so fits where it stood before.
        self.term_bits = PRODUCT_BITS + numerics.product_guard_bits
        self.tree = AddTree(numerics.group, self.term_bits)
        super().__init__(
            {
                "products": In(data.ArrayLayout(self.product, numerics.group)),
                "add": In(1),
                "o": Out(self.tree.o.shape()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics, guard_bits = self.numerics, self.numerics.product_guard_bits
        m.submodules.tree = tree = self.tree
        max_shift = (1 << self.product["shift"].shape) - 1
        for k in range(numerics.group):
            product = self.products[k]
            # One place more than is kept: the guard bit.
            shape = (self.term_bits, self.term_bits + 1, max_shift, Dropped.STICKY)
            align = place(m, platform, f"align_{k}", Align, *shape)
            aligned = Signal(data.StructLayout({"sticky": 1, "guard": 1, "kept": self.term_bits}), name=f"aligned_{k}")
            m.d.comb += [
                align.i.eq(Mux(self.add, product.magnitude, product.magnitude << guard_bits)),
                align.shift.eq(product.shift),
                aligned.eq(align.o),
                tree.magnitude[k].eq(aligned.kept),
                tree.up[k].eq(
                    rounds_up(
                        numerics.product_tie,
                        odd=aligned.kept[0],
                        guard=aligned.guard,
                        sticky=aligned.sticky,
                        negative=product.sign,
                    )
                ),
                tree.sign[k].eq(product.sign),
            ]
        m.d.comb += self.o.eq(Mux(self.add, tree.o << guard_bits, tree.o))
        return m
