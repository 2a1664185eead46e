"""Known answers of native products, made from the specification without this project: every array, by both tiers."""

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_CHUNK_BYTES
from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_MODES, INTEGER_MODES
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector

SHAPES = "aie_tile_mac_shapes.npz"
SPARSE = "aie_tile_sparse.npz"
INT4 = "int8xint4_4x32x8T"
MATRICES = {f"{name}_{each.name}": (name, each) for name, row in INTEGER_MODES.items() for each in row.shapes}
"""The archives' names of matrix shapes, dense and sparse, of which they have some."""
CONVOLUTIONS = {
    f"{name}_conv_{each.name}": (name, each) for name, row in INTEGER_MODES.items() for each in row.convolutions
}
ELEMENTWISE = {"int8_elem_64_2": ("int8", 64), "int16_elem_64": ("int16", 64), "int16_64_elem_32_2": ("int16_64", 32)}
COMPLEX = {"cint16_elem_16_2": "cint16", "cint32x16_elem_16": "cint32x16"}
DENSE = ("int16_64_4x4x8", "int32x16_4x2x8", "int8_4x8x16")
STREAMED = ("int8_8x16x8T", "int8_4x16x16T", "int16_64_4x8x8T")


def cases(archive, name, *fields):
    """Return arrays of a mode as int64, case by case, with the signs of the operands."""
    arrays = [archive[f"{name}_{field}"].astype(np.int64) for field in fields]
    signs = archive[f"{name}_signed"].tolist()
    assert len(signs) == len(arrays[0])
    return [(*each, *sign) for *each, sign in zip(*arrays, signs, strict=True)]


def exact_lanes(row, pairs, acc):
    return [exact.integer_lane(row, *zip(*pair, strict=True), one) for pair, one in zip(pairs, acc, strict=True)]


def test_every_array_has_its_test(kat):
    names = {name.removesuffix("_out") for name in kat(SHAPES) if name.endswith("_out")}
    assert names == {*DENSE, *CONVOLUTIONS, *ELEMENTWISE, *COMPLEX}
    assert {name.removesuffix("_out") for name in kat(SPARSE) if name.endswith("_out")} == {*STREAMED, INT4}


@pytest.mark.parametrize("name", DENSE)
def test_matrices(kat, name):
    mode, shape = MATRICES[name]
    for a, b, acc, out, signed_a, signed_b in cases(kat(SHAPES), name, "a", "b", "acc", "out"):
        tiles = a.reshape(shape.m, shape.k), b.reshape(shape.k, shape.n), acc.reshape(shape.m, shape.n)
        got = aie.integer_matmul(*tiles, mode=mode, shape=shape.name, signed_a=signed_a, signed_b=signed_b)
        assert np.array_equal(got.ravel(), out)
        pairs = [exact.matrix_pairs(shape, a.tolist(), b.tolist(), lane) for lane in range(len(out))]
        assert exact_lanes(INTEGER_MODES[mode], pairs, acc.tolist()) == out.tolist()


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(kat, name):
    mode, lanes = ELEMENTWISE[name]
    for a, b, acc, out, signed_a, signed_b in cases(kat(SHAPES), name, "a", "b", "acc", "out"):
        assert np.array_equal(aie.elementwise(a, b, acc, mode=mode, signed_a=signed_a, signed_b=signed_b), out)
        pairs = [exact.elementwise_pairs(lanes, a.tolist(), b.tolist(), lane) for lane in range(lanes)]
        assert exact_lanes(INTEGER_MODES[mode], pairs, acc.tolist()) == out.tolist()


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(kat, name):
    mode, shape = CONVOLUTIONS[name]
    for a, b, acc, out, signed_a, signed_b in cases(kat(SHAPES), name, "a", "b", "acc", "out"):
        options = {"mode": mode, "shape": shape.name, "signed_a": signed_a, "signed_b": signed_b}
        assert np.array_equal(aie.convolve(a, b, acc, **options), out)
        pairs = [exact.convolution_pairs(shape, a.tolist(), b.tolist(), lane) for lane in range(len(out))]
        assert exact_lanes(INTEGER_MODES[mode], pairs, acc.tolist()) == out.tolist()


