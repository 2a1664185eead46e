"""The unpackers' conversions: datums in L1 to words of SrcA, SrcB and Dst.

Ref: tt-isa-documentation 3930471, UNPACR_Regular and Unpackers/FormatConversion; ttsim v1.10.0 for FP32 to FP16.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, integer, one_of
from bitpath.golden.tensix.convert.block_floats import exponent_stream_bytes
from bitpath.golden.tensix.convert.fp8 import check_e4m3
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import format_member, numerics_or_default

L1_BYTES = {
    Format.FP32: 4,
    Format.TF32: 4,
    Format.INT32: 4,
    Format.FP16: 2,
    Format.BF16: 2,
    Format.INT16: 2,
    Format.FP8: 1,
    Format.INT8: 1,
}
"""Bytes of a datum in L1, but for block floats."""

CONVERSIONS = {fmt: (fmt,) for fmt in L1_BYTES} | {
    Format.FP32: (Format.FP32, Format.TF32, Format.BF16, Format.FP16),
    Format.FP8: (Format.FP8, Format.FP16),
    **{fmt: (fmt, Format.BF16 if each.exponent_bits == 8 else Format.FP16) for fmt, each in BLOCK_FLOATS.items()},
}
"""Register formats that each L1 format converts to. FP32 and INT32 make 32-bit Dst words, all others Src words."""


@checked
def unpack(
    l1: np.ndarray,
    in_format: Format | int | str,
    out_format: Format | int | str,
    *,
    unsigned: bool = False,
    e4m3: bool = False,
    count: int = 256,
    forced_exponent: int | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Convert datums in L1 to register words.

    Parameters
    ----------
    l1 : uint8 bytes or uint32 little-endian words, one axis; block floats have their exponent bytes first, padded to 16.
    in_format, out_format : a pair of `CONVERSIONS`, members, hardware codes or names.
    unsigned : True if INT8 datums are 0 to 255 (else sign and 7 magnitude bits).
    e4m3 : True if FP8 datums are E4M3, else E5M2; without effect on other formats.
    count : datums, a multiple of 16 for block floats.
    forced_exponent : the unpacker's forced shared exponent, for all blocks; `l1` then holds datums without exponents.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 [count]: logical 19-bit Src words; 32-bit Dst words for the register formats FP32 and INT32.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or pair of formats; too few bytes; `unsigned` without INT8; an exponent of
        more than 5 bits in an 'a' variant; `forced_exponent` without block floats; `e4m3` where the chip has none.
    """
    numerics = numerics_or_default(numerics, chip)
    in_format, out_format = format_member("in_format", in_format), format_member("out_format", out_format)
    if out_format not in CONVERSIONS[in_format]:
        known = one_of(each.name for each in CONVERSIONS[in_format])
        raise ValueError(f"out_format must be {known} from {in_format.name}, not {out_format.name}")
    if unsigned and in_format is not Format.INT8:
        raise ValueError(f"unsigned must be False with in_format {in_format.name}, not True")
    e4m3 = check_e4m3(numerics, in_format, e4m3)
    data = as_bytes("l1", l1)
    if count < 1:
        raise ValueError(f"count must be 1 or more, not {count}")
    if in_format in BLOCK_FLOATS:
        return _block_floats(numerics, data, in_format, count, forced_exponent)
    if forced_exponent is not None:
        raise ValueError(f"forced_exponent must be None with in_format {in_format.name}, not {forced_exponent}")
    width = L1_BYTES[in_format]
    data = first_bytes(data, width * count)
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.convert import unpack_loop

    return unpack_loop.unpack(numerics, data, width, in_format, out_format, unsigned=unsigned, e4m3=e4m3)


def as_bytes(name: str, l1: np.ndarray) -> np.ndarray:
    """Return L1 contents as uint8, whatever the byte order of the host."""
    check_array(name, l1, np.uint8, np.uint32)
    if l1.ndim != 1:
        raise ValueError(f"{name} must have one axis, not shape {l1.shape}")
    return np.ascontiguousarray(l1.astype(l1.dtype.newbyteorder("<"), copy=False)).view(np.uint8)


def first_bytes(data: np.ndarray, needed: int) -> np.ndarray:
    """Return the bytes of L1 that are needed; raise ValueError for fewer."""
    if len(data) < needed:
        raise ValueError(f"l1 must have {needed} or more bytes, not {len(data)}")
    return data[:needed]


def _block_floats(
    numerics: TensixNumerics, data: np.ndarray, fmt: Format, count: int, forced_exponent: int | None
) -> np.ndarray:
    if count % BLOCK:
        raise ValueError(f"count must be a multiple of {BLOCK} with in_format {fmt.name}, not {count}")
    block = BLOCK_FLOATS[fmt]
    if forced_exponent is not None:
        limits = range(1 << block.exponent_bits)
        forced_exponent = integer("forced_exponent", forced_exponent, limits, f" for {fmt.name}")
    start = exponent_stream_bytes(count) if forced_exponent is None else 0
    data = first_bytes(data, start + count * block.datum_bits // 8)
    blocks = count // BLOCK
    exponents = data[:blocks] if forced_exponent is None else np.full(blocks, forced_exponent, np.uint8)
    if exponents.max() >> block.exponent_bits:
        raise ValueError(f"l1 holds the exponent {exponents.max()}; {fmt.name} has {block.exponent_bits} exponent bits")
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.convert import unpack_loop

    return unpack_loop.unpack_blocks(numerics, fmt, exponents, data[start:])
