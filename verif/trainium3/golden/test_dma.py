"""DMA casts between the 13 dtypes and DMA additions, against their exact twins and numpy."""

import re
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.trainium3 import (
    cast,
    dma_compute,
    dma_gather_add,
    dma_scatter_add,
    exact,
    read_add_write,
    reduce_ranks,
)
from bitpath.golden.trainium3.declarations.dma import CollectiveAlgorithm
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.exact import cast as exact_cast
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, from_fp32, to_fp32
from bitpath.golden.trainium3.vector.elementwise import tensor_scalar
from bitpath.verif.trainium3.dtype_words import array_of, boundary_words, cast_words, codes_of

# Casts between the 13 dtypes on arrays, against the exact twin and numpy's own conversions.


PAIRS = list(product(FORMATS, repeat=2))


def test_there_are_13_dtypes():
    assert len(FORMATS) == 13
    assert {CAST_DTYPES[name].itemsize * 8 for name in CAST_DTYPES} == {8, 16, 32}
    assert all(CAST_DTYPES[name].itemsize * 8 == container_bits(name) for name in CAST_DTYPES)


@pytest.mark.parametrize("source", FORMATS)
def test_corners_are_the_exact_twin(source):
    for destination in FORMATS:
        codes = boundary_words(source, destination)
        got = cast_words(np.array(codes), source, destination)
        assert got.tolist() == [exact_cast(code, source, destination) for code in codes], destination


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PAIRS), st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=20))
def test_words_are_the_exact_twin(pair, words):
    codes = np.array(words) % (1 << container_bits(pair[0]))
    got = cast_words(codes, *pair)
    assert got.tolist() == [exact_cast(code, *pair) for code in codes.tolist()]


@pytest.mark.parametrize("source", [name for name in FORMATS if container_bits(name) == 8])
@pytest.mark.parametrize("destination", FORMATS)
def test_every_byte_is_the_exact_twin(source, destination):
    codes = np.arange(256)
    assert cast_words(codes, source, destination).tolist() == [exact_cast(c, source, destination) for c in range(256)]


@pytest.mark.parametrize("name", CAST_DTYPES)
def test_fp32_holds_floats_and_narrow_integers(name):
    codes = np.arange(1 << min(container_bits(name), 16))
    values = array_of(codes, name)
    read = to_fp32(values)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(read, values.astype(np.float64).astype(np.float32), equal_nan=True)
    back = cast(read, CAST_DTYPES[name])
    number = ~np.isnan(read)
    assert np.array_equal(back.view(f"u{back.itemsize}")[number], codes[number])
    assert set(read[~number].view(np.uint32).tolist()) <= {FP32.nan_code}


def test_documented_examples():
    over = np.array([16777217], np.int32)
    assert cast(over, np.uint32).tolist() == [16777216]
    assert cast(over, np.int32).tolist() == [16777217]
    numbers = np.array([2.5, 3.5, 300, -1.5], np.float32)
    assert cast(numbers, np.int8).tolist() == [2, 4, 127, -2]
    assert cast(numbers, np.uint8).tolist() == [2, 4, 255, 0]


def test_equal_dtypes_move_bits():
    for name in FORMATS:
        codes = np.array(boundary_words(name, name))
        assert np.array_equal(cast_words(codes, name, name), codes)
    values = np.zeros(3, np.float32)
    assert not np.shares_memory(cast(values, np.float32), values)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3])
def test_the_engines_write_by_the_same_rule(dtype):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 1 << 32, (4, 50), np.uint32).view(np.float32)
    tile = tensor_scalar(values, "multiply", 1.0, dtype=dtype)
    word = f"u{np.dtype(dtype).itemsize}"
    assert np.array_equal(tile.view(word), from_fp32(values, dtype).view(word))


def test_tf32_is_rounded_when_it_is_read():
    words = np.array([0x3F800FFF, 0x3F801000, 0x3F803000, 0x7F800001], np.uint32).view(np.float32)
    read = cast(words, np.float32, source="tf32").view(np.uint32)
    assert read.tolist() == [0x3F800000, 0x3F800000, 0x3F804000, 0x7FC00000]
    assert np.array_equal(cast(words, "tf32").view(np.uint32), read)


@pytest.mark.parametrize(
    ("values", "dtype", "source", "error", "says"),
    [
        (np.zeros(2), np.float32, None, TypeError, "values must be float32, .* or uint32, not float64"),
        (["1"], np.float32, None, TypeError, "values must be a numpy array, not a list"),
        (np.zeros(2, np.float32), "fp4", None, TypeError, "dtype must be float32, .*, not a?.*'fp4'"),
        (np.zeros(2, np.float32), ml_dtypes.float4_e2m1fn, None, TypeError, "dtype must be .*, not float4_e2m1fn"),
        (np.zeros(2, ml_dtypes.float8_e3m4), np.float32, None, TypeError, "values must be .*, not float8_e3m4"),
        (np.zeros(2, np.float32), np.int8, "bf16", ValueError, "source must be 'tf32', not 'bf16'"),
        (
            np.zeros(2, np.int32),
            np.int8,
            "tf32",
            ValueError,
            "values must be float32 where source is 'tf32', not int32",
        ),
    ],
)
def test_refuses_of_cast(values, dtype, source, error, says):
    with pytest.raises(error, match=f"^{says}$"):
        cast(values, dtype, source=source)


