"""nki-library's output projection of decode against float64: BF16, and FP8 weights with scales."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation

BF16, E4M3 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3)
SIZE, HIDDEN = 64, 512


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("kind", ["NONE", "TRANSPOSED", "STATIC", "DOUBLE_ROW", "ROW"])
def test_nki_output_projection_tkg_is_near_float64(kind, cores):
    kernel = library("core.output_projection.output_projection_tkg").output_projection_tkg
    types = library("core.utils.common_types").QuantizationType
    batch, heads, tokens = (16, 4, 4) if kind == "DOUBLE_ROW" else (2, 3, 2)
    rng = np.random.default_rng(10)
    attention = rng.standard_normal((SIZE, batch, heads, tokens)).astype(BF16)
    bias = rng.standard_normal((1, HIDDEN)).astype(BF16)
    weights, scale = (rng.standard_normal((heads * SIZE, HIDDEN)) / 14).astype(BF16), np.float32(1)
    more = {}
    if kind in ("STATIC", "DOUBLE_ROW", "ROW"):
        weights = (40 * rng.standard_normal(weights.shape)).astype(E4M3)
        scale = rng.uniform(0.01, 0.02, (1, HIDDEN if kind == "ROW" else 1)).astype(np.float32)
        more = {
            "quantization_type": types.ROW if kind == "ROW" else types.STATIC,
            "weight_scale": np.repeat(scale, 128, axis=0),
        }
    if kind in ("STATIC", "DOUBLE_ROW"):
        more["input_scale"] = np.full((128, 1), 0.02, np.float32)
    if kind == "TRANSPOSED":
        more["TRANSPOSE_OUT"] = True
    own = kernel if cores == 1 else kernel[cores]
    run = nki.run(own, attention, weights, bias, **more, options=nki.Options(strict=True))

    rows = attention.astype(np.float64).transpose(1, 3, 2, 0).reshape(batch * tokens, -1)
    exact = rows @ weights.astype(np.float64) * scale + bias.astype(np.float64)
    if kind == "TRANSPOSED":
        exact = exact.reshape(batch * tokens, cores, 128, -1).transpose(2, 1, 3, 0)
    # With a scale of the input the kernel quantises the activations to E4M3.
    assert deviation(run.outputs, exact) < (0.03 if "input_scale" in more else 0.006)
    assert ("matmul.double_row" in run.standing.keys) == (kind == "DOUBLE_ROW")
