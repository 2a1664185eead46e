"""Configurations of Trainium3's dot products and multiply-add."""

from dataclasses import dataclass, field

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, FP16, FloatFormat
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.vector import (
    TRAINIUM3_MATMUL,
    MatmulNumerics,
)
from bitpath.rtl.common.config import PipelineConfig, require_power_of_two, require_range

MAX_TERMS = 8
"""Products of a dot product whose sum of two rows is proved."""
MAX_ALIGN_FRACTION_BITS = 64
"""More than any product has below its leading bit."""


def _check_numerics(unit: str, numerics: DotNumerics) -> None:
    require_power_of_two(unit, "terms", numerics.terms, 2, MAX_TERMS)
    if not numerics.element_formats:
        raise ValueError(f"{unit}: element_formats is empty, at least one format is needed")
    if numerics.align_fraction_bits is not None:
        require_range(unit, "align_fraction_bits", numerics.align_fraction_bits, 0, MAX_ALIGN_FRACTION_BITS)


@dataclass(frozen=True, kw_only=True)
class DotConfig:
    """The quad-MX dot product, and the PE around it.

    Attributes
    ----------
    numerics : what is computed.
    pipeline : register ranks inside the dot product.
    """

    numerics: DotNumerics = TRAINIUM3_QUAD_MX.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)

    def __post_init__(self) -> None:
        _check_numerics("quad_mx_dot", self.numerics)


@dataclass(frozen=True, kw_only=True)
class MapConfig:
    """The FP4 map at the array's edge.

    Attributes
    ----------
    numerics : of the PEs behind it.
    """

    numerics: DotNumerics = TRAINIUM3_QUAD_MX.numerics

    def __post_init__(self) -> None:
        _check_numerics("element_map", self.numerics)


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
