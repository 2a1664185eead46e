"""Whole matrices: tiling, padding, and the list of instructions that golden and RTL share."""

import re
import sys

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3 import (
    dequantize,
    from_partitions,
    matmul,
    matmul_program,
    multiply,
    prepare,
    quantize_offline,
    run_program,
    to_partitions,
)
from bitpath.golden.trainium3.declarations.quad_mx import (
    TRAINIUM3_QUAD_MX,
    TRAINIUM3_QUAD_MX_ALIGNED,
    TRAINIUM3_QUAD_MX_E4M3,
    AccumulateFlag,
)
from bitpath.golden.trainium3.exact.array import psum_write
from bitpath.golden.trainium3.matmul.matmul import operand_tiles, round_to_bfloat16, tile_program
from bitpath.verif.trainium3.golden.samples import column_steps, instruction_side

E4, E5, FP4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn
FORMATS = {"mxfp8_e4m3": E4, "mxfp8_e5m2": E5, "mxfp4": FP4}


def matrices(m, k, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)


@pytest.mark.parametrize(
    ("m", "k", "n", "expected"),
    [
        # (P, M, N, flag, first row, first column) of each instruction.
        (1, 1, 1, [(32, 2, 1, 3, 0, 0)]),
        (128, 384, 512, [(96, 128, 512, 3, 0, 0)]),
        (3, 700, 2, [(128, 4, 2, 1, 0, 0), (64, 4, 2, 2, 0, 0)]),
        (2, 1300, 1, [(128, 2, 1, 1, 0, 0), (128, 2, 1, 0, 0, 0), (96, 2, 1, 2, 0, 0)]),
        (
            131,
            512,
            514,
            [(128, 128, 512, 3, 0, 0), (128, 128, 2, 3, 0, 512), (128, 4, 512, 3, 128, 0), (128, 4, 2, 3, 128, 512)],
        ),
    ],
)
def test_plan(m, k, n, expected):
    program = matmul_program(*matrices(m, k, n))
    for each, (p, rows, columns, flag, row, column) in zip(program, expected, strict=True):
        assert (each.stationary.shape, each.moving.shape) == ((p, rows, 4), (p, columns, 4))
        assert (each.stationary_scale.shape, each.moving_scale.shape) == ((p // 8, rows), (p // 8, columns))
        assert each.psum_accumulate_flag is AccumulateFlag(flag)
        assert each.output == (slice(row, row + rows), slice(column, column + columns))


@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (3, 700, 2), (130, 1, 1), (1, 1, 513)])
def test_results_are_cropped(m, k, n):
    a, b = matrices(m, k, n)
    padded = run_program(matmul_program(a, b))
    assert padded.shape == (m + m % 2, n)
    assert np.array_equal(matmul(a, b), padded[:m])


@pytest.mark.parametrize("k_order", ["interleaved", "adjacent"])
def test_padding_is_zero_and_in_place(k_order):
    """A K of 130 fills 130 of 256 places: k = i * 64 + p or 4 * p + i, zeros elsewhere."""
    a, b = np.ones((1, 130), np.float32), np.ones((130, 1), np.float32)
    (each,) = matmul_program(a, b, k_order=k_order)
    assert each.stationary.shape == (64, 2, 4)
    column = codes_of(from_partitions(each.stationary, k_order))
    assert (column[:130, 0] == 0x78).all()  # 1 / 2**-8 = 256
    assert (column[130:, 0] == 0).all()
    assert (column[:, 1] == 0).all()
    assert matmul(a, b, k_order=k_order).tolist() == [[130.0]]


