"""nki-library's norms and their quantisation: bits of written-out instructions, and float64."""

from contextlib import nullcontext
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import deviation, scale_rows

# nki-library's decode norms, rmsnorm_tkg and layernorm_tkg, against float64.


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


# RMSNorm-Quant of nki-library gives the bytes of `trainium3.rmsnorm_quant` in every mode, on one core and on two.


CORES = pytest.mark.parametrize("cores", [None, 1, 2])
SHAPES = [(3, 96), (130, 40), (2, 67, 520), (1, 300, 24)]
"""Rows for a part of a tile, more than one tile, an odd number of them, and columns beyond a bank."""


def ran(
    shape,
    cores,
    *,
    norm,
    kind,
    bound=0.0,
    eps=1e-6,
    flat=True,
    dtype=BF16,
    gamma_dtype=BF16,
    scale=None,
    **rows,
):
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
@pytest.mark.parametrize("shape", [(150, 40), (2, 67, 40), (2, 3, 43, 24), (301, 24)])
@pytest.mark.parametrize("norm", ["RMS_NORM", "NO_NORM"])
def test_nki_rmsnorm_quant_with_a_scale_for_each_partition(shape, cores, norm):
    """The kernel counts the rows of each core's shard: `static_scale_row` "shard". Golden's default counts the input's."""
    scale = (np.random.default_rng(9).random((128, 1)) / 20 + 0.001).astype(np.float32)
    made, expected = ran(shape, cores, norm=norm, kind="STATIC", scale=scale, static_scale_row="shard")
    same(made, expected)
    _, default = ran(shape, cores, norm=norm, kind="STATIC", scale=scale)
    assert (made.tobytes() == default.tobytes()) == (cores != 2)


# nki-library's rmsnorm_mx_quantize_tkg on two cores against written-out instructions, bit for bit, and float64.


def wrapped_quantiser(module: ModuleType) -> nki.Kernel:
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
    kernel = wrapped_quantiser(library("core.subkernels.rmsnorm_mx_quantize_tkg"))
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
        data, golden_scale = trainium3.quantize_mx(
            np.ascontiguousarray(swizzled[group]), ml_dtypes.float8_e4m3fn, scale_rule="nki05"
        )
        assert (words[:, group] == trainium3.pack_x4(data)).all()
        assert (scale[scale_rows(128), group] == golden_scale).all()

    exact = rows.astype(np.float64) + (residual.reshape(rows.shape).astype(np.float64) if adds else 0)
    normal = exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + EPS) * gamma.astype(np.float64)
    assert np.abs(tile.reshape(128, -1) - in_partitions(normal)).max() < 2**-4


# nki-library's mxfp_load_utils: a tile transposed as words of BF16 pairs, then quantised.


BLOCK = 512


def test_nki_mxfp_load_performance_wrapper_gives_the_bits_of_quantize_mx():
    """The kernel returns all rows of its scales; 4 of each 32 are written."""
    kernel = library("experimental.mxfp_subkernels.mxfp_load_utils").mxfp_load_performance_wrapper
    x = np.random.default_rng(1).standard_normal((128, 2 * BLOCK)).astype(ml_dtypes.bfloat16)
    with pytest.warns(nki.NkiWarning, match="28672 of 32768 bytes are returned that nothing has written"):
        run = nki.run(kernel, x, options=nki.Options(strict=True, accepted=("returned",)))
    data, scale = run.outputs
    for block in range(2):
        # Elements 4 p to 4 p + 3 of a row, two words of two BF16, go to partition p.
        words = x[:, block * BLOCK :][:, :BLOCK].reshape(128, 128, 4)
        swizzled = np.ascontiguousarray(words.transpose(1, 0, 2)).reshape(128, BLOCK)
        golden, golden_scale = trainium3.quantize_mx(swizzled, ml_dtypes.float8_e4m3fn, scale_rule="nki05")
        columns = slice(block * 128, block * 128 + 128)
        assert (data[:, columns] == trainium3.pack_x4(golden)).all()
        assert (scale[:, columns][scale_rows(128)] == golden_scale).all()
    assert run.standing.word == "inferred"
    assert set(run.standing.keys) == {"quantize_mx.nki05"}
