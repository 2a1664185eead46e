"""Configurations of Trainium3's dot products and multiply-add."""

from dataclasses import dataclass, field

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, E8M0, FP16, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.vector import (
    TRAINIUM3_MATMUL,
    MatmulNumerics,
)
from bitpath.rtl.common.config import PipelineConfig, require_power_of_two, require_range

MAX_TERMS = 8
"""Largest number of products for which the carry-save sum is proved."""
MAX_ALIGN_FRACTION_BITS = 64
"""Upper limit of align_fraction_bits; exact products have fewer bits below their leading one."""


DOT_FORMATS = (E4M3FN, E5M2, E4M3)
"""Element formats of a dot product, in the order of the codes that an x4 word's format has; double row alone has E4M3."""


def require_dot(unit: str, numerics: DotNumerics) -> None:
    """Raise ValueError unless a dot product can have these numerics."""
    if type(numerics) is not DotNumerics:
        raise ValueError(
            f"{unit}: numerics must be a DotNumerics, not a {type(numerics).__name__}; dot_product has others"
        )
    require_power_of_two(unit, "terms", numerics.terms, 2, MAX_TERMS)
    given = numerics.element_formats
    if not given or len(set(given)) < len(given) or not set(given) <= set(DOT_FORMATS):
        names = [[fmt.name for fmt in each] for each in (DOT_FORMATS, given)]
        raise ValueError(f"{unit}: element_formats must be distinct ones of {', '.join(names[0])}, not {names[1]}")
    if numerics.scale_format != E8M0:
        raise ValueError(f"{unit}: scale_format must be E8M0, not {numerics.scale_format.name}")
    if numerics.align_fraction_bits is not None:
        require_range(unit, "align_fraction_bits", numerics.align_fraction_bits, 0, MAX_ALIGN_FRACTION_BITS)


@dataclass(frozen=True, kw_only=True)
class DotConfig:
    """Configuration of the quad-MX dot product and of its PE.

    Attributes
    ----------
    numerics : formats, sum and rounding.
    pipeline : pipeline stages of the dot product.
    """

    numerics: DotNumerics = TRAINIUM3_QUAD_MX.numerics
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)

    def __post_init__(self) -> None:
        require_dot("quad_mx_dot", self.numerics)


@dataclass(frozen=True, kw_only=True)
class MultiplyAddConfig:
    """Configuration of the unscaled matmul's multiply-add and of its PE.

    Attributes
    ----------
    numerics : roundings of product and sum; products are exact by default.
    element_formats : narrow formats of one width; each operand chooses one at run time. E4M3 and E4M3FN exclude each
        other.
    pipeline : pipeline stages of the multiply-add.
    """

    numerics: MatmulNumerics = TRAINIUM3_MATMUL.numerics
    element_formats: tuple[FloatFormat, ...] = (BF16, FP16)
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)

    def __post_init__(self) -> None:
        allowed = [fmt.name for fmt in self.numerics.narrow_formats]
        given = [fmt.name for fmt in self.element_formats]
        if not given or not set(given) <= set(allowed):
            raise ValueError(f"multiply_add: element_formats must be some of {', '.join(allowed)}, not {given}")
        if len({fmt.width for fmt in self.element_formats}) > 1:
            raise ValueError(f"multiply_add: element_formats must have one width, not be {given}")
        if len(set(given)) < len(given):
            raise ValueError(f"multiply_add: element_formats must name each format once, not {given}")
        if {E4M3.name, E4M3FN.name} <= set(given):
            raise ValueError(f"multiply_add: element_formats must have only one of E4M3 and E4M3FN, not {given}")
