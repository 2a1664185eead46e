"""Modes of the Vector unit's instructions, by the numbers of their encodings.

Ref: tt-isa-documentation 3930471, SFPLOAD, SFPSTORE and SFPSTOCHRND of both chips.
"""

from enum import IntEnum


class StoreMode(IntEnum):
    """Modes of SFPSTORE and SFPLOAD; SRCB, 0, stands for FP16, BF16 or FP32 by SrcB's format."""

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
