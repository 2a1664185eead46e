"""Aligners and comparators of exponents equal shifts and maxima of wide integers."""

from functools import partial

from amaranth import Cat, Const, Mux, signed

from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.fixed_point import FixedPoint
from bitpath.rtl.common.arithmetic.max_distance import MaxDistance
from bitpath.rtl.common.arithmetic.max_exponent import MaxExponent
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.formal.specification import rounded


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


def max_exponent(claim: Claim, terms: int, width: int) -> None:
    dut = claim.instantiate("dut", MaxExponent(terms, width))
    claim.ensure(*(dut.o >= dut.i[k] for k in range(terms)))
    claim.ensure(Cat(dut.o == dut.i[k] for k in range(terms)).any())


def fixed_point(claim: Claim, in_width: int, out_width: int, exponent_width: int, origin: int) -> None:
    dut = claim.instantiate("dut", FixedPoint(in_width, out_width, exponent_width, origin))
    wide = claim.value(dut.i << dut.exponent, "wide")
    placed = claim.value(wide >> origin, "placed")
    # The user of the unit guarantees that no bit lies below the grid.
    claim.assume(wide & ((1 << origin) - 1) == 0)
    claim.ensure(dut.o == (placed ^ dut.negative.replicate(len(placed) + out_width))[:out_width])


_LEVEL = Sabotage(
    "common/arithmetic/align.py", "Mux(take, value >> amount, value)", "Mux(take, value >> (amount | 4), value)"
)
_STICKY = Sabotage("common/arithmetic/align.py", "take & value[:amount].any()", "take & value[0]")
_EVEN = Sabotage("common/arithmetic/align.py", "odd=kept[0]", "odd=~kept[0]")
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


def _align_properties() -> list[Property]:
    found = []
    sabotages = {Dropped.STICKY: _STICKY, Dropped.TRUNCATED: _LEVEL, Dropped.NEAREST_EVEN: _EVEN}
    for in_width, out_width, max_shift, dropped, signed_number, what in _SHAPES:
        kind = "signed_" if signed_number else ""
        found.append(
            Property(
                f"align_{kind}{in_width}_to_{out_width}_{dropped.value}",
                "common.align",
                f"{what} {in_width} bits onto {out_width}, {dropped.value.replace('_', ' ')}, every shift",
                partial(
                    align,
                    in_width=in_width,
                    out_width=out_width,
                    max_shift=max_shift,
                    dropped=dropped,
                    signed_number=signed_number,
                ),
                sabotages[dropped],
            )
        )
    return found


PROPERTIES = (
    *_align_properties(),
    *(
        Property(
            f"max_distance_{terms}x{width}",
            "common.max_distance",
            f"the largest of {terms} exponents of {width} bits; saturated distances in {shift_bits} bits",
            partial(max_distance, terms=terms, width=width, shift_bits=shift_bits),
            Sabotage("common/arithmetic/max_distance.py", "next_lower.eq(upper - 1)", "next_lower.eq(upper)"),
        )
        for terms, width, shift_bits in ((3, 4, 2), (3, 9, 5), (8, 9, 4), (10, 9, 5))
    ),
    *(
        Property(
            f"max_exponent_{terms}x{width}",
            "common.max_exponent",
            f"one of {terms} exponents of {width} bits, and none larger",
            partial(max_exponent, terms=terms, width=width),
            Sabotage("common/arithmetic/max_exponent.py", "Mux(a > b, a, b)", "Mux(a > b, a, a)"),
        )
        for terms, width in ((5, 4), (8, 8), (32, 8))
    ),
    *(
        Property(
            f"fixed_point_{in_width}_to_{out_width}",
            "common.fixed_point",
            f"{what}: the significand shifted by its exponent, inverted where negative",
            partial(fixed_point, in_width=in_width, out_width=out_width, exponent_width=exponent_width, origin=origin),
            Sabotage("common/arithmetic/fixed_point.py", "upper.eq(lower << 1)", "upper.eq(lower)"),
        )
        for in_width, out_width, exponent_width, origin, what in (
            (4, 12, 4, 2, "small"),
            (8, 64, 6, 4, "E4M3 and E5M2 products"),
        )
    ),
)
