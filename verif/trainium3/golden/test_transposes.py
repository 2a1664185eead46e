"""Transposes move bits: against loops over elements, on TensorE, on VectorE and through nc_matmul."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import E3M4, E5M2, FP16, FP32
from bitpath.golden.trainium3 import nc_matmul, nc_transpose
from bitpath.golden.trainium3.matmul.nc_matmul import TRANSPOSE_DTYPES


@pytest.mark.parametrize("dtype", TRANSPOSE_DTYPES, ids=str)
def test_every_bit_moves(dtype):
    rng = np.random.default_rng(dtype.num)
    data = rng.integers(0, 256, (7, 5 * dtype.itemsize), np.uint8).view(dtype)
    words = data.view(f"u{dtype.itemsize}")
    image = nc_transpose(data)
    assert image.dtype == (np.uint16 if dtype.itemsize == 1 else dtype)
    block = nc_transpose(data, engine="vector")
    assert block.dtype == dtype
    for p, f in np.ndindex(data.shape):
        assert image.view(f"u{image.itemsize}")[f, p] == words[p, f]
        assert block.view(f"u{dtype.itemsize}")[f, p] == words[p, f]


@pytest.mark.parametrize("fmt", [FP16, E3M4, E5M2, FP32], ids=lambda fmt: fmt.name)
def test_a_pe_passes_its_bits_south_where_the_moving_element_is_one(fmt):
    """Each PE hands on the partial sum from the north, or its own bits where the moving element is 1."""
    rng = np.random.default_rng(fmt.width)
    data = rng.integers(0, 1 << fmt.width, (6, 4)).astype(f"u{fmt.width // 8}").view(DTYPES[fmt])
    picks = [3, 3, None, 0, 5]
    moving = np.zeros((6, len(picks)), DTYPES[fmt])
    for column, row in enumerate(picks):
        if row is not None:
            moving[row, column] = 1
    got = nc_matmul(data, moving, is_transpose=True)
    got = got.view(f"u{got.itemsize}")
    for m, n in np.ndindex(got.shape):
        south = 0
        for row in range(6):
            south = int(codes_of(data)[row, m]) if moving[row, n] == 1 else south
        assert got[m, n] == south


def test_a_nan_of_fp8_in_psum():
    data = np.zeros((8, 8), np.uint8)
    data[2, 5] = 0x7F
    assert nc_transpose(data.view(ml_dtypes.float8_e4m3fn))[5, 2] == 0x007F


BAD = [
    (np.zeros((2, 2)), {}, TypeError, "data must be bfloat16, float16, float32, .* uint32, not float64"),
    (np.zeros(2, np.float32), {}, ValueError, r"data must have shape \[P, F\], not \(2,\)"),
    (
        np.zeros((129, 2), np.int8),
        {},
        ValueError,
        r"data must have up to 128 partitions and columns on tensor, not \(129,",
    ),
    (
        np.zeros((2, 0), np.int8),
        {},
        ValueError,
        r"data must have up to 128 partitions and columns on tensor, not \(2, 0",
    ),
    (
        np.zeros((2, 33), np.int8),
        {"engine": "vector"},
        ValueError,
        "data must have up to 32 partitions and columns on v",
    ),
    (np.zeros((2, 2), np.int8), {"engine": "scalar"}, ValueError, "engine must be 'tensor' or 'vector', not 'scalar'"),
]


@pytest.mark.parametrize(("data", "options", "error", "sentence"), BAD)
def test_arguments(data, options, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        nc_transpose(data, **options)
