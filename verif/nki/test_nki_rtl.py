"""Instructions of kernels on RTL units: golden's bits, the units that gave them, and the instructions that no unit takes."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from rich.console import Console

from bitpath.golden import nki
from bitpath.sim.flows import nki as flow
from bitpath.sim.flows.nki import compare
from bitpath.sim.flows.trainium3_matmul import ENGINES
from bitpath.verif.trainium3.core import stages

with nki.installed():
    import nki.isa as nisa
    import nki.language as nl

    from bitpath.verif.nki import kernels
    from bitpath.verif.nki.kernels import load_rows, psum, sbuf, store_rows

BF16 = np.dtype(ml_dtypes.bfloat16)


@nki.jit
def copied(x):
    return store_rows(load_rows(x), x.shape[0])


@nki.jit
def mx_product(a, b, dtypes):
    """Quantise BF16 a [128, 4 M] and b [128, 4 N] to MX, and multiply them."""
    operands = []
    for each, dtype in zip((a, b), dtypes, strict=True):
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


def on_rtl(kernel, *args, simulator="verilator", opcodes=None):
    """Return the count of instructions and of mismatches by opcode and unit, and how many no unit takes, by opcode and reason."""
    executed = []
    nki.run(kernel, *args, watch=executed.append)
    chosen = [each for each in executed if opcodes is None or each.instruction.opcode in opcodes]
    rows, left_out = compare(chosen, simulator, Console(quiet=True))
    assert all(each.values for each in rows)
    return {(each.opcode, each.unit): (each.count, each.mismatches) for each in rows}, left_out


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_rmsnorm_quant_on_rtl():
    """Rows of the project's kernel: root, scales and codes of FP8; the sum over rows of squares is ScalarE's own."""
    found, left_out = on_rtl(kernels.rmsnorm_quant, numbers(1, 32, 64, dtype=BF16), numbers(2, 1, 64, dtype=BF16))
    assert found == {
        ("dma_copy", "dma_engine"): (4, 0),
        ("activation_reduce", "activation2_lane"): (1, 0),
        ("activation", "activation2_lane + reciprocal_square_root"): (1, 0),
        ("activation", "activation2_lane"): (1, 0),
        ("memset", "engine_lane"): (1, 0),
        ("nc_matmul", "core_array"): (1, 0),
        ("scalar_tensor_tensor", "engine_lane"): (1, 0),
        ("tensor_scalar", "engine_lane"): (2, 0),
        ("reciprocal", "reciprocal"): (1, 0),
    }
    assert left_out == {
        ("tensor_scalar_reduce", "no unit of VectorE reduces a row"): 1,
        ("memset", "its number is no FP32 number, and the lane would round it twice"): 1,
    }


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_accumulation_on_rtl():
    """Two products of 128 rows, the second added in PSUM."""
    found, left_out = on_rtl(kernels.tiled, *(numbers(seed, 256, 40, dtype=BF16) for seed in (3, 4)))
    assert found == {
        ("dma_copy", "dma_engine"): (5, 0),
        ("nc_matmul", "core_array"): (1, 0),
        ("nc_matmul", "core_array + psum"): (1, 0),
        ("tensor_copy", "copy_lanes"): (1, 0),
    }
    assert not left_out


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("dtypes", [(nl.float8_e4m3fn_x4,) * 2, (nl.float8_e5m2_x4, nl.float4_e2m1fn_x4)], ids=str)
def test_nki_mx_matmul_on_rtl(dtypes):
    """QuantizeMX and an MX product of one tile of the whole array."""
    sides = [numbers(seed, 128, 4 * 32, dtype=BF16) for seed in (5, 6)]
    found, left_out = on_rtl(mx_product, *sides, dtypes)
    assert found == {
        ("dma_copy", "dma_engine"): (3, 0),
        ("quantize_mx", "quantize_mx"): (2, 0),
        ("nc_matmul_mx", "tensor_engine"): (1, 0),
        ("tensor_copy", "copy_lanes"): (1, 0),
    }
    assert not left_out


@nki.jit
def reduced(x):
    """Sums over rows of x: squares, then x itself onto the same registers, both of them stored."""
    tile, made = load_rows(x), sbuf(*x.shape)
    first, second = sbuf(len(x), 1), sbuf(len(x), 1, dtype=nl.bfloat16)
    nisa.activation_reduce(dst=made, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=first)
    nisa.activation(
        dst=made,
        op=nl.copy,
        data=tile,
        scale=first,
        reduce_op=nl.add,
        reduce_cmd=nisa.reduce_cmd.reduce,
        reduce_res=second,
    )
    nisa.activation(dst=made, op=nl.abs, data=tile, bias=first)
    nisa.activation(dst=made, op=nl.abs, data=tile, reduce_op=nl.add, reduce_res=first)
    nisa.activation(dst=made, op=nl.tanh, data=tile)
    return store_rows(made, len(x))  # fmt: skip


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_registers_of_activation_on_rtl():
    """-0 stays where nothing is added; the second sum begins with the first."""
    x = numbers(9, 3, 5)
    x[0, :2] = -0.0, np.inf
    found, left_out = on_rtl(reduced, x, simulator="icarus", opcodes=("activation", "activation_reduce"))
    assert found == {("activation_reduce", "activation2_lane"): (1, 0), ("activation", "activation2_lane"): (2, 0)}
    assert left_out == {
        ("activation", "it reads the registers of an earlier instruction"): 1,
        ("activation", "no unit computes tanh"): 1,
    }


@nki.jit
def copied_and_set(x, dtypes):
    """Copy x to each dtype and on in it; set tiles."""
    tile = load_rows(x)
    for dtype in dtypes:
        first, second = sbuf(*x.shape, dtype=dtype), sbuf(*x.shape, dtype=dtype)
        nisa.tensor_copy(dst=first, src=tile)
        nisa.tensor_copy(dst=second, src=first, engine=nisa.engine.scalar)
        nisa.memset(dst=second, value=3)
        nisa.memset(dst=second, value=2, engine=nisa.engine.gpsimd)
    nisa.tensor_copy(dst=second, src=first, engine=nisa.engine.gpsimd)
    nisa.memset(dst=sbuf(2, 3, dtype=nl.bfloat16), value=1 + 2.0**-30)
    nisa.memset(dst=sbuf(2, 3), value=0.1)
    nisa.memset(dst=sbuf(2, 3, dtype=nl.float8_e5m2), value=float("nan"))
    nisa.memset(dst=sbuf(2, 3, dtype=nl.float8_e4m3fn_x4), value=0)
    return store_rows(tile, len(x))


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_copies_and_constants_on_rtl():
    x = numbers(10, 2, 7) * np.float32(100)
    found, left_out = on_rtl(
        copied_and_set, x, (nl.bfloat16, nl.int8), simulator="icarus", opcodes=("tensor_copy", "memset")
    )
    assert found == {("tensor_copy", "copy_lanes"): (4, 0), ("memset", "engine_lane"): (5, 0)}
    assert left_out == {
        ("memset", "GpSimd has no unit"): 2,
        ("memset", "its number is no FP32 number, and the lane would round it twice"): 1,
        ("tensor_copy", "GpSimd has no unit"): 1,
    }


@nki.jit
def operated(x, y):
    """Operators of both kinds, in both orders, and functions that units of their own compute."""
    left, right, made = load_rows(x), load_rows(y), sbuf(*x.shape)
    words, column = sbuf(*x.shape, dtype=nl.int16), sbuf(len(x), 1)
    nisa.tensor_scalar(made, left, nl.subtract, 2.0, reverse0=True, op1=nl.maximum, operand1=right[:, 0:1])
    nisa.tensor_scalar(made, left, nl.abs, None, op1=nl.greater_equal, operand1=1.0)
    nisa.tensor_scalar(words, left, None)
    nisa.tensor_tensor(made, left, right, nl.abs_max)
    nisa.tensor_tensor(words, words, words, nl.bitwise_xor)
    nisa.tensor_scalar(words, words, nl.bitwise_or, 5, op1=nl.left_shift, operand1=3)
    nisa.tensor_scalar(made, left, nl.square, None)
    nisa.activation_reduce(dst=made, op=nl.exp, data=left, reduce_op=nl.add, reduce_res=column, bias=right[:, 0:1])
    nisa.activation(dst=made, op=nl.rsqrt, data=made)
    nisa.exponential(
        dst=made, src=left, max_value=right[:, 0:1], reduce_res=column, reduce_cmd=nisa.reduce_cmd.reset_reduce
    )
    nisa.exponential(dst=made, src=left, max_value=1.5)
    return store_rows(made, len(x))  # fmt: skip


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_operators_and_functions_on_rtl():
    x, y = numbers(11, 3, 6), numbers(12, 3, 6)
    opcodes = ("tensor_scalar", "tensor_tensor", "activation", "activation_reduce", "exponential")
    found, left_out = on_rtl(operated, x, y, simulator="icarus", opcodes=opcodes)
    assert found == {
        ("tensor_scalar", "engine_lane"): (4, 0),
        ("tensor_tensor", "engine_lane"): (2, 0),
        ("activation_reduce", "activation2_lane + exponential"): (1, 0),
        ("activation", "activation2_lane + reciprocal_square_root"): (1, 0),
        ("exponential", "exponential"): (2, 0),
    }
    assert left_out == {("tensor_scalar", "no unit computes square"): 1}


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
    assert left_out == {("dma_copy", "the bits of TF32 lie in FP32 words"): 1}


@pytest.mark.deep
@pytest.mark.simulator
@pytest.mark.parametrize("rows", [32, 64])
def test_nki_row_tiles_on_rtl(rows, monkeypatch):
    """An engine of 4 by 4 PEs, each of whose rows is a quarter of the machine's."""
    engine = ENGINES["icarus"]
    small = replace(flow.UNITS, tensor_engine=engine, psum=replace(engine.psum, lanes=1))
    monkeypatch.setattr(flow, "UNITS", small)
    sides = [numbers(seed, 128, 16, dtype=BF16) for seed in (13, 14)]
    args = (*sides, nl.float8_e4m3fn_x4, rows)
    found, left_out = on_rtl(kernels.mx_row_tiles, *args, simulator="icarus", opcodes=("nc_matmul_mx",))
    assert found == {
        ("nc_matmul_mx", "tensor_engine"): (1, 0),
        ("nc_matmul_mx", "tensor_engine + psum"): (128 // rows - 1, 0),
    }
    assert not left_out


@nki.jit
def moved_by_dma(x, y, cube):
    """Exchange axes of elements of both sizes; add sources of both dtypes."""
    for each in (x, y, cube):
        turned = sbuf(*each.shape[::-1], dtype=each.dtype)
        nisa.dma_transpose(dst=turned, src=each)
    narrow, wide = (sbuf(*each.shape, dtype=each.dtype) for each in (x, y))
    nisa.dma_compute(narrow, [x, x], reduce_op=nl.add)
    nisa.dma_compute(wide, [y, wide_of(y), y], reduce_op=nl.add)
    nisa.dma_compute(wide, [y], reduce_op=nl.add)
    nisa.dma_compute(wide, [x, y], reduce_op=nl.add)
    nisa.dma_compute(narrow, [x, x, x], reduce_op=nl.add)
    return store_rows(wide, len(x))


def wide_of(y):
    """Return half of y, on chip."""
    made = sbuf(*y.shape)
    nisa.tensor_scalar(made, load_rows(y), nl.multiply, 0.5)
    return made


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_dma_on_rtl():
    """Whole and partial strips of 8 partitions; sums of two and of three."""
    x, y, cube = numbers(15, 20, 13, dtype=BF16), numbers(16, 20, 13), numbers(17, 19, 3, 9, dtype=BF16)
    y[0, :3] = np.nan, np.inf, -0.0
    opcodes = ("dma_transpose", "dma_compute")
    found, left_out = on_rtl(moved_by_dma, x, y, cube, simulator="icarus", opcodes=opcodes)
    assert found == {("dma_transpose", "dma_transpose"): (3, 0), ("dma_compute", "dma_engine"): (2, 0)}
    assert left_out == {
        ("dma_compute", "the unit adds two or more sources of bfloat16, or of float32, in their dtype"): 2,
        ("dma_compute", "the unit rounds every sum of bfloat16, and the instruction the last one alone"): 1,
    }


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_random_numbers_on_rtl():
    """Two instructions: the second goes on from the states of the first; limits of all and of each partition."""

    @nki.jit
    def drawn(low, dtypes):
        lows = load_rows(low)
        for dtype in dtypes:
            made = sbuf(len(low), 6, dtype=dtype)
            nisa.rand2(made, min=-1.0, max=2.5)
            nisa.rand2(made, min=lows, max=100.0)
        return store_rows(lows, len(low))

    low = numbers(18, 3, 1)
    found, left_out = on_rtl(drawn, low, (nl.float32, nl.bfloat16, nl.int8), simulator="icarus", opcodes=("rand2",))
    assert found == {("rand2", "xorwow + rand2_lane"): (6, 0)}
    assert not left_out


@pytest.mark.deep
@pytest.mark.simulator
def test_nki_bf16_row_tile_on_rtl():
    """The second row tile of 32 rows; DMA transposes a source that is too large for an engine's memory here in golden alone."""

    @nki.jit
    def tiled(a, b, large):
        made, result = psum(a.shape[1], b.shape[1]), sbuf(a.shape[1], b.shape[1])
        sides = [sbuf(64, each.shape[1], dtype=each.dtype) for each in (a, b)]
        for tile, each in zip(sides, (a, b)):  # noqa: B905
            nisa.dma_copy(dst=tile[nl.ds(32, 32), :], src=each)
        left, right = (tile[nl.ds(32, 32), :] for tile in sides)
        nisa.nc_matmul(made, left, right, tile_position=(32, 0), tile_size=(32, 32))
        nisa.dma_transpose(dst=sbuf(*large.shape[::-1], dtype=large.dtype), src=large)
        nisa.tensor_copy(dst=result, src=made)
        return store_rows(result, a.shape[1])

    sides = [numbers(seed, 32, 24, dtype=BF16) for seed in (19, 20)]
    args = (*sides, numbers(21, 8200, 8, dtype=BF16))
    found, left_out = on_rtl(tiled, *args, opcodes=("nc_matmul", "dma_transpose"))
    assert found == {("nc_matmul", "core_array"): (1, 0)}
    assert left_out == {("dma_transpose", "an engine's part of its source has more than 131072 bytes"): 1}
