"""PACK and UNPACK: elements of a vector at half and at twice their width.

Ref: llvm-aie for the widths and for PACK's use of crSat; what PACK does to unsigned elements is chosen
(`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`).
"""

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import limits, wrap
from bitpath.golden.aie_ml_v2.declarations.codes import Saturation
from bitpath.golden.aie_ml_v2.declarations.packing import PACK_BITS
from bitpath.golden.arrays.arguments import check_array, check_choice, check_integers, checked, member


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
