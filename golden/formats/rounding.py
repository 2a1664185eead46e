"""Rounding modes, by the names IEEE 754 and the vendors' documents use."""

from enum import Enum


class Rounding(Enum):
    """How a value between two representable neighbours is rounded."""

    RNE = "rne"  # to nearest, ties to the even significand
    RTZ = "rtz"  # toward zero: the magnitude is truncated
    SR = "sr"  # stochastic: given random bits are added below the last kept bit, then the magnitude is truncated
