"""Every wrong argument raises an error of one sentence: "NAME must be ..., not ..."."""

import re
from dataclasses import replace
from functools import partial

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.choices import CHOICES
from bitpath.golden.aie_ml_v2.declarations.mover import ShuffleMode
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS

X = np.zeros(16, np.float32)
DOUBLE = X.astype(float)
BITS = np.zeros(4, np.uint32)
LANE = np.zeros(8, ml_dtypes.bfloat16)
LANES = np.zeros((3, 16), ml_dtypes.bfloat16)
FP8 = np.zeros(8, ml_dtypes.float8_e5m2)
BLOCKS = aie.to_mx(np.zeros(64, np.float32), "mx9")
BLOCK = BLOCKS[:1]
EXPONENT, SHIFT, CODES = BLOCK.exponent, BLOCK.shift, BLOCK.codes
VECTOR = np.zeros(64, np.uint8)
TWO_AND_THREE = np.zeros((2, 64), np.uint8), np.zeros((3, 64), np.uint8)
REGISTERS = aie.to_registers(BLOCKS)
F, G, E = REGISTERS.f, REGISTERS.g, REGISTERS.e
LARGE_G = aie.MxRegisters("mx9", VECTOR, F, G + np.uint8(16), E)
MX4_OF_ONES = aie.MxRegisters("mx4", VECTOR + np.uint8(1), VECTOR[:16], VECTOR[:8], VECTOR[:8])
LONG_MX9, MX6 = (aie.to_registers(aie.to_mx(np.zeros(128, np.float32), fmt)) for fmt in ("mx9", "mx6"))
A = np.zeros((2, 16), np.float32)
INTEGERS = A.astype(int)
INTS = np.zeros(8, np.int8)
INT32_END = np.array(1 << 31)
SPARSE = aie.to_sparse(LANE)
THIRDS = ShuffleMode(bits=16, rows=3, cols=4)

blocks = partial(aie.MxBlocks, "mx9")
dot = partial(aie.fused_dot, format="bf16")
int_dot = partial(aie.integer_dot, mode="int8")
matmul = partial(aie.matmul, format="mx9")
shuffle_mx = partial(aie.shuffle_mx, REGISTERS)
sparse_dot = partial(aie.sparse_dot, format="bf16")
sparse_matmul = partial(aie.matmul, A, sparse=True)
srs = partial(aie.srs, INTS, out_bits=8)
to_mx = partial(aie.to_mx, X, "mx9")
vector_op = partial(aie.vector_op, bits=8)

BROADCAST = "leading axes must broadcast, not be "
FP8_DTYPES = "float8_e4m3, float8_e5m2, float8_e4m3fn,"
FLAGGED = "fused_dot, f32_to_bf16, f32_to_fp16, f32_to_fp8, bf16_to_int32, to_mx, srs or ups"
ROUNDINGS = "rounding must be 0, 1, 2, 3, 8, 9, 10, 11, 12 or 13, not "
SHUFFLES = "mode must be 0, 1, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28,"

