"""nki-library's rotary embeddings, rope and rope_hf, against float64."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation

BF16 = np.dtype(ml_dtypes.bfloat16)
STRICT = nki.Options(strict=True)
LAYOUTS = {
    "halves": {},
    "interleaved_by_dma": {"contiguous_layout": False},
    "interleaved_by_matmul": {"contiguous_layout": False, "relayout_in_sbuf": True},
}


def on_cores(kernel: nki.Kernel, cores: int) -> nki.Kernel:
    return kernel if cores == 1 else kernel[cores]


@pytest.mark.parametrize("flags", LAYOUTS.values(), ids=LAYOUTS)
def test_nki_rope_is_near_float64_with_equal_bits_on_two_cores(flags):
    kernel = library("core.embeddings.rope").RoPE
    rng = np.random.default_rng(5)
    x = rng.standard_normal((64, 2, 3, 32)).astype(BF16)
    cos, sin = rng.uniform(-1, 1, (2, 32, 2, 32)).astype(BF16)
    one, two = (
        nki.run(on_cores(kernel, cores), x, cos, sin, lnc_shard=cores == 2, **flags, options=STRICT).outputs
        for cores in (1, 2)
    )
    first, second = (slice(0, 32), slice(32, 64)) if not flags else (slice(0, None, 2), slice(1, None, 2))
    a, b, c, s = (each.astype(np.float64) for each in (x[first], x[second], cos[:, :, None], sin[:, :, None]))
    exact = np.empty(x.shape)
    exact[first], exact[second] = a * c - b * s, b * c + a * s
    assert deviation(one, exact) < 0.005
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize(("cached", "backward"), [(False, False), (True, False), (False, True)])
def test_nki_rope_hf_is_near_float64_with_equal_bits_on_two_cores(cached, backward):
    module = library("core.embeddings.rope_hf")

    def kernel(q, k, cos, sin, cache):
        made = [module.nl.ndarray(each.shape, each.dtype, module.nl.shared_hbm) for each in (q, k)]
        return module.rope_hf(q, k, *made, cos, sin, cache, backward)

    rng = np.random.default_rng(6)
    q, k = (rng.standard_normal((1, heads, 256, 64)).astype(BF16) for heads in (2, 1))
    cos, sin = rng.uniform(-1, 1, (2, 1, 256, 64)).astype(BF16)
    tables = (None, None, np.concatenate([cos, sin], axis=-1)) if cached else (cos, sin, None)
    one, two = (nki.run(on_cores(nki.jit(kernel), cores), q, k, *tables, options=STRICT).outputs for cores in (1, 2))
    c, s = (each[:, None].astype(np.float64) for each in (cos, sin))
    for x, made, also in zip((q, k), one, two, strict=True):
        value = x.astype(np.float64)
        first, second = np.split(value * s if backward else value, 2, axis=-1)
        crossed = np.concatenate([second, -first] if backward else [-second, first], axis=-1)
        exact = value * c + (crossed if backward else crossed * s)
        assert deviation(made, exact) < 0.005
        assert made.tobytes() == also.tobytes()
