"""Normalisation of BF16 and FP16 elements for a block."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import SPECIAL, normal_sum, raw_sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate

SOURCES = (BF16, FP16)
"""Formats of the elements, in the order of their index."""
PRECISION = max(fmt.precision for fmt in SOURCES)
"""Significand bits of a normalised element."""
EXPONENT_WIDTH = bits_for(FP32.exponent_mask) + 1
"""Bits of a signed exponent with FP32's bias; normalised BF16 subnormals have a few below 0."""

MX_NUMBER = data.StructLayout({"normal": normal_sum(PRECISION, EXPONENT_WIDTH + 1), "special": SPECIAL})
"""Layout of an element: normalised with FP32's bias, and its special value."""


class MxSource(wiring.Component):
    """Combinational normalisation of a code, with the exponent field of its value in FP32.

    FP16's subnormals are normal in FP32. BF16's are subnormal, so their field is 0 like that of zero. Infinity and NaN
    have 255.

    Members
    -------
    code : In(16)
    source : In(1), index into :data:`SOURCES`
    o : Out(MX_NUMBER)
    field : Out(8)
    """

    clocked = False
    apart = True
    code: In(BF16.width)
    source: In(1)
    o: Out(MX_NUMBER)
    field: Out(FP32.exponent_bits)

    def elaborate(self, platform):
        m = Module()
        decode = instantiate(m, platform, "decode", Decode, SOURCES)
        number = decode.o
        total = Signal(raw_sum(PRECISION, EXPONENT_WIDTH))
        normalize = instantiate(m, platform, "normalize", Normalize, total.shape(), PRECISION)
        special = number.inf | number.nan
        exponent = normalize.o.exponent
        m.d.comb += [
            decode.code.eq(self.code),
            decode.format.eq(self.source),
            total.magnitude.eq(number.significand),
            # Exponent of the lowest bit; the decoder's bias is FP32's.
            total.exponent.eq(number.exponent - (PRECISION - 1)),
            total.sign.eq(number.sign),
            normalize.i.eq(total),
            self.o.normal.eq(normalize.o),
            self.o.special.sign.eq(number.sign),
            self.o.special.inf.eq(number.inf),
            self.o.special.nan.eq(number.nan),
            self.field.eq(Mux(special, FP32.exponent_mask, Mux(normalize.o.zero | (exponent < 0), 0, exponent))),
        ]
        return m
