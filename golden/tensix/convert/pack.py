"""The packers: Dst to L1 by early conversion, edge mask, ReLU, exponent threshold, late conversion, and a write or an
accumulation.

Ref: tt-isa-documentation 3930471, Packers/FormatConversion and its neighbours; ttsim v1.10.0 for points that they leave open.
"""

from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_integers, checked, integer, one_of
from bitpath.golden.tensix.convert.formats import (
    EARLY_FORMATS,
    INTEGERS,
    UPPER_HALF_FORMATS,
    check_e4m3,
    kept_fraction_bits,
)
from bitpath.golden.tensix.convert.unpack import L1_BYTES, as_bytes, first_bytes
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, COLUMNS, EXPONENT5_FORMATS, Chip, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_width, format_member, numerics_or_default

# The packers' edge mask: datums of masked columns are replaced, before ReLU, by 0 or minus infinity.
#
# Ref: tt-isa-documentation 3930471, Packers/EdgeMasking.


FP32_MINUS_INFINITY = 0xFF800000
FP16_MINUS_INFINITY = 0xFFFF
"""FP16 has no bits to spare for infinity: all ones are, where the fraction is not narrower."""


def row_masks(mask: np.ndarray | int, datums: int) -> np.ndarray:
    """Return the 16-bit masks of all rows.

    Raises
    ------
    TypeError, ValueError : no integers, masks of more than 16 bits, not one mask or one a row, or an unfinished row.
    """
    masks = mask if isinstance(mask, np.ndarray) else np.array(integer("edge_mask", mask, range(1 << COLUMNS)))
    check_integers("edge_mask", masks, COLUMNS, signed=False)
    rows, rest = divmod(datums, COLUMNS)
    if rest:
        raise ValueError(f"dst must have a multiple of {COLUMNS} words with an edge_mask, not {datums}")
    if masks.shape not in ((), (rows,)):
        raise ValueError(f"edge_mask must be one mask or one for each of {rows} rows, not of shape {masks.shape}")
    return np.broadcast_to(masks, rows)


def edge_replacement(mid_format: Format, *, minus_infinity: bool, raw: bool) -> int:
    """Return the intermediate value of masked datums: 0, or minus infinity for a float format."""
    if not minus_infinity:
        return 0
    if mid_format not in EXPONENT5_FORMATS:
        return FP32_MINUS_INFINITY
    dropped = 10 - kept_fraction_bits(mid_format, raw=raw)
    return FP16_MINUS_INFINITY >> dropped << dropped


# The packers' exponent threshold: after ReLU, small numbers become +0.
#
# Ref: tt-isa-documentation 3930471, Packers/ExponentThresholding. Its undefined case, the intermediate
# format BFP2A, cannot occur: `pack` rejects it.


def check_exponent_threshold(threshold: int, mid_format: Format) -> int:
    """Return a threshold as Python's int; raise unless it is an exponent of 8 bits, 0 for integers."""
    threshold = integer("exponent_threshold", threshold, range(1 << 8))
    if threshold and mid_format in INTEGERS:
        raise ValueError(f"exponent_threshold must be 0 with mid_format {mid_format.name}, not {threshold}")
    return threshold


# The packers' accumulation in L1: old + new, to nearest even, where the Matrix unit rounds ties away.
#
# Ref: ttsim v1.10.0; the documents only say that it exists.


ACCUMULATING_FORMATS = (Format.FP32, Format.BF16, Format.FP16)


# The packers' ReLU, on intermediate values.
#
# Ref: tt-isa-documentation 3930471, Packers/ReLU; ttsim v1.10.0 for the comparison of FP32 in mode 3.


MODES = range(4)


def check_relu(mode: int, threshold: int, mid_format: Format) -> tuple[int, int]:
    """Return mode and threshold as Python's ints; raise where either does not exist."""
    mode = integer("relu", mode, MODES)
    if mode > 1 and mid_format in INTEGERS:
        raise ValueError(f"relu must be 0 or 1 with mid_format {mid_format.name}, not {mode}")
    return mode, integer("relu_threshold", threshold, range(1 << 15), ", a pattern without sign")


FLOAT_OUTPUTS = (
    Format.FP32,
    Format.TF32,
    Format.BF16,
    Format.FP16,
    Format.FP8,
    *BLOCK_FLOATS,
)
"""L1 formats that any float intermediate converts to; FP32 does not become TF32."""
NARROWED_OUTPUTS = tuple(fmt for fmt in FLOAT_OUTPUTS if fmt in EXPONENT5_FORMATS)
"""L1 formats to which TF32 is narrowed on its way."""
LARGEST_DESCALE_SHIFT = 31
NOTHING, NO_BITS = np.empty(0, np.uint8), np.empty(0, np.uint32)


