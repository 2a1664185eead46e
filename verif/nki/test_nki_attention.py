"""nki-library's attention: QKV and output projections, rotary embeddings, masks, and prefill, against float64 and written-out instructions."""

from dataclasses import dataclass, field
from itertools import pairwise
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import ACCUMULATE, OVERWRITE, deviation, matmul, spread, transposed

# nki-library's attention_cte against float64 and against flash attention written out on golden's instructions.


BF16 = np.dtype(ml_dtypes.bfloat16)
LOWEST = float(np.finfo(np.float32).min)
STARTS = (0, 37, 130, 200, 256)
"""Where packed sequences begin, and the end."""


@dataclass(frozen=True)
class Case:
    """An attention and the arguments of its kernel.

    Attributes
    ----------
    heads, key_heads, queries, keys, size : of query heads, key heads, positions and a head.
    prior, used : keys before the others, and how many of them count.
    packed : whether the queries are sequences of their own, from `STARTS` on.
    sink, causal, window, offset : a sink's score; the mask; the position of the first query.
    flags : arguments of the kernel as they are.
    """

    heads: int = 1
    key_heads: int = 1
    queries: int = 256
    keys: int = 256
    size: int = 64
    prior: int = 0
    used: int = 0
    packed: bool = False
    sink: bool = False
    causal: bool = True
    window: int = 0
    offset: int = 0
    flags: dict[str, Any] = field(default_factory=dict)

    def operands(self) -> dict[str, np.ndarray]:
        """Return arrays by name: q, v and v_prior [heads, positions, size], k and k_prior [heads, size, positions]."""
        rng = np.random.default_rng(4)
        shapes = {
            "q": (self.heads, self.queries, self.size),
            "k": (self.key_heads, self.size, self.keys),
            "v": (self.key_heads, self.keys, self.size),
            "k_prior": (self.key_heads, self.size, self.prior),
            "v_prior": (self.key_heads, self.prior, self.size),
            "sink": (self.heads, 1),
        }
        scales = {"q": 0.3}
        return {name: (scales.get(name, 1) * rng.standard_normal(shape)).astype(BF16) for name, shape in shapes.items()}

    def bounds(self) -> np.ndarray:
        """Return first key and end of the sequence of each query, [2, queries]."""
        sequences = pairwise(STARTS)
        return np.concatenate([np.full((end - start, 2), (start, end)) for start, end in sequences]).T

    def arguments(self) -> dict[str, Any]:
        given, turned = self.operands(), lambda array: np.ascontiguousarray(array.swapaxes(1, 2))
        names = ["q", "k", "v", *(["k_prior", "v_prior"] if self.prior else []), *(["sink"] if self.sink else [])]
        made: dict[str, Any] = {name: given[name] for name in names} | {"causal_mask": self.causal} | self.flags
        if self.flags.get("tp_q") is False:
            made["q"] = turned(made["q"])
        if self.flags.get("tp_k"):
            made |= {name: turned(made[name]) for name in names if name.startswith("k")}
        if self.prior:
            made["prior_used_len"] = np.array([self.used], np.int32)
        if self.packed:
            low, high = self.bounds().astype(np.float32)
            made |= {"bound_min": low[:, None], "bound_max": high[:, None]}
        if self.window:
            made["sliding_window"] = self.window
        if self.offset:
            made |= {"cp_offset": np.array([[self.offset]], np.int32), "global_cp_deg": 4}
        return made

    def exact(self) -> np.ndarray:
        """Return the result in float64."""
        given = {name: values.astype(np.float64) for name, values in self.operands().items()}
        keys = np.concatenate([given["k_prior"][:, :, : self.used], given["k"]], axis=2)
        values = np.concatenate([given["v_prior"][:, : self.used], given["v"]], axis=1)
        query = np.arange(self.queries)[:, None] + self.offset
        key = np.arange(keys.shape[2]) - self.used
        kept = (key <= query) | (not self.causal)
        kept &= (query - key < self.window) | (not self.window)
        if self.packed:
            low, high = self.bounds()
            kept &= (key >= low[:, None]) & (key < high[:, None])
        made = np.empty(given["q"].shape)
        for head, q in enumerate(given["q"]):
            own = head * self.key_heads // self.heads
            powers = np.where(kept, np.exp(q @ keys[own] * self.flags.get("scale", 1)), 0)
            total = powers.sum(axis=1, keepdims=True) + (np.exp(given["sink"][head]) if self.sink else 0)
            made[head] = powers @ values[own] / total
        return made.swapaxes(1, 2) if self.flags.get("tp_out") else made


