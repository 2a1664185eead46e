"""Multipliers equal integer multiplication."""

from functools import partial

from amaranth import Cat, Mux, Value
from amaranth.lib import data

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, FloatFormat
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, DEPTH, WORD_BITS
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.aie_ml_v2.mac.post_add import TERM_BITS, PostAdd
from bitpath.rtl.aie_ml_v2.mac.products import FACTOR, SIGN_PLACE, WIDE_BITS, Products
from bitpath.rtl.aie_ml_v2.mac.signed_product import SignedProduct
from bitpath.rtl.aie_ml_v2.mac.term_plan import SIGNIFICAND_BITS
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.raw import raw_float
from bitpath.rtl.tensix.dot.fidelity_multiplier import FidelityMultiplier
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
    formats = {"a": left, "b": right}
    decoders = {name: claim.place(name, Decode(ELEMENTS), format=ELEMENTS.index(fmt)) for name, fmt in formats.items()}
    numbers = {name: decoder.o for name, decoder in decoders.items()}
    dut = claim.place("dut", Multiply(numbers["a"].shape()), **numbers)
    a, b = (_fixed(claim, decoders[name].code, fmt, f"fixed_{name}") for name, fmt in formats.items())
    # An exponent counts from 1, and both decoders' bias and fraction bits are in it.
    unit = 2 * (max(fmt.bias for fmt in ELEMENTS) + max(fmt.fraction_bits for fmt in ELEMENTS)) - 2 * GRID_BIAS
    claim.assume(*(~(number.inf | number.nan) for number in numbers.values()))
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


def signed_product(claim: Claim, width: int, place: int, signs: tuple[int, int]) -> None:
    dut = claim.place("dut", SignedProduct(width, place))
    claim.assume(dut.a.sign == signs[0], dut.b.sign == signs[1])
    claim.assume((dut.a.magnitude >> place + 1) == 0, (dut.b.magnitude >> place + 1) == 0)
    a, b = (
        claim.value(each.magnitude[: place + 1] - (sign << place), name)
        for each, sign, name in zip((dut.a, dut.b), signs, "ab", strict=True)
    )
    claim.ensure(dut.o == a * b)


def unsigned_product(claim: Claim, width: int, place: int) -> None:
    dut = claim.place("dut", SignedProduct(width, place))
    claim.assume(~dut.a.sign, ~dut.b.sign)
    claim.ensure(dut.o == long_multiplication(dut.a.magnitude, dut.b.magnitude))


def int16_digits(claim: Claim) -> None:
    """What the multipliers take of 16-bit integers: each digit of one with each of the other."""
    dut = claim.place("dut", Products(_INT16))
    i, control = dut.i, dut.i.control
    claim.assume(control.mode == MacMode.INT16, control.multiplies)
    for k in range(DEPTH):
        for factor, word, is_signed, upper in (
            (f"a_{k}", i.x, control.x_signed, k % 4 // 2),
            (f"b_{k}", i.y, control.y_signed, k % 2),
        ):
            digit = word.word_select(k // 4, WORD_BITS).word_select(upper, BYTE)
            wanted = digit - ((digit[-1] & is_signed & upper) << BYTE)
            taken = data.View(FACTOR, claim.inside("dut", factor))
            claim.ensure(taken.magnitude >> BYTE == 0, taken.magnitude - (taken.sign << SIGN_PLACE) == wanted)


def int16_sum(claim: Claim) -> None:
    """Products of digits at the digits' places, added as it is done by hand."""
    dut = claim.place("dut", PostAdd(_INT16))
    wide = dut.i.wide
    claim.assume(dut.i.control.mode == MacMode.INT16)
    # What only MX has is 0; the others are no larger than products of bytes.
    claim.assume(
        *(dut.i.narrow[k] == 0 for k in range(DEPTH)),
        *(wide[k] >> TERM_BITS - 1 == wide[k] >> WIDE_BITS for k in range(DEPTH)),
    )
    placed = [wide[k] << BYTE * (k % 4 // 2 + k % 2) for k in range(DEPTH)]
    claim.ensure(dut.o == claim.value(sum(placed[1:], placed[0]), "sum", dut.o.shape()))


_INT16 = MacLaneConfig(modes=(MacMode.INT16,))
_MULTIPLY = Sabotage(
    "common/arithmetic/multiply.py", "a.significand * b.significand", "a.significand * (b.significand | 2)"
)

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
            _MULTIPLY,
        )
        for left, right in ((E4M3FN, E4M3FN), (E4M3FN, E5M2), (E5M2, E5M2))
    ),
    Property(
        "fidelity_multiplier",
        "tensix.fidelity_multiplier",
        "the fields of every phase, floats and integers, multiplied by hand",
        fidelity,
        Sabotage(
            "tensix/dot/fidelity_multiplier.py",
            "(self.is_integer & ~low_a, a[5:8])",
            "(self.is_integer & ~low_a, a[5:9])",
        ),
    ),
    Property(
        "unsigned_product_11",
        "aie_ml_v2.signed_product",
        "11 x 11 bits without signs, by hand",
        partial(unsigned_product, width=SIGNIFICAND_BITS, place=SIGN_PLACE),
        Sabotage("aie_ml_v2/mac/signed_product.py", "a.magnitude * b.magnitude", "a.magnitude * (b.magnitude & ~1)"),
    ),
    *(
        Property(
            f"signed_product_{bits}_{'_'.join(kinds[sign] for sign in signs)}",
            "aie_ml_v2.signed_product",
            f"{bits} x {bits} bits, {kinds[signs[0]]} x {kinds[signs[1]]} by their sign bits: the integers' product",
            partial(signed_product, width=width, place=place, signs=signs),
            Sabotage(
                "aie_ml_v2/mac/signed_product.py", "(of_a + of_b)", "(of_a | of_b)" if all(signs) else "(of_a & of_b)"
            ),
        )
        for kinds in (("positive", "negative"),)
        for bits, width, place in ((5, 4, 4), (8, SIGNIFICAND_BITS, SIGN_PLACE))
        for signs in ((0, 1), (1, 0), (1, 1))
    ),
    Property(
        "int16_digits",
        "aie_ml_v2.products",
        "INT16, signed or not: signed_product takes each digit of base 256 with each of the other integer's",
        int16_digits,
        Sabotage("aie_ml_v2/mac/products.py", "is_signed & bool(high)", "is_signed"),
    ),
    Property(
        "int16_sum",
        "aie_ml_v2.post_add",
        "INT16: the products of digits at their places, added as in long multiplication, modulo 2**32",
        int16_sum,
        Sabotage("aie_ml_v2/mac/post_add.py", "(terms[1] + terms[2])", "(terms[1] + terms[3])"),
    ),
)
