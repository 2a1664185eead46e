"""TensorE: FP32 in passes, sparse operands, and the order in which it issues instructions."""

from dataclasses import replace
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, FP16, FP32, TF32
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.dot import trace_dot_product
from bitpath.golden.scalar.fp32 import add
from bitpath.golden.trainium3 import (
    TensorInstruction,
    cast,
    compress_sparse,
    expand_sparse,
    issue,
    load_cycles,
    nc_matmul,
    nc_matmul_sparse,
    pack_tags,
    tensor_cycles,
    unpack_tags,
)
from bitpath.golden.trainium3.declarations import tensor
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.tensor import PATTERNS, TRAINIUM3_DOUBLE_ROW, TRAINIUM3_SPARSE, TagMap
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.exact import fp32_halves, multiply_add, psum_write, selected, split12
from bitpath.golden.trainium3.matmul.nc_matmul import halves

# FP32 in four passes, double row, and what nc_matmul's modes refuse.


NUMERICS = TRAINIUM3_MATMUL.numerics
CORNERS = (0, 1, 0xFFF, 0x1000, 0x007FFFFF, 0x00800000, 0x3F800001, 0x3F9E0652, 0x7F7FFFFF, 0x7F800000, 0x7FC00001)
codes = st.one_of(st.sampled_from(CORNERS), st.integers(0, (1 << 31) - 1)).flatmap(
    lambda code: st.sampled_from((code, code | 1 << 31))
)
near = st.builds(lambda sign, exponent, fraction: sign << 31 | exponent << 23 | fraction,
                 st.integers(0, 1), st.integers(120, 134), st.integers(0, (1 << 23) - 1))  # fmt: skip


@given(codes)
def test_halves(code):
    """Halves add up to the number, exactly; both have at most 12 significant bits."""
    high, low = fp32_halves(code)
    x = decode(FP32, code)
    with np.errstate(invalid="ignore"):
        arrays = [each.view(np.uint32)[0] for each in halves(np.array([code], np.uint32).view(np.float32))]
    assert arrays == [high, low]
    if x.kind is not Kind.FINITE:
        assert (high, low) == (code, 0)
        return
    parts = decode(FP32, high), decode(FP32, low)
    assert parts[0].value + parts[1].value == x.value
    for each in parts:
        significand = each.significand
        assert not significand or (significand // (significand & -significand)).bit_length() <= 12


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(codes | near, codes | near), min_size=1, max_size=4))
def test_split12_tiers_agree(rows):
    x, y = (np.array(side, np.uint32)[:, np.newaxis].view(np.float32) for side in zip(*rows, strict=True))
    expected, passes = split12(NUMERICS, *zip(*rows, strict=True))
    assert nc_matmul(x, y, fp32_mode="split12").view(np.uint32) == expected
    assert expected == add(add(add(passes[0], passes[1]), passes[2]), passes[3])


def test_split12_of_one_product():
    """The partial products of 1.23456788 squared, whose sum is the fused result."""
    x = np.array([[0x3F9E0652]], np.uint32).view(np.float32)
    total, passes = split12(NUMERICS, [0x3F9E0652], [0x3F9E0652])
    assert passes == (0x331FC910, 0x3979A700, 0x3979A700, 0x3FC30800)
    assert total == 0x3FC3179B == nc_matmul(x, x).view(np.uint32)


def test_onezero_saves_passes_and_changes_nothing():
    rng = np.random.default_rng(3)
    mask, y = rng.integers(0, 2, (20, 5)).astype(np.float32), rng.standard_normal((20, 6)).astype(np.float32)
    for mode in ("fused", "split12"):
        plain = nc_matmul(mask, y, fp32_mode=mode)
        assert np.array_equal(nc_matmul(mask, y, fp32_mode=mode, is_stationary_onezero=True), plain)
        swapped = nc_matmul(y, mask, fp32_mode=mode, is_moving_onezero=True)
        assert np.array_equal(swapped, nc_matmul(y, mask, fp32_mode=mode))
    both = nc_matmul(mask, mask, fp32_mode="split12", is_stationary_onezero=True, is_moving_onezero=True)
    assert np.array_equal(both, mask.T @ mask)


