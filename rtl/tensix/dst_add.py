"""The third step of the Tensix dot product: sums and Dst on their common exponent's grid, and added.

Ref: ttsim v1.10.0; tt-metal #46101 for the second rounding of a 16-bit Dst.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import BF16, FP16, FP32
from bitpath.golden.spec.tensix import COLUMNS, DST32
from bitpath.golden.spec.tensix_numerics import TensixNumerics, Tie
from bitpath.rtl.common.align import Align, Dropped
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.nearest import rounds_up, tie_goes_up
from bitpath.rtl.tensix.dst_align import SHIFT_BITS, SUM_FRACTION_BITS, UNIT_SHIFT
from bitpath.rtl.tensix.layouts import DotControl, StyleCode

NARROW_DROPPED = 13
"""Fraction bits that the second rounding of a 16-bit Dst drops: 10 of 23 stay."""
SIGNIFICAND_BITS = FP32.precision
INTEGER_BITS = DST32.width - 1
"""Of an integer Dst's magnitude."""
TOTAL_BITS = DST32.width + 1
"""Of the signed sum: an integer Dst of 31 bits and products below 2**22, or floats below 2**29."""


class DstAdd(wiring.Component):
    """``o = sum(round(sums[g] / 2**shifts[g])) + round(dst / 2**dst_shift)`` in units of 2**-23. Combinational.

    For a 16-bit Dst every addend is rounded once more, to 10 fraction bits, where the numerics say so.

    Parameters
    ----------
    numerics : what is computed.
    sum_width : bits of a group's signed sum, which has 10 fraction bits and the numerics' guard bits.

    Members
    -------
    sums : In(ArrayLayout(signed(sum_width), groups))
    shifts : In(ArrayLayout(5, groups)), dst_shift : In(5)
    dst : In(32), the word
    control : In(DotControl)
    o : Out(magnitude, sign)
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
                "o": Out(data.StructLayout({"magnitude": TOTAL_BITS - 1, "sign": 1})),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.numerics
        max_shift = (1 << SHIFT_BITS) - 1
        # Below the sum's guard bits come zeros, down to 2**-23.
        sum_bits = self.sum_width + UNIT_SHIFT - numerics.product_guard_bits
        addends = []
        for g in range(self.groups):
            shape = (self.sum_width, sum_bits + 1, max_shift, Dropped.STICKY)
            align = place(m, platform, f"align_{g}", Align, *shape, twos_complement=True)
            m.d.comb += [align.i.eq(self.sums[g]), align.shift.eq(self.shifts[g])]
            addends.append(
                self._round(
                    m, f"sum_{g}", align.o, self.sums[g][-1], numerics.sum_tie, twos_complement=True
                ).as_signed()
            )

        significand, sign = self._read_dst(m)
        align = place(
            m, platform, "align_dst", Align, SIGNIFICAND_BITS, SIGNIFICAND_BITS + 1, max_shift, Dropped.STICKY
        )
        m.d.comb += [align.i.eq(significand), align.shift.eq(self.dst_shift)]
        rounded = self._round(m, "dst", align.o, sign, numerics.dst_tie, twos_complement=False)
        integer = self.control.style == StyleCode.INT8
        above = self.dst[SIGNIFICAND_BITS:INTEGER_BITS] & integer.replicate(INTEGER_BITS - SIGNIFICAND_BITS)
        magnitude = Cat(rounded, above)
        addends.append(Cat(magnitude ^ sign.replicate(INTEGER_BITS), sign).as_signed())

        total = Signal(signed(TOTAL_BITS))
        negative = total[-1]
        m.d.comb += [
            total.eq(sum(addends[1:], addends[0]) + sign),
            self.o.sign.eq(negative),
            self.o.magnitude.eq((total ^ negative.replicate(TOTAL_BITS)) + negative),
        ]
        return m

    def _read_dst(self, m: Module) -> tuple[Value, Value]:
        """The significand of Dst, or the low bits of an integer, and its sign."""
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

    def _round(self, m: Module, name: str, aligned: Any, negative: Value, tie: Tie, *, twos_complement: bool) -> Value:
        """Round to the grid, and to the 10 fraction bits of a 16-bit Dst; as many bits as were kept.

        The second rounding adds half its unit, or what is just less than half where a tie goes down, to the first.
        """
        sticky, guard = aligned[0], aligned[1]
        kept = aligned[2:].as_signed() if twos_complement else aligned[2:]
        up = rounds_up(tie, odd=kept[0], guard=guard, sticky=sticky, negative=negative, twos_complement=twos_complement)
        once = kept + up
        if not self.numerics.pre_round:
            return once[: len(kept)]
        narrow = ~self.control.dst32
        half = 1 << NARROW_DROPPED - 1
        tie_up = tie_goes_up(tie, odd=once[NARROW_DROPPED], negative=negative, twos_complement=twos_complement)
        twice = Signal(len(kept), name=f"twice_{name}")
        m.d.comb += twice.eq(once + Mux(narrow, Mux(tie_up, half, half - 1), 0))
        return Cat(twice[:NARROW_DROPPED] & self.control.dst32.replicate(NARROW_DROPPED), twice[NARROW_DROPPED:])


def _padded(fraction: Value) -> Value:
    """A shorter fraction with its hidden bit above and zeros below."""
    return Cat(Const(0, SUM_FRACTION_BITS - len(fraction)), fraction, 1)
