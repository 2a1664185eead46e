"""The vendor's router_topk: indices as numpy's argsort gives them, affinities near float64, one mode bit for bit."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.verif.nki.checkouts import library

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

BF16 = ml_dtypes.bfloat16
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
