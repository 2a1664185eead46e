"""Step 2 of the Tensix dot product, exponents: the common exponent of the group sums and Dst, and their alignment shifts.

``exponent = max(exponents, dst_exponent)`` and ``shift = exponent - own exponent``, saturated at 31. Fields of Dst::

                          31  30 ...... 23  22 ................ 0
      dst32               s    exponent     fraction                  FP32; in style INT8 sign and 31-bit magnitude
      16 bits, BF16, TF32                15  14 .... 7  6 ..... 0
                                          s   exponent  fraction
      16 bits, FP16                      15  14 . 10  9 ....... 0
                                          s  exponent  fraction

Ref: ttsim v1.10.0; tt-isa-documentation 3930471, ELWMUL, for the weights of integer fields.
"""

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32, PHASES
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.max_distance import MaxDistance
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.fidelity_multiplier import LOW_FIELD_B_PLACES
from bitpath.rtl.tensix.dot.layouts import DotControl, StyleCode
from bitpath.rtl.tensix.dot.products import EXPONENT_BITS

SUM_FRACTION_BITS = 23
"""Fraction bits of the addends of step 3, the precision of FP32."""
PRODUCT_FRACTION_BITS = 10
UNIT_SHIFT = SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS
"""Right shift from units of 2**-10 to the integer unit, 2**-23 of the common grid."""
INTEGER_WEIGHTS = tuple((0 if phase & 1 else 5) + (-LOW_FIELD_B_PLACES if phase & 2 else 4) for phase in range(PHASES))
"""Exponents of integer products by phase; SrcB's low field is multiplied by 2**3, see `FidelityMultiplier`."""
SHIFT_BITS = 5
"""Width of a shift: a sum of 16 products is below 2**29 units, so that a shift of 31 discards all bits."""


class DstAlign(wiring.Component):
    """The largest exponent, and the shift that aligns each group sum and Dst to it.

    An empty group and a Dst of exponent 0 get the shift 31. A sum of two addends of exponent 0 is not empty, because SrcB may be
    a kept denormal, and is shifted as any other. Integers have no exponent: the weights of their fields set the shifts, and
    Dst is not shifted. Combinational: latency 0.

    Parameters
    ----------
    numerics : group size alone.

    Members
    -------
    exponents : In(ArrayLayout(9, groups)), 0 for an empty group
    dst : In(32), the Dst word; a 16-bit word is in the low half
    control : In(DotControl)
    exponent : Out(9), the common exponent
    shifts : Out(ArrayLayout(5, groups)), dst_shift : Out(5)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
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
        largest = instantiate(m, platform, "largest", MaxDistance, len(exponents), EXPONENT_BITS, SHIFT_BITS)
        m.d.comb += self.exponent.eq(largest.o)
        shifts = []
        for k, exponent in enumerate(exponents):
            present = exponent.any() | (control.add if k == 0 else 0)
            m.d.comb += [largest.i[k].eq(exponent), largest.counts[k].eq(present)]
            shifts.append(largest.shifts[k] | (~present).replicate(SHIFT_BITS))
        weight = Mux(control.add, 0, Array(INTEGER_WEIGHTS)[control.phase])
        m.d.comb += [
            *(self.shifts[g].eq(Mux(integer, UNIT_SHIFT - weight, shifts[g])) for g in range(self.groups)),
            self.dst_shift.eq(Mux(integer, 0, shifts[-1])),
        ]
        return m