CASES = {
    "causal": Case(),
    "queries_of_no_whole_group": Case(queries=200, keys=200),
    "prefix": Case(prior=512, used=300),
    "prefix_of_one_key_transposed": Case(prior=512, used=1, flags={"tp_k": True}),
    "prefix_and_window": Case(prior=512, used=400, window=100),
    "packed_sequences": Case(packed=True),
    "packed_sequences_and_window": Case(packed=True, window=20),
    "transposed_result": Case(flags={"tp_out": True}),
    "transposed_queries": Case(flags={"tp_q": False}),
    "scale": Case(flags={"scale": 0.5}),
    "sink": Case(sink=True),
    "sink_and_window": Case(sink=True, window=100),
    "two_heads_on_one_of_keys": Case(heads=2),
    "context_parallel": Case(queries=128, keys=512, offset=256),
    "prefix_of_sections": pytest.param(Case(prior=12288, used=11000), marks=pytest.mark.deep),
    "sections": Case(queries=128, keys=12288, causal=False),
}


def run_attention(case: Case, cores: int = 1) -> np.ndarray:
    kernel = library("core.attention.attention_cte").attention_cte
    options = nki.Options(strict=True)
    return nki.run(kernel if cores == 1 else kernel[cores], **case.arguments(), options=options).outputs


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nki_attention_cte_is_near_float64_with_equal_bits_on_two_cores(case):
    one, two = (run_attention(case, cores) for cores in (1, 2))
    assert deviation(one, case.exact()) < 0.004
    assert one.tobytes() == two.tobytes()


def attended(scores: list[np.ndarray], maxima: list[np.ndarray], values: np.ndarray) -> np.ndarray:
    """Return softmax of tiles of scores [128, keys], times values; keys behind the last value have no weight."""
    highest = trainium3.tensor_reduce(np.concatenate(maxima, axis=1), "max", negate=True)
    powers = [trainium3.activation_reduce(tile, "exp", bias=highest, dtype=BF16) for tile in scores]
    weights = np.concatenate([tile for tile, _ in powers], axis=1)
    total = trainium3.tensor_reduce(np.concatenate([each.reshape(-1, 1) for _, each in powers], axis=1), "add")
    places = range(0, len(values), 128)
    made = matmul([transposed(weights[:, k : k + 128]) for k in places], [values[k : k + 128] for k in places])
    zeros = np.zeros((len(made), 1), np.float32)
    share = trainium3.reciprocal(total)
    return trainium3.cast(trainium3.activation(made, "copy", scale=share, bias=zeros, dtype=np.float32), BF16)


def test_nki_attention_cte_of_packed_sequences_gives_the_bits_of_its_instructions():
    case = CASES["packed_sequences"]
    given = {name: values[0] for name, values in case.operands().items()}
    made = []
    for first in (0, 128):
        rows = slice(first, first + 128)
        low, high = case.bounds()[:, rows].astype(np.float32)
        last = np.minimum(np.arange(first, first + 128, dtype=np.float32), high)
        scores = matmul([transposed(given["q"][rows])], [given["k"]])
        kept, highest = trainium3.range_select(
            scores, "greater_equal", "less_equal", low[:, None].copy(), last[:, None].copy(), reduce_cmd="reset_reduce"
        )
        made.append(attended([kept], [highest.reshape(-1, 1)], given["v"][: first + 128]))
    assert run_attention(case)[0].tobytes() == np.concatenate(made).tobytes()


