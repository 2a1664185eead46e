"""Matrices of any size on nc_matmul_mx: quantise, cut into instructions, accumulate in PSUM.

`matmul_program` makes the list of instructions. The golden model (`run_program`) and the RTL execute the same list, so a
difference between the two is never one of tiling or quantisation.

`prepare` and `multiply` give the bits of that list without making it. `prepare` converts right operands once, and keeps 2.25
bytes an element of the padded matrix; `multiply` takes all of a batch in one call of the array's kernel, which computes no
row of padding. The bits are those of the list because

- an element depends on its own block of 32 alone, so it has the same code in any cut of M and N, and in any batch;
- an instruction's partial sums start from +0, and PSUM adds its results in FP32 in the order of K: the kernel does both;
- an output is that of its own row and column, whatever stands in the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_length,
    check_matrix,
    check_product,
    check_shape,
    checked,
    member,
)
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.arrays.parallel import ROWS, Progress, cuts, in_parallel, in_row_blocks, mapped
from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, MX_FORMATS, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import (
    MAX_MOVING_FP32,
    MAX_STATIONARY,
    PARTITIONS,
    QUADRANT,
    X4,
    AccumulateFlag,
    ScaleRule,
)
from bitpath.golden.trainium3.matmul.instruction import check_numerics
from bitpath.golden.trainium3.matmul.nc_matmul_mx import mapped_to_fp8, nc_matmul_mx
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.layout import KOrder, check_k_order, from_partitions, to_partitions
from bitpath.golden.trainium3.operands.quantize_mx import ScaleRuleName, dequantize, quantize_blocks, quantize_offline

FIRST_OVERWRITE, LAST = AccumulateFlag.FIRST_OVERWRITE, AccumulateFlag.LAST
K_TILE = X4 * PARTITIONS
"""Depth of a full instruction."""
K_STEP = X4 * QUADRANT
"""Depth that K is padded to a multiple of."""
CONVERTED_AT_ONCE = 1 << 22
"""Elements that are converted at once."""


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class MatmulInstruction:
    """One nc_matmul_mx and where its FP32 result belongs.

    Attributes
    ----------
    stationary, moving : element tiles [P, M, 4] and [P, N, 4], float8_e4m3fn, float8_e5m2 or float4_e2m1fn.
    stationary_scale, moving_scale : uint8 [P/8, M] and [P/8, N].
    psum_accumulate_flag : bits of `AccumulateFlag`; the instructions of one output tile stand together, in order of K.
    output : row and column slices of the padded output, of extents M and N.
    tile_row, tile_rows : the row tile of the array; no effect on values.
    """

    stationary: np.ndarray
    moving: np.ndarray
    stationary_scale: np.ndarray
    moving_scale: np.ndarray
    psum_accumulate_flag: AccumulateFlag
    output: tuple[slice, slice]
    tile_row: int = 0
    tile_rows: int = PARTITIONS


Program = list[MatmulInstruction]


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedRight:
    """Right operands that `prepare` has converted.

    Attributes
    ----------
    shape : B, K and N.
    packed : elements, scales and exponents as the array's kernel takes them.
    a_format, b_format, scale_rule, k_order, numerics : arguments of `prepare`.
    """

    shape: tuple[int, int, int]
    packed: tuple[np.ndarray, ...]
    a_format: str
    b_format: str
    scale_rule: ScaleRuleName
    k_order: KOrder
    numerics: DotNumerics


@checked
def matmul(
    a: np.ndarray,
    b: np.ndarray,
    *,
    a_format: str = "mxfp8_e4m3",
    b_format: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    k_order: KOrder = "interleaved",
    numerics: DotNumerics | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply float32 matrices [M, K] @ [K, N] in MX formats; returns float32 [M, N].

    Parameters are those of `matmul_program`; `numerics` is nc_matmul_mx's, and checked first; `progress` is told the output
    tiles done and all of them, or, with more than `parallel.ROWS` rows, the rows done and all of them.

    Raises
    ------
    TypeError, ValueError : as `matmul_program`; no `DotNumerics`, or other than four products per step.
    """
    numerics = check_numerics(numerics)
    _check_operands(a, b, a_format, b_format)
    right = _prepared(b[np.newaxis], a_format, b_format, scale_rule, k_order, numerics)
    return _multiplied(a[np.newaxis], right, progress)[0]


