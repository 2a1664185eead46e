"""Broadcasts of SrcB in ELWMUL, ELWADD and ELWSUB: one row to all rows, column 0 to all columns, or both.

They choose datums and compute nothing, so that one function serves all three operations.

Ref: tt-isa-documentation 3930471, ELWMUL and ELWADD.
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS
from bitpath.golden.tensix.operands.arguments import check_words


@checked
def broadcast_src_b(src_b: np.ndarray, *, row: int | None = None, column_0: bool = False) -> np.ndarray:
    """Return the SrcB block that an element-wise operation with broadcast reads.

    Parameters
    ----------
    src_b : uint32 [..., 8, 16] logical words, an aligned block of SrcB.
    row : row of the block, repeated in all 8 rows; None leaves the rows. The instruction may name any row of SrcB.
    column_0 : True if column 0 is repeated in all 16 columns.

    Returns
    -------
    uint32 [..., 8, 16], for `src_b` of `elwmul`, `elwadd` and `elwsub`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape, words too wide, a row that is not there.
    """
    check_words("src_b", src_b, BLOCK_ROWS, 19)
    row = None if row is None else integer("row", row, range(BLOCK_ROWS))
    rows = slice(None) if row is None else slice(row, row + 1)
    columns = slice(1 if column_0 else COLUMNS)
    return np.broadcast_to(src_b[..., rows, columns], src_b.shape).copy()
