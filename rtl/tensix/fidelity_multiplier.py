"""The multiplier of the Tensix Matrix unit, and the fields that a fidelity phase gives it.

Ref: tt-isa-documentation 3930471, SrcASrcB and ELWMUL.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.config import MultiplierConfig
from bitpath.rtl.tensix.layouts import DotControl, Operand

MAGNITUDE_BITS = Operand.as_shape()["magnitude"].shape
"""Of an operand: a float's hidden bit and 10 fraction bits, or an integer's 10 bits."""
PHASE_BITS = DotControl.as_shape()["phase"].shape
FIELD_A_BITS = 5
FIELD_B_BITS = 7
PRODUCT_BITS = FIELD_A_BITS + FIELD_B_BITS
"""Of a product, which has 10 fraction bits where its operands are floats."""
NOTHING_TO_CHOOSE = MultiplierConfig()
LOW_FIELD_B_BITS = 4
"""Of SrcB's low field; in a float it stands at the top of the field that is multiplied."""


class FidelityMultiplier(wiring.Component):
    """``o = field_a * field_b``, unsigned, of the fields that the phase takes of two magnitudes. Combinational.

    Bit 0 of the phase chooses SrcA's field: a float's bits 10:6, and 5:1 where it is set; an integer's 7:5, and 4:0.
    Bit 1 chooses SrcB's: a float's bits 10:4, and 3:0 above three zeros where it is set; an integer's 9:4, and 3:0.

    Parameters
    ----------
    config : leaves nothing to choose.

    Members
    -------
    src_a, src_b : In(11), magnitudes of operands
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
        field_a = Signal(FIELD_A_BITS)
        field_b = Signal(FIELD_B_BITS)
        moved_up = Cat(Const(0, FIELD_B_BITS - LOW_FIELD_B_BITS), b[:LOW_FIELD_B_BITS])
        with m.If(self.is_integer):
            m.d.comb += [
                field_a.eq(Mux(low_a, a[0:5], a[5:8])),
                field_b.eq(Mux(low_b, b[:LOW_FIELD_B_BITS], b[4:10])),
            ]
        with m.Else():
            m.d.comb += [
                field_a.eq(Mux(low_a, a[1:6], a[6:11])),
                field_b.eq(Mux(low_b, moved_up, b[4:11])),
            ]
        m.d.comb += self.o.eq(field_a * field_b)
        return m
