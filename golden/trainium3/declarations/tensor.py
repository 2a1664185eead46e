"""TensorE's modes beside quad MX and the plain row step: FP8 double row, FP32 in passes, transposes, structured sparsity.

Ref: "Trainium3 Architecture Guide for NKI", 2026-08 (here ARCH3); that of Trainium2 (here ARCH2) and of Trainium (here
ARCH1); ``nki.isa`` reference pages, NKI 0.6 (here ISA), and their costs of an instruction in the version of 2025-10 (here
COST); "NeuronCore-v3 architecture" and "NeuronCore-v4 architecture" (here NC3, NC4).
"""

from dataclasses import dataclass
from enum import Enum

from bitpath.golden.formats.catalogue import E4M3, E4M3FN, E5M2
from bitpath.golden.formats.sources import choices, chosen, documented, inferred, preset
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX

DOUBLE_ROW = 2
"""Elements of a PE in double row, and products of a step."""
LOW_BITS = 12
"""Fraction bits of FP32 that the low half of a split operand holds."""
VECTOR_BLOCK = 32
"""Partitions and columns that VectorE transposes at most: a block inside a quadrant."""
TAGS_IN_WORD = 4
"""Tags of a uint16 word, four bits each."""
SMALLEST_STATIONARY = 64
"""Cycles of the shortest multiplication with at least this many stationary columns."""
LOAD_COLUMNS, LOAD_BITS = 4, 64
"""Stationary columns and bits that a row loads in a cycle at most."""

TRAINIUM3_DOUBLE_ROW = TRAINIUM3_QUAD_MX.variant(
    "trainium3_double_row",
    terms=(DOUBLE_ROW, documented("ARCH2, ISA nc_matmul perf_mode: a PE multiplies two pairs of FP8 elements")),
    element_formats=(
        (E4M3, E4M3FN, E5M2),
        documented("ISA nc_matmul: double row takes float8_e4m3, float8_e4m3fn and float8_e5m2, and not float8_e3m4"),
    ),
)
"""Two exact products of FP8 elements, added to the partial sum with one rounding to FP32; scales are 1."""


TRAINIUM3_CORE_PE = TRAINIUM3_QUAD_MX.variant(
    "trainium3_core_pe",
    element_formats=(
        (E4M3FN, E5M2, E4M3),
        documented("ISA nc_matmul_mx takes the first two; ISA nc_matmul takes all three in double row"),
    ),
)
"""Quad MX and double row in one datapath: double row's other two products add nothing."""


@dataclass(frozen=True, kw_only=True)
class SparsePattern:
    """At most ``kept`` of ``group`` contiguous elements along K are not zero.

    Attributes
    ----------
    kept : elements kept, and partitions that a group spans.
    group : elements of the dense matrix; a multiple of ``kept``.
    """

    kept: int
    group: int

    @property
    def ratio(self) -> int:
        """Compression ratio: dense elements of K on one partition of the moving operand."""
        return self.group // self.kept


class TagMap(Enum):
    """Four-bit code of a position in a group, ``partition * ratio + slot``, in the tag words."""

    FIELDS = "fields"  # partition << 2 | slot: two bits each, whatever the ratio
    POSITION = "position"  # the position itself


@dataclass(frozen=True, kw_only=True)
class SparseNumerics:
    """Structured sparsity: which patterns the array takes, and how tags are coded.

    Attributes
    ----------
    patterns : kept and group sizes.
    tag_map : code of a position in the tag words.
    """

    patterns: tuple[tuple[int, int], ...]
    tag_map: TagMap


TRAINIUM3_SPARSE = preset(
    "trainium3_sparse",
    SparseNumerics,
    patterns=(
        ((4, 16), (4, 12), (4, 8), (2, 8), (2, 4), (1, 4), (1, 2)),
        documented("NC3, NC4: 4:16, 4:12, 4:8, 2:8, 2:4, 1:4 and 1:2"),
    ),
    tag_map=(
        TagMap.FIELDS,
        chosen("ARCH2 has a host function from logical to physical tags and does not say what it does"),
    ),
)
"""Seven patterns; a tag has two bits for the partition in the group and two for the slot."""

PATTERNS = {
    f"{kept}:{group}": SparsePattern(kept=kept, group=group) for kept, group in TRAINIUM3_SPARSE.numerics.patterns
}
"""Patterns by the names that instructions take."""

PRESETS = {each.name: each for each in (TRAINIUM3_DOUBLE_ROW, TRAINIUM3_CORE_PE, TRAINIUM3_SPARSE)}
"""Presets by name. They are of two numerics dataclasses."""

CHOICES = choices(
    {
        "Double row has k = j * P + p, with j the slowest free dimension, and adds both products in one step": documented(
            "ARCH2; ISA nc_matmul. One rounding for both products and the partial sum is chosen, as for quad MX"
        ),
        "fp32_mode fused: the four partial products of a step of FP32 stay exact; product and partial sum round once": chosen(
            "documents say that FP32 takes four passes, and not what a pass computes"
        ),
        "fp32_mode split12: lo*lo, lo*hi, hi*lo and hi*hi, each a chain of rows from +0; the four results add up in FP32": chosen(
            "the other reading of four passes; hi is x without its lowest 12 fraction bits, lo the rest"
        ),
        "In split12 infinity and NaN count in hi*hi, and as +0 in the passes before": chosen("no document says"),
        "An operand declared onezero has no low half, so that its two passes are left out": inferred(
            "COST, ISA nc_matmul: two passes instead of four where one operand holds only 0 and 1"
        ),
        "Transpose mode moves bits: FP8 as 16-bit elements with zeros above, 32-bit data in two passes, low half first": inferred(
            "ARCH2, ISA nc_matmul: bit-accurate, 16-bit elements for FP8; ARCH2: twice the speed for FP32"
        ),
        "Transpose mode takes any moving operand whose columns hold one 1 or none; a column of zeros gives zeros": chosen(
            "ISA speaks of an identity matrix only"
        ),
        "Partition p of a sparse moving operand holds the dense indices ratio * p to ratio * p + ratio - 1": chosen(
            "ARCH2's figure has groups contiguous along K; a group is kept partitions of ratio slots (inferred)"
        ),
        "Column 4w of a tag word lies in its lowest four bits": chosen("no document says"),
        "A background transpose issues in order, at most one instruction a cycle, into the main slot or the background one": chosen(
            "ARCH3 says that a transpose runs beside a matmul or another transpose, and that hardware decides"
        ),
        "LoadStationary takes 64 bits of a row in a cycle, at most 4 columns": chosen(
            "ARCH1: up to four times as fast as MultiplyMoving of the same free size"
        ),
        "A matmul takes passes * max(min(64, M), N) cycles": documented("COST nc_matmul"),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
