"""What the packers do to intermediate values between their two conversions: edge mask, ReLU, exponent threshold.

Ref: tt-isa-documentation 3930471, Packers/EdgeMasking, Packers/ReLU and Packers/ExponentThresholding; ttsim v1.10.0 for
ReLU's comparison of FP32 in mode 3. The threshold's undefined case, the intermediate format BFP2A, cannot occur: `pack`
rejects it.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_integers, integer
from bitpath.golden.tensix.convert.early_conversion import INTEGERS, kept_fraction_bits
from bitpath.golden.tensix.declarations.formats import COLUMNS, EXPONENT5_FORMATS, Format

FP32_MINUS_INFINITY = 0xFF800000
FP16_MINUS_INFINITY = 0xFFFF
"""FP16 has no bits to spare for infinity: all ones are, where the fraction is not narrower."""
RELU_MODES = range(4)
CLAMP_IGNORED_BITS = 13
"""Low bits of an FP32 word that mode 3 does not compare."""


def row_masks(mask: np.ndarray | int, datums: int) -> np.ndarray:
    """Return the 16-bit masks of all rows, int64.

    Raises
    ------
    TypeError, ValueError : no integers, masks of more than 16 bits, not one mask or one a row, or an unfinished row.
    """
    masks = np.asarray(mask)
    check_integers("edge_mask", masks, COLUMNS, signed=False)
    rows, rest = divmod(datums, COLUMNS)
    if rest:
        raise ValueError(f"dst must have a multiple of {COLUMNS} words with an edge_mask, not {datums}")
    if masks.shape not in ((), (rows,)):
        raise ValueError(f"edge_mask must be one mask or one for each of {rows} rows, not of shape {masks.shape}")
    return np.broadcast_to(masks.astype(np.int64), rows)


def apply_edge_mask(
    values: np.ndarray, masks: np.ndarray, mid_format: Format, *, minus_infinity: bool, raw: bool
) -> np.ndarray:
    """Keep the int64 intermediate values of the columns whose bit is set in their row's mask.

    Minus infinity takes the place of the others for float formats only.
    """
    kept = masks[:, np.newaxis] >> np.arange(COLUMNS) & 1 == 1
    replacement = 0
    if minus_infinity:
        if mid_format in EXPONENT5_FORMATS:
            dropped = 10 - kept_fraction_bits(mid_format, raw=raw)
            replacement = FP16_MINUS_INFINITY >> dropped << dropped
        else:
            replacement = FP32_MINUS_INFINITY
    return np.where(kept.reshape(-1), values, replacement)


def check_relu(mode: int, threshold: int, mid_format: Format) -> tuple[int, int]:
    """Return mode and threshold as Python's ints; raise where either does not exist."""
    mode = integer("relu", mode, RELU_MODES)
    if mode > 1 and mid_format in INTEGERS:
        raise ValueError(f"relu must be 0 or 1 with mid_format {mid_format.name}, not {mode}")
    return mode, integer("relu_threshold", threshold, range(1 << 15), ", a pattern without sign")


def apply_relu(values: np.ndarray, mid_format: Format, mode: int, threshold: int, *, unsigned: bool) -> np.ndarray:
    """Apply a mode of 0 to 3 to int64 intermediate values; every negative value, -0 too, becomes +0."""
    if mode == 0 or unsigned:
        return values
    if mid_format in INTEGERS:
        top = {Format.INT32: 31, Format.INT16: 15, Format.INT8: 7}[mid_format]
    else:
        top = 15 if mid_format in EXPONENT5_FORMATS else 31
    limit = threshold << top - 15 if mode > 1 else 0
    match mode:
        case 1 | 2:
            kept = values > limit
            passed = values
        case _:
            ignored = CLAMP_IGNORED_BITS if top == 31 else 0
            kept = values > 0
            passed = np.where(values >> ignored > limit >> ignored, limit, values)
    return np.where(kept & (values >> top == 0), passed, 0)


def check_exponent_threshold(threshold: int, mid_format: Format) -> int:
    """Return a threshold as Python's int; raise unless it is an exponent of 8 bits, 0 for integers."""
    threshold = integer("exponent_threshold", threshold, range(1 << 8))
    if threshold and mid_format in INTEGERS:
        raise ValueError(f"exponent_threshold must be 0 with mid_format {mid_format.name}, not {threshold}")
    return threshold


def apply_exponent_threshold(values: np.ndarray, mid_format: Format, threshold: int) -> np.ndarray:
    """Turn int64 intermediate floats whose biased exponent is below the threshold into +0; 0 turns none.

    Exponents of 5 bits are compared as they are.
    """
    if threshold == 0:
        return values
    exponent = values >> 10 & 0x1F if mid_format in EXPONENT5_FORMATS else values >> 23 & 0xFF
    return np.where(exponent < threshold, 0, values)
