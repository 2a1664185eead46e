"""An element as a PE takes it, from its code in any format of the unscaled matmul."""

from amaranth import Cat, Const, Module, Mux
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.tensor.operand import WIDE
from bitpath.rtl.trainium3.tensor.pass_element import Part, PassElement


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
