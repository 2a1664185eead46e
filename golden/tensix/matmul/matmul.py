"""Matrices of any size on MVMUL: 32x32 tiles of four 16x16 faces, in the order of the vendor's kernel library.

`matmul_program` makes the operands' tiles as L1 holds them, and the list of instructions of a tile product. The golden model
(`run_program`) and the RTL read the same tiles, so a difference between the two is never one of tiling or conversion. Golden
executes the list; the RTL engine's tile sequencer generates its MVMULs itself, from the number of phases, and its results
show that it issues them in this order.

Ref: tt-llk, llk_math_matmul.h; tt-isa-documentation 3930471, MVMUL.
"""

from dataclasses import dataclass, replace

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_contraction, check_shape, checked
from bitpath.golden.arrays.parallel import Progress
from bitpath.golden.arrays.streamed import ROWS, streamed
from bitpath.golden.tensix.convert.pack import pack
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    FACE,
    TILE,
    TILE_PASS,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matmul.host import (
    FORMATS,
    TILE_ROWS,
    MatmulFormat,
    check_matrix,
    dst_values,
    tile_images,
    tile_words,
)
from bitpath.golden.tensix.matrix.mvmul import mvmul
from bitpath.golden.tensix.operands.arguments import check_dst32, format_member, numerics_or_default
from bitpath.golden.tensix.operands.fidelity import phases

MACS_PER_MVMUL = BLOCK_ROWS * FACE * FACE


@checked
@dataclass(frozen=True, kw_only=True)
class MvmulInstruction:
    """One MVMUL of a tile product, by the first rows of its operands in the registers that hold one tile each."""

    phase: int
    src_b_row: int
    src_a_row: int
    dst_row: int


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """A matrix product cut into tiles.

    Attributes
    ----------
    fmt : format of both operands.
    dst32 : width of Dst.
    left : uint8 [M/32, K/32, n], the L1 images of the left operand's tiles.
    right : uint8 [K/32, N/32, n], those of the right operand's.
    instructions : instructions of one tile product, the same for all; a Dst tile takes its tile products in order of K.
    shape : M and N before padding.
    numerics : numerics of the conversions.
    block : rows and columns of output tiles that an engine computes side by side in Dst; None leaves the order to it.
    result : format of the output tiles in L1, to which the packer rounds; None keeps the words of Dst.
    """

    fmt: MatmulFormat
    dst32: bool
    left: np.ndarray
    right: np.ndarray
    instructions: tuple[MvmulInstruction, ...]
    shape: tuple[int, int]
    numerics: TensixNumerics
    block: tuple[int, int] | None = None
    result: Format | None = None

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Tiles along M, K and N."""
        return (*self.left.shape[:2], self.right.shape[1])

    @property
    def src_b(self) -> np.ndarray:
        """The left operand's logical words, uint32 [M/32, K/32, 64, 16]."""
        return tile_words(self.left, self.fmt, self.numerics)

    @property
    def src_a(self) -> np.ndarray:
        """The right operand's logical words, uint32 [K/32, N/32, 64, 16]."""
        return tile_words(self.right, self.fmt, self.numerics)

    @property
    def instruction_count(self) -> int:
        """MVMULs of the whole product."""
        return int(np.prod(self.tiles)) * len(self.instructions)

    @property
    def mac_count(self) -> int:
        """Multiply-accumulates of the padded product, each phase of a product counted once."""
        return self.instruction_count * MACS_PER_MVMUL

    @property
    def output_count(self) -> int:
        """Datums of the result, without padding."""
        return self.shape[0] * self.shape[1]


