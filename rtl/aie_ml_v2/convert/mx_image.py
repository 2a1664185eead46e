"""Memory image of an MX block::

     bit 0        8        16                16 + 16 * width
         exponent | shifts | code 0 | code 1 | ... | code 15 | zeros

Ref: UG1639 for the order of exponent, shifts and codes; the bit stream is this project's choice.
"""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK
from bitpath.rtl.aie_ml_v2.convert.layouts import IMAGE_BITS, MxBlock, MxCode


class MxImage(wiring.Component):
    """Pack exponent byte, shift byte and the codes in the format's width, element 0 lowest; combinational.

    Members
    -------
    i : In(MxBlock)
    block_format : In(MxCode)
    o : Out(144), the first byte in the lowest bits, zeros above the last
    """

    clocked = False
    i: In(MxBlock)
    block_format: In(MxCode)
    o: Out(IMAGE_BITS)

    def elaborate(self, platform):
        m = Module()
        with m.Switch(self.block_format):
            for code in MxCode:
                with m.Case(code) if code is not MxCode.MX4 else m.Default():
                    codes = [self.i.codes[k][: code.fmt.width] for k in range(MX_BLOCK)]
                    m.d.comb += self.o.eq(Cat(self.i.exponent, self.i.shift, *codes))
        return m
