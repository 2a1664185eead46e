"""Host conversions around a matmul: floats to register words by way of L1, and Dst words to floats."""

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from bitpath.golden.arrays.arguments import check_choice, check_matrix, check_shape, checked
from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.arrays.parallel import cuts
from bitpath.golden.formats.catalogue import BF16, E5M2, FP16, FP32
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.convert.unpack import unpack
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, FACE, TILE, Chip, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import numerics_or_default
from bitpath.golden.tensix.operands.registers import INT32_MAX


@dataclass(frozen=True, kw_only=True)
class MatmulFormat:
    """A format that `matmul` takes.

    Attributes
    ----------
    register : format in the format fields of both sources.
    style : format as which the Matrix unit reads them.
    """

    register: Format
    style: Style

    @property
    def stored(self) -> Format:
        """Format of the operands in L1; unpackers read TF32 from FP32."""
        return Format.FP32 if self.register is Format.TF32 else self.register


FORMATS = {
    "bf16": MatmulFormat(register=Format.BF16, style=Style.BF16),
    "tf32": MatmulFormat(register=Format.TF32, style=Style.TF32),
    "fp16": MatmulFormat(register=Format.FP16, style=Style.FP16),
    "fp8": MatmulFormat(register=Format.FP8, style=Style.FP16),
    "bfp8": MatmulFormat(register=Format.BFP8, style=Style.BF16),
    "bfp4": MatmulFormat(register=Format.BFP4, style=Style.BF16),
    "bfp2": MatmulFormat(register=Format.BFP2, style=Style.BF16),
    "int8": MatmulFormat(register=Format.INT8, style=Style.INT8),
}
"""Formats by the names that `matmul` and the command line take."""
LARGEST_INT8 = 127
INT8 = range(-LARGEST_INT8, LARGEST_INT8 + 1)
"""Numbers of sign and magnitude."""
PART = 1 << 16
"""Face rows that are converted at a time: the intermediate values take many times the memory of the words."""
TILE_ROWS = TILE * TILE // FACE
"""Register rows of a tile: its faces one below the other."""


def operand_rule(fmt: str) -> tuple[range | None, str]:
    """Return the integers that an operand of a format may hold, None for floats, and why it may not hold NaN."""
    return (INT8, "") if fmt == "int8" else (None, "the Matrix unit would read as a number")


def l1_bytes(matrix: np.ndarray, fmt: str, numerics: TensixNumerics) -> np.ndarray:
    """Return datums in L1, rows of 16 datums (face rows) one after the other.

    bf16, fp16 and fp8 are rounded to nearest even, the latter two saturating; tf32 stays FP32; block floats go through
    bf16 and the packer's conversion.

    Parameters
    ----------
    matrix : [..., 16], checked.
    """
    flat = matrix.reshape(-1)
    if fmt == "int8":
        return (np.abs(flat) | np.where(flat < 0, 0x80, 0)).astype(np.uint8)
    codes = np.ascontiguousarray(flat).view(np.uint32)
    if fmt == "tf32":
        return codes.astype("<u4").view(np.uint8)
    values = decode_array(FP32, codes)
    if fmt in ("fp16", "fp8"):
        target = FP16 if fmt == "fp16" else E5M2
        saturated = encode_array(target, values, overflow=Overflow.SATURATE)
        return saturated.astype(f"<u{target.width // 8}").view(np.uint8)
    rounded = encode_array(BF16, values)
    if fmt == "bf16":
        return rounded.astype("<u2").view(np.uint8)
    words = rounded.astype(np.uint32)
    return pack(words, Format.BF16, FORMATS[fmt].register, dst32=False, raw=True, numerics=numerics)


@checked
def tile_image(
    tile: np.ndarray, format: str, numerics: TensixNumerics | None = None, chip: Chip | str | None = None
) -> np.ndarray:
    """Return the L1 image of one 32x32 tile, which `unpack` with a `count` of 1024 turns into its source words.

    Parameters
    ----------
    tile : [64, 16], its faces one below the other, as `matmul.to_tiles` gives it; dtypes are `matmul`'s.
    format : a format of `matmul`.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint8 bytes: 1024 datums, FP32 for "tf32"; block floats have 64 exponent bytes before them.

    Raises
    ------
    TypeError, ValueError : another format, dtype or shape; NaN; integers out of range.
    """
    check_choice("format", format, FORMATS)
    check_shape("tile", tile, TILE_ROWS, FACE)
    integers, no_nan = operand_rule(format)
    check_matrix("tile", tile, integers, no_nan=no_nan)
    return l1_bytes(tile, format, numerics_or_default(numerics, chip))


