"""Tensix ELWMUL, ELWADD and ELWSUB: a product or a sum of two source datums, added to each float Dst word.

Datums are float64 numbers s * 2**e of a significand s and a biased exponent e, in units of a product's last place. A product
has 5 + 7 bits. A sum's addends have 11 bits and are rounded to the grid of the larger exponent; the sum has 12. Ties are
rounded as in `accumulate_loop`, whose proofs hold here: 11 bits, or 11 + 32 with the step, are exact. The power of two that
gives a sum Dst's bias leaves it exact too.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matrix.accumulate_loop import ON_GRID, STEPS, add_to_dst, addition, power_of_two, rounded
from bitpath.golden.tensix.matrix.mvmul_integer_loop import saturated_sum
from bitpath.golden.tensix.operands.sources import ZERO_FRACTIONS, SourceFields

# Tensix ELWMUL, ELWADD and ELWSUB in style INT8: a product or a sum of two integers, added to each INT32 Dst word.
#
# A product of two fields has at most 20 bits and a sum of two magnitudes 11, so that both are exact in int64, with Dst too.


BLOCKS = 512
"""Fewest blocks for a thread of their own."""
WHOLE = 0x3FF
"""All magnitude bits."""


def integer_fields(
    masks: tuple[int, int] | None, flushes: tuple[bool, bool], *, subtract: bool = False, accumulate: bool = True
) -> tuple[np.int64, ...]:
    """Return the fields of `elementwise`.

    Parameters
    ----------
    masks : magnitude bits of SrcB and SrcA that are multiplied; None adds whole magnitudes.
    flushes : True for SrcB and for SrcA if a word whose exponent field is 0 is 0.
    subtract : True to negate SrcB.
    accumulate : False to read Dst as zero.
    """
    flags = masks is None, *flushes, subtract, accumulate
    return tuple(map(np.int64, (*(masks or (WHOLE, WHOLE)), *flags)))


def elementwise(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    fields: tuple[np.int64, ...],
) -> np.ndarray:
    """Return Dst plus products or sums, uint32 [n, 128].

    Parameters
    ----------
    dst, src_b, src_a : words, uint32 [n, 128].
    fields : as `integer_fields` returns them.
    """
    dst, src_b, src_a = owned(dst), owned(src_b), owned(src_a)
    result = np.empty(dst.shape, np.uint32)

    def work(part: slice) -> None:
        _elementwise(dst[part], src_b[part], src_a[part], result[part], *fields)

    in_parallel(work, shares(len(dst), BLOCKS))
    return result


@piece
def _read(word, mask, flush, negate):
    """Return the signed field of a source word."""
    field = np.int64(0) if (flush != 0) & (word >> 10 & 0xFF == 0) else word & mask
    return -field if word >> 18 ^ negate else field


@kernel
def _elementwise(dst, src_b, src_a, result, b_mask, a_mask, add, b_flush, a_flush, subtract, accumulate):
    for block in range(dst.shape[0]):
        for i in range(dst.shape[1]):
            a = _read(np.int64(src_a[block, i]), a_mask, a_flush, 0)
            b = _read(np.int64(src_b[block, i]), b_mask, b_flush, subtract)
            result[block, i] = saturated_sum(np.int64(dst[block, i]) * accumulate, a + b if add else a * b)


SIZE = BLOCK_ROWS * COLUMNS
"""Datums of a block."""


def product_fields(
    numerics: TensixNumerics, reading: SourceFields, dst_fields: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fields of `elwmul`.

    Parameters
    ----------
    reading : masks and shifts that unpack the source words.
    dst_fields : exponent and fraction bits of a Dst word.
    """
    fields = (*reading, numerics.empty_terms_in_maximum)
    return _arrays(fields, (), addition(numerics, dst_fields))