@pytest.mark.parametrize("name", COMPLEX)
def test_complex(kat, name):
    archive, mode = kat(SHAPES), COMPLEX[name]
    arrays = [archive[f"{name}_{field}"] for field in ("a", "b", "acc", "out", "mask")]
    assert len({len(each) for each in arrays}) == 1
    for a, b, acc, out, mask in zip(*arrays, strict=True):
        assert np.array_equal(aie.complex_dot(a, b, acc, mode=mode, negate=int(mask)), out)
        x, y, first = ([tuple(each) for each in side.tolist()] for side in (a, b, acc))
        lanes = [
            exact.complex_lane(COMPLEX_MODES[mode], x, y, lane, first[lane], negate=int(mask))
            for lane in range(len(out))
        ]
        assert lanes == [tuple(each) for each in out.tolist()]


def loaded(archive, name, entity_bytes):
    """Return the slots and masks of each case's stream, chunk by chunk to its end."""
    start, stream = archive[f"{name}_stream_start"], archive[f"{name}_stream"]
    for case in np.split(stream, start[1:-1]):
        slots, masks, taken = [], [], 0
        while taken < len(case):
            chunk = aie.sparse_load(case[taken:], entity_bytes)
            slots.append(chunk.slots)
            masks.append(chunk.mask)
            taken += aie.decompress(case[taken:])[2]
        yield np.concatenate(slots), np.concatenate(masks)


def test_positions_of_every_mask(kat):
    expected = [tuple(None if each < 0 else each for each in pair) for pair in kat(SPARSE)["mask_positions"].tolist()]
    assert [exact.positions(mask, "drop") for mask in range(16)] == expected


@pytest.mark.parametrize("name", [*STREAMED, INT4])
def test_streams(kat, name):
    """Streams decompress to the slots and masks, and to B; B compresses to the streams."""
    archive, size = kat(SPARSE), 2 if name.startswith("int16") else 1
    b = archive[f"{name}_b"]
    data = b.astype("<i2").view(np.uint8) if size == 2 else b.astype(np.uint8)
    if name == INT4:
        data = data[..., ::2] & 15 | data[..., 1::2] << 4
    bytes_of_b = data.reshape(len(b), -1, SPARSE_CHUNK_BYTES)
    streams = [aie.compress(chunk) for case in bytes_of_b for chunk in case]
    assert np.array_equal(np.concatenate(streams), archive[f"{name}_stream"])
    every = list(loaded(archive, name, size))
    assert len(every) == len(b)
    for (slots, masks), expected, mask, case in zip(
        every, archive[f"{name}_slots"], archive[f"{name}_mask"], bytes_of_b, strict=True
    ):
        assert np.array_equal(slots.astype(f"<u{size}").view(np.uint8).ravel(), expected)
        assert np.array_equal(masks, mask)
        dense = aie.to_dense(SparseVector(slots, masks))
        assert np.array_equal(dense.astype(f"<u{size}").view(np.uint8).ravel(), case.ravel())


@pytest.mark.parametrize("name", STREAMED)
def test_sparse_products(kat, name):
    archive, (mode, shape) = kat(SPARSE), MATRICES[name]
    row = INTEGER_MODES[mode]
    every = cases(archive, name, "a", "acc", "out")
    for (a, acc, out, signed_a, signed_b), (slots, masks) in zip(
        every, loaded(archive, name, row.b_bits // 8), strict=True
    ):
        values = slots.view(f"i{row.b_bits // 8}") if signed_b else slots
        b = SparseVector(values.reshape(shape.n, -1, 2), masks.reshape(shape.n, -1))
        got = aie.sparse_matmul(a, b, fmt=mode, acc=acc, signed_a=signed_a, signed_b=signed_b)
        assert np.array_equal(got, out)
        for i, j in ((0, 0), (shape.m - 1, shape.n - 1), (1, 2)):
            pairs = [
                pair
                for group, mask in enumerate(b.mask[j].tolist())
                for pair in exact.pairs(
                    a[i, 4 * group : 4 * group + 4].tolist(), tuple(b.slots[j, group].tolist()), mask
                )
            ]
            assert exact.integer_lane(row, *zip(*pairs, strict=True), int(acc[i, j])) == out[i, j]
