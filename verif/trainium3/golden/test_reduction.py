"""Sums along the free dimension: one element after the other, or exactly with one rounding."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import activation_reduce, tensor_reduce, tensor_scalar_reduce
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.vector.engine import exact_sum, serial_sum

NAN = FP32.nan_code
CORNERS = (0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF)
rows = st.lists(st.one_of(st.sampled_from(CORNERS), st.integers(0, 0x7F7FFFFF)), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(rows, st.booleans())
def test_exact_sum(row, cancel):
    row += [code ^ 1 << 31 for code in row[1:]] if cancel else []
    total = sum((decode(FP32, code).value for code in row), Fraction(0))
    negative_zero = all(code == 1 << 31 for code in row)
    got = exact_sum(np.array([row], np.uint32).view(np.float32))
    assert got.view(np.uint32)[0] == round_to_format(total, FP32, zero_sign=int(negative_zero))


def test_exact_sum_of_what_is_not_finite():
    big, inf, nan = 3e38, np.inf, np.nan
    values = np.array([[1, inf, 2], [inf, -inf, 0], [nan, 1, 1], [-inf, 1, 1], [big, big, -big]], np.float32)
    expected = [0x7F800000, NAN, NAN, 0xFF800000, np.float32(big).view(np.uint32)]
    assert exact_sum(values).view(np.uint32).tolist() == expected
    # A tie, and what breaks it lies below all that float64 holds beside it.
    for last, result in ((0.0, 1.0), (2.0**-140, 1 + 2.0**-23), (-(2.0**-140), 1.0)):
        assert exact_sum(np.array([[1, 2.0**-24, last]], np.float32))[0] == result
    halves = np.full((1, 16384), 2.0**-24, np.float32)
    halves[0, 0] = 1
    assert exact_sum(halves)[0] == np.float32(1 + 16383 * 2.0**-24)
    assert serial_sum(halves)[0] == 1  # each is half a unit of 1, and ties go to even


def test_serial_sum_is_serial():
    """numpy adds pairwise where it may; an accumulation may not. Long rows of every alignment, element after element."""
    rng = np.random.default_rng(5)
    for size in (1, 7, 8, 9, 127, 128, 129, 1000, 16384):
        values = (rng.standard_normal((9, size)) * 2.0 ** rng.integers(-8, 9, (9, size))).astype(np.float32)
        total = values[:, 0]
        for column in values.T[1:]:
            total = total + column
        assert np.array_equal(serial_sum(values), total)
        assert np.array_equal(serial_sum(np.asfortranarray(values)), total)
        if size == 16384:
            assert not np.array_equal(values.sum(axis=1), total)


def test_reductions_name_their_order():
    x = np.array([[1, *[2.0**-24] * 3]], np.float32)
    assert [tensor_reduce(x, "add", sum_order=each.value)[0, 0] for each in SumOrder] == [1, 1 + 2.0**-22]
    _, total = activation_reduce(x, "copy", sum_order="exact")
    assert total[0, 0] == 1 + 2.0**-22
    _, total = tensor_scalar_reduce(x, "multiply", 1.0, reduce_op="add", sum_order="exact")
    assert total[0, 0] == 1 + 2.0**-22
