"""Matrices of any size on the native products of the vector unit, steps of K in order.

`matmul_program` converts the operands and cuts them into tiles. The golden model (`run_program`) and the RTL execute the same
program, so a difference between the two is never one of tiling or conversion.

`prepare` and `multiply` give the bits of that program without its tiles. `prepare` converts right operands once, and keeps about
2 bytes an element in blocks, 4 in floats (5 in sparse ones, of half the elements) and integers; `multiply` takes all of a batch
in one call of a kernel, which computes no row of padding. A lane reads its own row and column alone, and each element, or block
along K, is converted by itself.

Ref: llvm-aie for the shapes; AM027, Table 7.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.convert.floats import f32_to_bf16, f32_to_fp8, f32_to_fp16
from bitpath.golden.aie_ml_v2.convert.mx import from_mx, to_mx
from bitpath.golden.aie_ml_v2.declarations.codes import BLOCK_FORMATS, SPARSE_GROUP, SPARSE_KEPT, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT8_FORMATS, INTEGER_MODES, Mode, Shape
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.sparsity import SPARSE_MODES, SparseVector, to_dense, to_sparse
from bitpath.golden.aie_ml_v2.matmul.cycles import mx_mode
from bitpath.golden.aie_ml_v2.operands.arguments import numerics_or_default
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.arguments import (
    check_choice,
    check_matrix,
    check_product,
    check_shape,
    checked,
    member,
    one_of,
    signed_range,
)
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.arrays.parallel import Progress, cuts, in_row_blocks
from bitpath.golden.formats.catalogue import BF16, FP16, FloatFormat

FLOAT_FORMATS = {"bf16": BF16, "fp16": FP16} | {f"fp8_{fmt.name.lower()}": fmt for fmt in FLOAT8_FORMATS}
"""Formats of floats by the names that `matmul` and the command line take."""
FORMATS = (*BLOCK_FORMATS, *FLOAT_FORMATS, *INTEGER_MODES)
ROWS = 512
"""Rows of a block of a large product: its operands take more memory than those of other machines."""
CONVERTED_AT_ONCE = 1 << 20
"""Elements that are converted at once."""
Operand = np.ndarray | MxBlocks | SparseVector


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class Program:
    """A matrix product cut into native ones.

    Attributes
    ----------
    fmt : as `matmul` names it.
    mode : the row of Table 7, or XDNA2's of bfp16ebs8.
    tile : the native shape.
    a : operands [M/m, K/k, m, k]; MxBlocks of shape [M/m, K/k, m, 1].
    b : operands [K/k, N/n, n, k], k innermost; MxBlocks of shape [K/k, N/n, n, 1]; sparse ones in groups.
    shape : M and N before padding.
    numerics : numerics of the multiply-accumulate.
    """

    fmt: str
    mode: Mode
    tile: Shape
    a: np.ndarray | MxBlocks
    b: Operand
    shape: tuple[int, int]
    numerics: AieNumerics

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Tiles along M, K and N."""
        b = self.b.mask if isinstance(self.b, SparseVector) else self.b
        return (*self.a.shape[:2], b.shape[1])

    @property
    def instruction_count(self) -> int:
        """Native products of the whole product."""
        return int(np.prod(self.tiles))

    @property
    def mac_count(self) -> int:
        """Multiply-accumulates of the padded product; products with sparse B's zeros are not counted."""
        return self.instruction_count * self.mode.lanes * self.mode.depth

    @property
    def output_count(self) -> int:
        """Elements of the result, without padding."""
        return self.shape[0] * self.shape[1]


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedRight:
    """Right operands that `prepare` has converted.

    Attributes
    ----------
    shape : B, K and N.
    packed : numbers as the kernels take them.
    format, rounding, sparse, numerics : arguments of `prepare`.
    """

    shape: tuple[int, int, int]
    packed: tuple[np.ndarray | None, ...]
    format: str
    rounding: RoundingCode
    sparse: bool
    numerics: AieNumerics


