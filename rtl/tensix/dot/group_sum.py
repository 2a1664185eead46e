"""Step 2 of the Tensix dot product: align the products of one group, round them and add them.

``o = sum((-1)**sign * round(magnitude * 2**G / 2**shift))`` in units of ``2**-(10 + G)`` at the group exponent, with ``G``
product guard bits::

      2**1   2**0     2**-1 ... 2**-10   2**-11 ... 2**-(10+G)    next bit    below
      |<-------- kept: 12 + G bits, an AddTree term ---------->|  |guard|   |sticky|

Ref: ttsim v1.10.0.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.add_tree import AddTree
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.round_increment import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.fidelity_multiplier import PRODUCT_BITS
from bitpath.rtl.tensix.dot.products import product_layout


class GroupSum(wiring.Component):
    """The sum of one group of products, each rounded to ``numerics.product_guard_bits`` below its 10 fraction bits.

    Addends of ELWADD are rounded to 10 fraction bits, without guard bits. Combinational: latency 0.

    Parameters
    ----------
    numerics : group size, product guard bits and rounding of products.

    Members
    -------
    products : In(ArrayLayout(product_layout, group))
    add : In(1), the products are addends of ELWADD
    o : Out(signed(12 + G + ceil_log2(group) + 1)), in units of ``2**-(10 + G)`` at the group exponent
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        self.product = product_layout(numerics)
        # Only a shifted product is rounded. It is below half the range, so the increment never overflows these bits.
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
            # Kept bits and one guard bit; Dropped.STICKY adds the sticky bit below.
            shape = (self.term_bits, self.term_bits + 1, max_shift, Dropped.STICKY)
            align = instantiate(m, platform, f"align_{k}", Align, *shape)
            aligned = Signal(data.StructLayout({"sticky": 1, "guard": 1, "kept": self.term_bits}), name=f"aligned_{k}")
            m.d.comb += [
                align.i.eq(Mux(self.add, product.magnitude, product.magnitude << guard_bits)),
                align.shift.eq(product.shift),
                aligned.eq(align.o),
                tree.magnitude[k].eq(aligned.kept),
                tree.up[k].eq(
                    increment(
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
