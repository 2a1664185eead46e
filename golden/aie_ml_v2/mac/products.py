"""Products of whole operands: matrices of integers, and registers element by element, convolved or complex."""

from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import add_integers, check_accumulators, integer_dot, unpack4
from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_GROUP, VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.modes import (
    COMPLEX_LANES,
    COMPLEX_MODES,
    INT4_BITS,
    INT4_SHAPES,
    INT8,
    INTEGER_MODES,
)
from bitpath.golden.aie_ml_v2.mac.sparsity import SPARSE_MODES, SparseVector, sparse_dot
from bitpath.golden.aie_ml_v2.operands.arguments import in_groups
from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_integers,
    check_shape,
    checked,
    integer,
    one_of,
)

# Products of 4-bit integers, which the machine unpacks to 8 bits and multiplies in mode int8.
#
# Ref: AM027, Table 7, whose note says that 4-bit products are emulated; AIE API for the shape 4x16x16.


@checked
def int4_matmul(
    a: np.ndarray,
    b: np.ndarray,
    acc: np.ndarray | None = None,
    *,
    a_bits: int,
    shape: str,
    signed_a: bool = True,
    signed_b: bool = True,
) -> np.ndarray:
    """Multiply a tile by 4-bit integers, ``D[i][j] = acc[i][j] + sum(A[i][k] * B[k][j])``; lanes of 32 bits wrap.

    Parameters
    ----------
    a : with `a_bits` 8 integers of 8 bits [..., M, K], with 4 uint8 [..., M, K / 2].
    b : uint8 [..., K, N / 2]. A byte holds two elements, the lower one in its low nibble.
    acc : integers of 32 bits [..., M, N]; None if absent.
    a_bits : 4 or 8.
    shape : MxKxN: "8x8x8", "4x8x16", or "4x16x16", which takes two native products.
    signed_a, signed_b : True if an operand is signed.

    Returns
    -------
    int64 [..., M, N].

    Raises
    ------
    TypeError, ValueError : another shape or dtype; integers out of range.
    """
    a_bits = check_choice("a_bits", a_bits, (INT4_BITS, INT8.a_bits))
    tile = INT4_SHAPES[check_choice("shape", shape, INT4_SHAPES)]
    per_byte = INT8.a_bits // a_bits
    for name, array, *sizes in (("a", a, tile.m, tile.k // per_byte), ("b", b, tile.k, tile.n // 2)):
        check_array(name, array, *((np.uint8,) if name == "b" or a_bits == INT4_BITS else ()))
        check_shape(name, array, "...", *sizes, why=f" with shape {shape!r}")
    x = unpack4(a, signed=signed_a) if a_bits == INT4_BITS else a
    y = unpack4(b, signed=signed_b).swapaxes(-1, -2)
    # [..., M, N, steps, depth of int8]
    left, right = (in_groups(each, INT8.depth) for each in (x[..., np.newaxis, :], y[..., np.newaxis, :, :]))
    for step in range(tile.k // INT8.depth):
        operands = left[..., step, :], right[..., step, :]
        acc = integer_dot(*operands, acc, mode=INT8.name, signed_a=signed_a, signed_b=signed_b)
    return np.asarray(acc)


# Native matrix products of integers and of sparse operands, one instruction each.
#
# Ref: llvm-aie, intrinsics headers of aie2ps, for the shapes; AM027, Table 7; UG1583 for the sparse operand.


@checked
def integer_matmul(
    a: np.ndarray,
    b: np.ndarray,
    acc: np.ndarray | None = None,
    *,
    mode: str,
    shape: str | None = None,
    **options: Any,
) -> np.ndarray:
    """Multiply one native tile of integers, ``D[i][j] = acc[i][j] + sum(A[i][k] * B[k][j])``; lanes wrap.

    Parameters
    ----------
    a, b : integers [..., M, K] and [..., K, N] in the mode's ranges.
    acc : integers [..., M, N] of the lane's width; None if absent.
    mode : "int8" (8x8x8, 4x8x16), "int16" (8x2x8), "int16_64" (4x4x8) or "int32x16" (4x2x8).
    shape : MxKxN; None is the mode's first.
    options : options of `integer_dot`, `acc2` among them.

    Returns
    -------
    int64 [..., M, N].

    Raises
    ------
    TypeError, ValueError : another mode, shape or dtype; as `integer_dot`.
    """
    check_choice("mode", mode, INTEGER_MODES)
    native = {each.name: each for each in INTEGER_MODES[mode].shapes if not each.sparse}
    tile = native[next(iter(native)) if shape is None else check_choice("shape", shape, native)]
    for name, array, *sizes in (("a", a, tile.m, tile.k), ("b", b, tile.k, tile.n)):
        check_array(name, array)
        check_shape(name, array, "...", *sizes, why=f" with shape {tile.name!r}")
    columns = b.swapaxes(-1, -2)[..., np.newaxis, :, :]
    return integer_dot(a[..., np.newaxis, :], columns, acc, mode=mode, **options)


@checked
def sparse_matmul(
    a: np.ndarray,
    b: SparseVector,
    *,
    format: str,
    acc: np.ndarray | None = None,
    overfull: str = "error",
    **options: Any,
) -> np.ndarray:
    """Multiply one native tile with sparse B, ``D[i][j] = acc[i][j] + sum(A[i][k] * B[j][k])``.

    Parameters
    ----------
    a : [..., M, K] of the mode's dtypes.
    b : slots [..., N, K / 4, 2]: rows are columns of the product, k innermost.
    format : "int8" (8x16x8, 4x16x16, 4x16x8), "int16_64" (4x8x8), "bf16", "fp16" (4x16x8) or "fp8" (4x16x16).
    acc : [..., M, N], as acc1 of `sparse_dot`; None if absent.
    overfull : "error", or "drop" to multiply neither slot of a group with more than two entities.
    options : options of `fused_dot` or `integer_dot`, `acc2` among them.

    Returns
    -------
    int64 or float32 [..., M, N].

    Raises
    ------
    TypeError, ValueError : another format or shape; as `sparse_dot`.
    """
    check_choice("format", format, SPARSE_MODES)
    check_array("a", a)
    check_shape("a", a, "...", "M", "K")
    check_shape("b", b.mask, "...", "N", "G", why=" of masks")
    shapes = {(each.m, each.k, each.n): each.name for each in SPARSE_MODES[format].sparse_shapes}
    given = (*a.shape[-2:], b.mask.shape[-2])
    if given not in shapes or b.mask.shape[-1] * SPARSE_GROUP != a.shape[-1]:
        known = one_of(shapes.values())
        raise ValueError(f"a and b must make a shape of {known}, not {a.shape} with masks {b.mask.shape}")
    columns = SparseVector(b.slots[..., np.newaxis, :, :, :], b.mask[..., np.newaxis, :, :])
    return sparse_dot(a[..., np.newaxis, :], columns, acc, format=format, overfull=overfull, **options)


# Products of whole operand registers: element-wise, with one element for all lanes, convolutions, complex.
#
# Ref: llvm-aie, intrinsics headers of aie2ps, for the shapes and the negation masks; FIM43-Redeye/xdna-emu for the order of the
# elements, by the rule of first-generation AIE2.


ELEMENTWISE = tuple(name for name, mode in INTEGER_MODES.items() if mode.elementwise)
CONVOLVING = tuple(name for name, mode in INTEGER_MODES.items() if mode.convolutions)


@checked
def elementwise(
    a: np.ndarray,
    b: np.ndarray,
    acc1: np.ndarray | None = None,
    acc2: np.ndarray | None = None,
    *,
    mode: str,
    **options: Any,
) -> np.ndarray:
    """Multiply integer registers lane by lane: lane c adds ``A[c] * B[c] + A[lanes + c] * B[lanes + c] + ...``.

    Parameters
    ----------
    a : integers [..., lanes * depth]: 64 or 128 in "int8", 64 in "int16" and "int16_64".
    b : integers as `a`, or [..., 1]: one element for all.
    acc1, acc2 : integers [..., lanes]; None if absent.
    mode : "int8", "int16" (64 lanes) or "int16_64" (32 lanes). Floats are `fused_dot` with one product a lane.
    options : options of `integer_dot`.

    Returns
    -------
    int64 [..., lanes].

    Raises
    ------
    TypeError, ValueError : another mode or shape; as `integer_dot`.
    """
    row = INTEGER_MODES[check_choice("mode", mode, ELEMENTWISE)]
    for name, array in (("a", a), ("b", b)):
        check_array(name, array)
    sizes = {lanes * depth: lanes for lanes, depth in row.elementwise}
    if a.ndim < 1 or a.shape[-1] not in sizes:
        raise ValueError(f"a must have shape [..., N] with N of {one_of(sizes)} in mode {mode!r}, not {a.shape}")
    lanes = sizes[a.shape[-1]]
    if b.ndim < 1 or b.shape[-1] != 1:
        check_shape("b", b, "...", a.shape[-1], why=" as a, or [..., 1]")
    whole = np.broadcast_to(b, (*b.shape[:-1], a.shape[-1]))
    x, y = (in_groups(each, lanes).swapaxes(-1, -2) for each in (a, whole))
    return integer_dot(x, y, acc1, acc2, mode=mode, **options)


@checked
def convolve(
    a: np.ndarray,
    b: np.ndarray,
    acc1: np.ndarray | None = None,
    acc2: np.ndarray | None = None,
    *,
    mode: str,
    shape: str,
    **options: Any,
) -> np.ndarray:
    """Convolve integer registers: lane ``n * x + c`` adds ``sum(A[n * (x + u) + c] * B[n * u + c])`` over taps u.

    Parameters
    ----------
    a : integers [..., 128] in "int8", [..., 64] in "int16_64": the data, a register of 1024 bits.
    b : integers [..., 64] or [..., 32]: the taps, 512 bits. Elements beyond the shape's do not count.
    acc1, acc2 : integers [..., outputs * channels]; None if absent.
    mode : "int8" or "int16_64".
    shape : outputs x taps with n channels, which are innermost: "64x8" or "8x8_8ch", "32x4" or "4x4_8ch".
    options : options of `integer_dot`.

    Returns
    -------
    int64 [..., outputs * channels].

    Raises
    ------
    TypeError, ValueError : another mode or shape; as `integer_dot`.
    """
    row = INTEGER_MODES[check_choice("mode", mode, CONVOLVING)]
    native = {each.name: each for each in row.convolutions}
    own = native[check_choice("shape", shape, native)]
    for name, array, size in (("a", a, 2 * VECTOR_BITS // row.a_bits), ("b", b, VECTOR_BITS // row.b_bits)):
        check_array(name, array)
        check_shape(name, array, "...", size, why=f" in mode {mode!r}")
    x, u, c = np.ogrid[: own.outputs, : own.taps, : own.channels]
    data, taps = (own.channels * (x + u) + c, own.channels * u + c)
    # [outputs, taps, channels] as lanes and their products.
    operands = (array[..., np.broadcast_to(index, data.shape)] for array, index in ((a, data), (b, taps)))
    left, right = (
        each.swapaxes(-1, -2).reshape(*each.shape[:-3], own.outputs * own.channels, own.taps) for each in operands
    )
    return integer_dot(left, right, acc1, acc2, mode=mode, **options)


@checked
def complex_dot(
    a: np.ndarray,
    b: np.ndarray,
    acc1: np.ndarray | None = None,
    acc2: np.ndarray | None = None,
    *,
    mode: str,
    negate: int = 0x0A,
    **options: Any,
) -> np.ndarray:
    """Multiply complex registers: lane c adds ``A[c] * B[c]``, in "cint16" also ``A[16 + c] * B[16 + c]``.

    Parameters
    ----------
    a, b : integers [..., N, 2], real then imaginary part, signed, with N of 32 in "cint16", 16 in "cint32x16"; b also
        [..., 1, 2], one number for all.
    acc1, acc2 : integers [..., 16, 2] of 64 bits; None if absent.
    mode : "cint16", or "cint32x16" with `a` of 32 bits and `b` of 16.
    negate : bits 2k, 2k + 1, 4 + 2k and 5 + 2k turn re*re, im*im, re*im and im*re of product k. 0x0A multiplies plainly, 0xA0
        conjugates a, 0x50 b, 0xFA both; 0x9C and 0xC6 are butterflies.
    options : options of `integer_dot` but for the signs of its operands.

    Returns
    -------
    int64 [..., 16, 2].

    Raises
    ------
    TypeError, ValueError : another mode, shape or dtype; in "cint32x16" bits of k = 1 that differ from those of k = 0.
    """
    row = COMPLEX_MODES[check_choice("mode", mode, COMPLEX_MODES)]
    mask = integer("negate", negate, range(256))
    if row.complex_depth == 1 and (mask & 0x33) != mask >> 2 & 0x33:
        raise ValueError(f"negate must have equal bits for both products in mode {mode!r}, not {mask:#04x}")
    numbers = COMPLEX_LANES * row.complex_depth
    for name, array, bits in (("a", a, row.a_bits), ("b", b, row.b_bits)):
        check_integers(name, array, bits, signed=True)
        if name == "a" or array.ndim < 2 or array.shape[-2] != 1:
            check_shape(name, array, "...", numbers, 2, why=f" in mode {mode!r}")
    check_accumulators(row, acc1, acc2, a=(*a.shape[:-2], COMPLEX_LANES, 2), b=(*b.shape[:-2], 1, 1))
    whole = np.broadcast_to(b, (*b.shape[:-2], numbers, 2))
    # [..., 2, k, lane]: parts, products, lanes.
    x, y = (each.astype(np.int64).reshape(*each.shape[:-2], row.complex_depth, COMPLEX_LANES, 2) for each in (a, whole))
    sign = (1 - 2 * (mask >> np.arange(8) & 1)).reshape(2, 2, 2)[:, : row.complex_depth, np.newaxis]
    real = sign[0, ..., 0] * x[..., 0] * y[..., 0] + sign[0, ..., 1] * x[..., 1] * y[..., 1]
    imaginary = sign[1, ..., 0] * x[..., 0] * y[..., 1] + sign[1, ..., 1] * x[..., 1] * y[..., 0]
    products = np.stack([real.sum(axis=-2), imaginary.sum(axis=-2)], axis=-1)
    return add_integers(products, acc1, acc2, row=row, **options)
