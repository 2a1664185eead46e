"""nki-library's conv1d and depthwise_conv1d against float64."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation

BF16 = np.dtype(ml_dtypes.bfloat16)
STRICT = nki.Options(strict=True)


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
