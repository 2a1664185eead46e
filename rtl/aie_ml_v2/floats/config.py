"""Configuration of units of lanes."""

from dataclasses import dataclass

from bitpath.rtl.common.config import require_range

MAX_LANES = 32
"""FloatLanes of the widest conversion of floats in the machine."""


@dataclass(frozen=True, kw_only=True)
class FloatLanesConfig:
    """Configuration of the lanes of an operator.

    Attributes
    ----------
    lanes : operands of one request, 1 to 32.
    """

    lanes: int = 4

    def __post_init__(self) -> None:
        require_range("lanes", "lanes", self.lanes, 1, MAX_LANES)