def test_split12_of_operands_rounded_to_tf32():
    """They have no low half: four passes become two, or one, which is the plain matmul of TF32."""
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal((9, free)).astype(np.float32) for free in (4, 5))
    tf32 = {"stationary_tf32": True, "moving_tf32": True}
    assert np.array_equal(nc_matmul(x, y, fp32_mode="split12", **tf32), nc_matmul(x, y, **tf32))
    rounded = nc_matmul(x.astype(np.float32), np.ones((9, 1), np.float32), fp32_mode="split12", stationary_tf32=True)
    assert not np.array_equal(rounded, nc_matmul(x, np.ones((9, 1), np.float32), fp32_mode="split12"))


def test_split12_accumulates_in_psum():
    x = np.array([[1.2345679]], np.float32)
    present = np.array([[0.1]], np.float32)
    got = nc_matmul(x, x, dst=present, psum_accumulate_flag=0, fp32_mode="split12").view(np.uint32)
    own = split12(NUMERICS, *([int(x.view(np.uint32)[0, 0])],) * 2)[0]
    assert got == psum_write(own, int(present.view(np.uint32)[0, 0]), FP32)


FP8 = (E4M3, E4M3FN, E5M2)
PAIRS = [pair for pair in product(FP8, repeat=2) if set(pair) != {E4M3, E4M3FN}]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}x{pair[1].name}")
def test_double_row_tiers_agree(pair):
    """K is cut in halves: row p holds the places p and P + p."""
    rng = np.random.default_rng(PAIRS.index(pair))
    own = TRAINIUM3_DOUBLE_ROW.numerics
    for low, high in ((0, 256), (48, 64)):  # all codes, and finite ones near 1 that cancel
        x, y = (rng.integers(low, high, (5, 2, free), np.uint8) for free in (3, 4))
        x, y = ((each | rng.integers(0, 2, each.shape, np.uint8) << 7) for each in (x, y))
        sides = [each.view(DTYPES[fmt]) for each, fmt in zip((x, y), pair, strict=True)]
        got = nc_matmul(*sides, perf_mode="double_row").view(np.uint32)
        for m, n in np.ndindex(got.shape):
            rows = x[:, :, m].tolist(), pair[0], y[:, :, n].tolist(), pair[1], [127] * 5, [127] * 5
            assert got[m, n] == trace_dot_product(own, *rows)[-1].result


def test_double_row_of_one_step():
    x, y = (np.array(each, ml_dtypes.float8_e4m3fn).reshape(1, 2, 1) for each in ((1, 2), (3, 0.5)))
    assert nc_matmul(x, y, perf_mode="double_row") == 4
    both = nc_matmul(x, y, perf_mode="double_row", tile_position=(32, 0), tile_size=(32, 128))
    assert both == 4
    present = np.array([[0.5]], ml_dtypes.bfloat16)
    assert nc_matmul(x, y, perf_mode="double_row", dst=present, psum_accumulate_flag=2) == 4.5


BF, F32, E4, E4FN, E3 = (
    ml_dtypes.bfloat16, np.float32, ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e3m4
)  # fmt: skip


def ones(dtype, *shape):
    return np.ones(shape, dtype)