@checked
def matmul(
    a: np.ndarray,
    b: np.ndarray,
    *,
    format: str,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    sparse: bool = False,
    numerics: AieNumerics | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply matrices [M, K] @ [K, N]; returns float32 [M, N], int64 for integers.

    Parameters are those of `matmul_program`; `progress` is `run_program`'s; with more than ROWS rows it is told
    the rows done and all of them.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`.
    """
    numerics = numerics_or_default(numerics, format)
    _checked_mode(a, b, format, sparse, numerics)
    right = _prepared(b[np.newaxis], format, member("rounding", rounding, RoundingCode), sparse, numerics)
    return _multiplied(a[np.newaxis], right, progress)[0]


@checked
def prepare(
    b: np.ndarray,
    *,
    format: str,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    sparse: bool = False,
    numerics: AieNumerics | None = None,
) -> PreparedRight:
    """Convert right operands for any number of `multiply`.

    Parameters
    ----------
    b : [B, K, N], B operands that do not see each other, of the dtypes that `matmul` takes.
    format, rounding, sparse, numerics : as `matmul`; `rounding` is that of the left operands too.

    Raises
    ------
    TypeError, ValueError : as `matmul`.
    """
    numerics = numerics_or_default(numerics, format)
    mode = _known_mode(format, sparse, numerics)
    check_matrix("b", b, _integers(mode.b_bits), dimensions=3)
    return _prepared(b, format, member("rounding", rounding, RoundingCode), sparse, numerics)


@checked
def multiply(a: np.ndarray, right: PreparedRight, *, progress: Progress | None = None) -> np.ndarray:
    """Multiply left operands [B, M, K] with prepared ones; returns [B, M, N] with the bits of `matmul`.

    `progress` is as `matmul`'s.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or range.
    """
    mode = _known_mode(right.format, right.sparse, right.numerics)
    check_matrix("a", a, _integers(mode.a_bits), dimensions=3)
    batch, depth, _ = right.shape
    check_shape("a", a, batch, "M", depth, why=" for this right operand")
    return _multiplied(a, right, progress)


def _prepared(b: np.ndarray, fmt: str, rounding: RoundingCode, sparse: bool, numerics: AieNumerics) -> PreparedRight:
    mode = _known_mode(fmt, sparse, numerics)
    tile = mode.sparse_shapes[0] if sparse else mode.shapes[0]
    columns: Any = _convert_rows(b.swapaxes(1, 2), tile, fmt, rounding, numerics)
    packed = _packed(fmt, mode, _to_sparse(columns.reshape(*columns.shape[:2], -1, tile.k)) if sparse else columns)
    return PreparedRight(shape=b.shape, packed=packed, format=fmt, rounding=rounding, sparse=sparse, numerics=numerics)


def _multiplied(a: np.ndarray, right: PreparedRight, progress: Progress | None) -> np.ndarray:
    fmt, numerics = right.format, right.numerics
    mode = _known_mode(fmt, right.sparse, numerics)
    tile = mode.sparse_shapes[0] if right.sparse else mode.shapes[0]
    result = np.empty((*a.shape[:2], right.shape[2]), np.int64 if fmt in INTEGER_MODES else np.float32)

    def work(rows: slice, told: Progress | None) -> None:
        left = _convert_rows(a[:, rows], tile, fmt, right.rounding, numerics)
        _add_steps(fmt, mode, numerics, left, right.packed, result, rows, told)

    in_row_blocks(work, a.shape[1], ROWS, progress)
    return result


def _convert_rows(
    rows: np.ndarray, tile: Shape, fmt: str, rounding: RoundingCode, numerics: AieNumerics
) -> np.ndarray | MxBlocks:
    """Convert [B, R, K] along K, which is padded with zeros to whole steps."""
    missing = -rows.shape[2] % tile.k
    padded = np.pad(rows, ((0, 0), (0, 0), (0, missing))) if missing else rows
    flat = _convert(padded.reshape(-1, padded.shape[2]), fmt, rounding, numerics)
    if not isinstance(flat, MxBlocks):
        return flat.reshape(padded.shape)
    parts = (each.reshape(*rows.shape[:2], *each.shape[1:]) for each in (flat.exponent, flat.shift, flat.codes))
    return MxBlocks(flat.fmt, *parts)


@checked
def matmul_program(
    a: np.ndarray,
    b: np.ndarray,
    *,
    format: str,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    sparse: bool = False,
    numerics: AieNumerics | None = None,
) -> Program:
    """Convert two matrices and cut their product into native ones, all dimensions padded with zeros.

    Parameters
    ----------
    a, b : [M, K] and [K, N], none of them 0: float32, or for integers any integer dtype within the mode's ranges.
    format : "mx9", "mx6", "mx4", "bfp16ebs8" (blocks run along K); "bf16", "fp16"; "fp8_e4m3", "fp8_e4m3fn", "fp8_e4m3fnuz", "fp8_e5m2",
        "fp8_e5m2fnuz" (saturating); "int8", "int16", "int16_64", "int32x16".
    rounding : crRnd code of the conversion.
    sparse : True if B has at most two nonzero numbers among four neighbours along K, and runs in a sparse shape.
    numerics : None is `AIE_ML_V2`'s, for bfp16ebs8 `XDNA2_BFP16EBS8`'s.

    Raises
    ------
    TypeError, ValueError : other dtypes, shapes, names or ranges; a dense B with `sparse`, or a format without sparsity.
    """
    numerics = numerics_or_default(numerics, format)
    mode = _checked_mode(a, b, format, sparse, numerics)
    tile = mode.sparse_shapes[0] if sparse else mode.shapes[0]
    code = member("rounding", rounding, RoundingCode)
    right = _convert(_tiles(b.T, tile.n, tile.k).swapaxes(0, 1), format, code, numerics)
    return Program(
        fmt=format,
        mode=mode,
        tile=tile,
        a=_left(a, tile, format, code, numerics),
        b=_to_sparse(right) if sparse else right,
        shape=(a.shape[0], b.shape[1]),
        numerics=numerics,
    )


def _checked_mode(a: np.ndarray, b: np.ndarray, fmt: str, sparse: bool, numerics: AieNumerics) -> Mode:
    """The mode of a product; raises as `matmul_program`."""
    mode = _known_mode(fmt, sparse, numerics)
    check_product(a, b, (_integers(mode.a_bits), _integers(mode.b_bits)))
    return mode


def _integers(bits: int) -> range | None:
    """Return the integers of an operand of a mode, None for floats."""
    return signed_range(bits) if bits else None


def _known_mode(fmt: str, sparse: bool, numerics: AieNumerics) -> Mode:
    """The mode of a format; raises ValueError for another format, or one without sparsity."""
    check_choice("format", fmt, FORMATS)
    mode = mode_of(fmt, numerics)
    if sparse and not mode.sparse_shapes:
        known = one_of(name for name in FORMATS if mode_of(name, numerics).sparse_shapes)
        raise ValueError(f"format must be {known} with sparse True, not {fmt!r}")
    return mode


def _left(
    a: np.ndarray, tile: Shape, fmt: str, rounding: RoundingCode | int, numerics: AieNumerics
) -> np.ndarray | MxBlocks:
    return _convert(_tiles(a, tile.m, tile.k), fmt, member("rounding", rounding, RoundingCode), numerics)


@checked
def run_program(program: Program, *, progress: Progress | None = None) -> np.ndarray:
    """Execute a program; return accumulators [M/m, N/n, m, n], float32 or int64. The first step of K reads none.

    `progress` is called after each block of rows with the number done and the total.
    """
    left, packed = _in_rows(program.a, 1), _packed(program.fmt, program.mode, _in_rows(program.b, 0))
    rows, _, tiles = program.tiles
    shape = rows, program.tile.m, tiles, program.tile.n
    result = np.empty(
        (1, shape[0] * shape[1], shape[2] * shape[3]), np.int64 if program.fmt in INTEGER_MODES else np.float32
    )
    _add_steps(program.fmt, program.mode, program.numerics, left, packed, result, slice(0, result.shape[1]), progress)
    return result.reshape(shape).swapaxes(1, 2)


def _packed(fmt: str, mode: Mode, right: Any) -> tuple[np.ndarray | None, ...]:
    """Return converted right operands [B, N, K] as the kernels take them; sparse ones in steps of K."""
    # The compiler is loaded with the first call.
    from bitpath.golden.aie_ml_v2.convert.integer_dot_loop import prepared_integers
    from bitpath.golden.aie_ml_v2.mac import fused_dot_loop as loops

    if fmt in INTEGER_MODES:
        # Zeros add nothing to an integer lane, so sparse integers are multiplied as dense ones.
        dense = to_dense(right) if isinstance(right, SparseVector) else right
        return (prepared_integers(mode, dense.reshape(*dense.shape[:2], -1)),)
    return loops.prepared_blocks(right) if fmt in BLOCK_FORMATS else loops.prepared_floats(right)


def _add_steps(
    fmt: str,
    mode: Mode,
    numerics: AieNumerics,
    left: Any,
    packed: tuple[np.ndarray | None, ...],
    result: np.ndarray,
    rows: slice,
    progress: Progress | None,
) -> None:
    """Write rows of the accumulators [B, M, N] of converted left operands [B, rows, K] and packed right ones."""
    # The compiler is loaded with the first call.
    from bitpath.golden.aie_ml_v2.convert.integer_dot_loop import multiply_integers
    from bitpath.golden.aie_ml_v2.mac import fused_dot_loop as loops

    place = result, rows, progress
    if fmt in INTEGER_MODES:
        multiply_integers(mode, left, packed[0], *place)
    elif fmt in BLOCK_FORMATS:
        loops.multiply_blocks(numerics, left, packed, *place)
    else:
        loops.multiply_floats(numerics, left, packed, FLOAT_FORMATS[fmt], *place)


def _in_rows(operand: Operand, axis: int) -> Operand:
    """Return an operand of a program, whose tiles along K lie on an axis, as [1, R, K]; sparse ones in steps of K."""

    def moved(array: np.ndarray) -> np.ndarray:
        rows = np.moveaxis(array, axis, 2)
        return rows.reshape(1, rows.shape[0] * rows.shape[1], *rows.shape[2:])

    if isinstance(operand, SparseVector):
        return SparseVector(moved(operand.slots), moved(operand.mask))
    if isinstance(operand, MxBlocks):
        return MxBlocks(
            operand.fmt, *(moved(each)[:, :, :, 0] for each in (operand.exponent, operand.shift, operand.codes))
        )
    rows = moved(operand)
    return rows.reshape(*rows.shape[:2], -1)


@checked
def result_matrix(program: Program, tiles: np.ndarray) -> np.ndarray:
    """Return accumulators [M/m, N/n, m, n] as the matrix [M, N] that they are, without padding."""
    check_shape("tiles", tiles, program.tiles[0], program.tiles[2], program.tile.m, program.tile.n)
    rows, columns, m, n = tiles.shape
    whole = tiles.transpose(0, 2, 1, 3).reshape(rows * m, columns * n)
    return np.ascontiguousarray(whole[: program.shape[0], : program.shape[1]])


def mode_of(fmt: str, numerics: AieNumerics | None = None) -> Mode:
    """Return the row of Table 7, or XDNA2's, that multiplies a format of `matmul`."""
    if fmt in BLOCK_FORMATS:
        return mx_mode(fmt, numerics)
    if fmt in INTEGER_MODES:
        return INTEGER_MODES[fmt]
    return SPARSE_MODES.get(fmt, FLOAT8)


def _tiles(matrix: np.ndarray, rows: int, depth: int) -> np.ndarray:
    """Pad with zeros and cut: [R, K] to [R/rows, K/depth, rows, depth]."""
    rests = -matrix.shape[0] % rows, -matrix.shape[1] % depth
    padded = np.pad(matrix, [(0, rest) for rest in rests]) if any(rests) else matrix
    return padded.reshape(-1, rows, padded.shape[1] // depth, depth).swapaxes(1, 2)


def _to_sparse(tiles: Any) -> SparseVector:
    """Extract the nonzero numbers of tiles of B; -0, which masking leaves of negative weights, counts as zero."""
    entities = np.where(tiles == 0, np.zeros_like(tiles), tiles)
    crowded = (entities.reshape(-1, SPARSE_GROUP) != 0).sum(axis=-1)
    if crowded.max() > SPARSE_KEPT:
        raise ValueError(
            f"b must have {SPARSE_KEPT} nonzero numbers among four neighbours along K, not {crowded.max()}"
        )
    return to_sparse(entities)


def _convert(tiles: np.ndarray, fmt: str, rounding: RoundingCode, numerics: AieNumerics) -> np.ndarray | MxBlocks:
    """Convert tiles to a format, some at a time: intermediate values take many times the memory of the tiles."""
    if fmt in INTEGER_MODES:
        return tiles.astype(np.int64)
    step = max(CONVERTED_AT_ONCE // tiles[0].size, 1)
    parts = [tiles[each] for each in cuts(len(tiles), step)]
    if fmt in BLOCK_FORMATS:
        blocks = [to_mx(part, fmt, rounding=rounding, numerics=numerics) for part in parts]
        fields = ("exponent", "shift", "codes")
        return MxBlocks(
            BLOCK_FORMATS[fmt], *(np.concatenate([getattr(each, name) for each in blocks]) for name in fields)
        )
    return np.concatenate([_narrowed(part, FLOAT_FORMATS[fmt], rounding) for part in parts])


@checked
def quantize_rows(
    x: np.ndarray,
    format: str,
    *,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    numerics: AieNumerics | None = None,
) -> np.ndarray | MxBlocks:
    """Convert rows [R, K] as `matmul` does: floats of a format, or blocks, of K padded with zeros to whole ones.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; a format of integers.
    """
    check_choice("format", format, (*BLOCK_FORMATS, *FLOAT_FORMATS))
    check_matrix("x", x)
    code = member("rounding", rounding, RoundingCode)
    if format in FLOAT_FORMATS:
        return _narrowed(x, FLOAT_FORMATS[format], code)
    padded = np.pad(x, ((0, 0), (0, -x.shape[1] % BLOCK_FORMATS[format].elements)))
    return to_mx(padded, format, rounding=code, numerics=numerics)


@checked
def dequantize_rows(
    data: np.ndarray | MxBlocks, shape: tuple[int, int], *, numerics: AieNumerics | None = None
) -> np.ndarray:
    """Return the numbers [R, K] of `quantize_rows`, float32."""
    if isinstance(data, MxBlocks):
        return from_mx(data, numerics=numerics)[:, : shape[1]]
    return data.astype(np.float32)


def _narrowed(tiles: np.ndarray, target: FloatFormat, rounding: RoundingCode) -> np.ndarray:
    bits = np.ascontiguousarray(tiles).view(np.uint32)
    if target is BF16:
        codes = f32_to_bf16(bits, rounding=rounding)
    elif target is FP16:
        codes = f32_to_fp16(bits, rounding=rounding)
    else:
        codes = f32_to_fp8(bits, DTYPES[target], rounding=rounding, saturate=True)
    return codes.view(DTYPES[target])
