"""Native products of every shape and of 4-bit integers, by both tiers, by hand, and their known answers."""

import re
from functools import partial
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_PAIRS
from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_MODES, INT4_SHAPES, INT8, INTEGER_MODES, Shape
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.aie_ml_v2.mac.sparsity import SPARSE_MODES, SparseVector
from bitpath.golden.arrays.codec import codes_of, format_of

# Products of 4-bit integers by both tiers, by hand, and their known answers.


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


def test_int4_by_hand():
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


# Native products of every shape by both tiers: matrices, sparse ones, element-wise, convolutions, complex.


OPTIONS = ("shift16", "negate_products", "negate_acc1", "negate_acc2", "zero_acc1")
SEEDS = st.integers(0, 1 << 32)
DENSE_SHAPES = [(name, shape) for name, mode in INTEGER_MODES.items() for shape in mode.shapes if not shape.sparse]
SPARSE_SHAPES = [(name, shape) for name, mode in SPARSE_MODES.items() for shape in mode.sparse_shapes]
ELEMENTWISE = [(name, *each) for name, mode in INTEGER_MODES.items() for each in mode.elementwise]
CONVOLUTIONS = [(name, each) for name, mode in INTEGER_MODES.items() for each in mode.convolutions]
FLOATS = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16, "fp8": ml_dtypes.float8_e5m2}


def integers(rng, bits, signed, shape):
    """Integers of all sizes; every third is an end of the range."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    ends = rng.choice(np.array([low, high]), shape)
    return np.where(rng.random(shape) < 1 / 3, ends, rng.integers(low, high + 1, shape))


def operands(rng, row, sizes, signed):
    return [
        integers(rng, bits, sign, size)
        for bits, sign, size in zip((row.a_bits, row.b_bits), signed, sizes, strict=True)
    ]


def drawn(seed, row, lanes):
    """Return a generator, signs of the operands, accumulators and options."""
    rng = np.random.default_rng(seed)
    accumulators = [integers(rng, row.lane_bits, True, lanes) for _ in range(2)]
    options = dict(zip(OPTIONS, (rng.random(len(OPTIONS)) < 0.4).tolist(), strict=True))
    return rng, (rng.random(2) < 0.5).tolist(), accumulators, options


def lane_results(row, pairs, acc1, acc2, options):
    """The exact tier's lanes of pairs of operands."""
    own = {name: value for name, value in options.items() if name != "zero_acc1"}
    first = [0] * len(pairs) if options["zero_acc1"] else acc1
    return [
        exact.integer_lane(row, *zip(*pair, strict=True), one, two, **own)
        for pair, one, two in zip(pairs, first, acc2, strict=True)
    ]


@settings(deadline=None, max_examples=20)
@given(SEEDS)
@pytest.mark.parametrize(("mode", "shape"), DENSE_SHAPES, ids=str)
def test_matrices(mode, shape, seed):
    row, lanes = INTEGER_MODES[mode], shape.m * shape.n
    rng, signed, (acc1, acc2), options = drawn(seed, row, lanes)
    a, b = operands(rng, row, (shape.m * shape.k, shape.k * shape.n), signed)
    got = aie.integer_matmul(
        a.reshape(shape.m, shape.k),
        b.reshape(shape.k, shape.n),
        acc1.reshape(shape.m, shape.n),
        mode=mode,
        shape=shape.name,
        acc2=acc2.reshape(shape.m, shape.n),
        signed_a=signed[0],
        signed_b=signed[1],
        **options,
    )
    pairs = [exact.matrix_pairs(shape, a.tolist(), b.tolist(), lane) for lane in range(lanes)]
    assert got.ravel().tolist() == lane_results(row, pairs, acc1.tolist(), acc2.tolist(), options)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.booleans())
@pytest.mark.parametrize(("mode", "lanes", "depth"), ELEMENTWISE, ids=str)
def test_elementwise(mode, lanes, depth, seed, broadcasts):
    row = INTEGER_MODES[mode]
    rng, signed, (acc1, acc2), options = drawn(seed, row, lanes)
    a, b = operands(rng, row, (lanes * depth, 1 if broadcasts else lanes * depth), signed)
    got = aie.elementwise(a, b, acc1, acc2, mode=mode, signed_a=signed[0], signed_b=signed[1], **options)
    pairs = [exact.elementwise_pairs(lanes, a.tolist(), b.tolist(), lane) for lane in range(lanes)]
    assert got.tolist() == lane_results(row, pairs, acc1.tolist(), acc2.tolist(), options)


