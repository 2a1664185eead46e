"""The vendor's tutorials run as they are: against instructions written out bit for bit, and against float64."""

import sys
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.golden.nki.machine.core import TARGET
from bitpath.verif.nki.checkouts import kernel_module

BF16 = ml_dtypes.bfloat16
EXAMPLES = "aws-neuron-sdk/nki/examples"


def same(result: np.ndarray, expected: np.ndarray) -> bool:
    return result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


def normal(seed: str, *shape: int, dtype=np.float32) -> np.ndarray:
    return np.random.default_rng(list(seed.encode())).standard_normal(shape).astype(dtype)


def product(lhs: np.ndarray, rhs: np.ndarray, blocks: int = 1) -> np.ndarray:
    """Write a product [K, M] by [K, N] out: rows of 128 summed in PSUM, blocks of K added in the operands' dtype."""
    total = np.zeros((lhs.shape[1], rhs.shape[1]), lhs.dtype) if blocks > 1 else None
    for block in np.split(np.arange(len(lhs)), blocks):
        tiles = []
        for rows in np.split(lhs[block], lhs.shape[1] // 128 or 1, axis=1):
            parts = []
            for columns in np.split(rhs[block], rhs.shape[1] // 512, axis=1):
                psum = None
                for first in range(0, len(block), 128):
                    psum = trainium3.nc_matmul(
                        np.ascontiguousarray(rows[first : first + 128]),
                        np.ascontiguousarray(columns[first : first + 128]),
                        dst=psum,
                        dst_dtype=np.float32,
                        psum_accumulate_flag=3 if psum is None else 6,
                    )
                parts.append(psum)
            tiles.append(np.concatenate(parts, axis=1))
        psum = np.concatenate(tiles)
        if total is not None:
            total = np.concatenate(
                [
                    trainium3.tensor_tensor(np.ascontiguousarray(a), np.ascontiguousarray(b), "add", dtype=lhs.dtype)
                    for a, b in zip(np.split(total, len(total) // 128), np.split(psum, len(psum) // 128), strict=True)
                ]
            )
    return psum.astype(lhs.dtype) if total is None else total


@pytest.mark.parametrize(
    ("name", "shape", "more", "blocks"),
    [
        ("nki_matmul_basic_", (128, 64, 512), (), 1),
        ("nki_matmul_tiled_", (256, 128, 512), (), 1),
        ("nki_matmul_hoist_load_", (256, 128, 512), (), 1),
        ("nki_matmul_block_free_dimension_", (128, 256, 1024), (), 1),
        ("nki_matmul_fully_optimized_", (256, 128, 512), (1, 1, 1), 2),
    ],
)
@pytest.mark.parametrize("cores", [None, 2])
def test_nki_matrix_multiplication(name, shape, more, blocks, cores):
    module = kernel_module("matrix_multiplication_nki_kernels", f"{EXAMPLES}/matrix_multiplication")
    k, m, n = shape
    lhs, rhs = normal("lhs", k, m, dtype=BF16), normal("rhs", k, n, dtype=BF16)
    kernel = getattr(module, name)
    run = nki.run(kernel if cores is None else kernel[cores], lhs, rhs, *more)
    assert same(run.outputs, product(lhs, rhs, blocks))
    expected = lhs.astype(np.float64).T @ rhs.astype(np.float64)
    assert np.abs(run.outputs.astype(np.float64) - expected).max() <= abs(expected).max() * 2**-8 * blocks
    assert not run.warnings


def mamba(delta, u, a, b, c) -> np.ndarray:
    """Write the instructions of mamba_v1 out, for one batch and 128 channels."""
    total = np.zeros_like(delta)
    for state in range(a.shape[1]):
        row_b, row_c = (np.repeat(each[state : state + 1], len(delta), axis=0) for each in (b, c))
        decay = trainium3.activation(delta, "exp", scale=np.ascontiguousarray(a[:, state : state + 1]), bias=None)
        fed = trainium3.tensor_tensor(trainium3.tensor_tensor(delta, u, "multiply"), row_b, "multiply")
        states = trainium3.tensor_tensor_scan(decay, fed, 0.0, "multiply", "add")
        total = trainium3.tensor_tensor(total, trainium3.tensor_tensor(states, row_c, "multiply"), "add")
    return total


@pytest.mark.parametrize("name", ["mamba_v1", "mamba_v2", "mamba_v3"])
def test_nki_fused_mamba(name):
    module = kernel_module("mamba_nki_kernels", f"{EXAMPLES}/fused_mamba")
    states, length = 2, 512
    delta, u = abs(normal("delta", 1, 128, length)), normal("u", 1, 128, length)
    a, b, c = -abs(normal("a", 128, states)), normal("b", 1, states, length), normal("c", 1, states, length)
    run = nki.run(getattr(module, name), delta, u, a, b, c)
    assert same(run.outputs[0], mamba(delta[0], u[0], a, b[0], c[0]))
    state, expected = np.zeros((128, states)), np.zeros((128, length))
    wide_delta, wide_u, wide_a, wide_b, wide_c = (each.astype(np.float64) for each in (delta[0], u[0], a, b[0], c[0]))
    for t in range(length):
        fed = wide_delta[:, t, None] * wide_u[:, t, None] * wide_b[:, t]
        state = np.exp(wide_delta[:, t, None] * wide_a) * state + fed
        expected[:, t] = (state * wide_c[:, t]).sum(axis=1)
    assert np.abs(run.outputs[0] - expected).max() < 1e-5 * abs(expected).max()
    assert not run.warnings


def test_nki_transpose2d():
    module = kernel_module("transpose2d_nki_kernels", f"{EXAMPLES}/transpose2d")
    x = np.arange(60, dtype=np.int8).reshape(5, 12)
    run = nki.run(module.tensor_transpose2D_kernel_, x, (3, 4))
    assert same(run.outputs, x.reshape(5, 3, 4).transpose(0, 2, 1).reshape(5, 12))
    assert run.standing.word == "documented"


def test_nki_average_pool2d():
    module = kernel_module("average_pool2d_nki_kernels", f"{EXAMPLES}/average_pool2d")
    x = normal("pool", 4, 8, 8, dtype=np.float16)
    run = nki.run(module.tensor_avgpool_kernel, x, 2)
    windows = x.reshape(4, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(4, 16, 4)
    sums = [trainium3.tensor_reduce(np.ascontiguousarray(windows[:, k]), "add", dtype=np.float16) for k in range(16)]
    means = trainium3.tensor_scalar(np.concatenate(sums, axis=1), "multiply", 0.25, dtype=np.float16)
    assert same(run.outputs, means.reshape(4, 4, 4))
    assert np.abs(run.outputs - module.np_average_pool_2D(x.astype(np.float64), 2)).max() < 2e-3


def test_nki_tensor_addition(monkeypatch):
    """The tutorial's module names an old platform in the environment, which would be an error."""
    monkeypatch.setenv(TARGET, "trn3")
    module = kernel_module("tensor_addition_nki_kernels", f"{EXAMPLES}/tensor_addition")
    a, b = normal("a", 128, 512), normal("b", 128, 512)
    assert same(nki.run(module.nki_tensor_add, a, b, options=nki.Options(target="trn3")).outputs, a + b)


@pytest.mark.filterwarnings("ignore::bitpath.golden.nki.NkiWarning")
def test_nki_custom_rmsnorm(monkeypatch):
    """The kernel's last rows are not written in its second chunk, and not stored."""
    torch, layers = ModuleType("torch"), ModuleType("torch.nn")
    torch.nn, layers.Module = layers, object
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.nn", layers)
    module = kernel_module("nki_custom_rmsnorm", "nki-moe")
    x, weight = normal("x", 160, 512), normal("weight", 512)
    run = nki.run(module.nki_rmsnorm_kernel, x, weight, 1e-6)
    chunks = []
    for rows in (x[:128], x[128:]):
        squares = trainium3.tensor_reduce(trainium3.tensor_tensor(rows, rows, "multiply"), "add")
        mean = trainium3.tensor_scalar(squares, "multiply", 1 / 512, op1="add", operand1=1e-6)
        scaled = trainium3.tensor_scalar(rows, "multiply", trainium3.activation(mean, "rsqrt", bias=None))
        chunks.append(trainium3.tensor_tensor(scaled, np.repeat(weight[np.newaxis], len(rows), axis=0), "multiply"))
    assert same(run.outputs, np.concatenate(chunks))
    expected = module.numpy_rmsnorm(x.astype(np.float64), weight.astype(np.float64), 1e-6)
    assert np.abs(run.outputs - expected).max() < 1e-5
    assert len(run.warnings) == 2
