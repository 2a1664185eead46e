"""Bit operators of VectorE on integers of 8, 16 or 32 bits."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.trainium3.dma.dma_cast import WIDTHS
from bitpath.rtl.trainium3.lanes.engine_control import WORD_BITS, Operator


class BitOperator(wiring.Component):
    """Combinational ``o = x op y`` on the low bits of words; operators of FP32 give x.

    A shift by the size or more gives 0; its count is read without sign.

    Members
    -------
    x, y : In(32), zeros above the size
    log_bytes : In(2), 0, 1 or 2 for a size of 1, 2 or 4 bytes
    op : In(Operator)
    o : Out(32), zeros above the size
    """

    clocked = False
    x: In(WORD_BITS)
    y: In(WORD_BITS)
    log_bytes: In(2)
    op: In(Operator)
    o: Out(WORD_BITS)

    def elaborate(self, platform):
        m = Module()
        x, y, word = self.x, self.y, Signal(WORD_BITS)
        count = y[: WORD_BITS.bit_length() - 1]
        beyond = y[WORD_BITS.bit_length() - 1 :].any()
        with m.Switch(self.op):
            with m.Case(Operator.BITWISE_AND):
                m.d.comb += word.eq(x & y)
            with m.Case(Operator.BITWISE_OR):
                m.d.comb += word.eq(x | y)
            with m.Case(Operator.BITWISE_XOR):
                m.d.comb += word.eq(x ^ y)
            with m.Case(Operator.LEFT_SHIFT):
                m.d.comb += word.eq(Mux(beyond, 0, x << count))
            with m.Case(Operator.RIGHT_SHIFT):
                m.d.comb += word.eq(Mux(beyond, 0, x >> count))
            with m.Case(Operator.BITWISE_NOT):
                m.d.comb += word.eq(~x)
            with m.Default():
                m.d.comb += word.eq(x)
        with m.Switch(self.log_bytes):
            for log, bits in enumerate(WIDTHS):
                with m.Case(log):
                    m.d.comb += self.o.eq(word[:bits])
        return m
