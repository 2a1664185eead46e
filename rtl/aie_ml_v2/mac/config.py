"""Configurations of the product sum and of the multiply-accumulate lane."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, MX9, MxFormat
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, XDNA2_BFP16EBS8, AieNumerics
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode


@dataclass(frozen=True, kw_only=True)
class PostAddConfig:
    """Configuration of ProductSum, the unit post_add.

    Attributes
    ----------
    numerics : choices where the documents leave the result open.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics


def _check_modes(unit: str, modes: tuple[MacMode, ...]) -> None:
    if not modes or modes != tuple(mode for mode in MacMode if mode in modes):
        raise ValueError(f"{unit}: modes must be distinct MacMode members in their order, not {modes!r}")


@dataclass(frozen=True, kw_only=True)
class MacLaneConfig:
    """Configuration of one multiply-accumulate lane.

    Attributes
    ----------
    modes : supported modes, in the order of `MacMode`; control words must use no other. Hardware that no mode needs is
        left out.
    numerics : choices where the documents leave the result open.
    bfp16ebs8 : True for XDNA2's products: MX9, which must be the only mode, takes blocks of eight without shift bits, in one
        beat each.
    chained : True for one of two lanes that together make a lane of 64 bits (`WideLanes`); INT16 must be among the modes.
    stalls : True for a lane with a clock enable.
    """

    modes: tuple[MacMode, ...] = tuple(MacMode)
    numerics: AieNumerics = AIE_ML_V2.numerics
    bfp16ebs8: bool = False
    chained: bool = False
    stalls: bool = False

    def __post_init__(self) -> None:
        _check_modes("mac_lane", self.modes)
        if self.bfp16ebs8 and self.modes != (MacMode.MX9,):
            raise ValueError(f"mac_lane: modes must be (MacMode.MX9,) with bfp16ebs8, not {self.modes!r}")
        if self.chained and MacMode.INT16 not in self.modes:
            raise ValueError(f"mac_lane: modes must have MacMode.INT16 with chained, not {self.modes!r}")

    @property
    def widest_block(self) -> MxFormat:
        """The block format with the largest products."""
        return BFP16EBS8 if self.bfp16ebs8 else MX9

    def has(self, *modes: MacMode) -> bool:
        """Return True if the lane supports any of ``modes``."""
        return any(mode in self.modes for mode in modes)


@dataclass(frozen=True, kw_only=True)
class WideLanesConfig:
    """Configuration of a pair of lanes.

    Attributes
    ----------
    modes : modes of each lane with 32 bits, in the order of `MacMode`; INT16, whose multipliers 64-bit lanes use, must be
        among them.
    numerics : choices where the documents leave the result open.
    stalls : True for lanes with a clock enable.
    """

    modes: tuple[MacMode, ...] = (MacMode.INT8, MacMode.INT16)
    numerics: AieNumerics = AIE_ML_V2.numerics
    stalls: bool = False

    def __post_init__(self) -> None:
        if MacMode.INT16 not in self.modes:
            raise ValueError(f"wide_lanes: modes must have MacMode.INT16, not {self.modes!r}")
        _check_modes("wide_lanes", self.modes)

    @property
    def lane(self) -> MacLaneConfig:
        """Configuration of either lane."""
        return MacLaneConfig(modes=self.modes, numerics=self.numerics, chained=True, stalls=self.stalls)


MX9_LANE = MacLaneConfig(modes=(MacMode.MX9,))
"""A lane that supports MX9 only."""
BFP16EBS8_LANE = MacLaneConfig(modes=(MacMode.MX9,), numerics=XDNA2_BFP16EBS8.numerics, bfp16ebs8=True)
"""XDNA2's lane of bfp16ebs8."""
