"""SFP_STOCH_RND: FP32 lanes with fewer fraction bits, or floats and shifted integers as bounded integers.

It rounds to nearest, stochastically or to zero.

A magnitude whose d discarded bits are D goes up where D >= P >> (23 - d), with 23 random bits P. To nearest, ties away from
zero, is P = 0x400000. To zero is P = 0x7FFFFF, which still rounds a D of all ones up; a D of 0 goes up where the top d bits of P
are 0.

Ref: tt-isa-documentation, SFPSTOCHRND and its three pages of flavours, commit 585749d.
"""

from enum import Enum

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_broadcast, checked, integer, member
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics
from bitpath.golden.tensix.operands.arguments import numbered_member, numerics_or_default
from bitpath.golden.tensix.vector.modes import StochasticMode

RANDOM_BITS = 23
RANDOM_MASK = (1 << RANDOM_BITS) - 1


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
    shift: np.ndarray | int = 0,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Round lanes.

    Parameters
    ----------
    x : uint32 FP32 codes of any shape; of the modes of `FROM_INTEGER`, integers of sign and 31 magnitude bits.
    mode : a `StochasticMode`, its number or its name. FP16A and FP16B keep 10 and 7 fraction bits: an exponent of 0 gives +0,
        and NaN the infinity of its sign. Integers are sign and magnitude; they saturate, and the unsigned take the magnitude.
    rounding : "nearest", "stochastic", or "zero" where the chip has it.
    bits : uint32 random bits of "stochastic", of which the low 23 count; `Prng.next` gives those of 32 lanes.
    shift : bits by which an integer's magnitude goes right before it is rounded, 0 to 31, or uint32 of which the low 5 bits
        count; 0 in the other modes.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the common shape of `x`, `bits` and `shift`.

    Raises
    ------
    TypeError, ValueError : other dtypes, modes, roundings or shifts; shapes that do not broadcast; `bits` given or missing.
    """
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
        random = np.full(x.shape, FIXED_BITS[rounding], np.uint32)
    else:
        check_array("bits", bits, np.uint32)
        random = bits & np.uint32(RANDOM_MASK)
    shape = check_broadcast(x=x.shape, bits=random.shape, shift=shifts.shape)
    x, random = np.broadcast_to(x, shape), np.broadcast_to(random, shape)
    if mode in DISCARDED_BITS:
        return _float(numerics, x, random, DISCARDED_BITS[mode])
    if mode in FROM_INTEGER:
        return _bounded(((x & 0x7FFFFFFF).astype(np.int64) << RANDOM_BITS) >> shifts, x, random, mode)
    return _integer(x, random, mode)


def _shifts(shift: np.ndarray | int, mode: StochasticMode) -> np.ndarray:
    if isinstance(shift, np.ndarray):
        check_array("shift", shift, np.uint32)
        shifts = shift.astype(np.int64) & SHIFTS[-1]
    else:
        shifts = np.array(integer("shift", shift, SHIFTS))
    if mode not in FROM_INTEGER and np.any(shift):
        raise ValueError(f"shift must be 0 with mode {mode.name}, not {shift}")
    return shifts


def _float(numerics: TensixNumerics, x: np.ndarray, random: np.ndarray, count: int) -> np.ndarray:
    exponent, discarded = x >> 23 & 0xFF, x & (1 << count) - 1
    if numerics.stochastic_compare is StochasticCompare.TOP_BITS:
        up = discarded >= random >> RANDOM_BITS - count
    else:
        up = discarded << RANDOM_BITS - count >= random
    rounded = x - discarded + (up.astype(np.uint32) << count)
    return np.where(exponent == 0, np.uint32(0), np.where(exponent == 0xFF, x & 0xFF800000, rounded)).astype(np.uint32)


def _integer(x: np.ndarray, random: np.ndarray, mode: StochasticMode) -> np.ndarray:
    """Round a float in units of 2**-23; below 0.5 it is 0."""
    exponent = (x >> 23 & 0xFF).astype(np.int64)
    shift = np.clip(exponent, HALF_EXPONENT, LARGEST_EXPONENT) - HALF_EXPONENT
    scaled = (x.astype(np.int64) & 0x7FFFFF | 1 << 23) << shift >> 1
    return np.where(exponent < HALF_EXPONENT, np.uint32(0), _bounded(scaled, x, random, mode))


def _bounded(scaled: np.ndarray, x: np.ndarray, random: np.ndarray, mode: StochasticMode) -> np.ndarray:
    """Round a magnitude in units of 2**-23, all of whose fraction is compared with the random bits; take x's sign."""
    magnitude = (scaled >> RANDOM_BITS) + ((scaled & RANDOM_MASK) >= random)
    magnitude = np.minimum(magnitude, LARGEST[mode])
    sign = (x >> 31).astype(np.int64) & (magnitude > 0) & (mode in SIGNED)
    return (sign << 31 | magnitude).astype(np.uint32)
