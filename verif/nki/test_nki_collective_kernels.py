"""nki-library's kernels of several ranks, unmodified: gathers bit for bit, and products of gathered rows by golden."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library

BF16 = np.dtype(ml_dtypes.bfloat16)
RANKS = 4


def parts_of(shape, seed):
    """Return an array of each rank."""
    return [*np.random.default_rng(seed).standard_normal((RANKS, *shape)).astype(BF16)]


@pytest.mark.parametrize("cores", [1, 2])
def test_nki_allgather_sb2sb_tiled(cores):
    module = library("experimental.collectives.sb2sb_allgather")
    x, group = parts_of((256, 24), 1), module.ReplicaGroup([range(RANKS)])
    run = nki.run(module.allgather_sb2sb_tiled[cores], nki.PerRank(x), group, RANKS, ranks=RANKS)
    for output in run.outputs:
        assert (output == np.concatenate(x, axis=1)).all()


@pytest.mark.parametrize("by_hbm", [False, True])
def test_nki_fine_grained_allgather(by_hbm):
    kernel = library("experimental.collectives.fg_allgather").fine_grained_allgather
    x = parts_of((128, 128), 2)
    run = nki.run(kernel[2], nki.PerRank(x), RANKS, 1, by_hbm, ranks=RANKS)
    for output in run.outputs:
        assert (output.reshape(-1, 128) == np.concatenate(x)).all()


@pytest.mark.parametrize("by_hbm", [False, True])
def test_nki_allgather_compute_matmul_gives_the_bits_of_matmuls(by_hbm):
    kernel = library("experimental.collectives.fgcc").allgather_compute_matmul
    left, right = parts_of((256, 128), 3), parts_of((128, 64), 4)
    run = nki.run(kernel[2], nki.PerRank(left), nki.PerRank(right), RANKS, 1, by_hbm, ranks=RANKS)
    for output, columns in zip(run.outputs, right, strict=True):
        tiles = np.concatenate(left).reshape(-1, 64, 128)
        products = [trainium3.nc_matmul(np.ascontiguousarray(tile.T), columns) for tile in tiles]
        assert (output.reshape(-1, 64) == np.concatenate(products).astype(BF16)).all()
