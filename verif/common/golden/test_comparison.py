"""`compare`: errors against definitions, the table in three forms, and refused arguments."""

import json
from fractions import Fraction

import numpy as np
import pytest

from bitpath.golden.comparison import FORMATS, HEAD, Errors, compare, errors
from bitpath.golden.machines import find_machine
from bitpath.golden.matmul import matmul

ULP = 2.0**-23


@pytest.fixture
def rng():
    return np.random.default_rng(20261125)


def test_errors_follow_their_definitions():
    reference = np.array([1.0, -2.0, 4.0, 0.5])
    result = np.array([1 + ULP, -2.0, 4 - 8 * ULP, 0.5 + ULP * 16], np.float32)
    found = errors(result, reference)
    off = [Fraction(float(x)) - Fraction(y) for x, y in zip(result, reference, strict=True)]
    noise = sum(each**2 for each in off)
    assert found.max_abs == 16 * ULP
    assert found.rms == float(noise / 4) ** 0.5
    assert found.max_rel == 16 * ULP / 4
    assert found.sqnr_db == pytest.approx(10 * np.log10(21.25 / float(noise)), rel=1e-15)
    # Distances are 1, 0, 2 and 32 ulp.
    assert found.ulp == (1, 1, 1, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("result", "reference", "found"),
    [
        ([1.0, np.nan], [1.0, 2.0], Errors(max_abs=None, rms=None, max_rel=None, sqnr_db=None, ulp=())),
        ([1.0, 2.0], [1.0, np.inf], Errors(max_abs=None, rms=None, max_rel=None, sqnr_db=None, ulp=())),
        ([0.0, 0.0], [0.0, 0.0], Errors(max_abs=0.0, rms=0.0, max_rel=None, sqnr_db=None, ulp=(2,))),
        ([3.0, 5.0], [3.0, 5.0], Errors(max_abs=0.0, rms=0.0, max_rel=0.0, sqnr_db=None, ulp=(2,))),
    ],
)
def test_errors_of_special_results(result, reference, found):
    assert errors(np.array(result, np.float32), np.array(reference)) == found


def test_a_comparison_has_every_format_in_three_forms(rng):
    a, b = rng.normal(size=(8, 64)), rng.normal(size=(64, 8))
    found = compare(a, b)
    assert tuple(found.errors) == FORMATS
    product = a.astype(np.float32).astype(np.float64) @ b.astype(np.float32).astype(np.float64)
    for name, each in found.errors.items():
        assert each == errors(matmul(a, b, format=name), product)
        assert sum(each.ulp) == 64
    lines = str(found).splitlines()
    assert lines[0].split() == " ".join(HEAD).split()
    assert [line.split()[:2] for line in lines[1:]] == [[name, find_machine(None, name).name] for name in FORMATS]
    assert found._repr_html_().count("<tr>") == len(FORMATS) + 1
    assert json.loads(found.to_json())["mx9"]["ulp"] == list(found.errors["mx9"].ulp)
    # More significand bits give a higher SQNR.
    ranked = [found.errors[name].sqnr_db for name in ("mx9", "mx6", "mx4")]
    assert ranked == sorted(ranked, reverse=True)


def test_results_without_error_lie_below_one_ulp():
    ones = np.ones((2, 4))
    assert str(compare(ones, ones.T, formats=["mx9"])).split()[-2:] == ["<", "2**0"]


def test_distances_near_the_largest_number():
    """A reference that float32 rounds to infinity has the last place of its own exponent."""
    a, b = np.zeros((1, 32)), np.zeros((32, 1))
    for scale in (1.0, 0.25):
        a[0, 0], b[0, 0] = 1.99 * 2.0**63 * scale, 1.05 * 2.0**64
        assert str(compare(a, b, formats=["mxfp8_e4m3"])).split()[-1] == "2**21"
    largest, smallest = np.finfo(np.float32).max, 2.0**-149
    for reference, last_place in (
        (2.0**130, 2.0**107),
        (float(largest), 2.0**104),
        (1.0, ULP),
        (smallest, smallest),
        (0.0, smallest),
    ):
        exact = np.array([reference])
        for ulps in (1, 4):
            result = np.array([reference + ulps * last_place])
            assert errors(result, exact).ulp == (0,) * ulps.bit_length() + (1,)


