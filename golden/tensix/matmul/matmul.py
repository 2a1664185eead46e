"""Matrices of any size on MVMUL: 32x32 tiles of four 16x16 faces, in the order of the vendor's kernel library.

`matmul_program` makes the operands' tiles as L1 holds them, and the list of instructions of a tile product. The golden model
(`run_program`) and the RTL read the same tiles, so a difference between the two is never one of tiling or conversion. Both
generate the MVMULs themselves, from the phases: golden's kernel, and the RTL engine's tile sequencer, whose results show that
it issues them in this order.

`prepare` and `multiply` give the bits of that list without making tiles. `prepare` converts right operands once, and keeps 4
bytes an element of the padded matrix; `multiply` takes all of a batch in one call of the kernel, which computes no row of
padding. The bits are those of the list because

- a datum depends on its own block of 16 alone, which runs along a row in the matrix as in a tile's face;
- an element of the result is that of its own row and column, and has its MVMULs in the order of the list: tiles of K, phases,
  halves of the tile.

Ref: tt-llk, llk_math_matmul.h; tt-isa-documentation 3930471, MVMUL.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_matrix,
    check_product,
    check_shape,
    checked,
    integer,
    member,
)
from bitpath.golden.arrays.parallel import ROWS, Progress, in_row_blocks
from bitpath.golden.tensix.convert.formats import INTEGERS
from bitpath.golden.tensix.convert.pack import LARGEST_DESCALE_SHIFT, check_relu, pack
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_ROWS,
    FACE,
    TILE,
    TILE_PASS,
    Chip,
    Fidelity,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matmul.host import (
    FORMATS,
    LARGEST_INT8,
    TILE_ROWS,
    MatmulFormat,
    dst_values,
    operand_rule,
    source_words,
    tile_images,
    tile_words,
)
from bitpath.golden.tensix.matmul.partials import Partials, Reload, block_depth, check_partials, reloaded, stored
from bitpath.golden.tensix.operands.arguments import check_dst32, numerics_or_default, numerics_with, phases

# How output tiles go from Dst to L1.


@checked
@dataclass(frozen=True, kw_only=True)
class Packing:
    """The packer's work on every output tile; its arguments are those of `pack`.

    Attributes
    ----------
    result : format in L1, and the intermediate format: FP32, BF16, FP16, INT32 or INT8.
    raw : True to copy Dst's bits; the rest is 0 then.
    relu, relu_threshold, descale_shift : as `pack` has them.
    accumulates : True to add to the tile that is in L1.

    Raises
    ------
    TypeError, ValueError : another format, mode or shift, or a threshold with a sign.
    """

    result: Format
    raw: bool = False
    relu: int = 0
    relu_threshold: int = 0
    descale_shift: int = 0
    accumulates: bool = False

    def __post_init__(self) -> None:
        if self.result not in PACKED:
            raise ValueError(f"result must be FP32, BF16, FP16, INT32 or INT8, not {self.result.name}")
        check_relu(self.relu, self.relu_threshold, self.result)
        integer("descale_shift", self.descale_shift, range(LARGEST_DESCALE_SHIFT + 1))


PACKED: dict[Format, np.dtype] = {
    Format.FP32: np.dtype("<u4"),
    Format.INT32: np.dtype("<u4"),
    Format.BF16: np.dtype("<u2"),
    Format.FP16: np.dtype("<u2"),
    Format.INT8: np.dtype("u1"),
}
"""Result formats, and the integers that hold their datums."""


def copied(style: Style, dst32: bool) -> Packing:
    """Return the packing that keeps the words of Dst."""
    if style is Style.INT8:
        return Packing(result=Format.INT32, raw=True)
    if dst32:
        return Packing(result=Format.FP32, raw=True)
    return Packing(result=Format.FP16 if style is Style.FP16 else Format.BF16, raw=True)


def pack_datums(
    packing: Packing, dst: np.ndarray, before: np.ndarray | None, *, dst32: bool, numerics: TensixNumerics
) -> np.ndarray:
    """Return the datums in L1 as `PACKED` has them, of the shape of ``dst``; raise where `pack` does."""
    datums = pack(
        dst,
        packing.result,
        packing.result,
        dst32=dst32,
        raw=packing.raw,
        relu=packing.relu,
        relu_threshold=packing.relu_threshold,
        descale_shift=packing.descale_shift,
        l1=None if before is None else before.reshape(-1).view(np.uint8),
        numerics=numerics,
    )
    return datums.view(PACKED[packing.result]).reshape(dst.shape)


def check_packing(packing: Packing, *, dst32: bool, numerics: TensixNumerics) -> None:
    """Raise ValueError where `pack` does not take this work."""
    pack_datums(packing, np.zeros(BLOCK, np.uint32), None, dst32=dst32, numerics=numerics)


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
    packing : how the output tiles go to L1.
    block : rows and columns of output tiles that an engine computes side by side in Dst; None leaves the order to it.
    """

    fmt: MatmulFormat
    dst32: bool
    left: np.ndarray
    right: np.ndarray
    instructions: tuple[MvmulInstruction, ...]
    shape: tuple[int, int]
    numerics: TensixNumerics
    packing: Packing
    block: tuple[int, int] | None = None

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
    def phases(self) -> tuple[int, ...]:
        """Fidelity phases of the instructions, in order."""
        return tuple(dict.fromkeys(each.phase for each in self.instructions))

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
    format: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    block_k: int | None = None,
    partials: Partials | str = Partials.DST,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply matrices [M, K] @ [K, N]; returns float32 [M, N], int32 for "int8".

    Parameters
    ----------
    a, b, format, fidelity, dst32, numerics, chip : as `matmul_program`.
    block_k : rows of K in a block, a multiple of 32 that divides K; None is all of them.
    partials : where the sum of the blocks before is kept: "dst"; in L1 as "spill_bf16", "spill_fp16", "spill_fp32", or FP32 that
        comes back as "spill_tf32"; in L1 by the packer's accumulation, "l1_bf16" and so on. A 16-bit Dst has its own format alone,
        a 32-bit one all but FP16, and "int8" Dst alone.
    quirk : as `mvmul`.
    progress : as `run_program`; with more than `parallel.ROWS` rows it is told the rows done and all of them.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; another block or place of partial sums.
    """
    _check_operands(a, b, format, dst32)
    blocks = _blocks(block_k, partials, b.shape[0], format, dst32)
    right = _prepared(b[np.newaxis], format, fidelity, dst32, numerics_with(quirk, numerics, chip))
    return _multiplied(a[np.newaxis], right, progress, blocks)[0]


class Blocks(NamedTuple):
    """Rows of K in a block, and the way of the sums between blocks through L1, None for Dst."""

    depth: int
    reload: Reload | None


def _blocks(block_k: int | None, partials: Partials | str, depth: int, fmt: str, dst32: bool) -> Blocks:
    """Return the blocks of a product, checked."""
    partials = member("partials", partials, Partials)
    check_partials(partials, FORMATS[fmt].style, dst32=dst32)
    return Blocks(block_depth(block_k, depth), partials.reload)


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedRight:
    """Right operands that `prepare` has converted.

    Attributes
    ----------
    shape : B, K and N.
    src_a : logical words, uint32 [B, K, N], K and N padded with zeros to multiples of 32 and 16.
    format, dst32 : as `matmul` has them.
    phases : phases of the fidelity.
    numerics : those of conversions and products.
    """

    shape: tuple[int, int, int]
    src_a: np.ndarray
    format: str
    dst32: bool
    phases: tuple[int, ...]
    numerics: TensixNumerics


@checked
def prepare(
    b: np.ndarray,
    *,
    format: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    quirk: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> PreparedRight:
    """Convert right operands for any number of `multiply`.

    Parameters
    ----------
    b : float32 [B, K, N], or integers for "int8": B operands that do not see each other.
    format, fidelity, dst32, quirk, numerics, chip : as `matmul`.

    Raises
    ------
    TypeError, ValueError : as `matmul`.
    """
    _check_format(format, dst32)
    _check_stack("b", b, format)
    return _prepared(b, format, fidelity, dst32, numerics_with(quirk, numerics, chip))


@checked
def multiply(
    a: np.ndarray,
    right: PreparedRight,
    *,
    block_k: int | None = None,
    partials: Partials | str = Partials.DST,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply left operands [B, M, K] with prepared ones; returns [B, M, N] with the bits of `matmul`.

    `block_k`, `partials` and `progress` are `matmul`'s.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; NaN; integers out of range; another block or place of partial sums.
    """
    _check_stack("a", a, right.format)
    batch, depth, _ = right.shape
    check_shape("a", a, batch, "M", depth, why=" for this right operand")
    return _multiplied(a, right, progress, _blocks(block_k, partials, depth, right.format, right.dst32))


