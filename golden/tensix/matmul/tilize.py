"""Row-major matrices as tiles of four faces, and back: the permutations that tilise and untilise streams carry out.

Ref: tt-metal, tiles: a 32x32 tile is four 16x16 faces, top left, top right, bottom left, bottom right, each row by row.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked
from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.golden.tensix.matmul.host import TILE_ROWS
from bitpath.golden.tensix.matmul.matmul import from_tiles, to_tiles


@checked
def tilize(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix [R, C] of any dtype as tiles [R/32, C/32, 64, 16], the faces one below the other; zeros fill the last.

    Raises
    ------
    TypeError, ValueError : no array of two axes.
    """
    check_array("matrix", matrix)
    check_shape("matrix", matrix, "R", "C")
    return to_tiles(matrix)


@checked
def untilize(tiles: np.ndarray) -> np.ndarray:
    """Return tiles [R, C, 64, 16] as the matrix [32 R, 32 C]; the inverse of `tilize`, its zeros kept.

    Raises
    ------
    TypeError, ValueError : another shape.
    """
    check_array("tiles", tiles)
    check_shape("tiles", tiles, "R", "C", TILE_ROWS, FACE)
    return from_tiles(tiles)