WIDE, PAIR = (ones(F32, 2, 4), ones(F32, 2, 3)), (ones(E4, 2, 2, 4), ones(E4, 2, 2, 3))
DOUBLE = {"perf_mode": "double_row"}
MOVE = {"is_transpose": True}
BAD = [
    (WIDE, {"perf_mode": "quad"}, ValueError, "perf_mode must be 'none' or 'double_row', not 'quad'"),
    (WIDE, {"fp32_mode": "split"}, ValueError, "fp32_mode must be 'fused' or 'split12', not 'split'"),
    ((ones(BF, 2, 4), ones(BF, 2, 3)), {"fp32_mode": "split12"}, ValueError, "operands and dst must be float32 with"),
    (WIDE, {"fp32_mode": "split12", "dst_dtype": BF}, ValueError, "operands and dst must be float32 .* not float32 and bf"),
    ((2 * WIDE[0], WIDE[1]), {"is_stationary_onezero": True}, ValueError, "stationary must hold only 0 and 1 with is_stat"),
    ((WIDE[0], -WIDE[1]), {"is_moving_onezero": True}, ValueError, "moving must hold only 0 and 1 with is_moving_onezero"),
    (WIDE, DOUBLE, TypeError, "stationary must be float8_e4m3, float8_e4m3fn or float8_e5m2, not float32"),
    ((ones(E3, 2, 2, 4), PAIR[1]), DOUBLE, TypeError, "stationary must be float8_e4m3, .* not float8_e3m4"),
    ((ones(E4, 2, 3, 4), PAIR[1]), DOUBLE, ValueError, r"stationary must have shape \[P, 2, M\] with P from 1 to 128 in"),
    ((PAIR[0], ones(E4, 129, 2, 3)), DOUBLE, ValueError, r"moving must have shape \[P, 2, N\] with P from 1 to 128 in"),
    ((PAIR[0], ones(E4, 3, 2, 3)), DOUBLE, ValueError, "moving must span stationary's 2 partitions, not 3"),
    ((ones(E4, 2, 2, 129), PAIR[1]), DOUBLE, ValueError, "stationary must have a free size M from 1 to 128, not 129"),
    ((PAIR[0], ones(E4FN, 2, 2, 3)), DOUBLE, ValueError, "a matmul must not mix E4M3 and E4M3FN, but stationary is float8"),
    (PAIR, {**DOUBLE, "tile_size": (32, 64), "tile_position": (0, 0)}, ValueError, r"tile_size must be \(32, 128\), \(64"),
    (PAIR, {**DOUBLE, **MOVE}, ValueError, "is_transpose must not be given with perf_mode 'double_row'"),
    (PAIR, {**DOUBLE, "moving_tf32": True}, ValueError, "moving_tf32 must not be given with perf_mode 'double_row'"),
    (PAIR, {**DOUBLE, "numerics": NUMERICS}, ValueError, "numerics must not be given with perf_mode 'double_row'"),
    (PAIR, {**DOUBLE, "double_row_numerics": TRAINIUM3_QUAD_MX.numerics}, ValueError, "numerics must have 2 terms in double"),
    (WIDE, {"double_row_numerics": TRAINIUM3_DOUBLE_ROW.numerics}, ValueError, "double_row_numerics must not be given with"),
    (WIDE, {**MOVE, "psum_accumulate_flag": 2}, ValueError, "accumulation must not be given with is_transpose"),
    (WIDE, {**MOVE, "dst": ones(F32, 4, 3)}, ValueError, "dst must not be given with is_transpose"),
    (WIDE, {**MOVE, "fp32_mode": "split12"}, ValueError, "split12 must not be given with is_transpose"),
    (WIDE, MOVE, ValueError, "moving must have at most one 1 in a column with is_transpose, not 2"),
    ((WIDE[0], 2 * WIDE[1]), MOVE, ValueError, "moving must hold only 0 and 1 with is_transpose, not other numbers"),
    ((WIDE[0], ones(BF, 2, 3)), MOVE, ValueError, "TF32 and FP32 must be multiplied with each other only"),
    ((WIDE[0], ones(F32, 2, 513)), MOVE, ValueError, "moving must have a free size N from 1 to 512 with is_transpose"),
    ((ones(BF, 2, 4), ones(BF, 2, 1025)), MOVE, ValueError, "moving must have a free size N from 1 to 1024 with is_tr"),
]  # fmt: skip


def test_arguments_of_the_modes(subtests):
    for operands, options, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            nc_matmul(*operands, **options)


