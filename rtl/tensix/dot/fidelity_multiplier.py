"""The multiplier of the Tensix Matrix unit, and the fields that a fidelity phase gives it.

Ref: tt-isa-documentation 3930471, SrcASrcB and ELWMUL.
"""

from functools import reduce
from operator import or_

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.dot.config import MultiplierConfig
from bitpath.rtl.tensix.dot.layouts import DotControl, Operand

MAGNITUDE_BITS = Operand.as_shape()["magnitude"].shape
"""Of an operand: a float's hidden bit and 10 fraction bits, or an integer's 10 bits."""
PHASE_BITS = DotControl.as_shape()["phase"].shape
FIELD_A_BITS = 5
FIELD_B_BITS = 7
PRODUCT_BITS = FIELD_A_BITS + FIELD_B_BITS
"""Of a product, which has 10 fraction bits where its operands are floats."""
NOTHING_TO_CHOOSE = MultiplierConfig()
LOW_FIELD_B_BITS = 4
"""Of SrcB's low field."""
LOW_FIELD_B_PLACES = FIELD_B_BITS - LOW_FIELD_B_BITS
"""By which it is moved up, to the top of the field that is multiplied."""


class FidelityMultiplier(wiring.Component):
    """``o = field_a * field_b``, unsigned, of the fields that the phase takes of two magnitudes. Combinational.

    Bit 0 of the phase chooses SrcA's field: a float's bits 10:6, and 5:1 where it is set; an integer's 7:5, and 4:0.
    Bit 1 chooses SrcB's: bits 10:4, of which an integer has no more than 9:4, and 3:0 above three zeros where it is set.

    Parameters
    ----------
    config : leaves nothing to choose.

    Members
    -------
    src_a, src_b : In(11), magnitudes of operands; of an integer in SrcB the top bit is 0
    phase : In(2)
    is_integer : In(1), else a float
    o : Out(12)
    """

    clocked = False

    def __init__(self, config: MultiplierConfig = NOTHING_TO_CHOOSE):
        self.config = config
        super().__init__(
            {
                "src_a": In(MAGNITUDE_BITS),
                "src_b": In(MAGNITUDE_BITS),
                "phase": In(PHASE_BITS),
                "is_integer": In(1),
                "o": Out(PRODUCT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        a, b = self.src_a, self.src_b
        low_a, low_b = self.phase[0], self.phase[1]
        # One of four fields, each under its own condition: smaller than two levels of choices between two.
        fields_a = (
            (self.is_integer & low_a, a[0:5]),
            (self.is_integer & ~low_a, a[5:8]),
            (~self.is_integer & low_a, a[1:6]),
            (~self.is_integer & ~low_a, a[6:11]),
        )
        field_a = Signal(FIELD_A_BITS)
        field_b = Signal(FIELD_B_BITS)
        m.d.comb += [
            field_a.eq(reduce(or_, (field & chosen.replicate(len(field)) for chosen, field in fields_a))),
            field_b.eq(Mux(low_b, Cat(Const(0, LOW_FIELD_B_PLACES), b[:LOW_FIELD_B_BITS]), b[4:11])),
            self.o.eq(field_a * field_b),
        ]
        return m
