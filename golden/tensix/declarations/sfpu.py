"""The Vector unit: its registers, lane configuration, sub-units, and the tables of its approximations.

Ref: tt-isa-documentation 3930471, LReg, SFPCONFIG, SFPLOADMACRO; of Blackhole 585749d, SFPARECIP and SFPLOADMACRO.
"""

from enum import IntEnum, IntFlag

from bitpath.golden.tensix.declarations.formats import Chip

LANES, COLUMNS = 32, 8
"""Lanes of a register: 4 rows of 8."""
REGISTERS = 17
"""LRegs of a lane: 0 to 7 are general, 8 to 10 and 15 constants; SFPCONFIG writes 11 to 14, and scheduled instructions 16."""
GENERAL = range(8)
PROGRAMMED = range(11, 15)
SCHEDULED = 16
CONSTANTS = {8: 0x3F56594B, 9: 0, 10: 0x3F800000}
"""Constants of all lanes, 0.8373, 0 and 1; LReg 15 is twice the lane's number."""
PROGRAMMED_DEFAULTS = (0xBF800000, 0x3B000000, 0xBF2CC4C7, 0xBEB08FF9)
"""FP32 codes of LReg 11 to 14 after reset and SFPCONFIG with an immediate: -1, 2**-9, -0.67487759, -0.34484843."""
STACK_DEPTH = 8
"""Entries of a lane's stack of flags."""
TEMPLATES = 4
"""Templates, and sequences, of SFPLOADMACRO."""
FIRST_TEMPLATE = 12
"""VD from which on a word becomes a template, unless DISABLE_BACKDOOR_LOAD is set."""
MISC_BITS, CONFIG_BITS = 12, 18


class LaneConfig(IntFlag):
    """Bits of LaneConfig that the Vector unit reads; ROW_MASK is the lowest of four."""

    ENABLE_FP16A_INF = 1 << 0
    DISABLE_BACKDOOR_LOAD = 1 << 1
    ENABLE_DEST_INDEX = 1 << 2
    CAPTURE_DEFAULT_DEST_INDEX = 1 << 3
    BLOCK_DEST_WR_FROM_SFPU = 1 << 4
    BLOCK_SFPU_RD_FROM_DEST = 1 << 5
    DEST_RD_COL_EXCHANGE = 1 << 6
    DEST_WR_COL_EXCHANGE = 1 << 7
    EXCHANGE_SRCB_SRCC = 1 << 8
    ROW_MASK = 1 << 12


class StoreMode(IntEnum):
    """Modes of SFPLOAD and SFPSTORE."""

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


BY_CONFIGURATION = 0
"""Mode number that stands for FP16, BF16 or FP32, as SFPU_Fp32_enabled and SrcB's format decide."""
WIDE_LOADS = (StoreMode.FP32, StoreMode.INT32, StoreMode.INT32_ALL, StoreMode.INT32_SM)
"""Modes in which SFPLOAD reads 32-bit words."""
WIDE_STORES = (*WIDE_LOADS, StoreMode.HI16, StoreMode.LO16)
"""Modes in which SFPSTORE writes 32-bit words."""
HALF_LOADS = (StoreMode.LO16_ONLY, StoreMode.HI16_ONLY)
"""Modes in which SFPLOAD keeps the other half of a lane."""
_BOTH = {"SFPLOADI": (0, 1, 2, 4, 8, 10), "SFPSHFT2": tuple(range(7)), "SFPSWAP": tuple(range(10))}
_FLOAT_SUMS = (0, 4, 8, 12)
MODES: dict[Chip, dict[str, tuple[int, ...]]] = {
    Chip.WORMHOLE: _BOTH
    | dict.fromkeys(("SFPMAD", "SFPADD", "SFPMUL"), _FLOAT_SUMS)
    | {"SFPCAST": (0, 1), "SFPPUSHC": (0,), "SFPSHFT": (0, 1)},
    Chip.BLACKHOLE: _BOTH
    | {"SFPCAST": (0, 1, 2, 3), "SFPMUL24": (0, 1, 4, 5, 8, 9, 12, 13), "SFPSHFT": (0, 1, 2, 3, 5, 7)},
}
"""Modifiers that are neither reserved nor undefined, of instructions that have others; no other instruction has."""


