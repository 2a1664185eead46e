"""Blocks on scalars: FP32 codes to a block and back, the block's bytes and registers, and tiles of bfp16ebs8.

Ref: amd-quark 0.13 for the conversion; AM027, UG1639 and llvm-aie for the layouts; XDNA2 for bfp16ebs8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.codes import (
    BFP16EBS8,
    MX4,
    MX4_PADDING,
    MX_BIAS,
    MX_BLOCK,
    MX_FORMS,
    MX_NAN_EXPONENT,
    TILE_BLOCKS,
    MxFormat,
    RoundingCode,
)
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import power_of_two, scaled
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer

LARGEST_EXPONENT = MX_NAN_EXPONENT - 1


@checked
@dataclass(frozen=True)
class Block:
    """A block: one exponent byte, shift bits (bit j for elements 2j and 2j + 1), signed codes.

    MX has 8 shift bits and 16 codes, BFP16EBS8 none (`shift` is 0) and 8.
    """

    fmt: MxFormat
    exponent: int
    shift: int
    codes: tuple[int, ...]

    @checked
    def shift_of(self, element: int) -> int:
        """Return the shift of an element's pair, 0 or 1."""
        return self.shift >> element // 2 & 1

    @checked
    def value(self, element: int) -> Fraction:
        """Return an element's number, whatever the exponent byte says of NaN."""
        weight = self.exponent - MX_BIAS - self.shift_of(element) + 1 - self.fmt.magnitude_bits
        return scaled(self.codes[element], weight)


@dataclass(frozen=True)
class BlockTrace:
    """A conversion to a block, step by step.

    Attributes
    ----------
    numerics, rounding : numerics and rounding of the conversion.
    inputs : FP32 codes.
    exponents : their biased exponents.
    pair_exponents : the largest of each sub-tile, a pair or without shifts the block, one higher where it was bumped.
    rounded : the elements in units of their sub-tile's last place, after rounding and before saturation.
    block : the result.
    """

    numerics: AieNumerics
    rounding: RoundingCode
    inputs: tuple[int, ...]
    exponents: tuple[int, ...]
    pair_exponents: tuple[int, ...]
    rounded: tuple[int, ...]
    block: Block


@checked
def trace_to_mx(numerics: AieNumerics, inputs: Sequence[int], fmt: MxFormat, rounding: RoundingCode) -> BlockTrace:
    """Convert the FP32 codes of a block, 16 or in BFP16EBS8 8."""
    check_length("inputs", inputs, fmt.elements)
    exponents = tuple(code >> FP32.fraction_bits & FP32.exponent_mask for code in inputs)
    pairs = tuple(map(max, _sub_tiles(exponents, fmt)))
    if numerics.mx_nan_block and max(pairs) == MX_NAN_EXPONENT:
        nan = Block(fmt, MX_NAN_EXPONENT, 0, (0,) * fmt.elements)
        return BlockTrace(numerics, rounding, tuple(inputs), exponents, pairs, nan.codes, nan)
    values = [_value(numerics, code) for code in inputs]
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code
    rounded, shift = _round(values, pairs, fmt, rounding)
    if numerics.mx_bump:
        # A pair two binades or more below the block's exponent is rounded too coarsely to leave the range.
        leaves = [min(codes) < lowest or max(codes) > fmt.max_code for codes in _sub_tiles(rounded, fmt)]
        pairs = tuple(each + 1 if each < LARGEST_EXPONENT and leaves[j] else each for j, each in enumerate(pairs))
        rounded, shift = _round(values, pairs, fmt, rounding)
    codes = tuple(min(max(code, lowest), fmt.max_code) for code in rounded)
    block = Block(fmt, max(pairs), shift, codes)
    return BlockTrace(numerics, rounding, tuple(inputs), exponents, pairs, rounded, block)


@checked
def to_mx(numerics: AieNumerics, inputs: Sequence[int], fmt: MxFormat, rounding: RoundingCode) -> Block:
    """Return the block of `trace_to_mx`."""
    return trace_to_mx(numerics, inputs, fmt, rounding).block


def _sub_tiles(values: Sequence[int], fmt: MxFormat) -> list[Sequence[int]]:
    """Return the elements that are scaled alike."""
    return [values[first : first + fmt.sub_tile] for first in range(0, fmt.elements, fmt.sub_tile)]


