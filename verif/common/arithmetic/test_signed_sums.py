# amaranth: UnusedElaboratable=no
"""The operators of two's complement sums against integers and golden's exact tier, in Amaranth's own simulator."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

import pytest
from amaranth import Cat, Module, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, Rounding, Specials
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.rtl.common.arithmetic.add import carry_save
from bitpath.rtl.common.arithmetic.decode import moving_sum
from bitpath.rtl.common.arithmetic.dot_sum import two_rows
from bitpath.rtl.common.arithmetic.multiply import FixedPoint
from bitpath.rtl.common.arithmetic.normalize import NormalizeShift
from bitpath.rtl.common.arithmetic.round import RoundSigned
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.verif.kit.testplan import covers


@covers("quad_mx_dot.operators")
@pytest.mark.parametrize(("in_width", "origin"), [(3, 0), (4, 5), (5, 2)])
def test_fixed_point_every_value_on_the_grid(evaluate, in_width, origin):
    out_width = 19
    cases = [
        (i, exponent, negative)
        for i, exponent, negative in product(range(1 << in_width), range(32), (0, 1))
        if (value := Fraction(i) * Fraction(2) ** (exponent - origin)).denominator == 1 and value < 1 << out_width
    ]
    vectors = [{"i": i, "exponent": e, "negative": negative} for i, e, negative in cases]
    results = evaluate(FixedPoint(in_width, out_width, 5, origin), vectors)
    for (i, exponent, negative), got in zip(cases, results, strict=True):
        value = i << exponent >> origin
        assert got == ((1 << out_width) - 1 - value if negative else value)


class Rows(wiring.Component):
    """Return the sum of the two rows of ``two_rows``."""

    def __init__(self, terms, bits, width):
        self.bits, self.width = bits, width
        term = data.ArrayLayout(bits, terms)
        super().__init__({"terms": In(term), "negative": In(terms), "partial": In(width - 1), "o": Out(signed(width))})

    def elaborate(self, platform):
        m = Module()
        inverted = [term ^ sign.replicate(self.bits) for term, sign in zip(self.terms, self.negative, strict=True)]
        rows = two_rows(m, inverted, list(self.negative), self.partial, self.width)
        m.d.comb += self.o.eq(rows["sums"] + rows["carries"] + rows["one"])
        return m


@covers("quad_mx_dot.operators")
@pytest.mark.parametrize(
    ("terms", "bits", "width"), [(1, 4, 7), (2, 3, 9), (3, 4, 9), (4, 5, 8), (4, 5, 14), (8, 4, 11), (32, 3, 12)]
)
def test_two_rows_are_the_sum_of_their_terms(evaluate, terms, bits, width):
    rng = Random(f"{terms} {bits} {width}")
    top = (1 << bits) - 1
    # The sum must fit, as it does in a window around both.
    room = (1 << width - 1) - terms * top
    cases = [([top] * terms, 0, room - 1), ([top] * terms, (1 << terms) - 1, 0), ([0] * terms, (1 << terms) - 1, 0)]
    for _ in range(500):
        magnitudes = [rng.choice((0, 1, top, rng.randint(0, top))) for _ in range(terms)]
        cases.append((magnitudes, rng.getrandbits(terms), rng.choice((0, 1, room - 1, rng.randrange(room)))))
    vectors = [{"terms": x, "negative": negative, "partial": partial} for x, negative, partial in cases]
    for (magnitudes, negative, partial), got in zip(cases, evaluate(Rows(terms, bits, width), vectors), strict=True):
        assert got == partial + sum(-x if negative >> k & 1 else x for k, x in enumerate(magnitudes))


@pytest.mark.parametrize("terms", [0, 3, 16])
def test_a_dot_product_refuses_such_terms(terms):
    with pytest.raises(ValueError, match=f"quad_mx_dot: terms must be a power of two from 2 to 8, not {terms}"):
        DotConfig(numerics=replace(TRAINIUM3_QUAD_MX.numerics, terms=terms))


@covers("quad_mx_dot.operators")
@pytest.mark.parametrize("terms", [2, 4, 8])
def test_the_rows_of_one_bit_terms(evaluate, terms):
    """Covers every carry out of each bit position, in every order of the few bits."""
    cases = list(product(range(1 << terms), repeat=2))
    if terms == 8:
        cases = Random("eight terms").sample(cases, 4000)
    vectors = [{"terms": [x >> k & 1 for k in range(terms)], "negative": negative} for x, negative in cases]
    for (x, negative), got in zip(cases, evaluate(Rows(terms, 1, 6), vectors), strict=True):
        assert got == (x & ~negative).bit_count() - (x & negative).bit_count()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("align_fraction_bits", -1, "align_fraction_bits must be None, 0 or more, not -1"),
        ("accumulator", FP16, "accumulator must have FP32's exponents"),
        ("accumulator", replace(FP32, specials=Specials.FINITE, nan_code=None), "and an infinity, not be FP32"),
        ("accumulator", replace(FP32, fraction_bits=24), "at most its fraction bits"),
        ("accumulator", replace(FP32, bias=126), "have FP32's exponents"),
    ],
)
def test_numerics_that_no_width_is_proved_for_are_refused(field, value, says):
    with pytest.raises(ValueError, match=says):
        replace(TRAINIUM3_QUAD_MX.numerics, **{field: value})


class Adder(wiring.Component):
    """Four bits of a full adder's inputs as the sum of its two rows."""

    i: In(4)
    o: Out(4)

    def elaborate(self, platform):
        m = Module()
        a, b, c, one = self.i
        sums, carries = carry_save(m, a, b, c, one=one)
        m.d.comb += self.o.eq(sums + carries)
        return m


