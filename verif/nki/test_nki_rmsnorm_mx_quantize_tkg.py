"""nki-library's rmsnorm_mx_quantize_tkg on two cores against written-out instructions, bit for bit, and float64."""

from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import scale_rows

BF16 = np.dtype(ml_dtypes.bfloat16)
EPS = 1e-6


def wrapped(module: ModuleType) -> nki.Kernel:
    """Return a kernel that calls the function on tiles of SBUF and stores all of its results."""
    nl, nisa = module.nl, module.nisa

    def kernel(x, gamma, residual=None):
        batch, tokens, hidden = x.shape
        count = batch * tokens
        tile = nl.ndarray((128, count, hidden // 128), x.dtype)
        words = nl.ndarray((128, hidden // 512, count), nl.float8_e4m3fn_x4)
        scale = nl.ndarray((128, hidden // 512, count), nl.uint8)
        nisa.memset(scale, 0)
        more, made = {}, []
        if residual is not None:
            total = nl.ndarray((count, hidden), x.dtype, nl.shared_hbm)
            more, made = {"residual": residual, "output_residual": total}, [total]
        module.rmsnorm_mx_quantize_tkg(x, gamma, tile, words, scale, eps=EPS, **more)
        for each in (tile, words, scale):
            made.append(nl.ndarray(each.shape, each.dtype, nl.shared_hbm))
            nisa.dma_copy(made[-1], each)
        return tuple(made)

    return nki.jit(kernel)


def in_partitions(rows: np.ndarray) -> np.ndarray:
    """Return [tokens, hidden] as [128, tokens * hidden / 128]: element h of a token in partition h % 128."""
    count, hidden = rows.shape
    return np.ascontiguousarray(rows.reshape(count, hidden // 128, 128).transpose(2, 0, 1)).reshape(128, -1)


def composition(hidden: np.ndarray, gamma: np.ndarray, count: int) -> np.ndarray:
    """Return the normalised tile [128, tokens * H / 128], BF16."""
    columns = hidden.shape[1] // count
    squares = trainium3.activation(hidden, "square", bias=np.zeros((128, 1), np.float32), dtype=np.float32)
    sums = [trainium3.tensor_reduce(np.ascontiguousarray(each), "add") for each in np.split(squares, count, axis=1)]
    total = trainium3.nc_matmul(np.ones((128, 128), np.float32), np.concatenate(sums, axis=1))
    eps = np.full((128, 1), EPS, np.float32)
    inverse = trainium3.activation(total, "rsqrt", scale=1 / (128 * columns), bias=eps, dtype=np.float32)
    scaled = trainium3.tensor_tensor(hidden, np.tile(in_partitions(gamma), (1, count)), "multiply", dtype=BF16)
    return trainium3.tensor_tensor(scaled, np.repeat(inverse, columns, axis=1), "multiply", dtype=BF16)


@pytest.mark.parametrize(
    ("shape", "adds"), [((4, 1, 512), False), pytest.param((64, 4, 1024), True, marks=pytest.mark.deep)]
)
def test_nki_rmsnorm_mx_quantize_tkg_gives_the_bits_of_its_instructions(shape, adds):
    kernel = wrapped(library("core.subkernels.rmsnorm_mx_quantize_tkg"))
    rng = np.random.default_rng(2)
    x, residual = (rng.standard_normal(shape).astype(BF16) for _ in range(2))
    gamma = (1 + 0.2 * rng.standard_normal((1, shape[2]))).astype(BF16)
    run = nki.run(kernel[2], x, gamma, *([residual] if adds else []), options=nki.Options(strict=True))
    *total, tile, words, scale = run.outputs

    rows = x.reshape(-1, shape[2])
    count, groups = len(rows), shape[2] // 512
    hidden = in_partitions(rows)
    if adds:
        hidden = trainium3.tensor_tensor(hidden, in_partitions(residual.reshape(rows.shape)), "add", dtype=BF16)
        assert in_partitions(total[0]).tobytes() == hidden.tobytes()
    golden = composition(hidden, gamma, count)
    assert tile.tobytes() == golden.tobytes()
    # Word g of a partition takes its elements g, groups + g, 2 groups + g and 3 groups + g.
    swizzled = golden.reshape(128, count, 4, groups).transpose(3, 0, 1, 2).reshape(groups, 128, -1)
    for group in range(groups):
        data, golden_scale = trainium3.quantize_mx(np.ascontiguousarray(swizzled[group]), ml_dtypes.float8_e4m3fn)
        assert (words[:, group] == trainium3.pack_x4(data)).all()
        assert (scale[scale_rows(128), group] == golden_scale).all()

    exact = rows.astype(np.float64) + (residual.reshape(rows.shape).astype(np.float64) if adds else 0)
    normal = exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + EPS) * gamma.astype(np.float64)
    assert np.abs(tile.reshape(128, -1) - in_partitions(normal)).max() < 2**-4
