"""Words of Dst and lanes: the conversions of SFPLOAD and SFPSTORE, and both instructions on Dst's bits.

Words are int64 and in the logical order: sign, exponent, fraction. Opaque words of 16 bits are in the register's order, which is
sign, fraction, exponent. Modes are the numbers of `StoreMode`.

Ref: tt-isa-documentation, SFPLOAD and SFPSTORE: of Wormhole 1392d23 and 545c98a, of Blackhole 0f3f6b7; ttsim v1.10.0 for rows that
ZEROACC has left undefined.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.sfpu import LANE_CONFIG, LaneConfig, StoreMode
from bitpath.golden.tensix.sfpu.lanes_loop import becomes_template, enabled

SIGN, EXPONENT, FRACTION = 1 << 31, 0x7F800000, 0x7FFFFF
REBIAS = 127 - 15
INTEGER_EXPONENT = 16 << 10
"""Exponent field of an integer in a 16-bit Dst."""
FP16_INFINITY, BLOCK_STORE, BLOCK_LOAD, ODD_LOAD, ODD_STORE = (
    int(LaneConfig[each])
    for each in (
        "ENABLE_FP16A_INF",
        "BLOCK_DEST_WR_FROM_SFPU",
        "BLOCK_SFPU_RD_FROM_DEST",
        "DEST_RD_COL_EXCHANGE",
        "DEST_WR_COL_EXCHANGE",
    )
)
CAPTURE = int(LaneConfig.ENABLE_DEST_INDEX | LaneConfig.CAPTURE_DEFAULT_DEST_INDEX)
"""With both bits set, a load to LReg 0 to 3 also writes the datum's place to the LReg 4 further."""
LOW_ROWS = 8
"""Rows from a 32-bit word's upper half to its lower half."""
LAST_COLUMN = 15


@piece
def twos_complement(word):
    """Return sign and magnitude as two's complement; -0 becomes 0."""
    return -(word & SIGN - 1) & 0xFFFFFFFF if word & SIGN else word


@piece
def sign_magnitude(word):
    """Return two's complement as sign and magnitude; the least integer becomes -0."""
    return SIGN | -word & SIGN - 1 if word & SIGN else word


@piece
def flushed(word):
    """Return an FP32 code, a denormal as a zero of its sign."""
    return word if word & EXPONENT else word & SIGN


@piece
def loaded(word, old, mode, fp16_infinity, converts):
    """Return the lane after SFPLOAD of a word; `converts` is `numerics.sfpu_sign_magnitude`."""
    sign = (word >> 15) << 31
    if mode == StoreMode.FP16:
        if fp16_infinity and word & 0x7FFF == 0x7FFF:
            return sign | EXPONENT
        exponent = word >> 10 & 31
        return sign | (exponent + REBIAS if exponent else 0) << 23 | (word & 1023) << 13
    if mode in (StoreMode.BF16, StoreMode.HI16):
        return word << 16
    if mode == StoreMode.INT8:
        return sign | word & (0x7F if converts else 0xFF)
    if mode == StoreMode.INT16:
        return sign | word & 0x7FFF
    if mode == StoreMode.ZERO:
        return 0
    if mode == StoreMode.INT32_SM:
        return twos_complement(word) if converts else word
    if mode == StoreMode.INT8_COMP:
        return twos_complement(sign | word & 1023) if converts else sign | word & 1023
    if mode == StoreMode.LO16_ONLY:
        return old & 0xFFFF0000 | word
    if mode == StoreMode.HI16_ONLY:
        return word << 16 | old & 0xFFFF
    return word


@piece
def stored(lane, mode, flushes, converts):
    """Return the word that SFPSTORE makes of a lane; `flushes` and `converts` are `numerics.sfpstore_flush` and
    `sfpu_sign_magnitude`."""
    sign = lane >> 31 << 15
    if mode == StoreMode.FP16:
        exponent = (lane >> 23 & 255) - REBIAS
        return sign | (0 if exponent <= 0 else 0x7FFF if exponent > 31 else exponent << 10 | lane >> 13 & 1023)
    if mode == StoreMode.BF16:
        return flushed(lane) >> 16
    if mode == StoreMode.FP32:
        return flushed(lane) if flushes else lane
    if mode == StoreMode.INT32_SM:
        return sign_magnitude(lane) if converts else lane
    if mode in (StoreMode.INT8, StoreMode.INT8_COMP):
        if mode == StoreMode.INT8_COMP and converts:
            lane = sign_magnitude(lane)
        return sign | INTEGER_EXPONENT | lane & 1023
    if mode == StoreMode.INT16:
        return sign | lane & 0x7FFF
    if mode in (StoreMode.UINT16, StoreMode.LO16_ONLY):
        return lane & 0xFFFF
    if mode == StoreMode.HI16_ONLY:
        return lane >> 16
    if mode == StoreMode.HI16:
        return logical32(lane)
    if mode == StoreMode.LO16:
        return logical32((lane & 0xFFFF) << 16 | lane >> 16)
    if mode == StoreMode.ZERO:
        return 0
    return lane