@covers("quad_mx_dot.operators")
def test_carry_save(evaluate):
    assert evaluate(Adder(), [{"i": i} for i in range(16)]) == [i.bit_count() for i in range(16)]


class Rounded(wiring.Component):
    """Normalisation of a two's complement number in two components, then rounding."""

    def __init__(self, width, low, fmt, **options):
        self.i_layout = moving_sum(width, 9, max(1, (width - 1).bit_length()))
        self.coarse = NormalizeShift(self.i_layout, low, fmt.precision, inverted=False)
        self.fine = NormalizeShift(self.coarse.o.shape(), 0, fmt.precision, inverted=True)
        self.round = RoundSigned(self.fine.o.shape(), fmt, **options)
        ports = {"digits": In(signed(width + 1)), "exponent": In(9), "sticky": In(1), "negate": In(1), "alone": In(1)}
        super().__init__({**ports, "number": In(31), "special": In(3), "o": Out(FP32.width)})

    def elaborate(self, platform):
        m = Module()
        m.submodules += (self.coarse, self.fine, self.round)
        first, allowed = self.coarse.i, Signal(9)
        m.d.comb += [
            allowed.eq(self.exponent - 1),
            Cat(first.digits, first.sign).eq(self.digits),
            first.sticky.eq(self.sticky),
            first.exponent.eq(self.exponent),
            first.allowed.eq(allowed),
            first.free.eq(allowed[len(first.allowed) :].any()),
            self.fine.i.eq(self.coarse.o),
            self.round.i.eq(self.fine.o),
            self.round.negate.eq(self.negate),
            self.round.alone.eq(self.alone),
            self.round.number.eq(self.number),
            self.round.special.eq(self.special),
            self.o.eq(self.round.o),
        ]
        return m


NEAREST = {"rounding": Rounding.RNE, "subnormals": True, "overflow_to_infinity": True}


@covers("quad_mx_dot.lead")
@covers("quad_mx_dot.operators")
@pytest.mark.parametrize(("width", "low"), [(12, 2), (20, 4), (6, 3), (40, 4)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rounding": Rounding.RTZ},
        {"subnormals": False},
        {"overflow_to_infinity": False},
        {"rounding": Rounding.RTZ, "overflow_to_infinity": False},
    ],
    ids=str,
)
def test_a_sum_is_rounded_once(evaluate, width, low, options):
    """Numbers around powers of two, ties and all ones, both signs, from subnormals to overflow."""
    options = NEAREST | options
    component = Rounded(width, low, BF16, **options)
    rng = Random(f"{width} {low} {options}")
    top = (1 << width) - 1
    magnitudes = {0, 1, top, top - 1}
    magnitudes |= {(1 << k) + near for k in range(width) for near in (-1, 0, 1)}
    magnitudes |= {(rng.getrandbits(10) << rng.randrange(width)) & top for _ in range(60)}
    magnitudes |= {rng.getrandbits(rng.randint(1, width)) for _ in range(60)}
    cases = []
    for magnitude in sorted(magnitudes):
        for exponent in (1, 2, rng.randint(1, width + 12), rng.randint(1, 300), rng.randint(250, 256 + width)):
            cases += [(sign * magnitude, exponent, negate) for sign, negate in ((1, 0), (-1, 0), (1, 1), (-1, 1))]
    cases = rng.sample(cases, 150)
    vectors = [{"digits": digits, "exponent": exponent, "negate": negate} for digits, exponent, negate in cases]
    overflow = Overflow.SPECIAL if options["overflow_to_infinity"] else Overflow.SATURATE
    for (digits, exponent, negate), got in zip(cases, evaluate(component, vectors), strict=True):
        value = (-1) ** negate * digits * Fraction(2) ** (exponent - FP32.bias - (width - 1))
        code = round_to_format(value, BF16, options["rounding"], overflow=overflow)
        if not options["subnormals"] and code & ~BF16.sign_mask <= BF16.fraction_mask:
            code &= BF16.sign_mask
        # A zero has the sign that is given beside it.
        expected = code << 16 if value else 0
        assert got == expected, (digits, exponent, negate)


@covers("quad_mx_dot.operators")
def test_sticky_is_below_all_digits(evaluate):
    """The sticky bit alone decides: the digits are a tie."""
    width, half = 16, 1 << 16 - 1 - BF16.precision
    ties = [sign * ((1 << width - 1) + odd * 2 * half + half) for sign, odd in product((1, -1), (0, 1))]
    cases = list(product(ties, (0, 1)))
    vectors = [{"digits": digits, "exponent": FP32.bias, "sticky": sticky} for digits, sticky in cases]
    for (digits, sticky), got in zip(cases, evaluate(Rounded(width, 2, BF16, **NEAREST), vectors), strict=True):
        value = (digits + Fraction(sticky, 2)) * Fraction(2) ** (1 - width)
        assert got == round_to_format(value, BF16) << 16, (digits, sticky)


@covers("quad_mx_dot.operators")
def test_what_overrides_a_sum(evaluate):
    given = {"digits": 0, "exponent": 1, "number": 0x3F800000 | 12345, "negate": 1}
    cases = list(product(range(8), (0, 1), (0, 1)))
    vectors = [given | {"special": special, "alone": alone, "sticky": sticky} for special, alone, sticky in cases]
    for (special, alone, sticky), got in zip(cases, evaluate(Rounded(12, 2, BF16, **NEAREST), vectors), strict=True):
        sign, inf, nan = special & 1, special >> 1 & 1, special >> 2
        negative = FP32.sign_mask * (1 if sticky and not inf else sign)
        magnitude = FP32.infinity_code if inf else given["number"] if alone else 0
        assert got == (FP32.nan_code if nan else negative | magnitude), (special, alone, sticky)
