"""Configurations of the lane-by-lane conversions."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.common.config import require_range


@dataclass(frozen=True, kw_only=True)
class PackConfig:
    """Configuration of PACK and UNPACK.

    Attributes
    ----------
    lanes : lanes of 16 bits in the wide register, 1 to 64; 32 and 64 are the machine's X and Y.
    """

    lanes: int = 4

    def __post_init__(self) -> None:
        require_range("pack", "lanes", self.lanes, 1, 64)


@dataclass(frozen=True, kw_only=True)
class MxWidenConfig:
    """Configuration of the conversion from MX to FP32.

    Attributes
    ----------
    blocks : blocks of one request, 1 to 4; the machine takes 64 elements, 4 blocks.
    numerics : choices where the documents leave the result open; uses ``mx_nan_block``.
    """

    blocks: int = 1
    numerics: AieNumerics = AIE_ML_V2.numerics

    def __post_init__(self) -> None:
        require_range("mx widen", "blocks", self.blocks, 1, 4)