@piece
def logical32(bits):
    """Return 32 bits of Dst, s | m7 | e8 | m16, as s | e8 | m23."""
    return bits & 0x8000FFFF | (bits >> 16 & 255) << 23 | (bits >> 24 & 127) << 16


@piece
def physical32(word):
    """Return s | e8 | m23 as the bits of Dst."""
    return word & 0x8000FFFF | (word >> 23 & 255) << 16 | (word >> 16 & 127) << 24


@piece
def logical16(bits, mode):
    """Return 16 bits of Dst as the word that a mode reads."""
    if mode == StoreMode.BF16:
        return bits & 0x8000 | (bits & 255) << 7 | bits >> 8 & 127
    if mode in (StoreMode.FP16, StoreMode.INT8, StoreMode.INT8_COMP):
        return bits & 0x8000 | (bits & 31) << 10 | bits >> 5 & 1023
    return bits


@piece
def physical16(word, mode):
    """Return the word that a mode writes as 16 bits of Dst."""
    if mode == StoreMode.BF16:
        return word & 0x8000 | word >> 7 & 255 | (word & 127) << 8
    if mode in (StoreMode.FP16, StoreMode.INT8, StoreMode.INT8_COMP):
        return word & 0x8000 | word >> 10 & 31 | (word & 1023) << 5
    return word


@kernel
def load_words(dst_words, lanes, mode, fp16_infinity, converts, result):
    """Write lanes after SFPLOAD, uint32 [n], of words and of the lanes before."""
    for i in range(dst_words.size):
        result[i] = loaded(np.int64(dst_words[i]), np.int64(lanes[i]), mode, fp16_infinity, converts)


@kernel
def store_words(lanes, mode, flushes, converts, result):
    """Write the words of SFPSTORE, uint32 [n], of lanes."""
    for i in range(lanes.size):
        result[i] = stored(np.int64(lanes[i]), mode, flushes, converts)


@kernel
def load(words, bits, dst, defined, rows, first, odd, mode, wide, every, vd, converts):
    """Execute SFPLOAD.

    Parameters
    ----------
    dst, defined : uint16 [units, rows, 16] in the register's order, and bool [rows]; an undefined row reads as 0.
    rows, first : storage rows of the lanes' four rows, and the number of the first of them in the address.
    odd, wide, every : odd columns; words of 32 bits; disabled lanes too.
    """
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            config = words[LANE_CONFIG, unit, lane]
            if config & BLOCK_LOAD or not (every or enabled(words, bits, unit, lane)):
                continue
            row, column = rows[lane >> 3], 2 * (lane & 7)
            if odd or words[LANE_CONFIG, unit, lane & 7] & ODD_LOAD:
                column += 1
            word = np.int64(0)
            if defined[row]:
                word = np.int64(dst[unit, row, column])
                word = logical32(word << 16 | dst[unit, row + LOW_ROWS, column]) if wide else logical16(word, mode)
            old = np.int64(words[vd, unit, lane])
            words[vd, unit, lane] = loaded(word, old, mode, config & FP16_INFINITY, converts)
            if vd < 4 and config & CAPTURE == CAPTURE:
                words[vd + 4, unit, lane] = (first + (lane >> 3)) << 4 | column


@kernel
def store(words, bits, dst, defined, rows, odd, mode, wide, every, vd, flushes, converts, backdoor):
    """Execute SFPSTORE; parameters as of `load`. A row becomes defined when its last column is written."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor) or words[LANE_CONFIG, unit, lane] & BLOCK_STORE:
                continue
            if not (every or enabled(words, bits, unit, lane)):
                continue
            row, column = rows[lane >> 3], 2 * (lane & 7)
            if odd or words[LANE_CONFIG, unit, lane & 7] & ODD_STORE:
                column += 1
            word = stored(np.int64(words[vd, unit, lane]), mode, flushes, converts)
            if wide:
                word = physical32(word)
                dst[unit, row, column] = word >> 16
                dst[unit, row + LOW_ROWS, column] = word & 0xFFFF
            else:
                dst[unit, row, column] = physical16(word, mode)
            if column == LAST_COLUMN:
                defined[row] = True
