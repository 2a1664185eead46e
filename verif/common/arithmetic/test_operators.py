# amaranth: UnusedElaboratable=no
"""The exact operators of rtl/common against integers, in Amaranth's own simulator."""

from fractions import Fraction
from itertools import product
from math import floor
from random import Random

import pytest
from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import CATALOGUE, INT8, Rounding
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.rtl.common.arithmetic.add import AddTree
from bitpath.rtl.common.arithmetic.align import Align, Dropped, MaxExponent, shift_of
from bitpath.rtl.common.arithmetic.decode import Decode, raw_float, raw_sum
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import increment, increment_inverted
from bitpath.verif.kit.testplan import covers


def codes(fmt):
    """Return all codes, or for a wide format its edges and a sample."""
    if fmt.width <= 8:
        return list(range(1 << fmt.width))
    rng = Random(fmt.name)
    edges = [0, 1, fmt.fraction_mask, fmt.fraction_mask + 1, fmt.max_code, fmt.infinity_code, fmt.infinity_code + 1]
    return [code | sign for code in edges for sign in (0, fmt.sign_mask)] + [
        rng.getrandbits(fmt.width) for _ in range(500)
    ]


DECODED = [
    *("E4M3FN+E5M2", "E5M2+E4M3FN+E4M3", "E4M3FNUZ+E5M2FNUZ+E4M3", "E4M3FN", "E2M1", "E3M4+E4M3", "E3M2+E2M3"),
    *("BF16+FP16", "TF32", "FP32"),
]


@covers("quad_mx_dot.operators", "A failing test names the faulty operator")
@pytest.mark.parametrize("subnormals", [True, False])
@pytest.mark.parametrize("names", DECODED)
def test_decode_is_the_codec(evaluate, names, subnormals):
    """Each operator of the unit alone, exhaustively at small widths."""
    formats = [CATALOGUE[name] for name in names.split("+")]
    component = Decode(formats, subnormals=subnormals)
    cases = [(index, code) for index, fmt in enumerate(formats) for code in codes(fmt)]
    results = evaluate(component, [{"format": index, "code": code} for index, code in cases])
    for (index, code), got in zip(cases, results, strict=True):
        fmt = formats[index]
        want = decode(fmt, code)
        assert (bool(got.nan), bool(got.inf)) == (want.kind is Kind.NAN, want.kind is Kind.INFINITY), hex(code)
        if want.kind is Kind.NAN:
            continue
        assert got.sign == want.sign
        if want.kind is Kind.FINITE:
            value = got.significand * Fraction(2) ** (got.exponent - component.bias - component.fraction_bits)
            flushed = not subnormals and want.significand <= fmt.fraction_mask
            assert value == (0 if flushed else abs(want.value)), hex(code)
            # Alignment goes by it: the exponent of the leading place, a subnormal's that of the smallest normal number.
            assert got.exponent - component.bias == want.exponent + fmt.fraction_bits


def test_decode_reads_fixed_point_beside_floats(evaluate):
    """Every code of INT8 has the value of the codec, under one exponent; -128 has the largest magnitude."""
    component = Decode((CATALOGUE["E5M2"], INT8))
    got = evaluate(component, [{"format": 1, "code": code} for code in range(256)])
    places = component.bias + component.fraction_bits
    for code, each in enumerate(got):
        value = each.significand * Fraction(2) ** (each.exponent - places)
        assert (-value if each.sign else value) == decode(INT8, code).value
        assert each.exponent - component.bias == 1


def test_decode_refuses_formats_of_two_widths():
    with pytest.raises(ValueError, match="one width"):
        Decode((CATALOGUE["E4M3FN"], CATALOGUE["BF16"]))


def test_every_catalogued_format_with_subnormals_is_decoded_above():
    signed = {name for name, fmt in CATALOGUE.items() if fmt.signed}
    assert signed == {name for names in DECODED for name in names.split("+")}


