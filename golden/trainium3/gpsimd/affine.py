"""Affine values of iota and affine_select.

    value[p, (w, z, y, x)] = offset + p * channel_multiplier + w * step_w + z * step_z + y * step_y + x * step_x  mod 2**32

Ref: ``nki.isa.iota`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.trainium3.declarations.gpsimd import INT32_RANGE, MAX_AFFINE_PAIRS
from bitpath.golden.trainium3.declarations.memory import SBUF_PARTITION_BYTES


def affine_values(
    pattern: Sequence[tuple[int, int]], partitions: int, offset: int, channel_multiplier: int
) -> np.ndarray:
    """Return the values as int32 [partitions, product of nums], in the order of the pattern, outermost pair first.

    Raises
    ------
    ValueError : other than 1 to 4 pairs, a num below 1, a step, an offset or a multiplier beyond int32, or more elements than
        an SBUF partition has bytes.
    """
    if not 0 < len(pattern) <= MAX_AFFINE_PAIRS:
        raise ValueError(f"pattern must have 1 to {MAX_AFFINE_PAIRS} pairs of step and num, not {len(pattern)}")
    for i, (step, num) in enumerate(pattern):
        integer(f"step of pattern[{i}]", step, INT32_RANGE)
        integer(f"num of pattern[{i}]", num, range(1, SBUF_PARTITION_BYTES + 1))
    elements = prod(num for _, num in pattern)
    integer("number of elements in pattern", elements, range(1, SBUF_PARTITION_BYTES + 1))
    integer("offset", offset, INT32_RANGE)
    integer("channel_multiplier", channel_multiplier, INT32_RANGE)
    values = _multiples(channel_multiplier, partitions) + _word(offset)
    for step, num in pattern:
        values = values[..., np.newaxis] + _multiples(step, num)
    return values.reshape(partitions, elements).view(np.int32)


def _word(value: int) -> np.ndarray:
    """Return an integer modulo 2**32, in an array: numpy wraps arrays silently, scalars with a warning."""
    return np.array([value % (1 << 32)], np.uint32)


def _multiples(step: int, num: int) -> np.ndarray:
    return np.arange(num, dtype=np.uint32) * _word(step)
