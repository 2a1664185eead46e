"""Operators of VectorE and ScalarE on FP32 numbers."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_add import Fp32Add
from bitpath.rtl.common.fp32.fp32_multiply import Fp32Multiply
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.lanes.engine_control import Operator
from bitpath.rtl.trainium3.lanes.fp32_order import Fp32Order

ONE = FP32.bias << FP32.fraction_bits


class Fp32Operator(wiring.Component):
    """Combinational ``o = x op y``, rounded once to nearest even; bit operators give x.

    Comparisons of NaN are false, but unequal; NaN counts as true. A maximum takes +0 of two zeros, a minimum -0.

    Members
    -------
    x, y : In(32), FP32; NaN is the canonical one
    op : In(Operator)
    o : Out(32), FP32
    """

    clocked = False
    x: In(FP32.width)
    y: In(FP32.width)
    op: In(Operator)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        add = instantiate(m, platform, "add", Fp32Add)
        multiply = instantiate(m, platform, "multiply", Fp32Multiply)
        compare = instantiate(m, platform, "order", Fp32Order)
        order = compare.o
        m.d.comb += [
            add.a.eq(x),
            add.b.eq(Cat(y[:-1], y[-1] ^ (self.op == Operator.SUBTRACT))),
            multiply.a.eq(x),
            multiply.b.eq(y),
            compare.a.eq(x),
            compare.b.eq(y),
        ]
        x_true, y_true = (each[:-1].any() for each in (x, y))
        nan, zeros, same, below = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            nan.eq(Cat(each[FP32.fraction_bits - 1 : -1].all() for each in (x, y)).any()),
            zeros.eq(~x_true & ~y_true),
            same.eq((x == y) | zeros),
            below.eq(order.below & ~zeros),
        ]
        truths = {
            Operator.EQUAL: same & ~nan,
            Operator.NOT_EQUAL: ~same | nan,
            Operator.GREATER: ~same & ~below & ~nan,
            Operator.GREATER_EQUAL: ~below & ~nan,
            Operator.LESS: below & ~nan,
            Operator.LESS_EQUAL: (below | same) & ~nan,
            Operator.LOGICAL_AND: x_true & y_true,
            Operator.LOGICAL_OR: x_true | y_true,
            Operator.LOGICAL_XOR: x_true ^ y_true,
            Operator.LOGICAL_NOT: ~x_true,
        }
        chosen = {
            Operator.MAX: Mux(order.below, y, x),
            Operator.MIN: Mux(order.below, x, y),
            Operator.ABS_MAX: Mux(order.smaller | order.level, y, x),
            Operator.ABS_MIN: Mux(order.smaller, x, y),
        }
        numbers = {
            Operator.ADD: add.o,
            Operator.SUBTRACT: add.o,
            Operator.MULTIPLY: multiply.o,
            Operator.ABS: x[:-1],
            **{operator: Mux(nan, FP32.nan_code, value) for operator, value in chosen.items()},
            **{operator: _one_if(value) for operator, value in truths.items()},
        }
        with m.Switch(self.op):
            for operator, value in numbers.items():
                with m.Case(operator):
                    m.d.comb += self.o.eq(value)
            with m.Default():
                m.d.comb += self.o.eq(x)
        return m


def _one_if(truth: Value) -> Value:
    return Mux(truth, Const(ONE, FP32.width), 0)
