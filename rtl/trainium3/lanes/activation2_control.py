"""Ports of the Activation2 lane.

Ref: ``nki.isa.activate2`` reference page, NKI 0.6.
"""

from amaranth.lib import data, enum

from bitpath.golden.formats.catalogue import FP32


class Operations(enum.Enum, shape=3):
    """The pair (op0, op1)."""

    BYPASS = 0
    MULTIPLY = 1  # x * imm0
    ADD = 2  # x + imm0
    SUBTRACT = 3  # x - imm0
    MULTIPLY_ADD = 4  # x * imm0 + imm1
    MULTIPLY_SUBTRACT = 5  # x * imm0 - imm1


class Function(enum.Enum, shape=3):
    """The function of the second operation's result."""

    COPY = 0
    SQUARE = 1
    ABS = 2
    RELU = 3  # +0 below zero and for -0
    PRELU = 4  # times relu_param below zero and for -0
    SIGN = 5  # -1, +0 or 1


class Reduction(enum.Enum, shape=3):
    """What the register gathers."""

    ADD = 0
    MAX = 1
    MIN = 2
    ABS_MAX = 3  # of equal magnitudes the new element
    ABS_MIN = 4


class ReduceCommand(enum.Enum, shape=2):
    """What a value does with the register."""

    IDLE = 0
    RESET = 1  # sets it to the reduction's identity
    REDUCE = 2  # reduces the value onto it
    RESET_REDUCE = 3  # sets it, then reduces onto it


class Control(data.Struct):
    """An instruction's fields; ``reverse`` puts the immediate left of a subtraction."""

    operations: Operations
    function: Function
    reduction: Reduction
    command: ReduceCommand
    reverse: 1
    imm0: FP32.width
    imm1: FP32.width
    relu_param: FP32.width
    last: 1


class Beat(data.Struct):
    """One value, FP32, and its instruction."""

    value: FP32.width
    control: Control


class Result(data.Struct):
    """The function's value, FP32, and the register after it; ``last`` is the beat's."""

    value: FP32.width
    register: FP32.width
    last: 1