@covers("quad_mx_dot.operators")
def test_multiply_every_pair_of_a_small_format(evaluate):
    operand = raw_float(2, 3)
    numbers = [
        {"significand": s, "exponent": e, "sign": sign, "inf": 0, "nan": 0}
        for s, e, sign in product(range(8), range(4), (0, 1))
    ]
    numbers += [
        {"significand": s, "exponent": 3, "sign": 1, "inf": inf, "nan": 1 - inf} for s in (0, 5) for inf in (0, 1)
    ]
    # An infinity that a decoder gives has its hidden bit set; a zero significand would mean zero.
    numbers = [x for x in numbers if not (x["inf"] and not x["significand"])]
    pairs = list(product(numbers, repeat=2))
    for (a, b), got in zip(pairs, evaluate(Multiply(operand), [{"a": a, "b": b} for a, b in pairs]), strict=True):
        zero_times_infinity = (a["inf"] and not b["significand"]) or (b["inf"] and not a["significand"])
        assert bool(got.nan) == bool(a["nan"] or b["nan"] or zero_times_infinity)
        if got.nan:
            continue
        assert bool(got.inf) == bool(a["inf"] or b["inf"])
        assert got.sign == a["sign"] ^ b["sign"]
        assert got.significand == a["significand"] * b["significand"]
        assert got.exponent == a["exponent"] + b["exponent"]


@covers("dot16.operators", "A failure points at the faulty operator")
@covers("mac_lane.operators")
@covers("quad_mx_dot.operators")
@pytest.mark.parametrize("dropped", list(Dropped))
@pytest.mark.parametrize(("in_width", "out_width"), [(4, 4), (4, 7), (6, 3), (5, 1)])
def test_align_every_shift_of_every_value(evaluate, dropped, in_width, out_width):
    """Each common operator alone, exhaustively at small widths."""
    max_shift = in_width + out_width + 3
    cases = list(product(range(1 << in_width), range(max_shift + 1)))
    results = evaluate(Align(in_width, out_width, max_shift, dropped), [{"i": i, "shift": shift} for i, shift in cases])
    for (i, shift), got in zip(cases, results, strict=True):
        value = on_grid(i, shift, in_width, out_width)
        expected = {
            Dropped.TRUNCATED: int(value),
            Dropped.STICKY: 2 * int(value) + (value.denominator != 1),
            Dropped.NEAREST_EVEN: round(value),
        }[dropped]
        assert got == expected, (i, shift)


def on_grid(i, shift, in_width, out_width):
    """The exact value in units of the grid's lowest place."""
    return Fraction(i) * Fraction(2) ** (out_width - in_width - shift)


@covers("dot16.operators")
@pytest.mark.parametrize(("in_width", "out_width"), [(4, 4), (4, 7), (6, 3)])
@pytest.mark.parametrize("dropped", [Dropped.TRUNCATED, Dropped.STICKY])
def test_align_signed_numbers(evaluate, dropped, in_width, out_width):
    """Signed numbers are rounded down, to -1 if all bits are discarded; sticky is set if a nonzero bit was discarded."""
    max_shift = in_width + out_width + 3
    cases = list(product(range(-(1 << in_width - 1), 1 << in_width - 1), range(max_shift + 1)))
    component = Align(in_width, out_width, max_shift, dropped, twos_complement=True)
    for (i, shift), got in zip(cases, evaluate(component, [{"i": i, "shift": s} for i, s in cases]), strict=True):
        value = on_grid(i, shift, in_width, out_width)
        down = floor(value)
        assert got == (2 * down + (value != down) if dropped is Dropped.STICKY else down), (i, shift)


