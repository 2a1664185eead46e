"""Instructions of kernels as programs of the joined core: by golden's model of the core in `make test`, in RTL in the deep tests."""

import ml_dtypes
import numpy as np
import pytest
from rich.console import Console

from bitpath.golden import nki
from bitpath.sim.flows import nki as flow
from bitpath.verif.trainium3.core.programs.instructions import Memories

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

    from bitpath.verif.nki.kernels import load_rows, psum, sbuf, store_rows

BF16 = np.dtype(ml_dtypes.bfloat16)
CORE = flow.UNITS.core


@nki.jit
def lanes(x, y):
    """Operators, copies and casts, functions, exponentials, QuantizeMX, random numbers; 40 partitions are two blocks."""
    left, right, made = load_rows(x), load_rows(y), sbuf(*x.shape)
    words, column, narrow = sbuf(*x.shape, dtype=nl.int16), sbuf(len(x), 1), sbuf(*x.shape, dtype=nl.bfloat16)
    nisa.tensor_scalar(made, left, nl.subtract, 2.0, reverse0=True, op1=nl.maximum, operand1=right[:, 0:1])
    nisa.tensor_tensor(made, left, right, nl.abs_max)
    nisa.tensor_copy(dst=narrow, src=left)
    nisa.tensor_copy(dst=words, src=left, engine=nisa.engine.scalar)
    nisa.tensor_scalar(words, words, nl.bitwise_or, 5)
    nisa.memset(dst=made, value=3.5)
    nisa.activation(dst=made, op=nl.rsqrt, data=made)
    nisa.tensor_copy(dst=made, src=right)
    nisa.activation_reduce(dst=made, op=nl.square, data=left, reduce_op=nl.add, reduce_res=column)
    nisa.activation(dst=made, op=nl.copy, data=narrow, scale=0.5, bias=column)
    nisa.activation(dst=made, op=nl.copy, data=left, scale=column)
    nisa.reciprocal(dst=made, data=left)
    nisa.exponential(
        dst=made, src=left, max_value=right[:, 0:1], reduce_res=column, reduce_cmd=nisa.reduce_cmd.reset_reduce
    )
    nisa.rand2(narrow, min=-1.0, max=2.5)
    nisa.dma_transpose(dst=sbuf(*x.shape[::-1]), src=x)
    nisa.dma_compute(made, [left, right], reduce_op=nl.add)
    return store_rows(made, len(x), nl.bfloat16)  # fmt: skip


LANES = {
    ("dma_copy", "core"): 3,
    ("tensor_scalar", "core"): 2,
    ("tensor_tensor", "core"): 1,
    ("tensor_copy", "core"): 3,
    ("memset", "core"): 1,
    ("activation_reduce", "core"): 1,
    ("activation", "core"): 2,
    ("reciprocal", "core"): 1,
    ("exponential", "core"): 1,
    ("rand2", "core"): 1,
    ("dma_compute", "core"): 1,
}


@nki.jit
def products(a, b, bias):
    """BF16 products of 32 rows, the second added in PSUM, a transpose, and an MX product of what QuantizeMX made."""
    left, right, large = load_rows(a), load_rows(b), load_rows(bias)
    made, turned = psum(a.shape[1], b.shape[1]), psum(*a.shape[::-1], dtype=nl.bfloat16)
    nisa.nc_matmul(made, left, right, accumulate=False)
    nisa.nc_matmul(made, left, right, accumulate=True)
    nisa.nc_matmul(psum(large.shape[1], b.shape[1]), large, load_rows(bias))
    nisa.nc_transpose(dst=turned, data=left)
    operands = []
    for each in (left, right):
        words, scale = (sbuf(32, each.shape[1] // 4, dtype=kind) for kind in (nl.float8_e4m3fn_x4, nl.uint8))
        nisa.quantize_mx(dst=words, src=each, dst_scale=scale)
        operands.append((words, scale))
    (one, one_scale), (two, two_scale) = operands
    nisa.nc_matmul_mx(psum(one.shape[1], two.shape[1]), one, two, one_scale, two_scale)
    result = sbuf(*made.shape)
    nisa.tensor_copy(dst=result, src=made)
    return store_rows(result, len(made))


PRODUCTS = {
    ("dma_copy", "core"): 5,
    ("nc_matmul", "core"): 2,
    ("nc_transpose", "core"): 1,
    ("quantize_mx", "core"): 2,
    ("nc_matmul_mx", "core"): 1,
    ("tensor_copy", "core"): 1,
}


def numbers(seed, *shape, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def compared(kernel, *args):
    """Return the count of instructions by opcode and unit, and those left out; no value may be wrong."""
    executed = []
    nki.run(kernel, *args, watch=executed.append)
    rows, left_out = flow.compare(executed, "verilator", Console(quiet=True), joined=True)
    assert all(each.values and not each.mismatches for each in rows), rows
    return {(each.opcode, each.unit): each.count for each in rows}, left_out


@pytest.fixture
def on_golden(monkeypatch):
    """Run programs on golden's model of the core."""

    def play(simulator, console, used, unit, programs):
        images = []
        for program in programs:
            memories = Memories(CORE)
            memories.hbm[:] = program.hbm
            for each in program.instructions:
                each.run(memories)
            images.append(memories.hbm)
        used[unit] += 1
        return {"images": images}

    monkeypatch.setattr(flow, "_play", play)


def check_lanes():
    found, left_out = compared(lanes, numbers(1, 40, 6), numbers(2, 40, 6))
    assert found == LANES
    assert left_out == {
        ("activation", "the joined core's ScalarE has one scale, and reduces from a reset on"): 1,
        ("dma_transpose", "the joined core has no DMA transpose"): 1,
    }


def check_products():
    args = numbers(3, 32, 32, dtype=BF16), numbers(4, 32, 64, dtype=BF16), numbers(5, 40, 64, dtype=BF16)
    found, left_out = compared(products, *args)
    assert found == PRODUCTS
    assert left_out == {("nc_matmul", "the joined core multiplies 32 by 32 by 256 elements at most"): 1}


def test_nki_lanes_as_programs_of_the_core(on_golden):
    check_lanes()


def test_nki_products_as_programs_of_the_core(on_golden):
    check_products()


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_lanes_on_the_core():
    check_lanes()


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_products_on_the_core():
    check_products()


def test_nki_too_many_elements_for_the_core(on_golden):
    """A row that is longer than a partition, and one of more elements than a pair counts."""

    @nki.jit
    def long(x, y):
        for each in (x, y):
            tile = load_rows(each)
            nisa.tensor_copy(dst=sbuf(*each.shape, dtype=nl.bfloat16), src=tile)
        return store_rows(tile, len(tile))

    found, left_out = compared(long, numbers(6, 1, 1000), numbers(7, 1, 1024).astype(np.float32))
    assert found == {("dma_copy", "core"): 3}
    assert left_out == {
        ("tensor_copy", "the joined core has 4096 bytes in a partition"): 1,
        ("tensor_copy", "a row has more elements than the joined core counts, 1023"): 1,
    }
