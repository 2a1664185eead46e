"""Difference of the exponential: an element minus the row's maximum.

Ref: ``nki.isa.exponential`` reference page, NKI 0.5.
"""

from amaranth import Cat, Const, Module, Mux
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.fp32.fp32_sum import UNPACKED, Fp32Sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate

NARROW = (BF16, FP16)
"""16-bit formats, above 16 zeros; one decoder for both has FP32's bias."""
SIGN = UNPACKED.const({"sign": 1}).as_bits()


class Source(enum.Enum, shape=2):
    """Format of elements; 16-bit codes take the upper half, above 16 zeros."""

    BF16 = 0
    FP16 = 1
    FP32 = 2


class ExponentialDifference(wiring.Component):
    """Combinational FP32 difference ``o = i - max_value``, rounded once to nearest even.

    Members
    -------
    i : In(32), a code of ``source``
    source : In(Source)
    max_value : In(32), FP32
    o : Out(32), FP32
    """

    clocked = False
    apart = True
    i: In(FP32.width)
    source: In(Source)
    max_value: In(FP32.width)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        wide = instantiate(m, platform, "decode_wide", Decode, (FP32,))
        narrow = instantiate(m, platform, "decode_narrow", Decode, NARROW)
        maximum = instantiate(m, platform, "decode_max_value", Decode, (FP32,))
        total = instantiate(m, platform, "sum", Fp32Sum)
        padded = Cat(Const(0, FP32.precision - len(narrow.o.significand)), narrow.o)
        m.d.comb += [
            wide.code.eq(self.i),
            narrow.code.eq(self.i[-BF16.width :]),
            narrow.format.eq(self.source == Source.FP16),
            maximum.code.eq(self.max_value),
            total.a.eq(Mux(self.source == Source.FP32, wide.o, padded)),
            total.b.eq(maximum.o.as_value() ^ SIGN),
            self.o.eq(total.o),
        ]
        return m