class Evaluated(wiring.Component):
    """A function of one value as a component."""

    def __init__(self, width, function):
        self.function = function
        super().__init__({"i": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(self.function(self.i))
        return m


@covers("quad_mx_dot.operators")
def test_shift_of_saturates(evaluate):
    vectors = [{"i": distance} for distance in range(64)]
    results = evaluate(Evaluated(6, lambda distance: shift_of(distance, 3)), vectors)
    assert results == [min(distance, 7) for distance in range(64)]


MODES = [mode for mode in Rounding if mode is not Rounding.SR]


@covers("dot16.operators")
@pytest.mark.parametrize("twos_complement", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_increment(evaluate, mode, twos_complement):
    """Every number of four kept bits, guard and sticky, against the exact tier's rounding."""

    def rounded(i):
        sticky, guard, kept, negative = i[0], i[1], i[2:6], i[6]
        return increment(
            mode, odd=kept[0], guard=guard, sticky=sticky, negative=negative, twos_complement=twos_complement
        )

    results = evaluate(Evaluated(7, rounded), [{"i": i} for i in range(128)])
    for i, up in enumerate(results):
        kept, negative = i >> 2 & 15, i >> 6
        rest = Fraction(i >> 1 & 1, 2) + Fraction(i & 1, 4)
        if twos_complement:
            kept -= 16 * negative
            assert kept + up == round_to_integer(kept + rest, mode)
        else:
            sign = -1 if negative else 1
            assert sign * (kept + up) == round_to_integer(sign * (kept + rest), mode)


@covers("dot16.operators")
@covers("quad_mx_dot.operators")
@pytest.mark.parametrize("mode", MODES)
def test_increment_inverted(evaluate, mode):
    """Every magnitude of three kept bits, guard and two discarded bits, plain and as a ones' complement (one less)."""

    def rounded(i):
        guard, odd, sticky, negative = i[2], i[3], i[6], i[7]
        return increment_inverted(mode, odd=odd, guard=guard, sticky=sticky, negative=negative)

    cases = [(magnitude, negative) for magnitude in range(1, 64) for negative in (0, 1)]
    vectors = [{"i": m - negative | (m & 3 != 0) << 6 | negative << 7} for m, negative in cases]
    for (magnitude, negative), up in zip(cases, evaluate(Evaluated(8, rounded), vectors), strict=True):
        value = Fraction(-magnitude if negative else magnitude, 8)
        assert (magnitude - negative >> 3) + up == abs(round_to_integer(value, mode))


@covers("dot16.operators")
@covers("mac_lane.operators")
@pytest.mark.parametrize(("terms", "width"), [(1, 4), (2, 3), (3, 2), (4, 5), (5, 18), (16, 12)])
def test_add_tree(evaluate, terms, width):
    rng = Random(f"{terms} {width}")
    top = (1 << width) - 1
    every = (1 << terms) - 1
    cases = [([top] * terms, 0, 0), ([top] * terms, 0, every), ([0] * terms, 0, every)]
    cases += [([top - 1] * terms, every, 0), ([0] * terms, every, every)]
    for _ in range(500):
        magnitude = [rng.choice((0, 1, top, rng.randint(0, top))) for _ in range(terms)]
        # The rounded number must fit.
        up = sum(rng.getrandbits(1) << k for k, x in enumerate(magnitude) if x < top)
        cases.append((magnitude, up, rng.getrandbits(terms)))
    vectors = [{"magnitude": magnitude, "up": up, "sign": sign} for magnitude, up, sign in cases]
    for (magnitude, up, sign), got in zip(cases, evaluate(AddTree(terms, width), vectors), strict=True):
        rounded = [x + (up >> k & 1) for k, x in enumerate(magnitude)]
        assert got == sum(-x if sign >> k & 1 else x for k, x in enumerate(rounded))


@covers("quad_mx_dot.operators")
@pytest.mark.parametrize(("terms", "width"), [(1, 4), (2, 4), (3, 3), (5, 10)])
def test_max_exponent(evaluate, terms, width):
    rng = Random(f"{terms} {width}")
    cases = list(product(range(8), repeat=terms)) if width == 3 else []
    cases += [tuple(rng.getrandbits(width) for _ in range(terms)) for _ in range(500)]
    results = evaluate(MaxExponent(terms, width), [{"i": list(case)} for case in cases])
    assert results == [max(case) for case in cases]


@pytest.mark.parametrize(("width", "precision"), [(9, 4), (5, 4), (4, 4), (3, 4), (6, 1)])
def test_normalize_every_magnitude(evaluate, width, precision):
    component = Normalize(raw_sum(width, 6), precision)
    cases = [(magnitude, exponent) for magnitude in range(1 << width) for exponent in (-32, 0, 31)]
    vectors = [{"i": {"magnitude": m, "exponent": e, "sign": m & 1}} for m, e in cases]
    for (magnitude, exponent), got in zip(cases, evaluate(component, vectors), strict=True):
        assert got.zero == (magnitude == 0)
        assert got.sign == magnitude & 1
        if magnitude:
            # The bits of the significand, the guard bit, the sticky bit.
            scaled = Fraction(magnitude) * Fraction(2) ** (precision + 1 - magnitude.bit_length())
            assert 2 * got.significand + got.guard == int(scaled)
            assert got.sticky == (scaled.denominator != 1)
            assert got.exponent == exponent + magnitude.bit_length() - 1