# State of the lanes in the vectorised form: two arrays whose first axis has these places.
#
# ::
#
#     words  uint32 [30, units, 32]   LRegs 0 to 16, PRNG, LaneConfig, LoadMacroConfig, a rotated VC, the stack's depth
#     bits   bool   [19, units, 32]   LaneFlags, UseLaneFlagsForLaneEnable, both of each stack entry, whether that VC is known


PRNG, LANE_CONFIG, TEMPLATE, SEQUENCE, MISC, ROTATED, DEPTH, WORDS = 17, 18, 19, 23, 27, 28, 29, 30
"""Places in `words` behind the LRegs, of arrays the first, and their number; ROTATED is VC of SFPSHFT2's last rotation."""
FLAGS, USE_FLAGS, STACK_FLAGS, STACK_USE_FLAGS, HAS_ROTATED, BITS = 0, 1, 2, 10, 18, 19
"""Places in `bits`, and their number."""


# Tables of SFPARECIP: fraction bits 22:16 of the result, by the upper bits of the operand's code.


RECIPROCAL = bytes.fromhex(
    "7f7d7b7977757472706e6d6b696866646361605e5d5b5a585755545351504f4d4c4b4a48474645444241403f3e3d3c3b3a393837363534333231302f"
    "2e2d2c2b2a2928282726252423232221201f1f1e1d1c1c1b1a1919181717161515141313121111100f0f0e0e0d0c0c0b0b0a09090808070706050504"
    "0403030202010100"
)
"""By the 7 upper bits of the fraction."""
EXPONENTIAL_FIRST, EXPONENTIAL_DOUBLED, EXPONENTIAL_END = 0x3C80, 0x3F32, 0x4000
"""Upper 16 bits of the codes of 2**-6, 0.6953125 (from here on the entry is of exp(x) / 2) and 2."""
EXPONENTIAL = bytes.fromhex(
    "0202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202020202"
    "0202020202020303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303030303"
    "0303030303030303030303030304040404040404040404040404040404040404040404040404040404040404040505050505050505050505"
    "0505050505050505050505050505050505050505060606060606060606060606060606060606060606060606060606060606060707070707"
    "0707070707070707070707070707070707070707070707070708080808080808080808080808080808080808090909090909090909090909"
    "0909090a0a0a0a0a0a0a0a0a0a0a0a0a0a0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0d0d0d0d0d0d0d0d0d"
    "0d0d0d0d0d0e0e0e0e0e0e0e0e0e0e0e0e0e0e0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f10101010101010101010101010101111111111111112"
    "1212121212121313131313131314141414141414151515151515151616161616161617171717171718181818181818191919191919191a1a"
    "1a1a1a1a1b1b1b1b1b1b1b1c1c1c1c1c1c1c1d1d1d1d1d1d1e1e1e1e1e1e1e1f1f1f1f1f1f20202020202021212121212121222222222222"
    "23232323232324242424242525252626262727272828282929292a2a2a2b2b2b2c2c2c2d2d2d2e2e2e2f2f2f303031313132323233333334"
    "343435353536363637373838383939393a3a3a3b3b3c3c3c3d3d3d3e3e3f3f3f404040414142424243434344444545454646474747484848"
    "49494a4a4a4b4b4c4c4c4d4d4e4e4e4f4f505050515152525353545556575858595a5b5c5d5e5e5f60616263646565666768696a6b6c6d6e"
    "6f70717172737475767778797a7b7c7d7e7f000001010202030304040505060607080809090a0a0b0b0c0c0d0d0e0f0f1010111112131314"
    "1415151617171818191a1a1b1b1c1d1d1e1f1f202021222223242425262627272829292a2b2b2c2d2d2f303233343637393a3c3d3f404243"
    "454648494b4c4e5051535556585a5b5d5f61626466686a6b6d6f71737577797b7d7f808182838485868788898b8c8d8e8f90919293959697"
    "98999b9c9d9e9fa1a2a3a5a6a7a8aaabacaeafb1b2b3b5b6b8b9bbbcbdbfc0c2c4c5c7c8cacbcdcfd0d2d3d5d7d8dadcdedfe1e3e5e6e8ea"
)
"""By the upper 16 bits of the code less `EXPONENTIAL_FIRST`; an entry of 128 or more carries into the exponent."""
