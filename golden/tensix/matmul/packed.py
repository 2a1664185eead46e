"""The output tiles of a program in L1, and the numbers that they are."""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked
from bitpath.golden.tensix.convert.early_conversion import INTEGERS
from bitpath.golden.tensix.declarations.formats import FACE, Format, Style
from bitpath.golden.tensix.matmul.host import LARGEST_INT8, TILE_ROWS, dst_values
from bitpath.golden.tensix.matmul.matmul import Program, unpadded
from bitpath.golden.tensix.matmul.packing import PACKED, pack_datums

SIGN8 = LARGEST_INT8 + 1


@checked
def packed_tiles(program: Program, dst: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
    """Return a program's output tiles in L1: unsigned integers of the datums' width, of the shape of ``dst``.

    Parameters
    ----------
    dst : Dst words, uint32 [M/32, N/32, 64, 16], from `run_program`.
    before : the tiles to which a program that accumulates adds.

    Raises
    ------
    TypeError, ValueError : other dtypes or shapes; ``before`` missing, or given where nothing accumulates.
    """
    packing = program.packing
    if (before is not None) != packing.accumulates:
        raise ValueError(
            f"before must be {'given' if packing.accumulates else 'None'} with accumulates {packing.accumulates}"
        )
    if before is not None:
        _check_tiles(program, "before", before)
    return pack_datums(packing, dst, before, dst32=program.dst32, numerics=program.numerics)


@checked
def packed_matrix(program: Program, codes: np.ndarray) -> np.ndarray:
    """Return output tiles in L1, as `packed_tiles` gives them, as the matrix of numbers they are: float32, of integers int32.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    result = program.packing.result
    _check_tiles(program, "codes", codes)
    words: np.ndarray = codes.astype(np.uint32)
    if result is Format.INT8:
        words = words & LARGEST_INT8 | (words & SIGN8) << 24
    style = Style.INT8 if result in INTEGERS else Style.FP16 if result is Format.FP16 else Style.BF16
    return unpadded(program, dst_values(words, style, result is Format.FP32))


def _check_tiles(program: Program, name: str, codes: np.ndarray) -> None:
    check_array(name, codes, PACKED[program.packing.result])
    rows, _, columns = program.tiles
    check_shape(name, codes, rows, columns, TILE_ROWS, FACE)
