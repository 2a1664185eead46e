"""Lane of tanh: the BF16 number nearest to the hyperbolic tangent, from a table of where results change.

    |x| < 2**-12             |x| to nearest, ties down, since the tangent is less than |x|
    2**-12 <= |x| < 4        a segment's first result, and one more from its breakpoint on
    4 <= |x|                 1

Ref: `bitpath.golden.aie_ml_v2.declarations.numerics.CHOICES`; no public document describes the machine's approximation.
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.aie_ml_v2.mover.nonlinear_constants import (
    FIRST_RESULT,
    FIRST_SEGMENT,
    ONE,
    SEGMENT_BITS,
    SEGMENTS,
    tanh_table,
)


class TanhLane(wiring.Component):
    """Combinational tanh, correctly rounded.

    Members
    -------
    i : In(32), FP32
    o : Out(16), BF16
    """

    clocked = False
    apart = True
    i: In(FP32.width)
    o: Out(BF16.width)

    def elaborate(self, platform):
        m = Module()
        magnitude = self.i[:-1]
        place, number = magnitude[:SEGMENT_BITS], magnitude[SEGMENT_BITS:]
        segment = data.StructLayout(
            {"result": range(ONE - FIRST_RESULT + 1), "following": range((1 << SEGMENT_BITS) + 1)}
        )
        m.submodules.table = table = memory.Memory(
            shape=segment,
            depth=SEGMENTS,
            init=[{"result": result, "following": following} for result, following in tanh_table()],
        )
        read = table.read_port(domain="comb")
        low_bits = FP32.width - BF16.width
        rest, shorter = magnitude[:low_bits], magnitude[low_bits:]
        result = Signal(BF16.width - 1)
        m.d.comb += [read.addr.eq(number - FIRST_SEGMENT), self.o.eq(Cat(result, self.i[-1]))]
        with m.If(magnitude > FP32.infinity_code):
            m.d.comb += self.o.eq(BF16.nan_code)
        with m.Elif(number >= FIRST_SEGMENT + SEGMENTS):
            m.d.comb += result.eq(ONE)
        with m.Elif(number < FIRST_SEGMENT):
            m.d.comb += result.eq(shorter + (rest > 1 << low_bits - 1))
        with m.Else():
            m.d.comb += result.eq(FIRST_RESULT + read.data.result + (place >= read.data.following))
        return m
