"""Compiled loops of AIE-ML v2 equal the exact twins and numpy bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2 import exact
from bitpath.golden.aie_ml_v2.convert import to_mx_loop as aie_blocks
from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, PRESETS, Mx4Path
from bitpath.golden.aie_ml_v2.mac import fused_dot_loop as aie_lanes
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector
from bitpath.golden.arrays.codec import codes_of, format_of
from bitpath.verif.aie_ml_v2.golden.operands import KINDS, both, matrices

BASE = AIE_ML_V2.numerics
FORMATS = ("mx9", "mx6", "mx4", "bf16", "fp16", "fp8_e4m3", "fp8_e4m3fn", "fp8_e4m3fnuz", "fp8_e5m2", "fp8_e5m2fnuz")


def numbers(rng, kind, shape):
    """FP32 numbers of one kind; the middle columns of "blocks" are ties of all formats."""
    codes = rng.integers(0, 1 << 32, shape, np.uint64).astype(np.uint32)
    if kind == "finite":
        codes = (codes & 0x80FFFFFF) | (rng.integers(118, 130, shape) << 23).astype(np.uint32)
    elif kind == "subnormal":
        codes &= 0x81FFFFFF
    elif kind == "ties":
        codes = (codes & 0x80FF0000) | (rng.integers(120, 124, shape) << 23).astype(np.uint32)
        codes &= 0xFFFC0000
    return codes.view(np.float32)


@pytest.mark.parametrize("bump", [False, True])
@pytest.mark.parametrize("rounding", RoundingCode, ids=lambda code: code.name)
@pytest.mark.parametrize("fmt", MX_FORMATS)
def test_blocks(fmt, rounding, bump):
    """Codes of every kind, in fields of every value."""
    rng = np.random.default_rng(1)
    flags = {"mx_flush": not bump, "mx_min_code": bump, "mx_nan_block": not bump}
    for numerics in (replace(BASE, mx_bump=bump), replace(BASE, mx_bump=bump, **flags)):
        for kind in ("anything", "finite", "subnormal", "ties"):
            x = numbers(rng, kind, (20, 32))
            got = aie.to_mx(x, fmt, rounding=rounding, numerics=numerics)
            for row, block in np.ndindex(20, 2):
                words = x[row, 16 * block : 16 * block + 16].view(np.uint32).tolist()
                expected = exact.to_mx(numerics, words, MX_FORMATS[fmt], rounding)
                assert (expected.exponent, expected.shift) == (got.exponent[row, block], got.shift[row, block])
                assert expected.codes == tuple(got.codes[row, block].tolist())


def test_blocks_on_two_threads(monkeypatch):
    monkeypatch.setenv("BITPATH_THREADS", "2")
    x = numbers(np.random.default_rng(7), "anything", (45, 16))
    whole = aie.to_mx(x, "mx6")
    monkeypatch.setattr(aie_blocks, "BLOCKS", 16)
    sizes, kernel = [], aie_blocks._to_mx
    monkeypatch.setattr(aie_blocks, "_to_mx", lambda bits, *rest: sizes.append(len(bits)) or kernel(bits, *rest))
    parts = aie.to_mx(x, "mx6")
    assert sorted(sizes) == [13, 32]
    for name in ("exponent", "shift", "codes"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name))


FIELDS = {
    "preset": BASE,
    "align20": replace(BASE, align_fraction_bits=20),
    "align24": replace(BASE, align_fraction_bits=24),
    "align26": replace(BASE, align_fraction_bits=26),
    "zero_terms": replace(BASE, mx_zero_term=False, float_zero_term=True),
    "plus_zero": replace(BASE, flushed_zero_keeps_sign=False, mx_nan_block=False),
    "align_rounding": replace(BASE, align_rounding=RoundingCode.FLOOR),
    "accumulator_rounding": replace(BASE, accumulator_align_rounding=RoundingCode.CONV_ODD),
    "lossy": replace(BASE, mx_lossless_shift=False),
    "each": replace(BASE, mx_post_add_first=False, mx_zero_term=False),
    "split_lossy": replace(BASE, mx9_split_round=True, mx_lossless_shift=False),
    "result_rounding": replace(BASE, result_rounding=RoundingCode.SYMMETRIC_INF),
}


@pytest.mark.parametrize("fields", FIELDS)
@pytest.mark.parametrize("fmt", ["mx9", "mx4", "bf16", "fp8_e5m2"])
def test_fields_of_the_sum(fmt, fields):
    rng = np.random.default_rng(3)
    numerics = FIELDS[fields]
    for kind in KINDS:
        a, b = matrices(rng, kind)
        plain, fast = both(a, b, format=fmt, numerics=numerics)
        assert np.array_equal(plain.view(np.uint32), fast.view(np.uint32))


@pytest.mark.parametrize("align_fraction_bits", [20, 23, 26])
@pytest.mark.parametrize("fmt", MX_FORMATS)
def test_the_most_negative_codes(fmt, align_fraction_bits):
    """A block pair's products reach their bound, 2**32 on the finest grid."""
    rng = np.random.default_rng(8)
    numerics = replace(BASE, align_fraction_bits=align_fraction_bits)
    record, depth, size = MX_FORMATS[fmt], 6, 5
    # Exponents that grow faster than a sum does, so that every step's block pair is the largest term; or slower.
    exponent = (np.arange(depth)[:, np.newaxis] * np.array([4, 3, 0, 1, 4]) + 100).astype(np.uint8)
    codes = rng.choice(np.array([record.min_code, record.max_code], np.int8), (2, depth, size, 16))
    codes[:, :, :4] = record.min_code
    shift = np.zeros_like(exponent)
    shift[:, 3] = 0xA5
    a, b = (
        aie.MxBlocks(fmt, exponent.T[np.newaxis], shift.T[np.newaxis], each.swapaxes(0, 1)[np.newaxis])
        for each in codes
    )
    result = np.empty((1, size, size), np.float32)
    aie_lanes.multiply_blocks(numerics, a, aie_lanes.prepared_blocks(b), result, slice(0, size), None)
    got = result[0].view(np.uint32)
    for m in range(size):
        for n in range(size):
            code, totals = None, []
            for k in range(depth):
                pair = (
                    exact.Block(record, int(exponent[k, i]), int(shift[k, i]), tuple(side[k, i].tolist()))
                    for side, i in zip(codes, (m, n), strict=True)
                )
                trace = exact.trace_mx_lane(numerics, *pair, code)
                code = trace.result
                totals.append(trace.total)
            assert got[m, n] == code
            assert max(m, n) > 2 or max(totals) >= 64 << align_fraction_bits


