"""nki-library's kernels along rows: counts, maxima, cumulative sums and convolutions, against numpy."""

from contextlib import nullcontext
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation

# Kernels of nki-library that count and choose: dynamic addition, cascaded maximum, places of nonzero elements, cross entropy.


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
    options = nki.Options(strict=True, accepted=("returned",))
    with nullcontext() if tiles == 4 else pytest.warns(nki.NkiWarning, match="returned that nothing has written"):
        out = nki.run(kernel, a, b, np.array([[tiles]], np.int32), options=options).outputs
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
    """The kernel also transposes the partitions between those that GpSimd reads, which nothing has written."""
    x = (np.random.default_rng(2).random((512, 16)) < 0.2).astype(np.float32)
    kernel = launched(library("core.subkernels.find_nonzero_indices").find_nonzero_indices, cores)
    places, counts = nki.run(kernel, x, options=STRICT).outputs
    assert (counts.reshape(-1) == (x != 0).sum(axis=0)).all()
    for column, found, count in zip(x.T, places, counts.reshape(-1), strict=True):
        assert (found[:count] == np.flatnonzero(column)).all()
        assert (found[count:] == -1).all()


@CORES
def test_nki_find_nonzero_indices_with_count(cores):
    x = (np.random.default_rng(3).random((1, 256)) < 0.2).astype(np.float32)
    module = library("experimental.benchmark.find_nonzero_indices_with_count")
    out = nki.run(launched(module.find_nonzero_indices_with_count, cores), x, options=STRICT).outputs.reshape(-1)
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


# nki-library's cumsum against the scans that it consists of, bit for bit, and float64.


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


# nki-library's conv1d and depthwise_conv1d against float64.


BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass(frozen=True)
class Case:
    """Batch, channels in and out, elements, taps; how the taps go over the elements; an activation behind."""

    shape: tuple[int, int, int, int, int]
    stride: int = 1
    padding: tuple[int, int] = (0, 0)
    dilation: int = 1
    activation: str | None = None


CASES = {
    "three_taps": Case((1, 16, 32, 64, 3), padding=(1, 1)),
    "stride_and_dilation": Case((2, 48, 32, 50, 5), 2, (2, 1), 2),
    "several_tiles_of_channels": Case((1, 160, 140, 40, 7), padding=(3, 3)),
    "silu": Case((1, 16, 32, 64, 3), activation="SiLU"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nki_conv1d_is_near_float64_with_equal_bits_on_two_cores(case):
    kernel = library("experimental.conv.conv1d").conv1d
    batch, channels, made_channels, length, taps = case.shape
    rng = np.random.default_rng(11)
    x = rng.standard_normal((batch, channels, length)).astype(BF16)
    filters = (rng.standard_normal((taps, channels, made_channels)) / np.sqrt(taps * channels)).astype(BF16)
    bias = rng.standard_normal(made_channels).astype(BF16)
    kind = case.activation and library("core.utils.common_types").ActFnType[case.activation]
    arguments = x, filters, bias, case.stride, case.padding, case.dilation, kind
    one, two = (
        nki.run(kernel if cores == 1 else kernel[cores], *arguments, cores == 2, options=STRICT).outputs
        for cores in (1, 2)
    )
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), case.padding))
    count = (padded.shape[2] - case.dilation * (taps - 1) - 1) // case.stride + 1
    exact = np.zeros((batch, made_channels, count)) + bias.astype(np.float64)[:, None]
    for tap, weights in enumerate(filters.astype(np.float64)):
        places = tap * case.dilation + case.stride * np.arange(count)
        exact += np.einsum("bil,io->bol", padded[:, :, places], weights)
    if case.activation:
        exact /= 1 + np.exp(-exact)
    assert deviation(one, exact) < 0.005
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("stride", [1, 2])
def test_nki_depthwise_conv1d_is_near_float64_with_equal_bits_on_two_cores(stride):
    kernel = library("experimental.conv.depthwise_conv1d").depthwise_conv1d_implicit_gemm
    rng = np.random.default_rng(12)
    x = rng.standard_normal((2, 4, 1, 40)).astype(BF16)
    filters = rng.standard_normal((4, 1, 1, 7)).astype(BF16)
    one, two = (
        nki.run(
            kernel if cores == 1 else kernel[cores],
            x,
            filters,
            stride=(1, stride),
            feature_group_count=4,
            options=STRICT,
        ).outputs
        for cores in (1, 2)
    )
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), 7, axis=-1)[:, :, :, ::stride]
    exact = (windows * filters.astype(np.float64).reshape(4, 1, 1, 7)).sum(axis=-1)
    assert deviation(one, exact) < 0.005
    assert one.tobytes() == two.tobytes()
