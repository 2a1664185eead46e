"""x4 words, the quadrant layout of scales and K on partitions, by hand."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.trainium3 import (
    from_partitions,
    gather_scale,
    pack_x4,
    quantize_mx,
    scatter_scale,
    to_partitions,
    unpack_x4,
)

E4, E5, FP4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn


@pytest.mark.parametrize("dtype", [E4, E5])
def test_pack_fp8_element_0_lowest(dtype):
    data = np.array([[0x11, 0x22, 0x33, 0x44, 0xFF, 0x00, 0x00, 0x80]], np.uint8).view(dtype)
    words = pack_x4(data)
    assert words.dtype == np.uint32
    assert words.tolist() == [[0x44332211, 0x800000FF]]
    assert np.array_equal(codes_of(unpack_x4(words, dtype)), codes_of(data))


def test_pack_fp4_element_0_lowest():
    data = np.array([[1, 2, 3, 4, 15, 0, 0, 8]], np.uint8).view(FP4)
    words = pack_x4(data)
    assert words.dtype == np.uint16
    assert words.tolist() == [[0x4321, 0x800F]]
    assert np.array_equal(codes_of(unpack_x4(words, FP4)), codes_of(data))


def test_quadrant_layout():
    scale = np.arange(1, 33, dtype=np.uint8).reshape(16, 2)
    for offset in (0, 4, 8, 12):
        tile = scatter_scale(scale, offset)
        assert tile.shape == (128, 2)
        rows = [32 * quadrant + offset + row for quadrant in range(4) for row in range(4)]
        assert tile[rows].tolist() == scale.tolist()
        assert np.delete(tile, rows, axis=0).max() == 0
        assert np.array_equal(gather_scale(tile, offset), scale)
    assert scatter_scale(scale[:4]).shape == (32, 2)


def test_gather_ignores_other_rows():
    tile = np.full((64, 3), 0xAA, np.uint8)
    tile[[4, 5, 6, 7, 36, 37, 38, 39]] = np.arange(8, dtype=np.uint8)[:, np.newaxis]
    assert gather_scale(tile, 4).tolist() == [[g] * 3 for g in range(8)]


def test_k_on_partitions():
    x = np.arange(128 * 2).reshape(128, 2)
    interleaved = to_partitions(x, "interleaved")
    adjacent = to_partitions(x, "adjacent")
    assert interleaved.shape == adjacent.shape == (32, 2, 4)
    for p, f, i in ((0, 0, 0), (0, 0, 1), (1, 0, 0), (31, 1, 3), (5, 1, 2)):
        assert interleaved[p, f, i] == x[i * 32 + p, f]
        assert adjacent[p, f, i] == x[4 * p + i, f]
    assert np.array_equal(from_partitions(interleaved, "interleaved"), x)
    assert np.array_equal(from_partitions(adjacent, "adjacent"), x)


def test_scale_groups_in_k():
    """Interleaved: four runs of 8, P apart. Adjacent: OCP's 32 consecutive elements (DeepWok/mase#321)."""
    for order, members in (
        ("interleaved", [i * 32 + 8 + r for i in range(4) for r in range(8)]),
        ("adjacent", range(32, 64)),
    ):
        for k in range(128):
            column = np.ones((128, 1), np.float32)
            column[k] = 256
            tile = to_partitions(column, order).reshape(32, 4).astype(ml_dtypes.bfloat16)
            _, scale = quantize_mx(tile, E4)
            assert (scale[1, 0] == 127) == (k in members)
            assert (scale == 127).sum() == 1


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: pack_x4(np.zeros((1, 4), np.uint8)),
            TypeError,
            "data must be float8_e4m3fn, float8_e5m2 or float4_e2m1fn, not uint8",
        ),
        (lambda: pack_x4(np.zeros((1, 6), E4)), ValueError, "data must have a multiple of 4 columns, not 6"),
        (lambda: pack_x4(np.zeros(4, E4)), ValueError, r"data must have shape \[P, F\], not \(4,\)"),
        (lambda: unpack_x4(np.zeros((1, 1), np.uint16), E4), TypeError, "words must be uint32, not uint16"),
        (lambda: unpack_x4(np.zeros((1, 1), np.uint32), FP4), TypeError, "words must be uint16, not uint32"),
        (lambda: scatter_scale(np.zeros((4, 1))), TypeError, "scale must be uint8, not float64"),
        (
            lambda: scatter_scale(np.zeros((5, 1), np.uint8)),
            ValueError,
            "scale must span 32, 64, 96 or 128 partitions, not 40",
        ),
        (lambda: scatter_scale(np.zeros((4, 1), np.uint8), 2), ValueError, "offset must be 0, 4, 8 or 12, not 2"),
        (
            lambda: gather_scale(np.zeros((16, 1), np.uint8)),
            ValueError,
            "tile must span 32, 64, 96 or 128 partitions, not 16",
        ),
        (lambda: gather_scale(np.zeros((32, 1), np.uint8), 16), ValueError, "offset must be 0, 4, 8 or 12, not 16"),
        (
            lambda: to_partitions(np.zeros((126, 1))),
            ValueError,
            "x must have a multiple of 128 rows up to 512, not 126",
        ),
        (lambda: to_partitions(np.zeros((64, 1))), ValueError, "x must span 32, 64, 96 or 128 partitions, not 16"),
        (
            lambda: to_partitions(np.zeros((128, 1)), "k"),
            ValueError,
            "k_order must be 'interleaved' or 'adjacent', not 'k'",
        ),
        (
            lambda: from_partitions(np.zeros((32, 1, 3))),
            ValueError,
            r"tile must have shape \[P, F, 4\], not \(32, 1, 3\)",
        ),
    ],
)
def test_errors(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()
