"""Kernels of nki-library that count and choose: dynamic addition, cascaded maximum, places of nonzero elements, cross entropy."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.checkouts import library

BF = ml_dtypes.bfloat16
CORES = pytest.mark.parametrize("cores", [None, 2])
STRICT = nki.Options(strict=True)


def launched(kernel, cores):
    return kernel if cores is None else kernel[cores]


def test_nki_shared_constant_of_a_file(tmp_path):
    """The compiler puts a host's array into HBM, also one in an .npy file."""
    with nki.installed():
        import nki.isa as nisa
        import nki.language as nl
    array = np.random.default_rng(1).standard_normal((8, 12)).astype(np.float32)
    place = tmp_path / "constant.npy"
    np.save(place, array)

    def kernel():
        tile, out = nl.ndarray((8, 12), nl.float32), nl.ndarray((8, 12), nl.float32, nl.shared_hbm)
        nisa.dma_copy(tile, nl.shared_constant(str(place)))
        nisa.dma_copy(out, tile)
        return out

    assert nki.run(kernel, options=STRICT).outputs.tobytes() == array.tobytes()


@pytest.mark.parametrize("tiles", [0, 1, 3, 4])
def test_nki_dynamic_elementwise_add(tiles):
    """The number of tiles is read at run time; the rows behind them stay as they are."""
    rng = np.random.default_rng(tiles)
    a, b = (rng.standard_normal((512, 1024)).astype(BF) for _ in range(2))
    kernel = library("experimental.dynamic_shapes.dynamic_elementwise_add").dynamic_elementwise_add
    out = nki.run(kernel, a, b, np.array([[tiles]], np.int32), options=STRICT).outputs
    expected = (a.astype(np.float32) + b.astype(np.float32)).astype(BF)
    assert out[: 128 * tiles].tobytes() == expected[: 128 * tiles].tobytes()
    assert np.isnan(out[128 * tiles :].astype(np.float32)).all()


@CORES
@pytest.mark.parametrize("shape", [(8, 4096), (4, 2, 4096), (5, 1000)])
def test_nki_cascaded_max(shape, cores):
    """Maxima of rows and their first places, exactly."""
    x = np.random.default_rng(shape[-1]).standard_normal(shape).astype(np.float32)
    kernel = launched(library("core.max.cascaded_max").cascaded_max, cores)
    values, places = nki.run(kernel, x, options=STRICT).outputs
    assert values.tobytes() == x.max(axis=-1, keepdims=True).tobytes()
    assert (places == x.argmax(axis=-1)[..., np.newaxis]).all()


@CORES
def test_nki_find_nonzero_indices(cores):
    """The kernel also transposes the partitions between those that GpSimd reads; the run warns of it."""
    x = (np.random.default_rng(2).random((512, 16)) < 0.2).astype(np.float32)
    kernel = launched(library("core.subkernels.find_nonzero_indices").find_nonzero_indices, cores)
    with pytest.warns(nki.NkiWarning, match="bytes are read that nothing has written"):
        places, counts = nki.run(kernel, x).outputs
    assert (counts.reshape(-1) == (x != 0).sum(axis=0)).all()
    for column, found, count in zip(x.T, places, counts.reshape(-1), strict=True):
        assert (found[:count] == np.flatnonzero(column)).all()
        assert (found[count:] == -1).all()


@CORES
def test_nki_find_nonzero_indices_with_count(cores):
    x = (np.random.default_rng(3).random((1, 256)) < 0.2).astype(np.float32)
    module = library("experimental.benchmark.find_nonzero_indices_with_count")
    with pytest.warns(nki.NkiWarning, match="bytes are read that nothing has written"):
        out = nki.run(launched(module.find_nonzero_indices_with_count, cores), x).outputs.reshape(-1)
    places = np.flatnonzero(x)
    assert out[-1] == len(places)
    assert (out[: len(places)] == places).all()
    assert (out[len(places) : -1] == -1).all()


def test_nki_cross_entropy_forward_gives_equal_bits_on_one_core_and_on_two():
    """Two cores share the positions; the loss is the logarithm of the sum of exponentials less the target's logit."""
    rng = np.random.default_rng(4)
    logits = rng.standard_normal((64, 2048)).astype(np.float32)
    targets = rng.integers(0, 2048, 64).astype(np.int32)
    kernel = library("experimental.loss.cross_entropy").cross_entropy_forward
    one, two = (nki.run(launched(kernel, cores), logits, targets, 16, 1024, "float32").outputs for cores in (None, 2))
    for mine, theirs in zip(one, two, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    chosen = logits[np.arange(64), targets]
    assert (one[0].reshape(-1) == one[1].reshape(-1) - chosen).all()
