"""The vendor's MXFP4 mixture of experts for decode: bit for bit as its instructions written out, and near float64.

Hidden states come as [T, 4, H / 512, 128]: element q of the x4 word at partition p of tile h. Weights of gate and up
are [128, 2, H / 512, I], I in the order tile, q, partition; those of down are [I / 4 or 128, I / 512, H].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.mx_tensors import BF16, E2M1, Mx, chain, combine, quantised, random_mx, relative_error

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

MOE = "core.moe.moe_tkg"
pytestmark = pytest.mark.filterwarnings("ignore::bitpath.golden.nki.NkiWarning")


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


def test_nki_all_expert_mx_on_two_cores_that_share_tokens():
    (x, moved), experts = hidden_states(64, 512), Experts.random(2, 512, 512)
    affinities = np.random.default_rng(3).random((64, 2), np.float32)
    run = run_moe(2, True, x, experts, affinities)
    assert run.outputs.tobytes() == all_written_out(moved, experts, affinities, 1).tobytes()


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