@checked
def prepare(
    b: np.ndarray,
    *,
    a_format: str = "mxfp8_e4m3",
    b_format: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    k_order: KOrder = "interleaved",
    numerics: DotNumerics | None = None,
) -> PreparedRight:
    """Quantise right operands for any number of `multiply`.

    Parameters
    ----------
    b : float32 [B, K, N], B operands that do not see each other.
    a_format : format of the left operands to come.
    b_format, scale_rule, k_order, numerics : as `matmul`.

    Raises
    ------
    TypeError, ValueError : as `matmul`.
    """
    numerics = check_numerics(numerics)
    check_choice("a_format", a_format, MX_FORMATS)
    _check_stack("b", b, "b_format", b_format)
    return _prepared(b, a_format, b_format, scale_rule, k_order, numerics)


@checked
def multiply(a: np.ndarray, right: PreparedRight, *, progress: Progress | None = None) -> np.ndarray:
    """Multiply left operands, float32 [B, M, K], with prepared ones; returns float32 [B, M, N] with the bits of `matmul`.

    `progress` is as `matmul`'s.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; NaN where ``a_format`` is "mxfp4".
    """
    _check_stack("a", a, "a_format", right.a_format)
    batch, depth, _ = right.shape
    check_shape("a", a, batch, "M", depth, why=" for this right operand")
    return _multiplied(a, right, progress)


def _check_stack(name: str, stack: np.ndarray, format_argument: str, format_name: str) -> None:
    element = MX_FORMATS[check_choice(format_argument, format_name, MX_FORMATS)].element
    check_matrix(name, stack, no_nan=_no_nan(element), dimensions=3)


def _prepared(
    b: np.ndarray,
    a_format: str,
    b_format: str,
    scale_rule: ScaleRuleName,
    k_order: KOrder,
    numerics: DotNumerics,
) -> PreparedRight:
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul.array_loop import COLUMNS

    options = b_format, scale_rule, k_order, numerics

    def packed(part: np.ndarray) -> tuple[np.ndarray, ...]:
        return _packed("moving", part, *options, COLUMNS)

    return PreparedRight(
        shape=b.shape,
        packed=packed_in_parts(packed, b, COLUMNS),
        a_format=a_format,
        b_format=b_format,
        scale_rule=scale_rule,
        k_order=k_order,
        numerics=numerics,
    )