def test_both_halves_of_a_cast_refuse():
    with pytest.raises(TypeError, match=r"^values must be float32, .* or uint32, not float64$"):
        to_fp32(np.zeros(2))
    with pytest.raises(TypeError, match=r"^values must be float32, not float64$"):
        from_fp32(np.zeros(2), np.int8)


def test_the_exact_twin_refuses():
    with pytest.raises(ValueError, match=r"^destination must be 'fp32', .*, not 'fp4'$"):
        exact_cast(0, "fp32", "fp4")
    with pytest.raises(ValueError, match=r"^code must be 0 to 255, not 256$"):
        exact_cast(256, "int8", "fp32")


# The DMA engines' additions on arrays, against their exact twins.


NAMES = st.sampled_from(list(FORMATS))
BF16_DTYPE = np.dtype(ml_dtypes.bfloat16)


def near_words(rng, name, count):
    """Pairs of codes: random ones, neighbours of opposite sign, and specials."""
    bits = container_bits(name)
    a = rng.integers(0, 1 << bits, count)
    b = np.where(rng.random(count) < 0.5, a ^ 1 << bits - 1, rng.integers(0, 1 << bits, count))
    return a, (b + rng.integers(-2, 3, count)) % (1 << bits)


@pytest.mark.parametrize(("name", "fmt"), [("bf16", BF16), ("fp32", FP32)])
def test_read_add_write_is_the_exact_twin(name, fmt):
    b, a = near_words(np.random.default_rng(1), name, 1500)
    specials = np.array([0, 1, fmt.max_code, fmt.infinity_code, fmt.nan_code, fmt.infinity_code + 1])
    specials = np.concatenate([specials, specials | fmt.sign_mask])
    b, a = np.append(b, np.repeat(specials, 12)), np.append(a, np.tile(specials, 12))
    got = codes_of(read_add_write(array_of(b, name), array_of(a, name)))
    assert got.tolist() == [exact.read_add_write(x, y, fmt) for x, y in zip(b.tolist(), a.tolist(), strict=True)]


def test_read_add_write_examples():
    b, a = np.array([0x3F80, 0x3F81], np.uint16).view(BF16_DTYPE), np.full(2, 2.0**-8, BF16_DTYPE)
    assert codes_of(read_add_write(b, a)).tolist() == [0x3F80, 0x3F82]
    assert read_add_write(np.array([2.0**24], np.float32), np.ones(1, np.float32)) == 2.0**24
    assert np.shares_memory(b, read_add_write(b, a)) is False


