"""nki-library's QKV projection, prefill and decode, BF16 and MX, against float64 and written-out instructions."""

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import ACCUMULATE, OVERWRITE, deviation, matmul, spread, transposed
from bitpath.verif.nki.qkv_case import BF16, EPS, Case, quantised, quarters

STRICT = nki.Options(strict=True)
PREFILL, LONG, DECODE = (1, 128, 256), (1, 256, 512), (4, 1, 512)
CASES = {
    "prefill": Case(PREFILL),
    "prefill_rms_norm": Case(PREFILL, norm="RMS_NORM"),
    "prefill_layer_norm_bias": Case(PREFILL, norm="LAYER_NORM", bias=True),
    "prefill_rms_norm_rope": Case(PREFILL, 128, "RMS_NORM", rope=True),
    "prefill_residuals_by_heads": Case(PREFILL, 128, adds=True, layout="NBSd"),
    "prefill_transposed_by_tensor_engine": Case(PREFILL, more={"load_input_with_DMA_transpose": False}),
    "decode": Case(DECODE),
    "decode_rms_norm_residuals_bias": Case(DECODE, norm="RMS_NORM", adds=True, bias=True),
    "decode_layer_norm": Case(DECODE, norm="LAYER_NORM"),
    "prefill_mx": Case(LONG, 128, mx=True),
    "prefill_mx_rms_norm": Case(LONG, 128, "RMS_NORM", mx=True),
    "prefill_mx_swizzled": Case(LONG, 128, mx=True, swizzled=True),
    "decode_mx": Case((12, 1, 512), 128, mx=True, swizzled=True),
    "decode_mx_rms_norm": Case((8, 1, 1024), 128, "RMS_NORM", mx=True, swizzled=True),
}


def run_qkv(case: Case, cores: int) -> np.ndarray:
    """Return the projection; decode also returns the sum of the residuals."""
    kernel = library("core.qkv.qkv").qkv
    arguments = case.arguments(library("core.utils.common_types"))
    made = nki.run(kernel if cores == 1 else kernel[cores], **arguments, options=STRICT).outputs
    return made[0] if isinstance(made, tuple) else made


@pytest.mark.parametrize("name", CASES)
def test_nki_qkv_is_near_float64_on_one_core_and_on_two(name):
    case = CASES[name]
    exact = case.exact()
    one, two = (run_qkv(case, cores) for cores in (1, 2))
    assert max(deviation(one, exact), deviation(two, exact)) < (0.035 if case.mx else 0.006)
    if name.startswith("prefill"):  # cores share the tokens; in decode they share the hidden dimension's sum
        assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("cores", [1, 2])
