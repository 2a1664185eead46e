"""The exponential's steps, its four multiplications among them, equal what ``ExponentialNumerics`` says."""

from dataclasses import replace
from decimal import Decimal
from math import isqrt

from amaranth import Array, Cat, Const, Mux, Value

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, ExponentialNumerics
from bitpath.rtl.trainium3.vector.exponential import ExponentialArgument, ExponentialPower
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import long_multiplication

PROPERTIES = Properties("trainium3/vector")
_EXPONENTIAL = TRAINIUM3_EXPONENTIAL.numerics
_SMALL = replace(_EXPONENTIAL, fraction_bits=8, table_bits=2, log2e_bits=10, power_bits=12)


@PROPERTIES.of(
    "exponential_power",
    "exponential_table_{numerics.fraction_bits}",
    "{what}: powers of two to nearest, {numerics.fraction_bits} fraction bits",
    Sabotage(
        "trainium3/vector/exponential.py",
        "bit, factor in enumerate(roots)",
        "bit, factor in enumerate(roots[::-1])",
    ),
    "numerics, what",
    ((_SMALL, "small"), (_EXPONENTIAL, "real")),
)
def table(claim: Claim, numerics: ExponentialNumerics) -> None:
    """If the polynomial is 1, the output is the table's entry."""
    bits, table_bits = numerics.fraction_bits, numerics.table_bits
    dut = claim.instantiate("dut", ExponentialPower(numerics))
    claim.assume(dut.i[: bits - table_bits] == 0)
    entries = Array(_power(numerics, index) for index in range(1 << table_bits))
    entry = claim.value(entries[dut.i[bits - table_bits : bits]], "entry", bits + 1)
    claim.ensure(dut.o.magnitude == entry << bits - dut.dropped, ~dut.o.sign)
    claim.ensure(dut.o.exponent == (dut.i >> bits) - (2 * bits - dut.dropped))


@PROPERTIES.of(
    "exponential_power",
    "exponential_power_{numerics.fraction_bits}",
    "{what}: what the table has by the polynomial on {numerics.fraction_bits} fraction bits, three products {how}",
    ("entry * past_one", "entry * (past_one | 1)"),
    "numerics, what, how, by_hand",
    ((_SMALL, "small", "by hand", True), (_EXPONENTIAL, "real", "of the integers", False)),
)
def power(claim: Claim, numerics: ExponentialNumerics, by_hand: bool) -> None:
    """Steps 2 to 4 of the exponential, as ``ExponentialNumerics`` has them, with what the table has."""

    def multiplied(a: Value, b: Value) -> Value:
        return long_multiplication(a, b) if by_hand else a * b

    bits, rest_bits = numerics.fraction_bits, numerics.fraction_bits - numerics.table_bits
    dut = claim.instantiate("dut", ExponentialPower(numerics))
    at_entry = claim.instantiate("at_entry", ExponentialPower(numerics), i=Cat(Const(0, rest_bits), dut.i[rest_bits:]))
    entry = claim.value(at_entry.o.magnitude >> bits - dut.dropped, "entry", bits + 1)
    linear = claim.value(multiplied(dut.i[:rest_bits], Const(_ln2(bits))) >> bits, "linear", rest_bits)
    past_one = claim.value(linear + (multiplied(linear, linear) >> bits + 1), "past_one", rest_bits + 1)
    value = claim.value((entry << bits) + multiplied(entry, past_one), "value", 2 * bits + 2)
    claim.ensure(dut.o.magnitude == value >> dut.dropped)


def _ln2(bits: int) -> int:
    """To nearest; 28 digits suffice."""
    return int((Decimal(2).ln() * (1 << bits)).to_integral_value())


def _power(numerics: ExponentialNumerics, index: int) -> int:
    """``2**(index * 2**-table_bits)`` to nearest: a power of two's root, with a bit more."""
    root = 1 << index + (numerics.fraction_bits + 1 << numerics.table_bits)
    for _ in range(numerics.table_bits):
        root = isqrt(root)
    return (root + 1) >> 1


@PROPERTIES.of(
    "exponential_argument",
    "exponential_argument_{numerics.fraction_bits}",
    "{what}: any FP32 number times log2(e), {numerics.fraction_bits} fraction bits; 128 and more is far enough; NaN",
    ("number.significand * factor", "number.significand * (factor - 1)"),
    "numerics, what",
    ((_SMALL, "small"), (_EXPONENTIAL, "real")),
)
def argument(claim: Claim, numerics: ExponentialNumerics) -> None:
    """Step 1 of the exponential; of 128 and more, only that the result is infinite or zero."""
    dut = claim.instantiate("dut", ExponentialArgument(numerics))
    bits, log2e_bits = numerics.fraction_bits, numerics.log2e_bits
    fraction, field, sign = dut.t[: FP32.fraction_bits], dut.t[FP32.fraction_bits : -1], dut.t[-1]
    significand = claim.value(Cat(fraction, field != 0), "significand")
    log2e = int(((1 << log2e_bits) / Decimal(2).ln()).to_integral_value())
    product = claim.value(significand * log2e, "product")
    down = FP32.bias + FP32.fraction_bits + log2e_bits - bits
    u = claim.value(product >> (down - Mux(field == 0, 1, field))[: FP32.exponent_bits], "u", len(dut.o))
    far = field >= FP32.bias + 7
    beyond = Mux(sign, (dut.o >> bits) < FP32.emin - FP32.fraction_bits - 1, (dut.o >> bits) > FP32.emax)
    claim.ensure(Mux(far, beyond, dut.o.as_unsigned() == u ^ sign.replicate(len(u))))
    claim.ensure(dut.nan == (dut.t[:-1] > FP32.infinity_code))