@checked
def matmul(
    a: np.ndarray,
    b: np.ndarray,
    *,
    fmt: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply matrices [M, K] @ [K, N]; returns float32 [M, N], int32 for "int8".

    Parameters are those of `matmul_program`; `quirk` is `mvmul`'s and `progress` `run_program`'s; with more
    than `streamed.ROWS` rows it is told the rows done and all of them.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`.
    """
    _check_operands(a, b, fmt, dst32)
    numerics = numerics_or_default(numerics, chip)
    # Of the left operand each block of rows has its own part.
    program = matmul_program(a[:1], b, fmt=fmt, fidelity=fidelity, dst32=dst32, numerics=numerics)

    def multiply(rows: slice, told: Progress | None) -> np.ndarray:
        part = replace(
            program, left=_images(a[rows], fmt, program.numerics), shape=(rows.stop - rows.start, b.shape[1])
        )
        return result_matrix(part, run_program(part, quirk=quirk, numerics=numerics, progress=told))

    return streamed(multiply, a.shape[0], ROWS, progress)


@checked
def matmul_program(
    a: np.ndarray,
    b: np.ndarray,
    *,
    fmt: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
    block: tuple[int, int] | None = None,
    result: str | Format | None = None,
) -> Program:
    """Convert two matrices and cut their product into tiles, all dimensions padded with zeros to multiples of 32.

    Parameters
    ----------
    a, b : [M, K] and [K, N], none of them 0: float32, or for "int8" integers of -127 to 127. `a` goes to SrcB.
    fmt : "bf16", "tf32", "fp16", "fp8" (e5m2), "bfp8", "bfp4", "bfp2" or "int8".
    fidelity : "LoFi", "HiFi2", "HiFi3" or "HiFi4".
    dst32 : width of Dst; "int8" needs True.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.
    block : output tiles, rows by columns, that an engine computes side by side; None leaves the order to the engine. The
        order of K, and so the result, does not depend on it.
    result : None keeps Dst's words; "BF16" rounds the output tiles of a float format from a 32-bit Dst.

    Raises
    ------
    TypeError, ValueError : other dtypes, shapes or names; NaN; integers out of range; a result that Dst does not give.
    """
    _check_operands(a, b, fmt, dst32)
    if result is not None and (format_member("result", result) is not Format.BF16 or not dst32 or fmt == "int8"):
        raise ValueError(f"result must be None, or BF16 of floats in a 32-bit Dst, not {result!r}")
    numerics = numerics_or_default(numerics, chip)
    return Program(
        fmt=FORMATS[fmt],
        dst32=dst32,
        left=_images(a, fmt, numerics),
        right=_images(b, fmt, numerics),
        instructions=tile_instructions(fidelity),
        shape=(a.shape[0], b.shape[1]),
        numerics=numerics,
        block=block,
        result=None if result is None else Format.BF16,
    )


def _check_operands(a: np.ndarray, b: np.ndarray, fmt: str, dst32: bool) -> None:
    check_choice("fmt", fmt, FORMATS)
    check_dst32(FORMATS[fmt].style, dst32)
    check_matrix("a", a, fmt)
    check_matrix("b", b, fmt)
    check_contraction(a, b)


def _images(matrix: np.ndarray, fmt: str, numerics: TensixNumerics) -> np.ndarray:
    """Convert a row of tiles at a time: the intermediate values take many times the memory of the images."""
    return np.stack([tile_images(row, fmt, numerics) for row in to_tiles(matrix)])


@checked
def tile_instructions(fidelity: str | Fidelity) -> tuple[MvmulInstruction, ...]:
    """Return the MVMULs of a 32x32x32 tile product: 16 for each phase, the phases outside the faces.

    Raises
    ------
    TypeError, ValueError : another fidelity.
    """
    return tuple(
        MvmulInstruction(
            phase=phase,
            src_b_row=face_b * FACE + half,
            src_a_row=face_a * FACE,
            dst_row=face_d * FACE + half,
        )
        for phase in phases(fidelity)
        for face_b, face_a, face_d in TILE_PASS
        for half in range(0, FACE, BLOCK_ROWS)
    )


@checked
def run_program(
    program: Program,
    *,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Execute a program; returns Dst words, uint32 [M/32, N/32, 64, 16], each rounded after every instruction.

    `progress` is told the instructions done and all of them, each counted once for a tile of K.

    Raises
    ------
    TypeError, ValueError : `numerics` are no `TensixNumerics`; both they and a chip.
    """
    numerics = numerics_or_default(numerics, chip)
    rows, depth, columns = program.tiles
    dst = np.zeros((rows, columns, TILE_ROWS, FACE), np.uint32)
    for k in range(depth):
        src_b = tile_words(program.left[:, k], program.fmt, program.numerics)
        src_a = tile_words(program.right[k], program.fmt, program.numerics)
        for number, each in enumerate(program.instructions, 1):
            target = dst[:, :, each.dst_row : each.dst_row + BLOCK_ROWS]
            target[:] = mvmul(
                target,
                src_b[:, np.newaxis, each.src_b_row : each.src_b_row + BLOCK_ROWS],
                src_a[np.newaxis, :, each.src_a_row : each.src_a_row + FACE],
                style=program.fmt.style,
                dst32=program.dst32,
                phase=each.phase,
                srca_format=program.fmt.register,
                srcb_format=program.fmt.register,
                quirk=quirk,
                numerics=numerics,
            )
            if progress is not None:
                progress(k * len(program.instructions) + number, depth * len(program.instructions))
    return dst


def stored_format(program: Program) -> Format:
    """Return the L1 format of the output tiles; unless the program names one it keeps the words of Dst."""
    if program.result is not None:
        return program.result
    if program.fmt.style is Style.INT8:
        return Format.INT32
    if program.dst32:
        return Format.FP32
    return Format.FP16 if program.fmt.style is Style.FP16 else Format.BF16


@checked
def stored_words(program: Program, dst: np.ndarray) -> np.ndarray:
    """Return Dst words as they are after the packer: of their shape, rounded to the program's result format."""
    if program.result is None:
        return dst
    codes = pack(dst, program.result, program.result, dst32=True, numerics=program.numerics).view("<u2")
    return codes.astype(np.uint32).reshape(dst.shape) << 16


@checked
def result_matrix(program: Program, dst: np.ndarray) -> np.ndarray:
    """Return the Dst words of a program as the matrix of numbers they are, without padding; int32 for style INT8."""
    rows, _, columns = program.tiles
    check_array("dst", dst, np.uint32)
    check_shape("dst", dst, rows, columns, TILE_ROWS, FACE)
    values = from_tiles(dst_values(dst, program.fmt.style, program.dst32))
    return np.ascontiguousarray(values[: program.shape[0], : program.shape[1]])


def to_tiles(matrix: np.ndarray) -> np.ndarray:
    """Pad a matrix with zeros and cut it: [R, C] to [R/32, C/32, 64, 16], the faces of a tile one below the other."""
    padded = np.pad(matrix, [(0, -size % TILE) for size in matrix.shape])
    rows, columns = padded.shape[0] // TILE, padded.shape[1] // TILE
    faces = padded.reshape(rows, 2, FACE, columns, 2, FACE).transpose(0, 3, 1, 4, 2, 5)
    return faces.reshape(rows, columns, TILE_ROWS, FACE)


def from_tiles(tiles: np.ndarray) -> np.ndarray:
    """Return the padded matrix of tiles [R/32, C/32, 64, 16]; the inverse of `to_tiles`."""
    rows, columns = tiles.shape[:2]
    faces = tiles.reshape(rows, columns, 2, 2, FACE, FACE).transpose(0, 2, 4, 1, 3, 5)
    return faces.reshape(rows * TILE, columns * TILE)
