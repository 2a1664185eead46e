"""Configurations of the product sum and of the multiply-accumulate lane."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode


@dataclass(frozen=True, kw_only=True)
class PostAddConfig:
    """The products of a block pair and their sum.

    Attributes
    ----------
    numerics : what is computed.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics


@dataclass(frozen=True, kw_only=True)
class MacLaneConfig:
    """One lane of the multiply-accumulate.

    Attributes
    ----------
    modes : what it can multiply, in the order of `MacMode`; control words ask for nothing else. What no mode needs falls
        away.
    numerics : what is computed.
    """

    modes: tuple[MacMode, ...] = tuple(MacMode)
    numerics: AieNumerics = AIE_ML_V2.numerics

    def __post_init__(self) -> None:
        if not self.modes or self.modes != tuple(mode for mode in MacMode if mode in self.modes):
            raise ValueError(
                f"mac_lane: modes is {self.modes!r}, allowed are some of the modes, each once, in their order"
            )

    def has(self, *modes: MacMode) -> bool:
        """Whether it can multiply any of these."""
        return any(mode in self.modes for mode in modes)


MX9_LANE = MacLaneConfig(modes=(MacMode.MX9,))
"""A lane that multiplies blocks of MX9 and nothing else."""
