"""Every wrong argument raises one sentence: "NAME must be ..., not ..."."""

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE
from bitpath.golden.tensix.matmul import cycles

DST, SRC_B, SRC_A = (np.zeros((rows, 16), np.uint32) for rows in (8, 8, 16))
TWO, THREE = (np.zeros((blocks, 8, 16), np.uint32) for blocks in (2, 3))
WORD = np.zeros(16, np.uint32)
BIT_15, BIT_16, BIT_19 = (np.uint32(1 << bit) for bit in (15, 16, 19))
BYTES = np.zeros(64, np.uint8)
A = np.zeros((2, 2), np.float32)
TILE = np.zeros((64, 16), np.float32)
PROGRAM = tensix.matmul_program(A, A)


def mvmul(dst=DST, src_b=SRC_B, src_a=SRC_A, style="BF16", dst32=True, phase=0, **more):
    return tensix.mvmul(dst, src_b, src_a, style=style, dst32=dst32, phase=phase, **more)


def unpack(source="BF16", out="BF16", l1=BYTES, **more):
    return tensix.unpack(l1, source, out, **more)


def pack(mid="BF16", out="BF16", dst=WORD, dst32=False, **more):
    return tensix.pack(dst, mid, out, dst32=dst32, **more)


def movd2a(dst, srca_format="BF16", dst32=False, **more):
    return tensix.movd2a(dst, srca_format=srca_format, dst32=dst32, **more)


elwadd = partial(tensix.elwadd, style="BF16", dst32=True)
gmpool = partial(tensix.gmpool, DST, SRC_B, SRC_A)
mova2d = partial(tensix.mova2d, srca_format="BF16")
control = partial(tensix.UnpackControl, in_format=5, out_format=5)
raw_int8 = partial(pack, "INT8", "INT8", dst32=True, raw=True)

BROADCAST = "leading axes must broadcast, not be "
FORMATS = "format must be 'bf16', 'tf32', 'fp16', 'fp8', 'bfp8', 'bfp4', 'bfp2' or 'int8', not "
SRCB_FORMATS = "srcb_format must be FP32, FP16, BFP8A, BFP4A, TF32, BF16,"
MINUS_INFINITY = "edge_minus_infinity must be False with mid_format "

