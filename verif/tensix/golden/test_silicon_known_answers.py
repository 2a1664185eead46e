"""Public measurements of Wormhole and Blackhole: golden gives what the chips gave."""

from collections import Counter
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE
from bitpath.golden.tensix.exact import add, multiply_add
from bitpath.sim.study.ledger.statistics import MANTISSAS, NORMAL, add_errors, codes_between, multiply_errors

BASE = WORMHOLE.numerics
BINADE, BINADES = 128, 254
REACH = 13
"""Exponents this far apart leave the larger number as it is."""
SIGNS = ((0, 0), (0, 1), (1, 0), (1, 1))


def all_sums(numerics, signs):
    """Count the errors of all sums. Every binade that is `REACH` from both ends counts like the middle one."""
    total = Counter()
    ends = [*range(REACH), *range(BINADES - REACH, BINADES)]
    for binade, times in [(each, 1) for each in ends] + [(BINADES // 2, BINADES - len(ends))]:
        counts = add_errors(numerics, signs, rows=range(binade * BINADE, (binade + 1) * BINADE))
        total.update({error: times * count for error, count in counts.items()})
    return total


def all_products(numerics, operands=MANTISSAS):
    """Count the errors of all products of two fractions, with every pair of signs."""
    return sum((Counter(multiply_errors(numerics, signs, operands)) for signs in SIGNS), Counter())


def percent(errors):
    """Return the share of each error, to the digits that are published."""
    total = sum(errors.values())
    return {str(error): round(100 * count / total, 2 if error < 2 else 4) for error, count in sorted(errors.items())}


def row(kat_json, identifier):
    [found] = [each for each in kat_json("silicon_statistics.json")["rows"] if each["id"] == identifier]
    return found


def test_sums_of_equal_sign(kat_json):
    """tt-metal #49944: exact, one off, and infinite where the largest number is right."""
    published = row(kat_json, "tt-metal#49944 same sign")["ulp"]
    expected = {0: published["0"], 1: published["1"], inf: published[">100"]}
    assert all_sums(BASE, (0, 0)) == all_sums(BASE, (1, 1)) == expected
    assert sum(expected.values()) == len(NORMAL) ** 2


def test_sums_of_opposite_sign():
    """tt-metal #49944: about 0.49 % off by one, none by more. The other ties of aligned operands make more errors."""
    errors = all_sums(BASE, (0, 1))
    assert percent(errors) == {"0": 99.51, "1": 0.49}
    assert sum(errors.values()) == len(NORMAL) ** 2
    for tie, more in ((Rounding.RNU, 10.5), (Rounding.RNE, 21.0)):
        other = all_sums(replace(BASE, product_tie=tie), (0, 1))
        assert round(100 * other[1] / errors[1] - 100, 1) == more


@pytest.mark.deep
@pytest.mark.parametrize("signs", SIGNS)
def test_every_sum(signs):
    """The shortcut of `all_sums` counts as all pairs do."""
    assert add_errors(BASE, signs) == all_sums(BASE, signs)


def test_products(kat_json):
    """tt-metal #33701; each other tie of the sum and of the result, and one rounding, leaves the published shares."""
    published = row(kat_json, "tt-metal#33701")["percent"]
    assert percent(all_products(BASE)) == published
    for changes in (
        *({"sum_tie": tie} for tie in (Rounding.RNA, Rounding.RNE)),
        *({"final_tie": tie} for tie in (Rounding.RNU, Rounding.RNE)),
        {"pre_round": False},
    ):
        assert percent(all_products(replace(BASE, **changes))) != published
    # Errors of two units are products of positive sign alone.
    assert [multiply_errors(BASE, signs).get(2, 0) for signs in SIGNS] == [1, 0, 0, 1]


@pytest.mark.parametrize("signs", SIGNS)
def test_products_of_the_published_range(signs):
    """From 1e-17 to 1e17 the fractions decide alone, in the smallest and in the largest binade too."""
    for code in codes_between(1e-17, 1e17)[[0, -1]].tolist():
        binade = np.arange(code & ~0x7F, (code | 0x7F) + 1, dtype=np.uint32)
        assert multiply_errors(BASE, signs, binade) == multiply_errors(BASE, signs)


@pytest.mark.deep
def test_every_product(kat_json):
    published = row(kat_json, "tt-metal#33701")["percent"]
    assert percent(all_products(BASE, codes_between(1e-17, 1e17))) == published


@pytest.mark.parametrize("signs", SIGNS)
def test_errors_are_those_of_fractions(signs):
    """Every pair of some numbers, whose exact results are rounded as fractions, by the exact twin."""
    rng = np.random.default_rng(31)
    formats = {"style": Style.BF16, "dst32": False, "srca_format": Format.BF16, "srcb_format": Format.BF16}
    near = np.array([0x0080, 0x00FF, 0x7F7F, 0x7F00, 0x7AFF, 0x7B00])
    for name, codes in (
        ("add", np.concatenate([near, rng.integers(0x3E00, 0x4200, 18)])),
        ("multiply", rng.integers(0x3000, 0x5000, 16)),
    ):
        expected = Counter()
        for x, y in ((int(a), int(b)) for a in codes for b in codes):
            a, b = x | signs[0] << 15, y | signs[1] << 15
            if name == "add":
                got = add(BASE, 0, b << 3, a << 3, subtract=False, accumulating=False, **formats)
                exact = decode(BF16, a).value + decode(BF16, b).value
            else:
                got = 0
                for phase in range(4):
                    got = multiply_add(BASE, got, b << 3, a << 3, phase=phase, **formats)
                exact = decode(BF16, a).value * decode(BF16, b).value
            expected[distance(got, exact)] += 1
        errors = (add_errors if name == "add" else multiply_errors)(BASE, signs, codes.astype(np.uint32))
        assert errors == expected


def distance(code, exact):
    """Return how many BF16 codes lie from a code to a number rounded to nearest even; subnormals count as zero."""
    wanted = round_to_format(exact, BF16)
    wanted = 0 if wanted >> 7 & 0xFF == 0 else wanted
    if (code & 0x7FFF == 0x7F80) != (wanted & 0x7FFF == 0x7F80):
        return inf
    positions = [(1 - (each >> 15 << 1)) * (each & 0x7FFF) for each in (code, wanted)]
    return abs(positions[0] - positions[1])
