"""The Vector unit's lanes: SFPLOAD, SFPSTORE and SFP_STOCH_RND, with the random numbers that the last one draws."""

from enum import Enum, IntEnum

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_broadcast, checked, integer, member
from bitpath.golden.tensix.declarations.formats import DST32, Chip
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_width, numbered_member, numerics_or_default
from bitpath.golden.tensix.operands.registers import from_physical

# Modes of the Vector unit's instructions, by the numbers of their encodings.
#
# Ref: tt-isa-documentation 3930471, SFPLOAD, SFPSTORE and SFPSTOCHRND of both chips.


class StoreMode(IntEnum):
    """Modes of SFPSTORE and SFPLOAD; SRCB, 0, means FP16, BF16 or FP32 by SrcB's format."""

    FP16 = 1
    BF16 = 2
    FP32 = 3
    INT32 = 4
    INT8 = 5
    UINT16 = 6
    HI16 = 7
    INT16 = 8
    LO16 = 9
    INT32_ALL = 10
    ZERO = 11
    INT32_SM = 12
    INT8_COMP = 13
    LO16_ONLY = 14
    HI16_ONLY = 15


class StochasticMode(IntEnum):
    """Results of SFP_STOCH_RND; INT32_TO_UINT8 and INT32_TO_INT8 are those of integers."""

    FP16A = 0  # FP32 with 10 fraction bits
    FP16B = 1  # FP32 with 7
    UINT8 = 2
    INT8 = 3
    INT32_TO_UINT8 = 4
    INT32_TO_INT8 = 5
    UINT16 = 6
    INT16 = 7


# The Vector unit's random numbers: a 32-bit shift register in each of 32 lanes::
#
#     next = state >> 1, bit 31 = not parity(state & 0x80200003)
#
# Ref: tt-isa-documentation, VectorUnit; ttsim v1.10.0 for the seed.


LANES = 32
TAPS = 0x80200003
"""Bits of the state whose parity is shifted in, negated."""
WARM_UP_STEPS, LANE_STEPS = 32, 2
"""Steps of the seed before the lanes get theirs, and from lane to lane."""


def step(state: np.ndarray) -> np.ndarray:
    """Return the states, uint32, after these."""
    parity = (np.bitwise_count(state & np.uint32(TAPS)) & 1).astype(np.uint32)
    return state >> np.uint32(1) | (parity ^ np.uint32(1)) << np.uint32(31)


class Prng:
    """Random numbers of all lanes.

    A write to PRNG_SEED steps the seed 32 times. Then lanes 31 to 0 take it, each after two more steps.
    """

    def __init__(self, seed: int):
        """Seed the lanes; raise ValueError for a seed of more than 32 bits."""
        value = np.array([integer("seed", seed, range(1 << 32))], np.uint32)
        for _ in range(WARM_UP_STEPS):
            value = step(value)
        states = []
        for _ in range(LANES):
            for _ in range(LANE_STEPS):
                value = step(value)
            states.append(value)
        self._state = np.concatenate(states[::-1])

    def __repr__(self) -> str:
        return f"Prng({self._state.tolist()})"

    @property
    def state(self) -> np.ndarray:
        """The states by lane, uint32 [32]."""
        return self._state.copy()

    def next(self) -> np.ndarray:
        """Step all lanes; return the states before, which an instruction uses: uint32 [32]."""
        before, self._state = self._state, step(self._state)
        return before


# SFPLOAD: a word of Dst as a lane's 32 bits, by the instruction's mode.
#
# Ref: tt-isa-documentation 3930471, SFPLOAD of both chips; ttsim v1.10.0.


WIDE_LOADS = (StoreMode.FP32, StoreMode.INT32, StoreMode.INT32_ALL, StoreMode.INT32_SM)
"""Modes that read 32-bit words; HI16 and LO16 read 16 bits, though SFPSTORE writes 32."""
HALF_LOADS = (StoreMode.LO16_ONLY, StoreMode.HI16_ONLY)
"""Modes that keep the other half of a lane."""
REBIAS = 127 - 15


