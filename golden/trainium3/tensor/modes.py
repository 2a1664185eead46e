"""Matrices of any size in TensorE's modes beside quad MX: cast, cut into instructions, accumulate in PSUM.

As in `matmul`, golden and the RTL execute the same list of instructions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_length,
    check_product,
    check_shape,
    checked,
)
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.arrays.parallel import cuts
from bitpath.golden.formats.catalogue import BF16, E4M3, FP16, FP32
from bitpath.golden.trainium3.declarations.quad_mx import (
    MAX_MOVING_FP32,
    MAX_STATIONARY,
    PARTITIONS,
    QUADRANT,
    AccumulateFlag,
)
from bitpath.golden.trainium3.declarations.tensor import PATTERNS, TAGS_IN_WORD
from bitpath.golden.trainium3.matmul.nc_matmul import nc_matmul
from bitpath.golden.trainium3.operands.cast import cast
from bitpath.golden.trainium3.tensor.sparse import compress_sparse, expand_sparse, nc_matmul_sparse, pack_tags

SPARSE = {f"sparse_{name.replace(':', '_')}": name for name in PATTERNS}
"""Patterns of the sparse modes: BF16, the right operand pruned by magnitude."""
DOUBLE_ROW = "fp8_double_row"
DENSE: Mapping[str, np.dtype] = {
    "bf16": DTYPES[BF16],
    "fp16": DTYPES[FP16],
    "tf32": DTYPES[FP32],
    "fp32": DTYPES[FP32],
    DOUBLE_ROW: DTYPES[E4M3],
}
MODES = (*DENSE, *SPARSE)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModeInstruction:
    """One nc_matmul or nc_matmul_sparse, and where its FP32 result belongs.

    Attributes
    ----------
    mode : a name of `MODES`.
    stationary, moving : [P, M] and [P, N]; [P, 2, M] and [P, 2, N] in double row; [P, M] and [P, CR, N] where sparse.
    tag_words : uint16 [P, M / 4] of a sparse mode.
    psum_accumulate_flag : bits of `AccumulateFlag`; the instructions of one output tile stand together, in order of K.
    output : slices of the output whose extents are M and N, or N and M where sparse: then the right operand is stationary.
    """

    mode: str
    stationary: np.ndarray
    moving: np.ndarray
    tag_words: np.ndarray | None = None
    psum_accumulate_flag: AccumulateFlag
    output: tuple[slice, slice]

    def placed(self, result: np.ndarray) -> np.ndarray:
        """Return a result [M, N] as the output has it."""
        return result.T if self.mode in SPARSE else result


ModeProgram = list[ModeInstruction]


@checked
def mode_program(a: np.ndarray, b: np.ndarray, mode: str) -> ModeProgram:
    """Cast two matrices and cut their product into instructions of a mode.

    Elements are rounded RNE to the mode's dtype, without a scale; where the mode is sparse, each group of `b` keeps its largest
    magnitudes. K is cut into instructions of 128 partitions, of 256 elements in double row and of CR * 128 where sparse, and
    padded with zeros to whole quadrants of 32 partitions. They accumulate in PSUM, in FP32. A sparse mode pads N to a multiple of 4.

    Parameters
    ----------
    a, b : float32 [M, K] and [K, N]; M, K and N are at least 1.
    mode : a name of `MODES`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or mode.
    """
    check_product(a, b)
    check_choice("mode", mode, MODES)
    return list(_sparse(a, b, mode) if mode in SPARSE else _dense(a, b, mode))


@checked
def run_mode_program(program: Sequence[ModeInstruction]) -> np.ndarray:
    """Execute instructions in golden; return the padded output, float32, at least [M, N].

    Raises
    ------
    TypeError, ValueError : no instruction, and as `nc_matmul` and `nc_matmul_sparse`.
    """
    check_length("program", program)
    output = np.zeros([max(each.output[side].stop for each in program) for side in range(2)], np.float32)
    for place, group in groupby(program, key=lambda each: each.output):
        psum = None
        for each in group:
            psum = _execute(each, psum)
        output[place] = each.placed(psum)
    return output


@checked
def pruned(matrix: np.ndarray, mode: str) -> np.ndarray:
    """Prune a sparse mode's right operand; return float32 [K, N], rounded to BF16, with zeros for the elements that pruning drops.

    Raises
    ------
    TypeError, ValueError : another dtype or shape, or a mode that is not sparse.
    """
    check_array("matrix", matrix, np.float32)
    check_shape("matrix", matrix, "K", "N")
    pattern = PATTERNS[SPARSE[check_choice("mode", mode, SPARSE)]]
    found = np.zeros(matrix.shape, np.float32)
    for rows, columns in product(cuts(len(matrix), PARTITIONS * pattern.ratio), cuts(matrix.shape[1], MAX_STATIONARY)):
        own = cast(np.ascontiguousarray(matrix[rows, columns]), DTYPES[BF16])
        padded = np.pad(own, ((0, -len(own) % pattern.group), (0, 0)))
        kept = expand_sparse(*compress_sparse(padded, SPARSE[mode], prune="magnitude"), SPARSE[mode])
        found[rows, columns] = kept[: len(own)]
    return found


def _execute(instruction: ModeInstruction, psum: np.ndarray | None) -> np.ndarray:
    operands, flag = (instruction.stationary, instruction.moving), int(instruction.psum_accumulate_flag)
    if instruction.tag_words is not None:
        pattern = SPARSE[instruction.mode]
        return nc_matmul_sparse(*operands, instruction.tag_words, pattern, dst=psum, psum_accumulate_flag=flag)
    tf32 = instruction.mode == "tf32"
    return nc_matmul(
        *operands,
        dst=psum,
        psum_accumulate_flag=flag,
        stationary_tf32=tf32,
        moving_tf32=tf32,
        perf_mode="double_row" if instruction.mode == DOUBLE_ROW else "none",
    )


def _dense(a: np.ndarray, b: np.ndarray, mode: str) -> Iterator[ModeInstruction]:
    double = mode == DOUBLE_ROW
    depth = 2 * PARTITIONS if double else PARTITIONS
    x, y = (cast(np.pad(side, _padding(len(side), depth // 4)), DENSE[mode]) for side in (a.T, b))
    for rows in cuts(a.shape[0], MAX_STATIONARY):
        for columns in cuts(b.shape[1], MAX_MOVING_FP32):
            for part in cuts(len(x), depth):
                stationary, moving = (
                    np.ascontiguousarray(_pairs(side) if double else side) for side in (x[part, rows], y[part, columns])
                )
                yield ModeInstruction(
                    mode=mode,
                    stationary=stationary,
                    moving=moving,
                    psum_accumulate_flag=_flag(part, len(x)),
                    output=(rows, columns),
                )


def _pairs(side: np.ndarray) -> np.ndarray:
    """Return [2 P, F] as [P, 2, F] with k = j * P + p."""
    return side.reshape(2, -1, side.shape[1]).transpose(1, 0, 2)


def _sparse(a: np.ndarray, b: np.ndarray, mode: str) -> Iterator[ModeInstruction]:
    name = SPARSE[mode]
    pattern = PATTERNS[name]
    # A quadrant's groups are whole in all patterns.
    x, y = (cast(np.pad(side, _padding(len(side), QUADRANT * pattern.ratio)), DTYPES[BF16]) for side in (a.T, b))
    # A word of tags has four columns.
    y = np.pad(y, ((0, 0), (0, -b.shape[1] % TAGS_IN_WORD)))
    for columns in cuts(y.shape[1], MAX_STATIONARY):
        for rows in cuts(a.shape[0], MAX_MOVING_FP32):
            for part in cuts(len(x), PARTITIONS * pattern.ratio):
                values, tags = compress_sparse(y[part, columns], name, prune="magnitude")
                yield ModeInstruction(
                    mode=mode,
                    stationary=values,
                    moving=x[part, rows].reshape(len(values), pattern.ratio, -1),
                    tag_words=pack_tags(tags, name),
                    psum_accumulate_flag=_flag(part, len(x)),
                    output=(rows, columns),
                )


def _padding(extent: int, multiple: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (0, -extent % multiple), (0, 0)


def _flag(part: slice, depth: int) -> AccumulateFlag:
    flag = AccumulateFlag(0) if part.start else AccumulateFlag.FIRST_OVERWRITE
    return flag | AccumulateFlag.LAST if part.stop == depth else flag
