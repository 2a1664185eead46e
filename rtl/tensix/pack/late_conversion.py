"""Last conversion of the packer: intermediate format to the range and precision of the L1 format.

``exponent += 127 - 15`` from 5 to 8 bits, ``-= 127 - 15`` from 8 to 5 bits; the fraction is truncated.

Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E4M3, FP16, FP32, Rounding
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, DST32, Format
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.pack.early_conversion import SHORT_FORMATS, SIGNED_BITS
from bitpath.rtl.tensix.unpack.float_word import (
    FIELDS,
    REBIAS,
    FloatWord,
    NarrowExponent,
    float_code,
    has_short_exponent,
)
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS

# FP16 to the FP8 code E4M3::
#
#       exponent of FP16    <= 8      9 to 23                      >= 24
#       E4M3                s 0       s, e - 8, upper 3 fraction   s 0x7F
#
# Ref: ttsim v1.10.0, ``Pac_LF8_4b_exp`` of Blackhole.


E4M3_REBIAS = FP16.bias - E4M3.bias


class E4m3Code(wiring.Component):
    """The code of a float with the fields of FP16; the fraction is truncated. It is combinational, with latency 0.

    Members
    -------
    i : In(FloatWord)
    o : Out(8)
    """

    clocked = False
    i: In(FloatWord)
    o: Out(E4M3.width)

    def elaborate(self, platform):
        m = Module()
        exponent, sign = self.i.exponent, self.i.sign
        m.d.comb += self.o[-1].eq(sign)
        with m.If(exponent > E4M3_REBIAS + E4M3.exponent_mask):
            m.d.comb += self.o[:-1].eq((1 << E4M3.width - 1) - 1)
        with m.Elif(exponent > E4M3_REBIAS):
            kept = self.i.fraction[-E4M3.fraction_bits :]
            m.d.comb += self.o[:-1].eq(Cat(kept, (exponent - E4M3_REBIAS)[: E4M3.exponent_bits]))
        return m


# Converted datum to its code in L1.


class L1Code(wiring.Component):
    """The code of a datum of ``out_format`` in L1.

    It is combinational, with latency 0.

    Parameters
    ----------
    has_e4m3 : True if ``e4m3`` makes FP8 E4M3, else it is not read.

    Members
    -------
    i : In(FloatWord), a float or an integer
    block : In(8), a block floating-point datum
    out_format : In(4)
    e4m3 : In(1)
    o : Out(32), the datum in its low bits
    """

    clocked = False
    i: In(FloatWord)
    block: In(8)
    out_format: In(FORMAT_BITS)
    e4m3: In(1)
    o: Out(DST32.width)

    def __init__(self, *, has_e4m3: bool):
        self.has_e4m3 = has_e4m3
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        with m.Switch(self.out_format):
            for fmt in (Format.BF16, Format.FP16):
                with m.Case(fmt):
                    m.d.comb += self.o.eq(float_code(self.i, FIELDS[fmt]))
            with m.Case(Format.FP8):
                e5m2 = float_code(self.i, FIELDS[Format.FP8])
                if self.has_e4m3:
                    e4m3 = instantiate(m, platform, "e4m3_code", E4m3Code)
                    m.d.comb += [e4m3.i.eq(self.i), self.o.eq(Mux(self.e4m3, e4m3.o, e5m2))]
                else:
                    m.d.comb += self.o.eq(e5m2)
            with m.Case(Format.INT16):
                m.d.comb += self.o.eq(float_code(self.i, BF16))
            with m.Case(Format.INT8):
                # Bit 7 is the sign of a signed datum, or the top magnitude bit of an unsigned one.
                top = self.i.fraction[SIGNED_BITS] | self.i.sign
                m.d.comb += self.o.eq(Cat(self.i.fraction[:SIGNED_BITS], top))
            with m.Case(*BLOCK_FLOATS):
                m.d.comb += self.o.eq(self.block)
            with m.Default():
                m.d.comb += self.o.eq(self.i)
        return m


# Float to a block floating-point datum, under the exponent that its block shares::
#
#       significand    h . f f f f f f f            8 bits; the hidden bit h is 0 if the exponent is 0
#       shifted        0 . m m m m m m m | guard | sticky      right by 1 + shared - exponent
#       BFP8           s m m m m m m m              magnitude rounded to 7 bits and clamped to 127
#       BFP4, BFP2     s m m m,  s m                its upper bits
#
# Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0 for the clamp and the sign.


MAGNITUDE_BITS = max(block.magnitude_bits for block in BLOCK_FLOATS.values())
"""Magnitude bits of BFP8; shorter magnitudes are its upper bits."""
BLOCK_FRACTION_BITS = 7
"""Fraction bits of the float that become a datum."""
SIGNIFICAND_BITS = BLOCK_FRACTION_BITS + 1
MAX_SHIFT = SIGNIFICAND_BITS + 1
"""At this shift a significand is below half a unit and rounds to 0: longer shifts saturate to it."""


class BlockEncode(wiring.Component):
    """A float as sign and magnitude under the shared exponent of its block.

    ``magnitude = min(127, round(significand / 2**(1 + shared - exponent)))``. ``shared`` must not be below the float's own
    exponent. A zero magnitude has sign 0. It is combinational, with latency 0.

    Parameters
    ----------
    tie : rounding mode; on magnitudes, RNU and RNA are the same.

    Members
    -------
    i : In(FloatWord)
    shared : In(8)
    out_format : In(4)
    o : Out(8), the datum in its low bits
    """

    clocked = False

    def __init__(self, tie: Rounding):
        self.tie = tie
        super().__init__(
            {
                "i": In(FloatWord),
                "shared": In(EXPONENT_BITS),
                "out_format": In(FORMAT_BITS),
                "o": Out(MAGNITUDE_BITS + 1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        distance = Signal(EXPONENT_BITS)
        shift = Signal(range(MAX_SHIFT + 1))
        significand = Cat(self.i.fraction[-BLOCK_FRACTION_BITS:], self.i.exponent.any())
        shifted = Signal(SIGNIFICAND_BITS + MAX_SHIFT)
        m.d.comb += [
            distance.eq(self.shared - self.i.exponent),
            shift.eq(Mux(distance > MAX_SHIFT - 1, MAX_SHIFT, distance + 1)),
            shifted.eq(Cat(Const(0, MAX_SHIFT), significand) >> shift),
        ]
        # The shift is at least 1, so the integer part has 7 bits, and 8 when rounding carries out.
        whole = shifted[MAX_SHIFT:]
        guard = shifted[MAX_SHIFT - 1]
        sticky = shifted[: MAX_SHIFT - 1].any()
        up = increment(self.tie, odd=whole[0], guard=guard, sticky=sticky, negative=Const(0))
        rounded = Signal(SIGNIFICAND_BITS)
        magnitude = Signal(MAGNITUDE_BITS)
        m.d.comb += [
            rounded.eq(whole + up),
            magnitude.eq(Mux(rounded[MAGNITUDE_BITS], (1 << MAGNITUDE_BITS) - 1, rounded)),
        ]
        with m.Switch(self.out_format):
            for bits in sorted({block.magnitude_bits for block in BLOCK_FLOATS.values()}):
                with m.Case(*(fmt for fmt, block in BLOCK_FLOATS.items() if block.magnitude_bits == bits)):
                    upper = magnitude[-bits:]
                    m.d.comb += self.o.eq(Cat(upper, self.i.sign & upper.any()))
        return m


CUT_FORMATS = (Format.BF16, Format.FP16)
"""L1 formats with accumulation whose fraction is shorter than an intermediate one."""
FULL_FORMATS = (Format.FP32, Format.TF32)
"""L1 formats with the fields of FP32."""


class LateConversion(wiring.Component):
    """An intermediate value with the exponent of its L1 format; of the float behind a block floating-point datum for those formats.

    Exponents are rebiased; integers pass through. The fraction is truncated for formats with accumulation in L1; other formats
    read only the bits that they have. A value of exponent 0 loses its fraction from FP32 to shorter 8-bit-exponent formats and
    from FP16 to FP8, and also its sign from FP16 to formats shorter than FP32. It is combinational, with latency 0.

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
