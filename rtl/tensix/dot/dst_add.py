"""Step 3 of the Tensix dot product: align the group sums and Dst to the common exponent, round them and add them.

``o = sum(round(sums[g] / 2**shifts[g])) + round(dst / 2**dst_shift)`` in units of 2**-23. The window of the addends, with
groups of 8 and ``G`` product guard bits::

      2**5 ..... 2**0  2**-1 ..... 2**-10  2**-11 ............. 2**-23 | guard | sticky
      |<-- group sum: sum_width bits -- G guard bits -->|<-- zeros -->|          before its shift
                    1   fraction of FP32, or of BF16 and FP16 and zeros          Dst before its shift
                                         |<- NARROW_DROPPED: 13 bits ->|         cleared by the second rounding, 16-bit Dst

      total (33 bits, signed) = addends + increments at 2**-23 + increments at 2**-10

Ref: ttsim v1.10.0; tt-metal #46101 for the second rounding of a 16-bit Dst.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.dst_align import SHIFT_BITS, SUM_FRACTION_BITS, UNIT_SHIFT
from bitpath.rtl.tensix.dot.layouts import DotControl, StyleCode
from bitpath.rtl.tensix.dot.round_addend import NARROW_DROPPED, RoundAddend

SIGNIFICAND_BITS = FP32.precision
"""Width of the significand of Dst: the hidden bit and 23 fraction bits of FP32."""
INTEGER_BITS = DST32.width - 1
"""Width of the magnitude of an integer Dst."""
TOTAL_BITS = DST32.width + 1
"""Signed width of the sum: a 31-bit integer Dst plus products below 2**22, or floats below 2**29."""


def total_layout(width: int) -> data.StructLayout:
    """Return a sum in ones' complement: ``value``, or ``-(value + 1)`` if ``sign``. The rounding step adds the missing unit."""
    return data.StructLayout({"value": width, "sign": 1})


class DstAdd(wiring.Component):
    """The sum of the group sums and Dst, each rounded to the common grid.

    With a 16-bit Dst and ``numerics.pre_round`` every addend is rounded once more, to 10 fraction bits. One adder takes the
    addends and all rounding increments. Combinational: latency 0.

    Parameters
    ----------
    numerics : group size, product guard bits, rounding of the addends.
    sum_width : width of a group sum, which has ``10 + product_guard_bits`` fraction bits.

    Members
    -------
    sums : In(ArrayLayout(signed(sum_width), groups))
    shifts : In(ArrayLayout(5, groups)), dst_shift : In(5)
    dst : In(32), the Dst word
    control : In(DotControl)
    o : Out(total_layout(32))
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics, sum_width: int):
        self.numerics, self.sum_width, self.groups = numerics, sum_width, COLUMNS // numerics.group
        super().__init__(
            {
                "sums": In(data.ArrayLayout(signed(sum_width), self.groups)),
                "shifts": In(data.ArrayLayout(SHIFT_BITS, self.groups)),
                "dst": In(DST32.width),
                "dst_shift": In(SHIFT_BITS),
                "control": In(DotControl),
                "o": Out(total_layout(TOTAL_BITS - 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.numerics
        max_shift = (1 << SHIFT_BITS) - 1
        # Zeros fill the window from the guard bits of the sum down to 2**-23.
        sum_bits = self.sum_width + UNIT_SHIFT - numerics.product_guard_bits
        addends, once, twice = [], [], []
        for g in range(self.groups):
            shape = (self.sum_width, sum_bits + 1, max_shift, Dropped.STICKY)
            align = instantiate(m, platform, f"align_{g}", Align, *shape, twos_complement=True)
            rounder = instantiate(
                m, platform, f"round_{g}", RoundAddend, sum_bits, numerics.sum_tie, numerics.pre_round, True
            )
            m.d.comb += [
                align.i.eq(self.sums[g]),
                align.shift.eq(self.shifts[g]),
                rounder.negative.eq(self.sums[g][-1]),
            ]
            self._connect(m, rounder, align)
            # Sign extension: -s * 2**n = (1 - s) * 2**n - 2**n. Add the inverted sign bit; one constant subtracts all 2**n.
            addends.append(Cat(rounder.o[:-1], ~rounder.o[-1]))
            once.append(rounder.once)
            twice.append(rounder.twice)

        significand, sign = self._read_dst(m)
        shape = (SIGNIFICAND_BITS, SIGNIFICAND_BITS + 1, max_shift, Dropped.STICKY)
        align = instantiate(m, platform, "align_dst", Align, *shape)
        rounder = instantiate(
            m, platform, "round_dst", RoundAddend, SIGNIFICAND_BITS, numerics.dst_tie, numerics.pre_round, False
        )
        m.d.comb += [align.i.eq(significand), align.shift.eq(self.dst_shift), rounder.negative.eq(sign)]
        self._connect(m, rounder, align)
        integer = self.control.style == StyleCode.INT8
        above = self.dst[SIGNIFICAND_BITS:INTEGER_BITS] & integer.replicate(INTEGER_BITS - SIGNIFICAND_BITS)
        addends.append(Cat(rounder.o, above ^ sign.replicate(len(above)), ~sign))
        once.append(rounder.once)
        twice.append(rounder.twice)

        addends += [*once, *(step << NARROW_DROPPED for step in twice)]
        total = Signal(signed(TOTAL_BITS))
        m.d.comb += [
            total.eq(sum(addends[1:], addends[0]) - (self.groups << sum_bits - 1) - (1 << INTEGER_BITS)),
            self.o.sign.eq(total[-1]),
            self.o.value.eq(total[:-1] ^ total[-1].replicate(TOTAL_BITS - 1)),
        ]
        return m

    def _connect(self, m: Module, rounder: RoundAddend, align: Align) -> None:
        m.d.comb += [rounder.i.eq(align.o), rounder.dst32.eq(self.control.dst32)]

    def _read_dst(self, m: Module) -> tuple[Value, Value]:
        """Return the sign of Dst and its significand, or the low 24 bits of an integer."""
        dst, style = self.dst, self.control.style
        significand = Signal(SIGNIFICAND_BITS)
        sign = Signal()
        m.d.comb += sign.eq(dst[BF16.width - 1])
        with m.If(self.control.dst32):
            hidden = Mux(style == StyleCode.INT8, dst[SUM_FRACTION_BITS], 1)
            m.d.comb += [significand.eq(Cat(dst[:SUM_FRACTION_BITS], hidden)), sign.eq(dst[FP32.width - 1])]
        with m.Elif(style == StyleCode.FP16):
            m.d.comb += significand.eq(_padded(dst[: FP16.fraction_bits]))
        with m.Else():
            m.d.comb += significand.eq(_padded(dst[: BF16.fraction_bits]))
        return significand, sign


def _padded(fraction: Value) -> Value:
    """Return a significand of 24 bits: the hidden bit, a shorter fraction, and zeros."""
    return Cat(Const(0, SUM_FRACTION_BITS - len(fraction)), fraction, 1)
