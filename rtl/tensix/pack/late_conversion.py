"""Last conversion of the packer: intermediate format to the range and precision of the L1 format.

``exponent += 127 - 15`` from 5 to 8 bits, ``-= 127 - 15`` from 8 to 5 bits; the fraction is truncated.

Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.pack.early_conversion import SHORT_FORMATS
from bitpath.rtl.tensix.unpack.float_word import FIELDS, FloatWord, has_short_exponent
from bitpath.rtl.tensix.unpack.narrow_exponent import REBIAS, NarrowExponent

CUT_FORMATS = (Format.BF16, Format.FP16)
"""L1 formats with accumulation whose fraction is shorter than an intermediate one."""
FULL_FORMATS = (Format.FP32, Format.TF32)
"""L1 formats with the fields of FP32."""


class LateConversion(wiring.Component):
    """An intermediate value with the exponent of its L1 format; of the float behind a block floating-point datum for those formats.

    Exponents are rebiased; integers pass through. The fraction is truncated for formats with accumulation in L1; other formats
    read only the bits that they have. A value of exponent 0 loses its fraction from FP32 to shorter 8-bit-exponent formats and
    from FP16 to FP8, and also its sign from FP16 to formats shorter than FP32. Combinational: latency 0.

    Members
    -------
    i : In(FloatWord)
    mid_format, out_format : In(4)
    o : Out(FloatWord)
    """

    clocked = False
    i: In(FloatWord)
    mid_format: In(FORMAT_BITS)
    out_format: In(FORMAT_BITS)
    o: Out(FloatWord)

    def elaborate(self, platform):
        m = Module()
        from_short, to_short, to_full, zero = (
            Signal(name=name) for name in ("from_short", "to_short", "to_full", "zero")
        )
        cut = Signal(FP32.fraction_bits)
        converted = Signal(FloatWord)
        narrow = instantiate(m, platform, "narrow", NarrowExponent)
        m.d.comb += [
            from_short.eq(self.mid_format.matches(*SHORT_FORMATS)),
            to_short.eq(has_short_exponent(self.out_format)),
            to_full.eq(self.out_format.matches(*FULL_FORMATS)),
            zero.eq(~self.i.exponent.any()),
            narrow.i.eq(self.i),
            converted.eq(self.i),
        ]
        with m.Switch(self.out_format):
            for fmt in CUT_FORMATS:
                with m.Case(fmt):
                    m.d.comb += cut.eq((1 << FP32.fraction_bits - FIELDS[fmt].fraction_bits) - 1)

        with m.If(from_short & ~to_short):
            short_exponent = self.i.exponent[: FP16.exponent_bits]
            m.d.comb += converted.exponent.eq(Mux(zero, 0, short_exponent + REBIAS))
            with m.If(zero & ~to_full):
                m.d.comb += [converted.fraction.eq(0), converted.sign.eq(0)]
        with m.Elif(to_short & ~from_short):
            # FP16 has the longest fraction of the formats with 5-bit exponents.
            kept = narrow.o.fraction[FP32.fraction_bits - FP16.fraction_bits :]
            m.d.comb += [
                converted.eq(narrow.o),
                converted.fraction.eq(Cat(Const(0, FP32.fraction_bits - FP16.fraction_bits), kept)),
            ]
        with m.Elif(zero & ~to_full & self.mid_format.matches(*FULL_FORMATS)):
            m.d.comb += converted.fraction.eq(0)
        with m.Elif(zero & from_short & (self.out_format == Format.FP8)):
            m.d.comb += converted.fraction.eq(0)
        m.d.comb += [
            self.o.fraction.eq(converted.fraction & ~cut),
            self.o.exponent.eq(converted.exponent),
            self.o.sign.eq(converted.sign),
        ]
        return m
