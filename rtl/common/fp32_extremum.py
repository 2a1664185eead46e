"""The larger or the smaller of two FP32 numbers."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.spec.formats import FP32


def is_nan(code: Value) -> Value:
    """Whether an FP32 code is a NaN."""
    return code[: FP32.width - 1] > FP32.infinity_code


def order(code: Value) -> Value:
    """An unsigned number that grows with the value of an FP32 code, -0 just below +0."""
    sign = code[-1]
    return Cat(code[:-1] ^ sign.replicate(FP32.width - 1), ~sign)


class Fp32Extremum(wiring.Component):
    """``o = max(a, b)`` or ``min(a, b)``, the one NaN where either is a NaN; -0 is less than +0. Combinational.

    Parameters
    ----------
    largest : whether the larger one is taken.

    Members
    -------
    a, b : In(32), FP32
    o : Out(32), FP32
    """

    clocked = False

    def __init__(self, *, largest: bool):
        self.largest = largest
        super().__init__({"a": In(FP32.width), "b": In(FP32.width), "o": Out(FP32.width)})

    def elaborate(self, platform):
        m = Module()
        a_above = Signal()
        m.d.comb += [
            a_above.eq(order(self.a) > order(self.b)),
            self.o.eq(Mux(a_above == self.largest, self.a, self.b)),
        ]
        with m.If(is_nan(self.a) | is_nan(self.b)):
            m.d.comb += self.o.eq(FP32.nan_code)
        return m
