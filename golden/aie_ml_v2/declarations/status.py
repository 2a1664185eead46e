"""AMD AIE-ML v2: flags of operations, the bits of status register SR1 that record them, and the saturation of floats.

Ref: AM029 "AIE-ML v2 register reference", SR1 and CR2 (SR2 is in :mod:`bitpath.golden.aie_ml_v2.declarations.scalar`); LLVM's enumerations for what the two bits of crFPConvSat mean.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag


class FloatSaturation(IntFlag):
    """crFPConvSat: the numbers that a conversion of floats replaces by the largest finite one."""

    FINITE = 1  # finite numbers beyond the range
    INFINITE = 2  # infinite inputs


@dataclass(frozen=True, kw_only=True)
class Flags:
    """Flags of an operation, each the OR over its lanes; a flag that the operation's unit does not have is False.

    Attributes
    ----------
    zero, infinity : a result is one.
    invalid : an input is NaN, or the operation has no result.
    tiny : a result, rounded with unbounded exponent, lies below the smallest normal number and is not an exact 0. For an
        integer: 0 of an input that is not.
    huge : that result lies beyond the largest finite number; an infinite operand makes no float result huge. For an
        integer: the rounded number is out of range.
    inexact : a result differs from the exact one.
    overflow : saturation changed an integer, or its high bits were lost.
    """

    zero: bool = False
    infinity: bool = False
    invalid: bool = False
    tiny: bool = False
    huge: bool = False
    inexact: bool = False
    overflow: bool = False


class Status1(IntEnum):
    """Bits of SR1 outside the groups of flags. The three of streams hold the last access; all other bits stay set."""

    CARRY = 0
    STREAM_READ_SUCCESS = 1
    STREAM_READ_LAST = 2
    STREAM_WRITE_SUCCESS = 3
    SPARSE_OVERFLOW = 22
    STORE_FIFO_OVERFLOW = 23
    LOAD_FIFO_UNDERFLOW = 24


@dataclass(frozen=True)
class FlagGroup:
    """Flags that one unit has.

    Attributes
    ----------
    bits : bit of SR1 that records each flag, by the flag's name in `Flags`.
    """

    bits: Mapping[str, int]


SRS_FLAGS = FlagGroup({"overflow": 4})
UPS_FLAGS = FlagGroup({"overflow": 5})
MAC_FLAGS = FlagGroup({"zero": 7, "infinity": 8, "invalid": 9, "tiny": 10, "huge": 11})
FLOOR_FLAGS = FlagGroup({"zero": 12, "invalid": 14, "tiny": 15, "huge": 16})
"""BF16 to integers."""
NARROW_FLAGS = FlagGroup({"zero": 17, "infinity": 18, "invalid": 19, "tiny": 20, "huge": 21})
"""FP32 to BF16, FP16 and 8-bit floats."""
MX_FLAGS = FlagGroup({"invalid": 27})
"""FP32 to MX."""