@checked
def sfpload(
    words: np.ndarray,
    mode: StoreMode | int | str,
    *,
    lanes: np.ndarray | None = None,
    fp16_infinity: bool = False,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Return the lanes of Dst words; the words of lane l are in the place where `sfpstore` writes it.

    ================  =================================================================================
    mode              lane
    ================  =================================================================================
    FP16              FP32; a zero exponent stays zero and the fraction stays
    BF16, HI16        the word above 16 zeros (HI16: *)
    FP32, INT32       the word; so are INT32_ALL, and INT32_SM unless it is made two's complement
    INT8              sign and 7 magnitude bits, or 8, of the FP16 fraction
    INT8_COMP         sign and 10 magnitude bits of it, or their two's complement
    INT16             sign and 15 magnitude bits (*)
    UINT16, LO16      the word below 16 zeros (*)
    LO16_ONLY         the same, with the upper 16 bits of `lanes` (*)
    HI16_ONLY         the word above the lower 16 bits of `lanes` (*)
    ZERO              0
    ================  =================================================================================

    `numerics.sfpu_sign_magnitude` makes INT32_SM and INT8_COMP two's complement and gives INT8 7 bits.

    Parameters
    ----------
    words : uint32 of any shape: logical words of 32 bits for `WIDE_LOADS`, else of 16; those of (*) in the register's order.
    mode : a `StoreMode`, its number or its name.
    lanes : uint32 of the lanes before, for `HALF_LOADS` alone.
    fp16_infinity : FP16's code of all ones becomes an infinity; the lanes' ENABLE_FP16A_INF.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the common shape of `words` and `lanes`.

    Raises
    ------
    TypeError, ValueError : another dtype or mode; words of more bits; `lanes` given or missing; shapes that do not broadcast.
    """
    numerics = numerics_or_default(numerics, chip)
    mode = numbered_member("mode", mode, StoreMode)
    check_array("words", words, np.uint32)
    check_width("words", words, 32 if mode in WIDE_LOADS else 16)
    if (lanes is not None) != (mode in HALF_LOADS):
        given = "None" if lanes is None else "an array"
        raise ValueError(f"lanes must be given with LO16_ONLY and HI16_ONLY alone, not {given} with {mode.name}")
    if lanes is not None:
        check_array("lanes", lanes, np.uint32)
        check_broadcast(words=words.shape, lanes=lanes.shape)
        return lanes & 0xFFFF0000 | words if mode is StoreMode.LO16_ONLY else words << 16 | lanes & 0xFFFF
    match mode:
        case StoreMode.FP16:
            return _from_fp16(words, fp16_infinity)
        case StoreMode.BF16 | StoreMode.HI16:
            return words << 16
        case StoreMode.INT32_SM if numerics.sfpu_sign_magnitude:
            return _twos_complement(words >> 31, words & 0x7FFFFFFF)
        case StoreMode.INT8_COMP if numerics.sfpu_sign_magnitude:
            return _twos_complement(words >> 15, words & 0x3FF)
        case StoreMode.INT8_COMP:
            return words >> 15 << 31 | words & 0x3FF
        case StoreMode.INT8:
            return words >> 15 << 31 | words & (0x7F if numerics.sfpu_sign_magnitude else 0xFF)
        case StoreMode.INT16:
            return words >> 15 << 31 | words & 0x7FFF
        case StoreMode.ZERO:
            return np.zeros_like(words)
    return words.copy()


def _from_fp16(words: np.ndarray, infinity: bool) -> np.ndarray:
    exponent, fraction = words >> 10 & 0x1F, words & 0x3FF
    biased = exponent + REBIAS * (exponent > 0)
    number = biased << 23 | fraction << 13
    if infinity:
        number = np.where(words & 0x7FFF == 0x7FFF, 255 << 23, number)
    return (words >> 15 << 31 | number).astype(np.uint32)


def _twos_complement(sign: np.ndarray, magnitude: np.ndarray) -> np.ndarray:
    return np.where(sign, ~magnitude + np.uint32(1), magnitude)


# SFPSTORE: a lane's 32 bits as a word of Dst, by the instruction's mode.
#
# Ref: tt-isa-documentation 3930471, SFPSTORE of both chips; ttsim v1.10.0 for FP32 denormals on Wormhole.


WIDE_MODES = (
    StoreMode.FP32,
    StoreMode.INT32,
    StoreMode.HI16,
    StoreMode.LO16,
    StoreMode.INT32_ALL,
    StoreMode.INT32_SM,
)
"""Modes that write 32-bit words."""
SIGN, INTEGER_EXPONENT = 1 << 31, 16 << 10


@checked
def sfpstore(
    lanes: np.ndarray,
    mode: StoreMode | int | str,
    *,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Return the Dst words of lanes; lane l goes to row l // 8 of four rows, and to column 2 * (l % 8) or the one after it.

    =================  ================================================================================
    mode               word
    =================  ================================================================================
    FP16               FP16, truncated; exponents too small give a signed zero, too large 0x7FFF
    BF16               the upper 16 bits; denormals give a signed zero
    FP32               the lane; denormals give a signed zero by `numerics.sfpstore_flush`
    INT32, INT32_ALL   the lane
    INT32_SM           the lane, or its two's complement as sign and magnitude
    INT8, INT8_COMP    sign and 10 magnitude bits with the exponent 16; of INT8_COMP perhaps two's complement
    INT16              sign and 15 magnitude bits (*)
    UINT16, LO16_ONLY  the lower 16 bits (*)
    HI16_ONLY          the upper 16 bits (*)
    HI16               the lane as the register holds it, in the logical order
    LO16               the same with both halves exchanged
    ZERO               0
    =================  ================================================================================

    Parameters
    ----------
    lanes : uint32 of any shape.
    mode : a `StoreMode`, its number or its name.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the same shape: logical words of 32 bits for `WIDE_MODES`, else of 16; those of (*) in the register's order.

    Raises
    ------
    TypeError, ValueError : another dtype or mode.
    """
    numerics = numerics_or_default(numerics, chip)
    check_array("lanes", lanes, np.uint32)
    match numbered_member("mode", mode, StoreMode):
        case StoreMode.FP16:
            return _to_fp16(lanes)
        case StoreMode.BF16:
            return _flushed(lanes) >> 16
        case StoreMode.FP32 if numerics.sfpstore_flush:
            return _flushed(lanes)
        case StoreMode.INT32_SM if numerics.sfpu_sign_magnitude:
            return _sign_magnitude(lanes)
        case StoreMode.INT8_COMP if numerics.sfpu_sign_magnitude:
            return _int8(_sign_magnitude(lanes))
        case StoreMode.INT8 | StoreMode.INT8_COMP:
            return _int8(lanes)
        case StoreMode.INT16:
            return lanes >> 31 << 15 | lanes & 0x7FFF
        case StoreMode.UINT16 | StoreMode.LO16_ONLY:
            return lanes & 0xFFFF
        case StoreMode.HI16_ONLY:
            return lanes >> 16
        case StoreMode.HI16:
            return from_physical(lanes, DST32)
        case StoreMode.LO16:
            return from_physical(lanes << 16 | lanes >> 16, DST32)
        case StoreMode.ZERO:
            return np.zeros_like(lanes)
    return lanes.copy()


def _flushed(lanes: np.ndarray) -> np.ndarray:
    return np.where(lanes & 0x7F800000, lanes, lanes & SIGN).astype(np.uint32)


def _to_fp16(lanes: np.ndarray) -> np.ndarray:
    exponent = (lanes >> 23 & 0xFF).astype(np.int64) - REBIAS
    code = np.where(exponent > 31, 0x7FFF, exponent << 10 | lanes >> 13 & 0x3FF)
    return (lanes >> 31 << 15 | np.where(exponent <= 0, 0, code)).astype(np.uint32)


def _sign_magnitude(lanes: np.ndarray) -> np.ndarray:
    """Convert two's complement; the least integer becomes -0."""
    magnitude = np.where(lanes & SIGN, ~lanes + np.uint32(1), lanes)
    return (lanes & SIGN | magnitude & (SIGN - 1)).astype(np.uint32)


def _int8(lanes: np.ndarray) -> np.ndarray:
    return lanes >> 31 << 15 | lanes & 0x3FF | INTEGER_EXPONENT


# SFP_STOCH_RND: FP32 lanes with fewer fraction bits, or floats and shifted integers as bounded integers.
#
# It rounds to nearest, stochastically or to zero.
#
# A magnitude whose d discarded bits are D goes up where D >= P >> (23 - d), with 23 random bits P. To nearest, ties away from
# zero, is P = 0x400000. To zero is P = 0x7FFFFF, which still rounds a D of all ones up; a D of 0 goes up where the top d bits of P
# are 0.
#
# Ref: tt-isa-documentation, SFPSTOCHRND and its three pages of flavours, commit 585749d.


RANDOM_BITS = 23
RANDOM_MASK = (1 << RANDOM_BITS) - 1


class StochasticRounding(Enum):
    """Rounding modes that SFP_STOCH_RND has."""

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
    """Round lanes as SFP_STOCH_RND does.

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
