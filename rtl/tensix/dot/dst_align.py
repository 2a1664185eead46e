"""Sums and Dst to their common exponent: where the second step of the Tensix dot product ends for exponents.

Ref: ttsim v1.10.0; tt-isa-documentation 3930471, ELWMUL, for the weights of integer fields.
"""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32, PHASES
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.max_distance import MaxDistance
from bitpath.rtl.common.pipeline.shared_instances import place
from bitpath.rtl.tensix.dot.fidelity_multiplier import LOW_FIELD_B_PLACES
from bitpath.rtl.tensix.dot.layouts import DotControl, StyleCode
from bitpath.rtl.tensix.dot.products import EXPONENT_BITS

SUM_FRACTION_BITS = 23
"""Of what is added to Dst."""
PRODUCT_FRACTION_BITS = 10
UNIT_SHIFT = SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS
"""What brings a sum of integers, which stands where a sum of fractions does, to the lowest place."""
INTEGER_WEIGHTS = tuple((0 if phase & 1 else 5) + (-LOW_FIELD_B_PLACES if phase & 2 else 4) for phase in range(PHASES))
"""Exponents of the products of integer fields, by phase: SrcB's low field is multiplied too high."""
SHIFT_BITS = 5
"""Of a shift: a sum of 16 products is below 2**29 units, so that nothing is left of it after 31 places."""


class DstAlign(wiring.Component):
    """The largest exponent, and how far everything is shifted to stand there. Combinational.

    Integers have no exponent: the weights of their fields are their shifts, and Dst is not shifted.

    Parameters
    ----------
    numerics : what is computed.

    Members
    -------
    exponents : In(ArrayLayout(9, groups)), 0 for an empty group
    dst : In(32), the word
    control : In(DotControl)
    exponent : Out(9)
    shifts : Out(ArrayLayout(5, groups)), dst_shift : Out(5); of what is empty or zero, so that nothing is left of it
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.groups = COLUMNS // numerics.group
        super().__init__(
            {
                "exponents": In(data.ArrayLayout(EXPONENT_BITS, self.groups)),
                "dst": In(DST32.width),
                "control": In(DotControl),
                "exponent": Out(EXPONENT_BITS),
                "shifts": Out(data.ArrayLayout(SHIFT_BITS, self.groups)),
                "dst_shift": Out(SHIFT_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control, dst = self.control, self.dst
        integer = control.style == StyleCode.INT8
        dst_exponent = Signal(EXPONENT_BITS)
        with m.If(control.dst32):
            m.d.comb += dst_exponent.eq(dst[23:31])
        with m.Elif(control.style == StyleCode.FP16):
            m.d.comb += dst_exponent.eq(dst[10:15])
        with m.Else():
            m.d.comb += dst_exponent.eq(dst[7:15])

        exponents = [*(self.exponents[g] for g in range(self.groups)), dst_exponent]
        largest = place(m, platform, "largest", MaxDistance, len(exponents), EXPONENT_BITS, SHIFT_BITS)
        m.d.comb += self.exponent.eq(largest.o)
        shifts = []
        for k, exponent in enumerate(exponents):
            m.d.comb += [largest.i[k].eq(exponent), largest.counts[k].eq(exponent.any())]
            shifts.append(largest.shifts[k] | (~exponent.any()).replicate(SHIFT_BITS))
        weight = Mux(control.add, 0, Array(INTEGER_WEIGHTS)[control.phase])
        m.d.comb += [
            *(self.shifts[g].eq(Mux(integer, UNIT_SHIFT - weight, shifts[g])) for g in range(self.groups)),
            self.dst_shift.eq(Mux(integer, 0, shifts[-1])),
        ]
        return m
