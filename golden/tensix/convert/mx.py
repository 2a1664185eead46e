"""Quasar's MX formats in L1: floats to blocks of 32 under one scale, and back to source words.

The scale of a block is 2**e with e from its largest finite magnitude::

    "floor"   e = floor(log2(amax)) - emax        the host's quantisers
    "ceil"    e = ceil(log2(amax / largest))      tt-llk's test packer

Elements are rounded to nearest even, keep denormals and saturate. In L1 a byte for each scale comes first, then the elements, low
bits first, each section padded to 16 bytes.

Ref: tt-metal, host quantisers of MX formats; tt-llk, test goldens; OCP Microscaling Formats (MX) 1.0.
"""

from enum import Enum

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_matrix, checked, integer, member
from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.tensix.convert.unpack import as_bytes, first_bytes
from bitpath.golden.tensix.declarations.quasar import (
    INFINITE_SCALE,
    MX_ALIGNMENT,
    MX_BLOCK,
    MX_FORMATS,
    NAN_SCALE,
    SCALE_BIAS,
    MxFormat,
)


class MxScaleRule(Enum):
    """Rules for the exponent of a block's scale."""

    FLOOR = "floor"
    CEIL = "ceil"


@checked
def mx_pack(
    x: np.ndarray, format: str, *, scale_rule: str | MxScaleRule = "floor", exp_rnd: bool = False
) -> np.ndarray:
    """Convert floats to the image of an MX format in L1.

    Parameters
    ----------
    x : float32 of any shape, in order; a multiple of 32 numbers.
    format : "MXFP8R" (E5M2), "MXFP8P" (E4M3), "MXFP6R" (E3M2), "MXFP6P" (E2M3), "MXFP4" (E2M1), "MXINT8", "MXINT4" or "MXINT2".
    scale_rule : "floor" or "ceil".
    exp_rnd : True to double the scale.

    Returns
    -------
    uint8 bytes. Blocks of NaN alone have the scale 0xFF, blocks with infinities and no finite number but 0 have 0xFE. A NaN becomes 0
    where the format has none, an infinity the largest number.

    Raises
    ------
    TypeError, ValueError : another dtype, format or rule; numbers that fill no blocks.
    """
    check_array("x", x, np.float32)
    own = MX_FORMATS[check_choice("format", format, MX_FORMATS)]
    rule = member("scale_rule", scale_rule, MxScaleRule)
    if x.size == 0 or x.size % MX_BLOCK:
        raise ValueError(f"x must hold a multiple of {MX_BLOCK} numbers, not {x.size}")
    blocks = decode_array(FP32, np.ascontiguousarray(x).view(np.uint32)).reshape(-1, MX_BLOCK)
    scales = _scales(blocks, own, rule, exp_rnd)
    # A scale of 0xFF is NaN: such blocks have no number to divide.
    numbers = np.ldexp(blocks, SCALE_BIAS - scales[:, np.newaxis].astype(np.int64))
    return np.concatenate([_padded(scales), _padded(_joined(_elements(numbers, own), own.bits))])