def _check_stack(name: str, stack: np.ndarray, fmt: str) -> None:
    integers, no_nan = operand_rule(fmt)
    check_matrix(name, stack, integers, no_nan=no_nan, dimensions=3)


def _prepared(
    b: np.ndarray, fmt: str, fidelity: str | Fidelity, dst32: bool, numerics: TensixNumerics
) -> PreparedRight:
    return PreparedRight(
        shape=b.shape,
        src_a=source_words(b, (TILE, FACE), fmt, numerics),
        format=fmt,
        dst32=dst32,
        phases=phases(fidelity),
        numerics=numerics,
    )


def _multiplied(a: np.ndarray, right: PreparedRight, progress: Progress | None, blocks: Blocks) -> np.ndarray:
    fmt, columns = FORMATS[right.format], right.shape[2]
    result = np.empty((*a.shape[:2], columns), np.int32 if fmt.style is Style.INT8 else np.float32)

    def work(rows: slice, told: Progress | None) -> None:
        src_b = source_words(a[:, rows], (1, TILE), right.format, right.numerics)
        dst = _dst_of_blocks(src_b, right, columns, blocks, told)
        result[:, rows] = dst_values(dst, fmt.style, right.dst32)

    in_row_blocks(work, a.shape[1], ROWS, progress)
    return result