def test_scalar_arguments():
    with pytest.raises(ValueError, match=r"^moving must have stationary's 1 rows, not 2$"):
        split12(NUMERICS, [0], [0, 0])


def test_onezero_of_narrow_formats():
    mask = np.array([[0, 1], [1, 1]], ml_dtypes.bfloat16)
    assert codes_of(nc_matmul(mask, mask, is_stationary_onezero=True, dst_dtype=DTYPES[BF16])).tolist() == [
        [0x3F80, 0x3F80],
        [0x3F80, 0x4000],
    ]


# Cycles of TensorE's instructions, and their issue against a simulation cycle by cycle.


@pytest.mark.parametrize(
    ("kind", "m", "n", "dtype", "together", "load"),
    [
        ("matmul", 128, 512, BF, 512, 32),
        ("matmul", 128, 1, BF, 64, 32),
        ("matmul", 1, 128, BF, 128, 1),
        ("matmul", 1, 1, BF, 1, 1),
        ("matmul", 128, 512, np.float32, 2048, 64),
        ("onezero", 128, 512, np.float32, 1024, 64),
        ("onezero", 128, 512, BF, 512, 32),
        ("matmul", 128, 512, "tf32", 512, 64),
        ("mx", 128, 512, ml_dtypes.float8_e5m2, 512, 64),
        ("mx", 128, 512, ml_dtypes.float4_e2m1fn, 512, 32),
        ("double_row", 128, 512, E4, 512, 32),
        ("sparse", 128, 512, BF, 512, 40),
        ("sparse", 128, 512, "tf32", 512, 72),
        ("transpose", 128, 128, BF, 128, 32),
        ("transpose", 32, 128, np.int32, 256, 16),
        ("transpose", 5, 128, np.uint8, 128, 2),
    ],
)
def test_cycles(kind, m, n, dtype, together, load):
    assert tensor_cycles(kind, m, n, dtype) == together
    assert load_cycles(kind, m, dtype) == load


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (
            ("dense", 1, 1, BF),
            ValueError,
            "kind must be 'matmul', 'onezero', 'mx', 'double_row', 'sparse' or 'transpose'",
        ),
        (("matmul", 1, 1, np.int8), TypeError, "dtype must be bfloat16, .* not int8"),
        (("double_row", 1, 1, ml_dtypes.float8_e3m4), TypeError, "dtype must be float8_e4m3, .* not float8_e3m4"),
        (("sparse", 1, 1, E4), TypeError, "dtype must be bfloat16, float16 or float32, not float8_e4m3"),
        (("matmul", 0, 1, BF), ValueError, "m must be 1 to 128, not 0"),
        (("matmul", 1, 1025, BF), ValueError, "n must be 1 to 1024, not 1025"),
    ],
)
def test_arguments_of_issue(arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        tensor_cycles(*arguments)


def transposes(count, cycles=128):
    return [TensorInstruction(cycles=cycles, banks=(each % 2,), transpose=True) for each in range(count)]


def test_two_transposes_run_side_by_side():
    slots = issue(transposes(8))
    assert [slot.start for slot in slots] == [0, 1, 128, 129, 256, 257, 384, 385]
    assert [slot.background for slot in slots] == [False, True] * 4
    assert slots[-1].end == 513


def test_transposes_run_behind_a_matmul():
    slots = issue([TensorInstruction(cycles=512, banks=(2,)), *transposes(4)])
    assert max(slot.end for slot in slots) == 513
    assert all(slot.background for slot in slots[1:])


def test_what_waits():
    matmul = TensorInstruction(cycles=10, banks=(0,))
    assert [slot.start for slot in issue([matmul, matmul])] == [0, 10]  # never in the background
    beside = TensorInstruction(cycles=4, banks=(0, 3), transpose=True)
    assert issue([matmul, beside])[1].start == 10  # the same bank
    assert issue([matmul, TensorInstruction(cycles=4, banks=(1,), transpose=True, ready=7)])[1].start == 7
    tile = TensorInstruction(cycles=6, banks=(1,), tile=(0, 0, 32, 64))
    beside = TensorInstruction(cycles=6, banks=(2,), tile=(0, 64, 32, 64))
    below = TensorInstruction(cycles=6, banks=(3,), tile=(0, 32, 64, 64))
    whole = TensorInstruction(cycles=6, banks=(4,), transpose=True)
    assert [slot.start for slot in issue([tile, beside, below, whole])] == [0, 1, 7, 13]
    assert issue([]) == ()


boxes = st.tuples(*[st.sampled_from([0, 32, 64])] * 2, *[st.sampled_from([32, 64])] * 2)
instructions = st.builds(
    TensorInstruction,
    cycles=st.integers(1, 6),
    banks=st.lists(st.integers(0, 3), min_size=1, max_size=2).map(tuple),
    transpose=st.booleans(),
    ready=st.integers(0, 12),
    tile=st.none() | st.none() | boxes,
)


def cells(tile):
    row, column, rows, columns = tile
    return {(r, c) for r in range(row, row + rows, 32) for c in range(column, column + columns, 32)}


@settings(max_examples=200, deadline=None)
@given(st.lists(instructions, max_size=8))
def test_issue_is_that_of_a_machine_stepped_cycle_by_cycle(program):
    """Two slots for the whole array, or the array's 32 x 32 tiles, each busy until a cycle."""
    free_at = {"main": 0, "background": 0}
    tiles, banks, starts, cycle = {}, {}, [], 0
    for own in program:
        while True:
            writing = any(banks.get(bank, 0) > cycle for bank in own.banks)
            places = ["main", "background"] if own.transpose else ["main"]
            if own.tile is None:
                idle = [] if any(end > cycle for end in tiles.values()) else places
                place = next((each for each in idle if free_at[each] <= cycle), None)
            else:
                busy = any(end > cycle for end in free_at.values())
                busy |= any(tiles.get(cell, 0) > cycle for cell in cells(own.tile))
                place = None if busy else "tile"
            if cycle >= own.ready and place and not writing:
                break
            cycle += 1
        end = cycle + own.cycles
        starts.append((cycle, place == "background", end))
        banks.update({bank: max(end, banks.get(bank, 0)) for bank in own.banks})
        if own.tile is None:
            free_at[place] = end
        else:
            tiles.update(dict.fromkeys(cells(own.tile), end))
        cycle += 1
    assert starts == [(slot.start, slot.background, slot.end) for slot in issue(program)]


def test_instructions_refuse():
    with pytest.raises(ValueError, match=r"^cycles must be at least 1 and ready at least 0, not 0 and 0$"):
        TensorInstruction(cycles=0, banks=(0,))
    with pytest.raises(ValueError, match=r"^banks must have at least 1 element, not 0$"):
        TensorInstruction(cycles=1, banks=())


def test_everything_has_a_source():
    sources = [source for preset in tensor.PRESETS.values() for source in preset.sources.values()]
    sources += [choice.source for choice in tensor.CHOICES]
    assert all(source.where and source.kind in ("documented", "measured", "inferred", "chosen") for source in sources)
    assert list(tensor.PRESETS) == [preset.name for preset in tensor.PRESETS.values()]
    assert set(tensor.PATTERNS) == {"4:16", "4:12", "4:8", "2:8", "2:4", "1:4", "1:2"}


# Structured sparsity: compression against a loop over groups, products against the scalar chain and the dense matmul.


SPARSE = TRAINIUM3_SPARSE.numerics
POSITIONS = replace(SPARSE, tag_map=TagMap.POSITION)
FORMATS = {BF16: BF16, FP16: FP16, TF32: FP32}
patterns = st.sampled_from(sorted(PATTERNS))


def dense_matrix(rng, pattern, groups, columns, fmt=BF16):
    """A dense matrix with at most the kept elements in each group; TF32 lies in FP32 codes."""
    shape = PATTERNS[pattern]
    codes = rng.integers(0, 1 << fmt.width, (groups * shape.group, columns))
    for group, column in np.ndindex(groups, columns):
        dropped = rng.permutation(shape.group)[rng.integers(0, shape.kept + 1) :]
        codes[group * shape.group + dropped, column] = rng.choice([0, fmt.sign_mask])
    return as_array(fmt, codes)


def as_array(fmt, codes):
    carrier = FORMATS[fmt]
    return (codes << carrier.width - fmt.width).astype(f"u{carrier.width // 8}").view(DTYPES[carrier])


@settings(max_examples=40, deadline=None)
@given(patterns, st.integers(1, 3), st.integers(0, 1 << 20), st.sampled_from([BF16, FP16, TF32]))
def test_compression(pattern, groups, seed, fmt):
    """A group's nonzeros in ascending position, then +0 at the smallest free positions, sorted together."""
    shape = PATTERNS[pattern]
    dense = dense_matrix(np.random.default_rng(seed), pattern, groups, 4, fmt)
    values, tags = compress_sparse(dense, pattern)
    codes, magnitude = codes_of(dense), codes_of(dense) & (1 << 8 * dense.itemsize - 1) - 1
    for group, column in np.ndindex(groups, 4):
        rows = range(group * shape.group, (group + 1) * shape.group)
        nonzero = [i for i, row in enumerate(rows) if magnitude[row, column]]
        free = [i for i in range(shape.group) if i not in nonzero]
        expected = sorted(nonzero + free[: shape.kept - len(nonzero)])
        own = slice(group * shape.kept, (group + 1) * shape.kept)
        assert tags[own, column].tolist() == expected
        kept = [int(codes[rows[i], column]) if i in nonzero else 0 for i in expected]
        assert codes_of(values)[own, column].tolist() == kept
    back = codes_of(expand_sparse(values, tags, pattern))
    assert np.array_equal(back, np.where(magnitude == 0, 0, codes))
    for numerics in (SPARSE, POSITIONS):
        words = pack_tags(tags, pattern, numerics=numerics)
        assert np.array_equal(unpack_tags(words, pattern, numerics=numerics), tags)


@settings(max_examples=25, deadline=None)
@given(patterns, st.integers(1, 2), st.integers(0, 1 << 20), st.sampled_from([BF16, FP16, TF32]))
def test_tiers_agree(pattern, groups, seed, fmt):
    """Any tags, equal and descending ones too, and any codes."""
    rng, shape = np.random.default_rng(seed), PATTERNS[pattern]
    rows = groups * shape.kept
    x = rng.integers(0, 1 << fmt.width, (rows, 4))
    y = rng.integers(0, 1 << fmt.width, (rows, shape.ratio, 3))
    tags = rng.integers(0, shape.group, (rows, 4)).astype(np.uint8)
    for numerics in (SPARSE, POSITIONS):
        words = pack_tags(tags, pattern, numerics=numerics)
        operands = as_array(fmt, x), as_array(fmt, y), words, pattern
        got = nc_matmul_sparse(*operands, sparse_numerics=numerics).view(np.uint32)
        for m, n in np.ndindex(got.shape):
            total = 0
            for row in range(rows):
                place = selected(numerics, shape, row, int(words[row, 0]) >> 4 * m & 15)
                total = multiply_add(NUMERICS, int(x[row, m]), fmt, int(y[(*place, n)]), fmt, total)
            assert got[m, n] == total


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_sparse_equals_dense(pattern):
    """The matmul of the dense matrix in order of k has the same bits: a zero weight adds nothing."""
    rng, shape = np.random.default_rng(len(pattern)), PATTERNS[pattern]
    dense = rng.standard_normal((4 * shape.group, 8)).astype(BF)
    values, tags = compress_sparse(dense, pattern, prune="magnitude")
    pruned = expand_sparse(values, tags, pattern)
    moving = rng.standard_normal((len(dense), 6)).astype(np.float16)
    tile = moving.reshape(-1, shape.ratio, 6)
    words = pack_tags(tags, pattern)
    got = nc_matmul_sparse(values, tile, words, pattern, dst_dtype=BF)
    expected = nc_matmul(pruned, moving, dst_dtype=BF)
    assert np.array_equal(codes_of(got), codes_of(expected))
    assert np.array_equal(
        codes_of(nc_matmul_sparse(values, tile, words, pattern, dst=got, psum_accumulate_flag=0)),
        codes_of(nc_matmul(pruned, moving, dst=expected, psum_accumulate_flag=0)),
    )


def test_float32_is_rounded_to_tf32():
    rng = np.random.default_rng(7)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 4), (4, 2, 3)))
    words = np.zeros((4, 1), np.uint16)
    rounded = nc_matmul_sparse(cast(x, "tf32"), cast(y, "tf32"), words, "4:8")
    assert np.array_equal(codes_of(nc_matmul_sparse(x, y, words, "4:8")), codes_of(rounded))


