"""nki-library's decode norms, rmsnorm_tkg and layernorm_tkg, against float64."""

from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation

BF16 = np.dtype(ml_dtypes.bfloat16)
HIDDEN, KEPT, EPS = 512, 400, 1e-6


def wrapped(module: ModuleType, function: str, flags: dict[str, Any]) -> nki.Kernel:
    """Return a kernel that stores the norm of a tile of SBUF; with ``shard_on_h`` cores have a half each."""
    nl, nisa = module.nl, module.nisa

    def kernel(x, gamma, **more):
        shards = nl.num_programs(0) if flags.get("shard_on_h") else 1
        columns = HIDDEN // 128 // shards
        tile = nl.ndarray((128, x.shape[0] * x.shape[1], columns), x.dtype)
        getattr(module, function)(x, gamma, tile, **more, **flags)
        made = nl.ndarray((128, tile.shape[1], HIDDEN // 128), x.dtype, nl.shared_hbm)
        first = nl.program_id(0) * columns if shards > 1 else 0
        nisa.dma_copy(made[:, :, first : first + columns], tile)
        return made

    return nki.jit(kernel)


def in_tile(rows: np.ndarray, cores: int, *, partition_inside: bool = False) -> np.ndarray:
    """Return [tokens, hidden] as the kernels lay it out, [128, tokens, hidden / 128]; each core has its own half."""
    if partition_inside:
        return rows.reshape(len(rows), -1, 128).transpose(2, 0, 1)
    halves = [half.reshape(len(rows), 128, -1).transpose(1, 0, 2) for half in np.split(rows, cores, axis=1)]
    return np.concatenate(halves, axis=2)


RMS_CASES = [
    (1, 4, {}),
    (2, 4, {}),
    (2, 24, {}),
    (1, 4, {"hidden_dim_tp": True}),
    (2, 4, {"hidden_dim_tp": True}),
    (2, 4, {"shard_on_h": True}),
    (1, 4, {"hidden_actual": KEPT}),
]


@pytest.mark.parametrize(("cores", "tokens", "flags"), RMS_CASES)
def test_nki_rmsnorm_tkg_is_near_float64(cores, tokens, flags):
    kernel = wrapped(library("core.subkernels.rmsnorm_tkg"), "rmsnorm_tkg", flags)
    rng = np.random.default_rng(8)
    x = rng.standard_normal((tokens, 1, HIDDEN)).astype(BF16)
    count = flags.get("hidden_actual", HIDDEN)
    x[:, :, count:] = 0
    gamma = (1 + 0.2 * rng.standard_normal((1, HIDDEN))).astype(BF16)
    own = kernel if cores == 1 else kernel[cores]
    made = nki.run(own, x, gamma, eps=EPS, options=nki.Options(strict=True)).outputs
    rows = x[:, 0].astype(np.float64)
    exact = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True) / count + EPS) * gamma.astype(np.float64)
    assert deviation(made, in_tile(exact, cores, partition_inside="hidden_dim_tp" in flags)) < 0.005


@pytest.mark.parametrize(
    ("cores", "tokens", "flags"), [(1, 4, {}), (2, 4, {}), (2, 24, {}), (2, 4, {"shard_on_h": True})]
)
def test_nki_layernorm_tkg_is_near_float64(cores, tokens, flags):
    kernel = wrapped(library("core.subkernels.layernorm_tkg"), "layernorm_tkg", flags)
    rng = np.random.default_rng(9)
    x = (0.5 + rng.standard_normal((tokens, 1, HIDDEN))).astype(BF16)
    gamma = (1 + 0.2 * rng.standard_normal((1, HIDDEN))).astype(BF16)
    beta = rng.standard_normal((1, HIDDEN)).astype(BF16)
    own = kernel if cores == 1 else kernel[cores]
    made = nki.run(own, x, gamma, beta=beta, eps=EPS, options=nki.Options(strict=True)).outputs
    rows = x[:, 0].astype(np.float64)
    centred = rows - rows.mean(axis=1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPS)
    exact = normal * gamma.astype(np.float64) + beta.astype(np.float64)
    assert deviation(made, in_tile(exact, cores)) < 0.005
