"""The DMA engines' additions on arrays, against their exact twins."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.trainium3 import cast, dma_compute, dma_gather_add, dma_scatter_add, exact, read_add_write
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES
from bitpath.verif.trainium3.dtype_words import array_of, codes_of

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
def test_refuses(call, error, says):
    with pytest.raises(error, match=f"^{says}$"):
        call()
