"""nki-library's MLP, mixture of experts and router for decode: bits of written-out instructions, and float64."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.compositions import (
    BF16,
    E2M1,
    E4M3FN,
    E5M2,
    Mx,
    chain,
    combine,
    quantised,
    random_mx,
    relative_error,
)

WARNS = pytest.mark.filterwarnings("ignore::bitpath.golden.nki.NkiWarning")


# MXFP4 projections of the vendor's MLP for decode: bit for bit as their instructions written out, and near float64.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

MLP = "core.mlp.mlp_tkg"


def on_cores(kernel, cores):
    return nki.jit(kernel) if cores is None else nki.jit(kernel)[cores]


def stored(tile):
    """Store a tile of SBUF as a kernel's output."""
    result = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(result, tile)
    return result


def gate_up(hidden: Mx, weight: Mx, bias: np.ndarray, cores: int) -> np.ndarray:
    """Write gate_up_projection_mx_tp_shard_H out: [128, I / 512, B, 4], rows beyond I zero."""
    tiles, tokens, size = hidden.words.shape[1], hidden.words.shape[2], weight.words.shape[2]
    parts = []
    for core in range(cores):
        own = range(core * tiles // cores, (core + 1) * tiles // cores)
        out = np.zeros((128, -(-size // 512), tokens, 4), BF16)
        for tile in range(out.shape[1]):
            rows = min(512, size - 512 * tile) // 4
            for q in range(4):
                columns = slice(512 * tile + q * rows, 512 * tile + (q + 1) * rows)
                out[:rows, tile, :, q] = chain([weight[:, k, columns] for k in own], [hidden[:, k] for k in own])
            if core == 0:
                out[:rows, tile] = combine(out[:rows, tile], bias[:rows, tile, np.newaxis], "add")
        parts.append(out)
    return parts[0] if cores == 1 else combine(parts[0], parts[1], "add")


@WARNS
@pytest.mark.parametrize("cores", [None, 2])
@pytest.mark.parametrize(("size", "tokens", "dtype"), [(512, 8, E4M3FN), (640, 4, E5M2)])
def test_nki_gate_up_projection_mx_shard_h(cores, size, tokens, dtype):
    """Nothing has written rows beyond I of the last tile; on two cores they are sent, and added."""
    module = library(f"{MLP}.gate_up_projection_mx_shard_H")
    view = library("core.utils.tensor_view").TensorView
    hidden, weight = random_mx("hidden", (128, 2, tokens), dtype), random_mx("weight", (128, 2, size), E2M1)
    bias = np.random.default_rng(7).standard_normal((128, -(-size // 512), 4)).astype(BF16)

    def kernel(words, scale, weight_words, weight_scale, bias):
        cores, core = nl.num_programs(), nl.program_id()
        tiles = words.shape[1] // cores
        own = slice(core * tiles, (core + 1) * tiles)
        words_sb = nl.ndarray((128, tiles, tokens), words.dtype)
        nisa.dma_copy(words_sb, words[:, own, :])
        scale_sb = nl.ndarray((128, tiles, tokens), nl.uint8)
        for quadrant in range(4):
            nisa.dma_copy(scale_sb[nl.ds(32 * quadrant, 4)], scale[nl.ds(4 * quadrant, 4), own, :])
        bias_sb = nl.ndarray(bias.shape, bias.dtype)
        nisa.dma_copy(bias_sb, bias)
        config = module.ProjConfig(H=1024, I=size, BxS=tokens, n_prgs=cores, prg_id=core)
        views = (view(each) for each in (words_sb, scale_sb, weight_words, weight_scale, bias_sb))
        return stored(module.gate_up_projection_mx_tp_shard_H(*views, config))

    run = nki.run(on_cores(kernel, cores), hidden.argument, hidden.scale, weight.argument, weight.scale, bias)
    expected = gate_up(hidden, weight, bias, cores or 1)
    sums = np.einsum("pkiq,pkbq->ib", weight.values, hidden.values)
    for tile in range(expected.shape[1]):
        rows = min(512, size - 512 * tile) // 4
        assert run.outputs[:rows, tile].tobytes() == expected[:rows, tile].tobytes()
        wide = sums[512 * tile : 512 * tile + 4 * rows].reshape(4, rows, tokens).transpose(1, 2, 0)
        wide = wide + bias[:rows, tile, np.newaxis].astype(np.float64)
        assert relative_error(run.outputs[:rows, tile], wide) < 2**-8
    assert bool(run.warnings) is (size == 640)
    assert all("bytes are read" in each if cores == 2 else "bytes are returned" in each for each in run.warnings)
    assert run.standing.word == "inferred"


def down(state: np.ndarray, weight: Mx, bias: np.ndarray, cores: int) -> np.ndarray:
    """Write down_projection_mx_shard_H out: [B, H]."""
    tiles, tokens, columns = state.shape[1], state.shape[2], weight.words.shape[2]
    missing = 128 - len(weight.words)
    padded = Mx(
        *(
            np.concatenate([each, np.zeros((missing // (8 if k == 1 else 1), *each.shape[1:]), each.dtype)])
            for k, each in enumerate((weight.words, weight.scale, weight.elements, weight.values))
        )
    )
    moved = quantised(state.reshape(128, -1), (128, tiles, tokens))
    step = 1024 if columns // cores % 1024 == 0 else 512
    out = np.zeros((tokens, columns), BF16)
    for first in range(0, columns, step):
        part = slice(first, first + step)
        own = [moved[:, k] for k in range(tiles)], [padded[:, k, part] for k in range(tiles)]
        out[:, part] = combine(chain(*own), bias[:, part], "add")
    return out


@pytest.mark.parametrize("cores", [None, 2])
@pytest.mark.parametrize(("size", "tokens", "shuffles"), [(512, 8, True), (640, 4, False), (256, 4, True)])
def test_nki_down_projection_mx_shard_h(cores, size, tokens, shuffles):
    """The bias comes to all partitions by nc_stream_shuffle or by a matmul with ones."""
    module = library(f"{MLP}.down_projection_mx_shard_H")
    rng = np.random.default_rng(8)
    columns, tiles, rows = 1024, -(-size // 512), 128 if size > 512 else size // 4
    state, bias = rng.standard_normal((128, tiles, tokens, 4)).astype(BF16), rng.standard_normal((1, columns))
    bias = bias.astype(BF16)
    if size % 512:
        state[size % 512 // 4 :, -1] = 0
    weight = random_mx("down", (rows, tiles, columns), E2M1)

    def kernel(state, words, scale, bias):
        cores, core = nl.num_programs(), nl.program_id()
        state_sb = nl.ndarray(state.shape, state.dtype)
        nisa.dma_copy(state_sb, state)
        bias_sb = nl.ndarray((1, columns // cores), bias.dtype)
        nisa.dma_copy(bias_sb, bias[:, nl.ds(core * columns // cores, columns // cores)])
        config = module.ProjConfig(
            H=columns, I=size, BxS=tokens, n_prgs=cores, prg_id=core, use_stream_shuffle_broadcast=shuffles
        )
        return stored(module.down_projection_mx_shard_H(state_sb, words, scale, bias_sb, config)[0:tokens])

    run = nki.run(on_cores(kernel, cores), state, weight.argument, weight.scale, bias)
    result = run.outputs[:, 0]
    assert result.tobytes() == down(state, weight, bias, cores or 1).tobytes()
    values = quantised(state.reshape(128, -1), (128, tiles, tokens)).values[:rows]
    wide = np.einsum("ptbq,pthq->bh", values, weight.values) + bias.astype(np.float64)
    assert relative_error(result, wide) < 2**-7
    assert not run.warnings


# The vendor's MXFP4 mixture of experts for decode: bit for bit as its instructions written out, and near float64.
#
# Hidden states come as [T, 4, H / 512, 128]: element q of the x4 word at partition p of tile h. Weights of gate and up
# are [128, 2, H / 512, I], I in the order tile, q, partition; those of down are [I / 4 or 128, I / 512, H].


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

MOE = "core.moe.moe_tkg"


@dataclass(frozen=True, eq=False)
class Experts:
    """Experts' weights and biases.

    Attributes
    ----------
    gate_up, down : weights of each.
    bias : [E, I / 4 or 128, 2, I / 512, 4] BF16, of gate and of up.
    down_bias : [E, H] BF16.
    """

    gate_up: list[Mx]
    down: list[Mx]
    bias: np.ndarray
    down_bias: np.ndarray

    @classmethod
    def random(cls, count: int, hidden: int, size: int) -> "Experts":
        rng = np.random.default_rng(size)
        rows, tiles = 128 if size > 512 else size // 4, -(-size // 512)
        gate_up = [random_mx(f"gate up {e}", (128, 2, hidden // 512, size), E2M1, 0.05) for e in range(count)]
        down = [random_mx(f"down {e}", (rows, tiles, hidden), E2M1, 0.05) for e in range(count)]
        bias, down_bias = rng.standard_normal((count, rows, 2, tiles, 4)), rng.standard_normal((count, hidden))
        return cls(gate_up, down, (bias / 2).astype(BF16), (down_bias / 2).astype(BF16))

    def arguments(self) -> list[Any]:
        """Weights, scales and biases of all, as kernels take them."""
        found: list[Any] = []
        for each, bias in ((self.gate_up, self.bias), (self.down, self.down_bias)):
            words = np.stack([mx.words for mx in each])
            found += [nki.host_tensor(words, "float4_e2m1fn_x4"), np.stack([mx.scale for mx in each]), bias]
        return found

    def wide(self, e: int, hidden: Mx) -> np.ndarray:
        """Return an expert's result [T, H] in float64, without quantisation in between."""
        rows, tiles = self.down[e].words.shape[:2]
        sums = np.einsum("phtq,pkhiq->kti", hidden.values, self.gate_up[e].values)
        gate, up = (
            sums[k].reshape(-1, tiles, 4, rows).transpose(0, 3, 1, 2) + self.bias[e][:, k].astype(np.float64)
            for k in range(2)
        )
        state = gate / (1 + np.exp(-gate)) * up
        return np.einsum("tpnq,pnhq->th", state, self.down[e].values) + self.down_bias[e].astype(np.float64)

    def state(self, e: int, hidden: Mx, tile: int) -> Mx:
        """Write gate, up and quantisation out, for 512 or all of I: [rows, T]."""
        rows, tokens = len(self.down[e].words), hidden.words.shape[2]
        found = []
        for k in range(2):
            out = np.zeros((rows, tokens, 4), BF16)
            for q in range(4):
                columns = slice(512 * tile + q * rows, 512 * tile + (q + 1) * rows)
                tiles = range(hidden.words.shape[1])
                out[..., q] = chain([self.gate_up[e][:, k, h, columns] for h in tiles], [hidden[:, h] for h in tiles])
            found.append(combine(out, self.bias[e][:, k, tile, np.newaxis], "add"))
        gate = trainium3.activation(found[0].reshape(rows, -1), "silu", bias=None, dtype=BF16)
        product = combine(gate.reshape(found[0].shape), found[1], "multiply")
        return quantised(product.reshape(rows, -1), (rows, tokens))


def hidden_states(tokens: int, hidden: int) -> tuple[np.ndarray, Mx]:
    """Return hidden states [T, H], and as the kernels quantise them, [128, H / 512, T]."""
    x = np.random.default_rng(tokens).standard_normal((tokens, hidden)).astype(BF16)
    swizzled = x.reshape(tokens, 4, hidden // 512, 128).transpose(3, 2, 0, 1)
    return x, quantised(np.ascontiguousarray(swizzled).reshape(128, -1), (128, hidden // 512, tokens))


def run_moe(cores, all_experts, x, experts, affinities, indices=None, options=None, **more) -> nki.Run:
    """Run the mixture: all experts with affinities in SBUF, or in HBM where it is dynamic; or the selected experts."""
    module = library(f"{MOE}.{'all' if all_experts else 'selective'}_expert_mx_impl")
    parameters = library("core.mlp.mlp_parameters")
    types = library("core.utils.common_types")
    view = library("core.utils.tensor_view").TensorView

    def kernel(x, weight, scale, bias, down_weight, down_scale, down_bias, affinities, indices):
        output = nl.ndarray(x.shape, nl.bfloat16, buffer=nl.shared_hbm)
        if all_experts and not more:
            in_hbm, affinities = affinities, nl.ndarray(affinities.shape, affinities.dtype)
            nisa.dma_copy(affinities, in_hbm)
        config = parameters.MLPParameters(
            x, view(weight), view(weight), view(down_weight),
            gate_proj_bias_tensor=bias, up_proj_bias_tensor=bias, down_proj_bias_tensor=down_bias,
            quantization_type=types.QuantizationType.MX, gate_w_scale=scale, up_w_scale=scale, down_w_scale=down_scale,
            activation_fn=types.ActFnType.SiLU, shard_on_h_disabled=not all_experts,
            expert_params=parameters.MLPExpertParameters(
                affinities, indices, None, types.ExpertAffinityScaleMode.POST_SCALE),
        )  # fmt: skip
        if all_experts:
            return module._all_expert_moe_tkg_mx(config, output, **more)
        return module._selective_expert_moe_tkg_mxfp4(config, output)

    own = nki.jit(kernel) if cores is None else nki.jit(kernel)[cores]
    return nki.run(own, x, *experts.arguments(), affinities, indices, options=options)


def all_written_out(hidden: Mx, experts: Experts, affinities: np.ndarray, cores: int) -> np.ndarray:
    """Write the mixture of all experts out: with two cores each has half of the tiles of I, and half of the bias."""
    columns, parts = experts.down_bias.shape[1], []
    for core in range(cores):
        total = None
        for e, down in enumerate(experts.down):
            tiles = np.array_split(np.arange(down.words.shape[1]), cores)[core]
            psum = chain([experts.state(e, hidden, tile) for tile in tiles], [down[:, tile] for tile in tiles])
            bias = np.where(
                np.arange(columns) * cores // columns == core, experts.down_bias[e : e + 1], np.zeros((), BF16)
            )
            scaled = trainium3.tensor_scalar(
                combine(psum, bias, "add"), "multiply", np.ascontiguousarray(affinities[:, e : e + 1]), dtype=BF16
            )
            total = scaled if total is None else combine(total, scaled, "add")
        parts.append(total)
    return parts[0] if cores == 1 else combine(*parts, "add")


@WARNS
@pytest.mark.parametrize(
    ("cores", "tokens", "hidden", "size"),
    [(None, 32, 512, 512), (None, 32, 512, 128), (None, 32, 1024, 1024), (2, 32, 512, 1024)],
)
def test_nki_all_expert_mx(cores, tokens, hidden, size):
    """With I below 512 unwritten words are multiplied by weights of 0."""
    (x, moved), experts = hidden_states(tokens, hidden), Experts.random(2, hidden, size)
    affinities = np.random.default_rng(3).random((tokens, 2), np.float32)
    run = run_moe(cores, True, x, experts, affinities)
    assert run.outputs.tobytes() == all_written_out(moved, experts, affinities, cores or 1).tobytes()
    wide = sum(experts.wide(e, moved) * affinities[:, e : e + 1] for e in range(2))
    assert relative_error(run.outputs, wide) < 0.05
    assert bool(run.warnings) is (size < 512)


@WARNS
def test_nki_all_expert_mx_on_two_cores_that_share_tokens():
    (x, moved), experts = hidden_states(64, 512), Experts.random(2, 512, 512)
    affinities = np.random.default_rng(3).random((64, 2), np.float32)
    run = run_moe(2, True, x, experts, affinities)
    assert run.outputs.tobytes() == all_written_out(moved, experts, affinities, 1).tobytes()


@WARNS
def test_nki_all_expert_mx_dynamic():
    """A loop whose end is read at run time leaves out blocks without tokens; rows of other tokens are not written."""
    (x, moved), experts = hidden_states(64, 512), Experts.random(1, 512, 1024)
    rng = np.random.default_rng(4)
    affinities = (rng.random((64, 1)) * (rng.random((64, 1)) < 0.4)).astype(BF16)
    run = run_moe(2, True, x, experts, affinities, is_all_expert_dynamic=True, block_size=16)
    expected = all_written_out(moved, experts, affinities.astype(np.float32), 2)
    rows = affinities[:, 0] != 0
    assert 16 < rows.sum() < 48
    assert run.outputs[rows].tobytes() == expected[rows].tobytes()
    assert np.isnan(run.outputs[~rows].astype(np.float32)).all()


def selected_written_out(
    hidden: Mx, experts: Experts, affinities: np.ndarray, indices: np.ndarray, cores: int
) -> np.ndarray:
    """Write the mixture of selected experts out: each core has a part of a token's experts; biases come at the end."""
    count, columns = affinities.shape[1], experts.down_bias.shape[1]
    rows = []
    for t, chosen in enumerate(indices):
        parts = []
        for own in np.array_split(chosen, cores):
            total = None
            for e in own:
                tiles = range(experts.down[e].words.shape[1])
                states = [experts.state(e, hidden[:, :, t : t + 1], tile) for tile in tiles]
                out = np.concatenate(
                    [
                        chain([experts.down[e][:, n, first : first + 128] for n in tiles], states)
                        for first in range(0, columns, 128)
                    ],
                    axis=1,
                )
                share = float(affinities[t, e])
                if total is None:
                    total = trainium3.tensor_scalar(out, "multiply", share, dtype=BF16)
                else:
                    total = trainium3.scalar_tensor_tensor(out, "multiply", share, "add", total, dtype=BF16)
            parts.append(total)
        total = parts[0] if cores == 1 else combine(*parts, "add")
        share = np.ascontiguousarray(affinities[t : t + 1].astype(BF16).T)
        bias = [
            trainium3.nc_matmul(
                np.ascontiguousarray(experts.down_bias[:count, first : first + 128]), share, dst_dtype=np.float32
            )
            for first in range(0, columns, 128)
        ]
        sums = trainium3.tensor_tensor(total, np.concatenate(bias, axis=1), "add", dtype=BF16)
        rows.append(sums.T.reshape(-1))
    return np.stack(rows)


@WARNS
@pytest.mark.parametrize(
    ("cores", "tokens", "hidden", "size", "chosen"),
    [
        (None, 1, 512, 512, 1),
        (2, 5, 512, 512, 4),
        (None, 3, 1024, 256, 2),
        pytest.param(None, 18, 1024, 1024, 2, marks=pytest.mark.deep),
    ],
)
def test_nki_selective_expert_mx(cores, tokens, hidden, size, chosen):
    """With I below 512 the kernel multiplies numbers that nothing has written by weights of 0: new memory must be 0."""
    (x, moved), experts = hidden_states(tokens, hidden), Experts.random(4, hidden, size)
    rng = np.random.default_rng(5)
    indices = np.argsort(rng.random((tokens, 4)), axis=1)[:, :chosen].astype(np.int32)
    affinities = np.zeros((tokens, 4), np.float32)
    np.put_along_axis(affinities, indices, rng.random((tokens, chosen), np.float32), axis=1)
    run = run_moe(cores, False, x, experts, affinities, indices, nki.Options(new_memory="zero"))
    expected = selected_written_out(moved, experts, affinities, indices, cores or 1)
    assert run.outputs.tobytes() == expected.tobytes()
    wide = sum(experts.wide(e, moved) * affinities[:, e : e + 1] for e in range(4))
    assert relative_error(run.outputs, wide) < 0.05
    assert all("gate_up_projection_mx_shard_H.py" in each for each in run.warnings)


# The vendor's router_topk: indices as numpy's argsort gives them, affinities near float64, one mode bit for bit.


with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

EXPERTS, CHOSEN = 16, 4

POST = {"router_pre_norm": False}
MODES: dict[str, tuple[int | None, int, dict[str, Any]]] = {
    "affinities of all": (None, 32, {}),
    "normalised": (None, 32, {"norm_topk_prob": True}),
    "one-hot scatter": (None, 32, POST),
    "two tiles": (None, 160, POST),
    "indirect scatter": (None, 32, POST | {"use_indirect_dma_scatter": True}),
    "column tiles, sigmoid": (
        None, 32, POST | {"use_indirect_dma_scatter": True, "use_column_tiling": True, "act": "SIGMOID"}),
    "bias by matmul": (None, 32, POST | {"return_eager_affi": True, "use_PE_broadcast_w_bias": True}),
    "FP32": (None, 8, {"dtype": np.float32}),
    "from SBUF": (None, 32, POST | {"x_sb_layout": 1}),
    "from and to SBUF": (None, 32, POST | {"x_sb_layout": 2, "to_sbuf": True}),
    "two cores": (2, 32, POST),
    "two cores, tokens shared": (2, 64, POST | {"shard_on_tokens": True}),
    "two cores, indirect": (2, 64, POST | {"shard_on_tokens": True, "use_indirect_dma_scatter": True}),
    "two cores, SBUF": (
        2, 64, {"norm_topk_prob": True, "shard_on_tokens": True, "to_sbuf": True, "return_eager_affi": True}),
}  # fmt: skip


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def affinities(logits: np.ndarray, indices: np.ndarray, function, *, pre: bool, norm: bool) -> np.ndarray:
    """Return the affinities in float64, 0 for experts that are not chosen."""
    if pre and not norm:
        return function(logits)
    chosen = np.take_along_axis(function(logits) if pre else logits, indices, axis=1)
    found = np.zeros_like(logits)
    np.put_along_axis(found, indices, chosen / chosen.sum(axis=1, keepdims=True) if pre else function(chosen), axis=1)
    return found


def route(cores: int | None, tokens: int, more: dict[str, Any]) -> tuple[nki.Run, np.ndarray, np.ndarray, np.ndarray]:
    """Run the router; return the run with x [T, H], w [H, E] and bias [1, E]."""
    module = library("core.router_topk.router_topk")
    functions = library("core.utils.common_types").RouterActFnType
    more = dict(more)
    function, dtype = functions[more.pop("act", "SOFTMAX")], more.pop("dtype", BF16)
    to_sbuf, layout = more.pop("to_sbuf", False), more.pop("x_sb_layout", None)
    rng = np.random.default_rng(tokens)
    x, w = rng.standard_normal((tokens, 512)).astype(dtype), rng.standard_normal((512, EXPERTS)).astype(dtype)
    bias = rng.standard_normal((1, EXPERTS)).astype(np.float32)

    def kernel(x, w, bias):
        region = nl.sbuf if to_sbuf else nl.shared_hbm
        logits = nl.ndarray((tokens, EXPERTS), nl.float32, buffer=nl.shared_hbm)
        found = nl.ndarray((tokens, EXPERTS), nl.float32, buffer=region)
        indices = nl.ndarray((tokens, CHOSEN), nl.uint32, buffer=region)
        if layout is not None:
            x = module.router_topk_input_x_load(x, hbm_layout=1, sb_layout=layout)
        results = module.router_topk(
            x, w, bias, logits, found, indices, function, CHOSEN,
            x_hbm_layout=int(layout is not None), x_sb_layout=layout or 0, **more,
        )  # fmt: skip
        for k, each in enumerate(results):
            if nl.is_sbuf(each):
                results[k] = nl.ndarray(each.shape, each.dtype, buffer=nl.shared_hbm)
                nisa.dma_copy(results[k], each)
        return results

    own = nki.jit(kernel) if cores is None else nki.jit(kernel)[cores]
    return nki.run(own, np.ascontiguousarray(x.T) if layout is None else x, w, bias), x, w, bias


@pytest.mark.parametrize("mode", MODES)
def test_nki_router_topk(mode):
    cores, tokens, more = MODES[mode]
    run, x, w, bias = route(cores, tokens, more)
    logits, indices, found, *eager = run.outputs
    expected = x.astype(np.float64) @ w.astype(np.float64) + bias
    assert np.abs(logits - expected).max() < 5e-5
    assert (indices.reshape(tokens, CHOSEN) == np.argsort(-expected, axis=1, kind="stable")[:, :CHOSEN]).all()
    function = sigmoid if more.get("act") == "SIGMOID" else softmax
    pre, norm = more.get("router_pre_norm", True), more.get("norm_topk_prob", False)
    wide = affinities(expected, indices.reshape(tokens, CHOSEN), function, pre=pre, norm=norm)
    assert np.abs(found - wide).max() < 5e-6
    if eager:
        assert (eager[0].reshape(tokens, CHOSEN) == np.take_along_axis(found, indices.astype(int), axis=1)).all()
    assert not run.warnings


def test_nki_router_topk_written_out():
    """Logits, indices and affinities of the indirect scatter, instruction after instruction."""
    run, x, w, bias = route(*MODES["indirect scatter"])
    psum = None
    for k in range(0, 512, 128):
        psum = trainium3.nc_matmul(
            np.ascontiguousarray(x.T[k : k + 128]), w[k : k + 128],
            dst=psum, dst_dtype=np.float32, psum_accumulate_flag=3 if psum is None else 6,
        )  # fmt: skip
    logits = trainium3.tensor_tensor(psum, np.repeat(bias, len(x), axis=0), "add")
    largest = trainium3.max8(logits)
    indices = trainium3.nc_find_index8(logits, largest, dtype=np.uint32)[:, :CHOSEN]
    chosen = np.ascontiguousarray(largest[:, :CHOSEN])
    negated = trainium3.tensor_reduce(chosen, "max", negate=True)
    powers, total = trainium3.activate2(
        chosen, "exp", "multiply", "add", 1.0, negated, reduce_op="add", reduce_cmd="reset_reduce"
    )
    shares = trainium3.tensor_scalar(powers, "multiply", trainium3.reciprocal(total[:, np.newaxis]))
    found = np.zeros_like(logits)
    np.put_along_axis(found, indices.astype(int), shares, axis=1)
    for result, expected in zip(run.outputs, (logits, indices, found), strict=True):
        assert (result.dtype, result.tobytes()) == (expected.dtype, expected.tobytes())
