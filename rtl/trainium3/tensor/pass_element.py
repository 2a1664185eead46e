"""An FP32 element as a PE's pass takes it: whole, rounded to TF32, or one 12-bit half of its significand.

significand  23         12 11          0
            +-------------+-------------+
high half   | kept        | 0           |
low half    | lower bits  | 0           |   moved up by 12; the PE moves the product down
            +-------------+-------------+
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32, TF32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.round_increment import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.tensor.operand import WIDE


class Part(enum.Enum, shape=2):
    """The part of an element that a pass takes."""

    WHOLE = 0
    TF32 = 1
    HIGH = 2
    LOW = 3


class PassElement(wiring.Component):
    """Combinational; infinity and NaN keep their flags in every part. A low half of zero is +0.

    Parameters
    ----------
    rounding : RNE or RTZ, to TF32; overflow gives infinity.

    Members
    -------
    code : In(32), FP32
    part : In(Part)
    o : Out(WIDE)
    """

    clocked = False

    def __init__(self, rounding: Rounding):
        self.rounding = rounding
        super().__init__({"code": In(FP32.width), "part": In(Part), "o": Out(WIDE)})

    def elaborate(self, platform):
        m = Module()
        dropped = FP32.fraction_bits - TF32.fraction_bits
        special = self.code[FP32.fraction_bits : -1].all()
        up = increment(
            self.rounding,
            odd=self.code[dropped],
            guard=self.code[dropped - 1],
            sticky=self.code[: dropped - 1].any(),
            negative=self.code[-1],
        )
        # A carry out of the fraction increments the exponent; from the largest number it gives infinity.
        magnitude = Signal(TF32.width - 1)
        m.d.comb += magnitude.eq(self.code[dropped:-1] + up)
        rounded = Cat(Const(0, dropped), magnitude, self.code[-1])
        decode = instantiate(m, platform, "decode", Decode, (FP32,), subnormals=True)
        significand = decode.o.significand
        m.d.comb += [
            decode.code.eq(Mux((self.part == Part.TF32) & ~special, rounded, self.code)),
            self.o.eq(decode.o),
        ]
        with m.Switch(self.part):
            with m.Case(Part.HIGH):
                m.d.comb += self.o.significand.eq(Cat(Const(0, LOW_BITS), significand[LOW_BITS:]))
            with m.Case(Part.LOW):
                low = significand[:LOW_BITS]
                m.d.comb += [
                    self.o.significand.eq(Cat(Const(0, LOW_BITS), low)),
                    self.o.sign.eq(self.code[-1] & low.any()),
                ]
        return m
