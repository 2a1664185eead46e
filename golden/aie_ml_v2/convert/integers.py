"""Integer lanes: multiply-accumulate, shift-round-saturate, upshift.

Ref: AM027, Table 7 and "Fixed-Point SRS and UPS Conversions"; llvm-aie for control bits; UG1583 for codes.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import (
    PACK_BITS,
    SRS_MODES,
    SRS_SHIFTS,
    UPS_MODES,
    UPS_SHIFTS,
    RoundingCode,
    Saturation,
)
from bitpath.golden.aie_ml_v2.declarations.modes import INTEGER_MODES, Mode
from bitpath.golden.arrays.arguments import (
    check_array,
    check_broadcast,
    check_choice,
    check_integers,
    check_shape,
    checked,
    integer,
    member,
    one_of,
)
from bitpath.golden.arrays.fp32 import shift_round


def wrap(values: np.ndarray, bits: int, signed: bool = True) -> np.ndarray:
    """Return the numbers that the low `bits` bits of int64 values are."""
    if bits == 64:
        return values
    low = values & (1 << bits) - 1
    return low - ((low >> bits - 1) << bits) if signed else low


@checked
def integer_dot(
    a: np.ndarray,
    b: np.ndarray,
    acc1: np.ndarray | None = None,
    acc2: np.ndarray | None = None,
    *,
    mode: str,
    signed_a: bool = True,
    signed_b: bool = True,
    shift16: bool = False,
    negate_products: bool = False,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
    zero_acc1: bool = False,
) -> np.ndarray:
    """Add the products of one lane and two accumulators, exactly but for the lane's width, in which they wrap.

    Parameters
    ----------
    a, b : integers [..., K] in the mode's ranges, K the mode's depth or that of its element-wise products or convolutions.
    acc1, acc2 : integers [...] of the lane's width; None if absent.
    mode : "int8", "int16" (32-bit lanes), "int16_64" or "int32x16".
    signed_a, signed_b : True if an operand is signed.
    shift16 : multiply acc1 by 2**16 first.
    negate_products, negate_acc1, negate_acc2 : signs, turned before the sum.
    zero_acc1 : leave acc1 out.

    Returns
    -------
    int64 [...].

    Raises
    ------
    TypeError, ValueError : another mode, dtype, shape, or integers out of range.
    """
    check_choice("mode", mode, INTEGER_MODES)
    row = INTEGER_MODES[mode]
    depths = {row.depth, *(depth for _, depth in row.elementwise), *(each.taps for each in row.convolutions)}
    check_integers("a", a, row.a_bits, signed_a)
    check_integers("b", b, row.b_bits, signed_b)
    if a.ndim < 1 or a.shape[-1] not in depths:
        raise ValueError(f"a must have shape [..., K] with K of {one_of(sorted(depths))}, not {a.shape}")
    check_shape("b", b, "...", a.shape[-1], why=" as a")
    check_accumulators(row, acc1, acc2, a=a.shape[:-1], b=b.shape[:-1])
    # int64 wraps like the widest lanes: nothing is lost that a lane would keep.
    products = np.einsum("...k,...k->...", a.astype(np.int64), b.astype(np.int64))
    return add_integers(
        np.asarray(products),
        acc1,
        acc2,
        row=row,
        shift16=shift16,
        negate_products=negate_products,
        negate_acc1=negate_acc1,
        negate_acc2=negate_acc2,
        zero_acc1=zero_acc1,
    )


def check_accumulators(row: Mode, acc1: np.ndarray | None, acc2: np.ndarray | None, **shapes: tuple[int, ...]) -> None:
    """Raise unless accumulators fit in the lanes of a mode and broadcast with the operands' leading axes."""
    for name, acc in (("acc1", acc1), ("acc2", acc2)):
        if acc is not None:
            check_integers(name, acc, row.lane_bits, signed=True)
            shapes[name] = acc.shape
    check_broadcast(**shapes)


@checked
def add_integers(
    products: np.ndarray,
    acc1: np.ndarray | None,
    acc2: np.ndarray | None,
    *,
    row: Mode,
    shift16: bool = False,
    negate_products: bool = False,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
    zero_acc1: bool = False,
) -> np.ndarray:
    """Add sums of products, int64 modulo 2**64, and two accumulators in the lanes of a mode; options of `integer_dot`."""
    total = products[..., np.newaxis]  # numpy warns of overflow where there is no axis
    total = -total if negate_products else total
    if acc1 is not None and not zero_acc1:
        first = acc1.astype(np.int64)[..., np.newaxis] << (16 if shift16 else 0)
        total = total - first if negate_acc1 else total + first
    if acc2 is not None:
        second = acc2.astype(np.int64)[..., np.newaxis]
        total = total - second if negate_acc2 else total + second
    return wrap(total, row.lane_bits)[..., 0]


