"""Converted datum to its code in L1."""

from amaranth import Cat, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, DST32, Format
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.pack.clamp_integer import SIGNED_BITS
from bitpath.rtl.tensix.pack.e4m3_code import E4m3Code
from bitpath.rtl.tensix.unpack.float_word import FIELDS, FloatWord, float_code


class L1Code(wiring.Component):
    """The code of a datum of ``out_format`` in L1.

    Combinational: latency 0.

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
