"""Ports of the engine lane.

Ref: ``nki.isa.tensor_scalar`` and ``nki.isa.tensor_tensor`` reference pages, NKI 0.6.
"""

from amaranth.lib import data, enum

from bitpath.rtl.trainium3.dma.dtype import Dtype

WORD_BITS = 32
FIRST_BIT_OPERATOR = 24


class Operator(enum.Enum, shape=5):
    """Of x and y. From 24 on they are bit operators, on integers of one size; the others compute in FP32."""

    BYPASS = 0  # x
    ADD = 1
    SUBTRACT = 2  # x - y
    MULTIPLY = 3
    MAX = 4
    MIN = 5
    ABS_MAX = 6  # of equal magnitudes y
    ABS_MIN = 7
    EQUAL = 8  # 1.0 or 0.0, as the other comparisons and the logical operators
    NOT_EQUAL = 9
    GREATER = 10  # x > y
    GREATER_EQUAL = 11
    LESS = 12
    LESS_EQUAL = 13
    LOGICAL_AND = 14
    LOGICAL_OR = 15
    LOGICAL_XOR = 16
    ABS = 17  # |x|
    LOGICAL_NOT = 18  # x is zero
    BITWISE_AND = FIRST_BIT_OPERATOR
    BITWISE_OR = 25
    BITWISE_XOR = 26
    LEFT_SHIFT = 27  # x << y
    RIGHT_SHIFT = 28  # x >> y, zeros from above
    BITWISE_NOT = 29  # of x


class Step(data.Struct):
    """An operation; ``reverse`` exchanges x and y."""

    op: Operator
    reverse: 1


class EngineControl(data.Struct):
    """An instruction's fields. The first operator tells whether it is on bits; the second is of the same kind, or a bypass.

    tensor_tensor is a step of two values and a bypass; tensor_scalar has scalars in both steps.
    """

    first: Step
    second: Step
    scalar: 1  # the first step takes y of element 0 for all
    second_scalar: WORD_BITS
    x: Dtype
    y: Dtype
    second_dtype: Dtype
    result: Dtype
    last: 1


def engine_beat(width: int) -> data.StructLayout:
    """Layout of a beat: elements of x and of y in the low bits of words, and their instruction."""
    words = data.ArrayLayout(WORD_BITS, width)
    return data.StructLayout({"x": words, "y": words, "control": EngineControl})


def engine_result(width: int) -> data.StructLayout:
    """Layout of the results, in the low bits of words with zeros above; ``last`` is the beat's."""
    return data.StructLayout({"o": data.ArrayLayout(WORD_BITS, width), "last": 1})