TYPES = [
    (lambda: aie.to_mx(DOUBLE, "mx9"), "x must be float32, not float64"),
    (lambda: aie.to_mx([1.0], "mx9"), "x must be float32, not float64"),
    (lambda: aie.to_mx(["1"], "mx9"), "x must be a numpy array, not a list"),
    (lambda: aie.to_mx(X, ["mx9"]), "format must be 'mx9', 'mx6', 'mx4' or 'bfp16ebs8', not a list"),
    (lambda: to_mx(rounding=True), "rounding must be 0, 1, 2, 3, 8"),
    (lambda: to_mx(rounding=1.0), "rounding must be 0, 1, 2, 3, 8"),
    (lambda: to_mx(numerics=AIE_ML_V2), "numerics must be an AieNumerics (preset.numerics), not a Preset"),
    (lambda: aie.from_mx(X), "blocks must be a MxBlocks, not a ndarray"),
    (lambda: blocks(EXPONENT, SHIFT.astype(int), CODES), "shift must be uint8, not int64"),
    (lambda: blocks(X, X, X), "exponent must be uint8, not float32"),
    (lambda: aie.from_registers(VECTOR), "registers must be a MxRegisters, not a ndarray"),
    (lambda: dot(LANE, FP8), "b must be float16 or bfloat16, not float8_e5m2"),
    (lambda: dot(FP8, LANE, format="fp8"), f"b must be {FP8_DTYPES} float8_e4m3fnuz or"),
    (lambda: dot(LANE, LANE, DOUBLE), "acc1 must be float32, not float64"),
    (lambda: dot(LANE, BLOCK, format="mx9"), "a must be a MxBlocks, not a ndarray"),
    (lambda: int_dot(LANE, INTS), "a must be an array of integers, not of bfloat16"),
    (lambda: aie.srs(X, 0, out_bits=8), "acc must be an array of integers, not of float32"),
    (lambda: srs(0, acc_bits=32.0), "acc_bits must be an integer, not 32.0"),
    (lambda: aie.f32_to_bf16(X, rounding=12), "bits must be uint32, not float32"),
    (lambda: aie.f32_to_bf16(BITS, rounding=12, saturate=1.0), "saturate must be an integer, not 1.0"),
    (lambda: aie.with_flags("srs", X), "function must be a function, not 'srs'"),
    (lambda: aie.with_flags(aie.srs, INTS), "arguments must be those of srs: missing a required"),
    (lambda: aie.f32_to_fp8(BITS, np.float16, rounding=12), f"dtype must be {FP8_DTYPES}"),
    (lambda: aie.f32_to_fp8(BITS, "e4m3", rounding=12), f"dtype must be {FP8_DTYPES}"),
    (lambda: aie.bf16_to_f32(BITS), "bits must be uint16, not uint32"),
    (lambda: aie.fp16_to_f32(BITS), "bits must be uint16, not uint32"),
    (lambda: aie.fp8_to_f32(LANE), f"x must be {FP8_DTYPES} float8_e4m3fnuz or"),
    (lambda: aie.bf16_to_int32(BITS.astype(np.uint16), 1.5), "shift must be an integer, not 1.5"),
    (lambda: aie.f32_dot(DOUBLE[:8], X[:8]), "a must be float32, not float64"),
    (lambda: aie.f32_dot(X[:8], DOUBLE[:8]), "b must be float32, not float64"),
    (lambda: aie.split_f32(LANE), "x must be float32, not bfloat16"),
    (lambda: aie.exp2(LANE), "x must be float32, not bfloat16"),
    (lambda: aie.exp2_instruction(LANE), "t must be float32, not bfloat16"),
    (lambda: aie.tanh(LANE), "x must be float32, not bfloat16"),
    (lambda: vector_op("add", VECTOR), "b must be a numpy array, not None"),
    (lambda: aie.float_op("lt", LANE, FP8), "b must be bfloat16, not float8_e5m2"),
    (lambda: aie.pack_mask(VECTOR), "mask must be bool, not uint8"),
    (lambda: aie.unpack_mask(INTS, lanes=16), "bits must be uint32 or uint64, not int8"),
    (lambda: aie.shuffle_mx(VECTOR, mode=106), "low must be a MxRegisters, not a ndarray"),
    (lambda: aie.to_dense(VECTOR), "sparse must be a SparseVector, not a ndarray"),
    (lambda: aie.Cascade().cycle(X), "write must be uint32, not float32"),
    (lambda: matmul(A.astype(float), A.T, format="bf16"), "a must be float32, not float64"),
    (lambda: matmul(A, A.T, format="int8"), "a must be an array of integers, not of float32"),
]
VALUES = [
    (lambda: aie.to_mx(X, "mx8"), "format must be 'mx9', 'mx6', 'mx4' or 'bfp16ebs8', not 'mx8'"),
    (lambda: to_mx(rounding=4), f"{ROUNDINGS}4"),
    (lambda: aie.to_mx(X[:9], "mx9"), "x must have shape [..., 16 * B] with B of at least 1, not (9,)"),
    (lambda: aie.MxBlocks("mx4", EXPONENT, SHIFT, CODES + np.int8(4)), "codes reach from 4 to 4; mx4 has -4 to 3"),
    (lambda: blocks(EXPONENT, BLOCKS.shift, CODES), "shift must have exponent's shape (1,), not (4,)"),
    (lambda: blocks(EXPONENT, SHIFT, CODES[:, :8]), "codes must have shape [1, 16] with at least two axes, not (1, 8)"),
    (lambda: aie.unpack_mx(VECTOR, "mx9"), "data must have shape [..., B, 18] for mx9, not (64,)"),
    (lambda: aie.to_registers(BLOCK), "blocks must have 4, 8 or 16 blocks on the last axis, not 1"),
    (lambda: aie.MxRegisters("mx9", VECTOR[:9], F, G, E), "data must have a last axis of 64, 128 or 256, not (9,)"),
    (lambda: aie.MxRegisters("mx9", VECTOR, F, VECTOR, E), "g must have shape (8,), not (64,)"),
    (lambda: aie.from_registers(LARGE_G), "g must be 0 to 0xf, not 0x10"),
    (lambda: aie.from_registers(MX4_OF_ONES), "data must hold zeros below the bits of mx4's codes, not ones"),
    (
        lambda: dot(LANE, LANE, format="tf32"),
        "format must be 'bf16', 'fp16', 'fp8', 'mx9', 'mx6', 'mx4' or 'bfp16ebs8', not 'tf32'",
    ),
    (lambda: dot(LANE[:4], LANE), "a must have shape [..., 8] or [..., 1], not (4,)"),
    (lambda: dot(FP8[:1], FP8[:1], format="fp8"), "a must have shape [..., 8], not (1,)"),
    (lambda: dot(LANE[:1], LANE), "a and b must have the same last axis, not shapes (1,) and (8,)"),
    (lambda: dot(np.stack([LANE] * 2), LANE, X[:3]), f"{BROADCAST}a (2,), b (), acc1 (3,)"),
    (lambda: dot(BLOCK, BLOCK, format="mx6"), "a must be in mx6 with format 'mx6', not in mx9"),
    (lambda: dot(BLOCK, BLOCKS, format="mx9"), "b must have 1 block on its last axis, not 4"),
    (lambda: aie.add_accumulators(X[:2], X[:3]), f"{BROADCAST}acc1 (2,), acc2 (3,)"),
    (lambda: int_dot(INTS, INTS, mode="int4"), "mode must be 'int8', 'int16', 'int16_64' or 'int32x16', not 'int4'"),
    (lambda: int_dot(INTS - 1, INTS, signed_a=False), "a must be 0 to 255, not -1 to -1"),
    (lambda: int_dot(INTS[:3], INTS), "a must have shape [..., K] with K of 1, 2 or 8, not (3,)"),
    (lambda: int_dot(INTS, INTS[:2]), "b must have shape [..., 8] as a, not (2,)"),
    (lambda: int_dot(INTS, INTS, INT32_END), "acc1 must be -2147483648 to 2147483647, not 2147483648 to 2147483648"),
    (lambda: srs(64), "shift must be -4 to 63, not 64"),
    (lambda: srs(0, out_bits=32), "out_bits must be 8 or 16, not 32"),
    (lambda: srs(0, acc_bits=48), "acc_bits must be 32 or 64, not 48"),
    (lambda: srs(0, saturate=2), "saturate must be 0, 1 or 3, not 2"),
    (lambda: aie.ups(INTS, -1), "shift must be 0 to 63, not -1"),
    (lambda: aie.ups(np.array([40000]), 0), "x must be -32768 to 32767, not 40000 to 40000"),
    (lambda: aie.f32_to_fp16(BITS, rounding=7), f"{ROUNDINGS}7"),
    (lambda: aie.f32_to_fp16(BITS, rounding=12, saturate=4), "saturate must be 0 to 3, not 4"),
    (lambda: aie.f32_to_int32(BITS, 32, rounding=12), "shift must be -32 to 31, not 32"),
    (lambda: aie.with_flags(aie.tanh, X), f"function must be {FLAGGED}, not tanh"),
    (lambda: aie.f32_to_fp8(BITS, ml_dtypes.float8_e5m2, rounding=12, shift=32), "shift must be -32 to 31, not 32"),
    (lambda: aie.f32_dot(X[:8], X[:8], products=4), "products must be 9, 6 or 3, not 4"),
    (lambda: aie.f32_dot(X, X), "a must have shape [..., 8] the depth of the mode, not (16,)"),
    (lambda: aie.exp2(X, format="fp8"), "format must be 'bf16', 'fp16' or 'fp32', not 'fp8'"),
    (lambda: vector_op("mul", VECTOR, VECTOR), "op must be 'add', 'sub', 'sel', 'addsub', 'and', 'or',"),
    (lambda: vector_op(17, VECTOR, VECTOR), "op must be 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,"),
    (lambda: vector_op("add", VECTOR, VECTOR, bits=64), "bits must be 8, 16 or 32, not 64"),
    (lambda: vector_op("add", VECTOR, INTS), "b must have shape [..., 64] with 8 bits, not (8,)"),
    (lambda: vector_op("add", *TWO_AND_THREE), f"{BROADCAST}a (2,), b (3,)"),
    (lambda: vector_op("sel", VECTOR, VECTOR), "mask must be a mask with sel, not None"),
    (lambda: vector_op("add", VECTOR, VECTOR, mask=VECTOR > 0), "mask must be None with add, not given"),
    (lambda: aie.float_op("add", LANE, LANE), "op must be 'min_ge', 'max_lt', 'lt' or 'ge', not 'add'"),
    (lambda: aie.float_op("lt", LANE, LANE), "a must have shape [..., 32] for bfloat16, not (8,)"),
    (lambda: aie.float_op("lt", *(each.view(FP8.dtype) for each in TWO_AND_THREE)), f"{BROADCAST}a (2,), b (3,)"),
    (lambda: aie.shuffle(VECTOR, mode="T1_2x2"), "mode must be 'T512_1x2_lo', 'T512_1x2_hi', 'T256_2x2_lo',"),
    (lambda: aie.shuffle(VECTOR, mode=2), SHUFFLES),
    (lambda: aie.shuffle(VECTOR, mode=0), "high must be a register with mode T512_1x2_lo, not None"),
    (lambda: aie.shuffle(VECTOR, VECTOR, mode=72), "high must be None with mode T8_8x8, not given"),
    (lambda: aie.shuffle(VECTOR[:9], mode=72), "low must have shape [..., 64], not (9,)"),
    (
        lambda: aie.shuffle(VECTOR, mode=THIRDS),
        "mode must have fields of whole bytes and a matrix that divides 512 bits, not be T16_3x4",
    ),
    (lambda: aie.shuffle(*TWO_AND_THREE, mode=0), f"{BROADCAST}low (2,), high (3,)"),
    (lambda: shuffle_mx(mode="T32_4x4"), "mode must have fields of 64 bits or more for MX, not be T32_4x4"),
    (lambda: aie.shuffle_mx(LONG_MX9, mode=106), "low must have 64 bytes of data, not 128"),
    (lambda: shuffle_mx(MX6, mode=0), "high must be in low's format mx9, not in mx6"),
    (lambda: aie.vector_shift(VECTOR, count=65), "count must be 0 to 64, not 65"),
    (lambda: aie.vector_shift(*TWO_AND_THREE, count=0), f"{BROADCAST}low (2,), high (3,)"),
    (lambda: aie.push(VECTOR, 256, bits=8), "scalar must be 0 to 255, not 256"),
    (lambda: aie.push(VECTOR, 0, bits=128), "bits must be 8, 16, 32 or 64, not 128"),
    (lambda: aie.insert(VECTOR, -1, 0, bits=8), "index must be 0 to 4294967295, not -1"),
    (lambda: aie.insert(VECTOR, 0, 1 << 16, bits=16), "scalar must be 0 to 65535, not 65536"),
    (lambda: aie.extract(VECTOR[1:], 0, bits=8), "register must have shape [..., 64], not (63,)"),
    (lambda: aie.extract(VECTOR, 0, bits=128), "bits must be 8, 16, 32 or 64, not 128"),
    (lambda: aie.broadcast(0, bits=128), "bits must be 8, 16, 32 or 64, not 128"),
    (lambda: aie.extract_broadcast(VECTOR, 0, bits=256), "bits must be 8, 16, 32, 64 or 128, not 256"),
    (lambda: aie.pack_mask(VECTOR[:8] > 0), "mask must have a last axis of 16, 32 or 64, not (8,)"),
    (lambda: aie.unpack_mask(BITS, lanes=64), "lanes must be 16 or 32, not 64"),
    (lambda: aie.compress(VECTOR[:8]), "data must have shape (64,), not (8,)"),
    (lambda: aie.decompress(VECTOR[:4]), "stream must have one axis of 8 or more, not shape (4,)"),
    (lambda: aie.decompress(VECTOR[:8] + np.uint8(1)), "stream has 8 bytes; its mask asks for 16"),
    (lambda: aie.sparse_load(VECTOR, 4), "entity_bytes must be 1 or 2, not 4"),
    (lambda: aie.to_sparse(VECTOR[:6]), "dense must have shape [..., 4 * G], not (6,)"),
    (lambda: aie.to_sparse(VECTOR[:4] + 1), "dense must set two bits in each group of four, not 1111"),
    (lambda: aie.SparseVector(VECTOR[:2], VECTOR[:1]), "slots must have shape (1, 2), not (2,)"),
    (lambda: aie.SparseVector(VECTOR[np.newaxis, :2], G[:1] + np.uint8(16)), "mask must hold words of 4 bits, not 16"),
    (
        lambda: sparse_dot(LANE, SPARSE, format="mx9"),
        "format must be 'bf16', 'fp16', 'fp8', 'int8' or 'int16_64', not 'mx9'",
    ),
    (lambda: sparse_dot(LANE, SPARSE), "a must have shape [..., 16] with format 'bf16', not (8,)"),
    (lambda: sparse_dot(LANES, SPARSE), "b must have 4 groups, not 2"),
    (lambda: sparse_dot(LANES[:2], aie.to_sparse(LANES)), f"{BROADCAST}a (2,), b (3,)"),
    (lambda: aie.Cascade().cycle(BITS), "write must have shape (16,), not (4,)"),
    (lambda: aie.timing("mx4"), "mode must be 'int8', 'int16', 'int16_64', 'int32x16', 'float16',"),
    (lambda: aie.mx_mode("bf16"), "format must be 'mx9', 'mx6', 'mx4' or 'bfp16ebs8', not 'bf16'"),
    (
        lambda: matmul(A, A.T, format="fp8"),
        "format must be 'mx9', 'mx6', 'mx4', 'bfp16ebs8', 'bf16', 'fp16', 'fp8_e4m3',",
    ),
    (lambda: matmul(A, A), "b must have 16 rows, as many as a has columns, not 2"),
    (lambda: matmul(A[0], A), "a must have two dimensions of at least 1, not shape (16,)"),
    (lambda: matmul(A[:0], A.T), "a must have two dimensions of at least 1, not shape (0, 16)"),
    (lambda: matmul(INTEGERS + 128, INTEGERS.T, format="int8"), "a must be -128 to 127, not 128 to 128"),
    (lambda: matmul(INTEGERS, INTEGERS.T, format="int8", rounding=4), f"{ROUNDINGS}4"),
    (
        lambda: sparse_matmul(A.T, format="mx9"),
        "format must be bf16, fp16, fp8_e4m3, fp8_e5m2, fp8_e4m3fn, fp8_e4m3fnuz,",
    ),
    (
        lambda: sparse_matmul(A.T + 1, format="bf16"),
        "b must have 2 nonzero numbers among four neighbours along K, not 4",
    ),
    (lambda: replace(AIE_ML_V2.numerics, align_fraction_bits=19), "align_fraction_bits must be 20 to 26, not 19"),
    (
        lambda: replace(AIE_ML_V2.numerics, mx9_split_round=True, mx_post_add_first=False),
        "mx9_split_round must be False with mx_post_add_first False, not True",
    ),
]


def test_wrong_types(subtests):
    for call, says in TYPES:
        with subtests.test(says), pytest.raises(TypeError, match=re.escape(says)):
            call()


def test_wrong_values(subtests):
    for call, says in VALUES:
        with subtests.test(says), pytest.raises(ValueError, match=re.escape(says)):
            call()


def test_every_preset_and_choice_says_where_it_comes_from():
    sources = [source for preset in PRESETS.values() for source in preset.sources.values()]
    sources += [choice.source for choice in CHOICES]
    assert all(source.where for source in sources)
    assert {source.kind for source in sources} == {"documented", "measured", "inferred", "chosen"}
    assert list(PRESETS) == [preset.name for preset in PRESETS.values()]