@pytest.mark.parametrize("fmt", MX_FORMATS)
def test_a_zero_block_of_exponent_0_is_no_term(fmt):
    """Its product with a block of 2**60 does not raise the maximum, so an accumulator of 2**-96 is not shifted out."""
    small, large = (np.repeat(np.array(pair, np.float32), 16) for pair in ((2.0**-100, 0), (1, 2.0**60)))
    for a, b in ((small, large), (large, small)):
        plain, fast = both(a[np.newaxis], b[:, np.newaxis], format=fmt)
        assert plain[0, 0] == fast[0, 0] == 2.0**-96


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize("fmt", FORMATS)
def test_matrices(fmt, preset):
    """Every format in every preset, and in the reference another rounding of the conversion."""
    rng = np.random.default_rng(4)
    for kind in ("spread", "specials"):
        a, b = matrices(rng, kind)
        for code in (RoundingCode.CONV_EVEN, RoundingCode.FLOOR)[: 2 if preset is AIE_ML_V2 else 1]:
            options = {"format": fmt, "numerics": preset.numerics, "rounding": code}
            plain, fast = both(a, b, **options)
            assert np.array_equal(plain.view(np.uint32), fast.view(np.uint32))


def integers(rng, bits, shape):
    """Integers of all sizes; every third is the smallest or the largest, so that sums leave the lanes."""
    ends = rng.choice(np.array([-(1 << bits - 1), (1 << bits - 1) - 1]), shape)
    return np.where(rng.random(shape) < 1 / 3, ends, rng.integers(-(1 << bits - 1), 1 << bits - 1, shape))