@settings(max_examples=80, deadline=None)
@given(st.lists(NAMES, min_size=1, max_size=16), NAMES, st.integers(0, 2**32 - 1))
def test_dma_compute_is_the_exact_twin(sources, destination, seed):
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 1 << container_bits(name), 6) for name in sources]
    got = dma_compute(
        [array_of(code, name) for code, name in zip(codes, sources, strict=True)],
        destination if destination == "tf32" else CAST_DTYPES[destination],
        sources=["tf32" if name == "tf32" else None for name in sources],
    )
    expected = [exact.dma_compute([int(each[i]) for each in codes], sources, destination) for i in range(6)]
    assert codes_of(got).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(
    NAMES,
    st.integers(1, 9),
    st.sampled_from(["add", "max", "min"]),
    st.sampled_from(CollectiveAlgorithm),
    st.integers(1, 8),
    st.integers(0, 2**32 - 1),
)
def test_reduce_ranks_is_the_exact_twin(name, ranks, op, algorithm, chip, seed):
    codes = np.random.default_rng(seed).integers(0, 1 << container_bits(name), (ranks, ranks, 2))
    source = "tf32" if name == "tf32" else None
    numbers = np.random.default_rng(seed).permutation(16)[:ranks].tolist() if seed % 2 else None
    got = reduce_ranks(
        [array_of(each, name) for each in codes], op, algorithm=algorithm, chip=chip, ranks=numbers, source=source
    )
    expected = [
        [
            exact.reduce_ranks([*map(int, codes[:, chunk, i])], name, op, algorithm, chip, chunk, numbers)
            for i in range(2)
        ]
        for chunk in range(ranks)
    ]
    assert codes_of(got).tolist() == expected


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: reduce_ranks([]), "srcs must have at least 1 element, not 0"),
        (lambda: reduce_ranks([SINGLES, TABLE]), "srcs[1] must have shape"),
        (lambda: reduce_ranks([SINGLES], chip=9), "chip must be 1 to 8, not 9"),
        (lambda: reduce_ranks([SINGLES] * 17, chip=1), "srcs must be of at most 16 chips with the mesh, not of 17"),
        (lambda: reduce_ranks([SINGLES], ranks=[0, 1]), "ranks must have 1 elements, one for each of srcs, not 2"),
        (lambda: reduce_ranks([SINGLES], "multiply"), "op must be"),
        (lambda: reduce_ranks([SINGLES], algorithm="tree"), "algorithm must be"),
        (lambda: exact.reduce_ranks([0], "fp32", "add", CollectiveAlgorithm.RING, 4, 1), "chunk must be 0 to 0, not 1"),
    ],
)
def test_reductions_of_ranks_that_are_refused(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


def test_sources_are_added_from_the_first_one_on():
    zero = np.array([-0.0], np.float32)
    assert np.signbit(dma_compute([zero, zero], np.float32)).all()
    huge = np.array([3e38], np.float32)
    assert np.isinf(dma_compute([huge, huge, -huge], np.float32)).all()
    assert dma_compute([huge, -huge, huge], np.float32) == huge


@pytest.mark.parametrize("name", ["bf16", "int8", "e4m3fn"])
def test_rows_are_added_by_index(name):
    """Against a loop over partitions with rows of two axes; skipped rows keep their bits."""
    rng = np.random.default_rng(5)
    table = array_of(rng.integers(0, 1 << container_bits(name), (12, 3, 5)), name)
    rows = rng.normal(0, 50, (6, 3, 5)).astype(np.float32)
    indices = np.array([[7], [0], [12], [11], [2**32 - 1], [3]], np.uint32)
    scattered, gathered = table.copy(), rows.copy()
    for p, (row,) in enumerate(indices):
        if row < 12:
            scattered[row] = cast(cast(table[row], np.float32) + rows[p], table.dtype)
            with np.errstate(invalid="ignore"):
                total = rows[p] + cast(table[row], np.float32)
            gathered[p] = np.where(np.isnan(total), np.float32(np.nan), total)
    assert np.array_equal(codes_of(dma_scatter_add(table, indices, rows, oob="skip")), codes_of(scattered))
    assert np.array_equal(codes_of(dma_gather_add(rows, table, indices, oob="skip")), codes_of(gathered))
    signed = np.array([[-1], [5], [3], [4], [0], [1]], np.int32)
    assert np.array_equal(codes_of(dma_gather_add(rows, table, signed, oob="skip")[0]), codes_of(rows[0]))


SINGLES = np.zeros((2, 3), np.float32)
TABLE = np.zeros((4, 3), np.float32)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: read_add_write(SINGLES, SINGLES.astype(BF16_DTYPE)), TypeError, "a must be float32, not bfloat16"),
        (
            lambda: read_add_write(SINGLES.astype(np.float16), SINGLES),
            TypeError,
            "b must be bfloat16 or float32, not float16",
        ),
        (
            lambda: read_add_write(SINGLES, TABLE),
            ValueError,
            r"a must have shape \[2, 3\], that of b, not \(4, 3\)",
        ),
        (lambda: exact.read_add_write(0, 0, FP16), ValueError, "fmt must be BF16 or FP32, not FP16"),
        (lambda: dma_compute([], np.float32), ValueError, "srcs must be 1 to 16 arrays, not 0"),
        (lambda: dma_compute([SINGLES] * 17, np.float32), ValueError, "srcs must be 1 to 16 arrays, not 17"),
        (
            lambda: dma_compute([SINGLES, TABLE], np.float32),
            ValueError,
            r"srcs\[1\] must have shape \[2, 3\], that of srcs\[0\], not \(4, 3\)",
        ),
        (
            lambda: dma_compute([SINGLES], np.float32, sources=[]),
            ValueError,
            "sources must have 1 elements, one for each of srcs, not 0",
        ),
        (
            lambda: dma_scatter_add(TABLE, np.array([[1], [4]], np.uint32), SINGLES),
            ValueError,
            "indices must be below the table's 4 rows with oob 'error', not 4",
        ),
        (
            lambda: dma_scatter_add(TABLE, np.array([[1], [1]], np.uint32), SINGLES),
            ValueError,
            "indices must be unique, but 1 comes 2 times",
        ),
        (
            lambda: dma_gather_add(SINGLES, TABLE, np.array([1, 2], np.uint32)),
            ValueError,
            r"indices must have shape \[2, 1\] with dst's partitions, not \(2,\)",
        ),
        (
            lambda: dma_gather_add(SINGLES[:, :2], TABLE, np.array([[1], [2]], np.uint32)),
            ValueError,
            r"dst must have shape \[P, 3\] with the table's rows, not \(2, 2\)",
        ),
        (
            lambda: dma_gather_add(SINGLES, TABLE, np.array([[1], [2]], np.uint32), oob="wrap"),
            ValueError,
            "oob must be 'error' or 'skip', not 'wrap'",
        ),
        (
            lambda: dma_scatter_add(TABLE, np.array([[1], [2]]), SINGLES),
            TypeError,
            "indices must be uint32 or int32, not int64",
        ),
        (
            lambda: dma_scatter_add(TABLE, np.array([[1], [2]], np.uint32), np.array(1, np.float32)),
            ValueError,
            "src must have at least 2 axes, not 0",
        ),
    ],
)
def test_refuses_of_compute(call, error, says):
    with pytest.raises(error, match=f"^{says}$"):
        call()