def test_nki_attention_cte_with_a_prefix_gives_the_bits_of_its_instructions():
    case = Case(queries=128, keys=128, prior=512, used=300)
    given = {name: values[0] for name, values in case.operands().items()}
    queries = transposed(given["q"])
    zeros, used = (np.full((128, 1), value, np.float32) for value in (0, case.used))
    before, highest = trainium3.range_select(
        matmul([queries], [given["k_prior"]]), "greater_equal", "less", zeros, used, reduce_cmd="reset_reduce"
    )
    own = trainium3.affine_select(
        [(-1, 128)], 1, matmul([queries], [given["k"]]), LOWEST, "greater_equal", dtype=np.float32
    )
    own, own_highest = trainium3.tensor_scalar_reduce(own, "multiply", 1.0, reduce_op="max", dtype=np.float32)
    maxima = [highest.reshape(-1, 1), own_highest.reshape(-1, 1)]
    golden = attended([before, own], maxima, np.concatenate([given["v_prior"], given["v"]]))
    assert run_attention(case)[0].tobytes() == golden.tobytes()


# nki-library's masks of decode attention, exact.


BATCH, HEADS, ACTIVE, PRIOR = 2, 2, 3, 512
TILES = PRIOR // 128


def laid_out(mask: np.ndarray, block: int) -> np.ndarray:
    """Return a mask [batch, heads, active, prior] as the kernel stores it, [prior, batch, heads, active].

    Rows are tiles of 128. Key k is row k // 4 of tile k % 4; with blocks of ``block`` keys, groups of 128 blocks are
    transposed each.
    """
    keys = mask.transpose(3, 0, 1, 2)
    groups = keys.reshape(-1, 128, block or TILES, *keys.shape[1:])
    return groups.swapaxes(1, 2).reshape(keys.shape)


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("kind", ["prior", "active", "window", "blocks"])
def test_nki_gen_mask_tkg_gives_the_mask(kind, cores):
    kernel = nki.jit(library("core.attention.gen_mask_tkg").gen_mask_tkg_hbm)
    key = np.arange(PRIOR)
    ends = np.array([100, 300]).repeat(ACTIVE).reshape(BATCH, 1, ACTIVE, 1)
    mask = np.broadcast_to(key < ends, (BATCH, HEADS, ACTIVE, PRIOR))
    more = {}
    if kind == "active":
        triangle = np.tril(np.ones((ACTIVE, ACTIVE), bool))
        more["active_mask"] = np.broadcast_to(triangle[:, None, None], (ACTIVE, BATCH, HEADS, ACTIVE)).astype(
            np.float32
        )
        mask = np.concatenate(
            [mask[..., :-ACTIVE], np.broadcast_to(triangle.T, (BATCH, HEADS, ACTIVE, ACTIVE))], axis=-1
        )
    if kind == "window":
        starts = ends - 50
        starts[0, 0, 1] = 400  # behind its end: the window goes around
        more["start_pos_hbm"] = starts.reshape(1, -1).astype(np.float32)
        around = np.where(starts <= ends, (key >= starts) & (key < ends), (key >= starts) | (key < ends))
        mask = np.broadcast_to(around, (BATCH, HEADS, ACTIVE, PRIOR))
    if kind == "blocks":
        more["block_len"] = 2
    made = nki.run(
        kernel if cores == 1 else kernel[cores],
        ends.reshape(1, -1).astype(np.float32),
        BATCH,
        HEADS,
        ACTIVE,
        PRIOR,
        **more,
        options=nki.Options(strict=True),
    )
    assert (made.outputs == laid_out(mask, more.get("block_len", 0))).all()
    assert made.standing.word == "documented"


# nki-library's rotary embeddings, rope and rope_hf, against float64.


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


# nki-library's output projection of decode against float64: BF16, and FP8 weights with scales.


E4M3 = np.dtype(ml_dtypes.float8_e4m3)
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
    weights, scale = (
        (rng.standard_normal((heads * SIZE, HIDDEN)) / 14).astype(BF16),
        np.float32(1),
    )
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


# nki-library's QKV projection, prefill and decode, BF16 and MX, against float64 and written-out instructions.


# Arguments of nki-library's qkv kernel, and its results in float64.


EPS = 1e-6
QUERY_HEADS, KEY_HEADS = 2, 1


