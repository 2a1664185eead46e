"""Configurations of TensorE's units for its modes beside quad MX."""

from dataclasses import dataclass, field

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.tensor import (
    LOW_BITS,
    TRAINIUM3_CORE_PE,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.rtl.common.arithmetic.decode import raw_float
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.dot.config import DOT_FORMATS
from bitpath.rtl.trainium3.dot.element_map import require_words

# Layouts of a PE's operands outside the MX modes.


WIDE = raw_float(FP32.exponent_bits, FP32.precision)
"""Any element: ``(-1)**sign * significand * 2**(exponent - 150)``."""
NARROW = raw_float(FP32.exponent_bits, FP32.precision - LOW_BITS)
"""BF16, FP16, FP8, TF32, and a half of FP32: ``(-1)**sign * significand * 2**(exponent - 138)``. All zeros are +0."""
PASS_BITS = 16
"""Bits of an element that a transpose moves in a pass; 32-bit data takes two, the low half first."""


@dataclass(frozen=True, kw_only=True)
class CorePeConfig:
    """Configuration of TensorE's processing element.

    Attributes
    ----------
    dot : numerics of the MX modes and of double row; four products of E4M3FN, E5M2 and E4M3.
    numerics : numerics of the other modes; products are exact, of all formats of the matmul.
    sparse : whether the PE has tags and reads 16 slots.
    pipeline : pipeline stages of both datapaths.
    """

    dot: DotNumerics = TRAINIUM3_CORE_PE.numerics
    numerics: MatmulNumerics = TRAINIUM3_MATMUL.numerics
    sparse: bool = True
    pipeline: PipelineConfig = field(default_factory=PipelineConfig)

    def __post_init__(self) -> None:
        require_words("core_pe", self.dot)
        if self.dot.element_formats != DOT_FORMATS:
            names = [[fmt.name for fmt in each] for each in (DOT_FORMATS, self.dot.element_formats)]
            raise ValueError(f"core_pe: element_formats must be {names[0]}, not {names[1]}")
        if self.numerics.product_rounding is not None:
            raise ValueError(f"core_pe: product_rounding must be None, not {self.numerics.product_rounding}")
        for name in ("narrow_formats", "wide_formats"):
            names = [[fmt.name for fmt in getattr(each, name)] for each in (TRAINIUM3_MATMUL.numerics, self.numerics)]
            if names[1] != names[0]:
                raise ValueError(f"core_pe: {name} must be {names[0]}, not {names[1]}")
