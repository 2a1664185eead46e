"""Configuration of the vector multiply-accumulate."""

from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.modes import INT8
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics
from bitpath.rtl.common.config import require_power_of_two


@dataclass(frozen=True, kw_only=True)
class VectorMacConfig:
    """Configuration of the vector unit's multiply-accumulate with its accumulators.

    Attributes
    ----------
    lanes : lanes that compute in one cycle; a power of two from 1 to 64. An instruction takes 64 / lanes beats (parts).
    accumulators : accumulator registers of 64 lanes; a power of two from 2 to 64.
    numerics : choices where the documents leave the result open.
    """

    lanes: int = 4
    accumulators: int = 8
    numerics: AieNumerics = AIE_ML_V2.numerics

    def __post_init__(self) -> None:
        require_power_of_two("vector_mac", "lanes", self.lanes, 1, INT8.lanes)
        require_power_of_two("vector_mac", "accumulators", self.accumulators, 2, 64)

    @property
    def parts(self) -> int:
        """Groups of ``lanes`` lanes in an accumulator of 64."""
        return INT8.lanes // self.lanes