@dataclass(frozen=True)
class QkvCase:
    """A projection and the arguments of its kernel.

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
        return (QUERY_HEADS + 2 * KEY_HEADS) * self.head

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
        made |= {"d_head": self.head, "num_q_heads": QUERY_HEADS, "num_kv_heads": KEY_HEADS}
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
            turned = made[:, :, : QUERY_HEADS + KEY_HEADS]
            first, second = np.split(turned, 2, axis=-1)
            crossed = np.concatenate([-second, first], axis=-1)
            rotated = turned * given["cos_cache"][:, :, None] + crossed * given["sin_cache"][:, :, None]
            made = np.concatenate([rotated, made[:, :, QUERY_HEADS + KEY_HEADS :]], axis=2)
        return made.transpose(2, 0, 1, 3) if self.layout == "NBSd" else made.reshape(*self.shape[:2], -1)


def quarters(values: np.ndarray) -> np.ndarray:
    """Return [..., H] with elements 4 k + q of all k for q = 0, then for q = 1 and so on."""
    return np.ascontiguousarray(np.moveaxis(values.reshape(*values.shape[:-1], -1, 4), -1, -2)).reshape(values.shape)


def quantised(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return MX weights [H / 4, columns, 4] of E4M3FN, four of the hidden dimension in a word, and their scales."""
    hidden, columns = weights.shape
    words = np.ascontiguousarray(weights.reshape(hidden // 4, 4, columns).transpose(0, 2, 1)).reshape(hidden // 4, -1)
    tiles = [
        trainium3.quantize_mx(words[k : k + 128], ml_dtypes.float8_e4m3fn, scale_rule="nki05")
        for k in range(0, len(words), 128)
    ]
    data, scale = (np.concatenate(each) for each in zip(*tiles, strict=True))
    return data.reshape(hidden // 4, columns, 4), scale


def dequantised(data: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return MX weights in float64, [H, columns]."""
    powers = np.exp2(scale.astype(np.float64) - 127).repeat(8, axis=0)[:, :, None]
    return (data.astype(np.float64) * powers).transpose(0, 2, 1).reshape(-1, data.shape[1])


PREFILL, LONG, DECODE = (1, 128, 256), (1, 256, 512), (4, 1, 512)
QKV_CASES = {
    "prefill": QkvCase(PREFILL),
    "prefill_rms_norm": QkvCase(PREFILL, norm="RMS_NORM"),
    "prefill_layer_norm_bias": QkvCase(PREFILL, norm="LAYER_NORM", bias=True),
    "prefill_rms_norm_rope": QkvCase(PREFILL, 128, "RMS_NORM", rope=True),
    "prefill_residuals_by_heads": QkvCase(PREFILL, 128, adds=True, layout="NBSd"),
    "prefill_transposed_by_tensor_engine": QkvCase(PREFILL, more={"load_input_with_DMA_transpose": False}),
    "decode": QkvCase(DECODE),
    "decode_rms_norm_residuals_bias": QkvCase(DECODE, norm="RMS_NORM", adds=True, bias=True),
    "decode_layer_norm": QkvCase(DECODE, norm="LAYER_NORM"),
    "prefill_mx": QkvCase(LONG, 128, mx=True),
    "prefill_mx_rms_norm": QkvCase(LONG, 128, "RMS_NORM", mx=True),
    "prefill_mx_swizzled": QkvCase(LONG, 128, mx=True, swizzled=True),
    "decode_mx": QkvCase((12, 1, 512), 128, mx=True, swizzled=True),
    "decode_mx_rms_norm": QkvCase((8, 1, 1024), 128, "RMS_NORM", mx=True, swizzled=True),
}


def run_qkv(case: QkvCase, cores: int) -> np.ndarray:
    """Return the projection; decode also returns the sum of the residuals."""
    kernel = library("core.qkv.qkv").qkv
    arguments = case.arguments(library("core.utils.common_types"))
    made = nki.run(kernel if cores == 1 else kernel[cores], **arguments, options=STRICT).outputs
    return made[0] if isinstance(made, tuple) else made


@pytest.mark.parametrize("name", QKV_CASES)
def test_nki_qkv_is_near_float64_on_one_core_and_on_two(name):
    case = QKV_CASES[name]
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
    case = QkvCase(PREFILL, 128, "RMS_NORM", rope=True, more=more | caches | scales | {"slot_mapping": slots[None]})
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
        left, left_scale = trainium3.quantize_mx(tile, ml_dtypes.float8_e4m3fn, scale_rule="nki05")
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
    case = QKV_CASES["prefill_rms_norm"]
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
    case = QKV_CASES["prefill_mx_rms_norm"]
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
    case = QKV_CASES["decode_mx_rms_norm"]
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