@pytest.mark.parametrize("shape", [(3, 5, 2), (70, 37, 131)], ids=str)
@pytest.mark.parametrize("mode", INTEGER_MODES.values(), ids=INTEGER_MODES)
def test_integer_lanes(monkeypatch, mode, shape):
    """Two threads take shares of the rows; neither they nor the blocks of columns divide the sizes."""
    monkeypatch.setenv("BITPATH_THREADS", "2")
    rng, (m, k, n) = np.random.default_rng(9), shape
    a, b = integers(rng, mode.a_bits, (m, k)), integers(rng, mode.b_bits, (k, n))
    if mode.lane_bits == 32:
        a[0], b[:, 0] = -(1 << mode.a_bits - 1), -(1 << mode.b_bits - 1)
    got = aie.matmul(a, b, format=mode.name)
    for i, j in {(0, 0), (m - 1, n - 1), *(tuple(rng.integers((m, n)).tolist()) for _ in range(20))}:
        code = 0
        for start in range(0, k, mode.depth):
            step = slice(start, start + mode.depth)
            code = exact.integer_lane(mode, a[i, step].tolist(), b[step, j].tolist(), code)
        assert got[i, j] == code


@pytest.mark.parametrize("name", ["a", "b"])
def test_integers_of_a_program_are_checked(name):
    program = aie.matmul_program(np.ones((2, 8), int), np.ones((8, 2), int), format="int8")
    wrong = replace(program, **{name: getattr(program, name) * 128})
    with pytest.raises(ValueError, match=f"^{name} must be -128 to 127"):
        aie.run_program(wrong)


