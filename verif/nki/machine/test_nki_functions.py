"""Functions of ``nl`` that are lists of instructions: roundings to integers, remainders, cosine and tangent."""

import numpy as np
import pytest

from bitpath.golden import nki

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

CORNERS = np.array(
    [0, -0.0, 0.3, -0.3, 0.5, -0.5, 1, -1, 1.5, -2.5, 3.7, -3.7, 2**22 + 0.5, -(2**22) - 0.5, 2**23 - 0.5, 0.5 - 2**23, 2**23, 2**24 + 2,
     -(2.0**31), 3e38, -3e38, np.inf, -np.inf, np.nan, 1e-40, -1e-40], np.float32)  # fmt: skip


def applied(function, *arrays, dtype=None, **options):
    """Return a function of ``nl`` of arrays [P, F]."""

    def kernel(*arrays):
        made = function(*[nl.load(each) if isinstance(each, nl.NkiTensor) else each for each in arrays], dtype=dtype)
        out = nl.ndarray(made.shape, made.dtype, nl.shared_hbm)
        nisa.dma_copy(out, made)
        return out

    return nki.run(kernel, *arrays, options=nki.Options(strict=True, **options)).outputs


@pytest.mark.parametrize("name", ["trunc", "floor", "ceil"])
def test_roundings_to_integers_are_numpys(name):
    words = np.random.default_rng(5).integers(0, 2**32, 998, np.uint32)
    small = (np.random.default_rng(6).standard_normal(1000) * 100).astype(np.float32)
    x = np.concatenate([CORNERS, np.zeros(6, np.float32), words.view(np.float32)[:968], small]).reshape(8, -1)
    got = applied(getattr(nl, name), x)
    with np.errstate(invalid="ignore"):  # signalling NaN
        expected = getattr(np, name)(x)
    same = (got.view(np.uint32) == expected.view(np.uint32)) | (np.isnan(got) & np.isnan(expected))
    assert same.all(), x[~same]


@pytest.mark.parametrize("name", ["trunc", "floor", "ceil"])
def test_integers_stay_as_they_are_and_dtypes_are_cast(name):
    x = np.array([[2**24 + 1, -7]], np.int32)
    assert applied(getattr(nl, name), x).tolist() == x.tolist()
    got = applied(getattr(nl, name), np.array([[1.5, -1.5]], np.float32), dtype="int32")
    assert got.tolist() == getattr(np, name)([[1.5, -1.5]]).astype(np.int32).tolist()


@pytest.mark.parametrize("y", [3.0, -3.0, 0.5])
@pytest.mark.parametrize("name", ["mod", "fmod"])
def test_remainders_of_small_integers_and_halves_are_numpys(name, y):
    x = np.arange(-40, 40, dtype=np.float32).reshape(4, -1) + np.float32(0.25)
    expected = getattr(np, name)(x, np.float32(y))
    assert (applied(getattr(nl, name), x, y) == expected).all()
    assert (applied(getattr(nl, name), x, np.full_like(x, y)) == expected).all()


@pytest.mark.parametrize("name", ["mod", "fmod"])
def test_remainders_of_all_small_integers_are_numpys(name):
    x, y = (each.astype(np.float32) for each in np.meshgrid(np.arange(-64, 64), np.delete(np.arange(-100, 101), 100)))
    x, y = x.T.copy(), y.T.copy()
    assert (applied(getattr(nl, name), x, y) == getattr(np, name)(x, y)).all()


def test_the_remainder_of_a_number_by_a_tile():
    y = np.array([[0.75, 2.5, -4]], np.float32)
    assert applied(nl.mod, 10.0, y).tolist() == np.mod(np.float32(10), y).tolist()


@pytest.mark.parametrize(("name", "most"), [("cos", 3e-7), ("tan", 3e-6)])
def test_cosine_and_tangent(name, most):
    x = np.linspace(-1.4, 1.4, 64, dtype=np.float32).reshape(2, -1)
    exact = getattr(np, name)(x.astype(np.float64))
    assert np.abs(applied(getattr(nl, name), x) - exact).max() < most
    assert applied(nl.cos, np.zeros((1, 1), np.float32)) == 1
