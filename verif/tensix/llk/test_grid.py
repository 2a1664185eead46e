"""The kernel library's operations by its formats: each case gives the right bytes, and each pair without one a reason."""

from math import prod

import numpy as np
import pytest

from bitpath.golden import tensix
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, FACE, TILE, Chip, Format
from bitpath.golden.tensix.llk import Op, expected, grid
from bitpath.golden.tensix.llk.grid import OPERATIONS, STAGES_OF
from bitpath.verif.tensix.llk.stimuli import l1_of

CELLS = grid()
COVERED = [each for each in CELLS if each.case is not None]
ONE = {Format.FP32: 0x3F800000, Format.TF32: 0x3F800000, Format.BF16: 0x3F80, Format.FP16: 0x3C00, Format.FP8: 0x3C}
E4M3_ONE = 0x38
BITS = np.random.default_rng(20).integers(0, 2, (TILE, TILE))
"""Zeros and ones, which every format holds."""


def l1(matrix, fmt, *, e4m3, row_major=False):
    """Return a matrix of zeros and ones in L1."""
    if fmt in BLOCK_FLOATS:
        return l1_of(matrix, fmt)
    one = E4M3_ONE if e4m3 and fmt is Format.FP8 else ONE.get(fmt, 1)
    codes = (matrix * one).astype(f"<u{L1_BYTES[fmt]}")
    return (codes if row_major else tensix.tilize(codes)).reshape(-1).view(np.uint8)


def operands(op):
    """Return matrices of an operation, the right one None or neutral, and the result."""
    ones, zeros, identity = np.ones((TILE, TILE), int), np.zeros((TILE, TILE), int), np.eye(TILE, dtype=int)
    first_row, first_column = zeros.copy(), zeros.copy()
    first_row[0], first_column[:, 0] = 1, 1
    binary = {
        Op.MATMUL: (BITS, identity, BITS),
        Op.ELWADD: (BITS, zeros, BITS),
        Op.ELWSUB: (BITS, zeros, BITS),
        Op.ELWMUL: (BITS, ones, BITS),
        Op.REDUCE: (identity, ones, first_row),
        Op.REDUCE_BLOCK_MAX: (identity, ones, first_column),
        Op.TRANSPOSE: (BITS, None, BITS.T),
        Op.UNARY_BROADCAST: (BITS, None, np.broadcast_to(BITS[:, :1], BITS.shape)),
    }
    return binary.get(op, (BITS, None, BITS))


@pytest.mark.parametrize("cell", COVERED, ids=lambda cell: f"{cell.operation} {cell.format}")
def test_covered(cell):
    case = cell.case
    left, right, result = operands(case.op)
    given = [
        None if each is None else l1(each, fmt, e4m3=case.e4m3, row_major=case.op is Op.TILIZE)
        for each, fmt in ((left, case.formats.in_a), (right, case.formats.in_b))
    ]
    found = expected(case, *given).l1
    row_major = case.op in (Op.UNTILIZE, Op.PACK_UNTILIZE)
    wanted = l1(result, case.formats.out, e4m3=case.e4m3, row_major=row_major)
    assert found.size == prod(case.result_dimensions) * wanted.size // TILE**2
    assert np.array_equal(found, wanted)


def test_every_pair_is_a_cell():
    assert [(each.operation, each.format) for each in CELLS] == [(op, fmt) for op in OPERATIONS for fmt in STAGES_OF]
    assert len(COVERED) == 226
    for cell in CELLS:
        assert (cell.case is None) == (cell.chips == ())
        assert bool(cell.reason) == (len(cell.chips) < len(Chip))
        assert cell.case is None or cell.case.chip in cell.chips


@pytest.mark.parametrize(
    ("operation", "fmt", "says"),
    [
        ("matmul", "Int32", "the Vector unit computes with 32-bit integers"),
        ("reduce MIN", "Float16_b", "GMPOOL has maxima alone"),
        ("datacopy", "MxFp8R", "Quasar's"),
        ("tilize", "Bfp8_b", "no exponents"),
        ("transpose", "UInt16", "moves flush"),
        ("reduce_block_max", "Int8", "do not move from 32-bit words of Dst"),
    ],
)
def test_reasons(operation, fmt, says):
    cell = next(each for each in CELLS if (each.operation, each.format) == (operation, fmt))
    assert cell.case is None
    assert says in cell.reason


def test_32_bit_words_are_moved_with_all_their_bits():
    """Transposed and broadcast in Dst: the words of exponent 0 and of NaN too."""
    codes = np.arange(TILE * TILE, dtype=np.uint32) * np.uint32(4194301)
    matrix = tensix.untilize(codes.reshape(1, 1, 2 * TILE, FACE))
    for operation, moved in (
        ("transpose", matrix.T),
        ("unary_broadcast", np.broadcast_to(matrix[:, :1], matrix.shape)),
    ):
        case = next(each.case for each in CELLS if (each.operation, each.format) == (operation, "Int32"))
        found = expected(case, codes).l1.view(np.uint32)
        assert np.array_equal(tensix.untilize(found.reshape(1, 1, 2 * TILE, FACE)), moved)
