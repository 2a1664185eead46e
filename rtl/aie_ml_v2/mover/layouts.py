"""Layouts of requests and results of the mover units.

Operations, shuffle codes and representations of 8-bit floats are those of ``golden.aie_ml_v2.declarations``.
"""

from dataclasses import dataclass

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_OP_FORMATS, FLOAT_OPS, VECTOR_BITS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two

# Configurations of the mover units.


VECTOR_BYTES = VECTOR_BITS // 8
"""Bytes of the machine's registers."""
MAX_NONLINEAR_LANES = 16
"""FP32 lanes of an accumulator register."""


@dataclass(frozen=True, kw_only=True)
class VectorAluConfig(UnitConfig, unit="vector_alu"):
    """Configuration of the add/compare unit.

    Attributes
    ----------
    register_bytes : bytes of a register, a power of two from 4 to 64; the machine has 64.
    """

    register_bytes: int = power_of_two(4, VECTOR_BYTES, 8)


@dataclass(frozen=True, kw_only=True)
class VectorMoveConfig(UnitConfig, unit="vector_move"):
    """Configuration of shifts and of moves between scalars and lanes.

    Attributes
    ----------
    register_bytes : bytes of a register, a power of two from 16 to 64; the machine has 64.
    """

    register_bytes: int = power_of_two(16, VECTOR_BYTES, 16)


@dataclass(frozen=True, kw_only=True)
class ShuffleConfig:
    """Configuration of the shuffle unit, whose modes fix the size of its registers."""


@dataclass(frozen=True, kw_only=True)
class NonlinearConfig(UnitConfig, unit="nonlinear"):
    """Configuration of exp2 and tanh.

    Attributes
    ----------
    lanes : FP32 lanes, 1 to 16; the machine has 16.
    """

    lanes: int = in_range(1, MAX_NONLINEAR_LANES, 2)


OP_BITS = (max(FLOAT_OPS.values()) + len(FLOAT_OP_FORMATS) - 1).bit_length()
"""Bits of an operation of the add/compare unit."""
REPRESENTATION_BITS = 2
"""Bits of a code of crFP8conf or crBF8conf."""
SCALAR_BITS = 64
"""Bits of the longest scalar, an l register."""
E_BITS, F_BITS = VECTOR_BITS // 8, VECTOR_BITS // 4
"""Bits of E or G and of F: a byte and 16 bits for every 64 bits of data."""


class LaneWidth(enum.Enum, shape=2):
    """Bits of the add/compare unit's integer lanes. Code 3 is W32 too."""

    W8 = 0
    W16 = 1
    W32 = 2


def alu_request(register_bytes: int) -> data.StructLayout:
    """Return the layout of an operation, its operands, byte 0 lowest, and its mask, bit i for lane i. ``width`` and
    ``is_signed`` hold of integers; ``bf8`` and ``fp8`` are the representations of 8-bit floats."""
    return data.StructLayout(
        {
            "op": OP_BITS,
            "width": LaneWidth,
            "is_signed": 1,
            "bf8": REPRESENTATION_BITS,
            "fp8": REPRESENTATION_BITS,
            "mask": register_bytes,
            "a": 8 * register_bytes,
            "b": 8 * register_bytes,
        }
    )


def alu_result(register_bytes: int) -> data.StructLayout:
    """Return the layout of values and mask; bits of the mask above the last lane are 0."""
    return data.StructLayout({"values": 8 * register_bytes, "mask": register_bytes})


class MoveOp(enum.Enum, shape=3):
    """Operations of the move unit, in this model's codes. Code 7 is EXTRACT_BROADCAST too."""

    SHIFT = 0  # bytes of b and a from byte ``index`` of a on
    PUSH_LOW = 1  # lanes of a move up by one, and the scalar enters below
    PUSH_HIGH = 2  # lanes of a move down by one, and the scalar enters above
    INSERT = 3  # the scalar replaces lane ``index`` of a
    EXTRACT = 4  # lane ``index`` of a, extended, as a scalar
    BROADCAST = 5  # the scalar in every lane
    EXTRACT_BROADCAST = 6  # lane ``index`` of a in every lane


def move_request(register_bytes: int) -> data.StructLayout:
    """Return the layout of a move. Lanes have ``8 << log_bytes`` bits, at most 64 for scalars and 128 for
    EXTRACT_BROADCAST; ``index`` is a number of bytes modulo twice the register's, or a lane modulo the number of
    lanes."""
    return data.StructLayout(
        {
            "op": MoveOp,
            "log_bytes": 3,
            "is_signed": 1,
            "index": ceil_log2(2 * register_bytes),
            "scalar": SCALAR_BITS,
            "a": 8 * register_bytes,
            "b": 8 * register_bytes,
        }
    )


def move_result(register_bytes: int) -> data.StructLayout:
    """Return the layout of a move's result: the scalar of EXTRACT, extended to 32 bits with zeros above, or 64 bits; or
    the register of all others. The other field is 0."""
    return data.StructLayout({"register": 8 * register_bytes, "scalar": SCALAR_BITS})


class Fex(data.Struct):
    """A vector register with its exponents, shifts and sign bits: X, E, G and F, together FEX."""

    x: VECTOR_BITS
    e: E_BITS
    g: E_BITS
    f: F_BITS


class ShuffleRequest(data.Struct):
    """A shuffle's code and its two registers; modes of one register read ``low``."""

    code: 7
    low: Fex
    high: Fex


class Function(enum.Enum, shape=2):
    """Functions of the nonlinear unit, in this model's codes."""

    EXP2_BF16 = 0
    EXP2_FP16 = 1
    EXP2_FP32 = 2
    TANH = 3


def nonlinear_request(lanes: int) -> data.StructLayout:
    """Return the layout of a function and its FP32 arguments, lane 0 lowest."""
    return data.StructLayout({"op": Function, "lanes": data.ArrayLayout(FP32.width, lanes)})
