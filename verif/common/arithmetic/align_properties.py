"""Aligners and comparators of exponents equal shifts and maxima of wide integers."""

from amaranth import Cat, Const, Mux, signed

from bitpath.golden.formats.catalogue import Rounding
from bitpath.rtl.common.arithmetic.align import Align, Dropped, MaxDistance, MaxExponent
from bitpath.rtl.common.arithmetic.fixed_point import FixedPoint
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import rounded

PROPERTIES = Properties("common/arithmetic")
_BROKEN = {
    Dropped.STICKY: ("take & value[:amount].any()", "take & value[0]"),
    Dropped.TRUNCATED: ("Mux(take, value >> amount, value)", "Mux(take, value >> (amount | 4), value)"),
    Dropped.NEAREST_EVEN: ("odd=kept[0]", "odd=~kept[0]"),
}
_SHAPES = (
    # in_width, out_width, max_shift, dropped, signed, name; small ones first.
    (4, 7, 9, Dropped.STICKY, False, "small"),
    (7, 4, 9, Dropped.STICKY, True, "small"),
    (6, 6, 7, Dropped.TRUNCATED, True, "small"),
    (6, 4, 10, Dropped.TRUNCATED, False, "small"),
    (5, 6, 9, Dropped.NEAREST_EVEN, False, "small"),
    (24, 76, 77, Dropped.STICKY, False, "FP32 addition's"),
    (24, 25, 31, Dropped.STICKY, False, "a Tensix Dst's"),
    (24, 8, 15, Dropped.STICKY, False, "an MX element's"),
    (94, 95, 127, Dropped.STICKY, True, "a 64-bit SRS lane's"),
    (25, 27, 31, Dropped.NEAREST_EVEN, False, "aligned partial sum"),
    (8, 27, 31, Dropped.TRUNCATED, False, "aligned product"),
)


@PROPERTIES.of(
    "align",
    "align_{kind}{in_width}_to_{out_width}_{dropped.value}",
    "{what} {in_width} bits onto {out_width}, {lost}, every shift",
    None,
    "in_width, out_width, max_shift, dropped, signed_number, what, kind, lost, sabotage",
    [
        (*sizes, dropped, is_signed, what, "signed_" * is_signed, dropped.value.replace("_", " "), _BROKEN[dropped])
        for *sizes, dropped, is_signed, what in _SHAPES
    ],
)
def align(claim: Claim, in_width: int, out_width: int, max_shift: int, dropped: Dropped, signed_number: bool) -> None:
    dut = claim.instantiate("dut", Align(in_width, out_width, max_shift, dropped, twos_complement=signed_number))
    claim.assume(dut.shift <= max_shift)
    # The number on a grid fine enough for every shift; the lowest places are discarded afterwards.
    places = max_shift + max(out_width, in_width)
    number = signed(in_width) if signed_number else in_width
    fine = claim.value(claim.value(dut.i, "number", number) << places - in_width, "fine")
    moved = claim.value(fine >> dut.shift, "moved")
    cut = places - out_width
    lost = Mux(dut.shift == 0, 0, fine & ((Const(1) << dut.shift) - 1)) != 0
    match dropped:
        case Dropped.TRUNCATED:
            claim.ensure(dut.o == moved >> cut)
        case Dropped.STICKY:
            sticky = lost | ((moved & ((1 << cut) - 1)) != 0)
            claim.ensure(dut.o >> 1 == moved >> cut, dut.o[0] == sticky)
        case Dropped.NEAREST_EVEN:
            claim.ensure(dut.o == rounded(claim, fine, dut.shift + cut, Rounding.RNE, "spec"))


@PROPERTIES.of(
    "max_distance",
    "max_distance_{terms}x{width}",
    "the largest of {terms} exponents of {width} bits; saturated distances in {shift_bits} bits",
    ("next_lower.eq(upper - 1)", "next_lower.eq(upper)"),
    "terms, width, shift_bits",
    ((3, 4, 2), (3, 9, 5), (8, 9, 4), (10, 9, 5)),
)
def max_distance(claim: Claim, terms: int, width: int, shift_bits: int) -> None:
    dut = claim.instantiate("dut", MaxDistance(terms, width, shift_bits))
    largest = Const(0, width)
    for k in range(terms):
        counted = claim.value(Mux(dut.counts[k], dut.i[k], 0), f"counted_{k}")
        largest = claim.value(Mux(counted > largest, counted, largest), f"largest_{k}")
    claim.ensure(dut.o == largest)
    top = (1 << shift_bits) - 1
    for k in range(terms):
        distance = largest - dut.i[k]
        claim.ensure(~dut.counts[k] | (dut.shifts[k] == Mux(distance > top, top, distance)))


@PROPERTIES.of(
    "max_exponent",
    "max_exponent_{terms}x{width}",
    "one of {terms} exponents of {width} bits, and none larger",
    ("Mux(a > b, a, b)", "Mux(a > b, a, a)"),
    "terms, width",
    ((5, 4), (8, 8), (32, 8)),
)
def max_exponent(claim: Claim, terms: int, width: int) -> None:
    dut = claim.instantiate("dut", MaxExponent(terms, width))
    claim.ensure(*(dut.o >= dut.i[k] for k in range(terms)))
    claim.ensure(Cat(dut.o == dut.i[k] for k in range(terms)).any())


@PROPERTIES.of(
    "fixed_point",
    "fixed_point_{in_width}_to_{out_width}",
    "{what}: the significand shifted by its exponent, inverted where negative",
    ("upper.eq(lower << 1)", "upper.eq(lower)"),
    "in_width, out_width, exponent_width, origin, what",
    ((4, 12, 4, 2, "small"), (8, 64, 6, 4, "E4M3 and E5M2 products")),
)
def fixed_point(claim: Claim, in_width: int, out_width: int, exponent_width: int, origin: int) -> None:
    dut = claim.instantiate("dut", FixedPoint(in_width, out_width, exponent_width, origin))
    wide = claim.value(dut.i << dut.exponent, "wide")
    placed = claim.value(wide >> origin, "placed")
    # The user of the unit guarantees that no bit lies below the grid.
    claim.assume(wide & ((1 << origin) - 1) == 0)
    claim.ensure(dut.o == (placed ^ dut.negative.replicate(len(placed) + out_width))[:out_width])
