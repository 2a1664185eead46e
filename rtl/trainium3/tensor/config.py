"""Configurations of TensorE's units for its modes beside quad MX."""

from dataclasses import dataclass

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.rtl.common.config import require_range


@dataclass(frozen=True, kw_only=True)
class PassesConfig:
    """Configuration of the FP32 passes at the edge of the array.

    Attributes
    ----------
    rows : elements of a column.
    numerics : rounding of FP32 to TF32.
    """

    rows: int = 4
    numerics: MatmulNumerics = TRAINIUM3_MATMUL.numerics

    def __post_init__(self) -> None:
        require_range("fp32_passes", "rows", self.rows, 1, PARTITIONS)
