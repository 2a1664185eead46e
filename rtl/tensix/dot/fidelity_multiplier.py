"""Multiplier of the Tensix Matrix unit: the fields of two magnitudes that one fidelity phase selects, 7 x 5 bits.

``o = field_a * field_b``, unsigned::

      magnitude bit            10  9  8  7  6  5  4  3  2  1  0
      SrcA, float, phase[0]=0  |--------------|                     bits 10:6
                   phase[0]=1                 |--------------|      bits 5:1; bit 0 is never multiplied
      SrcA, integer,        0           |-----|                     bits 7:5
                            1                    |--------------|   bits 4:0
      SrcB, phase[1]=0         |--------------------|               bits 10:4; bit 10 of an integer is 0
            phase[1]=1                                |----------|  bits 3:0, above three zeros

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
"""Width of an operand: a float's hidden bit and 10 fraction bits, or an integer's 10 bits."""
PHASE_BITS = DotControl.as_shape()["phase"].shape
FIELD_A_BITS = 5
FIELD_B_BITS = 7
PRODUCT_BITS = FIELD_A_BITS + FIELD_B_BITS
"""Width of a product; products of floats have 10 fraction bits."""
NO_PARAMETERS = MultiplierConfig()
LOW_FIELD_B_BITS = 4
"""Width of SrcB's low field, bits 3:0."""
LOW_FIELD_B_PLACES = FIELD_B_BITS - LOW_FIELD_B_BITS
"""Left shift of the low field, so that its top bit is the top bit of the multiplied field."""


class FidelityMultiplier(wiring.Component):
    """One unsigned product of 5 by 7 bits, with the selection of its fields.

    Combinational: latency 0.

    Parameters
    ----------
    config : empty; every unit has a configuration.

    Members
    -------
    src_a, src_b : In(11), magnitudes of operands; bit 10 of an integer in SrcB must be 0
    phase : In(2), bit 0 selects the field of SrcA and bit 1 the field of SrcB
    is_integer : In(1), 1 for integers, 0 for floats
    o : Out(12)
    """

    clocked = False

    def __init__(self, config: MultiplierConfig = NO_PARAMETERS):
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
        # An AND-OR of four fields is smaller than two levels of multiplexers.
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
