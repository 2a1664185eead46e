"""nki-library's cumsum against the scans that it consists of, bit for bit, and float64."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation

TILE = 2048
"""Elements of a row that one scan takes; the next one begins with its last result, rounded to the dtype."""


@pytest.mark.parametrize(("shape", "dtype"), [((130, TILE + 52), ml_dtypes.bfloat16), ((3, 2, 70), np.float32)])
def test_nki_cumsum_gives_the_bits_of_its_scans(shape, dtype):
    x = np.random.default_rng(7).standard_normal(shape).astype(dtype)
    made = nki.run(library("core.cumsum.cumsum").cumsum, x, options=nki.Options(strict=True)).outputs
    rows = x.reshape(-1, shape[-1])
    golden = np.empty_like(rows)
    for first in range(0, len(rows), 128):
        part = slice(first, first + 128)
        state = np.zeros((len(rows[part]), 1), np.float32)
        for start in range(0, rows.shape[1], TILE):
            tile = np.ascontiguousarray(rows[part, start : start + TILE])
            ones = np.ones(tile.shape, np.float32)
            scan = trainium3.tensor_tensor_scan(ones, tile, state, "multiply", "add", dtype=np.dtype(dtype))
            golden[part, start : start + TILE] = scan
            state = scan[:, -1:].astype(np.float32)
    assert made.tobytes() == golden.tobytes()
    assert deviation(made, np.cumsum(x.astype(np.float64), axis=-1)) < 0.005
