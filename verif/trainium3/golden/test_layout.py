"""x4 words, the quadrant layout of scales and K on partitions, by hand."""

import re
from functools import partial

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


@pytest.mark.parametrize("dtype", [E4, E5, FP4])
def test_pack_element_0_lowest(dtype):
    codes = [[0x11, 0x22, 0x33, 0x44, 0xFF, 0x00, 0x00, 0x80]]
    word, expected = np.uint32, [[0x44332211, 0x800000FF]]
    if dtype == FP4:
        codes, word, expected = [[1, 2, 3, 4, 15, 0, 0, 8]], np.uint16, [[0x4321, 0x800F]]
    words = pack_x4(np.array(codes, np.uint8).view(dtype))
    assert words.dtype == word
    assert words.tolist() == expected
    assert codes_of(unpack_x4(words, dtype)).tolist() == codes


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


def zeros(*shape, dtype=E4):
    return np.zeros(shape, dtype)


SPAN = "must span 32, 64, 96 or 128 partitions, not"
WRONG_TYPES = [
    (pack_x4, zeros(1, 4, dtype=np.uint8), "data must be float8_e4m3fn, float8_e5m2 or float4_e2m1fn, not uint8"),
    (partial(unpack_x4, dtype=E4), zeros(1, 1, dtype=np.uint16), "words must be uint32, not uint16"),
    (partial(unpack_x4, dtype=FP4), zeros(1, 1, dtype=np.uint32), "words must be uint16, not uint32"),
    (scatter_scale, zeros(4, 1, dtype=float), "scale must be uint8, not float64"),
]
WRONG_VALUES = [
    (pack_x4, zeros(1, 6), "data must have a multiple of 4 columns, not 6"),
    (pack_x4, zeros(4), "data must have shape [P, F], not (4,)"),
    (scatter_scale, zeros(5, 1, dtype=np.uint8), f"scale {SPAN} 40"),
    (partial(scatter_scale, offset=2), zeros(4, 1, dtype=np.uint8), "offset must be 0, 4, 8 or 12, not 2"),
    (gather_scale, zeros(16, 1, dtype=np.uint8), f"tile {SPAN} 16"),
    (partial(gather_scale, offset=16), zeros(32, 1, dtype=np.uint8), "offset must be 0, 4, 8 or 12, not 16"),
    (to_partitions, zeros(126, 1), "x must have a multiple of 128 rows up to 512, not 126"),
    (to_partitions, zeros(64, 1), f"x {SPAN} 16"),
    (partial(to_partitions, k_order="k"), zeros(128, 1), "k_order must be 'interleaved' or 'adjacent', not 'k'"),
    (from_partitions, zeros(32, 1, 3), "tile must have shape [P, F, 4], not (32, 1, 3)"),
]


@pytest.mark.parametrize(
    ("error", "function", "array", "sentence"),
    [*((TypeError, *row) for row in WRONG_TYPES), *((ValueError, *row) for row in WRONG_VALUES)],
)
def test_errors(error, function, array, sentence):
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        function(array)


def test_words_and_scales_have_two_axes():
    with pytest.raises(ValueError, match=r"^words must have shape \[P, F\], not \(4,\)$"):
        unpack_x4(np.zeros(4, np.uint32), E4)
    with pytest.raises(ValueError, match=r"^tile must have shape \[P, F\], not \(32,\)$"):
        gather_scale(np.zeros(32, np.uint8))
