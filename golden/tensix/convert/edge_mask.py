"""The packers' edge mask: datums of masked columns are replaced, before ReLU, by 0 or minus infinity.

Ref: tt-isa-documentation 3930471, Packers/EdgeMasking.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_integers, integer
from bitpath.golden.tensix.convert.early_conversion import kept_fraction_bits
from bitpath.golden.tensix.declarations.formats import COLUMNS, EXPONENT5_FORMATS, Format

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
