"""Configurations of TensorE's units for its modes beside quad MX."""

from dataclasses import dataclass, field

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.declarations.tensor import (
    LOW_BITS,
    TRAINIUM3_CORE_PE,
    TRAINIUM3_SPARSE,
    SparseNumerics,
    TagMap,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.rtl.common.arithmetic.decode import raw_float
from bitpath.rtl.common.config import PipelineConfig, require_range
from bitpath.rtl.trainium3.dot.config import DOT_FORMATS, require_words

# Layouts of a PE's operands outside the MX modes.


WIDE = raw_float(FP32.exponent_bits, FP32.precision)
"""Any element: ``(-1)**sign * significand * 2**(exponent - 150)``."""
NARROW = raw_float(FP32.exponent_bits, FP32.precision - LOW_BITS)
"""BF16, FP16, FP8, TF32, and a half of FP32: ``(-1)**sign * significand * 2**(exponent - 138)``. All zeros are +0."""
PASS_BITS = 16
"""Bits of an element that a transpose moves in a pass; 32-bit data takes two, the low half first."""


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


@dataclass(frozen=True, kw_only=True)
class SelectConfig:
    """Configuration of the sparse selection on four rows of PEs.

    Attributes
    ----------
    cols : columns of PEs.
    numerics : patterns and code of the tags; RTL decodes tags of two fields.
    """

    cols: int = 2
    numerics: SparseNumerics = TRAINIUM3_SPARSE.numerics

    def __post_init__(self) -> None:
        require_range("sparse_select", "cols", self.cols, 1, PARTITIONS)
        if self.numerics.tag_map is not TagMap.FIELDS:
            raise ValueError(f"sparse_select: tag_map must be FIELDS, not {self.numerics.tag_map.name}")


@dataclass(frozen=True, kw_only=True)
class TransposeConfig:
    """Configuration of the background transpose.

    Attributes
    ----------
    size : rows and columns of the largest tile.
    """

    size: int = 4

    def __post_init__(self) -> None:
        require_range("background_transpose", "size", self.size, 2, PARTITIONS)


@dataclass(frozen=True, kw_only=True)
class IssueConfig:
    """Configuration of the issue logic.

    Attributes
    ----------
    banks : PSUM banks.
    cycle_bits : bits of an instruction's cycles; 4 passes of 1024 columns need 13.
    tag_bits : bits of the tag that a command takes from its instruction.
    """

    banks: int = 8
    cycle_bits: int = 13
    tag_bits: int = 8

    def __post_init__(self) -> None:
        require_range("tensor_issue", "banks", self.banks, 1, 8)
        require_range("tensor_issue", "cycle_bits", self.cycle_bits, 1, 16)
        require_range("tensor_issue", "tag_bits", self.tag_bits, 1, 32)


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


@dataclass(frozen=True, kw_only=True)
class LoadConfig:
    """Configuration of the fast weight load.

    Attributes
    ----------
    rows, cols : rows of PEs that load together, and columns of PEs.
    moving_bits : bits of a moving word, which passes by.
    """

    rows: int = 2
    cols: int = 6
    moving_bits: int = 8

    def __post_init__(self) -> None:
        require_range("weight_load", "rows", self.rows, 1, PARTITIONS)
        require_range("weight_load", "cols", self.cols, 2, PARTITIONS)
        require_range("weight_load", "moving_bits", self.moving_bits, 1, 1 << 10)
