"""Every wrong argument is one sentence that names it, what it was, and what is allowed."""

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import PRESETS, WORMHOLE, TensixNumerics
from bitpath.golden.tensix.matmul import cycles

DST, SRC_B, SRC_A = (np.zeros((rows, 16), np.uint32) for rows in (8, 8, 16))
WORD = np.zeros(16, np.uint32)
BYTES = np.zeros(64, np.uint8)
A = np.zeros((2, 2), np.float32)
TILE = np.zeros((64, 16), np.float32)


def mvmul(dst=DST, src_b=SRC_B, src_a=SRC_A, style="BF16", dst32=True, phase=0, **more):
    return tensix.mvmul(dst, src_b, src_a, style=style, dst32=dst32, phase=phase, **more)


def pack(mid="BF16", out="BF16", dst=WORD, dst32=False, **more):
    return tensix.pack(dst, mid, out, dst32=dst32, **more)


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: mvmul(style="FP8"), ValueError, "style is 'FP8'; 'BF16', 'FP16', 'TF32', 'INT8' are allowed"),
        (lambda: mvmul(phase=4), ValueError, "phase is 4; 0 to 3 are allowed"),
        (lambda: mvmul(style="INT8", dst32=False), ValueError, "dst32 is False; with style INT8, True is allowed"),
        (lambda: mvmul(srca_format="FP16"), ValueError, "srca_format is FP16; with style BF16, FP32,"),
        (lambda: mvmul(srcb_format="E4M3"), ValueError, "srcb_format is 'E4M3'; FP32, FP16,"),
        (lambda: mvmul(srcb_format=12), ValueError, "srcb_format is 12; FP32, FP16,"),
        (lambda: mvmul(dst=DST.astype(np.int64)), TypeError, "dst is int64; uint32 is allowed"),
        (lambda: mvmul(src_b=SRC_A), ValueError, r"src_b has shape \(16, 16\); \[..., 8, 16\] is allowed"),
        (lambda: mvmul(src_a=SRC_A + np.uint32(1 << 19)), ValueError, "src_a holds words up to 0x80000; 19 bits"),
        (
            lambda: mvmul(dst=DST + np.uint32(1 << 16), dst32=False),
            ValueError,
            "dst holds words up to 0x10000; 16 bits",
        ),
        (
            lambda: mvmul(style="FP16", src_a=SRC_A + np.uint32(1 << 15)),
            ValueError,
            "src_a holds exponents above 31; FP16 has 5 exponent bits",
        ),
        (
            lambda: mvmul(dst=np.zeros((2, 8, 16), np.uint32), src_b=np.zeros((3, 8, 16), np.uint32)),
            ValueError,
            r"leading axes do not broadcast: the shapes are dst \(2, 8, 16\), src_b \(3, 8, 16\), src_a \(16, 16\)",
        ),
        (
            lambda: tensix.elwadd(DST, SRC_B, SRC_A, style="BF16", dst32=True),
            ValueError,
            r"src_a has shape \(16, 16\); \[..., 8, 16\] is allowed",
        ),
        (
            lambda: tensix.gmpool(DST, SRC_B, SRC_A, style="FP16", dst32=True),
            ValueError,
            "dst32 is True; with style FP16, False is allowed",
        ),
        (
            lambda: tensix.elwadd(DST + np.uint32(1 << 16), SRC_B, SRC_B, style="BF16", dst32=False),
            ValueError,
            "dst holds words up to 0x10000; 16 bits",
        ),
        (
            lambda: tensix.elwadd(DST, *(np.zeros((n, 8, 16), np.uint32) for n in (2, 3)), style="BF16", dst32=True),
            ValueError,
            r"leading axes do not broadcast: the shapes are dst \(8, 16\), src_b \(2, 8, 16\), src_a \(3, 8, 16\)",
        ),
        (lambda: tensix.broadcast_src_b(SRC_B + np.uint32(1 << 19)), ValueError, "src_b holds words up to 0x80000"),
        (lambda: tensix.broadcast_src_b(SRC_B, row=8), ValueError, "row is 8; 0 to 7 are allowed"),
        (lambda: tensix.broadcast_src_b(SRC_A), ValueError, r"src_b has shape \(16, 16\); \[..., 8, 16\] is allowed"),
        (lambda: tensix.tile_image(A, "bf16"), ValueError, r"tile has shape \(2, 2\); \(64, 16\) is allowed"),
        (lambda: tensix.tile_image(TILE, "mxfp4"), ValueError, "fmt is 'mxfp4'; 'bf16', 'tf32'"),
        (lambda: tensix.tile_image(TILE.astype(float), "fp8"), TypeError, "tile is float64; with fmt 'fp8', float32"),
        (lambda: tensix.unpack(BYTES, "BF16", "FP16"), ValueError, "out_format is FP16; from BF16, BF16 are allowed"),
        (lambda: tensix.unpack(BYTES, "BF16", "BF16"), ValueError, "l1 has 64 bytes; 512 and more are allowed"),
        (
            lambda: tensix.unpack(BYTES, "BFP8", "BFP8", count=17),
            ValueError,
            "count is 17; with in_format BFP8, multiples",
        ),
        (lambda: tensix.unpack(BYTES, "BF16", "BF16", count=0), ValueError, "count is 0; 1 and more are allowed"),
        (lambda: tensix.unpack(BYTES.astype(int), "BF16", "BF16"), TypeError, "l1 is int64; uint8 and uint32"),
        (lambda: tensix.unpack(BYTES.reshape(8, 8), "BF16", "BF16"), ValueError, r"l1 has shape \(8, 8\); one axis"),
        (
            lambda: tensix.unpack(BYTES, "BF16", "BF16", unsigned=True),
            ValueError,
            "unsigned is True; with in_format BF16",
        ),
        (
            lambda: tensix.unpack(BYTES + np.uint8(32), "BFP8A", "BFP8A", count=16),
            ValueError,
            "l1 holds the exponent 32; BFP8A has 5 exponent bits",
        ),
        (
            lambda: tensix.pack(WORD, "FP16", "FP16", dst32=True),
            ValueError,
            "mid_format is FP16; with dst32 True and raw False, FP32,",
        ),
        (lambda: tensix.pack(WORD, "INT8", "BF16", dst32=True), ValueError, "out_format is BF16; from INT8, INT8 are"),
        (
            lambda: tensix.pack(WORD, "FP32", "TF32", dst32=True),
            ValueError,
            "out_format is TF32; from FP32, FP32, BF16",
        ),
        (
            lambda: tensix.pack(WORD[:9], "BF16", "BFP8", dst32=False),
            ValueError,
            "dst has 9 words; with out_format BFP8",
        ),
        (
            lambda: tensix.pack(WORD + np.uint32(1 << 16), "BF16", "BF16", dst32=False),
            ValueError,
            "dst holds words up to",
        ),
        (lambda: tensix.pack(A, "BF16", "BF16", dst32=False), TypeError, "dst is float32; uint32 is allowed"),
        (lambda: tensix.pack(WORD, "BF16", "BF16", dst32=False, relu=4), ValueError, "relu is 4; 0 to 3 are allowed"),
        (
            lambda: tensix.pack(WORD, "INT32", "INT32", dst32=True, relu=2),
            ValueError,
            "relu is 2; with mid_format INT32",
        ),
        (
            lambda: tensix.pack(WORD, "BF16", "BF16", dst32=False, relu=2, relu_threshold=0x8000),
            ValueError,
            "relu_threshold is 0x8000; 0 to 0x7fff",
        ),
        (
            lambda: tensix.pack(WORD, "BF16", "BFP8", dst32=False, l1=BYTES),
            ValueError,
            "l1 is given with out_format BFP8; accumulation allows FP32, BF16, FP16",
        ),
        (
            lambda: tensix.pack(WORD, "BF16", "BF16", dst32=False, l1=BYTES[:30]),
            ValueError,
            "l1 has 30 bytes; 32 and more are allowed",
        ),
        (
            lambda: tensix.pack(WORD, "BF16", "BF16", dst32=False, unsigned=True),
            ValueError,
            "unsigned is True; with mid_format BF16",
        ),
        (lambda: pack(edge_mask=1 << 16), ValueError, "edge_mask reaches from 0x10000 to 0x10000; 16 bits are allowed"),
        (
            lambda: pack(edge_mask=np.array([1, 2])),
            ValueError,
            r"edge_mask has shape \(2,\); one mask, or 1, one a row",
        ),
        (lambda: pack(edge_mask=np.ones(1)), TypeError, "edge_mask is float64; integers are allowed"),
        (
            lambda: pack(dst=WORD[:9], edge_mask=1),
            ValueError,
            "dst has 9 words; with an edge_mask, multiples of 16 are allowed",
        ),
        (
            lambda: pack(edge_minus_infinity=True),
            ValueError,
            "edge_minus_infinity is True; with mid_format BF16 and edge_mask None, False is allowed",
        ),
        (
            lambda: pack("INT16", "INT16", edge_mask=1, edge_minus_infinity=True),
            ValueError,
            "edge_minus_infinity is True; with mid_format INT16 and edge_mask given, False is allowed",
        ),
        (lambda: pack(exponent_threshold=256), ValueError, "exponent_threshold is 256; 0 to 255 are allowed"),
        (
            lambda: pack("INT16", "INT16", exponent_threshold=1),
            ValueError,
            "exponent_threshold is 1; with mid_format INT16, 0 is allowed",
        ),
        (lambda: pack(descale_shift=32), ValueError, "descale_shift is 32; 0 to 31 are allowed"),
        (
            lambda: pack(descale_shift=1),
            ValueError,
            "descale_shift is 1; with mid_format BF16 and raw False, 0 is allowed",
        ),
        (
            lambda: pack("INT8", "INT8", dst32=True, raw=True, descale_shift=1),
            ValueError,
            "descale_shift is 1; with mid_format INT8 and raw True, 0 is allowed",
        ),
        (
            lambda: pack(round_10b=True),
            ValueError,
            "round_10b is True; with mid_format BF16 and out_format BF16, False is allowed",
        ),
        (
            lambda: tensix.unpack(BYTES, "BFP8A", "FP16", count=16, forced_exponent=32),
            ValueError,
            "forced_exponent is 32; for BFP8A, 0 to 31 are allowed",
        ),
        (
            lambda: tensix.unpack(BYTES, "BF16", "BF16", count=16, forced_exponent=1),
            ValueError,
            "forced_exponent is 1; with in_format BF16, None is allowed",
        ),
        (
            lambda: tensix.gmpool(DST, SRC_B, SRC_A, style="BF16", dst32=False, argmax=True),
            ValueError,
            "argmax is True; with dst32 False, False is allowed",
        ),
        (lambda: tensix.to_physical(WORD, "DST"), ValueError, "layout is 'DST'; 'SRC', 'DST16_BF16'"),
        (lambda: tensix.to_physical(WORD + np.uint32(1 << 19), "SRC"), ValueError, "words reach 0x80000; 19 bits"),
        (lambda: tensix.to_physical(A, "SRC"), TypeError, "words are float32; uint32 is allowed"),
        (lambda: tensix.phases("HiFi1"), ValueError, "fidelity is 'HiFi1'; 'LoFi', 'HiFi2'"),
        (lambda: tensix.matmul(A, A, fmt="mxfp8"), ValueError, "fmt is 'mxfp8'; 'bf16', 'tf32'"),
        (
            lambda: tensix.matmul(A, A, fmt="int8"),
            TypeError,
            "a is float32; with fmt 'int8', integer dtypes are allowed",
        ),
        (
            lambda: tensix.matmul(A.astype(int) - 128, A, fmt="int8"),
            ValueError,
            "a reaches from -128 to -128; -127 to 127",
        ),
        (lambda: tensix.matmul(A.astype(float), A), TypeError, "a is float64; with fmt 'bf16', float32 is allowed"),
        (lambda: tensix.matmul(A, A[:1]), ValueError, "b has 1 rows; 2 are allowed, as many as a has columns"),
        (lambda: tensix.matmul(A[0], A), ValueError, r"a has shape \(2,\); two dimensions of at least 1 are allowed"),
        (lambda: tensix.matmul(A, A * np.float32("nan")), ValueError, "b holds NaN, which the Matrix unit"),
        (lambda: tensix.matmul(A, A, fmt="int8", dst32=False), ValueError, "dst32 is False; with style INT8"),
        (lambda: cycles.tflops("SFPMAD"), ValueError, "operation is 'SFPMAD'; 'MVMUL', 'DOTPV'"),
        (lambda: cycles.tflops("MVMUL", 0), ValueError, "phase_count is 0; for MVMUL, 1 to 4 are allowed"),
        (lambda: cycles.tflops("GMPOOL", 2), ValueError, "phase_count is 2; for GMPOOL, 1 to 1 are allowed"),
        (lambda: cycles.board_tflops("e75", "LoFi"), ValueError, "board is 'e75'; 'n150s', 'n300s' are allowed"),
    ],
)
def test_errors(call, kind, says):
    with pytest.raises(kind, match=says):
        call()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("group", 5, "group is 5; 4, 8 and 16 are allowed"),
        ("product_guard_bits", -1, "product_guard_bits is -1; 0 to 13 are allowed"),
        ("product_guard_bits", 14, "product_guard_bits is 14; 0 to 13 are allowed"),
        ("src_a_row_step", 4, "src_a_row_step is 4; 8 and 16 are allowed"),
    ],
)
def test_numerics(field, value, says):
    fields = {name: getattr(WORMHOLE.numerics, name) for name in WORMHOLE.sources}
    with pytest.raises(ValueError, match=says):
        TensixNumerics(**fields | {field: value})


def test_every_preset_says_where_each_field_comes_from():
    for preset in PRESETS.values():
        assert all(source.where for source in preset.sources.values())


def test_format_codes():
    assert {each.name: int(each) for each in Format} == {
        "FP32": 0,
        "FP16": 1,
        "BFP8A": 2,
        "BFP4A": 3,
        "TF32": 4,
        "BF16": 5,
        "BFP8": 6,
        "BFP4": 7,
        "INT32": 8,
        "INT16": 9,
        "FP8": 10,
        "BFP2A": 11,
        "INT8": 14,
        "BFP2": 15,
    }
    assert np.array_equal(mvmul(srca_format=5), mvmul(srca_format=Format.BF16))
