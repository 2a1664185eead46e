"""Instructions of kernels on RTL units: golden's bits, the units that gave them, and the instructions that no unit takes."""

from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from rich.console import Console

from bitpath.golden import nki
from bitpath.sim.flows.nki_rtl import compare
from bitpath.verif.trainium3.core import stages

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

    from bitpath.verif.nki.kernels import matmuls, norms
    from bitpath.verif.nki.kernels.tiles import load_rows, psum, sbuf, store_rows

BF16 = np.dtype(ml_dtypes.bfloat16)


@nki.jit
def copied(x):
    return store_rows(load_rows(x), x.shape[0])


@nki.jit
def mx_product(a, b, dtype):
    """Quantise BF16 a [128, 4 M] and b [128, 4 N] to MX, and multiply them."""
    operands = []
    for each in (a, b):
        words, scale = (sbuf(128, each.shape[1] // 4, dtype=kind) for kind in (dtype, nl.uint8))
        nisa.quantize_mx(dst=words, src=load_rows(each), dst_scale=scale)
        operands.append((words, scale))
    (left, left_scale), (right, right_scale) = operands
    made = psum(left.shape[1], right.shape[1])
    nisa.nc_matmul_mx(made, left, right, left_scale, right_scale)
    result = sbuf(*made.shape)
    nisa.tensor_copy(dst=result, src=made)
    return store_rows(result, made.shape[0])


def numbers(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def on_rtl(kernel, *args):
    """Return the count of instructions and of mismatches by opcode and unit, and how many of each opcode no unit takes."""
    executed = []
    nki.run(kernel, *args, watch=executed.append)
    rows, left_out = compare(executed, "verilator", Console(quiet=True))
    assert all(each.values for each in rows)
    return {(each.opcode, each.unit): (each.count, each.mismatches) for each in rows}, left_out


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_rmsnorm_quant_on_rtl():
    """Rows of the project's kernel: root, scales and codes of FP8; the sum over rows of squares is ScalarE's own."""
    found, left_out = on_rtl(norms.rmsnorm_quant, numbers(1, 32, 64, dtype=BF16), numbers(2, 1, 64, dtype=BF16))
    assert found == {
        ("dma_copy", "dma_engine"): (4, 0),
        ("activation_reduce", "activation2_lane"): (1, 0),
        ("activation", "activation2_lane + reciprocal_square_root"): (1, 0),
        ("nc_matmul", "core_array"): (1, 0),
        ("scalar_tensor_tensor", "engine_lane"): (1, 0),
        ("tensor_scalar", "engine_lane"): (2, 0),
        ("reciprocal", "reciprocal"): (1, 0),
    }
    assert left_out == Counter(memset=2, tensor_scalar_reduce=1, activation=1)


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_accumulation_on_rtl():
    """Two products of 128 rows, the second added in PSUM."""
    found, left_out = on_rtl(matmuls.tiled, *(numbers(seed, 256, 40, dtype=BF16) for seed in (3, 4)))
    assert found == {
        ("dma_copy", "dma_engine"): (5, 0),
        ("nc_matmul", "core_array"): (1, 0),
        ("nc_matmul", "core_array + psum"): (1, 0),
    }
    assert left_out == Counter(tensor_copy=1)


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("dtype", [nl.float8_e4m3fn_x4, nl.float8_e5m2_x4], ids=str)
def test_nki_mx_matmul_on_rtl(dtype):
    """QuantizeMX and an MX product of one tile of the whole array."""
    sides = [numbers(seed, 128, 4 * 32, dtype=BF16) for seed in (5, 6)]
    found, left_out = on_rtl(mx_product, *sides, dtype)
    assert found == {
        ("dma_copy", "dma_engine"): (3, 0),
        ("quantize_mx", "quantize_mx"): (2, 0),
        ("nc_matmul_mx", "tensor_engine"): (1, 0),
    }
    assert left_out == Counter(tensor_copy=1)


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_casts_of_integers_on_rtl():
    """INT32 to BF16 on the way out."""

    @nki.jit
    def cast(x):
        return store_rows(load_rows(x), x.shape[0], nl.bfloat16)

    found, left_out = on_rtl(cast, np.arange(-(2**24) - 9, 2**24, 999_983, dtype=np.int32)[:32].reshape(4, 8))
    assert found == {("dma_copy", "dma_engine"): (2, 0)}
    assert not left_out


def test_nki_wrong_bits_of_rtl_are_counted(monkeypatch):
    """One byte of a copy differs."""
    right = numbers(7, 4, 8)

    def wrong(own, config, data, dtype):
        found = data.reshape(-1).copy()
        found[3] = -found[3]
        return found

    monkeypatch.setattr(stages, "move", wrong)
    executed = []
    nki.run(copied, right, watch=executed.append)
    rows, left_out = compare(executed, "verilator", Console(quiet=True))
    assert [(each.opcode, each.count, each.values, each.mismatches) for each in rows] == [("dma_copy", 2, 64, 2)]
    assert not left_out


def test_nki_tf32_is_left_out():
    """A cast to TF32 gives words of FP32, which a copy of bits would not round."""

    @nki.jit
    def cast(x):
        return store_rows(load_rows(x), x.shape[0], nl.tfloat32)

    executed = []
    nki.run(cast, numbers(8, 4, 8), watch=executed.append)
    rows, left_out = compare(executed[1:], "verilator", Console(quiet=True))
    assert rows == []
    assert left_out == Counter(dma_copy=1)
