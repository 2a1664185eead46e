"""SFPLOAD: a word of Dst as a lane's 32 bits, by the instruction's mode.

Ref: tt-isa-documentation 3930471, SFPLOAD of both chips; ttsim v1.10.0.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_broadcast, checked
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_width, numbered_member, numerics_or_default
from bitpath.golden.tensix.vector.modes import StoreMode

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