@pytest.mark.parametrize("k_order", ["interleaved", "adjacent"])
@pytest.mark.parametrize(
    ("a_format", "b_format", "scale_rule"),
    [
        ("mxfp8_e4m3", "mxfp8_e4m3", "ocp"),
        ("mxfp8_e5m2", "mxfp8_e5m2", "nki05"),
        ("mxfp8_e4m3", "mxfp4", "ocp"),
        ("mxfp4", "mxfp8_e5m2", "nki05"),
    ],
)
@pytest.mark.parametrize("preset", [TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED], ids=lambda preset: preset.name)
def test_one_output_against_the_scalar_tier(preset, a_format, b_format, scale_rule, k_order):
    """Operands quantised here by hand, column by column; then dot products chained and added in FP32 PSUM."""
    a, b = matrices(3, 600, 2, seed=7)
    got = matmul(
        a, b, a_format=a_format, b_format=b_format, scale_rule=scale_rule, k_order=k_order, numerics=preset.numerics
    )
    row, column = 2, 1
    present = None
    for start, stop in ((0, 512), (512, 640)):
        sides = []
        for vector, name in ((a[row], a_format), (b[:, column], b_format)):
            padded = np.pad(vector, (0, 40))[start:stop].astype(ml_dtypes.bfloat16)
            tile = to_partitions(padded[:, np.newaxis], k_order)[:, 0]
            data, scale = quantize_offline(tile, FORMATS[name], scale_rule=scale_rule)
            sides.append(instruction_side(data[:, np.newaxis], scale))
        result = column_steps(preset.numerics, *sides, 0, 0)[-1].result
        present = psum_write(result, present, FP32)
    assert got.view(np.uint32)[row, column] == present


@pytest.mark.parametrize("preset", [TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED], ids=lambda preset: preset.name)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"a_format": "mxfp8_e5m2", "b_format": "mxfp8_e5m2", "scale_rule": "nki05"},
        {"b_format": "mxfp4", "k_order": "adjacent"},
        {"a_format": "mxfp4", "b_format": "mxfp8_e5m2", "scale_rule": "nki05", "k_order": "adjacent"},
    ],
    ids=str,
)
def test_prepared_operands_give_the_bits_of_the_program(options, preset):
    """A batch, one row and many, a second use, and numbers from the smallest to infinity."""
    rng = np.random.default_rng(9)
    b = rng.standard_normal((3, 700, 67)).astype(np.float32)
    b[2] *= np.exp2(rng.integers(-140, 120, b[2].shape)).astype(np.float32)
    b[0, 5, 3], b[1] = np.inf, 0
    right = prepare(b, **options, numerics=preset.numerics)
    for m in (1, 11):
        a = rng.standard_normal((3, m, 700)).astype(np.float32)
        got = multiply(a, right)
        assert got.tobytes() == multiply(a, right).tobytes()
        for own, x, y in zip(got, a, b, strict=True):
            program = matmul_program(x, y, **options)
            assert own.tobytes() == run_program(program, numerics=preset.numerics)[:m].tobytes()


def test_prepared_operands_are_small_and_are_cut_where_they_are_large(monkeypatch):
    a, b = matrices(5, 256, 300, seed=10)
    whole = prepare(b[np.newaxis])
    assert sum(each.nbytes for each in whole.packed) < 3 * 256 * 320
    monkeypatch.setattr(sys.modules[prepare.__module__], "CONVERTED_AT_ONCE", 256 * 128)
    parts = prepare(b[np.newaxis])
    assert all(np.array_equal(*pair) for pair in zip(whole.packed, parts.packed, strict=True))
    assert multiply(a[np.newaxis], parts)[0].tobytes() == matmul(a, b).tobytes()


@pytest.mark.parametrize(
    ("a", "sentence"),
    [
        (np.zeros((2, 4), np.float32), "a must have three dimensions of at least 1, not shape (2, 4)"),
        (np.zeros((1, 2, 4), np.float32), "a must have shape [2, M, 4] for this right operand, not (1, 2, 4)"),
        (np.full((2, 1, 4), np.nan, np.float32), "a holds NaN, which float4_e2m1fn cannot express"),
    ],
)
def test_errors_of_prepared_operands(a, sentence):
    right = prepare(np.ones((2, 4, 3), np.float32), a_format="mxfp4")
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        multiply(a, right)


def test_the_e4m3_preset_is_the_reference_without_e5m2():
    a, b = matrices(3, 600, 2, seed=8)
    numerics = TRAINIUM3_QUAD_MX_E4M3.numerics
    for b_format in ("mxfp8_e4m3", "mxfp4"):
        reference = matmul(a, b, b_format=b_format)
        assert matmul(a, b, b_format=b_format, numerics=numerics).tobytes() == reference.tobytes()
    with pytest.raises(ValueError, match="must be E4M3FN at the array with these numerics, not E5M2"):
        matmul(a, b, b_format="mxfp8_e5m2", numerics=numerics)