def halved(rng, b):
    """Keep at most two of four neighbours along K, in some groups one or none."""
    order = np.argsort(rng.random((b.shape[0] // 4, 4, b.shape[1])), axis=1)
    kept = order < rng.integers(0, 3, (b.shape[0] // 4, 1, b.shape[1]))
    return np.where(kept.reshape(b.shape), b, 0).astype(b.dtype)


def exact_sparse_lane(numerics, a, sparse, formats):
    """The code of a lane by the scalar tier: codes of A and slots with their masks, group by group, 4 groups a step."""
    code = None
    for step in range(len(sparse.mask)):
        products = [
            pair
            for group, mask in enumerate(sparse.mask[step].tolist())
            for pair in exact.pairs(
                a[step, 4 * group : 4 * group + 4].tolist(), tuple(sparse.slots[step, group].tolist()), mask
            )
        ]
        x, y = ([(each, fmt) for each in side] for side, fmt in zip(zip(*products, strict=True), formats, strict=True))
        code = exact.trace_float_lane(numerics, x, y, code).result
    return code


@pytest.mark.parametrize("rounding", [RoundingCode.CONV_EVEN, RoundingCode.SYMMETRIC_CEIL], ids=lambda code: code.name)
@pytest.mark.parametrize("zero_term", [False, True])
@pytest.mark.parametrize("fmt", ["bf16", "fp16", "fp8_e4m3", "fp8_e5m2fnuz"])
def test_sparse_lanes(fmt, zero_term, rounding):
    """Slots of every position, some empty, some that hold a zero; numbers of A, infinite ones too, beside what B has not."""
    rng = np.random.default_rng(10)
    numerics = replace(BASE, float_zero_term=zero_term, align_rounding=rounding)
    for kind in KINDS:
        a, b = (each[:, :64] if each.shape[1] == 70 else halved(rng, each[:64]) for each in matrices(rng, kind))
        if kind == "specials":
            b[5, 3], b[20, 30] = np.where(b[5, 3] == 0, 0, -np.inf), np.where(b[20, 30] == 0, 0, np.nan)
        if kind in ("plain", "underflow"):
            # A step of A alone, whose exponents must not count, and an accumulator far below them.
            b[16:], a[:, :16] = 0, a[:, :16] * np.float32(2.0**-20)
        program = aie.matmul_program(a, b, format=fmt, sparse=True, numerics=numerics)
        slots = program.b.slots.copy()
        codes_of(slots)[rng.random(slots.shape) < 1 / 16] = 0
        program = replace(program, b=SparseVector(slots, program.b.mask))
        got = aie.result_matrix(program, aie.run_program(program)).view(np.uint32)
        tile, formats = program.tile, (format_of(program.a.dtype), format_of(slots.dtype))
        cells = {
            (3, 0),
            (7, 1),
            (9, 2),
            (0, 9),
            (0, 3),
            (1, 30),
            *(divmod(int(c), 37) for c in rng.integers(481, size=20)),
        }
        for i, j in cells:
            row = codes_of(program.a)[i // tile.m, :, i % tile.m]
            column = SparseVector(*(each[:, j // tile.n, j % tile.n] for each in (codes_of(slots), program.b.mask)))
            assert got[i, j] == exact_sparse_lane(numerics, row, column, formats)


@pytest.mark.parametrize("mode", ["int8", "int16_64"])
def test_sparse_integer_lanes(mode):
    rng, row = np.random.default_rng(11), INTEGER_MODES[mode]
    a, b = integers(rng, row.a_bits, (13, 64)), halved(rng, integers(rng, row.b_bits, (64, 37)))
    got = aie.matmul(a, b, format=mode, sparse=True)
    for i, j in np.ndindex(13, 37):
        assert got[i, j] == exact.integer_lane(row, a[i].tolist(), b[:, j].tolist())


def exact_lane(numerics, program, i, j):
    """The code of an output by the scalar tier."""
    code, tile = None, program.tile
    for step in range(program.tiles[1]):
        x, y = program.a[i // tile.m, step, i % tile.m], program.b[step, j // tile.n, j % tile.n]
        if isinstance(program.a, aie.MxBlocks):
            pair = (
                exact.Block(each.fmt, int(each.exponent[0]), int(each.shift[0]), tuple(each.codes[0].tolist()))
                for each in (x, y)
            )
            code = exact.trace_mx_lane(numerics, *pair, code).result
        else:
            sides = ([(each, format_of(side.dtype)) for each in codes_of(side).tolist()] for side in (x, y))
            code = exact.trace_float_lane(numerics, *sides, code).result
    return code


@pytest.mark.parametrize("field", ["align_rounding", "accumulator_align_rounding", "result_rounding"])
@pytest.mark.parametrize("rounding", RoundingCode, ids=lambda code: code.name)
@pytest.mark.parametrize("fmt", ["mx9", "bf16"])
def test_every_rounding(fmt, rounding, field):
    rng = np.random.default_rng(12)
    numerics = replace(BASE, **{field: rounding})
    for kind in KINDS:
        a, b = matrices(rng, kind)
        plain, fast = both(a, b, format=fmt, numerics=numerics)
        assert np.array_equal(plain.view(np.uint32), fast.view(np.uint32))
        program = aie.matmul_program(a, b, format=fmt, numerics=numerics)
        for i, j in ((3, 0), (7, 1), (0, 9), (12, 36), (5, 20)):
            assert fast[i, j].view(np.uint32) == exact_lane(numerics, program, i, j)


@pytest.mark.parametrize(
    "fields",
    [
        {"mx_lossless_shift": False},
        {"mx_post_add_first": False},
        {"mx_post_add_first": False, "mx_lossless_shift": False, "mx_zero_term": False},
        {"mx9_split_round": True, "mx4_path": Mx4Path.MX9, "align_fraction_bits": 26},
        {"mx9_split_round": True, "mx_lossless_shift": False, "align_rounding": RoundingCode.FLOOR},
    ],
    ids=str,
)
@pytest.mark.parametrize("fmt", MX_FORMATS)
def test_sums_of_a_block_pair(fmt, fields):
    rng = np.random.default_rng(13)
    numerics = replace(BASE, **fields)
    for kind in KINDS:
        a, b = matrices(rng, kind)
        program = aie.matmul_program(a, b, format=fmt, numerics=numerics)
        fast = aie.matmul(a, b, format=fmt, numerics=numerics)
        for i, j in ((3, 0), (7, 1), (0, 9), (12, 36), (5, 20), *rng.integers((13, 37), size=(12, 2)).tolist()):
            assert fast[i, j].view(np.uint32) == exact_lane(numerics, program, i, j)
