"""Scales of an MX operand as the array fetches them from the quadrants of SBUF.

    row p takes partition 32 * (p >> 5) + (p >> 3 & 3) + offset, at the same free index

Ref: "MXFP matmul" deep dive and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS
from bitpath.golden.trainium3.operands.layout import check_partitions, gather_scale


@checked
def fetch_scales(tile: np.ndarray, data_partitions: int, offset: int = 0) -> np.ndarray:
    """Return one scale for each row of the array, uint8 [data_partitions, F]; other rows of the tile are not read.

    Parameters
    ----------
    tile : uint8 [P, F] from the quadrant on in which the data start, P at least `data_partitions`.
    data_partitions : 32, 64, 96 or 128; each quadrant has the scales of its own data.
    offset : partition in each quadrant from which its four rows of scales lie: 0, 4, 8 or 12.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number.
    """
    check_array("tile", tile, np.uint8)
    check_shape("tile", tile, "P", "F")
    check_partitions("data_partitions", data_partitions)
    if len(tile) < data_partitions:
        raise ValueError(f"tile must span the data's {data_partitions} partitions, not {len(tile)}")
    return gather_scale(tile[:data_partitions], offset).repeat(SCALE_PARTITIONS, axis=0)
