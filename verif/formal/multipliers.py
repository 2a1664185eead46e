"""Multipliers equal integer multiplication."""

from functools import partial

from amaranth import Cat, Const, Mux, Value

from bitpath.rtl.common.multiply import Multiply
from bitpath.rtl.common.raw import raw_float
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage

def long_multiplication(a: Value, b: Value) -> Value:
    """The product as it is done by hand: a row for each digit of ``b``."""
    rows = [Cat(Const(0, k), Mux(b[k], a, 0)) for k in range(len(b))]
    return sum(rows[1:], rows[0])


def multiply(claim: Claim, exponent_width: int, significand_width: int) -> None:
    dut = claim.place("dut", Multiply(raw_float(exponent_width, significand_width)))
    claim.ensure(
        dut.o.significand == long_multiplication(dut.a.significand, dut.b.significand),
        dut.o.exponent == dut.a.exponent + dut.b.exponent,
        dut.o.sign == (dut.a.sign != dut.b.sign),
    )

PROPERTIES = (
    Property("multiply_4", "common.multiply", "x", partial(multiply, exponent_width=5, significand_width=4),
     Sabotage("common/multiply.py", "a.significand * b.significand", "a.significand * (b.significand | 2)")),
    Property("multiply_8", "common.multiply", "x", partial(multiply, exponent_width=5, significand_width=8),
     Sabotage("common/multiply.py", "a.significand * b.significand", "a.significand * (b.significand | 2)")),
)
