"""MXFP4 projections of the vendor's MLP for decode: bit for bit as their instructions written out, and near float64."""

import numpy as np
import pytest

from bitpath.golden import nki
from bitpath.verif.nki.checkouts import library
from bitpath.verif.nki.mx_tensors import (
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


@pytest.mark.filterwarnings("ignore::bitpath.golden.nki.NkiWarning")
@pytest.mark.parametrize("cores", [None, 2])
@pytest.mark.parametrize(("size", "tokens", "dtype"), [(512, 8, E4M3FN), (640, 4, E5M2)])
def test_nki_gate_up_projection_mx_shard_h(cores, size, tokens, dtype):
    """On two cores rows beyond I of the last tile are sent, and added, though nothing has written them."""
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
    assert all("gate_up_projection_mx_shard_H.py" in each for each in run.warnings)
    assert bool(run.warnings) is (cores == 2 and size == 640)
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
        return stored(module.down_projection_mx_shard_H(state_sb, words, scale, bias_sb, config))

    run = nki.run(on_cores(kernel, cores), state, weight.argument, weight.scale, bias)
    result = run.outputs[:tokens, 0]
    assert result.tobytes() == down(state, weight, bias, cores or 1).tobytes()
    values = quantised(state.reshape(128, -1), (128, tiles, tokens)).values[:rows]
    wide = np.einsum("ptbq,pthq->bh", values, weight.values) + bias.astype(np.float64)
    assert relative_error(result, wide) < 2**-7
    assert not run.warnings