def _arrays(integers: Sequence[int], floats: Sequence[float], added: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return fields as int64 and float64, which numba takes over in less time than scalars; `added` are those of `addition`."""
    steps, *last = added
    return np.array([*integers, *last], np.int64), np.array([*floats, *steps], np.float64)


def elwmul(dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray, fields: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return Dst plus products, uint32 [n, 128].

    Parameters
    ----------
    dst, src_b, src_a : words, uint32 [n, 128].
    fields : as `product_fields` returns them.
    """
    dst, src_b, src_a = owned(dst), owned(src_b), owned(src_a)
    result = np.empty(dst.shape, np.uint32)

    def work(part: slice) -> None:
        _elwmul(dst[part], src_b[part], src_a[part], result[part], *fields)

    in_parallel(work, shares(len(dst), BLOCKS))
    return result


def sum_fields(
    numerics: TensixNumerics,
    reading: SourceFields,
    dst_fields: tuple[int, int],
    *,
    rebias: int,
    subtract: bool,
    accumulate: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fields of `elwadd`; the arguments are those of `product_fields`, and these.

    Parameters
    ----------
    rebias : added to the exponent of a sum, so that it has Dst's bias.
    subtract : True to negate SrcB.
    accumulate : False to read Dst as zero.
    """
    masks = reading.exponent_mask, reading.a_mask, reading.b_mask, reading.b_zeros
    fields = (*masks, subtract, accumulate, rebias, reading.zero_exponent)
    return _arrays(fields, STEPS[numerics.product_tie], addition(numerics, dst_fields))


def elwadd(dst: np.ndarray, src_b: np.ndarray, src_a: np.ndarray, fields: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return Dst plus sums ``src_a + src_b``, uint32 [n, 128]; `fields` are those of `sum_fields`."""
    dst, src_b, src_a = owned(dst), owned(src_b), owned(src_a)
    result = np.empty(dst.shape, np.uint32)

    def work(part: slice) -> None:
        _elwadd(dst[part], src_b[part], src_a[part], result[part], *fields)

    in_parallel(work, shares(len(dst), BLOCKS))
    return result


@piece
def _five(row, first):
    """Return five neighbours of a row."""
    return row[first], row[first + 1], row[first + 2], row[first + 3], row[first + 4]


@piece
def _signed(field, negative):
    return np.float64(-field if negative else field)


@kernel(fused=True)
def _elwmul(dst, src_b, src_a, result, integers, floats):
    offset, zero_exponent, exponent_mask, a_mask, a_right = _five(integers, 0)
    b_mask, b_right, b_field, b_left, b_zeros = _five(integers, 5)
    empty_terms, (narrow, quirk, exponent_bits, fraction_bits, to_even) = integers[10], _five(integers, 11)
    steps = _five(floats, 0)
    products, powers, zero_power = np.empty((1, SIZE)), np.empty((1, SIZE)), power_of_two(zero_exponent)
    for block in range(dst.shape[0]):
        for i in range(SIZE):
            a, b = np.int64(src_a[block, i]), np.int64(src_b[block, i])
            exponent_a, exponent_b = a >> 10 & exponent_mask, b >> 10 & exponent_mask
            field_a = (a & a_mask | 1 << 10) >> a_right & 0x1F
            field_b = ((b & b_mask | 1 << 10) >> b_right & b_field) << b_left
            field, exponent = field_a * field_b, exponent_a + exponent_b + offset
            present = (exponent_a != 0) & ((exponent_b != 0) | (b_zeros == 0)) & (exponent > 0)
            counts = present & ((field != 0) | (empty_terms != 0))
            own = power_of_two(exponent)
            products[0, i] = _signed(field, (a ^ b) >> 18) * own if counts else 0.0
            powers[0, i] = own if counts else zero_power
        add_to_dst(
            dst[block],
            products,
            powers,
            0.0,
            result[block],
            steps,
            narrow,
            quirk,
            exponent_bits,
            fraction_bits,
            to_even,
        )


@kernel(fused=True)
def _elwadd(dst, src_b, src_a, result, integers, floats):
    exponent_mask, a_mask, b_mask, b_zeros, subtract = _five(integers, 0)
    accumulate, rebias, zero_exponent = integers[5], integers[6], integers[7]
    narrow, quirk, exponent_bits, fraction_bits, to_even = _five(integers, 8)
    away, up, steps = floats[0], floats[1], _five(floats, 2)
    sums, powers, zeros = np.empty((1, SIZE)), np.empty((1, SIZE)), np.zeros(SIZE, np.uint32)
    zero_power, scale = power_of_two(zero_exponent), power_of_two(rebias)
    for block in range(dst.shape[0]):
        for i in range(SIZE):
            a, b = np.int64(src_a[block, i]), np.int64(src_b[block, i])
            exponent_a, exponent_b = a >> 10 & exponent_mask, b >> 10 & exponent_mask
            power_a = power_of_two(exponent_a) if exponent_a else 0.0
            kept = (b_zeros == 0) | (b_zeros == ZERO_FRACTIONS) & (b & b_mask != 0)
            power_b = power_of_two(exponent_b) if (exponent_b != 0) | kept else 0.0
            value_a = _signed(a & a_mask | 1 << 10, a >> 18) * power_a
            value_b = _signed(b & b_mask | 1 << 10, b >> 18 ^ subtract) * power_b
            largest = max(power_a, power_b)
            grid = largest * ON_GRID
            # A sum of two exponents 0 has the exponent of zeros.
            own = scale if largest > 1.0 else zero_power
            sums[0, i] = (rounded(value_a, grid, away, up) + rounded(value_b, grid, away, up)) * own
            powers[0, i] = max(largest, 1.0) * own
        old = dst[block] if accumulate else zeros
        add_to_dst(old, sums, powers, 0.0, result[block], steps, narrow, quirk, exponent_bits, fraction_bits, to_even)
