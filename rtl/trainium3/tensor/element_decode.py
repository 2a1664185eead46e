"""An element as a PE takes it, from its code in any format of the unscaled matmul."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, Rounding
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.tensor.config import WIDE

# An FP32 element as a PE's pass takes it: whole, rounded to TF32, or one 12-bit half of its significand.
#
# significand  23         12 11          0
#             +-------------+-------------+
# high half   | kept        | 0           |
# low half    | lower bits  | 0           |   moved up by 12; the PE moves the product down
#             +-------------+-------------+


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


class OperandFormat(enum.Enum, shape=4):
    """Format of the elements of an operand; the first three are those of :class:`ElementFormat`."""

    E4M3FN = 0
    E5M2 = 1
    E2M1 = 2  # in MX alone
    E4M3 = 3
    E3M4 = 4
    FP16 = 5
    BF16 = 6
    TF32 = 7
    FP32 = 8


BYTES = {
    OperandFormat.E4M3FN: E4M3FN,
    OperandFormat.E5M2: E5M2,
    OperandFormat.E4M3: E4M3,
    OperandFormat.E3M4: E3M4,
}


class ElementDecode(wiring.Component):
    """Combinational ``o``, exact but for TF32, to which an FP32 code is rounded.

    Parameters
    ----------
    rounding : RNE or RTZ, to TF32.

    Members
    -------
    code : In(32), the element in the low bits
    format : In(OperandFormat), not E2M1
    low : In(1), the low half of an FP32 element in place of the element, as :class:`PassElement` gives it
    o : Out(WIDE)
    """

    clocked = False

    def __init__(self, rounding: Rounding):
        self.rounding = rounding
        super().__init__({"code": In(FP32.width), "format": In(OperandFormat), "low": In(1), "o": Out(WIDE)})

    def elaborate(self, platform):
        m = Module()
        whole = instantiate(m, platform, "whole", PassElement, self.rounding)
        upper = Cat(Const(0, FP32.width - BF16.width), self.code[: BF16.width])
        m.d.comb += [
            whole.code.eq(Mux(self.format == OperandFormat.BF16, upper, self.code)),
            whole.part.eq(Mux(self.format == OperandFormat.TF32, Part.TF32, Mux(self.low, Part.LOW, Part.WHOLE))),
            self.o.eq(whole.o),
        ]
        half = instantiate(m, platform, "half", Decode, (FP16,))
        byte = instantiate(m, platform, "byte", Decode, tuple(BYTES.values()))
        with m.Switch(self.format):
            for decode, names, bias in (
                (half, (OperandFormat.FP16,), FP16.bias),
                (byte, tuple(BYTES), max(fmt.bias for fmt in BYTES.values())),
            ):
                m.d.comb += decode.code.eq(self.code)
                number = decode.o
                for index, name in enumerate(names):
                    with m.Case(name):
                        m.d.comb += [
                            decode.format.eq(index),
                            self.o.significand.eq(number.significand << FP32.precision - len(number.significand)),
                            self.o.exponent.eq(number.exponent + FP32.bias - bias),
                            self.o.sign.eq(number.sign),
                            self.o.inf.eq(number.inf),
                            self.o.nan.eq(number.nan),
                        ]
        return m