def tile_images(tiles: np.ndarray, fmt: str, numerics: TensixNumerics) -> np.ndarray:
    """Return the L1 images of tiles [n, 64, 16], each as `tile_image` gives it: uint8 [n, bytes of a tile]."""
    content, count = l1_bytes(tiles, fmt, numerics), len(tiles)
    exponents = count * _exponents(FORMATS[fmt])
    parts = content[:exponents].reshape(count, -1), content[exponents:].reshape(count, -1)
    return np.concatenate(parts, axis=1)


def tile_words(images: np.ndarray, fmt: MatmulFormat, numerics: TensixNumerics) -> np.ndarray:
    """Return the logical source words, uint32 [..., 64, 16], that the unpacker makes of tiles' images [..., n]."""
    shape = (*images.shape[:-1], TILE_ROWS, FACE)
    exponents = _exponents(fmt)
    content = np.concatenate([images[..., :exponents].reshape(-1), images[..., exponents:].reshape(-1)])
    return unpack(content, fmt.stored, fmt.register, count=math.prod(shape), numerics=numerics).reshape(shape)


def source_words(matrices: np.ndarray, multiples: tuple[int, int], fmt: str, numerics: TensixNumerics) -> np.ndarray:
    """Return the logical source words of matrices [B, R, C], checked, as the unpacker makes them of their tiles.

    Rows and columns are padded with zeros to multiples of two numbers, the second one a multiple of 16.
    """
    rest = [(0, -size % multiple) for size, multiple in zip(matrices.shape[1:], multiples, strict=True)]
    padded = np.pad(matrices, [(0, 0), *rest]) if np.any(rest) else matrices
    flat, own = padded.reshape(-1, FACE), FORMATS[fmt]
    words = np.empty(flat.shape, np.uint32)
    for part in cuts(len(flat), PART):
        content = l1_bytes(flat[part], fmt, numerics)
        words[part] = unpack(content, own.stored, own.register, count=flat[part].size, numerics=numerics).reshape(
            -1, FACE
        )
    return words.reshape(padded.shape)


def _exponents(fmt: MatmulFormat) -> int:
    """Exponent bytes before a tile's datums."""
    return TILE_ROWS if fmt.stored in BLOCK_FLOATS else 0


@checked
def quantize_rows(
    x: np.ndarray, format: str, *, numerics: TensixNumerics | None = None, chip: Chip | str | None = None
) -> np.ndarray:
    """Return rows [R, K] in L1, each padded with zeros to face rows of 16 datums, as `matmul` converts its operands.

    Parameters and errors are those of `tile_image`, but for the shape.
    """
    integers, no_nan = operand_rule(check_choice("format", format, FORMATS))
    check_matrix("x", x, integers, no_nan=no_nan)
    return l1_bytes(np.pad(x, ((0, 0), (0, -x.shape[1] % FACE))), format, numerics_or_default(numerics, chip))


@checked
def dequantize_rows(
    l1: np.ndarray, shape: tuple[int, int], format: str, *, numerics: TensixNumerics | None = None
) -> np.ndarray:
    """Return the numbers [R, K] that the Matrix unit reads from `quantize_rows`, float32; a denormal is zero."""
    own, columns = FORMATS[check_choice("format", format, FORMATS)], shape[1] + -shape[1] % FACE
    words = unpack(l1, own.stored, own.register, count=shape[0] * columns, numerics=numerics)
    sign, exponent, fraction = words >> 18 << 31, words >> 10 & 0xFF, words & 0x3FF
    # FP16's exponents of 5 bits have no infinity.
    exponent = np.where(exponent, exponent + (FP32.bias - FP16.bias) * (own.style is Style.FP16), 0)
    codes = sign | exponent << 23 | np.where(exponent, fraction, 0) << 13
    return codes.astype(np.uint32).view(np.float32).reshape(shape[0], -1)[:, : shape[1]]


def dst_values(dst: np.ndarray, style: Style, dst32: bool) -> np.ndarray:
    """Return Dst words as numbers, float32 or (INT8) int32; FP16's top binade is numbers too."""
    if style is Style.INT8:
        magnitude = (dst & INT32_MAX).astype(np.int32)
        return np.where(dst >> 31 == 1, -magnitude, magnitude)
    if dst32:
        return dst.view(np.float32)
    if style is not Style.FP16:
        return dst.astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)
    exponent = (dst >> 10 & 0x1F).astype(np.int32)
    significand = np.where(exponent == 0, 0, dst & 0x3FF | 1 << 10).astype(np.float32)
    return np.ldexp(np.where(dst >> 15 == 1, -significand, significand), exponent - 25)
