"""SFP_STOCH_RND: FP32 lanes with fewer fraction bits, or as bounded integers, rounded to nearest, stochastically or to zero.

A magnitude whose d discarded bits are D goes up where D >= P >> (23 - d), with 23 random bits P. To nearest, ties away from
zero, is P = 0x400000. To zero is P = 0x7FFFFF, which still rounds a D of all ones up; a D of 0 goes up where the top d bits of P
are 0.

Ref: tt-isa-documentation, SFPSTOCHRND and its two pages of flavours, commit 585749d.
"""

from enum import Enum, IntEnum

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_broadcast, checked, member, one_of
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics
from bitpath.golden.tensix.operands.arguments import numerics_or_default

RANDOM_BITS = 23
RANDOM_MASK = (1 << RANDOM_BITS) - 1


class StochasticMode(IntEnum):
    """Results of SFP_STOCH_RND by the instruction's mode; those of integers by INT32 input are left out."""

    FP16A = 0  # FP32 with 10 fraction bits
    FP16B = 1  # FP32 with 7
    UINT8 = 2
    INT8 = 3
    UINT16 = 6
    INT16 = 7


class StochasticRounding(Enum):
    """Roundings of SFP_STOCH_RND."""

    NEAREST = "nearest"
    STOCHASTIC = "stochastic"
    ZERO = "zero"


FIXED_BITS = {StochasticRounding.NEAREST: 0x400000, StochasticRounding.ZERO: RANDOM_MASK}
"""P of the roundings without random bits."""
DISCARDED_BITS = {StochasticMode.FP16A: 13, StochasticMode.FP16B: 16}
LARGEST = {
    StochasticMode.UINT8: (1 << 8) - 1,
    StochasticMode.INT8: (1 << 7) - 1,
    StochasticMode.UINT16: (1 << 16) - 1,
    StochasticMode.INT16: (1 << 15) - 1,
}
"""Magnitudes to which integers saturate."""
SIGNED = (StochasticMode.INT8, StochasticMode.INT16)
HALF_EXPONENT = 126
"""Exponent field of 0.5; numbers below it become 0 in every rounding."""
LARGEST_EXPONENT = 127 + 16
"""Exponent field from which on an integer saturates."""


@checked
def sfp_stoch_rnd(
    x: np.ndarray,
    mode: StochasticMode | int | str,
    *,
    rounding: str | StochasticRounding = "nearest",
    bits: np.ndarray | None = None,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Round lanes.

    Parameters
    ----------
    x : uint32 FP32 codes of any shape.
    mode : a `StochasticMode`, its number or its name. FP16A and FP16B keep 10 and 7 fraction bits: an exponent of 0 gives +0,
        and NaN the infinity of its sign. Integers are sign and magnitude; they saturate, and the unsigned take the magnitude.
    rounding : "nearest", "stochastic", or "zero" where the chip has it.
    bits : uint32 random bits of "stochastic", of which the low 23 count; `Prng.next` gives those of 32 lanes.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the common shape of `x` and `bits`.

    Raises
    ------
    TypeError, ValueError : other dtypes, modes or roundings; shapes that do not broadcast; `bits` given or missing.
    """
    numerics = numerics_or_default(numerics, chip)
    mode, rounding = _mode(mode), member("rounding", rounding, StochasticRounding)
    check_array("x", x, np.uint32)
    if (bits is not None) != (rounding is StochasticRounding.STOCHASTIC):
        given = "None" if bits is None else "an array"
        raise ValueError(f"bits must be given with rounding 'stochastic' alone, not {given} with {rounding.value!r}")
    if rounding is StochasticRounding.ZERO and not numerics.sfpu_round_to_zero:
        raise ValueError("rounding must be 'nearest' or 'stochastic' without sfpu_round_to_zero, not 'zero'")
    if bits is None:
        random = np.full(x.shape, FIXED_BITS[rounding], np.uint32)
    else:
        check_array("bits", bits, np.uint32)
        random = np.broadcast_to(bits & np.uint32(RANDOM_MASK), check_broadcast(x=x.shape, bits=bits.shape))
    x = np.broadcast_to(x, random.shape)
    return _float(numerics, x, random, DISCARDED_BITS[mode]) if mode in DISCARDED_BITS else _integer(x, random, mode)


def _mode(mode: StochasticMode | int | str) -> StochasticMode:
    try:
        return StochasticMode[mode] if isinstance(mode, str) else StochasticMode(mode)
    except (KeyError, ValueError):
        known = one_of(f"{each.name} ({each.value})" for each in StochasticMode)
        raise ValueError(f"mode must be {known}, not {mode!r}") from None


def _float(numerics: TensixNumerics, x: np.ndarray, random: np.ndarray, count: int) -> np.ndarray:
    exponent, discarded = x >> 23 & 0xFF, x & (1 << count) - 1
    if numerics.stochastic_compare is StochasticCompare.TOP_BITS:
        up = discarded >= random >> RANDOM_BITS - count
    else:
        up = discarded << RANDOM_BITS - count >= random
    rounded = x - discarded + (up.astype(np.uint32) << count)
    return np.where(exponent == 0, np.uint32(0), np.where(exponent == 0xFF, x & 0xFF800000, rounded)).astype(np.uint32)


def _integer(x: np.ndarray, random: np.ndarray, mode: StochasticMode) -> np.ndarray:
    """Round the number in units of 2**-23; all 23 random bits are compared with the fraction."""
    exponent = (x >> 23 & 0xFF).astype(np.int64)
    shift = np.clip(exponent, HALF_EXPONENT, LARGEST_EXPONENT) - HALF_EXPONENT
    scaled = (x.astype(np.int64) & 0x7FFFFF | 1 << 23) << shift >> 1
    magnitude = (scaled >> RANDOM_BITS) + ((scaled & RANDOM_MASK) >= random)
    magnitude = np.where(exponent < HALF_EXPONENT, 0, np.minimum(magnitude, LARGEST[mode]))
    sign = (x >> 31).astype(np.int64) & (magnitude > 0) & (mode in SIGNED)
    return (sign << 31 | magnitude).astype(np.uint32)
