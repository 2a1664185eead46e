"""Multipliers equal integer multiplication."""

from functools import partial

from amaranth import Cat, Const, Mux, Value, signed

from bitpath.golden.spec.formats import E4M3FN, E5M2, FloatFormat
from bitpath.rtl.aie_ml_v2.products import SIGN_PLACE
from bitpath.rtl.aie_ml_v2.signed_product import SignedProduct
from bitpath.rtl.aie_ml_v2.term_plan import SIGNIFICAND_BITS
from bitpath.rtl.common.decode import Decode
from bitpath.rtl.common.multiply import Multiply
from bitpath.rtl.common.raw import raw_float
from bitpath.rtl.tensix.fidelity_multiplier import FidelityMultiplier
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.formal.specification import long_multiplication

ELEMENTS = (E4M3FN, E5M2)
GRID_BIAS = E5M2.bias + E5M2.fraction_bits - 1
"""A fixed-point element is in units of ``2**-GRID_BIAS``, of which every number of both formats is a multiple."""


def multiply(claim: Claim, exponent_width: int, significand_width: int, *, by_hand: bool = True) -> None:
    dut = claim.place("dut", Multiply(raw_float(exponent_width, significand_width)))
    a, b = dut.a, dut.b
    product = long_multiplication(a.significand, b.significand) if by_hand else a.significand * b.significand
    a_zero, b_zero = a.significand == 0, b.significand == 0
    claim.ensure(
        dut.o.significand == product,
        dut.o.exponent == a.exponent + b.exponent,
        dut.o.sign == (a.sign != b.sign),
        dut.o.inf == (a.inf | b.inf),
        dut.o.nan == (a.nan | b.nan | (a.inf & b_zero) | (b.inf & a_zero)),
    )


def _fixed(claim: Claim, code: Value, fmt: FloatFormat, name: str) -> Value:
    """The magnitude of a finite code in units of ``2**-GRID_BIAS``."""
    fraction, field = code[: fmt.fraction_bits], code[fmt.fraction_bits : -1]
    significand = Cat(fraction, field != 0)
    to_grid = GRID_BIAS - fmt.bias - fmt.fraction_bits + 1
    return claim.value(significand << (Mux(field == 0, 0, field - 1)[: fmt.exponent_bits] + to_grid), name)


def element_product(claim: Claim, left: FloatFormat, right: FloatFormat) -> None:
    decoders = [claim.place(name, Decode(ELEMENTS), format=ELEMENTS.index(fmt)) for name, fmt in zip("ab", (left, right))]
    dut = claim.place("dut", Multiply(decoders[0].o.shape()), a=decoders[0].o, b=decoders[1].o)
    a, b = (_fixed(claim, each.code, fmt, f"fixed_{k}") for k, (each, fmt) in enumerate(zip(decoders, (left, right))))
    # An exponent counts from 1, and both decoders' bias and fraction bits are in it.
    unit = 2 * (max(fmt.bias for fmt in ELEMENTS) + max(fmt.fraction_bits for fmt in ELEMENTS)) - 2 * GRID_BIAS
    claim.assume(~(decoders[0].o.inf | decoders[0].o.nan), ~(decoders[1].o.inf | decoders[1].o.nan))
    value = claim.value(dut.o.significand << dut.o.exponent, "value")
    claim.ensure(value == claim.value(long_multiplication(a, b) << unit, "product"))


def fidelity(claim: Claim) -> None:
    dut = claim.place("dut", FidelityMultiplier())
    low_a, low_b = dut.phase[0], dut.phase[1]
    claim.assume(~(dut.is_integer & dut.src_b[-1]))
    float_a = Mux(low_a, (dut.src_a >> 1) & 31, dut.src_a >> 6)
    integer_a = Mux(low_a, dut.src_a & 31, (dut.src_a >> 5) & 7)
    a = claim.value(Mux(dut.is_integer, integer_a, float_a), "field_a", 5)
    b = claim.value(Mux(low_b, (dut.src_b & 15) << 3, dut.src_b >> 4), "field_b", 7)
    claim.ensure(dut.o == long_multiplication(a, b))


def signed_product(claim: Claim, width: int, place: int) -> None:
    dut = claim.place("dut", SignedProduct(width, place))
    claim.assume((dut.a.magnitude >> place + 1) == 0, (dut.b.magnitude >> place + 1) == 0)
    a = claim.value(dut.a.magnitude[: place + 1] - (dut.a.sign << place), "a")
    # The sign is the digit of the highest weight, which is negative.
    rows = [Mux(dut.b.magnitude[k], a << k, 0) for k in range(min(width, place + 1))]
    product = sum(rows[1:], rows[0]) - Mux(dut.b.sign, a << place, 0)
    claim.ensure(dut.o == claim.value(product, "product", dut.o.shape()))


def unsigned_product(claim: Claim, width: int, place: int) -> None:
    dut = claim.place("dut", SignedProduct(width, place))
    claim.assume(~dut.a.sign, ~dut.b.sign)
    claim.ensure(dut.o == long_multiplication(dut.a.magnitude, dut.b.magnitude))


_MULTIPLY = Sabotage("common/multiply.py", "a.significand * b.significand", "a.significand * (b.significand | 2)")
_SIGNS = Sabotage("aie_ml_v2/signed_product.py", "(of_a + of_b)", "(of_a | of_b)")

PROPERTIES = (
    *(
        Property(
            f"multiply_{bits}",
            "common.multiply",
            f"{bits} x {bits} bits by hand; exponents added; infinities, NaN",
            partial(multiply, exponent_width=exponent, significand_width=bits),
            _MULTIPLY,
        )
        for bits, exponent in ((4, 5), (8, 8), (11, 8))
    ),
    Property(
        "multiply_24",
        "common.multiply",
        "24 x 24 bits, FP32: the integers' product; exponents added; infinities, NaN",
        partial(multiply, exponent_width=8, significand_width=24, by_hand=False),
        _MULTIPLY,
    ),
    *(
        Property(
            f"element_product_{left.name}_{right.name}".lower(),
            "trainium3.quad_mx_dot",
            f"{left.name} x {right.name}: the product of both numbers on a fixed-point grid",
            partial(element_product, left=left, right=right),
            Sabotage("common/decode.py", "Mux(normal, exponent, 1)", "exponent"),
        )
        for left, right in ((E4M3FN, E4M3FN), (E4M3FN, E5M2), (E5M2, E5M2))
    ),
    Property(
        "fidelity_multiplier",
        "tensix.fidelity_multiplier",
        "the fields of every phase, floats and integers, multiplied by hand",
        fidelity,
        Sabotage("tensix/fidelity_multiplier.py", "(self.is_integer & ~low_a, a[5:8])", "(self.is_integer & ~low_a, a[5:9])"),
    ),
    Property(
        "unsigned_product_11",
        "aie_ml_v2.signed_product",
        "11 x 11 bits without signs, by hand",
        partial(unsigned_product, width=SIGNIFICAND_BITS, place=SIGN_PLACE),
        Sabotage("aie_ml_v2/signed_product.py", "a.magnitude * b.magnitude", "a.magnitude * (b.magnitude & ~1)"),
    ),
    Property(
        "signed_product_8",
        "aie_ml_v2.signed_product",
        "8 x 8 bits, with a sign or one bit more, by hand",
        partial(signed_product, width=SIGNIFICAND_BITS, place=SIGN_PLACE),
        _SIGNS,
    ),
    Property(
        "signed_product_4",
        "aie_ml_v2.signed_product",
        "4 bits and sign, MX6's, by hand",
        partial(signed_product, width=4, place=4),
        _SIGNS,
    ),
)
