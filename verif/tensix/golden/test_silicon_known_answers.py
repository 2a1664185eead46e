"""Public measurements of Wormhole and Blackhole: golden gives the chips' results."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import inf

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.formats.catalogue import BF16, FP32, Rounding
from bitpath.golden.scalar.codec import decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.tensix.declarations.formats import Format, Style
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE
from bitpath.golden.tensix.exact import add, multiply_add
from bitpath.golden.tensix.exact.dot import masked_to_bf16
from bitpath.sim.study.ledger.statistics import MANTISSAS, NORMAL, add_errors, codes_between, multiply_errors
from bitpath.verif.kit.known_answers import skip_absent

BASE = WORMHOLE.numerics
BINADE, BINADES = 128, 254
REACH = 13
"""Exponents this far apart leave the larger number as it is."""
VALUES = "silicon_tensix_values.json"
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


def row(kat, identifier, file="silicon_statistics.json"):
    """Return the row of a published measurement; a file without it skips the test."""
    found = {each["id"]: each for each in kat(file)["rows"]}
    skip_absent(file, {identifier: identifier in found})
    return found[identifier]


def test_sums_of_equal_sign(kat):
    """tt-metal #49944: exact, one off, and infinite where the largest number is right."""
    published = row(kat, "tt-metal#49944 same sign")["ulp"]
    expected = {0: published["0"], 1: published["1"], inf: published[">100"]}
    assert all_sums(BASE, (0, 0)) == all_sums(BASE, (1, 1)) == expected
    assert sum(expected.values()) == len(NORMAL) ** 2


def test_sums_of_opposite_sign():
    """tt-metal #49944: about 0.49 % off by one, none by more."""
    errors = all_sums(BASE, (0, 1))
    assert percent(errors) == {"0": 99.51, "1": 0.49}
    assert sum(errors.values()) == len(NORMAL) ** 2


@pytest.mark.deep
@pytest.mark.parametrize(("tie", "more"), [(Rounding.RNU, 10.5), (Rounding.RNE, 21.0)])
def test_another_tie_of_aligned_operands_makes_more_errors(tie, more):
    errors, other = (all_sums(numerics, (0, 1))[1] for numerics in (BASE, replace(BASE, product_tie=tie)))
    assert round(100 * other / errors - 100, 1) == more


@pytest.mark.deep
@pytest.mark.parametrize("signs", SIGNS)
def test_every_sum(signs):
    """The shortcut of `all_sums` counts as all pairs do."""
    assert add_errors(BASE, signs) == all_sums(BASE, signs)


def test_products(kat):
    """tt-metal #33701; each other tie of the sum and of the result, and one rounding, leaves the published shares."""
    published = row(kat, "tt-metal#33701")["percent"]
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
def test_every_product(kat):
    published = row(kat, "tt-metal#33701")["percent"]
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


def test_elementwise_without_the_zero_flag(kat):
    """ttsim v1.10.0 for Blackhole. It reads a zero of SrcB as zero in sums, which the chips do not: those datums are left out."""
    archive = kat("tensix_bh_elw.npz")
    compared = 0
    kept = np.flatnonzero(archive["keep_denormals"])
    skip_absent(archive.name, {"denormals of SrcB": len(kept)})
    for case in kept:
        operation, style = (str(archive[f"{name}_names"][archive[name][case]]) for name in ("op", "style"))
        formats = {"srca_format": int(archive["fmtA"][case]), "srcb_format": int(archive["fmtB"][case])}
        options = {"style": style, "dst32": bool(archive["use32"][case]), **formats}
        options["numerics"] = replace(BLACKHOLE.numerics, zero_flag_disabled=True)
        spread = int(archive["broadcast"][case])
        b = tensix.broadcast_src_b(archive["srcB"][case], row=0 if spread & 2 else None, column_0=bool(spread & 1))
        defined = archive["dst_defined"][case] == 1
        dst = np.where(defined[:, np.newaxis], archive["dst_in"][case], 0).astype(np.uint32)
        counts = np.ones(b.shape, bool)
        if operation == "ELWMUL":
            options["phase"] = int(archive["phase"][case])
        else:
            options["accumulate"] = bool(archive["accum"][case])
            # Bits that SrcB's format lacks are masked first.
            masked = masked_to_bf16(options["numerics"], Style(style), Format(formats["srcb_format"]))
            counts = (b & (0x3FFF8 if masked else 0x3FFFF) != 0) | (style == "INT8")
        got = getattr(tensix, operation.lower())(dst, b, archive["srcA"][case, :8], **options)
        assert np.array_equal(got[counts], archive["dst_out"][case][counts]), (operation, options)
        compared += int(counts.sum())
    assert compared > 0