def _value(numerics: AieNumerics, code: int) -> Fraction:
    """Return an FP32 code's number; exponent 255 is read as any other."""
    exponent, fraction = code >> FP32.fraction_bits & FP32.exponent_mask, code & FP32.fraction_mask
    if exponent == 0 and numerics.mx_flush:
        return Fraction(0)
    significand = fraction | 1 << FP32.fraction_bits if exponent else fraction
    sign = -1 if code & FP32.sign_mask else 1
    return scaled(sign * significand, max(exponent, 1) - FP32.bias - FP32.fraction_bits)


def _round(
    values: Sequence[Fraction], pairs: Sequence[int], fmt: MxFormat, rounding: RoundingCode
) -> tuple[tuple[int, ...], int]:
    """Return the codes before saturation and the shift byte, for given exponents of the pairs."""
    shared = max(pairs)
    shift = sum(int(shared > each) << j for j, each in enumerate(pairs))
    codes = []
    for i, value in enumerate(values):
        last_place = power_of_two(shared - MX_BIAS - (shift >> i // 2 & 1) + 1 - fmt.magnitude_bits)
        codes.append(round_to_integer(value / last_place, rounding.mode))
    return tuple(codes), shift


@checked
def from_mx(numerics: AieNumerics, block: Block) -> list[int]:
    """Return the elements' FP32 codes: exact, flushed below the normal numbers, infinity from 2**128 on."""
    if numerics.mx_nan_block and block.exponent == MX_NAN_EXPONENT:
        return [FP32.nan_code] * block.fmt.elements
    codes = []
    for i in range(block.fmt.elements):
        value = block.value(i)
        sign = FP32.sign_mask if value < 0 else 0
        exact = round_to_format(value, FP32, Rounding.RTZ)
        codes.append(sign if abs(value) < FP32.min_normal else exact)
    return codes


@checked
def pack_tile(blocks: Sequence[Block]) -> bytes:
    """Return the bytes of 8 blocks of BFP16EBS8 in memory: all codes, then the exponents."""
    check_length("blocks", blocks, TILE_BLOCKS)
    codes = [code % (1 << BFP16EBS8.width) for block in blocks for code in block.codes]
    return bytes([*codes, *(block.exponent for block in blocks)])


@checked
def unpack_tile(data: bytes) -> list[Block]:
    """Return the 8 blocks of their bytes in memory."""
    size, elements = 1 << BFP16EBS8.width, BFP16EBS8.elements
    codes = [code - size * (code > BFP16EBS8.max_code) for code in data[:-TILE_BLOCKS]]
    return [
        Block(BFP16EBS8, exponent, 0, tuple(codes[i * elements : (i + 1) * elements]))
        for i, exponent in enumerate(data[-TILE_BLOCKS:])
    ]


@checked
def pack_block(block: Block) -> bytes:
    """Return an MX block's bytes in memory: exponent, shifts, codes as a little-endian bit stream."""
    stream = 0
    for i, code in enumerate(block.codes):
        stream |= code % (1 << block.fmt.width) << i * block.fmt.width
    return bytes([block.exponent, block.shift]) + stream.to_bytes(block.fmt.block_bytes - 2, "little")


@checked
def unpack_block(data: bytes, fmt: MxFormat) -> Block:
    """Return the MX block of its bytes in memory."""
    stream = int.from_bytes(data[2:], "little")
    codes = [stream >> i * fmt.width & (1 << fmt.width) - 1 for i in range(MX_BLOCK)]
    return Block(fmt, data[0], data[1], tuple(code - (code > fmt.max_code) * (1 << fmt.width) for code in codes))


@checked
def register_bytes(block: Block) -> tuple[bytes, bytes, bytes, bytes]:
    """Return an MX block's share of the vector, F, G and E registers, each as bytes."""
    form = MX_FORMS[block.fmt]
    padding = MX4_PADDING if block.fmt is MX4 else 0
    data, signs = 0, 0
    for i, code in enumerate(block.codes):
        word = (code << padding) % (1 << form.data_bits + form.msb_bits)
        data |= (word & (1 << form.data_bits) - 1) << i * form.data_bits
        signs |= (word >> form.data_bits) << i * form.msb_bits
    count = MX_BLOCK // form.elements_per_byte
    shifts = bytes([block.shift]) if count == 1 else bytes([block.shift & 0xF, block.shift >> 4])
    return (
        data.to_bytes(MX_BLOCK * form.data_bits // 8, "little"),
        signs.to_bytes(MX_BLOCK * form.msb_bits // 8, "little"),
        shifts,
        bytes([block.exponent] * count),
    )