def test_the_plot_has_a_bar_and_a_histogram_for_each_format(rng):
    pytest.importorskip("matplotlib", reason="the extra plot is not installed")
    found = compare(rng.normal(size=(8, 64)), rng.normal(size=(64, 8)), formats=["mx9", "mx6", "mx4"])
    figure = found.plot()
    assert figure.get_size_inches().tolist() == [10, pytest.approx(1.2 + 0.4 * 3)]
    bars, histogram, colours = figure.axes
    assert [label.get_text() for label in bars.get_yticklabels()] == list(found.errors)
    assert [bar.get_width() for bar in bars.patches] == [each.sqnr_db for each in found.errors.values()]
    assert (bars.get_xlabel(), bars.yaxis_inverted()) == ("SQNR in dB", True)
    (picture,) = histogram.images
    shares = picture.get_array()
    assert shares.shape == (3, max(len(each.ulp) for each in found.errors.values()))
    for row, each in zip(shares, found.errors.values(), strict=True):
        assert row[: len(each.ulp)].tolist() == [count / 64 for count in each.ulp]
        assert not row[len(each.ulp) :].any()
    assert picture.get_clim()[0] == 0
    assert histogram.get_xlabel() == "distance: below 2**k ulp of float32"
    assert colours.get_ylabel() == "share of results"


def test_a_comparison_may_have_another_reference(rng):
    a, b = rng.integers(-9, 9, (4, 8)), rng.integers(-9, 9, (8, 4))
    exact = compare(a, b, formats=["int8", "bf16_hifi4"])
    assert [each.max_abs for each in exact.errors.values()] == [0.0, 0.0]
    shifted = compare(a, b, formats=["int8"], reference=(a @ b + 1.0))
    assert shifted.errors["int8"].max_abs == 1.0
    for kind in (np.ndarray.tolist, lambda x: x.astype(np.float32), lambda x: x.astype(np.int16)):
        assert compare(a, b, formats=["int8"], reference=kind(a @ b + 1.0)) == shifted
    with pytest.raises(TypeError, match="reference must hold floats or integers, not complex128"):
        compare(a, b, formats=["int8"], reference=a @ b + 1j)
    with pytest.raises(ValueError, match=r"reference must have shape \(4, 4\), not \(2, 2\)"):
        compare(a, b, formats=["int8"], reference=np.ones((2, 2)))


@pytest.mark.parametrize(
    ("formats", "error", "text"),
    [
        ("mx9", TypeError, "formats must be a list of names, not 'mx9'"),
        ([], ValueError, "formats must name at least one of mxfp8_e4m3, "),
        (["mx9", "mx10"], ValueError, "format must be a machine's, such as .*; not 'mx10'"),
    ],
)
def test_refused_formats(formats, error, text):
    with pytest.raises(error, match=text):
        compare(np.ones((2, 2)), np.ones((2, 2)), formats=formats)


def test_operands_and_sums_apart():
    """The multiplier of LoFi loses in the sums, an exact sum nothing; integers of float formats are taken in any order."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-100, 100, shape) for shape in ((8, 64), (64, 8)))
    found = compare(a, b, formats=["int8_descaled", "mx6", "bf16_lofi", "trainium3:bf16"], split=True).errors
    assert [*found][:4] == ["int8_descaled", "mx6", "mx6, operands", "mx6, sums"]
    assert found["mx6, sums"].max_abs == 0
    assert found["mx6, operands"].max_abs == found["mx6"].max_abs > 0
    assert found["bf16_lofi, operands"].max_abs == 0
    assert found["bf16_lofi, sums"].max_abs == found["bf16_lofi"].max_abs > 0
    assert found["trainium3:bf16"].max_abs == 0


def test_options_go_to_the_machines_that_have_them():
    a, b = np.random.default_rng(6).standard_normal((2, 512, 512))
    found = compare(a, b, formats=["mxfp8_e4m3", "mx9"], scale_rule="nki05")
    assert found.errors["mx9"] == compare(a, b, formats=["mx9"]).errors["mx9"]
    assert found.errors["mxfp8_e4m3"] != compare(a, b, formats=["mxfp8_e4m3"]).errors["mxfp8_e4m3"]
    with pytest.raises(TypeError, match="options must be rounding or sparse of these formats, not 'chip'"):
        compare(a, b, formats=["mx9"], chip="blackhole")
