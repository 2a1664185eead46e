"""Products of whole operand registers: element-wise, with one element for all lanes, convolutions, complex.

Ref: llvm-aie, intrinsics headers of aie2ps, for the shapes and the negation masks; FIM43-Redeye/xdna-emu for the order of the
elements, by the rule of first-generation AIE2.
"""

from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import add_integers, check_accumulators, integer_dot
from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.modes import COMPLEX_LANES, COMPLEX_MODES, INTEGER_MODES
from bitpath.golden.aie_ml_v2.operands.axes import in_groups
from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_integers,
    check_shape,
    checked,
    integer,
    one_of,
)

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
