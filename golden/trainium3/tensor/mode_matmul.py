"""Products of any size in TensorE's modes without their instructions: right operands are converted once, a batch is one call.

The bits are those of `run_mode_program`: operands are padded as it pads them, an instruction's sums start from +0, PSUM adds its
results in FP32 in the order of K, and an output depends on its own row and column alone. A product does not depend on which
operand is stationary. A right operand takes 4 bytes an element, and where it is sparse 6 bytes an element that is kept.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_choice,
    check_matrix,
    check_product,
    check_shape,
    checked,
    numerics_of,
)
from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.arrays.parallel import ROWS, Progress, in_row_blocks
from bitpath.golden.formats.catalogue import BF16, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT, X4
from bitpath.golden.trainium3.declarations.tensor import DOUBLE_ROW as PAIR
from bitpath.golden.trainium3.declarations.tensor import PATTERNS, SparsePattern
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.golden.trainium3.exact import check_formats
from bitpath.golden.trainium3.matmul.matmul import packed_in_parts
from bitpath.golden.trainium3.matmul.nc_matmul import double_row_numerics, read_operand
from bitpath.golden.trainium3.operands.cast import cast
from bitpath.golden.trainium3.tensor.modes import DENSE, DOUBLE_ROW, MODES, SPARSE
from bitpath.golden.trainium3.tensor.sparse import largest_of_groups, read_by


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedMode:
    """Right operands that `prepare_mode` has converted.

    Attributes
    ----------
    shape : B, K and N.
    packed : numbers and exponents as the array's kernels take them, and in a sparse mode the rows that they meet.
    mode, numerics : arguments of `prepare_mode`.
    """

    shape: tuple[int, int, int]
    packed: tuple[np.ndarray, ...]
    mode: str
    numerics: MatmulNumerics | DotNumerics


@checked
def matmul_mode(
    a: np.ndarray,
    b: np.ndarray,
    *,
    mode: str,
    numerics: MatmulNumerics | DotNumerics | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply float32 matrices [M, K] @ [K, N] in a mode of TensorE, accumulated in FP32; returns float32 [M, N].

    Parameters
    ----------
    a, b, mode : as `mode_program`.
    numerics : `nc_matmul`'s, in double row its `double_row_numerics`.
    progress : is told the output tiles done and all of them, or, of many rows, the rows done and all of them.

    Raises
    ------
    TypeError, ValueError : as `mode_program`; numerics of another unit, or without the mode's format.
    """
    check_product(a, b)
    right = prepare_mode(b[np.newaxis], mode=mode, numerics=numerics)
    return multiply_mode(a[np.newaxis], right, progress=progress)[0]


@checked
def prepare_mode(b: np.ndarray, *, mode: str, numerics: MatmulNumerics | DotNumerics | None = None) -> PreparedMode:
    """Convert right operands for any number of `multiply_mode`.

    Parameters
    ----------
    b : float32 [B, K, N], B operands that do not see each other.
    mode, numerics : as `matmul_mode`.

    Raises
    ------
    TypeError, ValueError : as `matmul_mode`.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul.nc_matmul_loop import COLUMNS

    check_choice("mode", mode, MODES)
    check_matrix("b", b, dimensions=3)
    known = _numerics(mode, numerics)

    def packed(part: np.ndarray) -> tuple[np.ndarray, ...]:
        if mode in SPARSE:
            return _pack_sparse(part, PATTERNS[SPARSE[mode]], COLUMNS)
        return _pack(part.swapaxes(1, 2), mode, known, COLUMNS)

    return PreparedMode(shape=b.shape, packed=packed_in_parts(packed, b, COLUMNS), mode=mode, numerics=known)


@checked
def multiply_mode(a: np.ndarray, right: PreparedMode, *, progress: Progress | None = None) -> np.ndarray:
    """Multiply left operands, float32 [B, M, K], with prepared ones; returns float32 [B, M, N] with the bits of `matmul_mode`.

    `progress` is as `matmul_mode`'s.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul.nc_matmul_loop import ROWS as WIDTH

    check_matrix("a", a, dimensions=3)
    batch, depth, columns = right.shape
    check_shape("a", a, batch, "M", depth, why=" for this right operand")
    result = np.empty((batch, a.shape[1], columns), np.float32)

    fmt = BF16 if right.mode in SPARSE else format_of(DENSE[right.mode])
    pattern = PATTERNS[SPARSE[right.mode]] if right.mode in SPARSE else None

    def work(rows: slice, told: Progress | None) -> None:
        left = _pack(a[:, rows], right.mode, right.numerics, WIDTH)
        add_products(left, right.packed, fmt, right.numerics, result, rows, pattern=pattern, progress=told)

    in_row_blocks(work, a.shape[1], ROWS, progress)
    return result


