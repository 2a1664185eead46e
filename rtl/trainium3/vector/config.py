"""Configurations of Trainium3's vector units."""

from dataclasses import dataclass, field

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.vector import (
    TRAINIUM3_EXPONENTIAL,
    ExponentialNumerics,
)
from bitpath.rtl.common.config import PipelineConfig, require_range


@dataclass(frozen=True, kw_only=True)
class QuantizeMxConfig:
    """Configuration of a QuantizeMX block.

    Attributes
    ----------
    pipeline : pipeline stages, 0 to 4.
    checks : whether controls are checked; without it they must be right.
    """

    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))
    checks: bool = True


@dataclass(frozen=True, kw_only=True)
class XorwowConfig:
    """Configuration of XORWOW lanes, four states each.

    Attributes
    ----------
    lanes : lanes that step together.
    """

    lanes: int = 2

    def __post_init__(self) -> None:
        require_range("xorwow", "lanes", self.lanes, 1, PARTITIONS)


@dataclass(frozen=True, kw_only=True)
class ExponentialConfig:
    """Configuration of a lane of VectorE's exponential.

    Attributes
    ----------
    width : elements a cycle; the machine's lanes take four.
    numerics : precision of table and constants; the result is FP32.
    pipeline : pipeline stages before the running sum.
    checks : whether controls are checked; without it they must be right.
    """

    width: int = 4
    numerics: ExponentialNumerics = TRAINIUM3_EXPONENTIAL.numerics
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=3))
    checks: bool = True

    def __post_init__(self) -> None:
        require_range("exponential", "width", self.width, 1, 8)
        numerics = self.numerics
        if numerics.result != FP32:
            raise ValueError(f"exponential: result must be FP32, not {numerics.result.name}")
        # Golden's instruction has the same upper limits; a power has at least the bits of its result.
        largest = TRAINIUM3_EXPONENTIAL.numerics
        require_range("exponential", "table_bits", numerics.table_bits, largest.table_bits, 10)
        bits = max(2 * numerics.table_bits, FP32.precision), largest.fraction_bits
        require_range("exponential", "fraction_bits", numerics.fraction_bits, *bits)
        require_range("exponential", "log2e_bits", numerics.log2e_bits, numerics.fraction_bits, largest.log2e_bits)
        require_range("exponential", "power_bits", numerics.power_bits, numerics.fraction_bits, largest.power_bits)
