"""Configurations of the conversions."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.common.config import require_power_of_two

MAX_INTEGER_LANES = 64
"""Accumulator lanes of 32 bits that one conversion of the machine takes at most."""


@dataclass(frozen=True, kw_only=True)
class MxConvertConfig:
    """FP32 to MX.

    Attributes
    ----------
    numerics : what is computed.
    """

    numerics: AieNumerics = AIE_ML_V2.numerics


@dataclass(frozen=True, kw_only=True)
class IntegerLanesConfig:
    """SRS or UPS.

    Attributes
    ----------
    lanes : accumulator lanes of 32 bits, half as many of 64; a power of two from 2 to 64.
    """

    lanes: int = 4

    def __post_init__(self) -> None:
        require_power_of_two("integer lanes", "lanes", self.lanes, 2, MAX_INTEGER_LANES)
