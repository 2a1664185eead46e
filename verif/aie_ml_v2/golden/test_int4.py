"""Products of 4-bit integers by both tiers, by hand, and their known answers."""

from itertools import product

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.modes import INT4_SHAPES, INT8, Shape
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector

DENSE, SPARSE = "aie_tile_int4.npz", "aie_tile_sparse.npz"
INT4_SPARSE = "int8xint4_4x32x8T"
ANSWERED = {"int4xint4_8x8x8": (4, "8x8x8"), "int8xint4_8x8x8": (8, "8x8x8"), "int8xint4_4x8x16": (8, "4x8x16")}


def elements(codes, signed):
    """The elements of bytes by the exact tier."""
    return [each for byte in codes.ravel().tolist() for each in exact.unpack4(byte, signed)]


def exact_product(shape, a, b, acc):
    """Every lane of a tile, in steps of the depth of int8, as codes of 32 bits that wrap."""
    lanes = []
    for lane, total in enumerate(acc):
        pairs, code = exact.matrix_pairs(shape, a, b, lane), total
        for first in range(0, shape.k, INT8.depth):
            code = exact.integer_lane(INT8, *zip(*pairs[first : first + INT8.depth], strict=True), code)
        lanes.append(code)
    return lanes


@pytest.mark.parametrize(("a_bits", "name"), list(product((4, 8), INT4_SHAPES)))
@pytest.mark.parametrize(("signed_a", "signed_b"), list(product((False, True), repeat=2)))
def test_products(a_bits, name, signed_a, signed_b):
    """Every signedness; accumulators at both ends, which wrap."""
    shape, rng = INT4_SHAPES[name], np.random.default_rng(4)
    for _ in range(3):
        a = rng.integers(0, 256, (shape.m, shape.k * a_bits // 8), np.uint8)
        b = rng.integers(0, 256, (shape.k, shape.n // 2), np.uint8)
        acc = rng.choice(np.array([-(1 << 31), (1 << 31) - 1, 7]), (shape.m, shape.n))
        left = a.view(np.int8) if a_bits == 8 and signed_a else a
        options = {"a_bits": a_bits, "shape": name, "signed_a": signed_a, "signed_b": signed_b}
        got = aie.int4_matmul(left, b, acc, **options)
        x = elements(a, signed_a) if a_bits == 4 else left.ravel().tolist()
        assert got.ravel().tolist() == exact_product(shape, x, elements(b, signed_b), acc.ravel().tolist())
        assert np.array_equal(aie.int4_matmul(left, b, **options), aie.int4_matmul(left, b, acc * 0, **options))


def test_by_hand():
    """0x8F holds -1 and -8, unsigned 15 and 8."""
    a = np.zeros((8, 4), np.uint8)
    a[:, 0] = 0x8F
    b = np.zeros((8, 4), np.uint8)
    b[0], b[1] = 0x11, 0x22
    assert set(aie.int4_matmul(a, b, a_bits=4, shape="8x8x8").ravel().tolist()) == {-1 - 16}
    unsigned = aie.int4_matmul(a, b, a_bits=4, shape="8x8x8", signed_a=False)
    assert set(unsigned.ravel().tolist()) == {15 + 16}


@pytest.mark.parametrize("name", ANSWERED)
def test_known_answers(kat, name):
    archive, (a_bits, shape) = kat(DENSE), ANSWERED[name]
    tile = INT4_SHAPES[shape]
    fields = [archive[f"{name}_{key}"] for key in ("a_bytes", "b_bytes", "acc", "out", "signed")]
    assert len({len(each) for each in fields}) == 1
    for a, b, acc, out, (signed_a, signed_b) in zip(*fields, strict=True):
        left = a.view(np.int8) if a_bits == 8 and signed_a else a
        tiles = left.reshape(tile.m, -1), b.reshape(tile.k, -1), acc.reshape(tile.m, tile.n)
        got = aie.int4_matmul(*tiles, a_bits=a_bits, shape=shape, signed_a=bool(signed_a), signed_b=bool(signed_b))
        assert np.array_equal(got.ravel(), out)


def test_every_mode_is_answered(kat):
    names = {name.removesuffix("_a_bytes") for name in kat(DENSE) if name.endswith("_a_bytes")}
    assert names == set(ANSWERED)


def test_sparse_known_answers(kat):
    """4x32x8: slots of two elements are routed, unpacked, and multiplied in four native products."""
    archive = kat(SPARSE)
    keys = ("a", "b", "slots", "mask", "acc", "out", "signed")
    fields = [archive[f"{INT4_SPARSE}_{key}"] for key in keys]
    _, m, k = fields[0].shape
    n = fields[1].shape[1]
    shape = Shape(m=m, k=k, n=n, transposed=True)
    for a, b, slots, mask, acc, out, (_, signed_b) in zip(*fields, strict=True):
        dense = aie.to_dense(SparseVector(slots.reshape(n, -1, 2), mask.reshape(n, -1)))
        entities = aie.unpack4(dense, signed=bool(signed_b))
        assert np.array_equal(entities, b)
        got = exact_product(shape, a.ravel().tolist(), entities.ravel().tolist(), acc.ravel().tolist())
        assert got == out.ravel().tolist()


@pytest.mark.parametrize(
    ("wrong", "error", "sentence"),
    [
        ({"a_bits": 5}, ValueError, "a_bits must be 4 or 8, not 5"),
        ({"shape": "8x8"}, ValueError, "shape must be '8x8x8', '4x8x16' or '4x16x16', not '8x8'"),
        ({"a": np.zeros((8, 8), np.uint8)}, ValueError, "a must have shape [..., 8, 4] with shape '8x8x8', not (8, 8)"),
        ({"b": np.zeros((8, 8), np.uint8)}, ValueError, "b must have shape [..., 8, 4] with shape '8x8x8', not (8, 8)"),
        ({"b": np.zeros((8, 4), np.int8)}, TypeError, "b must be uint8, not int8"),
        ({"a": np.zeros((8, 4), np.int64)}, TypeError, "a must be uint8, not int64"),
    ],
)
def test_wrong_arguments(wrong, error, sentence):
    good = {"a": np.zeros((8, 4), np.uint8), "b": np.zeros((8, 4), np.uint8), "a_bits": 4, "shape": "8x8x8"}
    with pytest.raises(error) as raised:
        aie.int4_matmul(**good | wrong)
    assert str(raised.value).startswith(sentence)
