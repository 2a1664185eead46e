# amaranth: UnusedElaboratable=no
"""Operators that save a lane's silicon: exponents and their distances, products with signs, roundings without additions."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.golden.tensix.declarations.numerics import TIES
from bitpath.rtl.aie_ml_v2.mac.products import SignedProduct
from bitpath.rtl.common.arithmetic.align import MaxDistance
from bitpath.rtl.tensix.dot.dot16 import NARROW_DROPPED, RoundAddend
from bitpath.verif.kit.testplan import covers


@covers("dot16.operators")
@covers("mac_lane.operators")
@pytest.mark.parametrize(
    ("terms", "width", "shift_bits"), [(1, 4, 2), (2, 4, 2), (3, 3, 2), (3, 3, 1), (8, 9, 4), (10, 9, 5)]
)
def test_max_distance(evaluate, terms, width, shift_bits):
    """All exponents of narrow widths, else random ones near each other; shifts are checked for valid terms only."""
    rng = Random(f"{terms} {width} {shift_bits}")
    if terms * width <= 10:
        cases = [(each, counts) for each in product(range(1 << width), repeat=terms) for counts in range(1 << terms)]
    else:
        near = (1 << shift_bits) + 3
        cases = []
        for _ in range(300):
            top = rng.randrange(1 << width)
            each = tuple(
                rng.choice((max(0, top - rng.randrange(near)), rng.randrange(1 << width))) for _ in range(terms)
            )
            cases.append((each, rng.choice(((1 << terms) - 1, rng.getrandbits(terms)))))
    vectors = [{"i": list(each), "counts": counts} for each, counts in cases]
    results = evaluate(MaxDistance(terms, width, shift_bits), vectors, "o", "shifts")
    for (each, counts), (got, shifts) in zip(cases, results, strict=True):
        counting = [k for k in range(terms) if counts >> k & 1]
        largest = max((each[k] for k in counting), default=0)
        assert got == largest
        for k in counting:
            assert shifts[k] == min(largest - each[k], (1 << shift_bits) - 1)


@pytest.mark.parametrize("shift_bits", [0, 4, 5])
def test_a_shift_of_max_distance_is_narrower_than_the_exponents(shift_bits):
    with pytest.raises(ValueError, match=f"shift_bits must be 1 to 3, not {shift_bits}"):
        MaxDistance(2, 4, shift_bits)


@covers("mac_lane.operators", "Localises a fault")
@pytest.mark.parametrize(("width", "place"), [(3, 3), (2, 3), (4, 2)])
def test_signed_product(evaluate, width, place):
    """The operators inside the lane, exhaustively at small widths."""
    factors = list(product(range(1 << width), (0, 1)))
    cases = [(a, b) for a, b in product(factors, repeat=2) if not (a[1] or b[1]) or max(a[0], b[0]) < 2 << place]
    vectors = [{side: {"magnitude": f[0], "sign": f[1]} for side, f in zip("ab", case, strict=True)} for case in cases]
    for (a, b), got in zip(cases, evaluate(SignedProduct(width, place), vectors), strict=True):
        assert got == (a[0] - (a[1] << place)) * (b[0] - (b[1] << place))


@covers("dot16.operators")
@pytest.mark.parametrize("dst32", [True, False])
@pytest.mark.parametrize("twos_complement", [True, False])
@pytest.mark.parametrize("tie", TIES)
def test_round_addend(evaluate, tie, twos_complement, dst32):
    """Once, and for a 16-bit Dst once more; all neighbours of both ties."""
    width, below = NARROW_DROPPED + 3, 2
    rng = Random(f"{tie} {twos_complement}")
    half = 1 << NARROW_DROPPED - 1
    values = [
        (high << NARROW_DROPPED) + low
        for high in range(7)
        for low in (0, 1, half - 2, half - 1, half, half + 1, 2 * half - 1)
    ]
    values += [rng.randrange(7 << NARROW_DROPPED) for _ in range(50)]
    magnitudes = [(value << below) + rest for value in values for rest in range(4)]
    if twos_complement:
        numbers = [sign * each for each in magnitudes if each < 3 << NARROW_DROPPED + below for sign in (1, -1)]
    else:
        numbers = [sign * each for each in magnitudes for sign in (1, -1)]
    vectors = [
        {
            "i": (number if twos_complement else abs(number)) & (1 << width + below) - 1,
            "negative": number < 0,
            "dst32": dst32,
        }
        for number in numbers
    ]
    results = evaluate(RoundAddend(width, tie, True, twos_complement), vectors, "o", "once", "twice")
    for number, (kept, once, twice) in zip(numbers, results, strict=True):
        # Guard and sticky are a fraction that is 0, less than half, half or more.
        want = round_to_integer(Fraction(number, 1 << below), tie)
        if not dst32:
            want = round_to_integer(Fraction(want, 1 << NARROW_DROPPED), tie) << NARROW_DROPPED
        # The sign bit of an inverted magnitude is the adder's.
        inverted = 0 if twos_complement or number >= 0 else -1 << width
        total = kept + inverted + once + (twice << NARROW_DROPPED)
        if not dst32 and inverted:
            # Places below the kept ones are 0, of an inverted magnitude too.
            assert kept % (1 << NARROW_DROPPED) == 0
        assert (total - want) % (1 << width) == 0