TYPES = [
    (lambda: mvmul(dst=DST.astype(np.int64)), "dst must be uint32, not int64"),
    (lambda: tensix.tile_image(TILE.astype(float), "fp8"), "tile must be float32, not float64"),
    (lambda: unpack(l1=BYTES.astype(int)), "l1 must be uint8 or uint32, not int64"),
    (lambda: pack(dst=A), "dst must be uint32, not float32"),
    (lambda: pack(edge_mask=np.ones(1)), "edge_mask must be an array of integers, not of float64"),
    (lambda: tensix.to_physical(A, "SRC"), "words must be uint32, not float32"),
    (lambda: tensix.matmul(A, A, format="int8"), "a must be an array of integers, not of float32"),
    (lambda: tensix.matmul(A.astype(float), A), "a must be float32, not float64"),
]
VALUES = [
    (lambda: mvmul(style="FP8"), "style must be 'BF16', 'FP16', 'TF32' or 'INT8', not 'FP8'"),
    (lambda: mvmul(phase=4), "phase must be 0 to 3, not 4"),
    (lambda: mvmul(style="INT8", dst32=False), "dst32 must be True with style INT8, not False"),
    (lambda: mvmul(srca_format="FP16"), "srca_format must be FP32, TF32, BF16, BFP8, BFP4, BFP2, INT32 or"),
    (lambda: mvmul(srcb_format="E4M3"), SRCB_FORMATS),
    (lambda: mvmul(srcb_format=12), f"{SRCB_FORMATS} BFP8, BFP4, INT32, INT16, FP8,"),
    (lambda: mvmul(src_b=SRC_A), "src_b must have shape [..., 8, 16], not (16, 16)"),
    (lambda: mvmul(src_a=SRC_A + BIT_19), "src_a must hold words of 19 bits, not 0x80000"),
    (lambda: mvmul(dst=DST + BIT_16, dst32=False), "dst must hold words of 16 bits, not 0x10000"),
    (lambda: mvmul(style="FP16", src_a=SRC_A + BIT_15), "src_a must hold exponents of 5 bits with FP16, not"),
    (lambda: mvmul(dst=TWO, src_b=THREE), f"{BROADCAST}dst (2,), src_b (3,), src_a"),
    (lambda: elwadd(DST, SRC_B, SRC_A), "src_a must have shape [..., 8, 16], not (16, 16)"),
    (lambda: elwadd(DST + BIT_16, SRC_B, SRC_B, dst32=False), "dst must hold words of 16 bits, not 0x10000"),
    (lambda: elwadd(DST, TWO, THREE), f"{BROADCAST}dst (), src_b (2,), src_a"),
    (
        lambda: gmpool(style="BF16", dst32=False, argmax=True),
        "dst32 must be True with argmax, whose index is in the lower half, not",
    ),
    (lambda: mvmul(chip="quasar"), "chip must be 'wormhole' or 'blackhole', not 'quasar'"),
    (lambda: mvmul(chip="blackhole", numerics=WORMHOLE.numerics), "chip must be None with numerics, not 'blackhole'"),
    (lambda: unpack("FP8", "FP8", e4m3=True), "e4m3 must be False with FP8 and numerics without fp8_e4m3, not True"),
    (
        lambda: pack("FP16", "BF16", dst32=True, round_10b=True, chip="blackhole"),
        "round_10b must be False with mid_format FP16 and out_format BF16, not True",
    ),
    (
        lambda: pack("FP32", "FP32", dst32=True, stochastic_bits=WORD),
        "stochastic_bits must be None with mid_format FP32",
    ),
    (lambda: pack(stochastic_bits=WORD[:3]), "stochastic_bits must be as many as dst has words, 16, not 3"),
    (
        lambda: tensix.sfp_stoch_rnd(WORD, 8),
        "mode must be FP16A (0), FP16B (1), UINT8 (2), INT8 (3), INT32_TO_UINT8 (4), INT32_TO_INT8 (5), UINT16 (6) or INT16",
    ),
    (lambda: tensix.sfp_stoch_rnd(WORD, 4, shift=32), "shift must be 0 to 31, not 32"),
    (lambda: tensix.sfp_stoch_rnd(WORD, 3, shift=1), "shift must be 0 with mode INT8, not 1"),
    (
        lambda: tensix.sfpload(WORD, 14),
        "lanes must be given with LO16_ONLY and HI16_ONLY alone, not None with LO16_ONLY",
    ),
    (lambda: tensix.sfpload(WORD | BIT_16, "FP16"), "words must hold words of 16 bits, not 0x10000"),
    (
        lambda: tensix.riscv_store(WORD.astype(np.uint8), 6),
        "format must be FP32 (0), INT32 (1), FP16 (2), BF16 (3), INT16",
    ),
    (
        lambda: tensix.sfp_stoch_rnd(WORD, 1, rounding="zero"),
        "rounding must be 'nearest' or 'stochastic' without sfpu_round_to_zero, not 'zero'",
    ),
    (
        lambda: tensix.sfp_stoch_rnd(WORD, 1, rounding="stochastic"),
        "bits must be given with rounding 'stochastic' alone, not None with 'stochastic'",
    ),
    (lambda: tensix.sfpstore(WORD, 0), "mode must be FP16 (1), BF16 (2), FP32 (3), INT32 (4), INT8 (5), UINT16 (6),"),
    (lambda: tensix.Prng(1 << 32), "seed must be 0 to 4294967295, not 4294967296"),
    (lambda: mova2d(DST[:1], SRC_B), "dst must have the shape of the moved rows, (8, 16), not (1, 16)"),
    (lambda: mova2d(DST, SRC_B, srca_format="TF32", low_half=True), "low_half must be False with TF32, not True"),
    (
        lambda: mova2d(DST, SRC_B, fp32_enabled=True, low_half=True, chip="blackhole"),
        "low_half must be False with Fp32_enabled, not True",
    ),
    (lambda: movd2a(DST, srca_format="TF32"), "dst32 must be True and low_half False with TF32, not False and False"),
    (lambda: movd2a(DST, low_half=True), "low_half must be False without dst32, not True"),
    (lambda: control(row_stride=24), "row_stride must be a multiple of 16, not 24"),
    (
        lambda: control(row_stride=32, col_shift=1),
        "row_stride must be None with col_shift 1 and upsample_rate 0, not 32",
    ),
    (
        lambda: control(to_dst=True, transpose=True),
        "to_dst must be False with transpose True and col_shift 0, not True",
    ),
    (
        lambda: tensix.unpack_tile(BYTES, control(transpose=True), first_datum=4, count=8),
        "first_datum must be at a multiple of 16 bytes with BF16, not 4",
    ),
    (
        lambda: tensix.unpack_tile(BYTES, control(in_format=7, row_stride=16), count=16),
        "row_stride must be None with BFP4, not 16",
    ),
    (lambda: tensix.mx_pack(A, "MXFP4"), "x must hold a multiple of 32 numbers, not 4"),
    (lambda: tensix.mx_pack(TILE, "MXFP4", scale_rule="up"), "scale_rule must be 'floor' or 'ceil', not 'up'"),
    (
        lambda: tensix.mx_unpack(BYTES, "MXFP5"),
        "format must be 'MXFP8R', 'MXFP8P', 'MXFP6R', 'MXFP6P', 'MXFP4', 'MXINT8',",
    ),
    (lambda: tensix.mx_unpack(BYTES, "MXFP4", count=33), "count must be a multiple of 32, not 33"),
    (lambda: tensix.mx_unpack(BYTES, "MXFP4"), "l1 must have 544 or more bytes, not 64"),
    (lambda: tensix.broadcast_src_b(SRC_B + BIT_19), "src_b must hold words of 19 bits, not 0x80000"),
    (lambda: tensix.broadcast_src_b(SRC_B, row=8), "row must be 0 to 7, not 8"),
    (lambda: tensix.broadcast_src_b(SRC_A), "src_b must have shape [..., 8, 16], not (16, 16)"),
    (lambda: tensix.result_matrix(PROGRAM, SRC_A), "dst must have shape [1, 1, 64, 16], not (16, 16)"),
    (lambda: tensix.tile_image(A, "bf16"), "tile must have shape [64, 16], not (2, 2)"),
    (lambda: tensix.tile_image(TILE, "mxfp4"), f"{FORMATS}'mxfp4'"),
    (lambda: unpack(out="FP16"), "out_format must be BF16 from BF16, not FP16"),
    (unpack, "l1 must have 512 or more bytes, not 64"),
    (lambda: unpack("BFP8", "BFP8", count=17), "count must be a multiple of 16 with in_format BFP8, not 17"),
    (lambda: unpack(count=0), "count must be 1 or more, not 0"),
    (lambda: unpack(l1=BYTES.reshape(8, 8)), "l1 must have one axis, not shape (8, 8)"),
    (lambda: unpack(unsigned=True), "unsigned must be False with in_format BF16, not True"),
    (
        lambda: unpack("BFP8A", "BFP8A", BYTES + np.uint8(32), count=16),
        "l1 holds the exponent 32; BFP8A has 5 exponent bits",
    ),
    (
        lambda: unpack("BFP8A", "FP16", count=16, forced_exponent=32),
        "forced_exponent must be 0 to 31 for BFP8A, not 32",
    ),
    (lambda: unpack(count=16, forced_exponent=1), "forced_exponent must be None with in_format BF16, not 1"),
    (lambda: pack("FP16", "FP16", dst32=True), "mid_format must be FP32, TF32, BF16, BFP8, INT32, INT8 or INT16 with"),
    (lambda: pack("INT8", dst32=True), "out_format must be INT8 from INT8, not BF16"),
    (lambda: pack("FP32", "TF32", dst32=True), "out_format must be FP32, BF16, FP16, FP8, BFP8, BFP4, BFP2, BFP8A,"),
    (lambda: pack(out="BFP8", dst=WORD[:9]), "dst must have a multiple of 16 words with out_format BFP8, not 9"),
    (lambda: pack(dst=WORD + BIT_16), "dst must hold words of 16 bits, not 0x10000"),
    (lambda: pack(relu=4), "relu must be 0 to 3, not 4"),
    (lambda: pack("INT32", "INT32", dst32=True, relu=2), "relu must be 0 or 1 with mid_format INT32, not 2"),
    (
        lambda: pack(relu=2, relu_threshold=0x8000),
        "relu_threshold must be 0 to 32767, a pattern without sign, not 32768",
    ),
    (lambda: pack(out="BFP8", l1=BYTES), "out_format must be FP32, BF16 or FP16 with l1, not BFP8"),
    (lambda: pack(l1=BYTES[:30]), "l1 must have 32 or more bytes, not 30"),
    (lambda: pack(unsigned=True), "unsigned must be False with mid_format BF16, not True"),
    (lambda: pack(edge_mask=1 << 16), "edge_mask must be 0 to 65535, not 65536"),
    (lambda: pack(edge_mask=np.array([1, 2])), "edge_mask must be one mask or one for each of 1 rows, not of shape"),
    (lambda: pack(dst=WORD[:9], edge_mask=1), "dst must have a multiple of 16 words with an edge_mask, not 9"),
    (lambda: pack(edge_minus_infinity=True), f"{MINUS_INFINITY}BF16 and edge_mask None, not True"),
    (
        lambda: pack("INT16", "INT16", edge_mask=1, edge_minus_infinity=True),
        f"{MINUS_INFINITY}INT16 and edge_mask given, not True",
    ),
    (lambda: pack(exponent_threshold=256), "exponent_threshold must be 0 to 255, not 256"),
    (lambda: pack("INT16", "INT16", exponent_threshold=1), "exponent_threshold must be 0 with mid_format INT16, not 1"),
    (lambda: pack(descale_shift=32), "descale_shift must be 0 to 31, not 32"),
    (lambda: pack(descale_shift=1), "descale_shift must be 0 with mid_format BF16 and raw False, not 1"),
    (lambda: raw_int8(descale_shift=1), "descale_shift must be 0 with mid_format INT8 and raw True, not 1"),
    (lambda: pack(round_10b=True), "round_10b must be False with mid_format BF16 and out_format BF16, not True"),
    (lambda: tensix.to_physical(WORD, "DST"), "layout must be 'SRC', 'DST16_BF16', 'DST16_FP16' or 'DST32', not 'DST'"),
    (lambda: tensix.to_physical(WORD + BIT_19, "SRC"), "words must hold words of 19 bits, not 0x80000"),
    (lambda: tensix.phases("HiFi1"), "fidelity must be 'LoFi', 'HiFi2', 'HiFi3' or 'HiFi4', not 'HiFi1'"),
    (lambda: tensix.matmul(A, A, format="mxfp8"), f"{FORMATS}'mxfp8'"),
    (lambda: tensix.matmul(A.astype(int) - 128, A, format="int8"), "a must be -127 to 127, not -128 to -128"),
    (lambda: tensix.matmul(A, A[:1]), "b must have 2 rows, as many as a has columns, not 1"),
    (lambda: tensix.matmul(A[0], A), "a must have two dimensions of at least 1, not shape (2,)"),
    (lambda: tensix.matmul(A, A * np.float32("nan")), "b holds NaN, which the Matrix unit"),
    (lambda: tensix.matmul(A, A, format="int8", dst32=False), "dst32 must be True with style INT8, not False"),
    (lambda: cycles.tflops("SFPMAD"), "operation must be 'MVMUL', 'DOTPV', 'GAPOOL', 'MVMUL_ROW', 'ELWMUL',"),
    (lambda: cycles.tflops("MVMUL", 0), "phase_count must be 1 to 4 for MVMUL, not 0"),
    (lambda: cycles.tflops("GMPOOL", 2), "phase_count must be 1 to 1 for GMPOOL, not 2"),
    (lambda: cycles.board_tflops("e75", "LoFi"), "board must be 'n150s' or 'n300s', not 'e75'"),
    (lambda: replace(WORMHOLE.numerics, group=5), "group must be 4, 8 or 16, not 5"),
    (lambda: replace(WORMHOLE.numerics, product_guard_bits=-1), "product_guard_bits must be 0 to 13, not -1"),
    (lambda: replace(WORMHOLE.numerics, product_guard_bits=14), "product_guard_bits must be 0 to 13, not 14"),
    (lambda: replace(WORMHOLE.numerics, src_a_row_step=4), "src_a_row_step must be 8 or 16, not 4"),
]


def test_wrong_types(subtests):
    for call, says in TYPES:
        with subtests.test(says), pytest.raises(TypeError, match=re.escape(says)):
            call()


def test_wrong_values(subtests):
    for call, says in VALUES:
        with subtests.test(says), pytest.raises(ValueError, match=re.escape(says)):
            call()


def test_every_preset_says_where_each_field_comes_from():
    for preset in PRESETS.values():
        assert all(source.where for source in preset.sources.values())


def test_format_codes():
    codes = "FP32=0 FP16=1 BFP8A=2 BFP4A=3 TF32=4 BF16=5 BFP8=6 BFP4=7 INT32=8 INT16=9 FP8=10 BFP2A=11 INT8=14 BFP2=15"
    assert " ".join(f"{each.name}={int(each)}" for each in Format) == codes
    assert np.array_equal(mvmul(srca_format=5), mvmul(srca_format=Format.BF16))