def packed_in_parts(
    pack: Callable[[np.ndarray], tuple[np.ndarray, ...]], b: np.ndarray, width: int
) -> tuple[np.ndarray, ...]:
    """Return what `pack` makes of right operands [B, K, N], arrays [B, blocks, ...] of `width` columns a block.

    It gets some blocks at a time: what lies between the operands and the result takes several times the memory of these.
    """
    step = max(CONVERTED_AT_ONCE // b[:, :, 0].size // width, 1) * width
    parts = [pack(b[:, :, part]) for part in cuts(b.shape[2], step)]
    return parts[0] if len(parts) == 1 else tuple(np.concatenate(each, axis=1) for each in zip(*parts, strict=True))


def _multiplied(a: np.ndarray, right: PreparedRight, progress: Progress | None) -> np.ndarray:
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import array_loop

    options = right.a_format, right.scale_rule, right.k_order, right.numerics
    formats = _at_the_array(right.a_format), _at_the_array(right.b_format)
    result = np.empty((*a.shape[:2], right.shape[2]), np.float32)

    def work(rows: slice, told: Progress | None) -> None:
        left = _packed("stationary", a[:, rows].swapaxes(1, 2), *options, array_loop.ROWS)
        array_loop.multiply(
            right.numerics, formats, left, right.packed, result, tile=PARTITIONS, rows=rows, progress=told
        )

    in_row_blocks(work, a.shape[1], ROWS, progress)
    return result


def _packed(
    name: str,
    stack: np.ndarray,
    format_name: str,
    scale_rule: ScaleRuleName,
    k_order: KOrder,
    numerics: DotNumerics,
    width: int,
) -> tuple[np.ndarray, ...]:
    """Quantise operands [B, K, F], all tiles of K on one axis of partitions, and pack them for the array's kernel."""
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import array_loop

    element = MX_FORMATS[format_name].element
    rows = _on_partitions(round_to_bfloat16(stack), k_order)
    codes, scale = quantize_blocks(rows.reshape(len(rows), -1), element, member("scale_rule", scale_rule, ScaleRule))
    codes, fmt = mapped_to_fp8(numerics, name, codes.reshape(rows.shape), element)
    return array_loop.packed(numerics, codes, fmt, scale.reshape(-1, *rows.shape[1:3]), width)


def _on_partitions(stack: np.ndarray, k_order: KOrder) -> np.ndarray:
    """Lay operands [B, K, F] out as tiles [P, B, F, 4], one below the other, of K padded with zeros."""
    check_k_order(k_order)
    missing = -stack.shape[1] % K_STEP
    padded = np.pad(stack, ((0, 0), (0, missing), (0, 0))) if missing else stack
    batch, depth, free = padded.shape
    whole = depth // K_TILE * K_TILE
    tiles = np.empty((depth // X4, batch, free, X4), stack.dtype)
    for part, partitions in ((slice(0, whole), PARTITIONS), (slice(whole, depth), (depth - whole) // X4)):
        if part.start < part.stop:
            inner = (X4, partitions) if k_order == "interleaved" else (partitions, X4)
            axes = (1, 3, 0, 4, 2) if k_order == "interleaved" else (1, 2, 0, 4, 3)
            own = padded[:, part].reshape(batch, -1, *inner, free).transpose(axes)
            tiles[part.start // X4 : part.stop // X4] = own.reshape(-1, batch, free, X4)
    return tiles


def _at_the_array(format_name: str) -> FloatFormat:
    """Return the element format that the array sees: FP4 comes as E4M3FN."""
    element = MX_FORMATS[format_name].element
    return E4M3FN if element is E2M1 else element


@checked
def matmul_program(
    a: np.ndarray,
    b: np.ndarray,
    *,
    a_format: str = "mxfp8_e4m3",
    b_format: str = "mxfp8_e4m3",
    scale_rule: ScaleRuleName = "ocp",
    k_order: KOrder = "interleaved",
) -> Program:
    """Quantise two matrices and cut their product into instructions.

    Elements are rounded RNE to bfloat16, then quantised. `a` is stationary and `b` moving. K is cut into tiles of 512, the
    last one padded with zeros to a multiple of 128; M into tiles of 128, the last one padded to an even size; N into tiles
    of 512. The tiles of K of one output tile accumulate in PSUM, in FP32.

    Parameters
    ----------
    a, b : float32 [M, K] and [K, N], none of them 0.
    a_format, b_format : "mxfp8_e4m3", "mxfp8_e5m2" or "mxfp4".
    scale_rule : "ocp" or "nki05".
    k_order : how k lies on partitions inside a tile, "interleaved" or "adjacent".

    Returns
    -------
    Instructions, output tiles row by row. The padded output has an even number of rows, at least M, and N columns.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, format, rule or order; NaN for mxfp4.
    """
    _check_operands(a, b, a_format, b_format)
    stationary, moving = ((_stationary(a), a_format), (b, b_format))
    return tile_program(*(_quantized(*side, scale_rule, k_order) for side in (stationary, moving)))


def _check_operands(a: np.ndarray, b: np.ndarray, a_format: str, b_format: str) -> None:
    left, right = (
        MX_FORMATS[check_choice(name, chosen, MX_FORMATS)].element
        for name, chosen in (("a_format", a_format), ("b_format", b_format))
    )
    check_product(a, b, no_nan=(_no_nan(left), _no_nan(right)))


def _no_nan(element: FloatFormat) -> str:
    """Return why an operand may not have NaN; "" where it may."""
    return f"{DTYPES[element]} cannot express" if element.nan_code is None else ""


def _stationary(rows: np.ndarray) -> np.ndarray:
    """Rows of the left operand as columns, an even number of them."""
    return np.pad(rows.T, ((0, 0), (0, 1))) if rows.shape[0] % 2 else rows.T


def _quantized(
    matrix: np.ndarray, format_name: str, scale_rule: ScaleRuleName, k_order: KOrder
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Elements and scales of each tile of K; only one tile at a time is held in other formats."""

    def quantized(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        return quantize_tile(_operand_tile(matrix[rows], k_order), format_name, scale_rule=scale_rule)

    return mapped(quantized, cuts(matrix.shape[0], K_TILE))


@checked
def operand_tiles(matrix: np.ndarray, k_order: KOrder = "interleaved") -> list[np.ndarray]:
    """Round a matrix to bfloat16 and cut it along K, as it lies in SBUF before it is quantised.

    Parameters
    ----------
    matrix : float32 [K, F]; K is padded with zeros to a multiple of 128.
    k_order : how k lies on partitions inside a tile.

    Returns
    -------
    bfloat16 tiles [P, F, 4] of 512 places along K, the last one of the rest.

    Raises
    ------
    TypeError, ValueError : another order.
    """
    check_array("matrix", matrix, np.float32)
    check_shape("matrix", matrix, "K", "F")
    return mapped(lambda rows: _operand_tile(matrix[rows], k_order), cuts(matrix.shape[0], K_TILE))


def _operand_tile(rows: np.ndarray, k_order: KOrder) -> np.ndarray:
    padded = np.pad(rows, ((0, -rows.shape[0] % K_STEP), (0, 0)))
    return to_partitions(round_to_bfloat16(padded), k_order)


@checked
def quantize_tile(
    tile: np.ndarray, format_name: str, *, scale_rule: ScaleRuleName = "ocp"
) -> tuple[np.ndarray, np.ndarray]:
    """Quantise a tile of `operand_tiles`, bfloat16 [P, F, 4]: elements [P, F, 4] and scales [P/8, F].

    Raises
    ------
    TypeError, ValueError : another format; otherwise as `quantize_offline`.
    """
    check_shape("tile", tile, "P", "F", X4)
    dtype = DTYPES[MX_FORMATS[check_choice("format_name", format_name, MX_FORMATS)].element]
    data, scale = quantize_offline(tile.reshape(tile.shape[0], -1), dtype, scale_rule=scale_rule)
    return data.reshape(tile.shape), scale


@checked
def quantize_columns(
    x: np.ndarray, format_name: str, *, scale_rule: ScaleRuleName = "ocp", k_order: KOrder = "interleaved"
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Quantise rows [R, K] as `matmul` does: for each tile of K, elements [P, R, 4] and scales [P/8, R].

    Raises
    ------
    TypeError, ValueError : as `matmul_program`.
    """
    element = MX_FORMATS[check_choice("format_name", format_name, MX_FORMATS)].element
    check_matrix("x", x, no_nan=_no_nan(element))
    return _quantized(x.T, format_name, scale_rule, k_order)


@checked
def dequantize_columns(
    tiles: Sequence[tuple[np.ndarray, np.ndarray]], shape: tuple[int, int], *, k_order: KOrder = "interleaved"
) -> np.ndarray:
    """Return the numbers [R, K] of `quantize_columns`, which float32 holds exactly."""
    columns = [
        from_partitions(dequantize(data.reshape(len(data), -1), scale).reshape(data.shape), k_order)
        for data, scale in tiles
    ]
    return np.ascontiguousarray(np.concatenate(columns)[: shape[1]].T.astype(np.float32))


@checked
def tile_program(
    stationary: Sequence[tuple[np.ndarray, np.ndarray]], moving: Sequence[tuple[np.ndarray, np.ndarray]]
) -> Program:
    """Cut the product of operands that are quantised already into instructions, output tiles row by row.

    Parameters
    ----------
    stationary, moving : for each tile of K, in its order, elements [P, F, 4] and scales [P/8, F]; F is the padded M, which
        is even, or N.

    Raises
    ------
    ValueError : other than as many tiles of K for both.
    """
    check_length("stationary", stationary)
    check_length("moving", moving, len(stationary), " as stationary")
    for name, tiles in (("stationary", stationary), ("moving", moving)):
        for i, (data, scale) in enumerate(tiles):
            check_shape(f"{name}[{i}][0]", data, "P", "F", X4)
            check_shape(f"{name}[{i}][1]", scale, "P/8", "F")
    last = len(moving) - 1
    return [
        MatmulInstruction(
            stationary=x[:, rows],
            moving=y[:, columns],
            stationary_scale=x_scale[:, rows],
            moving_scale=y_scale[:, columns],
            psum_accumulate_flag=AccumulateFlag(FIRST_OVERWRITE * (k == 0) | LAST * (k == last)),
            output=(rows, columns),
        )
        for rows in cuts(stationary[0][0].shape[1], MAX_STATIONARY)
        for columns in cuts(moving[0][0].shape[1], MAX_MOVING_FP32)
        for k, ((x, x_scale), (y, y_scale)) in enumerate(zip(stationary, moving, strict=True))
    ]


@checked
def run_program(
    program: Sequence[MatmulInstruction], *, numerics: DotNumerics | None = None, progress: Progress | None = None
) -> np.ndarray:
    """Execute the instructions of `matmul_program`; returns the padded output, float32.

    `progress` is told the output tiles done and all of them, whenever one is done.

    Raises
    ------
    TypeError, ValueError : `program` is no sequence or is empty; else as `nc_matmul_mx`.
    """
    check_length("program", program)
    psum = np.zeros((program[-1].output[0].stop, program[-1].output[1].stop), np.float32)

    def run_tile(instructions: Sequence[MatmulInstruction]) -> None:
        for each in instructions:
            psum[each.output] = nc_matmul_mx(
                each.stationary,
                each.moving,
                each.stationary_scale,
                each.moving_scale,
                dst=psum[each.output],
                psum_accumulate_flag=each.psum_accumulate_flag,
                tile_position=(each.tile_row, 0),
                tile_size=(each.tile_rows, PARTITIONS),
                numerics=numerics,
            )

    # Output tiles do not see each other.
    tiles = groupby(program, key=lambda each: (each.output[0].start, each.output[1].start))
    in_parallel(run_tile, [list(group) for _, group in tiles], progress)
    return psum


@checked
def round_to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Round float32 of any shape to bfloat16, RNE."""
    return fp32.write(x, DTYPES[BF16])