@settings(deadline=None, max_examples=20)
@given(SEEDS)
@pytest.mark.parametrize(("mode", "shape"), CONVOLUTIONS, ids=str)
def test_convolutions(mode, shape, seed):
    row, lanes = INTEGER_MODES[mode], shape.outputs * shape.channels
    rng, signed, (acc1, acc2), options = drawn(seed, row, lanes)
    a, b = operands(rng, row, (1024 // row.a_bits, 512 // row.b_bits), signed)
    run = partial(aie.convolve, acc1=acc1, acc2=acc2, mode=mode, shape=shape.name, **options)
    got = run(a, b, signed_a=signed[0], signed_b=signed[1])
    pairs = [exact.convolution_pairs(shape, a.tolist(), b.tolist(), lane) for lane in range(lanes)]
    assert got.tolist() == lane_results(row, pairs, acc1.tolist(), acc2.tolist(), options)
    # Elements that no lane takes do not matter.
    a[shape.channels * (shape.outputs + shape.taps - 1) :] = b[shape.channels * shape.taps :] = 0
    assert np.array_equal(run(a, b, signed_a=signed[0], signed_b=signed[1]), got)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.booleans(), st.integers(0, 255))
@pytest.mark.parametrize("mode", COMPLEX_MODES)
def test_complex(mode, seed, broadcasts, negate):
    row = COMPLEX_MODES[mode]
    numbers = 16 * row.complex_depth
    rng, _, (acc1, acc2), options = drawn(seed, row, (16, 2))
    a, b = operands(rng, row, ((numbers, 2), (1 if broadcasts else numbers, 2)), (True, True))
    if row.complex_depth == 1:
        negate = negate & 0x33 | (negate & 0x33) << 2
    got = aie.complex_dot(a, b, acc1, acc2, mode=mode, negate=negate, **options)
    first = acc1 * (not options.pop("zero_acc1"))
    sides = ([tuple(each) for each in side.tolist()] for side in (a, b))
    lane = partial(exact.complex_lane, row, *sides, negate=negate, **options)
    expected = [lane(i, tuple(first[i].tolist()), tuple(acc2[i].tolist())) for i in range(16)]
    assert got.tolist() == [list(each) for each in expected]


@pytest.mark.parametrize(
    ("negate", "value"), [(0x0A, (-5, 10)), (0xA0, (11, -2)), (0x50, (11, 2)), (0xFA, (-5, -10))], ids=str
)
def test_complex_by_hand(negate, value):
    """(1 + 2i) (3 + 4i), and its conjugates."""
    a, b = np.zeros((2, 32, 2), int)
    a[3], b[3] = (1, 2), (3, 4)
    assert aie.complex_dot(a, b, mode="cint16", negate=negate)[3].tolist() == list(value)
    only = aie.complex_dot(a[:16], b[3:4], mode="cint32x16", negate=negate)
    assert only[3].tolist() == list(value)
    assert not only[:3].any()


@pytest.mark.parametrize(
    ("negate", "value"),
    [(0x9C, (1 + 2j) * (3 - 4j) - (5 + 6j) * (7 - 9j)), (0xC6, (1 + 2j) * (3 + 4j) - (5 + 6j) * (7 + 9j))],
    ids=str,
)
def test_butterflies_by_hand(negate, value):
    """The second product is subtracted."""
    a, b = np.zeros((2, 32, 2), int)
    a[0], b[0], a[16], b[16] = (1, 2), (3, 4), (5, 6), (7, 9)
    assert aie.complex_dot(a, b, mode="cint16", negate=negate)[0].tolist() == [value.real, value.imag]


def test_products_by_hand():
    """The specification's examples: a convolution of a ramp, and a 64-bit lane that wraps."""
    taps = np.zeros(64, np.int8)
    taps[[0, 7]] = 1, -1
    assert set(aie.convolve(np.arange(128) % 128, taps, mode="int8", shape="64x8").tolist()) == {-7}
    one = np.ones((4, 4), int)
    largest = np.full((4, 8), (1 << 63) - 1)
    b = np.ones((4, 8), int) * np.array([1, 0, 0, 0])[:, np.newaxis]
    assert set(aie.integer_matmul(one, b, largest, mode="int16_64").ravel().tolist()) == {-(1 << 63)}


def overfilled(rng, shape):
    """Masks of every kind, a third of them with more than two bits."""
    allowed, others = list(SPARSE_PAIRS), sorted(set(range(16)) - set(SPARSE_PAIRS))
    return np.where(rng.random(shape) < 1 / 3, rng.choice(others, shape), rng.choice(allowed, shape)).astype(np.uint8)


@settings(deadline=None, max_examples=20)
@given(SEEDS)
@pytest.mark.parametrize(("mode", "shape"), [each for each in SPARSE_SHAPES if each[0] in INTEGER_MODES], ids=str)
def test_sparse_integers(mode, shape, seed):
    row = INTEGER_MODES[mode]
    rng, signed, (acc1, acc2), options = drawn(seed, row, (shape.m, shape.n))
    a, slots = operands(rng, row, ((shape.m, shape.k), (shape.n, shape.k // 4, 2)), signed)
    masks = overfilled(rng, (shape.n, shape.k // 4))
    signs = {"signed_a": signed[0], "signed_b": signed[1]}
    got = aie.sparse_matmul(
        a, SparseVector(slots, masks), format=mode, acc=acc1, overfull="drop", acc2=acc2, **signs, **options
    )
    pairs = [lane_pairs(a[i].tolist(), slots[j].tolist(), masks[j].tolist()) for i, j in np.ndindex(shape.m, shape.n)]
    lanes = lane_results(row, pairs, acc1.ravel().tolist(), acc2.ravel().tolist(), options)
    assert got.ravel().tolist() == lanes


def lane_pairs(a, slots, masks):
    """Return the pairs of a sparse lane by the exact tier, overfull groups dropped."""
    return [
        pair
        for group, mask in enumerate(masks)
        for pair in exact.pairs(a[4 * group : 4 * group + 4], tuple(slots[group]), mask, "drop")
    ]


@settings(deadline=None, max_examples=10)
@given(SEEDS)
@pytest.mark.parametrize(("fmt", "shape"), [each for each in SPARSE_SHAPES if each[0] in FLOATS], ids=str)
def test_sparse_floats(fmt, shape, seed):
    """Any codes, infinities in dropped slots among them."""
    rng, dtype = np.random.default_rng(seed), np.dtype(FLOATS[fmt])
    numbers = [rng.standard_normal((shape.m, shape.k)), rng.standard_normal((shape.n, shape.k // 4, 2))]
    a, slots = (each.astype(np.float32).astype(dtype) for each in numbers)
    slots[rng.random(slots.shape) < 1 / 16] = np.inf
    masks = overfilled(rng, (shape.n, shape.k // 4))
    acc = rng.standard_normal((shape.m, shape.n)).astype(np.float32)
    got = aie.sparse_matmul(a, SparseVector(slots, masks), format=fmt, acc=acc, overfull="drop").view(np.uint32)
    x, y, form = codes_of(a), codes_of(slots), format_of(dtype)
    for i, j in {(0, 0), (shape.m - 1, shape.n - 1), *map(tuple, rng.integers((shape.m, shape.n), size=(6, 2)))}:
        pairs = lane_pairs(x[i].tolist(), y[j].tolist(), masks[j].tolist())
        sides = ([(code, form) for code in side] for side in zip(*pairs, strict=True))
        lane = exact.trace_float_lane(AIE_ML_V2.numerics, *sides, int(acc[i, j].view(np.uint32)))
        assert got[i, j] == lane.result


@pytest.mark.parametrize("mask", sorted(set(range(16)) - set(SPARSE_PAIRS)))
def test_an_overfull_group_multiplies_nothing(mask):
    """With "drop", its entities are dropped with their slots."""
    assert exact.positions(mask, "drop") == (None, None)
    assert exact.load_group([1, 2, 3, 4], mask, "drop") == (0, 0)
    assert exact.route_group((1, 2), mask, "drop") == [0] * 4
    dense = np.zeros((8, 16), np.int8)
    dense[:, 4:8] = [mask >> i & 1 for i in range(4)]
    dense[:, 9] = 5
    sparse = aie.to_sparse(dense, overfull="drop")
    assert (sparse.mask[0, 1], sparse.slots[0, 1].tolist()) == (mask, [0, 0])
    loaded = aie.sparse_load(aie.compress(dense[:4].view(np.uint8).ravel()), overfull="drop")
    assert np.array_equal(loaded.mask, sparse.mask[:4].ravel())
    assert np.array_equal(aie.to_dense(sparse, overfull="drop")[0], np.where(np.arange(16) == 9, 5, 0))
    a = np.full((8, 16), 3)
    assert set(aie.sparse_matmul(a, sparse, format="int8", overfull="drop").ravel().tolist()) == {15}
    for wrong in (partial(aie.sparse_matmul, format="int8"), partial(aie.select)):
        with pytest.raises(ValueError, match=f"^b must set two bits in each group of four, not {mask:04b}$"):
            wrong(a, sparse)


def test_a_sparse_product_by_hand():
    """The specification's example: mask 1001, slots 5 and -3, A of 1 to 4."""
    dense = np.zeros((8, 16), np.int8)
    dense[0, :4] = 5, 0, 0, -3
    a = np.tile(np.arange(1, 17) % 4, (8, 1))
    a[:, 3] = 4
    sparse = aie.to_sparse(dense)
    assert (sparse.mask[0, 0], sparse.slots[0, 0].tolist()) == (0b1001, [5, -3])
    assert aie.sparse_matmul(a, sparse, format="int8")[:, 0].tolist() == [-7] * 8


X, G = np.zeros(64, int), np.zeros((8, 4), np.uint8)
NONE = SparseVector(np.zeros((8, 4, 2), int), G)
PAIRS = np.zeros((32, 2), int)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: aie.integer_matmul(X, X, mode="int4"),
            "mode must be 'int8', 'int16', 'int16_64' or 'int32x16', not 'int4'",
        ),
        (
            lambda: aie.integer_matmul(X, X, mode="int8", shape="8x2x8"),
            "shape must be '8x8x8' or '4x8x16', not '8x2x8'",
        ),
        (lambda: aie.integer_matmul(X, X, mode="int8"), "a must have shape [..., 8, 8] with shape '8x8x8', not (64,)"),
        (lambda: aie.elementwise(X, X, mode="int32x16"), "mode must be 'int8', 'int16' or 'int16_64', not 'int32x16'"),
        (
            lambda: aie.elementwise(X[:9], X, mode="int16"),
            "a must have shape [..., N] with N of 64 in mode 'int16', not (9,)",
        ),
        (lambda: aie.elementwise(X, X[:2], mode="int8"), "b must have shape [..., 64] as a, or [..., 1], not (2,)"),
        (lambda: aie.convolve(X, X, mode="int8", shape="9x9"), "shape must be '64x8' or '8x8_8ch', not '9x9'"),
        (
            lambda: aie.convolve(X, X, mode="int8", shape="64x8"),
            "a must have shape [..., 128] in mode 'int8', not (64,)",
        ),
        (
            lambda: aie.complex_dot(PAIRS, X, mode="cint16"),
            "b must have shape [..., 32, 2] in mode 'cint16', not (64,)",
        ),
        (
            lambda: aie.complex_dot(PAIRS[:16], PAIRS[:16], mode="cint32x16", negate=0x02),
            "negate must have equal bits for both products in mode 'cint32x16', not 0x02",
        ),
        (lambda: aie.complex_dot(PAIRS, PAIRS, mode="cint16", negate=256), "negate must be 0 to 255, not 256"),
        (
            lambda: aie.sparse_matmul(G, NONE, format="int8"),
            "a and b must make a shape of 8x16x8T, 4x16x16T or 4x16x8T, not (8, 4) with masks (8, 4)",
        ),
        (lambda: aie.sparse_matmul(X, NONE, format="int8"), "a must have shape [..., M, K], not (64,)"),
        (
            lambda: aie.to_sparse(X, overfull="keep"),
            "overfull must be 'error' or 'drop', not 'keep'",
        ),
    ],
)
def test_wrong_values(call, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        call()


def test_every_shape_is_tested():
    assert (len(DENSE_SHAPES), len(SPARSE_SHAPES), len(ELEMENTWISE), len(CONVOLUTIONS)) == (5, 7, 4, 4)
