"""The vendor's tutorials and MX deep dive as they are: written-out instructions, published logs, float64; the table of checkouts."""

import ast
import sys
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import nki, trainium3
from bitpath.golden.nki.machine.core import TARGET
from bitpath.sim.study.ledger.trainium import device_log
from bitpath.verif.nki.checkouts import TABLE, VARIABLE, checkout_folder, kernel_module
from bitpath.verif.nki.compositions import MATMULS, average_pool, mamba, normal, product, same

# The four MX kernels of the vendor's deep dive: the published device log, and instructions written out bit for bit.
#
# The log prints BF16 results and the vendor's FP32 sums, without the operands. Here the operands are chosen so that a kernel's
# sums are the printed ones: each sum is cut into digits of as few bits as the element format holds, one digit in each block of
# 32 elements. All partial sums are exact, and the write to BF16 PSUM decides.


BF16 = ml_dtypes.bfloat16
FOLDER = "aws-neuron-sdk/nki/deep-dives/src/mxfp-matmul"
DIGIT_BITS = {"float8_e5m2": 3, "float8_e4m3fn": 3, "float4_e2m1fn": 2}
"""Bits of a digit. E4M3FN holds four, but 1.875 * 2**8 is its NaN, and a block's largest number has the exponent 8."""
OFFLINE, ON_DEVICE = "kernel_offline_quantized_mx_matmul", "kernel_on_device_quantize_matmul_mx"
STRIDED, PACKED = (f"kernel_copy_strided_quantize_matmul_mx{end}" for end in ("", "_packed_scale"))
ROWS, COLUMNS, PARTITIONS = 128, 512, 128
CASES = [
    *[(OFFLINE, name, name) for name in DIGIT_BITS],
    *[(ON_DEVICE, left, right) for left in DIGIT_BITS for right in ("float8_e5m2", "float8_e4m3fn")],
    *[
        (kernel, name, copied)
        for kernel in (STRIDED, PACKED)
        for name in ("float8_e5m2", "float8_e4m3fn")
        for copied in (True, False)
    ],
]


def log_operands(bits):
    """Return [128, 128 * 4] of ones in the first element of each block, and digits of the log's sums, [128, 512 * 4]."""
    _, sums = device_log()
    stationary = np.zeros((PARTITIONS, ROWS, 4))
    moving = np.zeros((PARTITIONS, COLUMNS, 4))
    stationary[::8, :, 0] = 1
    left = sums.astype(np.float64)
    unit = 2.0 ** (np.floor(np.log2(np.abs(left))) + 1)
    for block in range(PARTITIONS // 8):
        unit = unit / (1 << bits)
        digit = np.trunc(left / unit) * unit
        moving[8 * block, : len(sums), 0] = digit
        left = left - digit
    assert not left.any()
    return (each.reshape(PARTITIONS, -1).astype(BF16) for each in (stationary, moving))


def random_operands(bits):
    rng = np.random.default_rng(bits)
    return (rng.standard_normal((PARTITIONS, 4 * num)).astype(BF16) for num in (ROWS, COLUMNS))


def quantised(tile, name, online):
    """Return elements [P, F, 4] and scales [P / 8, F]."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    if online:
        data, scale = trainium3.quantize_mx(tile, dtype, scale_rule="nki05")
    else:
        data, scale = trainium3.quantize_offline(tile.astype(np.float64), dtype)
    return data.reshape(PARTITIONS, -1, 4), scale.reshape(PARTITIONS // 8, -1)


def words(elements, name):
    """Return x4 words as the vendor's host code packs them: uint32, or of FP4 two elements a uint8."""
    packed = trainium3.pack_x4(elements.reshape(PARTITIONS, -1))
    return packed.view(np.uint8) if name == "float4_e2m1fn" else packed.view(np.uint32)


def interleaved(tile):
    """Return the matrix [4 P, F] from which a kernel makes [P, 4 F]: row ``j P + p`` holds the elements j of partition
    p."""
    return np.ascontiguousarray(tile.reshape(PARTITIONS, -1, 4).transpose(2, 0, 1).reshape(4 * PARTITIONS, -1))


def ran(kernel, name, other, operands):
    """Return the kernel's result, and that of the two quantisations and the matmul on golden."""
    left, right = operands
    own = getattr(kernel_module("mx_kernels", FOLDER), kernel)
    on_chip = kernel in (STRIDED, PACKED)
    second = other if kernel == ON_DEVICE else name
    a, b = quantised(left, name, on_chip), quantised(right, second, kernel != OFFLINE)
    if on_chip:
        args = (interleaved(left), interleaved(right), f"{name}_x4", other)
    elif kernel == OFFLINE:
        args = (words(a[0], name), a[1], words(b[0], name), b[1], f"{name}_x4")
    else:
        args = (words(a[0], name), a[1], right, f"{name}_x4", f"{second}_x4")
    made = nki.run(own, *args).outputs
    return made, trainium3.nc_matmul_mx(a[0], b[0], a[1], b[1], dst_dtype=BF16)


@pytest.mark.parametrize(("kernel", "name", "other"), CASES)
def test_nki_deep_dive_gives_the_device_log(kernel, name, other):
    """71 of 72 values on all rows; the 72nd differs by one BF16 unit, as the ledger's row R1 says."""
    bits = min(DIGIT_BITS[name], DIGIT_BITS.get(other, 3))
    made, expected = ran(kernel, name, other, log_operands(bits))
    device, sums = device_log()
    assert made.tobytes() == expected.tobytes()
    printed = made[:, : len(sums)].view(np.uint16)
    assert (printed == printed[0]).all()
    off = printed[0].astype(int) - device.astype(BF16).view(np.uint16)
    (exception,) = np.flatnonzero(off)
    assert abs(off[exception]) == 1
    assert not made[:, len(sums) :].astype(np.float32).any()


@pytest.mark.parametrize(("kernel", "name", "other"), CASES)
def test_nki_deep_dive_is_the_written_out_composition(kernel, name, other):
    made, expected = ran(kernel, name, other, random_operands(DIGIT_BITS[name]))
    assert (made.shape, made.dtype) == ((ROWS, COLUMNS), BF16)
    assert made.tobytes() == expected.tobytes()


# The table of public kernels: its files define their entries; another file warns.


@pytest.mark.parametrize("checkout", TABLE)
def test_nki_entries(checkout):
    for path, listed in TABLE[checkout]["files"].items():
        content = ast.parse((checkout_folder(checkout) / path).read_text()).body
        defined = {each.name for each in content if isinstance(each, ast.FunctionDef | ast.ClassDef)}
        assert defined.issuperset(listed["entries"]), path


def test_nki_another_file_warns(tmp_path, monkeypatch):
    """A changed kernel runs, and the report names it."""
    (tmp_path / "nki-moe").mkdir()
    (tmp_path / "nki-moe" / "changed.py").write_text("def kernel():\n    return 1\n")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    monkeypatch.setitem(TABLE["nki-moe"]["files"], "changed.py", {"entries": ["kernel"], "sha256": "0" * 64})
    with pytest.warns(UserWarning, match=f"changed.py is not the file of nki-moe at {TABLE['nki-moe']['commit']}"):
        assert kernel_module("changed", "nki-moe").kernel() == 1


# The vendor's tutorials run as they are: against instructions written out bit for bit, and against float64.


EXAMPLES = "aws-neuron-sdk/nki/examples"


@pytest.mark.parametrize(
    ("name", "shape", "more", "blocks"),
    MATMULS,
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
    assert same(run.outputs, average_pool(x))
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
