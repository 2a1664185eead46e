"""The packers' edge mask, compiled."""

from numba import njit

from bitpath.golden.tensix.convert.neighbours_loop import split


@njit(inline="always")
def mask_edge(values, masks, replacement, kept):
    """Replace the values of a tile whose bit in the masks, uint8 of 8 datums each, is 0.

    Parameters
    ----------
    kept : scratch, uint8 [4, size of a tile].
    """
    size = values.shape[0]
    split(masks, kept[0], size // 8, 4)
    split(kept[0], kept[1], size // 4, 2)
    split(kept[1], kept[2], size // 2, 1)
    bits = kept[2]
    for i in range(size):
        values[i] = values[i] if bits[i] else replacement
