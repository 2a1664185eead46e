"""RMSNorm-Quant of nki-library gives the bytes of `trainium3.rmsnorm_quant` in every mode, on one core and on two."""

from contextlib import nullcontext

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library

BF16 = ml_dtypes.bfloat16
CORES = pytest.mark.parametrize("cores", [None, 1, 2])
SHAPES = [(3, 96), (130, 40), (2, 67, 520), (1, 300, 24)]
"""Rows for a part of a tile, more than one tile, an odd number of them, and columns beyond a bank."""


def ran(shape, cores, *, norm, kind, bound=0.0, eps=1e-6, flat=True, dtype=BF16, gamma_dtype=BF16, scale=None, **rows):
    """Return the kernel's bytes and golden's; a static scale defaults to the vendor's single number."""
    module = library("core.rmsnorm.rmsnorm_quant")
    common = library("core.utils.common_types")
    rng = np.random.default_rng([shape[-1], cores or 0])
    hidden = (rng.standard_normal(shape) * 3).astype(dtype)
    hidden.reshape(-1, shape[-1])[0] = 0
    gamma = rng.standard_normal(shape[-1] if flat else (1, shape[-1])).astype(gamma_dtype)
    if kind == "STATIC" and scale is None:
        scale = np.full((128, 1), rng.random() / 20 + 0.001, np.float32)
    given = module.RmsNormQuantKernelArgs(
        lower_bound=bound, norm_type=common.NormType[norm], quantization_type=common.QuantizationType[kind], eps=eps
    )
    kernel = module.rmsnorm_quant_kernel if cores is None else module.rmsnorm_quant_kernel[cores]
    made = nki.run(kernel, hidden, gamma, given, scale, options=nki.Options(strict=eps > 0)).outputs
    expected = trainium3.rmsnorm_quant(
        hidden,
        gamma,
        eps=eps,
        quant_type=kind.lower(),
        in_scale=scale,
        quant_only=norm == "NO_NORM",
        lower_bound=bound,
        shards=cores or 1,
        **rows,
    )
    return made, expected


def same(made, expected):
    assert made.shape == expected.shape
    assert made.tobytes() == expected.tobytes()


@CORES
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("norm", ["RMS_NORM", "NO_NORM"])
@pytest.mark.parametrize("kind", ["ROW", "STATIC"])
@pytest.mark.parametrize("bound", [0.0, 1.5])
def test_nki_rmsnorm_quant(shape, cores, norm, kind, bound):
    """Both quantisations and norms, with and without a bound."""
    same(*ran(shape, cores, norm=norm, kind=kind, bound=bound))


@CORES
@pytest.mark.parametrize("eps", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("flat", [True, False])
def test_nki_rmsnorm_quant_of_any_eps_and_gamma(cores, eps, flat):
    """gamma is [H] or [1, H]. Without eps a row of zeros has no inverse root; the run warns of it."""
    with nullcontext() if eps else pytest.warns(nki.NkiWarning, match="rsqrt: the result is valid for"):
        pair = ran((40, 64), cores, norm="RMS_NORM", kind="ROW", eps=eps, flat=flat)
    same(*pair)


@CORES
@pytest.mark.parametrize("dtype", [BF16, np.float16, np.float32])
@pytest.mark.parametrize("gamma_dtype", [BF16, np.float16])
def test_nki_rmsnorm_quant_of_any_dtype(cores, dtype, gamma_dtype):
    same(*ran((40, 64), cores, norm="RMS_NORM", kind="ROW", dtype=dtype, gamma_dtype=gamma_dtype))


@CORES
@pytest.mark.parametrize("shape", [(150, 40), (2, 67, 40), (301, 24)])
@pytest.mark.parametrize("norm", ["RMS_NORM", "NO_NORM"])
def test_nki_rmsnorm_quant_with_a_scale_for_each_partition(shape, cores, norm):
    """The kernel counts the rows of each core's shard: `static_scale_row` "shard". Golden's default counts the input's."""
    scale = (np.random.default_rng(9).random((128, 1)) / 20 + 0.001).astype(np.float32)
    made, expected = ran(shape, cores, norm=norm, kind="STATIC", scale=scale, static_scale_row="shard")
    same(made, expected)
    _, default = ran(shape, cores, norm=norm, kind="STATIC", scale=scale)
    assert (made.tobytes() == default.tobytes()) == (cores != 2)
