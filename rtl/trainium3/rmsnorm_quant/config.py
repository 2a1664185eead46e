"""Configuration of the RMSNorm-Quant row unit."""

from dataclasses import dataclass

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import MAX_HIDDEN
from bitpath.rtl.common.config import require_range


@dataclass(frozen=True, kw_only=True)
class RmsNormQuantConfig:
    """Configuration of the RMSNorm-Quant row unit.

    Attributes
    ----------
    lanes : rows in parallel, one for each lane.
    max_row_length : elements of a lane's row memory.
    """

    lanes: int = 2
    max_row_length: int = 32

    def __post_init__(self) -> None:
        require_range("rmsnorm_quant", "lanes", self.lanes, 1, PARTITIONS)
        require_range("rmsnorm_quant", "max_row_length", self.max_row_length, 1, MAX_HIDDEN)
