"""nki-library's QKV projection, prefill and decode, BF16 and MX, against float64 and written-out instructions."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import ACCUMULATE, OVERWRITE, deviation, matmul, spread, transposed

# Arguments of nki-library's qkv kernel, and its results in float64.


BF16 = np.dtype(ml_dtypes.bfloat16)
EPS = 1e-6
HEADS, KEY_HEADS = 2, 1


@dataclass(frozen=True)
class Case:
    """A projection.

    Attributes
    ----------
    shape : batch, tokens and hidden size.
    head : size of a head; two heads of queries, one of keys and one of values.
    norm : "NO_NORM", "RMS_NORM" or "LAYER_NORM", in front.
    bias, adds, rope : whether a bias is added, two residuals are added in front, and heads are rotated.
    layout : of the result, "BSD" or "NBSd".
    mx, swizzled : MX weights and activations; whether the hidden dimension comes as four quarters of each 512.
    more : further arguments of the kernel.
    """

    shape: tuple[int, int, int]
    head: int = 64
    norm: str = "NO_NORM"
    bias: bool = False
    adds: bool = False
    rope: bool = False
    layout: str = "BSD"
    mx: bool = False
    swizzled: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> int:
        return (HEADS + 2 * KEY_HEADS) * self.head

    def operands(self) -> dict[str, np.ndarray]:
        """Return random arrays by name, BF16."""
        rng = np.random.default_rng(3)
        batch, tokens, hidden = self.shape
        angles = [
            np.concatenate([half, half], axis=-1) for half in rng.uniform(-1, 1, (2, batch, tokens, self.head // 2))
        ]
        made = {
            "input": rng.standard_normal(self.shape),
            "mlp_prev": rng.standard_normal(self.shape),
            "attention_prev": rng.standard_normal(self.shape),
            "gamma_norm_weights": 1 + 0.2 * rng.standard_normal((1, hidden)),
            "layer_norm_bias": 0.2 * rng.standard_normal((1, hidden)),
            "weights": rng.standard_normal((hidden, self.columns)) / np.sqrt(hidden),
            "bias": rng.standard_normal((1, self.columns)),
            "cos_cache": angles[0],
            "sin_cache": angles[1],
        }
        return {name: values.astype(BF16) for name, values in made.items()}

    def arguments(self, types: ModuleType) -> dict[str, Any]:
        """Return the kernel's arguments; ``types`` is nki-library's module of enumerations."""
        given = self.operands()
        names = ["input"]
        names += ["mlp_prev", "attention_prev"] if self.adds else []
        names += ["gamma_norm_weights"] if self.norm != "NO_NORM" else []
        names += ["layer_norm_bias"] if self.norm == "LAYER_NORM" else []
        made: dict[str, Any] = {name: quarters(given[name]) if self.swizzled else given[name] for name in names}
        made |= {name: given[name] for name in ("cos_cache", "sin_cache") if self.rope}
        made |= {"bias": given["bias"]} if self.bias else {}
        if self.mx:
            data, scale = quantised(given["weights"])
            words = trainium3.pack_x4(data.reshape(len(data), -1))
            made["fused_qkv_weights"] = nki.host_tensor(words, "float8_e4m3fn_x4")
            made |= {"qkv_w_scale": scale, "is_h_dim_4h_transposed": self.swizzled}
            made |= {
                "weight_layout": types.QKVWeightLayout.MX_CONTIGUOUS,
                "quantization_type": types.QuantizationType.MX,
            }
        else:
            made["fused_qkv_weights"] = given["weights"]
        made |= {"fused_norm_type": getattr(types.NormType, self.norm), "norm_eps": EPS}
        made |= {"fused_residual_add": self.adds, "fused_rope": self.rope}
        made |= {"d_head": self.head, "num_q_heads": HEADS, "num_kv_heads": KEY_HEADS}
        return made | {"output_layout": getattr(types.QKVOutputLayout, self.layout)} | self.more

    def exact(self) -> np.ndarray:
        """Return the result in float64, of MX weights as they are quantised, with activations as they are."""
        given = {name: values.astype(np.float64) for name, values in self.operands().items()}
        hidden = given["input"] + (given["mlp_prev"] + given["attention_prev"] if self.adds else 0)
        if self.norm == "LAYER_NORM":
            hidden = hidden - hidden.mean(axis=-1, keepdims=True)
        if self.norm != "NO_NORM":
            hidden = hidden / np.sqrt((hidden**2).mean(axis=-1, keepdims=True) + EPS) * given["gamma_norm_weights"]
        if self.norm == "LAYER_NORM":
            hidden = hidden + given["layer_norm_bias"]
        weights = dequantised(*quantised(self.operands()["weights"])) if self.mx else given["weights"]
        made = (hidden @ weights + (given["bias"] if self.bias else 0)).reshape(*self.shape[:2], -1, self.head)
        if self.rope:
            turned = made[:, :, : HEADS + KEY_HEADS]
            first, second = np.split(turned, 2, axis=-1)
            crossed = np.concatenate([-second, first], axis=-1)
            rotated = turned * given["cos_cache"][:, :, None] + crossed * given["sin_cache"][:, :, None]
            made = np.concatenate([rotated, made[:, :, HEADS + KEY_HEADS :]], axis=2)
        return made.transpose(2, 0, 1, 3) if self.layout == "NBSd" else made.reshape(*self.shape[:2], -1)


def quarters(values: np.ndarray) -> np.ndarray:
    """Return [..., H] with elements 4 k + q of all k for q = 0, then for q = 1 and so on."""
    return np.ascontiguousarray(np.moveaxis(values.reshape(*values.shape[:-1], -1, 4), -1, -2)).reshape(values.shape)


def quantised(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return MX weights [H / 4, columns, 4] of E4M3FN, four of the hidden dimension in a word, and their scales."""
    hidden, columns = weights.shape
    words = np.ascontiguousarray(weights.reshape(hidden // 4, 4, columns).transpose(0, 2, 1)).reshape(hidden // 4, -1)
    tiles = [trainium3.quantize_mx(words[k : k + 128], ml_dtypes.float8_e4m3fn) for k in range(0, len(words), 128)]
    data, scale = (np.concatenate(each) for each in zip(*tiles, strict=True))
    return data.reshape(hidden // 4, columns, 4), scale


def dequantised(data: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return MX weights in float64, [H, columns]."""
    powers = np.exp2(scale.astype(np.float64) - 127).repeat(8, axis=0)[:, :, None]
    return (data.astype(np.float64) * powers).transpose(0, 2, 1).reshape(-1, data.shape[1])


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