@checked
def pack(
    dst: np.ndarray,
    mid_format: Format | int | str,
    out_format: Format | int | str,
    *,
    dst32: bool,
    relu: int = 0,
    relu_threshold: int = 0,
    l1: np.ndarray | None = None,
    unsigned: bool = False,
    raw: bool = False,
    edge_mask: np.ndarray | int | None = None,
    edge_minus_infinity: bool = False,
    exponent_threshold: int = 0,
    descale_shift: int = 0,
    round_10b: bool = False,
    e4m3: bool = False,
    stochastic_bits: np.ndarray | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Convert Dst words to datums in L1.

    Parameters
    ----------
    dst : uint32 words of any shape, in order; 16-bit ones are FP16 for an intermediate format with 5 exponent bits.
    mid_format : the intermediate format. FP32, TF32, BF16, BFP8 (8 exponent and 6 fraction bits), FP16, BFP8A (5 and 6
        bits; 7 with `raw`), FP8 (with `raw`), INT32, INT16 or INT8.
    out_format : a float format for a float, the intermediate format itself for an integer.
    dst32 : True if Dst words are 32 bits wide.
    relu : 0 none; 1 not above zero becomes zero; 2 not above the threshold becomes zero; 3 clamp to 0..threshold.
    relu_threshold : 16-bit pattern, FP16 for an intermediate format with 5 exponent bits, else BF16; not negative.
    l1 : uint8 bytes or uint32 words to add the result to, for FP32, BF16 and FP16; at least as long as it.
    unsigned : True if INT8 means 0 to 255.
    raw : convert early by copying or truncating instead of rounding: keeps denormals, NaN and -0.
    edge_mask : 16 bits for each row of 16 datums, or for all rows: datums of a column whose bit is 0 are replaced.
    edge_minus_infinity : True if they become minus infinity, for float intermediate formats; else +0.
    exponent_threshold : after ReLU, floats of a biased exponent below it become +0; 0 to 255.
    descale_shift : INT32 to INT8 divides by 2**shift, 0 to 31, and rounds before it clamps; not with `raw`.
    round_10b : the intermediate format FP32, or BF16 on the way to FP16, is TF32 instead; without effect with `raw`. On
        Blackhole also with FP16: a 32-bit Dst holds FP32, which is rounded to TF32 and, after ReLU with a threshold in BF16,
        narrowed; a 16-bit Dst holds BF16, which is narrowed before ReLU.
    e4m3 : True if FP8 in L1 is E4M3, else E5M2; without effect on other formats.
    stochastic_bits : uint32, one for each word: their low 23 bits P round the first conversion of floats stochastically. A
        magnitude whose d discarded bits are D goes up where D >= P >> (23 - d); P = 0x400000 rounds to nearest. Later
        roundings, of block floats, are to nearest.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint8 bytes; block floats have their exponent bytes first, padded to 16 with zeros.

    Raises
    ------
    TypeError, ValueError : other dtypes, formats, modes or pairs of them; words too wide; `l1` too short; `e4m3` where the chip has none.
    """
    numerics = numerics_or_default(numerics, chip)
    mid_format, out_format = format_member("mid_format", mid_format), format_member("out_format", out_format)
    check_array("dst", dst, np.uint32)
    if not dst32:
        check_width("dst", dst, 16)
    packing = packing_of(
        numerics,
        mid_format,
        out_format,
        dst32=dst32,
        relu=relu,
        relu_threshold=relu_threshold,
        unsigned=unsigned,
        raw=raw,
        masked=edge_mask is not None,
        edge_minus_infinity=edge_minus_infinity,
        exponent_threshold=exponent_threshold,
        descale_shift=descale_shift,
        round_10b=round_10b,
        e4m3=e4m3,
        accumulates=l1 is not None,
        stochastic=stochastic_bits is not None,
    )
    return packed(packing, dst, edge_mask, l1, stochastic_bits)


def packing_of(
    numerics: TensixNumerics,
    mid_format: Format,
    out_format: Format,
    *,
    dst32: bool,
    relu: int,
    relu_threshold: int,
    unsigned: bool,
    raw: bool,
    masked: bool,
    edge_minus_infinity: bool = False,
    exponent_threshold: int = 0,
    descale_shift: int = 0,
    round_10b: bool,
    e4m3: bool,
    accumulates: bool,
    stochastic: bool = False,
) -> Any:
    """Return the settings of a conversion, checked, a `pack_loop.Packing`; the arguments are those of `pack`, for arrays whether they are given.

    Raises
    ------
    ValueError : as `pack`.
    """
    e4m3 = check_e4m3(numerics, out_format, e4m3)
    mid_format, narrows = settled_formats(
        numerics, mid_format, out_format, dst32=dst32, unsigned=unsigned, raw=raw, round_10b=round_10b
    )
    descale_shift = _check_descale_shift(descale_shift, mid_format, raw=raw)
    relu, relu_threshold = check_relu(relu, relu_threshold, mid_format)
    exponent_threshold = check_exponent_threshold(exponent_threshold, mid_format)
    if edge_minus_infinity and (not masked or mid_format in INTEGERS):
        given = f"mid_format {mid_format.name} and edge_mask {'given' if masked else 'None'}"
        raise ValueError(f"edge_minus_infinity must be False with {given}, not True")
    if accumulates and out_format not in ACCUMULATING_FORMATS:
        known = one_of(each.name for each in ACCUMULATING_FORMATS)
        raise ValueError(f"out_format must be {known} with l1, not {out_format.name}")
    if stochastic and not rounds_floats(mid_format, raw=raw, narrows=narrows):
        raise ValueError(f"stochastic_bits must be None with mid_format {mid_format.name} and raw {raw}, not an array")
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.convert import pack_loop

    return pack_loop.settled(
        numerics,
        mid_format,
        out_format,
        L1_BYTES.get(out_format, 1),
        dst32=dst32,
        unsigned=unsigned,
        raw=raw,
        narrows=narrows,
        e4m3=e4m3,
        masked=masked,
        stochastic=stochastic,
        descale_shift=descale_shift,
        replacement=edge_replacement(mid_format, minus_infinity=edge_minus_infinity, raw=raw),
        relu=relu,
        relu_threshold=relu_threshold,
        exponent_threshold=exponent_threshold,
    )


def rounds_floats(mid_format: Format, *, raw: bool, narrows: bool) -> bool:
    """Return True if the first conversion rounds floats; the arguments are those that `settled_formats` returns, and `raw`."""
    return not (raw or narrows or mid_format in (Format.FP32, *INTEGERS))


def packed(
    packing: Any,
    dst: np.ndarray,
    edge_mask: np.ndarray | int | None = None,
    l1: np.ndarray | None = None,
    stochastic_bits: np.ndarray | None = None,
) -> np.ndarray:
    """Return the bytes of Dst words with settings of `packing_of`; the other arguments and errors are those of `pack`."""
    from bitpath.golden.tensix.convert import pack_loop

    if packing.block is not None and dst.size % BLOCK:
        name = packing.out_format.name
        raise ValueError(f"dst must have a multiple of {BLOCK} words with out_format {name}, not {dst.size}")
    bits = NO_BITS if stochastic_bits is None else _check_bits(stochastic_bits, dst.size)
    masks = NOTHING if edge_mask is None else row_masks(edge_mask, dst.size)
    old = NOTHING if l1 is None else first_bytes(as_bytes("l1", l1), packing.width * dst.size)
    return pack_loop.pack(packing, dst, masks, old, bits)


def settled_formats(
    numerics: TensixNumerics,
    mid_format: Format,
    out_format: Format,
    *,
    dst32: bool,
    unsigned: bool = False,
    raw: bool = False,
    round_10b: bool = False,
) -> tuple[Format, bool]:
    """Return the intermediate format with `round_10b`, and whether BF16 in Dst is narrowed to it; raise as `pack`."""
    narrows = False
    if round_10b and not raw:
        narrows = numerics.round_10b_fp16 and mid_format is Format.FP16 and not dst32
        mid_format = mid_format if narrows else _rounded_to_10_bits(numerics, mid_format, out_format)
    known = EARLY_FORMATS[dst32, raw] + (UPPER_HALF_FORMATS if dst32 and not raw else ())
    if mid_format not in known:
        names = one_of(each.name for each in known)
        raise ValueError(f"mid_format must be {names} with dst32 {dst32} and raw {raw}, not {mid_format.name}")
    outputs = (mid_format,) if mid_format in INTEGERS else FLOAT_OUTPUTS
    if out_format not in outputs or (mid_format, out_format) == (Format.FP32, Format.TF32):
        names = one_of(each.name for each in outputs if (mid_format, each) != (Format.FP32, Format.TF32))
        raise ValueError(f"out_format must be {names} from {mid_format.name}, not {out_format.name}")
    if unsigned and mid_format is not Format.INT8:
        raise ValueError(f"unsigned must be False with mid_format {mid_format.name}, not True")
    return mid_format, narrows


def _rounded_to_10_bits(numerics: TensixNumerics, mid_format: Format, out_format: Format) -> Format:
    """Return the intermediate format with `round_10b`, which keeps 10 fraction bits."""
    if numerics.round_10b_fp16 and mid_format is Format.FP16 and out_format in NARROWED_OUTPUTS:
        return Format.TF32
    if mid_format is Format.FP32 or (mid_format is Format.BF16 and out_format is Format.FP16):
        return Format.TF32
    raise ValueError(
        f"round_10b must be False with mid_format {mid_format.name} and out_format {out_format.name}, not True"
    )


def _check_descale_shift(shift: int, mid_format: Format, *, raw: bool) -> int:
    shift = integer("descale_shift", shift, range(LARGEST_DESCALE_SHIFT + 1))
    if shift and (raw or mid_format is not Format.INT8):
        raise ValueError(f"descale_shift must be 0 with mid_format {mid_format.name} and raw {raw}, not {shift}")
    return shift


def _check_bits(bits: np.ndarray, count: int) -> np.ndarray:
    """Return the random bits of stochastic rounding; raise unless there is one word for each of Dst."""
    check_array("stochastic_bits", bits, np.uint32)
    if bits.size != count:
        raise ValueError(f"stochastic_bits must be as many as dst has words, {count}, not {bits.size}")
    return bits
