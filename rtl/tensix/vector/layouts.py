"""Layouts of SFP_STOCH_RND."""

from amaranth.lib import data, enum

LANES = 32
LANE_BITS = 32
RANDOM_BITS = 23
"""Random bits of a lane that an instruction compares: the low ones of its state."""


class RoundMode(enum.Enum, shape=3):
    """Results of SFP_STOCH_RND by the instruction's mode, without those of INT32 input."""

    FP16A = 0  # FP32 with 10 fraction bits
    FP16B = 1  # FP32 with 7
    UINT8 = 2
    INT8 = 3
    UINT16 = 6
    INT16 = 7


class RandomBits(enum.Enum, shape=2):
    """The 23 bits with which discarded bits are compared."""

    NEAREST = 0  # 0x400000: ties away from zero
    STOCHASTIC = 1  # the lane's state
    ZERO = 2  # 0x7FFFFF, where ``sfpu_round_to_zero``


LaneWords = data.ArrayLayout(LANE_BITS, LANES)
"""A word of each lane."""


class RoundRequest(data.Struct):
    """An instruction: FP32 codes, mode and rounding."""

    lanes: LaneWords
    mode: RoundMode
    rounding: RandomBits