@checked
def srs(
    acc: np.ndarray,
    shift: int,
    *,
    acc_bits: int = 32,
    out_bits: int,
    rounding: RoundingCode | int = RoundingCode.FLOOR,
    saturate: Saturation | int = Saturation.NONE,
    signed: bool = True,
) -> np.ndarray:
    """Divide accumulator lanes by ``2**shift``, round, and bring them into a vector's lanes.

    Parameters
    ----------
    acc : integers of any shape that fit `acc_bits`.
    shift : -4 to 63; a negative one multiplies, exactly.
    acc_bits, out_bits : 32 -> 8 or 16, 64 -> 16 or 32.
    rounding : crRnd code.
    saturate : crSat code, 0, 1 or 3.
    signed : True if the result is signed.

    Returns
    -------
    int64 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype, or something out of range.
    """
    acc_bits = check_choice("acc_bits", acc_bits, SRS_MODES)
    out_bits = check_choice("out_bits", out_bits, SRS_MODES[acc_bits])
    shift = integer("shift", shift, SRS_SHIFTS)
    code, saturation = member("rounding", rounding, RoundingCode), member("saturate", saturate, Saturation)
    check_integers("acc", acc, acc_bits, signed=True)
    values = acc.astype(np.int64)
    lowest, highest = limits(out_bits, saturation, signed)
    if shift >= 0:
        values = shift_round(values, shift, code.mode)
    elif saturation is not Saturation.NONE:
        # Beyond the limits before the shift: 64 bits would not hold it after.
        values = np.clip(values, -(-lowest >> -shift) - 1, (highest >> -shift) + 1) << -shift
    else:
        values = values << -shift
    fitting = wrap(values, out_bits, signed) if saturation is Saturation.NONE else np.clip(values, lowest, highest)
    return np.asarray(fitting)


@checked
def ups(
    x: np.ndarray,
    shift: int,
    *,
    acc_bits: int = 32,
    saturate: Saturation | int = Saturation.NONE,
    signed: bool = True,
) -> np.ndarray:
    """Multiply a vector's lanes by ``2**shift`` into accumulator lanes.

    Parameters
    ----------
    x : integers of any shape that fit 16 bits for 32-bit accumulators, 32 bits for 64.
    shift : 0 to 63; nothing is left in 32-bit lanes from 32 on.
    acc_bits : 32 or 64.
    saturate : crSat code, 0, 1 or 3; lanes are saturated so that the shift does not overflow, else the high bits are lost.
    signed : True if `x` is signed; accumulators always are.

    Returns
    -------
    int64 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype, or something out of range.
    """
    acc_bits = check_choice("acc_bits", acc_bits, UPS_MODES)
    shift = integer("shift", shift, UPS_SHIFTS)
    saturation = member("saturate", saturate, Saturation)
    check_integers("x", x, max(UPS_MODES[acc_bits]), signed)
    values = x.astype(np.int64)
    if saturation is not Saturation.NONE:
        lowest, highest = (limit >> shift for limit in limits(acc_bits, Saturation.SATURATE, signed=True))
        values = np.clip(values, -highest if saturation is Saturation.SYMMETRIC else lowest, highest)
    return np.asarray(wrap(values << shift, acc_bits))


def limits(bits: int, saturation: Saturation, signed: bool) -> tuple[int, int]:
    """Return the smallest and the largest number that saturation gives."""
    if not signed:
        return 0, (1 << bits) - 1
    highest = (1 << bits - 1) - 1
    return -highest if saturation is Saturation.SYMMETRIC else -highest - 1, highest


# PACK and UNPACK: elements of a vector at half and at twice their width.
#
# Ref: llvm-aie for the widths and for PACK's use of crSat; what PACK does to unsigned elements is chosen
# (`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`).


@checked
def unpack4(x: np.ndarray, *, signed: bool = True) -> np.ndarray:
    """Return two elements of 4 bits for each byte, the low nibble first.

    Parameters
    ----------
    x : uint8 [..., N].
    signed : True for elements from -8 to 7, False for 0 to 15.

    Returns
    -------
    int8 [..., 2 * N].

    Raises
    ------
    TypeError, ValueError : another dtype, or no axis.
    """
    check_array("x", x, np.uint8)
    if x.ndim < 1:
        raise ValueError("x must have shape [..., N], not ()")
    nibbles = np.stack([x & 15, x >> 4], axis=-1).astype(np.int8)
    return wrap(nibbles, 4, signed).reshape(*x.shape[:-1], 2 * x.shape[-1])


@checked
def pack(x: np.ndarray, *, bits: int, saturate: Saturation | int = Saturation.NONE, signed: bool = True) -> np.ndarray:
    """Bring elements into half their width, without rounding.

    Parameters
    ----------
    x : integers of any shape that fit ``2 * bits`` bits.
    bits : 4 or 8, of the result.
    saturate : crSat code: 0 keeps the low bits, 1 saturates, 3 saturates symmetrically; unsigned elements have one limit only.
    signed : True if elements and result are signed.

    Returns
    -------
    int64 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype or width, or integers out of range.
    """
    bits = check_choice("bits", bits, PACK_BITS)
    saturation = member("saturate", saturate, Saturation)
    check_integers("x", x, 2 * bits, signed)
    values = x.astype(np.int64)
    if saturation is Saturation.NONE:
        return np.asarray(wrap(values, bits, signed))
    return np.asarray(np.clip(values, *limits(bits, saturation, signed)))