def add_products(
    left: tuple[np.ndarray, ...],
    right: tuple[np.ndarray, ...],
    fmt: FloatFormat,
    numerics: MatmulNumerics | DotNumerics,
    result: np.ndarray,
    rows: slice,
    *,
    pattern: SparsePattern | None = None,
    progress: Progress | None = None,
) -> None:
    """Write rows of the products [B, M, N] of packed operands of a format; in double row if the numerics are its."""
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import array_loop, nc_matmul_loop

    where: dict[str, Any] = {"tile": PARTITIONS, "rows": rows, "progress": progress}
    if isinstance(numerics, DotNumerics):
        array_loop.multiply(numerics, (fmt, fmt), left, right, result, **where)
        return
    places, kept = (None, 1) if pattern is None else (right[3], pattern.kept)
    nc_matmul_loop.multiply(numerics, left, right[:3], places, result, kept=kept, **where)


def _numerics(mode: str, numerics: Any) -> MatmulNumerics | DotNumerics:
    """Return the numerics of a mode; raise TypeError for those of another unit, ValueError for those without its format."""
    fmt = BF16 if mode in SPARSE else format_of(DENSE[mode])
    if mode == DOUBLE_ROW:
        return double_row_numerics(numerics, fmt)
    single = numerics_of(numerics, TRAINIUM3_MATMUL)
    check_formats(single, fmt, fmt, *(f"{name} is {fmt.name}" for name in ("stationary", "moving")))
    return single


def _pack(rows: np.ndarray, mode: str, numerics: MatmulNumerics | DotNumerics, width: int) -> tuple[np.ndarray, ...]:
    """Cast dense operands [B, F, K], and pack them for the array's kernel."""
    if mode in SPARSE:
        return pack_numbers(cast(rows, DTYPES[BF16]), width, depth=QUADRANT * PATTERNS[SPARSE[mode]].ratio)
    elements = cast(rows, DENSE[mode])
    if isinstance(numerics, DotNumerics):
        return pack_pairs(numerics, elements, width)
    if mode == "tf32":
        elements = read_operand("stationary", elements, True, numerics)[0].astype(np.float32)
    return pack_numbers(elements, width)


def pack_numbers(elements: np.ndarray, width: int, *, depth: int = QUADRANT) -> tuple[np.ndarray, ...]:
    """Pack elements [B, F, K] for a step of one product; K is padded with zeros to a multiple of `depth`."""
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import nc_matmul_loop

    values, _ = read_operand("stationary", elements, False, TRAINIUM3_MATMUL.numerics)
    return nc_matmul_loop.packed(_padded(values.astype(np.float32), depth), width)


def pack_pairs(numerics: DotNumerics, elements: np.ndarray, width: int) -> tuple[np.ndarray, ...]:
    """Pack FP8 elements [B, F, K] for double row: k = j * P + p in each tile, K padded with zeros to whole quadrants."""
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import array_loop

    codes = _padded(codes_of(elements), PAIR * QUADRANT)
    batch, free, depth = codes.shape
    whole = depth // (PAIR * PARTITIONS) * PAIR * PARTITIONS
    # The other two lanes of a word hold +0.
    words = np.zeros((depth // PAIR, batch, free, X4), np.uint8)
    for part, partitions in ((slice(0, whole), PARTITIONS), (slice(whole, depth), (depth - whole) // PAIR)):
        if part.start < part.stop:
            own = codes[:, :, part].reshape(batch, free, -1, PAIR, partitions).transpose(2, 4, 0, 1, 3)
            words[part.start // PAIR : part.stop // PAIR, ..., :PAIR] = own.reshape(-1, batch, free, PAIR)
    scales = np.full((1, batch, free), numerics.scale_format.bias, np.uint8)
    return array_loop.packed(numerics, words, format_of(elements.dtype), scales, width)


def _pack_sparse(b: np.ndarray, pattern: SparsePattern, width: int) -> tuple[np.ndarray, ...]:
    """Prune right operands [B, K, N] by magnitude, and pack what is kept with the rows that it meets."""
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import nc_matmul_loop

    batch, _, columns = b.shape
    rows = _padded(cast(b, DTYPES[BF16]).swapaxes(1, 2), QUADRANT * pattern.ratio)
    kept, tags = largest_of_groups(np.ascontiguousarray(rows.reshape(batch * columns, -1).T), pattern)
    met = (read_by(tags, pattern) % (PARTITIONS * pattern.ratio)).astype(np.uint16)
    numbers, places = (each.T.reshape(batch, columns, -1) for each in (kept.astype(np.float32), met))
    return *nc_matmul_loop.packed(numbers, width), nc_matmul_loop.in_blocks(places, width)


def _padded(rows: np.ndarray, depth: int) -> np.ndarray:
    missing = -rows.shape[2] % depth
    return np.pad(rows, ((0, 0), (0, 0), (0, missing))) if missing else rows
