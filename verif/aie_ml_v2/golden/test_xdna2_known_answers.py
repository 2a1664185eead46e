"""Known answers of XDNA2: conversions to bfp16ebs8, products, chains that probe the accumulator, in both tiers."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import XDNA2_BFP16EBS8
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.verif.aie_ml_v2.golden.xdna2 import FMT, SETS, block, chain, chunks, operands, scalar_chain
from bitpath.verif.kit.known_answers import skip_absent

BASE = XDNA2_BFP16EBS8.numerics
CONVERSIONS, CHAIN = "silicon_xdna2_convert.npz", "silicon_xdna2_chain.json"


def converted(archive, numerics):
    """Return the rows of the archive whose block golden makes, as booleans."""
    rows = zip(*(archive[name] for name in ("x_bits", "mode", "exponent", "codes")), strict=True)
    equal = []
    for bits, mode, exponent, codes in rows:
        got = aie.to_mx(bits.view(np.float32), FMT, rounding=int(mode), numerics=numerics)
        twin = exact.to_mx(numerics, bits.tolist(), BFP16EBS8, RoundingCode(int(mode)))
        assert (twin.exponent, twin.codes) == (got.exponent[0], tuple(got.codes[0].tolist()))
        equal.append(bool(got.exponent[0] == exponent and np.array_equal(got.codes[0], codes)))
    return np.array(equal)


def test_every_conversion(kat):
    archive = kat(CONVERSIONS)
    assert converted(archive, BASE).all()
    skip_absent(CONVERSIONS, {code.name: code in archive["mode"] for code in RoundingCode})


def test_silicon_has_no_nan_blocks(kat):
    """With them golden misses the probe of infinities and NaN, and no other."""
    archive = kat(CONVERSIONS)
    equal = converted(archive, replace(BASE, mx_nan_block=True))
    skip_absent(CONVERSIONS, {"X1": "X1" in archive["probe"]})
    assert set(archive["probe"][~equal].tolist()) == {"X1"}


@pytest.mark.parametrize("name", SETS)
def test_every_product(kat, name):
    a, b, expected = operands(kat("silicon_xdna2_mmul.npz"), name)
    assert expected.size
    assert np.array_equal(chain(a, b), expected)
    for m, n in np.ndindex(expected.shape):
        sides = (
            [block(*each) for each in zip(x.codes[:, i, j, 0], x.exponent[:, i, j, 0], strict=True)]
            for x, i, j in ((a, m, 0), (b, 0, n))
        )
        assert scalar_chain(BASE, *sides) == expected[m, n]


@pytest.mark.parametrize(
    "fields",
    [
        {"align_rounding": RoundingCode.FLOOR},
        {"align_rounding": RoundingCode.CEIL},
        {"align_rounding": RoundingCode.SYMMETRIC_FLOOR},
        {"align_rounding": RoundingCode.SYMMETRIC_CEIL},
        {"align_fraction_bits": 22},
        {"align_fraction_bits": 24},
        {"mx_post_add_first": False},
    ],
    ids=str,
)
def test_silicon_decides_the_fields_of_the_sum(kat, fields):
    """Each alternative puts most lanes of the long chain off silicon, where the preset has none."""
    a, b, expected = operands(kat("silicon_xdna2_mmul.npz"), "xbfp_k512")
    wrong = np.sum(chain(a, b, replace(BASE, **fields)) != expected)
    assert wrong > expected.size // 2


def differing(probes, numerics):
    """Return the ids of the probes, and of "-" tie_odd with negated products, that golden does not reproduce."""
    cases = [(each["id"], 1, each) for each in probes]
    cases += [(f"-{name}", -1, each) for name, _, each in cases if name == "tie_odd"]
    results = (
        (name, sign * each["silicon"], scalar_chain(numerics, *chunks(each, sign))) for name, sign, each in cases
    )
    return {name for name, silicon, code in results if decode(FP32, code).value != silicon}


def test_every_chain(kat):
    probes = kat(CHAIN)["probes"]
    assert probes
    assert differing(probes, BASE) == set()
    for each in probes:
        sides = (
            aie.MxBlocks(
                FMT,
                np.array([[x.exponent] for x in side], np.uint8),
                np.zeros((len(side), 1), np.uint8),
                np.array([[x.codes] for x in side], np.int8),
            )
            for side in chunks(each)
        )
        assert chain(*sides).view(np.float32) == np.float32(each["silicon"])


@pytest.mark.parametrize(
    ("fields", "missed"),
    [
        ({"align_rounding": RoundingCode.SYMMETRIC_INF}, ["-tie_odd", "tie_odd"]),
        ({"align_rounding": RoundingCode.CONV_ODD}, ["-tie_odd", "tie_odd"]),
        ({"align_rounding": RoundingCode.POSITIVE_INF}, ["tie_odd"]),
        ({"align_rounding": RoundingCode.NEGATIVE_INF}, ["-tie_odd"]),
        ({"align_rounding": RoundingCode.FLOOR}, ["-tie_odd"]),
        # The authors' own description: it misses one lane of a run whose lanes are not public.
        ({"align_rounding": RoundingCode.SYMMETRIC_ZERO}, []),
        ({"align_fraction_bits": 22}, ["-tie_odd", "tie_odd"]),
        ({"align_fraction_bits": 24}, ["-tie_odd", "tie_odd"]),
    ],
    ids=str,
)
def test_crafted_ties_decide_the_alignment(kat, fields, missed):
    """Silicon's result of the crafted tie, and of the same tie with negated products."""
    probes = kat(CHAIN)["probes"]
    skip_absent(CHAIN, {"tie_odd": any(each["id"] == "tie_odd" for each in probes)})
    assert sorted(differing(probes, replace(BASE, **fields)) & {"tie_odd", "-tie_odd"}) == missed