def _dst_of_blocks(
    src_b: np.ndarray, right: PreparedRight, columns: int, blocks: Blocks, progress: Progress | None
) -> np.ndarray:
    """Return the Dst words of rows, whose partial sums go through L1 between blocks of K."""
    options = FORMATS[right.format], right.dst32, right.phases, right.numerics
    reload, depth = blocks.reload, src_b.shape[2]
    if reload is None or blocks.depth == depth:
        return _dst_words(src_b, right.src_a, columns, *options, progress)
    words = *src_b.shape[:2], columns
    dst = np.empty(words, np.uint32)
    l1: np.ndarray | None = None
    for start in range(0, depth, blocks.depth):
        part, before = slice(start, start + blocks.depth), None
        if l1 is not None and (part.stop == depth or not reload.accumulates):
            before = reloaded(reload, l1, words, dst32=right.dst32, numerics=right.numerics)
        dst = _dst_words(src_b[:, :, part], right.src_a[:, part], columns, *options, None, before)
        if part.stop < depth:
            old = l1 if reload.accumulates else None
            l1 = stored(reload, dst, old, dst32=right.dst32, numerics=right.numerics)
        if progress is not None:
            progress(part.stop, depth)
    return dst


def _dst_words(
    src_b: np.ndarray,
    src_a: np.ndarray,
    columns: int,
    fmt: MatmulFormat,
    dst32: bool,
    phases: tuple[int, ...],
    numerics: TensixNumerics,
    progress: Progress | None,
    before: np.ndarray | None = None,
) -> np.ndarray:
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.matmul import product_loop

    operands = src_b, src_a, columns, fmt.style, fmt.register, dst32, phases, progress
    return product_loop.multiply(numerics, *operands, dst=before)