def test_nki_qkv_writes_keys_and_values_into_slots_of_an_fp8_cache(cores):
    slots = np.random.default_rng(15).permutation(256)[:128].astype(np.int32)
    caches = {name: np.zeros((8, 32, 128), ml_dtypes.float8_e4m3) for name in ("k_cache", "v_cache")}
    scales = {"k_scale": np.full((128, 1), 0.5, np.float32), "v_scale": np.full((128, 1), 0.25, np.float32)}
    more = {"fp8_max": 240.0, "fp8_min": -240.0, "kv_dtype": "float8_e4m3", "use_block_kv": True, "block_size": 32}
    case = Case(PREFILL, 128, "RMS_NORM", rope=True, more=more | caches | scales | {"slot_mapping": slots[None]})
    query, key, value = np.split(case.exact()[0], [256, 384], axis=1)
    assert deviation(run_qkv(case, cores), query) < 0.006
    for made, exact, scale in ((caches["k_cache"], key, 0.5), (caches["v_cache"], value, 0.25)):
        rows = made.reshape(256, 128)
        assert deviation(rows[slots], exact / scale) < 0.03
        assert not np.delete(rows, slots, axis=0).any()


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize(("dtype", "most"), [(ml_dtypes.float8_e4m3fn, 0.006), (BF16, 0.035)])
def test_nki_qkv_with_interleaved_mx_weights_is_near_float64(dtype, most, cores):
    kernel, types = library("core.qkv.qkv").qkv, library("core.utils.common_types")
    rng = np.random.default_rng(16)
    x = rng.standard_normal(LONG).astype(dtype)
    weights = (rng.standard_normal((LONG[2], 512)) / np.sqrt(LONG[2])).astype(ml_dtypes.float8_e4m3fn)
    # A word holds two neighbours of each half of the hidden dimension, as pairs of bytes come out of DMA's transpose.
    words = weights.reshape(2, LONG[2] // 4, 2, 512).transpose(1, 3, 0, 2).reshape(LONG[2] // 4, -1)
    scales = {"qkv_w_scale": np.full((128, 3), (0.8, 0.9, 1.2), np.float32)}
    more = scales | {"qkv_in_scale": np.full((128, 1), 0.5, np.float32)} if dtype is BF16 else {}
    made = nki.run(
        kernel if cores == 1 else kernel[cores],
        x,
        nki.host_tensor(trainium3.pack_x4(np.ascontiguousarray(words)), "float8_e4m3fn_x4"),
        quantization_type=types.QuantizationType.MX,
        weight_layout=types.QKVWeightLayout.MX_INTERLEAVED,
        d_head=128,
        num_q_heads=2,
        num_kv_heads=1,
        **more,
        options=STRICT,
    ).outputs
    factors = np.repeat([0.8, 0.9, 1.2], [256, 128, 128]) if more else 1
    assert deviation(made, x.astype(np.float64) @ weights.astype(np.float64) * factors) < most


def normalised(x: np.ndarray) -> np.ndarray:
    """Return rows over their root mean square, BF16, as the prefill kernel does: its zeros and its epsilon are BF16."""
    zeros, eps = (np.full((len(x), 1), value, np.float32).astype(BF16) for value in (0, EPS))
    _, total = trainium3.activation_reduce(x, "square", bias=zeros.astype(np.float32), dtype=np.float32)
    inverse = trainium3.activation(
        total.reshape(-1, 1), "rsqrt", scale=1 / x.shape[1], bias=eps.astype(np.float32), dtype=np.float32
    )
    return trainium3.tensor_scalar(x, "multiply", inverse, dtype=BF16)


def matmul_mx(stationary: list[np.ndarray], data: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the sum of the products of quantised tiles [128, 4 tokens] and tiles of MX weights, FP32."""
    total = None
    for k, tile in enumerate(stationary):
        left, left_scale = trainium3.quantize_mx(tile, ml_dtypes.float8_e4m3fn)
        total = trainium3.nc_matmul_mx(
            left.reshape(128, -1, 4),
            data[128 * k :][:128],
            spread(left_scale),
            spread(scale[16 * k :][:16]),
            dst=total,
            psum_accumulate_flag=ACCUMULATE if k else OVERWRITE,
        )
    assert total is not None
    return total


def test_nki_qkv_prefill_with_rms_norm_gives_the_bits_of_its_instructions():
    case = CASES["prefill_rms_norm"]
    given = case.operands()
    rows = normalised(given["input"][0])
    gamma = given["gamma_norm_weights"].astype(np.float32).reshape(-1, 1)
    stationary, moving = [], []
    for k in range(0, rows.shape[1], 128):
        tile = transposed(rows[:, k : k + 128])
        stationary.append(trainium3.tensor_scalar(tile, "multiply", gamma[k : k + 128], dtype=BF16))
        moving.append(given["weights"][k : k + 128])
    assert run_qkv(case, 1)[0].tobytes() == trainium3.cast(matmul(stationary, moving), BF16).tobytes()


def test_nki_qkv_prefill_in_mx_with_rms_norm_gives_the_bits_of_its_instructions():
    case = CASES["prefill_mx_rms_norm"]
    given = case.operands()
    gamma = given["gamma_norm_weights"].astype(np.float32).reshape(128, 4)
    made = []
    for first in (0, 128):
        rows = normalised(given["input"][0, first : first + 128])
        # Element 4 p + q of a token goes to partition p as its element q.
        parts = [
            trainium3.tensor_scalar(transposed(rows[:, q::4]), "multiply", gamma[:, q : q + 1].copy(), dtype=BF16)
            for q in range(4)
        ]
        tile = np.ascontiguousarray(np.stack(parts, axis=-1)).reshape(128, -1)
        made.append(trainium3.cast(matmul_mx([tile], *quantised(given["weights"])), BF16))
    assert run_qkv(case, 1)[0].tobytes() == np.concatenate(made).tobytes()


def test_nki_qkv_decode_in_mx_with_rms_norm_gives_the_bits_of_its_instructions():
    case = CASES["decode_mx_rms_norm"]
    given = case.operands()
    tokens, groups = case.shape[0], case.shape[2] // 512

    def in_partitions(values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(quarters(values).reshape(-1, 4 * groups, 128).transpose(2, 0, 1)).reshape(128, -1)

    hidden = in_partitions(given["input"][:, 0])
    squares = trainium3.activation(hidden, "square", dtype=np.float32)
    sums = [trainium3.tensor_reduce(np.ascontiguousarray(each), "add") for each in np.split(squares, tokens, axis=1)]
    total = trainium3.nc_matmul(np.ones((128, 128), np.float32), np.concatenate(sums, axis=1))
    eps = np.full((128, 1), EPS, np.float32)
    inverse = trainium3.activation(total, "rsqrt", scale=1 / case.shape[2], bias=eps, dtype=np.float32)
    gamma = np.tile(in_partitions(given["gamma_norm_weights"]), (1, tokens))
    scaled = trainium3.tensor_tensor(hidden, gamma, "multiply", dtype=np.float32)
    normal = trainium3.tensor_tensor(scaled, np.repeat(inverse, 4 * groups, axis=1), "multiply", dtype=BF16)
    tiles = normal.reshape(128, tokens, 4, groups).transpose(3, 0, 1, 2).reshape(groups, 128, -1)
    golden = matmul_mx([np.ascontiguousarray(tile) for tile in tiles], *quantised(given["weights"]))
    assert run_qkv(case, 1)[:, 0].tobytes() == trainium3.cast(golden, BF16).tobytes()