@checked
def mx_unpack(l1: np.ndarray, format: str, *, count: int = 1024) -> np.ndarray:
    """Convert the image of an MX format in L1 to words of SrcA or SrcB, which are BF16.

    Parameters
    ----------
    l1 : uint8 bytes or uint32 words.
    format : as `mx_pack` has it.
    count : datums, a multiple of 32.

    Returns
    -------
    uint32 [count] logical words: each element times its scale, rounded to nearest even where BF16 has fewer bits, which only its
    denormals have; too large a number is infinity, and the scale 0xFF is NaN.

    Raises
    ------
    TypeError, ValueError : another dtype or format; too few bytes.
    """
    own = MX_FORMATS[check_choice("format", format, MX_FORMATS)]
    data, blocks = as_bytes("l1", l1), integer("count", count, range(1, 1 << 32)) // MX_BLOCK
    if count % MX_BLOCK:
        raise ValueError(f"count must be a multiple of {MX_BLOCK}, not {count}")
    start = -(-blocks // MX_ALIGNMENT) * MX_ALIGNMENT
    data = first_bytes(data, start + count * own.bits // 8)
    scales, codes = data[:blocks], _split(data[start:], own.bits)
    if own.element is not None:
        numbers = decode_array(own.element, codes)
    else:
        half = 1 << own.bits - 1
        numbers = np.ldexp(((codes.astype(np.int64) ^ half) - half).astype(np.float64), own.step_exponent)
    values = np.ldexp(numbers.reshape(-1, MX_BLOCK), scales[:, np.newaxis].astype(np.int64) - SCALE_BIAS)
    values[scales == NAN_SCALE] = np.nan
    return encode_array(BF16, values.reshape(-1)).astype(np.uint32) << 3


@checked
def quantize_rows(
    x: np.ndarray, format: str, *, scale_rule: str | MxScaleRule = "floor", exp_rnd: bool = False
) -> np.ndarray:
    """Return `mx_pack` of rows [R, K], each padded with zeros to blocks of 32."""
    check_matrix("x", x)
    return mx_pack(np.pad(x, ((0, 0), (0, -x.shape[1] % MX_BLOCK))), format, scale_rule=scale_rule, exp_rnd=exp_rnd)


@checked
def dequantize_rows(l1: np.ndarray, shape: tuple[int, int], format: str) -> np.ndarray:
    """Return the numbers [R, K] of the words that `mx_unpack` gives, float32."""
    columns = shape[1] + -shape[1] % MX_BLOCK
    codes = mx_unpack(l1, format, count=shape[0] * columns) << 13
    return codes.view(np.float32).reshape(shape[0], -1)[:, : shape[1]]


def _scales(blocks: np.ndarray, fmt: MxFormat, rule: MxScaleRule, exp_rnd: bool) -> np.ndarray:
    """Return a scale's code for each block, uint8."""
    finite = np.isfinite(blocks)
    largest = np.max(np.where(finite, np.abs(blocks), 0), axis=1)
    # The fraction is 0.5 to 1: log2's floor is frexp's exponent less one.
    fraction, exponent = np.frexp(largest)
    if rule is MxScaleRule.FLOOR:
        exponent = exponent - 1 - fmt.emax
    else:
        top, weight = np.frexp(float(fmt.largest))
        exponent = exponent - weight + (fraction > top)
    codes = np.clip(exponent + exp_rnd, -SCALE_BIAS, INFINITE_SCALE - SCALE_BIAS) + SCALE_BIAS
    codes = np.where(largest == 0, 0, codes)
    codes = np.where((largest == 0) & np.any(np.isinf(blocks), axis=1), INFINITE_SCALE, codes)
    return np.where(np.all(np.isnan(blocks), axis=1), NAN_SCALE, codes).astype(np.uint8)


def _elements(numbers: np.ndarray, fmt: MxFormat) -> np.ndarray:
    """Return the codes of numbers in units of their scale."""
    if fmt.element is not None:
        given = numbers if fmt.element.nan_code is not None else np.where(np.isnan(numbers), 0, numbers)
        return encode_array(fmt.element, given.reshape(-1), overflow=Overflow.SATURATE).astype(np.uint8)
    units = np.rint(np.ldexp(np.where(np.isnan(numbers), 0, numbers), -fmt.step_exponent))
    limited = np.clip(units, -fmt.largest_integer, fmt.largest_integer).astype(np.int64).reshape(-1)
    return (limited & (1 << fmt.bits) - 1).astype(np.uint8)


def _joined(codes: np.ndarray, bits: int) -> np.ndarray:
    """Return codes one after the other, the first in the lowest bits."""
    return np.packbits(np.unpackbits(codes[:, np.newaxis], axis=1, count=bits, bitorder="little"), bitorder="little")


def _split(data: np.ndarray, bits: int) -> np.ndarray:
    """Return the codes of bytes; the inverse of `_joined`."""
    single = np.unpackbits(data, bitorder="little").reshape(-1, bits)
    return np.packbits(single, axis=1, bitorder="little").reshape(-1)


def _padded(data: np.ndarray) -> np.ndarray:
    return np.pad(data, (0, -data.size % MX_ALIGNMENT))
