"""Configurations of the mover units."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.rtl.common.config import require_power_of_two, require_range

VECTOR_BYTES = VECTOR_BITS // 8
"""Bytes of the machine's registers."""
MAX_NONLINEAR_LANES = 16
"""FP32 lanes of an accumulator register."""


@dataclass(frozen=True, kw_only=True)
class VectorAluConfig:
    """Configuration of the add/compare unit.

    Attributes
    ----------
    register_bytes : bytes of a register, a power of two from 4 to 64; the machine has 64.
    """

    register_bytes: int = 8

    def __post_init__(self) -> None:
        require_power_of_two("vector_alu", "register_bytes", self.register_bytes, 4, VECTOR_BYTES)


@dataclass(frozen=True, kw_only=True)
class VectorMoveConfig:
    """Configuration of shifts and of moves between scalars and lanes.

    Attributes
    ----------
    register_bytes : bytes of a register, a power of two from 16 to 64; the machine has 64.
    """

    register_bytes: int = 16

    def __post_init__(self) -> None:
        require_power_of_two("vector_move", "register_bytes", self.register_bytes, 16, VECTOR_BYTES)


@dataclass(frozen=True, kw_only=True)
class ShuffleConfig:
    """Configuration of the shuffle unit, whose modes fix the size of its registers."""


@dataclass(frozen=True, kw_only=True)
class NonlinearConfig:
    """Configuration of exp2 and tanh.

    Attributes
    ----------
    lanes : FP32 lanes, 1 to 16; the machine has 16.
    """

    lanes: int = 2

    def __post_init__(self) -> None:
        require_range("nonlinear", "lanes", self.lanes, 1, MAX_NONLINEAR_LANES)
