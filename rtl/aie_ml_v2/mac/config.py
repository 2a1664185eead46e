"""Configurations of the product sum and of the multiply-accumulate lane."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode


@dataclass(frozen=True, kw_only=True)
class PostAddConfig:
    """Configuration of ProductSum, the unit post_add.

    Attributes
    ----------
    numerics : choices where the documents leave the result open.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics


@dataclass(frozen=True, kw_only=True)
class MacLaneConfig:
    """Configuration of one multiply-accumulate lane.

    Attributes
    ----------
    modes : supported modes, in the order of `MacMode`; control words must use no other. Hardware that no mode needs is
        left out.
    numerics : choices where the documents leave the result open.
    """

    modes: tuple[MacMode, ...] = tuple(MacMode)
    numerics: AieNumerics = AIE_ML_V2.numerics

    def __post_init__(self) -> None:
        if not self.modes or self.modes != tuple(mode for mode in MacMode if mode in self.modes):
            raise ValueError(f"mac_lane: modes must be distinct MacMode members in their order, not {self.modes!r}")

    def has(self, *modes: MacMode) -> bool:
        """Return True if the lane supports any of ``modes``."""
        return any(mode in self.modes for mode in modes)


MX9_LANE = MacLaneConfig(modes=(MacMode.MX9,))
"""A lane that supports MX9 only."""
