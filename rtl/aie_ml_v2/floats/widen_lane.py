"""BF16 or FP16 to FP32, exact: FP16's subnormals are normalised, NaN keeps its payload.

Ref: BF16 to FP32 as measured on first-generation silicon.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.aie_ml_v2.floats.layouts import WidenControl
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import raw_sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate

NUMBER = raw_sum(FP16.precision, FP16.exponent_bits + 1)
"""An FP16 number; the exponent of its lowest bit, less FP16's bias, is -9 to 21."""


class WidenLane(wiring.Component):
    """FP32 code of a BF16 or FP16 number; combinational.

    Members
    -------
    i : In(16)
    control : In(WidenControl)
    o : Out(32), FP32
    """

    clocked = False
    apart = True

    i: In(FP16.width)
    control: In(WidenControl)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        decode = instantiate(m, platform, "decode", Decode, (FP16,))
        normalize = instantiate(m, platform, "normalize", Normalize, NUMBER, FP16.precision)
        number, normal = decode.o, normalize.o
        exponent = Signal(FP32.exponent_bits)
        special = number.inf | number.nan
        below = FP32.fraction_bits - FP16.fraction_bits
        m.d.comb += [
            decode.code.eq(self.i),
            normalize.i.magnitude.eq(number.significand),
            normalize.i.exponent.eq(number.exponent - FP16.fraction_bits),
            exponent.eq(Mux(normal.zero, 0, normal.exponent + (FP32.bias - FP16.bias))),
        ]
        # A special code has a hidden bit, so that its fraction is the normalised one too.
        with m.If(self.control.is_bf16):
            m.d.comb += self.o.eq(Cat(Const(0, FP32.width - BF16.width), self.i))
        with m.Else():
            m.d.comb += self.o.eq(
                Cat(
                    Const(0, below),
                    normal.significand[:-1],
                    exponent | special.replicate(FP32.exponent_bits),
                    number.sign,
                )
            )
        return m