def test_the_zero_flag_window():
    """tt-metal #54910, #55016: x + 0 without SrcB's zero flag, for every normal x of both signs, into a 32-bit Dst.

    The sum is x + 2**-127 for biased exponents of x to 10. At 11 the addend is half of x's last place and rounds up to it, from
    12 it vanishes: 2,816 numbers change. With the flag no number does.
    """
    normal = np.concatenate([NORMAL, NORMAL | 0x8000]).reshape(-1, 8, 16)
    zeros = np.zeros_like(normal)
    options = {"style": Style.BF16, "dst32": True, "accumulate": False}
    kept = tensix.elwadd(zeros, zeros, normal << 3, **options)
    assert np.array_equal(kept, normal << 16)
    got = tensix.elwadd(zeros, zeros, normal << 3, numerics=replace(BASE, zero_flag_disabled=True), **options)
    changed = 0
    for code, word in zip(normal.ravel().tolist(), got.ravel().tolist(), strict=True):
        exponent = code >> 7 & 0xFF
        x = decode(BF16, code).value
        added = power_of_two(-127) if exponent <= 10 else power_of_two(-126) if exponent == 11 else 0
        # A result below the smallest normal number is zero.
        expected = x + added if abs(x + added) >= power_of_two(-126) else 0
        assert decode(FP32, word).value == expected
        changed += word != code << 16
    assert changed == 2816


def bf16(number):
    """Return the code of a BF16 number, or of a code given as a hexadecimal string."""
    return int(number, 16) if isinstance(number, str) else round_to_format(Fraction(number), BF16)


def one(operation, a, b, *, phases=(0,), **options):
    """Return the 16-bit Dst word of one pair of BF16 codes."""
    a, b = (np.full((8, 16), code << 3, np.uint32) for code in (a, b))
    dst = np.zeros((8, 16), np.uint32)
    for phase in phases:
        extra = {"phase": phase} if operation == "elwmul" else {}
        dst = getattr(tensix, operation)(dst, b, a, style="BF16", dst32=False, **extra, **options)
    return int(dst[0, 0])


@pytest.mark.parametrize("numerics", [WORMHOLE, BLACKHOLE], ids=lambda each: each.name)
def test_sums_of_single_values(kat, numerics):
    """tt-metal #34664, and #52141 with infinities."""
    small = row(kat, "tt-metal#34664", VALUES)
    for a, b, out in zip(small["a"], small["b"], small["out"], strict=True):
        assert one("elwadd", bf16(a), bf16(b), numerics=numerics.numerics) == bf16(out)
    for operation, a, b, out in row(kat, "tt-metal#52141", VALUES)["cases"]:
        assert one(operation, bf16(a), bf16(b), numerics=numerics.numerics) == bf16(out)


def test_products_by_fidelity(kat):
    """tt-metal #12923: the low bits of SrcB take part in HiFi4 alone."""
    for a, b, fidelity, out in row(kat, "tt-metal#12923", VALUES)["cases"]:
        codes = [bf16(float(each.split()[1])) for each in (a, b)]
        assert one("elwmul", *codes, phases=tensix.phases(fidelity)) == bf16(out)


@pytest.mark.parametrize(("issue", "dtype"), [("tt-metal#17018", ml_dtypes.bfloat16), ("tt-metal#57215", np.float16)])
def test_packed_values(kat, issue, dtype):
    """tt-metal #17018 and #57215: FP32 Dst words to BF16, and to FP16, whose largest exponent NaN marks."""
    given = row(kat, issue, VALUES)
    words = np.array(given["dst"], np.float32).view(np.uint32)
    packed = tensix.pack(words, given["mid"], given["out"], dst32=given["dst32"]).view(dtype)
    expected = np.array([float(each) for each in given["l1"]])
    assert np.array_equal(packed.astype(float), expected, equal_nan=True)


def test_signed_bytes(kat):
    """tt-llk #1383: bytes in two's complement, read as sign and magnitude."""
    for a, b, out in row(kat, "tt-llk#1383", VALUES)["cases"]:
        words = [tensix.unpack(np.full(128, each & 0xFF, np.uint8), "INT8", "INT8", count=128) for each in (a, b)]
        src_a, src_b = (each.reshape(8, 16) for each in words)
        dst = tensix.elwadd(np.zeros((8, 16), np.uint32), src_b, src_a, style="INT8", dst32=True)
        l1 = tensix.pack(dst.ravel(), "INT8", "INT8", dst32=True)
        assert l1[0] == out & 0xFF