def test_groups_lie_contiguous_along_k():
    """4:8: nonzeros at 1, 4 and 7 and a filler at 0; moving elements are 1 to 8."""
    column = np.array([0, 5, 0, 0, 7, 0, 0, 9], BF)
    values, tags = compress_sparse(np.tile(column[:, np.newaxis], 4), "4:8")
    assert values[:, 0].tolist() == [0, 5, 7, 9]
    assert tags[:, 0].tolist() == [0, 1, 4, 7]
    words = pack_tags(tags, "4:8")
    assert words[:, 0].tolist() == [0x0000, 0x1111, 0x8888, 0xDDDD]
    moving = np.arange(1, 9).astype(BF).reshape(4, 2, 1)
    assert np.all(nc_matmul_sparse(values, moving, words, "4:8") == 117)
    values, tags = compress_sparse(np.array([[3], [0], [0], [4]] * 1, BF).repeat(4, 1), "1:2")
    assert (values[:, 0].tolist(), tags[:, 0].tolist()) == ([3, 4], [0, 1])
    moving = np.arange(1, 5).astype(BF).reshape(2, 2, 1)
    assert np.all(nc_matmul_sparse(values, moving, pack_tags(tags, "1:2"), "1:2") == 19)


def test_pruning_keeps_the_largest_magnitudes():
    dense = np.array([[1.0], [-3.0], [3.0], [np.nan]], np.float16)
    values, tags = compress_sparse(dense, "2:4", prune="magnitude")
    assert tags[:, 0].tolist() == [1, 3]  # of equal magnitudes the first
    assert values[0, 0] == -3
    assert np.isnan(values[1, 0])


