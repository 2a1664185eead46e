"""`relative_rms` and `kl_divergence` against their definitions, and tables as text and HTML."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.losses import kl_divergence, relative_rms
from bitpath.golden.tables import as_html, as_text


def test_the_relative_error_follows_its_definition():
    exact, found = [[3.0, -4.0], [0.5, 2.0]], [[3.5, -4.0], [0.25, 2.0]]
    noise, signal = Fraction(1, 4) + Fraction(1, 16), 9 + 16 + Fraction(1, 4) + 4
    assert relative_rms(found, exact) == math.sqrt(noise / signal)
    assert relative_rms(np.array(found, ml_dtypes.bfloat16), exact) == math.sqrt(noise / signal)


@pytest.mark.parametrize(
    ("found", "exact", "is_"),
    [
        ([0.0], [0.0], 0.0),
        ([1.0], [0.0], math.inf),
        ([np.nan], [1.0], math.nan),
        ([1.0], [np.inf], math.nan),
        ([np.inf], [1.0], math.inf),
    ],
)
def test_corners_of_the_relative_error(found, exact, is_):
    assert relative_rms(found, exact) == pytest.approx(is_, rel=0, nan_ok=True)


def test_the_divergence_follows_its_definition():
    random = np.random.default_rng(3)
    q, p = (random.normal(size=(2, 3, 5)) for _ in range(2))
    expected = 0.0
    for own, other in zip(p.reshape(-1, 5), q.reshape(-1, 5), strict=True):
        one, two = ([math.exp(x) / sum(map(math.exp, row)) for x in row] for row in (own, other))
        expected += sum(a * math.log(a / b) for a, b in zip(one, two, strict=True)) / 6
    assert kl_divergence(q, p) == pytest.approx(expected, rel=1e-12)
    assert kl_divergence(p, p) == 0
    # Logits count by their differences, however large.
    assert kl_divergence(q + 1e4, p - 1e4) == pytest.approx(expected, rel=1e-9)
    assert math.isnan(kl_divergence(np.full((1, 5), np.nan), np.zeros((1, 5))))


@pytest.mark.parametrize("loss", [relative_rms, kl_divergence])
def test_other_shapes_and_numbers_are_refused(loss):
    with pytest.raises(ValueError, match=r"^result must have shape \[3, 2\], as the reference has, not \(2, 2\)$"):
        loss(np.ones((2, 2)), np.ones((3, 2)))
    with pytest.raises(TypeError, match=r"^reference must hold floats or integers, not bool$"):
        loss(np.ones(2), np.ones(2, bool))


ROWS = [("name", "loss"), ("a<b", "0.5"), ("up", "12")]


def test_a_table_is_aligned():
    assert as_text(ROWS, left=1) == "name  loss\na<b    0.5\nup      12"
    assert as_text(ROWS, left=2) == "name  loss\na<b   0.5\nup    12"


def test_a_table_in_html_is_escaped():
    assert as_html(ROWS) == (
        "<table><thead><tr><th>name</th><th>loss</th></tr></thead><tbody><tr><td>a&lt;b</td><td>0.5</td></tr>"
        "<tr><td>up</td><td>12</td></tr></tbody></table>"
    )
