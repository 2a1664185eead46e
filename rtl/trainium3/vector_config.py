"""Configurations of Trainium3's vector side."""

from dataclasses import dataclass, field

from bitpath.golden.spec.formats import BF16, E4M3, E4M3FN, FP16, FP32, FloatFormat
from bitpath.golden.spec.trainium3 import PARTITIONS
from bitpath.golden.spec.trainium3_vector import (
    MAX_HIDDEN,
    TRAINIUM3_EXPONENTIAL,
    TRAINIUM3_MATMUL,
    ExponentialNumerics,
    MatmulNumerics,
)
from bitpath.rtl.config import PipelineConfig, require_range


@dataclass(frozen=True, kw_only=True)
class RmsNormQuantConfig:
    """The RMSNorm-Quant row unit.

    Attributes
    ----------
    lanes : rows that are worked on in step, one a lane.
    max_row_length : elements that a lane's row memory holds.
    """

    lanes: int = 2
    max_row_length: int = 32

    def __post_init__(self) -> None:
        require_range("rmsnorm_quant", "lanes", self.lanes, 1, PARTITIONS)
        require_range("rmsnorm_quant", "max_row_length", self.max_row_length, 1, MAX_HIDDEN)


@dataclass(frozen=True, kw_only=True)
class MultiplyAddConfig:
    """The multiply-add of an unscaled matmul, and the PE around it.

    Attributes
    ----------
    numerics : what is computed; products are exact.
    element_formats : narrow formats of one width, of which each operand has one at run time; E4M3 and E4M3FN not both,
        as they may not meet.
    pipeline : register ranks inside.
    """

    numerics: MatmulNumerics = TRAINIUM3_MATMUL.numerics
    element_formats: tuple[FloatFormat, ...] = (BF16, FP16)
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)

    def __post_init__(self) -> None:
        if self.numerics.product_rounding is not None:
            raise ValueError(
                f"multiply_add: product_rounding is {self.numerics.product_rounding.name}, allowed is none"
            )
        allowed = [fmt.name for fmt in self.numerics.narrow_formats]
        given = [fmt.name for fmt in self.element_formats]
        if not given or not set(given) <= set(allowed):
            raise ValueError(f"multiply_add: element_formats are {given}, allowed are some of {', '.join(allowed)}")
        if len({fmt.width for fmt in self.element_formats}) > 1:
            raise ValueError(f"multiply_add: element_formats are {given}, allowed are those of one width")
        if len(set(given)) < len(given):
            raise ValueError(f"multiply_add: element_formats are {given}, each is allowed once")
        if {E4M3.name, E4M3FN.name} <= set(given):
            raise ValueError(f"multiply_add: element_formats are {given}, allowed is one of E4M3 and E4M3FN")


@dataclass(frozen=True, kw_only=True)
class QuantizeMxConfig:
    """The lanes of a QuantizeMX block.

    Attributes
    ----------
    pipeline : register ranks inside.
    """

    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))


@dataclass(frozen=True, kw_only=True)
class XorwowConfig:
    """XORWOW lanes of four states each.

    Attributes
    ----------
    lanes : that step together.
    """

    lanes: int = 2

    def __post_init__(self) -> None:
        require_range("xorwow", "lanes", self.lanes, 1, PARTITIONS)


@dataclass(frozen=True, kw_only=True)
class ExponentialConfig:
    """A lane of VectorE's exponential.

    Attributes
    ----------
    width : elements a cycle; the machine's lanes take four.
    numerics : what is computed; the result is FP32.
    pipeline : register ranks before the running sum's.
    """

    width: int = 4
    numerics: ExponentialNumerics = TRAINIUM3_EXPONENTIAL.numerics
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=3))

    def __post_init__(self) -> None:
        require_range("exponential", "width", self.width, 1, 8)
        numerics = self.numerics
        if numerics.result != FP32:
            raise ValueError(f"exponential: result is {numerics.result.name}, allowed is FP32")
        require_range("exponential", "table_bits", numerics.table_bits, 1, 10)
        require_range("exponential", "fraction_bits", numerics.fraction_bits, 2 * numerics.table_bits, 40)
        require_range("exponential", "log2e_bits", numerics.log2e_bits, numerics.fraction_bits, 48)
        require_range("exponential", "power_bits", numerics.power_bits, numerics.fraction_bits, 80)
