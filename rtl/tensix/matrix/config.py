"""Configuration of the Matrix unit."""

from dataclasses import dataclass

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.rtl.common.config import require_power_of_two


@dataclass(frozen=True, kw_only=True)
class MatrixUnitConfig:
    """The Matrix unit with SrcA, SrcB and Dst, which always have the machine's size.

    Attributes
    ----------
    rows, cols : dot products down and across; powers of two up to 8 and 16. A unit with fewer than the machine's 8x16
        takes as many more cycles for an instruction.
    numerics : what is computed.
    """

    rows: int = 2
    cols: int = 4
    numerics: TensixNumerics = WORMHOLE.numerics

    def __post_init__(self) -> None:
        require_power_of_two("matrix_unit", "rows", self.rows, 1, BLOCK_ROWS)
        require_power_of_two("matrix_unit", "cols", self.cols, 1, COLUMNS)

    @property
    def any_src_a_block(self) -> bool:
        """Whether an instruction's SrcA rows may start at any 8-row block, or at every second one."""
        return self.numerics.src_a_row_step == BLOCK_ROWS

    @property
    def passes(self) -> int:
        """Cycles for which an instruction occupies the unit."""
        return BLOCK_ROWS // self.rows * (COLUMNS // self.cols)