# INT8 in all phases: sums are exact, and the packer may bring them back to INT8.


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedInt8:
    """Right operands of INT8, and how their results are packed.

    Attributes
    ----------
    right : what `prepare` gives of them in HiFi4.
    descaled : True for results in INT8.
    descale_shift : the packer's shift of these; None is the least one that keeps the largest result of each call.
    """

    right: PreparedRight
    descaled: bool
    descale_shift: int | None


@checked
def prepare_int8(
    b: np.ndarray,
    *,
    descaled: bool = False,
    descale_shift: int | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> PreparedInt8:
    """Convert right operands [B, K, N] for any number of `multiply_int8`; parameters and errors are those of `matmul_int8`."""
    if descale_shift is not None:
        if not descaled:
            raise ValueError(f"descale_shift must be None without descaled, not {descale_shift}")
        integer("descale_shift", descale_shift, range(LARGEST_DESCALE_SHIFT + 1))
    right = prepare(b, format="int8", fidelity=Fidelity.HIFI4, numerics=numerics, chip=chip)
    return PreparedInt8(right=right, descaled=descaled, descale_shift=descale_shift)


@checked
def multiply_int8(a: np.ndarray, right: PreparedInt8, *, progress: Progress | None = None) -> np.ndarray:
    """Multiply left operands [B, M, K] by prepared right ones, with the bits and the errors of `matmul_int8`."""
    sums = multiply(a, right.right, progress=progress)
    if not right.descaled:
        return sums
    shift = right.descale_shift
    if shift is None:
        shift = max(int(np.abs(sums).max()).bit_length() - LARGEST_INT8.bit_length(), 0)
    packing = Packing(result=Format.INT8, descale_shift=shift)
    flat = np.pad(sums.reshape(-1), (0, -sums.size % BLOCK)).astype(np.int64)
    words = (np.abs(flat) | np.where(flat < 0, 1 << 31, 0)).astype(np.uint32)
    codes = pack_datums(packing, words, None, dst32=True, numerics=right.right.numerics).astype(np.uint32)
    return dst_values(_int8_words(codes), Style.INT8, True)[: sums.size].reshape(sums.shape)


@checked
def matmul_int8(
    a: np.ndarray,
    b: np.ndarray,
    *,
    descaled: bool = False,
    descale_shift: int | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply integers [M, K] @ [K, N] of -127 to 127 in all phases; returns int32 [M, N].

    Parameters
    ----------
    descaled : True to pack the sums to INT8, of -127 to 127, with `descale_shift`.
    descale_shift : places by which the packer shifts the sums down, 0 to 31; None is the least one that keeps the largest sum.
    a, b, numerics, chip, progress : as `matmul`.

    Raises
    ------
    TypeError, ValueError : as `matmul`; a shift without `descaled`.
    """
    right = prepare_int8(b[np.newaxis], descaled=descaled, descale_shift=descale_shift, numerics=numerics, chip=chip)
    return multiply_int8(a[np.newaxis], right, progress=progress)[0]


def _int8_words(codes: np.ndarray) -> np.ndarray:
    """Return Dst words of INT8 datums, uint32 of sign and magnitude."""
    return codes & LARGEST_INT8 | (codes & SIGN8) << 24


@checked
def matmul_program(
    a: np.ndarray,
    b: np.ndarray,
    *,
    format: str = "bf16",
    fidelity: str | Fidelity = "HiFi4",
    dst32: bool = True,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
    block: tuple[int, int] | None = None,
    packing: Packing | None = None,
) -> Program:
    """Convert two matrices and cut their product into tiles, all dimensions padded with zeros to multiples of 32.

    Parameters
    ----------
    a, b : [M, K] and [K, N], none of them 0: float32, or for "int8" integers of -127 to 127. `a` goes to SrcB.
    format : "bf16", "tf32", "fp16", "fp8" (e5m2), "bfp8", "bfp4", "bfp2" or "int8".
    fidelity : "LoFi", "HiFi2", "HiFi3" or "HiFi4".
    dst32 : width of Dst; "int8" needs True.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.
    block : output tiles, rows by columns, that an engine computes side by side; None leaves the order to the engine. The
        order of K, and so the result, does not depend on it.
    packing : how the output tiles go to L1; None keeps Dst's words.

    Raises
    ------
    TypeError, ValueError : other dtypes, shapes or names; NaN; integers out of range; a packing that `pack` does not take.
    """
    _check_operands(a, b, format, dst32)
    numerics = numerics_or_default(numerics, chip)
    style = FORMATS[format].style
    if packing is None:
        packing = copied(style, dst32)
    elif (packing.result in INTEGERS) != (style is Style.INT8):
        raise ValueError(
            f"packing must have a float result of floats, an integer of integers, not {packing.result.name} of {format}"
        )
    check_packing(packing, dst32=dst32, numerics=numerics)
    return Program(
        fmt=FORMATS[format],
        dst32=dst32,
        left=_images(a, format, numerics),
        right=_images(b, format, numerics),
        instructions=tile_instructions(fidelity),
        shape=(a.shape[0], b.shape[1]),
        numerics=numerics,
        packing=packing,
        block=block,
    )


def _check_format(fmt: str, dst32: bool) -> None:
    check_choice("format", fmt, FORMATS)
    check_dst32(FORMATS[fmt].style, dst32)


def _check_operands(a: np.ndarray, b: np.ndarray, fmt: str, dst32: bool) -> None:
    _check_format(fmt, dst32)
    integers, no_nan = operand_rule(fmt)
    check_product(a, b, (integers, integers), (no_nan, no_nan))


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

    `progress` is told the parts of the product done and all of them.

    Raises
    ------
    TypeError, ValueError : `numerics` are no `TensixNumerics`; both they and a chip.
    """
    numerics = numerics_with(quirk, numerics, chip)
    src_b, src_a = (from_tiles(each)[np.newaxis] for each in (program.src_b, program.src_a))
    options = program.fmt, program.dst32, program.phases, numerics, progress
    return to_tiles(_dst_words(src_b, src_a, src_a.shape[2], *options)[0])


@checked
def result_matrix(program: Program, dst: np.ndarray) -> np.ndarray:
    """Return the Dst words of a program as the matrix of numbers they are, without padding; int32 for style INT8."""
    rows, _, columns = program.tiles
    check_array("dst", dst, np.uint32)
    check_shape("dst", dst, rows, columns, TILE_ROWS, FACE)
    return unpadded(program, dst_values(dst, program.fmt.style, program.dst32))


def unpadded(program: Program, tiles: np.ndarray) -> np.ndarray:
    """Return the matrix of a program's output tiles, without padding."""
    return np.ascontiguousarray(from_tiles(tiles)[: program.shape[0], : program.shape[1]])


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


# The output tiles of a program in L1, and the numbers that they are.


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
        words = _int8_words(words)
    style = Style.INT8 if result in INTEGERS else Style.FP16 if result is Format.FP16 else Style.BF16
    return unpadded(program, dst_values(words, style, result is Format.FP32))


def _check_tiles(program: Program, name: str, codes: np.ndarray) -> None:
    check_array(name, codes, PACKED[program.packing.result])
    rows, _, columns = program.tiles
    check_shape(name, codes, rows, columns, TILE_ROWS, FACE)


# Row-major matrices as tiles of four faces, and back: the permutations that tilise and untilise streams carry out.
#
# Ref: tt-metal, tiles: a 32x32 tile is four 16x16 faces, top left, top right, bottom left, bottom right, each row by row.


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