def test_every_code_of_a_tag():
    for name, shape in PATTERNS.items():
        legal = [code for code in range(16) if selected(SPARSE, shape, 5, code)]
        assert len(legal) == shape.group
        tags = unpack_tags(
            np.array([[code] for code in legal], np.uint16)[: len(legal) // shape.kept * shape.kept], name
        )
        assert sorted(tags[:, 0].tolist()) == list(range(shape.group))
        for code in set(range(16)) - set(legal):
            with pytest.raises(ValueError, match=f"^words must hold tags of {name}, not {code:#x}$"):
                unpack_tags(np.full((shape.kept, 1), code, np.uint16), name)


GOOD = (np.ones((4, 4), BF), np.ones((4, 2, 3), BF), np.zeros((4, 1), np.uint16), "4:8")
BAD_SPARSE = [
    (0, np.ones((4, 4), ml_dtypes.float8_e5m2), TypeError, "stationary must be bfloat16, float16 or float32, not float8"),
    (0, np.ones((3, 4), BF), ValueError, r"stationary must have shape \[P, M\] with P a multiple of 4 up to 128 with 4:8,"),
    (0, np.ones((132, 4), BF), ValueError, r"stationary must have shape \[P, M\] with P a multiple of 4 up to 128 with"),
    (0, np.ones((0, 4), BF), ValueError, r"stationary must have shape \[P, M\] with P a multiple of 4 up to 128 with 4:8,"),
    (0, np.ones((4, 6), BF), ValueError, "stationary must have a free size M that is a multiple of 4 up to 128, not 6"),
    (0, np.ones((4, 4), np.float32), ValueError, "TF32 and FP32 must be multiplied with each other only, but stationary"),
    (1, np.ones((4, 2, 3)), TypeError, "moving must be bfloat16, float16 or float32, not float64"),
    (1, np.ones((4, 3, 3), BF), ValueError, r"moving must have shape \[4, 2, N\] with 4:8, not \(4, 3, 3\)"),
    (1, np.ones((4, 2, 513), BF), ValueError, "moving must have a free size N from 1 to 512 with a float32 dst, not 513"),
    (2, np.zeros((4, 1), np.uint8), TypeError, "words must be uint16, not uint8"),
    (2, np.zeros((4, 2), np.uint16), ValueError, r"tag_words must have shape \(4, 1\), not \(4, 2\)"),
    (2, np.full((4, 1), 2, np.uint16), ValueError, "words must hold tags of 4:8, not 0x2"),
    (3, "3:8", ValueError, "pattern must be '4:16', '4:12', '4:8', '2:8', '2:4', '1:4' or '1:2', not '3:8'"),
]  # fmt: skip


def test_arguments_of_sparse(subtests):
    for place, value, error, sentence in BAD_SPARSE:
        with subtests.test(sentence):
            operands = [*GOOD]
            operands[place] = value
            with pytest.raises(error, match=f"^{sentence}"):
                nc_matmul_sparse(*operands)


def test_arguments_of_compression():
    dense = np.ones((8, 4), BF)
    with pytest.raises(ValueError, match=r"^dense must have at most 4 of 8 elements other than 0 in a group, not 8$"):
        compress_sparse(dense, "4:8")
    with pytest.raises(ValueError, match=r"^dense must have a multiple of 16 rows up to 512 with 4:16, not 8$"):
        compress_sparse(dense, "4:16")
    with pytest.raises(ValueError, match=r"^prune must be 'magnitude', not 'random'$"):
        compress_sparse(dense, "4:8", prune="random")
    tags = np.zeros((4, 4), np.uint8)
    for equal in (tags, np.repeat(np.array([[0], [1], [0], [2]], np.uint8), 4, axis=1)):
        with pytest.raises(ValueError, match=r"^tags must be distinct in a group to be expanded, not equal$"):
            expand_sparse(dense[:4], equal, "4:8")
    with pytest.raises(TypeError, match=r"^values must be bfloat16, float16 or float32, not float64$"):
        expand_sparse(np.ones((4, 4)), tags, "4:8")
    with pytest.raises(ValueError, match=r"^tags must have shape \[P, M\], not \(4,\)$"):
        pack_tags(tags[:, 0], "4:8")
    with pytest.raises(ValueError, match=r"^tags must be 0 to 7 with 4:8, not 8$"):
        pack_tags(tags + np.uint8(8), "4:8")
    with pytest.raises(ValueError, match=r"^tags must span a multiple of 4 partitions up to 128, not 3$"):
        pack_tags(tags[:3], "4:8")
    with pytest.raises(ValueError, match=r"^tags must have a free size M from 1 to 128, not 0$"):
        pack_tags(tags[:, :0], "4:8")
    with pytest.raises(ValueError, match=r"^tags must have a multiple of 4 columns, not 3$"):
        pack_tags(tags[:, :3], "4:8")
    with pytest.raises(ValueError, match=r"^pattern must be one of"):
        selected(replace(SPARSE, patterns=((1, 2),)), PATTERNS["4:8"], 0, 0)
    with pytest.raises(ValueError, match=r"^row must be 0 or more and code 0 to 15, not 0 and 16$"):
        selected(SPARSE, PATTERNS["4:8"], 0, 16)
