"""SFP_STOCH_RND: FP32 with fewer fraction bits, or floats and shifted integers as bounded integers.

It rounds to nearest, stochastically or to zero, as `rounding_loop` says.

Ref: tt-isa-documentation, SFPSTOCHRND and its three pages of flavours, commit 585749d.
"""

from enum import Enum, IntEnum

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_broadcast, checked, integer, member
from bitpath.golden.arrays.parallel import owned
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics
from bitpath.golden.tensix.operands.arguments import numbered_member, numerics_or_default


class StochasticMode(IntEnum):
    """Results of SFP_STOCH_RND; INT32_TO_UINT8 and INT32_TO_INT8 take integers, the others FP32."""

    FP16A = 0  # FP32 with 10 fraction bits
    FP16B = 1  # FP32 with 7
    UINT8 = 2
    INT8 = 3
    INT32_TO_UINT8 = 4
    INT32_TO_INT8 = 5
    UINT16 = 6
    INT16 = 7


class StochasticRounding(Enum):
    """Rounding modes of SFP_STOCH_RND, in the order of their numbers."""

    NEAREST = "nearest"
    STOCHASTIC = "stochastic"
    ZERO = "zero"


LARGEST = {
    StochasticMode.UINT8: (1 << 8) - 1,
    StochasticMode.INT8: (1 << 7) - 1,
    StochasticMode.INT32_TO_UINT8: (1 << 8) - 1,
    StochasticMode.INT32_TO_INT8: (1 << 7) - 1,
    StochasticMode.UINT16: (1 << 16) - 1,
    StochasticMode.INT16: (1 << 15) - 1,
}
"""Magnitudes to which integers saturate."""
SIGNED = (StochasticMode.INT8, StochasticMode.INT32_TO_INT8, StochasticMode.INT16)
FROM_INTEGER = (StochasticMode.INT32_TO_UINT8, StochasticMode.INT32_TO_INT8)
"""Modes that shift a sign and magnitude."""
SHIFTS = range(32)


@checked
def sfp_stoch_rnd(
    x: np.ndarray,
    mode: StochasticMode | int | str,
    *,
    rounding: str | StochasticRounding = "nearest",
    bits: np.ndarray | None = None,
    shift: np.ndarray | int = 0,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Round lanes as SFP_STOCH_RND does.

    Parameters
    ----------
    x : uint32 FP32 codes of any shape; for the modes of `FROM_INTEGER`, integers of sign and 31 magnitude bits.
    mode : a `StochasticMode`, its number or its name. FP16A and FP16B keep 10 and 7 fraction bits: an exponent of 0 gives +0,
        and NaN the infinity of its sign. Integers are sign and magnitude; they saturate, and the unsigned take the magnitude.
    rounding : "nearest", "stochastic", or "zero" where the chip has it.
    bits : uint32 random bits for "stochastic"; the low 23 count; `Prng.next` gives those of 32 lanes.
    shift : distance by which an integer's magnitude is shifted right before it is rounded: 0 to 31, or uint32 whose low 5 bits
        count; 0 in the other modes.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the common shape of `x`, `bits` and `shift`.

    Raises
    ------
    TypeError, ValueError : other dtypes, modes, roundings or shifts; shapes that do not broadcast; `bits` given or missing.
    """
    from bitpath.golden.tensix.sfpu.rounding_loop import round_words

    numerics = numerics_or_default(numerics, chip)
    mode, rounding = numbered_member("mode", mode, StochasticMode), member("rounding", rounding, StochasticRounding)
    check_array("x", x, np.uint32)
    if (bits is not None) != (rounding is StochasticRounding.STOCHASTIC):
        given = "None" if bits is None else "an array"
        raise ValueError(f"bits must be given with rounding 'stochastic' alone, not {given} with {rounding.value!r}")
    if rounding is StochasticRounding.ZERO and not numerics.sfpu_round_to_zero:
        raise ValueError("rounding must be 'nearest' or 'stochastic' without sfpu_round_to_zero, not 'zero'")
    shifts = _shifts(shift, mode)
    if bits is None:
        bits = np.zeros(x.shape, np.uint32)
    check_array("bits", bits, np.uint32)
    shape = check_broadcast(x=x.shape, bits=bits.shape, shift=shifts.shape)
    x, bits, shifts = (owned(np.broadcast_to(each, shape)) for each in (x, bits, shifts))
    result = np.empty(shape, np.uint32)
    top_bits = numerics.stochastic_compare is StochasticCompare.TOP_BITS
    number = list(StochasticRounding).index(rounding)
    round_words(x.ravel(), int(mode), number, bits.ravel(), shifts.ravel(), top_bits, result.ravel())
    return result


def _shifts(shift: np.ndarray | int, mode: StochasticMode) -> np.ndarray:
    if isinstance(shift, np.ndarray):
        check_array("shift", shift, np.uint32)
        shifts = shift
    else:
        shifts = np.array(integer("shift", shift, SHIFTS), np.uint32)
    if mode not in FROM_INTEGER and np.any(shift):
        raise ValueError(f"shift must be 0 with mode {mode.name}, not {shift}")
    return shifts
