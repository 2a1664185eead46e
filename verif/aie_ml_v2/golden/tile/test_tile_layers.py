"""Layers on the tile: equal to the product and its conversion, one operation at a time, within their cycles."""

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode, Saturation

RNG = np.random.default_rng(20261127)
ZEROS, ONES = np.zeros((16, 64), int), np.ones((32, 16), int)
WIDTHS = {"int8": (8, 32), "int16_64": (16, 64)}


def integers(mode, *shape):
    limit = 1 << WIDTHS[mode][0] - 1
    return RNG.integers(-limit, limit, shape)


def pruned(matrix):
    """Return a matrix with two numbers of each four along K set to 0."""
    groups = matrix.reshape(-1, 4, matrix.shape[1]).copy()
    np.put_along_axis(groups, RNG.random(groups.shape).argsort(axis=1)[:, :2], 0, axis=1)
    return groups.reshape(matrix.shape)


def same_blocks(first, second):
    return all(
        np.array_equal(*(getattr(each, part) for each in (first, second))) for part in ("exponent", "shift", "codes")
    )


def expected(a, b, mode, shift, **options):
    width, acc_bits = WIDTHS[mode]
    options = {"rounding": RoundingCode.CONV_EVEN, "saturate": Saturation.SATURATE} | options
    return aie.srs(aie.matmul(a, b, fmt=mode).astype(np.int64), shift, acc_bits=acc_bits, out_bits=width, **options)


@pytest.mark.parametrize(("mode", "sparse"), [("int8", False), ("int8", True), ("int16_64", False), ("int16_64", True)])
@pytest.mark.parametrize("blocks", [(1, 2, 1), (2, 3, 2), (3, 2, 1)])
def test_integers(mode, sparse, blocks):
    """Blocks along M, K and N."""
    m, k, n = {
        ("int8", False): (16, 8, 16),
        ("int8", True): (16, 16, 16),
        ("int16_64", False): (8, 4, 16),
        ("int16_64", True): (8, 8, 16),
    }[mode, sparse]
    a, b = integers(mode, m * blocks[0], k * blocks[1]), integers(mode, k * blocks[1], n * blocks[2])
    b = pruned(b) if sparse else b
    result, report = aie.run_layer(aie.integer_layer(a, b, mode=mode, shift=7, sparse=sparse))
    assert (result == expected(a, b, mode, 7)).all()
    assert report.products == 4 * np.prod(blocks)
    assert report.stalls == {"banks": 0}


def test_rounding_and_saturation():
    a, b = integers("int8", 16, 32), integers("int8", 32, 16)
    options = {"rounding": RoundingCode.FLOOR, "saturate": Saturation.NONE}
    result, _ = aie.run_layer(aie.integer_layer(a, b, mode="int8", shift=3, **options))
    assert (result == expected(a, b, "int8", 3, **options)).all()


def test_the_next_layer_takes_the_result():
    a, b, c = integers("int8", 32, 64), integers("int8", 64, 32), integers("int8", 32, 16)
    first, _ = aie.run_layer(aie.integer_layer(a, b, mode="int8", shift=9))
    second, _ = aie.run_layer(aie.integer_layer(first, c, mode="int8", shift=8))
    assert (second == expected(expected(a, b, "int8", 9), c, "int8", 8)).all()


@pytest.mark.parametrize("blocks", [(1, 1, 1), (2, 3, 2), (1, 2, 3)])
def test_mx9(blocks):
    m, k, n = (16 * each for each in blocks)
    a, b = (RNG.standard_normal(size).astype(np.float32) for size in ((m, k), (k, n)))
    result, report = aie.run_layer(aie.mx9_layer(a, b))
    whole = aie.to_mx(aie.matmul(a, b, fmt="mx9"), "mx9")
    assert same_blocks(result, whole)
    assert report.products == 4 * np.prod(blocks)
    assert report.stalls == {"banks": 0}
    chained = aie.mx9_layer(result, b.T)
    following, _ = aie.run_layer(chained)
    assert same_blocks(following, aie.to_mx(aie.matmul(aie.from_mx(result), b.T, fmt="mx9"), "mx9"))
    assert chained.macs == m * n * k


@pytest.mark.parametrize(
    ("mode", "sparse", "least"),
    [("int8", False, 477), ("mx9", False, 456), ("int8", True, 954), ("int16_64", False, 119), ("int16_64", True, 238)],
)
@pytest.mark.deep
def test_rates_of_the_real_layer(mode, sparse, least):
    """64 x 128 x 64: multiply-accumulates a cycle, of 512, 512, 1024, 128 and 256; the specification's part of them."""
    k = 64 if mode == "int16_64" else 128
    if mode == "mx9":
        a, b = (RNG.standard_normal(size).astype(np.float32) for size in ((64, k), (k, 64)))
        layer = aie.mx9_layer(a, b)
    else:
        a, b = integers(mode, 64, k), integers(mode, k, 64)
        b = pruned(b) if sparse else b
        layer = aie.integer_layer(a, b, mode=mode, shift=9, sparse=sparse)
    result, report = aie.run_layer(layer)
    assert layer.macs / report.cycles >= least
    if mode == "mx9":
        assert same_blocks(result, aie.to_mx(aie.matmul(a, b, fmt="mx9"), "mx9"))
    else:
        assert (result == expected(a, b, mode, 9)).all()


def test_operands_in_one_pair_of_banks():
    """Both loads of a bundle meet: one stall for each such bundle, and the same result."""
    a, b = integers("int8", 32, 64), integers("int8", 64, 32)
    layer = aie.integer_layer(a, b, mode="int8", shift=9, b_at=0x2000)
    with pytest.raises(aie.HazardError, match="must not meet at a bank"):
        aie.run_layer(layer)
    result, report = aie.run_layer(layer, conflicts="stall")
    assert (result == expected(a, b, "int8", 9)).all()
    assert report.stalls == {"banks": 2 * report.products // 4}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: aie.integer_layer(np.zeros((8, 8), int), np.zeros((8, 16), int), mode="int8", shift=0),
            "M must be a multiple of 16",
        ),
        (
            lambda: aie.integer_layer(np.zeros((16, 8), int), np.zeros((8, 16), int), mode="int16", shift=0),
            "mode must be",
        ),
        (
            lambda: aie.integer_layer(ZEROS[:, :32], ONES, mode="int8", shift=0, sparse=True),
            "dense must set two bits in each group of four, not 1111",
        ),
        (
            lambda: aie.integer_layer(ZEROS[:, :8], ONES[:8], mode="int8", shift=0),
            "K must be at least 16 in mode int8, not 8",
        ),
        (
            lambda: aie.integer_layer(np.zeros((16, 2048), int), np.zeros((2048, 16), int), mode="int8", shift=0),
            "a must have at most 16384 bytes in memory, not 32768",
        ),
        (
            lambda: aie.mx9_layer(np.zeros((8, 16), np.float32), np.zeros((16, 16), np.float32)),
            "M must be a multiple of 16, not 8",
        ),
        (
            lambda: aie.mx9_layer(np.zeros((16, 32), np.float32), np.zeros((16, 16), np.float32)),
            "a must be MX9 with 1 blocks a row",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
