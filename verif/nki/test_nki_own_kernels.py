"""The project's own kernels: the bits of the same instructions written out on golden, and float64 within rounding."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag, ScaleRule

with nki.installed():
    from bitpath.verif.nki import kernels

BF16 = np.dtype(ml_dtypes.bfloat16)
STRICT = nki.Options(strict=True, strict_memory=True)
ADD = int(AccumulateFlag.FIRST_ACCUMULATE | AccumulateFlag.LAST)
CORES = pytest.mark.parametrize("cores", [None, 1, 2])


def name_of(kernel):
    return kernel.__name__


def ran(kernel, *args, cores=None, **kwargs):
    """Run a kernel; it does nothing that is undefined."""
    run = nki.run(kernel if cores is None else kernel[cores], *args, options=STRICT, **kwargs)
    assert run.warnings == ()
    return run


def same(a, b):
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert (a.reshape(-1).view(np.uint8) == b.reshape(-1).view(np.uint8)).all()


def numbers(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(a, exact, bits):
    """Each element is within ``2**-bits`` of the largest one."""
    assert np.abs(a.astype(np.float64) - exact).max() <= 2.0**-bits * np.abs(exact).max()


def divided(tile, highest, dtype):
    powers, total = trainium3.exponential(tile, highest, reduce_cmd="reset_reduce")
    share = trainium3.reciprocal(total.reshape(-1, 1))
    return trainium3.cast(trainium3.tensor_scalar(powers, "multiply", share), dtype)


def exact_softmax(x):
    x = x.astype(np.float64)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@CORES
@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_softmax_by_activation(dtype, cores):
    x = numbers(1, 64, 40, dtype=dtype)
    lowest = trainium3.tensor_reduce(x, "max", negate=True)
    powers, total = trainium3.activation_reduce(x, "exp", bias=lowest)
    made = trainium3.tensor_scalar(powers, "multiply", trainium3.reciprocal(total))
    run = ran(kernels.softmax_by_activation, x, cores=cores)
    same(run.outputs, trainium3.cast(made, dtype))
    close(run.outputs, exact_softmax(x), 8 if dtype is BF16 else 20)
    assert set(run.standing.keys) == {"activation.exp", "reduction.order", "reciprocal.rounding"}


@CORES
@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_softmax_by_exponential(dtype, cores):
    x = numbers(2, 64, 40, dtype=dtype)
    run = ran(kernels.softmax_by_exponential, x, cores=cores)
    same(run.outputs, divided(x, trainium3.tensor_reduce(x, "max"), dtype))
    close(run.outputs, exact_softmax(x), 8 if dtype is BF16 else 20)
    assert {"exponential", "reciprocal.rounding"} <= set(run.standing.keys)


@CORES
@pytest.mark.parametrize(
    "kernel", [kernels.causal_softmax_by_affine_select, kernels.causal_softmax_by_range_select], ids=name_of
)
def test_causal_softmax(kernel, cores):
    """Both selections give the same bits, whole or in halves."""
    x = numbers(3, 64, 64)
    kept = trainium3.affine_select([(-1, 64)], 1, x, kernels.LOWEST, "greater_equal")
    run = ran(kernel, x, cores=cores)
    same(run.outputs, divided(kept, trainium3.tensor_reduce(kept, "max"), np.float32))
    close(run.outputs, exact_softmax(np.where(np.tri(64), x, -np.inf)), 20)
    assert (np.triu(run.outputs, 1) == 0).all()


@pytest.mark.parametrize(
    "kernel", [kernels.transposed_by_tensor, kernels.transposed_by_vector, kernels.transposed_by_dma], ids=name_of
)
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.float16])
def test_a_transpose_moves_bits(kernel, dtype):
    """NaN payloads survive, and no choice of the model touches the result."""
    words = np.random.default_rng(4).integers(0, 2**32, (64, 96), np.uint32)
    x = words.astype(f"u{np.dtype(dtype).itemsize}").view(dtype)
    run = ran(kernel, x)
    same(run.outputs, np.ascontiguousarray(x.T))
    assert (run.standing.word, run.standing.keys) == ("documented", {})


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("placed", [False, True])
def test_a_matmul_of_three_tiles(explicit, placed):
    """Addresses, and who begins the sum, change no bit."""
    a, b = numbers(5, 384, 32, dtype=BF16), numbers(6, 384, 48, dtype=BF16)
    made = trainium3.nc_matmul(a[:128], b[:128])
    for k in (128, 256):
        made = trainium3.nc_matmul(a[k : k + 128], b[k : k + 128], dst=made, psum_accumulate_flag=ADD)
    run = ran(kernels.tiled, a, b, explicit, placed)
    same(run.outputs, made)
    close(run.outputs, a.astype(np.float64).T @ b.astype(np.float64), 20)
    assert set(run.standing.keys) == {"matmul.order", "matmul.rounding"}


@pytest.mark.parametrize("tile", [32, 64, 128])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_an_mx_matmul_in_row_tiles(tile, name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    sides = [trainium3.quantize_mx(numbers(seed, 128, 64, dtype=BF16), dtype, scale_rule="nki05") for seed in (7, 8)]
    made = None
    for k in range(0, 128, tile):
        data = [words.reshape(128, -1, 4)[k : k + tile] for words, _ in sides]
        scales = [scale[k // 8 : (k + tile) // 8] for _, scale in sides]
        more = {} if made is None else {"dst": made, "psum_accumulate_flag": ADD}
        made = trainium3.nc_matmul_mx(*data, *scales, tile_position=(k, 0), tile_size=(tile, 128), **more)
    inputs = [numbers(seed, 128, 64, dtype=BF16) for seed in (7, 8)]
    run = ran(kernels.mx_row_tiles, *inputs, f"{name}_x4", tile)
    same(run.outputs, made)
    left, right = (trainium3.dequantize(*side).astype(np.float64).reshape(128, 16, 4) for side in sides)
    close(run.outputs, np.einsum("pmi,pni->mn", left, right), 18)
    assert "quantize_mx.nki05" in run.standing.keys


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        (nki.Options(), ScaleRule.NKI05),
        (nki.Options(release="2.30"), ScaleRule.OCP),
        (nki.Options(scale_rule=ScaleRule.OCP), ScaleRule.OCP),
        (nki.Options(release="2.30", scale_rule=ScaleRule.NKI05), ScaleRule.NKI05),
    ],
)
def test_the_scale_rule_is_the_releases_or_an_option(options, rule):
    inputs = [numbers(seed, 128, 64, dtype=BF16) for seed in (7, 8)]
    sides = [trainium3.quantize_mx(each, ml_dtypes.float8_e4m3fn, scale_rule=rule.value) for each in inputs]
    data, scales = [words.reshape(128, -1, 4) for words, _ in sides], [scale for _, scale in sides]
    run = nki.run(kernels.mx_row_tiles, *inputs, "float8_e4m3fn_x4", 128, options=options)
    same(run.outputs, trainium3.nc_matmul_mx(*data, *scales))
    assert f"quantize_mx.{rule.value}" in run.standing.keys


@pytest.mark.parametrize("name", ["float8_e4m3", "float8_e4m3fn", "float8_e5m2"])
def test_a_double_row_matmul(name):
    dtype = np.dtype(getattr(ml_dtypes, name))
    a, b = numbers(9, 64, 2, 16, dtype=dtype), numbers(10, 64, 2, 24, dtype=dtype)
    run = ran(kernels.double_row, a, b)
    same(run.outputs, trainium3.nc_matmul(a, b, perf_mode="double_row"))
    close(run.outputs, np.einsum("pim,pin->mn", a.astype(np.float64), b.astype(np.float64)), 20)
    assert run.standing.keys["matmul.double_row"] == "chosen"


@CORES
def test_a_recurrence(cores):
    a, b = np.tanh(numbers(11, 32, 50)), numbers(12, 32, 50)
    run = ran(kernels.recurrence, a, b, 0.5, cores=cores)
    same(run.outputs, trainium3.tensor_tensor_scan(a, b, 0.5, "multiply", "add"))
    state, exact = np.full(32, 0.5), np.empty((32, 50))
    for k in range(50):
        state = exact[:, k] = a[:, k].astype(np.float64) * state + b[:, k]
    close(run.outputs, exact, 20)
    assert run.standing.keys == {"scan.rounding": "inferred"}


@CORES
def test_the_eight_largest(cores):
    """The two largest are equal, and take two columns."""
    x = numbers(13, 32, 60)
    x[:, 7] = x[:, 51] = 9.0
    run = ran(kernels.top8, x, cores=cores)
    order = np.argsort(-x, axis=1, kind="stable")[:, :8]
    same(run.outputs[0], np.take_along_axis(x, order, axis=1))
    same(run.outputs[1], order.astype(np.uint32))
    largest = trainium3.max8(x)
    same(run.outputs[0], largest)
    same(run.outputs[1], trainium3.nc_find_index8(x, largest))
    assert run.standing.word == "documented"


@CORES
def test_layer_norm(cores):
    x, gamma, beta = numbers(14, 32, 96) + 3, numbers(15, 1, 96), numbers(16, 1, 96)
    stats = np.hstack([trainium3.bn_stats(np.ascontiguousarray(x[:, k : k + 32])) for k in (0, 32, 64)])
    whole = trainium3.bn_aggr(stats)
    factor = trainium3.activation(np.ascontiguousarray(whole[:, 1:]), "rsqrt", bias=1e-5)
    made = trainium3.tensor_scalar(x, "subtract", np.ascontiguousarray(whole[:, :1]), "multiply", factor)
    for row, operator in ((gamma, "multiply"), (beta, "add")):
        made = trainium3.tensor_tensor(made, np.ascontiguousarray(np.broadcast_to(row, x.shape)), operator)
    run = ran(kernels.layer_norm, x, gamma, beta, 1e-5, 32, cores=cores)
    same(run.outputs, made)
    wide = x.astype(np.float64)
    exact = (wide - wide.mean(axis=1, keepdims=True)) / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    close(run.outputs, exact * gamma + beta, 18)
    assert run.standing.keys["bn_stats"] == "chosen"


@pytest.mark.parametrize("probability", [0.0, 0.25, 1.0])
def test_dropout(probability):
    x = numbers(17, 32, 200, dtype=BF16)
    source = trainium3.Xorwow(trainium3.seeded_state(42)[:32])
    run = ran(kernels.dropped, x, 42, probability)
    same(run.outputs, trainium3.dropout(source, x, probability))
    dropped = run.outputs != x
    assert not run.outputs[dropped].astype(np.float32).any()
    assert dropped.mean() == pytest.approx(probability, abs=0.03)
    assert run.standing.keys == {"rng": "chosen"}


def test_rows_are_gathered():
    table, indices = numbers(18, 50, 24), np.random.default_rng(19).integers(0, 50, (40, 1), np.int32)
    run = ran(kernels.gathered, table, indices)
    same(run.outputs, table[indices[:, 0]])
    assert run.standing.word == "documented"


def test_a_gather_skips_what_is_out_of_range():
    table, indices = numbers(18, 50, 24), np.arange(40, dtype=np.int32).reshape(-1, 1) * 3
    expected = np.where(indices < 50, table[np.minimum(indices[:, 0], 49)], np.float32(0))
    same(ran(kernels.gathered, table, indices, True).outputs, expected)
    with pytest.raises(nki.NkiValidationError, match=r"an index must be below 50, not 51 \(kernels.py:\d+\)"):
        nki.run(kernels.gathered, table, indices)


def test_rows_are_scattered():
    """The last row of equal places wins."""
    x, indices = numbers(20, 40, 24), np.random.default_rng(21).integers(0, 30, (40, 1), np.int32)
    expected = np.zeros((32, 24), np.float32)
    for row, place in zip(x, indices[:, 0], strict=True):
        expected[place] = row
    same(ran(kernels.scattered, x, indices, 32).outputs, expected)


@pytest.mark.parametrize("dtype", [np.float32, BF16])
def test_a_sum_over_two_cores(dtype):
    x = numbers(22, 2, 64, 30, dtype=dtype)
    run = ran(kernels.all_reduce, x, cores=2)
    total = trainium3.tensor_tensor(x[0], x[1], "add", dtype=dtype)
    same(run.outputs, np.stack([total, total]))
    assert {each.core for each in run.instructions} == {0, 1}


@CORES
@pytest.mark.parametrize("eps", [1e-6, 1e-3])
def test_rmsnorm_quant(cores, eps):
    """The bytes are those of the project's model of the vendor's kernel."""
    x, gamma = numbers(23, 128, 96, dtype=BF16), numbers(24, 1, 96, dtype=BF16)
    x[5] = 0
    run = ran(kernels.rmsnorm_quant, x, gamma, eps, cores=cores)
    same(run.outputs, trainium3.rmsnorm_quant(x, gamma, eps=eps))
    data, scale = trainium3.unpack_rows(run.outputs)
    wide = x.astype(np.float64)
    exact = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + eps) * gamma.astype(np.float64)
    close(data.astype(np.float64) * scale.astype(np.float64).reshape(-1, 1), exact, 4)


def test_attention():
    q, k, v = (numbers(seed, 96, 64, dtype=BF16) for seed in (25, 26, 27))
    turned = [np.ascontiguousarray(each.T) for each in (q, k)]
    scores = trainium3.tensor_scalar(trainium3.nc_matmul(*turned), "multiply", 0.125)
    scores = trainium3.affine_select([(-1, 96)], 1, scores, kernels.LOWEST, "greater_equal")
    highest = trainium3.tensor_reduce(scores, "max")
    powers, total = trainium3.exponential(scores, highest, dtype=BF16, reduce_cmd="reset_reduce")
    sums = trainium3.nc_matmul(np.ascontiguousarray(powers.T), v)
    made = trainium3.tensor_scalar(sums, "multiply", trainium3.reciprocal(total.reshape(-1, 1)), dtype=BF16)
    run = ran(kernels.attention, q, k, v, 0.125)
    same(run.outputs, made)
    wide = [each.astype(np.float64) for each in (q, k, v)]
    exact = exact_softmax(np.where(np.tri(96), wide[0] @ wide[1].T * 0.125, -np.inf)) @ wide[2]
    close(run.outputs, exact, 7)
    assert run.standing.word == "chosen"
