"""Every wrong argument raises an error of one sentence: "NAME must be ..., not ..."."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import ShuffleMode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, CHOICES, PRESETS

X = np.zeros(16, np.float32)
BITS = np.zeros(4, np.uint32)
LANE = np.zeros(8, ml_dtypes.bfloat16)
FP8 = np.zeros(8, ml_dtypes.float8_e5m2)
BLOCKS = aie.to_mx(np.zeros(64, np.float32), "mx9")
BLOCK = BLOCKS[:1]
REGISTERS = aie.to_registers(BLOCKS)
VECTOR = np.zeros(64, np.uint8)
A = np.zeros((2, 16), np.float32)
INTS = np.zeros(8, np.int8)
TWO_AND_THREE = np.zeros((2, 64), np.uint8), np.zeros((3, 64), np.uint8)
LANES = np.zeros((3, 16), ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: aie.to_mx(X, "mx8"), ValueError, "fmt must be 'mx9', 'mx6' or 'mx4', not 'mx8'"),
        (
            lambda: aie.to_mx(X, "mx9", rounding=4),
            ValueError,
            "rounding must be 0, 1, 2, 3, 8, 9, 10, 11, 12 or 13, not 4",
        ),
        (lambda: aie.to_mx(X.astype(float), "mx9"), TypeError, "x must be float32, not float64"),
        (
            lambda: aie.to_mx(X[:9], "mx9"),
            ValueError,
            r"x must have shape \[..., 16 \* B\] with B of at least 1, not \(9,\)",
        ),
        (lambda: aie.to_mx([1.0], "mx9"), TypeError, "x must be a numpy array, not a list"),
        (lambda: aie.from_mx(X), TypeError, "blocks must be MxBlocks, not ndarray"),
        (
            lambda: aie.MxBlocks("mx4", BLOCK.exponent, BLOCK.shift, BLOCK.codes + np.int8(4)),
            ValueError,
            "codes reach from 4 to 4; mx4 has -4 to 3",
        ),
        (
            lambda: aie.MxBlocks("mx9", BLOCK.exponent, BLOCKS.shift, BLOCK.codes),
            ValueError,
            r"shift must have exponent's shape \(1,\), not \(4,\)",
        ),
        (
            lambda: aie.MxBlocks("mx9", BLOCK.exponent, BLOCK.shift, BLOCK.codes[:, :8]),
            ValueError,
            r"codes must have shape \[1, 16\] with at least two axes, not \(1, 8\)",
        ),
        (
            lambda: aie.MxBlocks("mx9", BLOCK.exponent, BLOCK.shift.astype(int), BLOCK.codes),
            TypeError,
            "shift must be uint8, not int64",
        ),
        (lambda: aie.MxBlocks("mx9", X, X, X), TypeError, "exponent must be uint8, not float32"),
        (
            lambda: aie.unpack_mx(VECTOR, "mx9"),
            ValueError,
            r"data must have shape \[..., B, 18\] for mx9, not \(64,\)",
        ),
        (lambda: aie.to_registers(BLOCK), ValueError, "blocks must have 4, 8 or 16 blocks on the last axis, not 1"),
        (lambda: aie.from_registers(VECTOR), TypeError, "registers must be MxRegisters, not ndarray"),
        (
            lambda: aie.MxRegisters("mx9", VECTOR[:9], REGISTERS.f, REGISTERS.g, REGISTERS.e),
            ValueError,
            r"data must have a last axis of 64, 128 or 256, not \(9,\)",
        ),
        (
            lambda: aie.MxRegisters("mx9", VECTOR, REGISTERS.f, VECTOR, REGISTERS.e),
            ValueError,
            r"g must have shape \(8,\), not \(64,\)",
        ),
        (
            lambda: aie.from_registers(
                aie.MxRegisters("mx9", VECTOR, REGISTERS.f, REGISTERS.g + np.uint8(16), REGISTERS.e)
            ),
            ValueError,
            "g must be 0 to 0xf, not 0x10",
        ),
        (
            lambda: aie.from_registers(
                aie.MxRegisters("mx4", VECTOR + np.uint8(1), VECTOR[:16], VECTOR[:8], VECTOR[:8])
            ),
            ValueError,
            "data must hold zeros below the bits of mx4's codes, not ones",
        ),
        (
            lambda: aie.fused_dot(LANE, LANE, fmt="tf32"),
            ValueError,
            "fmt must be 'bf16', 'fp16', 'fp8', 'mx9', 'mx6' or 'mx4', not 'tf32'",
        ),
        (lambda: aie.fused_dot(LANE, FP8, fmt="bf16"), TypeError, "b must be float16 or bfloat16, not float8_e5m2"),
        (
            lambda: aie.fused_dot(FP8, LANE, fmt="fp8"),
            TypeError,
            "b must be float8_e4m3, float8_e5m2, float8_e4m3fn, float8_e4m3fnuz or",
        ),
        (
            lambda: aie.fused_dot(LANE[:4], LANE, fmt="bf16"),
            ValueError,
            r"a must have shape \[..., 8\] or \[..., 1\], not \(4,\)",
        ),
        (lambda: aie.fused_dot(FP8[:1], FP8[:1], fmt="fp8"), ValueError, r"a must have shape \[..., 8\], not \(1,\)"),
        (
            lambda: aie.fused_dot(LANE[:1], LANE, fmt="bf16"),
            ValueError,
            r"a and b must have the same last axis, not shapes \(1,\) and \(8,\)",
        ),
        (
            lambda: aie.fused_dot(LANE, LANE, X.astype(float), fmt="bf16"),
            TypeError,
            "acc1 must be float32, not float64",
        ),
        (
            lambda: aie.fused_dot(np.stack([LANE] * 2), LANE, X[:3], fmt="bf16"),
            ValueError,
            r"leading axes must broadcast, not be a \(2,\), b \(\), acc1 \(3,\)",
        ),
        (lambda: aie.fused_dot(LANE, BLOCK, fmt="mx9"), TypeError, "a must be MxBlocks, not ndarray"),
        (lambda: aie.fused_dot(BLOCK, BLOCK, fmt="mx6"), ValueError, "a must be in mx6 with fmt 'mx6', not in mx9"),
        (lambda: aie.fused_dot(BLOCK, BLOCKS, fmt="mx9"), ValueError, "b must have 1 block on its last axis, not 4"),
        (
            lambda: aie.add_accumulators(X[:2], X[:3]),
            ValueError,
            r"leading axes must broadcast, not be acc1 \(2,\), acc2 \(3,\)",
        ),
        (
            lambda: aie.integer_dot(INTS, INTS, mode="int4"),
            ValueError,
            "mode must be 'int8', 'int16', 'int16_64' or 'int32x16', not 'int4'",
        ),
        (
            lambda: aie.integer_dot(LANE, INTS, mode="int8"),
            TypeError,
            "a must be an array of integers, not of bfloat16",
        ),
        (
            lambda: aie.integer_dot(INTS - 1, INTS, mode="int8", signed_a=False),
            ValueError,
            "a must be 0 to 255, not -1 to -1",
        ),
        (
            lambda: aie.integer_dot(INTS[:3], INTS, mode="int8"),
            ValueError,
            r"a must have shape \[..., K\] with K of 2 or 8, not \(3,\)",
        ),
        (
            lambda: aie.integer_dot(INTS, INTS[:2], mode="int8"),
            ValueError,
            r"b must have shape \[..., 8\] as a, not \(2,\)",
        ),
        (
            lambda: aie.integer_dot(INTS, INTS, np.array(1 << 31), mode="int8"),
            ValueError,
            "acc1 must be -2147483648 to 2147483647, not 2147483648 to 2147483648",
        ),
        (lambda: aie.srs(INTS, 64, out_bits=8), ValueError, "shift must be -4 to 63, not 64"),
        (lambda: aie.srs(INTS, 0, out_bits=32), ValueError, "out_bits must be 8 or 16, not 32"),
        (lambda: aie.srs(INTS, 0, acc_bits=48, out_bits=8), ValueError, "acc_bits must be 32 or 64, not 48"),
        (lambda: aie.srs(INTS, 0, out_bits=8, saturate=2), ValueError, "saturate must be 0, 1 or 3, not 2"),
        (lambda: aie.srs(X, 0, out_bits=8), TypeError, "acc must be an array of integers, not of float32"),
        (lambda: aie.ups(INTS, -1), ValueError, "shift must be 0 to 63, not -1"),
        (lambda: aie.ups(np.array([40000]), 0), ValueError, "x must be -32768 to 32767, not 40000 to 40000"),
        (lambda: aie.f32_to_bf16(X, rounding=12), TypeError, "bits must be uint32, not float32"),
        (
            lambda: aie.f32_to_fp16(BITS, rounding=7),
            ValueError,
            "rounding must be 0, 1, 2, 3, 8, 9, 10, 11, 12 or 13, not 7",
        ),
        (
            lambda: aie.f32_to_fp8(BITS, np.float16, rounding=12),
            TypeError,
            "dtype must be float8_e4m3, float8_e5m2, float8_e4m3fn,",
        ),
        (
            lambda: aie.f32_to_fp8(BITS, ml_dtypes.float8_e5m2, rounding=12, shift=32),
            ValueError,
            "shift must be -32 to 31, not 32",
        ),
        (lambda: aie.bf16_to_f32(BITS), TypeError, "bits must be uint16, not uint32"),
        (lambda: aie.fp16_to_f32(BITS), TypeError, "bits must be uint16, not uint32"),
        (
            lambda: aie.fp8_to_f32(LANE),
            TypeError,
            "x must be float8_e4m3, float8_e5m2, float8_e4m3fn, float8_e4m3fnuz or",
        ),
        (lambda: aie.bf16_to_int32(BITS.astype(np.uint16), 1.5), TypeError, "shift must be an integer, not 1.5"),
        (lambda: aie.f32_dot(X[:8], X[:8], products=4), ValueError, "products must be 9, 6 or 3, not 4"),
        (lambda: aie.f32_dot(X[:8].astype(float), X[:8]), TypeError, "a must be float32, not float64"),
        (lambda: aie.f32_dot(X[:8], X[:8].astype(float)), TypeError, "b must be float32, not float64"),
        (lambda: aie.f32_dot(X, X), ValueError, r"a must have shape \[..., 8\] the depth of the mode, not \(16,\)"),
        (lambda: aie.split_f32(LANE), TypeError, "x must be float32, not bfloat16"),
        (lambda: aie.exp2(LANE), TypeError, "x must be float32, not bfloat16"),
        (lambda: aie.exp2(X, fmt="fp8"), ValueError, "fmt must be 'bf16' or 'fp16', not 'fp8'"),
        (lambda: aie.exp2_instruction(LANE), TypeError, "t must be float32, not bfloat16"),
        (lambda: aie.tanh(LANE), TypeError, "x must be float32, not bfloat16"),
        (
            lambda: aie.vector_op("mul", VECTOR, VECTOR, bits=8),
            ValueError,
            "op must be 'add', 'sub', 'sel', 'addsub', 'and', 'or',",
        ),
        (
            lambda: aie.vector_op(17, VECTOR, VECTOR, bits=8),
            ValueError,
            "op must be 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,",
        ),
        (lambda: aie.vector_op("add", VECTOR, VECTOR, bits=64), ValueError, "bits must be 8, 16 or 32, not 64"),
        (lambda: aie.vector_op("add", VECTOR, bits=8), TypeError, "b must be a numpy array, not None"),
        (
            lambda: aie.vector_op("add", VECTOR, INTS, bits=8),
            ValueError,
            r"b must have shape \[..., 64\] with 8 bits, not \(8,\)",
        ),
        (lambda: aie.vector_op("sel", VECTOR, VECTOR, bits=8), ValueError, "mask must be a mask with sel, not None"),
        (
            lambda: aie.vector_op("add", VECTOR, VECTOR, bits=8, mask=VECTOR > 0),
            ValueError,
            "mask must be None with add, not given",
        ),
        (
            lambda: aie.float_op("add", LANE, LANE),
            ValueError,
            "op must be 'min_ge', 'max_lt', 'lt' or 'ge', not 'add'",
        ),
        (
            lambda: aie.float_op("lt", LANE, LANE),
            ValueError,
            r"a must have shape \[..., 32\] for bfloat16, not \(8,\)",
        ),
        (lambda: aie.float_op("lt", LANE, FP8), TypeError, "b must be bfloat16, not float8_e5m2"),
        (
            lambda: aie.shuffle(VECTOR, mode="T1_2x2"),
            ValueError,
            "mode must be 'T512_1x2_lo', 'T512_1x2_hi', 'T256_2x2_lo',",
        ),
        (
            lambda: aie.shuffle(VECTOR, mode=2),
            ValueError,
            "mode must be 0, 1, 18, 19, 45, 52, 53, 54, 55, 59, 72, 73, 90, 98, 99, 104 or 106, not 2",
        ),
        (lambda: aie.shuffle(VECTOR, mode=0), ValueError, "high must be a register with mode T512_1x2_lo, not None"),
        (lambda: aie.shuffle(VECTOR, VECTOR, mode=72), ValueError, "high must be None with mode T8_8x8, not given"),
        (lambda: aie.shuffle(VECTOR[:9], mode=72), ValueError, r"low must have shape \[..., 64\], not \(9,\)"),
        (
            lambda: aie.shuffle(VECTOR, mode=ShuffleMode(bits=16, rows=4, cols=4)),
            ValueError,
            "mode must have fields of whole bytes that fill 512 bits, not be",
        ),
        (
            lambda: aie.shuffle_mx(REGISTERS, mode="T32_4x4"),
            ValueError,
            "mode must have fields of 64 bits or more for MX, not be T32_4x4",
        ),
        (lambda: aie.shuffle_mx(VECTOR, mode=106), TypeError, "low must be MxRegisters, not ndarray"),
        (
            lambda: aie.shuffle_mx(aie.to_registers(aie.to_mx(np.zeros(128, np.float32), "mx9")), mode=106),
            ValueError,
            "low must have 64 bytes of data, not 128",
        ),
        (
            lambda: aie.shuffle_mx(REGISTERS, aie.to_registers(aie.to_mx(np.zeros(128, np.float32), "mx6")), mode=0),
            ValueError,
            "high must be in low's format mx9, not in mx6",
        ),
        (lambda: aie.vector_shift(VECTOR, count=65), ValueError, "count must be 0 to 64, not 65"),
        (lambda: aie.push(VECTOR, 256, bits=8), ValueError, "scalar must be 0 to 255, not 256"),
        (lambda: aie.push(VECTOR, 0, bits=64), ValueError, "bits must be 8, 16 or 32, not 64"),
        (lambda: aie.compress(VECTOR[:8]), ValueError, r"data must have shape \(64,\), not \(8,\)"),
        (lambda: aie.decompress(VECTOR[:4]), ValueError, r"stream must have one axis of 8 or more, not shape \(4,\)"),
        (lambda: aie.decompress(VECTOR[:8] + np.uint8(1)), ValueError, "stream has 8 bytes; its mask asks for 16"),
        (lambda: aie.sparse_load(VECTOR, 4), ValueError, "entity_bytes must be 1 or 2, not 4"),
        (lambda: aie.to_sparse(VECTOR[:6]), ValueError, r"dense must have shape \[..., 4 \* G\], not \(6,\)"),
        (
            lambda: aie.SparseVector(VECTOR[:2], VECTOR[:1]),
            ValueError,
            r"slots must have shape \(1, 2\), not \(2,\)",
        ),
        (
            lambda: aie.SparseVector(VECTOR[:2].reshape(1, 2), VECTOR[:1] + np.uint8(16)),
            ValueError,
            "mask must hold words of 4 bits, not 16",
        ),
        (lambda: aie.to_dense(VECTOR), TypeError, "b must be SparseVector, not ndarray"),
        (
            lambda: aie.sparse_dot(BLOCK, aie.to_sparse(VECTOR), fmt="mx9"),
            ValueError,
            "fmt must be 'bf16', 'fp16', 'fp8', 'int8' or 'int16_64', not 'mx9'",
        ),
        (
            lambda: aie.sparse_dot(LANE, aie.to_sparse(LANE), fmt="bf16"),
            ValueError,
            r"a must have shape \[..., 16\] with fmt 'bf16', not \(8,\)",
        ),
        (
            lambda: aie.sparse_dot(np.tile(LANE, 2), aie.to_sparse(LANE), fmt="bf16"),
            ValueError,
            "b must have 4 groups, not 2",
        ),
        (lambda: aie.Cascade().cycle(BITS), ValueError, r"write must have shape \(16,\), not \(4,\)"),
        (lambda: aie.Cascade().cycle(X), TypeError, "write must be uint32, not float32"),
        (lambda: aie.timing("mx4"), ValueError, "mode must be 'int8', 'int16', 'int16_64', 'int32x16', 'float16',"),
        (lambda: aie.mx_mode("bf16"), ValueError, "fmt must be 'mx9', 'mx6' or 'mx4', not 'bf16'"),
        (
            lambda: aie.matmul(A, A.T, fmt="fp8"),
            ValueError,
            "fmt must be 'mx9', 'mx6', 'mx4', 'bf16', 'fp16', 'fp8_e4m3',",
        ),
        (lambda: aie.matmul(A, A, fmt="mx9"), ValueError, "b must have 16 rows, as many as a has columns, not 2"),
        (
            lambda: aie.matmul(A[0], A, fmt="mx9"),
            ValueError,
            r"a must have two dimensions of at least 1, not shape \(16,\)",
        ),
        (
            lambda: aie.matmul(A[:0], A.T, fmt="mx9"),
            ValueError,
            r"a must have two dimensions of at least 1, not shape \(0, 16\)",
        ),
        (lambda: aie.matmul(A.astype(float), A.T, fmt="bf16"), TypeError, "a must be float32, not float64"),
        (lambda: aie.matmul(A, A.T, fmt="int8"), TypeError, "a must be an array of integers, not of float32"),
        (
            lambda: aie.matmul(A.astype(int) + 128, A.T.astype(int), fmt="int8"),
            ValueError,
            "a must be -128 to 127, not 128 to 128",
        ),
        (
            lambda: aie.matmul(A, A.T, fmt="mx9", sparse=True),
            ValueError,
            "fmt must be bf16, fp16, fp8_e4m3, fp8_e5m2, fp8_e4m3fn, fp8_e4m3fnuz,",
        ),
        (
            lambda: aie.matmul(A, A.T + 1, fmt="bf16", sparse=True),
            ValueError,
            "b must have 2 nonzero numbers among four neighbours along K, not 4",
        ),
        (lambda: aie.to_sparse(VECTOR[:4] + 1), ValueError, "dense must set two bits in each group of four, not 1111"),
        (lambda: aie.to_mx(X, ["mx9"]), TypeError, "fmt must be 'mx9', 'mx6' or 'mx4', not a list"),
        (lambda: aie.to_mx(X, "mx9", rounding=True), TypeError, "rounding must be 0, 1, 2, 3, 8"),
        (lambda: aie.to_mx(X, "mx9", rounding=1.0), TypeError, "rounding must be 0, 1, 2, 3, 8"),
        (
            lambda: aie.to_mx(X, "mx9", numerics=AIE_ML_V2),
            TypeError,
            r"numerics must be an AieNumerics \(preset.numerics\), not a Preset",
        ),
        (
            lambda: aie.matmul(A.astype(int), A.T.astype(int), fmt="int8", rounding=4),
            ValueError,
            "rounding must be 0, 1, 2, 3, 8, 9, 10, 11, 12 or 13, not 4",
        ),
        (lambda: aie.srs(INTS, 0, acc_bits=32.0, out_bits=8), TypeError, "acc_bits must be 32 or 64, not 32.0"),
        (
            lambda: aie.f32_to_fp8(BITS, "e4m3", rounding=12),
            TypeError,
            "dtype must be float8_e4m3, float8_e5m2, float8_e4m3fn,",
        ),
        (
            lambda: aie.vector_op("add", *TWO_AND_THREE, bits=8),
            ValueError,
            r"leading axes must broadcast, not be a \(2,\), b \(3,\)",
        ),
        (
            lambda: aie.float_op("lt", *(each.view(FP8.dtype) for each in TWO_AND_THREE)),
            ValueError,
            r"leading axes must broadcast, not be a \(2,\), b \(3,\)",
        ),
        (
            lambda: aie.shuffle(*TWO_AND_THREE, mode=0),
            ValueError,
            r"leading axes must broadcast, not be low \(2,\), high \(3,\)",
        ),
        (
            lambda: aie.vector_shift(*TWO_AND_THREE, count=0),
            ValueError,
            r"leading axes must broadcast, not be low \(2,\), high \(3,\)",
        ),
        (
            lambda: aie.sparse_dot(LANES[:2], aie.to_sparse(LANES), fmt="bf16"),
            ValueError,
            r"leading axes must broadcast, not be a \(2,\), b \(3,\)",
        ),
    ],
)
def test_errors(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"align_fraction_bits": 19}, "align_fraction_bits must be 20 to 26, not 19"),
        (
            {"mx9_split_round": True, "mx_post_add_first": False},
            "mx9_split_round must be False with mx_post_add_first False, not True",
        ),
    ],
)
def test_numerics(fields, says):
    with pytest.raises(ValueError, match=says):
        replace(AIE_ML_V2.numerics, **fields)


def test_every_preset_and_choice_says_where_it_comes_from():
    sources = [source for preset in PRESETS.values() for source in preset.sources.values()]
    sources += [choice.source for choice in CHOICES]
    assert all(source.where for source in sources)
    assert {source.kind for source in sources} == {"documented", "measured", "inferred", "chosen"}
    assert list(PRESETS) == [preset.name for preset in PRESETS.values()]
