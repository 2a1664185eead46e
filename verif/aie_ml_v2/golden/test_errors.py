"""Every wrong argument is one sentence that names it, what it was, and what is allowed."""

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
        (lambda: aie.to_mx(X, "mx8"), ValueError, "fmt is 'mx8'; 'mx9', 'mx6', 'mx4' are allowed"),
        (lambda: aie.to_mx(X, "mx9", rounding=4), ValueError, "rounding is 4; 0, 1, 2, 3, 8, 9, 10, 11, 12, 13 are"),
        (lambda: aie.to_mx(X.astype(float), "mx9"), TypeError, "x is float64; float32 are allowed"),
        (lambda: aie.to_mx(X[:9], "mx9"), ValueError, r"x has shape \(9,\); \[..., 16 \* B\] with B of at least 1"),
        (lambda: aie.to_mx([1.0], "mx9"), TypeError, "x is list; a numpy array is allowed"),
        (lambda: aie.from_mx(X), TypeError, "blocks is ndarray; MxBlocks are allowed"),
        (
            lambda: aie.MxBlocks("mx4", BLOCK.exponent, BLOCK.shift, BLOCK.codes + np.int8(4)),
            ValueError,
            "codes reach from 4 to 4; mx4 has -4 to 3",
        ),
        (
            lambda: aie.MxBlocks("mx9", BLOCK.exponent, BLOCKS.shift, BLOCK.codes),
            ValueError,
            r"shift has shape \(4,\); \(1,\) is allowed, as exponent",
        ),
        (
            lambda: aie.MxBlocks("mx9", BLOCK.exponent, BLOCK.shift, BLOCK.codes[:, :8]),
            ValueError,
            r"codes have shape \(1, 8\); \[1, 16\] is allowed",
        ),
        (
            lambda: aie.MxBlocks("mx9", BLOCK.exponent, BLOCK.shift.astype(int), BLOCK.codes),
            TypeError,
            "shift is int64; uint8 are allowed",
        ),
        (lambda: aie.MxBlocks("mx9", X, X, X), TypeError, "exponent is float32; uint8 are allowed"),
        (
            lambda: aie.unpack_mx(VECTOR, "mx9"),
            ValueError,
            r"data has shape \(64,\); \[..., B, 18\] is allowed for mx9",
        ),
        (lambda: aie.to_registers(BLOCK), ValueError, "blocks have 1 on their last axis; 4, 8, 16 are allowed"),
        (lambda: aie.from_registers(VECTOR), TypeError, "registers is ndarray; MxRegisters are allowed"),
        (
            lambda: aie.MxRegisters("mx9", VECTOR[:9], REGISTERS.f, REGISTERS.g, REGISTERS.e),
            ValueError,
            r"data has shape \(9,\); last axes of 64, 128, 256 are allowed",
        ),
        (
            lambda: aie.MxRegisters("mx9", VECTOR, REGISTERS.f, VECTOR, REGISTERS.e),
            ValueError,
            r"g has shape \(64,\); \(8,\) is allowed",
        ),
        (
            lambda: aie.from_registers(
                aie.MxRegisters("mx9", VECTOR, REGISTERS.f, REGISTERS.g + np.uint8(16), REGISTERS.e)
            ),
            ValueError,
            "g reaches 0x10; 0 to 0xf are allowed for mx9",
        ),
        (
            lambda: aie.from_registers(
                aie.MxRegisters("mx4", VECTOR + np.uint8(1), VECTOR[:16], VECTOR[:8], VECTOR[:8])
            ),
            ValueError,
            "data holds codes with bits below those of mx4; zeros are allowed there",
        ),
        (
            lambda: aie.fused_dot(LANE, LANE, fmt="tf32"),
            ValueError,
            "fmt is 'tf32'; 'bf16', 'fp16', 'fp8', 'mx9', 'mx6'",
        ),
        (lambda: aie.fused_dot(LANE, FP8, fmt="bf16"), TypeError, "b is float8_e5m2; float16, bfloat16 are allowed"),
        (
            lambda: aie.fused_dot(FP8, LANE, fmt="fp8"),
            TypeError,
            "b is bfloat16; float8_e4m3, float8_e5m2, float8_e4m3fn",
        ),
        (
            lambda: aie.fused_dot(LANE[:4], LANE, fmt="bf16"),
            ValueError,
            r"a has shape \(4,\); \[..., 8\] or \[..., 1\]",
        ),
        (lambda: aie.fused_dot(FP8[:1], FP8[:1], fmt="fp8"), ValueError, r"a has shape \(1,\); \[..., 8\] is allowed"),
        (lambda: aie.fused_dot(LANE[:1], LANE, fmt="bf16"), ValueError, "one size of the last axis is allowed"),
        (
            lambda: aie.fused_dot(LANE, LANE, X.astype(float), fmt="bf16"),
            TypeError,
            "acc1 is float64; float32 are allowed",
        ),
        (
            lambda: aie.fused_dot(np.stack([LANE] * 2), LANE, X[:3], fmt="bf16"),
            ValueError,
            r"leading axes do not broadcast: they are a \(2,\), b \(\), acc1 \(3,\)",
        ),
        (lambda: aie.fused_dot(LANE, BLOCK, fmt="mx9"), TypeError, "a is ndarray; MxBlocks are allowed"),
        (lambda: aie.fused_dot(BLOCK, BLOCK, fmt="mx6"), ValueError, "a is in mx9; with fmt 'mx6', mx6 is allowed"),
        (lambda: aie.fused_dot(BLOCK, BLOCKS, fmt="mx9"), ValueError, "b has 4 blocks on its last axis; 1 is allowed"),
        (
            lambda: aie.add_accumulators(X[:2], X[:3]),
            ValueError,
            r"leading axes do not broadcast: they are acc1 \(2,\), acc2 \(3,\)",
        ),
        (lambda: aie.integer_dot(INTS, INTS, mode="int4"), ValueError, "mode is 'int4'; 'int8', 'int16', 'int16_64'"),
        (lambda: aie.integer_dot(LANE, INTS, mode="int8"), TypeError, "a is bfloat16; integer dtypes are allowed"),
        (
            lambda: aie.integer_dot(INTS - 1, INTS, mode="int8", signed_a=False),
            ValueError,
            "a reaches from -1 to -1; 0 to 255 are allowed",
        ),
        (
            lambda: aie.integer_dot(INTS[:3], INTS, mode="int8"),
            ValueError,
            r"a has shape \(3,\); \[..., K\] with K of 2, 8",
        ),
        (
            lambda: aie.integer_dot(INTS, INTS[:2], mode="int8"),
            ValueError,
            r"b has shape \(2,\); \[..., 8\] is allowed, as a",
        ),
        (
            lambda: aie.integer_dot(INTS, INTS, np.array(1 << 31), mode="int8"),
            ValueError,
            "acc1 reaches from 2147483648 to 2147483648; -2147483648 to 2147483647",
        ),
        (lambda: aie.srs(INTS, 64, out_bits=8), ValueError, "shift is 64; -4 to 63 are allowed"),
        (lambda: aie.srs(INTS, 0, out_bits=32), ValueError, "out_bits is 32; 8, 16 are allowed"),
        (lambda: aie.srs(INTS, 0, acc_bits=48, out_bits=8), ValueError, "acc_bits is 48; 32, 64 are allowed"),
        (lambda: aie.srs(INTS, 0, out_bits=8, saturate=2), ValueError, "saturate is 2; 0, 1, 3 are allowed"),
        (lambda: aie.srs(X, 0, out_bits=8), TypeError, "acc is float32; integer dtypes are allowed"),
        (lambda: aie.ups(INTS, -1), ValueError, "shift is -1; 0 to 63 are allowed"),
        (lambda: aie.ups(np.array([40000]), 0), ValueError, "x reaches from 40000 to 40000; -32768 to 32767 are"),
        (lambda: aie.f32_to_bf16(X, rounding=12), TypeError, "bits is float32; uint32 are allowed"),
        (lambda: aie.f32_to_fp16(BITS, rounding=7), ValueError, "rounding is 7; 0, 1, 2, 3, 8"),
        (
            lambda: aie.f32_to_fp8(BITS, np.float16, rounding=12),
            TypeError,
            "dtype is float16; float8_e4m3, float8_e5m2, float8_e4m3fn",
        ),
        (
            lambda: aie.f32_to_fp8(BITS, ml_dtypes.float8_e5m2, rounding=12, shift=32),
            ValueError,
            "shift is 32; -32 to 31 are allowed",
        ),
        (lambda: aie.bf16_to_f32(BITS), TypeError, "bits is uint32; uint16 are allowed"),
        (lambda: aie.fp16_to_f32(BITS), TypeError, "bits is uint32; uint16 are allowed"),
        (lambda: aie.fp8_to_f32(LANE), TypeError, "x is bfloat16; float8_e4m3, float8_e5m2"),
        (lambda: aie.bf16_to_int32(BITS.astype(np.uint16), 1.5), ValueError, "shift is 1.5; -32 to 31 are allowed"),
        (lambda: aie.f32_dot(X[:8], X[:8], products=4), ValueError, "products is 4; 9, 6, 3 are allowed"),
        (lambda: aie.f32_dot(X[:8].astype(float), X[:8]), TypeError, "a is float64; float32 are allowed"),
        (lambda: aie.f32_dot(X[:8], X[:8].astype(float)), TypeError, "b is float64; float32 are allowed"),
        (lambda: aie.f32_dot(X, X), ValueError, r"a has shape \(16,\); \[..., 8\] is allowed, the depth of the mode"),
        (lambda: aie.split_f32(LANE), TypeError, "x is bfloat16; float32 are allowed"),
        (lambda: aie.exp2(LANE), TypeError, "x is bfloat16; float32 are allowed"),
        (lambda: aie.exp2(X, fmt="fp8"), ValueError, "fmt is 'fp8'; 'bf16', 'fp16' are allowed"),
        (lambda: aie.exp2_instruction(LANE), TypeError, "t is bfloat16; float32 are allowed"),
        (lambda: aie.tanh(LANE), TypeError, "x is bfloat16; float32 are allowed"),
        (lambda: aie.vector_op("mul", VECTOR, VECTOR, bits=8), ValueError, "op is 'mul'; 'add', 'sub', 'sel'"),
        (lambda: aie.vector_op(17, VECTOR, VECTOR, bits=8), ValueError, "op is 17; 0, 1, 2"),
        (lambda: aie.vector_op("add", VECTOR, VECTOR, bits=64), ValueError, "bits is 64; 8, 16, 32 are allowed"),
        (lambda: aie.vector_op("add", VECTOR, bits=8), TypeError, "b is NoneType; a numpy array is allowed"),
        (
            lambda: aie.vector_op("add", VECTOR, INTS, bits=8),
            ValueError,
            r"b has shape \(8,\); \[..., 64\] is allowed, with 8",
        ),
        (lambda: aie.vector_op("sel", VECTOR, VECTOR, bits=8), ValueError, "mask is None; with sel, a mask is allowed"),
        (
            lambda: aie.vector_op("add", VECTOR, VECTOR, bits=8, mask=VECTOR > 0),
            ValueError,
            "mask is given; with add, None is allowed",
        ),
        (
            lambda: aie.float_op("add", LANE, LANE),
            ValueError,
            "op is 'add'; 'min_ge', 'max_lt', 'lt', 'ge' are allowed",
        ),
        (
            lambda: aie.float_op("lt", LANE, LANE),
            ValueError,
            r"a has shape \(8,\); \[..., 32\] is allowed, for bfloat16",
        ),
        (lambda: aie.float_op("lt", LANE, FP8), TypeError, "b is float8_e5m2; bfloat16 are allowed"),
        (lambda: aie.shuffle(VECTOR, mode="T1_2x2"), ValueError, "mode is 'T1_2x2'; 'T512_1x2_lo'"),
        (lambda: aie.shuffle(VECTOR, mode=2), ValueError, "mode is 2; 0, 1, 18"),
        (lambda: aie.shuffle(VECTOR, mode=0), ValueError, "high is None; with mode T512_1x2_lo, a register is allowed"),
        (lambda: aie.shuffle(VECTOR, VECTOR, mode=72), ValueError, "high is given; with mode T8_8x8, None is allowed"),
        (lambda: aie.shuffle(VECTOR[:9], mode=72), ValueError, r"low has shape \(9,\); \[..., 64\] is allowed"),
        (
            lambda: aie.shuffle(VECTOR, mode=ShuffleMode(bits=16, rows=4, cols=4)),
            ValueError,
            "mode is T16_4x4; fields of whole bytes that fill 512 bits are allowed",
        ),
        (
            lambda: aie.shuffle_mx(REGISTERS, mode="T32_4x4"),
            ValueError,
            "mode is T32_4x4; for MX, fields of 64 bits and more are allowed",
        ),
        (lambda: aie.shuffle_mx(VECTOR, mode=106), TypeError, "low is ndarray; MxRegisters are allowed"),
        (
            lambda: aie.shuffle_mx(aie.to_registers(aie.to_mx(np.zeros(128, np.float32), "mx9")), mode=106),
            ValueError,
            "low has 128 bytes of data; 64 are allowed",
        ),
        (
            lambda: aie.shuffle_mx(REGISTERS, aie.to_registers(aie.to_mx(np.zeros(128, np.float32), "mx6")), mode=0),
            ValueError,
            "high is in mx6; mx9 is allowed, as low",
        ),
        (lambda: aie.vector_shift(VECTOR, count=65), ValueError, "count is 65; 0 to 64 are allowed"),
        (lambda: aie.push(VECTOR, 256, bits=8), ValueError, "scalar is 256; 0 to 255 are allowed"),
        (lambda: aie.push(VECTOR, 0, bits=64), ValueError, "bits is 64; 8, 16, 32 are allowed"),
        (lambda: aie.compress(VECTOR[:8]), ValueError, r"data has shape \(8,\); \(64,\) is allowed"),
        (lambda: aie.decompress(VECTOR[:4]), ValueError, r"stream has shape \(4,\); one axis of 8 or more is allowed"),
        (lambda: aie.decompress(VECTOR[:8] + np.uint8(1)), ValueError, "stream has 8 bytes; its mask asks for 16"),
        (lambda: aie.sparse_load(VECTOR, 4), ValueError, "entity_bytes is 4; 1, 2 are allowed"),
        (lambda: aie.to_sparse(VECTOR[:6]), ValueError, r"dense has shape \(6,\); \[..., 4 \* G\] is allowed"),
        (
            lambda: aie.SparseVector(VECTOR[:2], VECTOR[:1]),
            ValueError,
            r"slots have shape \(2,\); \(1, 2\) is allowed",
        ),
        (
            lambda: aie.SparseVector(VECTOR[:2].reshape(1, 2), VECTOR[:1] + np.uint8(16)),
            ValueError,
            "mask reaches 16; 4 bits are allowed",
        ),
        (lambda: aie.to_dense(VECTOR), TypeError, "b is ndarray; SparseVector is allowed"),
        (
            lambda: aie.sparse_dot(BLOCK, aie.to_sparse(VECTOR), fmt="mx9"),
            ValueError,
            "fmt is 'mx9'; 'bf16', 'fp16', 'fp8', 'int8', 'int16_64' are allowed",
        ),
        (
            lambda: aie.sparse_dot(LANE, aie.to_sparse(LANE), fmt="bf16"),
            ValueError,
            r"a has shape \(8,\); \[..., 16\] is allowed, with fmt 'bf16'",
        ),
        (
            lambda: aie.sparse_dot(np.tile(LANE, 2), aie.to_sparse(LANE), fmt="bf16"),
            ValueError,
            "b has 2 groups; 4 are allowed",
        ),
        (lambda: aie.Cascade().cycle(BITS), ValueError, r"write has shape \(4,\); \(16,\) is allowed"),
        (lambda: aie.Cascade().cycle(X), TypeError, "write is float32; uint32 are allowed"),
        (lambda: aie.timing("mx4"), ValueError, "mode is 'mx4'; 'int8', 'int16', 'int16_64', 'int32x16', 'float16'"),
        (lambda: aie.mx_mode("bf16"), ValueError, "fmt is 'bf16'; 'mx9', 'mx6', 'mx4' are allowed"),
        (
            lambda: aie.matmul(A, A.T, fmt="fp8"),
            ValueError,
            "fmt is 'fp8'; 'mx9', 'mx6', 'mx4', 'bf16', 'fp16', 'fp8_e4m3'",
        ),
        (lambda: aie.matmul(A, A, fmt="mx9"), ValueError, "b has 2 rows; 16 are allowed, as many as a has columns"),
        (lambda: aie.matmul(A[0], A, fmt="mx9"), ValueError, r"a has shape \(16,\); two dimensions of at least 1"),
        (lambda: aie.matmul(A[:0], A.T, fmt="mx9"), ValueError, r"a has shape \(0, 16\); two dimensions of at least 1"),
        (lambda: aie.matmul(A.astype(float), A.T, fmt="bf16"), TypeError, "a is float64; float32 are allowed"),
        (lambda: aie.matmul(A, A.T, fmt="int8"), TypeError, "a is float32; integer dtypes are allowed"),
        (
            lambda: aie.matmul(A.astype(int) + 128, A.T.astype(int), fmt="int8"),
            ValueError,
            "a reaches from 128 to 128; -128 to 127 are allowed",
        ),
        (
            lambda: aie.matmul(A, A.T, fmt="mx9", sparse=True),
            ValueError,
            "sparse is True; with fmt 'mx9', False is allowed, True with bf16, fp16, fp8_e4m3",
        ),
        (
            lambda: aie.matmul(A, A.T + 1, fmt="bf16", sparse=True),
            ValueError,
            "b has 4 nonzero numbers among four neighbours along K; 2 are allowed",
        ),
        (lambda: aie.to_sparse(VECTOR[:4] + 1), ValueError, "dense has the group 1111; two of four entities are"),
        (lambda: aie.to_mx(X, ["mx9"]), ValueError, r"fmt is \['mx9'\]; 'mx9', 'mx6', 'mx4' are allowed"),
        (lambda: aie.to_mx(X, "mx9", rounding=True), ValueError, "rounding is True; 0, 1, 2, 3, 8"),
        (lambda: aie.to_mx(X, "mx9", rounding=1.0), ValueError, "rounding is 1.0; 0, 1, 2, 3, 8"),
        (lambda: aie.to_mx(X, "mx9", numerics=AIE_ML_V2), TypeError, "numerics is Preset; AieNumerics or None is"),
        (lambda: aie.matmul(A.astype(int), A.T.astype(int), fmt="int8", rounding=4), ValueError, "rounding is 4; 0, 1"),
        (lambda: aie.srs(INTS, 0, acc_bits=32.0, out_bits=8), ValueError, "acc_bits is 32.0; 32, 64 are allowed"),
        (lambda: aie.f32_to_fp8(BITS, "e4m3", rounding=12), TypeError, "dtype is e4m3; float8_e4m3, float8_e5m2"),
        (lambda: aie.vector_op("add", *TWO_AND_THREE, bits=8), ValueError, r"they are a \(2,\), b \(3,\)"),
        (
            lambda: aie.float_op("lt", *(each.view(FP8.dtype) for each in TWO_AND_THREE)),
            ValueError,
            r"leading axes do not broadcast: they are a \(2,\), b \(3,\)",
        ),
        (lambda: aie.shuffle(*TWO_AND_THREE, mode=0), ValueError, r"they are low \(2,\), high \(3,\)"),
        (lambda: aie.vector_shift(*TWO_AND_THREE, count=0), ValueError, r"they are low \(2,\), high \(3,\)"),
        (
            lambda: aie.sparse_dot(LANES[:2], aie.to_sparse(LANES), fmt="bf16"),
            ValueError,
            r"leading axes do not broadcast: they are a \(2,\), b \(3,\)",
        ),
    ],
)
def test_errors(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"align_fraction_bits": 19}, "align_fraction_bits is 19; 20 to 26 are allowed"),
        (
            {"mx9_split_round": True, "mx_post_add_first": False},
            "mx9_split_round is True; with mx_post_add_first False, False is allowed",
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