def test_accuracy_against_the_dequantised_product():
    """The result differs from the exact product of the quantised matrices by FP32 rounding only: 128 steps' half ulps."""
    a, b = matrices(8, 512, 8, seed=8)
    for name in ("mxfp8_e4m3", "mxfp8_e5m2"):
        (each,) = matmul_program(a, b, a_format=name, b_format=name)
        x, y = (
            dequantize(data.reshape(128, -1), scale).reshape(data.shape)
            for data, scale in ((each.stationary, each.stationary_scale), (each.moving, each.moving_scale))
        )
        exact = np.einsum("pmi,pni->mn", x, y)
        magnitude = np.einsum("pmi,pni->mn", np.abs(x), np.abs(y))
        got = matmul(a, b, a_format=name, b_format=name)
        assert np.all(np.abs(got - exact) <= 128 * 2.0**-24 * magnitude)
        assert not np.array_equal(got, exact)


def test_stages_refuse_what_they_cannot_cut():
    with pytest.raises(TypeError, match=r"^matrix must be float32, not float64$"):
        operand_tiles(np.zeros((4, 4)))
    with pytest.raises(ValueError, match=r"^stationary must have at least 1 element, not 0$"):
        tile_program([], [])


def test_round_to_bfloat16():
    """ml_dtypes as a witness, NaN aside: all top halves with the low halves around the tie."""
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    bits = (np.arange(1 << 16, dtype=np.uint32)[:, np.newaxis] << 16 | low).ravel()
    values = bits.view(np.float32)
    finite_or_infinite = ~np.isnan(values)
    got = codes_of(round_to_bfloat16(values))
    witness = codes_of(values[finite_or_infinite].astype(ml_dtypes.bfloat16))
    assert np.array_equal(got[finite_or_infinite], witness)
    assert (got[~finite_or_infinite] == 0x7FC0).all()


def test_inputs_are_not_modified():
    a, b = matrices(3, 5, 7)
    copies = a.copy(), b.copy()
    matmul(a, b)
    assert np.array_equal(a, copies[0])
    assert np.array_equal(b, copies[1])


WRONG_TYPES = [
    ({"a": np.zeros((2, 4))}, "a must be float32, not float64"),
    ({"b": np.zeros((4, 2), np.float16)}, "b must be float32, not float16"),
]
FORMATS_OR_NOT = "must be 'mxfp8_e4m3', 'mxfp8_e5m2' or 'mxfp4', not"
WRONG_VALUES = [
    ({"a": np.zeros(4, np.float32)}, "a must have two dimensions of at least 1, not shape (4,)"),
    ({"b": np.zeros((4, 0), np.float32)}, "b must have two dimensions of at least 1, not shape (4, 0)"),
    ({"b": np.zeros((5, 2), np.float32)}, "b must have 4 rows, as many as a has columns, not 5"),
    ({"a_format": "fp8"}, f"a_format {FORMATS_OR_NOT} 'fp8'"),
    ({"b_format": "MXFP4"}, f"b_format {FORMATS_OR_NOT} 'MXFP4'"),
    ({"scale_rule": "max"}, "scale_rule must be 'ocp' or 'nki05', not 'max'"),
    ({"k_order": "rows"}, "k_order must be 'interleaved' or 'adjacent', not 'rows'"),
    (
        {"b": np.full((4, 2), np.nan, np.float32), "b_format": "mxfp4"},
        "b holds NaN, which float4_e2m1fn cannot express",
    ),
]


@pytest.mark.parametrize(
    ("error", "change", "sentence"),
    [*((TypeError, *row) for row in WRONG_TYPES), *((ValueError, *row) for row in WRONG_VALUES)],
)
def test_errors(error, change, sentence):
    arguments = {"a": np.zeros((2, 4), np.float32), "b": np.zeros((4, 2), np.float32)} | change
    with pytest.raises(error, match=f"^{re.escape(sentence)}"):
        matmul(**arguments)
